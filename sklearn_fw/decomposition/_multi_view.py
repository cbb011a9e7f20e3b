"""Shared factors of two views by moments."""

from dataclasses import KW_ONLY
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn import base
from sklearn.metrics import r2_score
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.parameters import check_parameters
from .._core.warnings import warn
from ._cross_moments import CrossMoments, whiten
from ._diagonalization import SHEARS, jacobi, judged
from ._moments import MUCH_NEGATIVE_MASS
from ._rows import check_enough, check_view, is_batches, rows_of

# Which views of a kind hold counts.
COUNTS = {"nongaussian": (False, False), "mixed": (False, True), "discrete": (True, True)}
COLUMNS = 256  # of a sparse view that are scored together


def find_loadings(whitening, basis, counts):
    """Loadings of the basis in which targets are diagonal, largest covariance of sources first.

    They are columns of unit l1 norm; then come covariances, rotations and negative masses.
    """
    views = [whitening.x_back @ basis, np.linalg.solve(basis, whitening.y_back.T).T]
    rotations = [np.linalg.solve(basis, whitening.x).T, whitening.y.T @ basis]
    counted = [D / np.sum(np.abs(D), axis=0) for D, is_count in zip(views, counts) if is_count]
    largest = np.argmax(np.abs(views[0]), axis=0)
    votes = views[0][largest, np.arange(len(basis))]
    if counted:  # one sign for both columns; those of counts should be positive
        votes = sum(np.sum(D * np.abs(D), axis=0) for D in counted)
    sign = np.where(votes < 0.0, -1.0, 1.0)
    masses = [np.sum(np.maximum(-D * sign, 0.0), axis=0) for D in counted]
    negative_mass = np.max([0.0 * sign, *masses], axis=0)
    norms = [sign * np.sum(np.abs(D), axis=0) for D in views]
    variance = norms[0] * norms[1]
    order = np.argsort(-variance, kind="stable")
    loadings = [(D / norm)[:, order] for D, norm in zip(views, norms)]
    rotations = [(R * norm)[:, order] for R, norm in zip(rotations, norms)]
    return loadings, variance[order], rotations, negative_mass[order]


