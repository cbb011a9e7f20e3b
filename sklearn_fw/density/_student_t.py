"""The kernel Student-t density."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.base import OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core import check
from .._core.estimator import Estimator
from .._core.warnings import warn
from ._backend import NUMPY, backend_of
from ._box import Box, resolve_support, support_sides
from ._kernels import needs_numpy, resolve_kernel
from ._model import LogDensity, StudentTModel, equal_rows, p_values, score_threshold
from ._posterior import ExactPosterior, LowRankPosterior

NORMAL_SHARE = 0.05  # of new normal rows that contamination="auto" calls outliers


def _check_beta(value, name):
    if not (isinstance(value, float | int) and value in (0, np.inf)):  # with formulas of their own
        check.strength(value, name)


def _check_jacobian(value, name):
    if not (value is False or check.is_auto(value) or callable(value)):
        raise ValueError(f"{name} must be 'auto', False or a function; got {value!r}")


def _check_normalize(value, name):
    if value is not False:
        check.choice(value, name, ("quadrature", "importance"), "False")


class KernelStudentTDensity(OutlierMixin, Estimator):
    """Kernel Student-t density for novelty detection in 10 to 1,000 dimensions.

    A Gaussian with unknown mean and covariance lives in the feature space of a kernel; both are
    integrated out, and the predictive Student-t density is read off along the images of the inputs.
    With s = sigma0^2, total weight W and the variance V(x) of a Gaussian process of noise s and
    unknown mean, noise included::

        log q(x) = -(1 + W + dof) / 2 * log(V(x) / s) + 1/2 log det G(x) - log_normalizer_

    Choose it instead of `sklearn.neighbors.KernelDensity` or `sklearn.svm.OneClassSVM` for up to
    10,000 rows. The score ranks points; its exponential integrates to one only with ``normalize``.

    Parameters
    ----------
    kernel : str, callable, PolynomialKernel or Kernel of sklearn.gaussian_process, default="rbf"
        "rbf" ``exp(-r^2/2)``, "laplacian" ``exp(-r)``, "matern32", "matern52",
        "rational_quadratic" ``1/(1 + r^2/2)``, where r is the Euclidean distance divided by
        ``length_scale``; "linear" ``<x, y>``, "polynomial" or a `PolynomialKernel` ``(gamma <x, y>
        + coef0)^degree``, "all_subsets" ``prod_j (1 + x_j y_j)``; "precomputed"; or a function
        ``k(X, Y)`` that returns an array of shape (n, m). Parameters of a kernel object are grid
        keys (``kernel__degree``).
    length_scale : {"auto", "median"}, float or array-like of shape (n_features,), default="auto"
        Of the kernels of a distance, in units of X. "median" is the median distance of distinct
        rows, "auto" comes from the likelihood of rows left out, with one per feature where their
        units differ much.
    sigma0 : float, default=0.1
        Prior standard deviation in feature space, to be compared with ``sqrt(k(x, x))``, which is 1
        for kernels of a distance. Smaller follows the data more closely.
    dof : float, default=1.0
        Degrees of freedom, above 0. It changes no ranking where the Jacobian is constant.
    beta : float, default=0.01
        Prior weight of mean zero in feature space, in rows. 0 and ``inf`` are the limits of an
        unknown mean and of mean zero.
    formula : {"exact", "published"}, default="exact"
        The exact predictive density, or the one that reference [1]_ prints, which lacks a term of
        order beta. They agree when ``beta=0``.
    jacobian : "auto", False or callable, default="auto"
        The volume element ``1/2 log det G``: by formula, left out, or a function of X that returns
        an array of shape (n_samples,). Kernels that are functions need a choice.
    normalize : False or {"quadrature", "importance"}, default=False
        Make the density integrate to one on ``support``; "quadrature" for up to 3 features.
    support : "auto" or tuple (low, high), default="auto"
        Box for ``normalize`` and `sample`, each side a number or array of shape (n_features,).
        "auto" widens the range of the data by 3 length scales, or by its width for kernels
        without one.
    contamination : "auto" or float in (0, 0.5], default="auto"
        Fraction of new rows like the training rows that `predict` labels outliers; "auto" is 0.05.
    max_rank : int, default=None
        Columns of a pivoted incomplete Cholesky factorization that replaces the kernel matrix.
    random_state : int, RandomState instance or None, default=None
        Draws of ``normalize="importance"``, and of `sample` when it gets none of its own.

    Attributes
    ----------
    kernel_ : object
        The kernel with its parameters resolved.
    length_scale_ : float, ndarray of shape (n_features,) or None
        Length scale in use; None for kernels without one.
    X_fit_ : ndarray of shape (n_samples, n_features) or None
        Distinct training rows of positive weight; None for a precomputed kernel.
    exponent_, log_normalizer_ : float
        ``(1 + W + dof) / 2``, and the log integral over ``support_``, 0 if not normalized.
    log_floor_ : float
        Limit of the score far from all data; ``-inf`` for kernels that grow, NaN where unknown.
    support_ : tuple of two ndarray of shape (n_features,) or None
        Corners of the box; None for a precomputed kernel.
    offset_ : float
        Score below which `predict` returns -1.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    See Also
    --------
    KernelStudentTClassifier : The same density of inputs and labels together.
    sklearn.neighbors.KernelDensity : Normalized; better with few features and many rows.

    Notes
    -----
    ``fit`` factorizes one n x n matrix and inverts its factor for the leave-one-out scores:
    O(n^2 d + 2 n^3 / 3) time, O(n^2) memory. Scoring costs O(n d + n^2) per row, in batches that
    keep temporary arrays below scikit-learn's ``working_memory``. With ``max_rank=r`` it is
    O(n r^2) and O(r^2).

    Scores of different models are comparable only when normalized: otherwise use a labeled scorer
    such as "roc_auc", or minimize the mean of `hyvarinen_score`, which needs no normalizer.

    "auto" of ``length_scale`` is 3.5 times the bandwidth of the Gaussian kernel density estimate
    of best leave-one-out likelihood on at most 500 distinct rows, and at least half the median
    distance to the nearest neighbor.

    With kernels that vanish at large distances the integral over the whole space is infinite:
    hence the box.

    NumPy, PyTorch and CuPy arrays are accepted under scikit-learn's ``array_api_dispatch``, in
    double precision with the named kernels; ``max_rank``, ``normalize``, `partial_fit`, `sample`
    and derivatives need NumPy.

    References
    ----------
    .. [1] F. Huszar, S. Lacoste-Julien, "A kernel approach to tractable Bayesian nonparametrics",
       arXiv:1103.1761, 2011: equations (3) to (6). Printed with centered features inside the
       inverse, where the derivation needs uncentered ones: ``formula`` offers both.
    .. [2] S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel representations",
       JMLR 2, 2001.
    .. [3] A. Hyvarinen, "Estimation of non-normalized statistical models by score matching",
       JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import KernelStudentTDensity
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> density = KernelStudentTDensity().fit(X)
    >>> density.predict([[0, 0, 0], [5, 5, 5]])
    array([ 1, -1])
    """

    kernel: object = "rbf"
    _: KW_ONLY
    length_scale: object = "auto"
    sigma0: check.strength = 0.1
    dof: check.strength = 1.0
    beta: _check_beta = 0.01
    formula: check.options("exact", "published") = "exact"
    jacobian: _check_jacobian = "auto"
    normalize: _check_normalize = False
    support: object = "auto"
    contamination: check.auto_or(check.within(0.0, 0.5, "right")) = "auto"
    max_rank: check.optional(check.at_least(1)) = None
    random_state: object = None

    def fit(self, X, y=None, sample_weight=None):
        """Factorize the kernel matrix of the rows.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features), and None
            Training rows, or kernel values of shape (n_samples, n_samples); y is ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight k of a row counts as k copies of it; rows of weight zero are left out.
        """
        self._check_precomputed()
        backend = backend_of(X)
        X = self._check_X(X, backend, reset=True)
        if sample_weight is not None:
            sample_weight = backend_of(sample_weight).to_host(sample_weight)
        weight = check.sample_weight(sample_weight, X.shape[0])
        used = np.flatnonzero(weight > 0)
        # Copies are one row of their total weight: left out, a row must not find itself again.
        first, place = equal_rows(backend.to_host(X)[used])
        places = np.full(len(weight), -1)
        places[used] = place
        used, weight = used[first], np.bincount(place, weight[used])
        self._used = used if len(used) < len(places) else None
        if self._used is not None:
            X = backend.rows(X, used)
        if self.beta == 0 and len(weight) == 1:
            raise ValueError("beta=0 needs at least 2 distinct rows, found 1: pass beta > 0")
        self.kernel_ = resolve_kernel(self, X, backend)
        self.length_scale_ = self.kernel_.length_scale
        weight = backend.array(weight, X)
        noise = float(self.sigma0) ** 2 / weight
        self.X_fit_ = None if self._precomputed else X
        if self._precomputed:
            K = X[:, used]
            self._diagonal = np.diag(K).copy()
            posterior = ExactPosterior(K, noise)
        elif self.max_rank is not None:
            posterior = LowRankPosterior(self.kernel_, X, noise, int(self.max_rank))
        else:
            posterior = ExactPosterior(self.kernel_(X, X), noise, backend)
        self._set_model(posterior, weight, places)
        if len(place) > 2 and np.ptp(self._reference[0]) < 1e-8 * self.exponent_:
            warn(
                "all rows get the same score: length_scale is far too small or too large, or all "
                "rows are equal; try length_scale='median'",
                RuntimeWarning,
            )
        elif len(place) > 2 and self.offset_ <= self.log_floor_:
            warn(
                f"no new row can be called an outlier: offset_ = {self.offset_:.9g} is not above "
                f"log_floor_ = {self.log_floor_:.9g}; raise length_scale or contamination",
                RuntimeWarning,
            )
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Append rows to the model, in O(n^2) for each.

        The first call is `fit`. The model is that of `fit` on all rows together, but a length scale
        "auto" or "median" and the pivots of ``max_rank`` stay those of the first call.

        Parameters
        ----------
        X, y, sample_weight : array-like of shape (n_samples, n_features), None, array-like or None
            New rows, and their weights as in `fit`.
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight)
        self._check_precomputed()
        self._need_host("partial_fit")
        if float(self.sigma0) ** 2 != self._model.s:
            raise ValueError("sigma0 changed since the first rows: call fit with all of them")
        X = self._check_X(X, NUMPY, reset=False)
        weight = check.sample_weight(sample_weight, len(X))
        X, weight = X[weight > 0], weight[weight > 0]
        n, rows = len(self.X_fit_), np.concatenate([self.X_fit_, X])
        first, place = equal_rows(rows)
        self.X_fit_ = rows[first]
        weight = np.bincount(place, np.concatenate([self._model.weight, weight]))
        noise = float(self.sigma0) ** 2 / weight
        posterior = self._model.posterior.grown(self.kernel_, self.X_fit_, noise)
        self._set_model(posterior, weight, np.concatenate([self._model.place, place[n:]]))
        return self

    def _check_precomputed(self):
        plain = {"max_rank": (None,), "normalize": (False,), "jacobian": ("auto", False)}
        for name, values in plain.items():
            if self._precomputed and getattr(self, name) not in values:
                raise ValueError(
                    f"{name}={getattr(self, name)!r:.60} needs rows, which kernel='precomputed' "
                    f"does not give: leave {name}={values[0]!r}"
                )

    def _check_X(self, X, backend, reset):
        if backend.on_host:
            X = check.rows(self, X, reset=reset, copy=True)
        else:
            xp = backend.xp
            X = validate_data(self, X, dtype=[xp.float64, xp.float32], reset=reset)
            X = xp.asarray(X, dtype=xp.float64, copy=True)
        if reset and self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"kernel='precomputed' needs a square matrix, got {X.shape}")
        return X

    def _set_model(self, posterior, weight, places):
        """Take over a posterior and derive the fitted attributes from it."""
        self._model = model = StudentTModel(self, posterior, weight, places)
        backend = posterior.backend
        self.exponent_, self.support_ = model.exponent, None
        if self.X_fit_ is not None:
            rows = backend.to_host(self.X_fit_)
            self.support_ = resolve_support(self.support, rows, self.length_scale_)
        density = LogDensity(model, self.kernel_, self.X_fit_, self.jacobian, self._used)
        self._log_density, self.log_normalizer_ = density, 0.0
        if self.normalize is not False:
            rng = check.random_state(self.random_state)
            self.log_normalizer_ = self._box().log_integral(self.normalize, rng)
        self.log_floor_ = density.floor() - self.log_normalizer_
        scores = density.reference() - self.log_normalizer_
        self._reference = scores, backend.to_host(weight)
        share = NORMAL_SHARE if check.is_auto(self.contamination) else self.contamination
        self.offset_ = score_threshold(*self._reference, share)

    def _box(self):
        return Box(self.support_, self._log_density, self.X_fit_, self.length_scale_)

    def score_samples(self, X, *, diag=None):
        """Log density of each row, up to a constant unless ``normalize`` is on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
        diag : array-like of shape (n_samples,), default=None
            Values k(x, x), for precomputed kernels where they vary.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Larger is more probable; ``-inf`` outside the box of a normalized density.
        """
        X, variance = self._variance(X, diag, "score_samples")
        scores = self._log_density.of_variance(X, variance)
        if self.normalize is not False:
            scores = np.where(self._box().contains(X), scores, -np.inf)
        return scores - self.log_normalizer_

    def predictive_variance(self, X, *, diag=None):
        """Variance V of the Gaussian process behind the score, noise included.

        Parameters
        ----------
        X, diag : array-like of shape (n_samples, n_features), and array-like or None
            As in `score_samples`.

        Returns
        -------
        variance : ndarray of shape (n_samples,)
            At least ``sigma0**2``, in units of k(x, x).
        """
        return self._variance(X, diag, "predictive_variance")[1]

    def score(self, X, y=None):
        """Sum of `score_samples`; it compares models only with ``normalize``, see Notes.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features), and None
            Rows; y is ignored.
        """
        scores = self.score_samples(X)
        return float(self._model_backend().xp.sum(scores))

    def leave_one_out_scores(self):
        """Compute leave-one-out scores of the training rows, in closed form.

        Each row is left out with its copies. The normalizer stays that of the full model.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In the order of the training rows of positive weight, those of `partial_fit` last.
        """
        check_is_fitted(self)
        scores = self._log_density.left_out() - self.log_normalizer_
        return self._model_backend().rows(scores, self._model.place[self._model.place >= 0])

    def score_gradient(self, X):
        """Gradient of `score_samples` in the coordinates of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        return self._log_density.gradient(self._rows_to_differentiate(X, "score_gradient"))

    def hyvarinen_score(self, X):
        """Compute the Hyvarinen score ``|grad log q|^2 / 2 + laplacian log q`` of rows.

        Its mean over new rows compares kernels and parameters without a normalizer; smaller is
        better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; each costs O(n^2 d).

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In units of one over the square of the units of X.
        """
        return self._log_density.hyvarinen(self._rows_to_differentiate(X, "hyvarinen_score"))

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the density on the box ``support_``.

        One and two features: from a fine grid. More: by importance resampling of 10,000 proposals
        where 50 of them count for each row wanted, else by hybrid Monte Carlo.

        Parameters
        ----------
        n_samples, random_state : int, default=1, and int, RandomState instance or None
            Number of rows, and random numbers; None takes those of the estimator.
        """
        check_is_fitted(self)
        self._need_host("sample")
        n_samples = check.integer(n_samples, "n_samples", 1)
        rng = check.random_state(self.random_state if random_state is None else random_state)
        if self.n_features_in_ > 2:
            self._need_derivatives("sample")
        return self._box().sample(n_samples, rng)

    def sample_prior(self, n_samples=50, n_features=2, random_state=None):
        """Draw a data set from the model itself, each row given those before it.

        The first row is zero and ``x_n ~ q(. | x_1, ..., x_(n-1))`` on the box ``support``, which
        must be given: section 4 and figure 2 of the paper that the class cites.

        Parameters
        ----------
        n_samples, n_features : int, default=50 and 2
            Numbers of rows and columns; each row costs what one of `sample` does.
        random_state : int, RandomState instance or None, default=None
            As in `sample`.
        """
        n_samples = check.integer(n_samples, "n_samples", 1)
        n_features = check.integer(n_features, "n_features", 1)
        low, high = support_sides(self.support)
        if np.any(low > 0) or np.any(high < 0):
            raise ValueError(f"support must contain zero, the first row; got {self.support!r}")
        density = clone(self)
        rng = check.random_state(self.random_state if random_state is None else random_state)
        X = np.zeros((n_samples, n_features))
        for n in range(1, n_samples):
            density.partial_fit(X[n - 1 : n])
            X[n] = density.sample(1, random_state=rng)[0]
        return X

    def decision_function(self, X, *, diag=None):
        """`score_samples` minus ``offset_``: negative for outliers.

        Parameters
        ----------
        X, diag : array-like of shape (n_samples, n_features), and array-like or None
            As in `score_samples`.
        """
        self._check_query(X, "decision_function")
        return self.score_samples(X, diag=diag) - self.offset_

    def predict(self, X, *, diag=None):
        """Label of each row.

        Parameters
        ----------
        X, diag : array-like of shape (n_samples, n_features), and array-like or None
            As in `score_samples`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 for inliers, -1 for outliers.
        """
        self._check_query(X, "predict")
        return self._label(self.decision_function(X, diag=diag))

    def _label(self, scores):
        xp = self._model_backend().xp
        ones = xp.ones_like(scores, dtype=xp.int64)
        return xp.where(scores < 0, -ones, ones)

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and label training rows by leave-one-out scores: 1 inlier, -1 outlier.

        ``fit(X).predict(X)`` accepts nearly all rows instead, as each is explained by itself.

        Parameters
        ----------
        X, y, sample_weight : array-like of shape (n_samples, n_features), None, array-like or None
            As in `fit`; rows of weight zero are labeled as new ones.
        """
        self.fit(X, y, sample_weight=sample_weight)
        place = self._model.place
        decision, unused = self._reference[0][place] - self.offset_, place < 0
        if np.any(unused):
            decision[unused] = self._model_backend().to_host(self.decision_function(X))[unused]
        return self._label(self._model_backend().array(decision, X))

    def novelty_p_values(self, X, *, diag=None):
        """Compute p-values of novelty, by the leave-one-out scores of the training rows.

        With scores S_i of the n training rows, each left out with its copies, and the score S(x) of
        a new row, ``p(x) = (1 + #{i: S_i <= S(x)}) / (1 + n)``, where rows of weight k count k
        times. If x is drawn like the training rows, the probability of ``p(x) <= c`` is about c.

        Parameters
        ----------
        X, diag : array-like of shape (n_samples, n_features), and array-like or None
            As in `score_samples`.

        Returns
        -------
        p : ndarray of shape (n_samples,)
            In (0, 1]; small for novel rows.
        """
        self._check_query(X, "novelty_p_values")
        scores, backend = self.score_samples(X, diag=diag), self._model_backend()
        return backend.array(p_values(backend.to_host(scores), *self._reference), scores)

    @property
    def _precomputed(self):
        return check.is_named(self.kernel, "precomputed")

    def _model_backend(self):
        return self._model.posterior.backend

    def _check_query(self, X, method):
        check_is_fitted(self)
        backend, fitted = backend_of(X), self._model_backend()
        if backend.name != fitted.name:
            raise ValueError(
                f"inputs passed to {type(self).__name__}.{method}() must use the same namespace as "
                f"those of fit: fitted on {fitted.name} arrays, X is one of {backend.name}; "
                "convert X, or fit again"
            )

    def _variance(self, X, diag, method):
        self._check_query(X, method)
        X = self._check_X(X, self._model_backend(), reset=False)
        if self._precomputed:
            diag = self._check_diagonal(diag, len(X))
        elif diag is not None:
            raise ValueError("diag is for kernel='precomputed'; leave it out")
        return X, self._log_density.variance(X, diag)

    def _check_diagonal(self, diag, n_rows):
        if diag is not None:
            return check.shaped(diag, "diag", n_rows)
        if np.ptp(self._diagonal) > 1e-10 * abs(self._diagonal[0]):
            raise ValueError("k(x, x) differs between training rows: pass diag=, that of new rows")
        return np.full(n_rows, self._diagonal[0])

    def _rows_to_differentiate(self, X, name):
        check_is_fitted(self)
        self._need_host(name)
        X = self._check_X(X, NUMPY, reset=False)
        self._need_derivatives(name)
        return X

    def _need_derivatives(self, name):
        smooth = self.kernel_.differentiable and not callable(self.jacobian)
        if not smooth or self.max_rank is not None:
            raise ValueError(
                f"{name} needs the kernel 'rbf', 'matern32', 'matern52', 'rational_quadratic', "
                "'linear' or 'polynomial', jacobian 'auto' or False, and max_rank=None"
            )

    def _need_host(self, name):
        if not self._model_backend().on_host or self.X_fit_ is None:
            raise ValueError(
                f"{name} needs rows as NumPy arrays: fit on them, with array_api_dispatch off and "
                "a kernel other than 'precomputed'"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.array_api_support = not needs_numpy(self)
        return tags
