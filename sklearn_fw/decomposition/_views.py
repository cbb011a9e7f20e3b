"""Shared factors of two views whose loadings are unique."""

from ._multi_view import MultiViewCCA


class DiscreteCCA(MultiViewCCA):
    """Shared factors of two views of counts, with loadings that can be read.

    Counts are ``x ~ Poisson(D1 a + e1)`` and ``y ~ Poisson(D2 a + e2)`` with independent
    intensities a_k that the views share and noise e1, e2 of their own. Columns k of D1 and of D2
    belong together: the words of one topic in two languages. The cross-covariance whitens;
    projections of third cumulants across the views are then similar to diagonal matrices in one
    common basis.

    Parameters
    ----------
    n_components : int, default=2
        Number of shared factors K, at most the number of columns of each view.
    moments : {"auto", "cumulant", "generalized"}, default="auto"
        What is diagonal in the loadings: third cumulants across the views, which skewed sources
        have, or covariances under exponential weights. "auto" takes cumulants.
    points : {"auto", "one_sided", "symmetric", "both"}, default="auto"
        Where generalized covariances are taken: at points t; at t and -t with the mean of both,
        for symmetric sources; or at t and -t apart. "auto" takes points t.
    delta : float, default=0.1
        Standard deviation of the exponents ``t @ x``, from 0.0001 to 10.
    algorithm : {"nojd", "spectral"}, default="nojd"
        Joint diagonalization of all targets, or the eigenvectors of one random combination of them,
        which is less accurate.
    shear : {"normality", "jdtm", "shrt", "just"}, default="normality"
        How the joint diagonalization shears, see `joint_diagonalize_similarity`.
    tol : float, default=1e-8
        Largest sine of the last sweep of the joint diagonalization.
    max_iter : int, default=100
        Largest number of its sweeps.
    transform_method : {"unmixing", "lmmse"}, default="unmixing"
        Scores by inverting loadings, which keeps the noise of the view and needs no shrinking; or
        best linear estimates of the sources of the other view.
    ridge : float or "auto", default="auto"
        Share of the mean variance of a column that is added to all variances before estimates are
        formed; "auto" is the number of columns over that of samples, at least 0.001.
    batch_size : int, default=4096
        Rows that are worked on together.
    random_state : int, RandomState instance or None, default=None
        Source of the combination of ``algorithm="spectral"``.

    Attributes
    ----------
    x_loadings_ : ndarray of shape (n_features, n_components)
        Loadings of the first view, columns of unit l1 norm, not negative; the factor with the
        largest covariance first.
    y_loadings_ : ndarray of shape (n_targets, n_components)
        Loadings of the second view, not negative; column k belongs to column k of ``x_loadings_``.
    x_mixing_ : ndarray of shape (n_features, n_components)
        Loadings before negative entries of counts are cut.
    y_mixing_ : ndarray of shape (n_targets, n_components)
        The same for the second view.
    x_weights_ : ndarray of shape (n_features, n_components)
        Left singular vectors of the cross-covariance: they span the loadings.
    y_weights_ : ndarray of shape (n_targets, n_components)
        Right singular vectors.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From the centred first view to unmixed scores: ``x_rotations_.T @ x_mixing_`` is the
        identity.
    y_rotations_ : ndarray of shape (n_targets, n_components)
        The same for the second view.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients of `predict`, formed when asked for.
    intercept_ : ndarray of shape (n_targets,)
        Mean of the second view: `predict` centres X.
    source_variance_ : ndarray of shape (n_components,)
        Covariances of the sources as the two views scale them.
    singular_values_ : ndarray of shape (at least n_components,)
        Largest singular values of the cross-covariance, descending; all of them for views of up to
        200 columns.
    negative_mass_ : ndarray of shape (n_components,)
        Share of the absolute loadings of counts that was negative, the larger of the views: near 0
        where the model fits, one half for noise; 0 without counts.
    off_diagonality_ : float
        Share of the squares of the targets that stays beside the diagonals.
    x_mean_ : ndarray of shape (n_features,)
        Mean of the first view.
    y_mean_ : ndarray of shape (n_targets,)
        Mean of the second view.
    n_iter_ : int
        Sweeps of the joint diagonalization.
    n_features_in_ : int
        Number of columns of the first view.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of columns, where X had text as names.

    Warns
    -----
    UserWarning
        When loadings have much negative mass, or exponential weights leave few rows with a say.
    ConvergenceWarning
        When ``max_iter`` sweeps were too few.

    See Also
    --------
    NonGaussianCCA : Real numbers in both views.
    MixedCCA : Real numbers in one, counts in the other.
    DiscreteICA : Topics of one view.

    Notes
    -----
    Loadings are unique up to their order and scale if at most one source is Gaussian. Noise may be
    of any law and covariance within a view, but must not be shared by the views: nothing detects
    that. Components of one factor have one sign in common.

    A fit costs O(nnz K) for whitened rows and O(N K^3) for cumulants, O((nnz + N K) K^2) for
    generalized covariances; memory is O(batch_size K + M K + K^3), and sparse views stay sparse.
    Estimates of sources come from conjugate gradients where a view has more than 200 columns.
    Singular vectors come from a dense decomposition, or by Lanczos, not from the sketch of the
    paper's appendix, which does not return them; its D2 lacks a transpose.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_discrete_cca
    >>> from sklearn_fw.decomposition import DiscreteCCA
    >>> from sklearn_fw.metrics import multiview_l1_error
    >>> data = make_discrete_cca(2000, 20, 3, 5, random_state=0)
    >>> model = DiscreteCCA(3).fit(data.X, data.y)
    >>> error = multiview_l1_error(
    ...     data.x_loadings, data.y_loadings, model.x_loadings_, model.y_loadings_
    ... )
    >>> error < 0.1
    True
    """

    _counts = True, True
    _auto_moments = "cumulant"