class MultiViewCCA(
    base.ClassNamePrefixFeaturesOutMixin, base.TransformerMixin, base.MultiOutputMixin,
    base.RegressorMixin, Estimator,
):  # fmt: skip
    """Identifiable canonical correlation analysis: shared factors of two views.

    The views are ``x = D1 a + e1`` and ``y = D2 a + e2`` with independent sources a_k that the
    views share and noise e1, e2 of their own; a view of counts has Poisson numbers of these means.
    Columns k of D1 and of D2 belong together: the words of one topic in two languages. Choose it
    over `sklearn.cross_decomposition.CCA`, which finds the space of the loadings only. The
    cross-covariance whitens; higher moments across the views are then similar to diagonal matrices
    in one common basis.

    Parameters
    ----------
    n_components : int, default=2
        Number of shared factors K, at most the number of columns of each view.
    kind : {"nongaussian", "discrete", "mixed"}, default="nongaussian"
        Real numbers in both views, of which at most one source is Gaussian; counts in both; or real
        numbers in X and counts in y.
    moments : {"auto", "cumulant", "generalized"}, default="auto"
        What is diagonal in the loadings: third cumulants across the views, which skewed sources
        have, or covariances under exponential weights. "auto" takes cumulants for ``"discrete"``.
    points : {"auto", "one_sided", "symmetric", "both"}, default="auto"
        Points of generalized covariances: t; the mean of t and -t, for symmetric sources; or t and
        -t apart. "auto" takes t for "discrete", else the more nearly diagonal part, odd or even.
    delta : float, default=0.1
        Standard deviation of the exponents ``t @ x``, from 0.0001 to 10.
    algorithm : {"nojd", "spectral"}, default="nojd"
        Joint diagonalization, or the less accurate eigenvectors of one random combination.
    shear : {"normality", "jdtm", "shrt", "just"}, default="normality"
        How the joint diagonalization shears, see `joint_diagonalize`.
    tol : float, default=1e-8
        Largest sine of the last sweep of the joint diagonalization.
    max_iter : int, default=100
        Largest number of its sweeps.
    transform_method : {"unmixing", "lmmse"}, default="unmixing"
        Scores by inverting loadings, which keeps the noise of the view, or best linear estimates of
        the sources of the other view, which shrink.
    ridge : float or "auto", default="auto"
        Fraction of its variance that is added to the variance of a column of numbers for estimates,
        and of the mean variance to that of counts; "auto" is the number of columns over that of
        samples, at least 0.001.
    batch_size : int, default=4096
        Rows that are processed together.
    random_state : int, RandomState instance or None, default=None
        Source of the combination of ``algorithm="spectral"``.

    Attributes
    ----------
    x_loadings_, y_loadings_ : ndarray of shape (n_features or n_targets, n_components)
        Loadings of unit l1 norm, largest covariance first; not negative for counts.
    x_mixing_, y_mixing_ : ndarray of shape (n_features or n_targets, n_components)
        Loadings before negative entries of counts are cut.
    x_weights_, y_weights_ : ndarray of shape (n_features or n_targets, n_components)
        Singular vectors of the cross-covariance of numbers in units of their standard deviations,
        and of counts. Times these units they span the loadings.
    x_rotations_, y_rotations_ : ndarray of shape (n_features or n_targets, n_components)
        From a centered view to unmixed scores: ``x_rotations_.T @ x_mixing_`` is the identity.
    coef_, intercept_ : ndarray of shape (n_targets, n_features), ndarray of shape (n_targets,)
        Coefficients of `predict`, formed when they are read, and the mean of the second view.
    source_variance_ : ndarray of shape (n_components,)
        Covariances of the sources as the two views scale them.
    singular_values_ : ndarray of shape (at least n_components,)
        Largest singular values of that cross-covariance; all for views of up to 200 columns.
    negative_mass_ : ndarray of shape (n_components,)
        Fraction of the absolute loadings of counts that was negative, the larger of the views:
        near 0 where the model fits, one half for noise; 0 without counts.
    off_diagonality_ : float
        Fraction of the squares of the targets off the diagonals.
    x_mean_, y_mean_ : ndarray of shape (n_features or n_targets,)
        Means of the views.
    n_iter_ : int
        Sweeps of the joint diagonalization.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of the first view, and their names where all are strings.

    Warns
    -----
    UserWarning
        When loadings have much negative mass, or exponential weights leave few rows with a say.
    ConvergenceWarning
        When ``max_iter`` sweeps were too few.

    Notes
    -----
    Loadings are unique up to order and scale if at most one source is Gaussian. Noise may have any
    distribution within a view; noise that the views share is not detected. Components of one factor
    share a sign: those of counts, or the largest entry of the first view, are positive.

    A fit costs O(nnz K) for whitened rows and O(N K^3) for cumulants, O((nnz + N K) K^2) for
    generalized covariances; memory is O(batch_size K + M K + K^3), and sparse views stay sparse.
    Singular vectors come from a dense decomposition or Lanczos, not the sketch of the paper's
    appendix, which does not return them; its D2 lacks a transpose.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: discrete, non-Gaussian and mixed CCA.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_two_views
    >>> from sklearn_fw.decomposition import MultiViewCCA
    >>> from sklearn_fw.metrics import multiview_l1_error
    >>> data = make_two_views(2000, 20, 3, 5, kind="discrete", random_state=0)
    >>> model = MultiViewCCA(3, kind="discrete").fit(data.X, data.y)
    >>> error = multiview_l1_error(
    ...     data.x_loadings, data.y_loadings, model.x_loadings_, model.y_loadings_
    ... )
    >>> error < 0.1
    True
    """

    n_components: check.at_least(1) = 2
    _: KW_ONLY
    kind: check.options(*COUNTS) = "nongaussian"
    moments: check.options("auto", "cumulant", "generalized") = "auto"
    points: check.options("auto", "both", "one_sided", "symmetric") = "auto"
    delta: partial(check.between, least=1e-4, most=10.0) = 0.1
    algorithm: check.options("nojd", "spectral") = "nojd"
    shear: check.options(*SHEARS) = "normality"
    tol: float = 1e-8
    max_iter: int = 100
    transform_method: check.options("lmmse", "unmixing") = "unmixing"
    ridge: check.auto_or(check.not_negative) = "auto"
    batch_size: check.at_least(1) = 4096
    random_state: object = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        x_counts, y_counts = COUNTS.get(str(self.kind), (False, False))
        tags.input_tags.positive_only = tags.input_tags.categorical = x_counts
        tags.target_tags.positive_only = y_counts
        tags.target_tags.required = True
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Learn loadings of both views.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of such batches
            First view. A list of matrices is a view in batches of rows; a Dask array with one block
            of columns, or a list of delayed batches, is summed where Dask runs it.
        y : {array-like, sparse matrix} of shape (n_samples, n_targets), or list of such batches
            Second view of the same samples, in the same batches.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample counts; not with batches.
        """
        self._counts, rng = COUNTS[self.kind], check.random_state(self.random_state)
        columns = getattr(y, "columns", None)
        self._y_names = None if columns is None else [str(column) for column in columns]
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: y is "
                "the second view of the same samples"
            )
        rows = rows_of(self, {"X": X, "y": y}, self._counts, sample_weight, self.batch_size)
        moments = self._checked(CrossMoments(rows, self._counts))
        self._predict_1d = not (sp.issparse(y) or is_batches(y)) and np.asarray(y).ndim == 1
        U, values, V = self._checked_svd(moments)
        K = self.n_components
        whitening = whiten(U[:, :K], values[:K], V[:, :K], moments.units)
        found = self._diagonalize(moments, whitening, rng)
        loadings, variance, rotations, mass = find_loadings(whitening, found.basis, self._counts)
        self.source_variance_, self.negative_mass_ = variance, mass
        self.x_mixing_, self.y_mixing_ = loadings
        clipped = [_clipped(D) if is_count else D for D, is_count in zip(loadings, self._counts)]
        self.x_loadings_, self.y_loadings_ = clipped
        self.x_weights_, self.y_weights_ = U[:, :K], V[:, :K]
        self.x_rotations_, self.y_rotations_ = rotations
        self.singular_values_ = values
        self.off_diagonality_, self.n_iter_ = found.off_diagonality, found.n_iter
        self.x_mean_, self.y_mean_ = moments.means
        self.intercept_ = self.y_mean_
        mixings = [self.x_mixing_, self.y_mixing_][: 2 if self.transform_method == "lmmse" else 1]
        self._regressions = [self._regression(moments, *pair) for pair in enumerate(mixings)]
        n_strange = np.sum(self.negative_mass_ > MUCH_NEGATIVE_MASS)
        if n_strange:
            warn(
                f"{n_strange} of {len(self.negative_mass_)} components have a negative mass above "
                f"{MUCH_NEGATIVE_MASS}: take fewer n_components, or more samples"
            )
        return self

    def _checked(self, moments):
        check_enough(moments, moments.sizes[0])
        for name, varies in zip("Xy", moments.varies):
            if not np.any(varies):
                raise ValueError(f"{name} is constant: it shares nothing with the other view")
        if self.n_components > min(moments.sizes):
            raise ValueError(
                f"n_components={self.n_components} must be at most the number of columns of both "
                f"views, n_features={moments.sizes[0]} and n_targets={moments.sizes[1]}"
            )
        return moments

    def _checked_svd(self, moments):
        U, values, V = moments.svd(int(self.n_components))
        scale = np.sqrt(np.sum(moments.variances[0]) * np.sum(moments.variances[1]))
        n_found = int(np.sum(values > 1e-10 * max(values[0], 1e-3 * scale)))
        if n_found < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} is more than the views share: only {n_found} "
                "singular values of their cross-covariance are above zero; take fewer n_components"
            )
        return U, values, V

    def _diagonalize(self, moments, whitening, rng):
        are_counts = all(self._counts)  # whose intensities are skewed
        if self.moments == "cumulant" or (check.is_auto(self.moments) and are_counts):
            candidates = [moments.cumulants(whitening)]
        else:
            points = self.points
            if check.is_auto(points) and are_counts:
                points = "one_sided"
            signs = (1,) if points == "one_sided" else (1, -1)
            targets = moments.generalized(whitening, float(self.delta), signs)
            candidates = [np.concatenate(targets)]
            if points in ("auto", "symmetric"):
                plus, minus = targets
                candidates = [(plus - minus) / 2.0, (plus + minus) / 2.0][points == "symmetric" :]
        if self.algorithm == "spectral":
            return _eigenvectors(candidates[-1], rng)
        found = [jacobi(targets, self.shear, self.tol, self.max_iter) for targets in candidates]
        return min(found, key=lambda result: result.off_diagonality)

    def _regression(self, moments, view, mixing):
        ridge = self.ridge
        if check.is_auto(ridge):
            ridge = max(1e-3, moments.sizes[view] / moments.n)
        return moments.solve(view, float(ridge), mixing * self.source_variance_)

    @property
    def _n_features_out(self):
        return self.x_loadings_.shape[1]

    @property
    def coef_(self):
        check_is_fitted(self)
        return self.y_mixing_ @ self._regressions[0].T

    def transform(self, X, y=None):
        """Scores of the shared factors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First view.
        y : {array-like, sparse matrix} of shape (n_samples, n_targets), default=None
            Second view.

        Returns
        -------
        x_scores : ndarray of shape (n_samples, n_components)
            Centered sources as the first view shows them: with ``transform_method="unmixing"`` in
            the scale of ``x_loadings_``, with "lmmse" shrunk towards 0 in that of ``y_loadings_``.
        y_scores : ndarray of shape (n_samples, n_components)
            The same from the second view; only where y is given.
        """
        check_is_fitted(self)
        check_parameters(self)  # transform_method may be another than at the fit
        rotations = [self.x_rotations_, self.y_rotations_]
        if self.transform_method == "lmmse":
            if len(self._regressions) < 2:
                raise ValueError('transform_method="lmmse" must be set before fit')
            rotations = self._regressions
        X = check_view(X, "X", self._counts[0], self)
        x_scores = X @ rotations[0] - self.x_mean_ @ rotations[0]
        if y is None:
            return x_scores
        y = self._checked_y(y, X)
        return x_scores, y @ rotations[1] - self.y_mean_ @ rotations[1]

    def _checked_y(self, y, X):
        y = check_view(y, "y", self._counts[1])
        shape = X.shape[0], len(self.y_mean_)
        if y.shape != shape:
            raise ValueError(f"y must have shape {shape}, one row for each of X, got {y.shape}")
        return y

    def fit_transform(self, X, y, sample_weight=None):
        """Learn loadings and return the scores of both views, see `transform`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First view.
        y : {array-like, sparse matrix} of shape (n_samples, n_targets)
            Second view.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample counts.
        """
        return self.fit(X, y, sample_weight).transform(X, y)

    def inverse_transform(self, X, y=None):
        """Views that unmixed scores stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores of the first view, as those of ``transform_method="unmixing"``.
        y : array-like of shape (n_samples, n_components), default=None
            Scores of the second view.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Mean of the view and products with the loadings.
        y_original : ndarray of shape (n_samples, n_targets)
            The same for the second view; only where y is given.
        """
        check_is_fitted(self)
        size = self._n_features_out
        X = check.shaped(X, "X", "n_samples", size) @ self.x_mixing_.T + self.x_mean_
        if y is None:
            return X
        return X, check.shaped(y, "y", "n_samples", size) @ self.y_mixing_.T + self.y_mean_

    def _estimates(self, X):
        X = check_view(X, "X", self._counts[0], self)
        return X @ self._regressions[0] - self.x_mean_ @ self._regressions[0]

    def predict(self, X):
        """Predict the second view from shared factors: source estimates times loadings.

        Of shape (n_samples,) or (n_samples, n_targets).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First view.
        """
        check_is_fitted(self)
        y = self._estimates(X) @ self.y_mixing_.T + self.y_mean_
        return y.ravel() if self._predict_1d else y

    def score(self, X, y, sample_weight=None):
        """Compute the coefficient of determination of `predict`, the mean over columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First view.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Second view.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of samples.
        """
        check_is_fitted(self)
        estimates = self._estimates(X)
        y = self._checked_y(y, estimates)
        if sample_weight is not None:
            sample_weight = check.sample_weight(sample_weight, len(estimates))
        scores = []
        for part in gen_batches(y.shape[1], COLUMNS):  # a sparse view is never dense as a whole
            true = y[:, part].toarray() if sp.issparse(y) else y[:, part]
            predicted = estimates @ self.y_mixing_[part].T + self.y_mean_[part]
            raw = r2_score(true, predicted, sample_weight=sample_weight, multioutput="raw_values")
            scores.append(raw)
        return float(np.mean(np.concatenate(scores)))


def _clipped(D):
    D = np.maximum(D, 0.0)
    total = np.sum(D, axis=0)
    return D / np.where(total > 0.0, total, 1.0)  # zeros where the views disagree in all signs


def _eigenvectors(targets, rng):
    u = rng.normal(size=targets.shape[1])
    mixed = np.einsum("pab,p->ab", targets, np.tile(u, len(targets) // len(u)))
    values, basis = np.linalg.eig(mixed)
    if np.any(values.imag != 0.0):
        warn(
            "one random target has complex eigenvalues, of which the real parts are kept: take "
            'algorithm="nojd"'
        )
        basis = np.where(values.imag < 0.0, basis.imag, basis.real)
    return judged(basis.real, np.linalg.solve(basis.real, targets @ basis.real), 1)