class MixedCCA(MultiViewCCA):
    """Shared factors of a view of real numbers X and a view of counts y.

    ``x = D1 a + e1`` and ``y ~ Poisson(D2 a + e2)`` with independent sources a_k that the views
    share and noise of their own: measurements and words, images and captions. Covariances of both
    views under exponential weights are similar to diagonal matrices in one common basis.

    Parameters
    ----------
    n_components : int, default=2
        Number of shared factors K, at most the number of columns of each view.
    moments : {"auto", "cumulant", "generalized"}, default="auto"
        What is diagonal in the loadings: third cumulants across the views, which skewed sources
        have, or covariances under exponential weights. "auto" takes generalized covariances.
    points : {"auto", "one_sided", "symmetric", "both"}, default="auto"
        Where generalized covariances are taken: at points t; at t and -t with the mean of both,
        for symmetric sources; or at t and -t apart. "auto" takes the odd or the even part of
        both points, whichever is the more nearly diagonal.
    delta : float, default=0.1
        Standard deviation of the exponents ``t @ x``, from 0.0001 to 10.
    algorithm : {"nojd", "spectral"}, default="nojd"
        Joint diagonalization of all targets, or the eigenvectors of one random combination of them,
        which is less accurate.
    shear : {"normality", "jdtm", "shrt", "just"}, default="normality"
        How the joint diagonalization shears, see `joint_diagonalize_similarity`.
    tol : float, default=1e-8
        Largest sine of the last sweep of the joint diagonalization.
    max_iter : int, default=100
        Largest number of its sweeps.
    transform_method : {"unmixing", "lmmse"}, default="unmixing"
        Scores by inverting loadings, which keeps the noise of the view and needs no shrinking; or
        best linear estimates of the sources of the other view.
    ridge : float or "auto", default="auto"
        Share of the mean variance of a column that is added to all variances before estimates are
        formed; "auto" is the number of columns over that of samples, at least 0.001.
    batch_size : int, default=4096
        Rows that are worked on together.
    random_state : int, RandomState instance or None, default=None
        Source of the combination of ``algorithm="spectral"``.

    Attributes
    ----------
    x_loadings_ : ndarray of shape (n_features, n_components)
        Loadings of the first view, columns of unit l1 norm; the factor with the
        largest covariance first.
    y_loadings_ : ndarray of shape (n_targets, n_components)
        Loadings of the second view, not negative; column k belongs to column k of ``x_loadings_``.
    x_mixing_ : ndarray of shape (n_features, n_components)
        Loadings before negative entries of counts are cut.
    y_mixing_ : ndarray of shape (n_targets, n_components)
        The same for the second view.
    x_weights_ : ndarray of shape (n_features, n_components)
        Left singular vectors of the cross-covariance: they span the loadings.
    y_weights_ : ndarray of shape (n_targets, n_components)
        Right singular vectors.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From the centred first view to unmixed scores: ``x_rotations_.T @ x_mixing_`` is the
        identity.
    y_rotations_ : ndarray of shape (n_targets, n_components)
        The same for the second view.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients of `predict`, formed when asked for.
    intercept_ : ndarray of shape (n_targets,)
        Mean of the second view: `predict` centres X.
    source_variance_ : ndarray of shape (n_components,)
        Covariances of the sources as the two views scale them.
    singular_values_ : ndarray of shape (at least n_components,)
        Largest singular values of the cross-covariance, descending; all of them for views of up to
        200 columns.
    negative_mass_ : ndarray of shape (n_components,)
        Share of the absolute loadings of counts that was negative, the larger of the views: near 0
        where the model fits, one half for noise; 0 without counts.
    off_diagonality_ : float
        Share of the squares of the targets that stays beside the diagonals.
    x_mean_ : ndarray of shape (n_features,)
        Mean of the first view.
    y_mean_ : ndarray of shape (n_targets,)
        Mean of the second view.
    n_iter_ : int
        Sweeps of the joint diagonalization.
    n_features_in_ : int
        Number of columns of the first view.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of columns, where X had text as names.

    Warns
    -----
    UserWarning
        When loadings have much negative mass, or exponential weights leave few rows with a say.
    ConvergenceWarning
        When ``max_iter`` sweeps were too few.

    See Also
    --------
    DiscreteCCA : Counts in both views.
    NonGaussianCCA : Real numbers in both views.
    sklearn.cross_decomposition.CCA : Loadings up to an invertible matrix, and real numbers.

    Notes
    -----
    Loadings are unique up to their order and scale if at most one source is Gaussian. Noise may be
    of any law and covariance within a view, but must not be shared by the views: nothing detects
    that. Components of one factor have one sign in common, by which those of counts
    are positive.

    A fit costs O(nnz K) for whitened rows and O(N K^3) for cumulants, O((nnz + N K) K^2) for
    generalized covariances; memory is O(batch_size K + M K + K^3), and sparse views stay sparse.
    Estimates of sources come from conjugate gradients where a view has more than 200 columns.
    Singular vectors come from a dense decomposition, or by Lanczos, not from the sketch of the
    paper's appendix, which does not return them; its D2 lacks a transpose.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_mixed_cca
    >>> from sklearn_fw.decomposition import MixedCCA
    >>> from sklearn_fw.metrics import multiview_l1_error
    >>> data = make_mixed_cca(2000, 20, 3, 5, random_state=0)
    >>> model = MixedCCA(3).fit(data.X, data.y)
    >>> error = multiview_l1_error(
    ...     data.x_loadings, data.y_loadings, model.x_loadings_, model.y_loadings_, signed=True
    ... )
    >>> error < 0.15
    True
    """

    _counts = False, True


class NonGaussianCCA(MultiViewCCA):
    """Shared factors of two views of real numbers, with unique loadings.

    ``x = D1 a + e1`` and ``y = D2 a + e2`` with independent sources a_k that the views share, of
    which at most one is Gaussian, and noise of their own. `sklearn.cross_decomposition.CCA` finds
    the space of the loadings, this the loadings. Covariances of both views under exponential
    weights are similar to diagonal matrices in one common basis.

    Parameters
    ----------
    n_components : int, default=2
        Number of shared factors K, at most the number of columns of each view.
    moments : {"auto", "cumulant", "generalized"}, default="auto"
        What is diagonal in the loadings: third cumulants across the views, which skewed sources
        have, or covariances under exponential weights. "auto" takes generalized covariances.
    points : {"auto", "one_sided", "symmetric", "both"}, default="auto"
        Where generalized covariances are taken: at points t; at t and -t with the mean of both,
        for symmetric sources; or at t and -t apart. "auto" takes the odd or the even part of
        both points, whichever is the more nearly diagonal.
    delta : float, default=0.1
        Standard deviation of the exponents ``t @ x``, from 0.0001 to 10.
    algorithm : {"nojd", "spectral"}, default="nojd"
        Joint diagonalization of all targets, or the eigenvectors of one random combination of them,
        which is less accurate.
    shear : {"normality", "jdtm", "shrt", "just"}, default="normality"
        How the joint diagonalization shears, see `joint_diagonalize_similarity`.
    tol : float, default=1e-8
        Largest sine of the last sweep of the joint diagonalization.
    max_iter : int, default=100
        Largest number of its sweeps.
    transform_method : {"unmixing", "lmmse"}, default="unmixing"
        Scores by inverting loadings, which keeps the noise of the view and needs no shrinking; or
        best linear estimates of the sources of the other view.
    ridge : float or "auto", default="auto"
        Share of the mean variance of a column that is added to all variances before estimates are
        formed; "auto" is the number of columns over that of samples, at least 0.001.
    batch_size : int, default=4096
        Rows that are worked on together.
    random_state : int, RandomState instance or None, default=None
        Source of the combination of ``algorithm="spectral"``.

    Attributes
    ----------
    x_loadings_ : ndarray of shape (n_features, n_components)
        Loadings of the first view, columns of unit l1 norm; the factor with the
        largest covariance first.
    y_loadings_ : ndarray of shape (n_targets, n_components)
        Loadings of the second view; column k belongs to column k of ``x_loadings_``.
    x_mixing_ : ndarray of shape (n_features, n_components)
        Loadings before negative entries of counts are cut.
    y_mixing_ : ndarray of shape (n_targets, n_components)
        The same for the second view.
    x_weights_ : ndarray of shape (n_features, n_components)
        Left singular vectors of the cross-covariance: they span the loadings.
    y_weights_ : ndarray of shape (n_targets, n_components)
        Right singular vectors.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From the centred first view to unmixed scores: ``x_rotations_.T @ x_mixing_`` is the
        identity.
    y_rotations_ : ndarray of shape (n_targets, n_components)
        The same for the second view.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients of `predict`, formed when asked for.
    intercept_ : ndarray of shape (n_targets,)
        Mean of the second view: `predict` centres X.
    source_variance_ : ndarray of shape (n_components,)
        Covariances of the sources as the two views scale them.
    singular_values_ : ndarray of shape (at least n_components,)
        Largest singular values of the cross-covariance, descending; all of them for views of up to
        200 columns.
    negative_mass_ : ndarray of shape (n_components,)
        Share of the absolute loadings of counts that was negative, the larger of the views: near 0
        where the model fits, one half for noise; 0 without counts.
    off_diagonality_ : float
        Share of the squares of the targets that stays beside the diagonals.
    x_mean_ : ndarray of shape (n_features,)
        Mean of the first view.
    y_mean_ : ndarray of shape (n_targets,)
        Mean of the second view.
    n_iter_ : int
        Sweeps of the joint diagonalization.
    n_features_in_ : int
        Number of columns of the first view.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of columns, where X had text as names.

    Warns
    -----
    UserWarning
        When loadings have much negative mass, or exponential weights leave few rows with a say.
    ConvergenceWarning
        When ``max_iter`` sweeps were too few.

    See Also
    --------
    DiscreteCCA : Counts in both views.
    MixedCCA : Real numbers in one, counts in the other.
    sklearn.cross_decomposition.CCA : Loadings up to an invertible matrix.

    Notes
    -----
    Loadings are unique up to their order and scale if at most one source is Gaussian. Noise may be
    of any law and covariance within a view, but must not be shared by the views: nothing detects
    that. Components of one factor have one sign in common, by which the largest
    entry of the first view is positive.

    A fit costs O(nnz K) for whitened rows and O(N K^3) for cumulants, O((nnz + N K) K^2) for
    generalized covariances; memory is O(batch_size K + M K + K^3), and sparse views stay sparse.
    Estimates of sources come from conjugate gradients where a view has more than 200 columns.
    Singular vectors come from a dense decomposition, or by Lanczos, not from the sketch of the
    paper's appendix, which does not return them; its D2 lacks a transpose.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_nongaussian_cca
    >>> from sklearn_fw.decomposition import NonGaussianCCA
    >>> from sklearn_fw.metrics import multiview_l1_error
    >>> data = make_nongaussian_cca(2000, 20, 3, 5, random_state=0)
    >>> model = NonGaussianCCA(3).fit(data.X, data.y)
    >>> error = multiview_l1_error(
    ...     data.x_loadings, data.y_loadings, model.x_loadings_, model.y_loadings_, signed=True
    ... )
    >>> error < 0.1
    True
    """

    _counts = False, False
