"""Label reconstruction: the density of inputs and labels together."""

from dataclasses import KW_ONLY

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator, LabelMixin
from .._core.parameters import check_parameters
from . import _kernels as kernels
from ._backend import NUMPY
from ._model import StudentTModel, batches, equal_rows, log_volume
from ._posterior import ExactPosterior
from ._student_t import KernelStudentTDensity

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the median distance


class KernelStudentTClassifier(LabelMixin, Estimator):
    """Classifier by a joint kernel Student-t density of inputs and labels.

    The joint kernel is ``k(x, x') * r^[y != y']`` with ``r = exp(-1 / label_length_scale^2)``:
    for the RBF kernel, the RBF kernel on the input with the one-hot label appended. Then

        ``log p(y | x) = log q(x, y) / temperature - log sum_c exp(log q(x, c) / temperature)``.

    Choose it to find mislabeled rows, in the training set too, and with few rows of many features;
    as a plain classifier `sklearn.svm.SVC` is the first thing to try.

    Parameters
    ----------
    density : KernelStudentTDensity, default=None
        Kernel and hyper-parameters, grid keys ``density__sigma0`` and so on; the defaults if None.
        ``normalize``, ``max_rank``, ``contamination`` and ``support`` are not for this use.
    label_length_scale : float, default=1.0
        Length scale on the one-hot labels.
    temperature : "auto" or float, default="auto"
        Divides the joint log scores in `predict_proba`. The exponent grows with the number of rows,
        so that probabilities are extreme at 1. "auto" is the one under which the left-out labels of
        at most 500 distinct rows are most probable.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    density_ : KernelStudentTDensity
        The prototype in use, with its parameters; not fitted on its own.
    kernel_, length_scale_ : object, float, ndarray of shape (n_features,) or None
        Kernel on the inputs, and its length scale.
    temperature_ : float
        Temperature in use.
    X_fit_, y_fit_ : ndarray of shape (n_samples, n_features) and (n_samples,)
        Distinct training rows of positive weight, and their labels as positions in ``classes_``.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    Notes
    -----
    A length scale "auto" is the one of 1/4, 1/2, 1, 2 and 4 times the median distance under which
    the left-out labels of at most 500 distinct rows are most probable, each candidate with its
    best temperature. As in `KernelStudentTDensity` features are measured in units of their own
    where that gains likelihood.

    ``fit`` is one factorization of the n x n joint kernel matrix; a prediction costs one triangular
    solve per class and row, O(n_classes n^2), in batches within ``working_memory``. Leaving out
    every row under every label costs O(n^3 + n_classes n^2), and a temperature "auto" as much as
    two more factorizations.

    References
    ----------
    .. [1] F. Huszar, S. Lacoste-Julien, "A kernel approach to tractable Bayesian nonparametrics",
       arXiv:1103.1761, 2011: sections 4.1 and 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw.density import KernelStudentTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2  # a setosa labeled virginica
    >>> classifier = KernelStudentTClassifier().fit(X, y)
    >>> int(classifier.leave_one_out_scores().argmin())
    0
    """

    density: object = None
    _: KW_ONLY
    label_length_scale: check.strength = 1.0
    temperature: check.auto_or(check.strength) = "auto"

    def fit(self, X, y, sample_weight=None):
        """Factorize the joint kernel matrix of rows and labels.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Training rows and their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight k of a row counts as k copies of it; rows of weight zero are left out.
        """
        X, y = check.rows(self, X, y)
        weight = check.sample_weight(sample_weight, len(X))
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.classes_, y = check.classes(y)
        # Copies are one row of their total weight: left out, a row must not find itself again.
        first, place = equal_rows(np.column_stack([X, y]))
        self.X_fit_, self.y_fit_ = X, y = X[first], y[first]
        weight = np.bincount(place, weight)
        self.density_ = prototype(self.density)
        check_parameters(self.density_)
        kernel, scale = self.density_.kernel, self.density_.length_scale
        if check.is_auto(scale) and check.is_named(kernel, *kernels.RADIAL):
            self.density_.length_scale = self._choose_length_scale(X, y)
        self.kernel_ = kernels.resolve_kernel(self.density_, X, NUMPY)
        self.length_scale_ = self.kernel_.length_scale
        self._model = self._joint_model(self.kernel_, X, y, weight, place)
        self.temperature_ = self.temperature
        if check.is_auto(self.temperature):
            rows = kernels.spread(len(X), kernels.MAX_ROWS)
            scores = self._left_out(self._model, self.kernel_, X, y, rows, np.inf)
            self.temperature_ = 2.0 ** _best_temperature(scores, y[rows], weight[rows]).x
        return self

    def _joint_model(self, kernel, X, y, weight, place=None):
        K = kernel(X, X)
        K *= np.where(y[:, None] == y, 1.0, self._mismatch)
        posterior = ExactPosterior(K, float(self.density_.sigma0) ** 2 / weight)
        return StudentTModel(self.density_, posterior, weight, place)

    @property
    def _mismatch(self):
        return float(np.exp(-1.0 / float(self.label_length_scale) ** 2))

    def _choose_length_scale(self, X, y):
        """The one under which left-out labels are most probable, at a temperature that suits it."""
        unit = kernels.likely_unit(X)
        joint = kernels.distinct_rows(np.column_stack([X, y]), kernels.MAX_ROWS)
        X, y = joint[:, :-1] / unit, joint[:, -1].astype(int)
        median = kernels.median_distance(X)
        if len(X) < kernels.MIN_ROWS:
            return median * unit

        def likelihood(multiple):
            scale = multiple * median
            kernel = kernels.RadialKernel(self.density_.kernel, scale, X.mean(axis=0))
            model = self._joint_model(kernel, X, y, np.ones(len(X)))
            return -_best_temperature(self._left_out(model, kernel, X, y), y).fun

        return max(MULTIPLES, key=likelihood) * median * unit

    def decision_function(self, X):
        """Joint log score of each row with each label; for two labels, the difference.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column for two classes, positive for ``classes_[1]``.
        """
        scores = self.joint_log_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def joint_log_scores(self, X):
        """Compute ``log q(x, c)`` of each row with each label, up to one constant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        X = check.rows(self, X, reset=False)
        model, variance = self._model, np.empty((len(X), len(self.classes_)))
        for rows in batches(len(X), 2 * len(self.X_fit_)):
            K, diagonal = self.kernel_(X[rows], self.X_fit_), self.kernel_.diag(X[rows])
            for label in range(len(self.classes_)):
                match = np.where(self.y_fit_ == label, 1.0, self._mismatch)
                found = model.posterior.project(K * match, diagonal)
                variance[rows, label] = model.variance(*found)
        return model.log_score(variance) + self._log_volume(X)

    def score_joint(self, X, y):
        """Compute ``log q(x, y)``: low for unusual rows and for wrong labels.

        `score_label` finds wrong labels only.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Rows and labels, all from ``classes_``.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Up to one constant for the whole model.
        """
        scores = self.joint_log_scores(X)
        return scores[np.arange(len(scores)), self._places(y, len(scores))]

    def score_label(self, X, y):
        """Compute ``log p(y | x)`` at ``temperature``: low for wrong labels.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Rows and labels, all from ``classes_``.
        """
        scores = self.joint_log_scores(X) / self.temperature_
        return _log_probability(scores, self._places(y, len(scores)))

    def _places(self, y, n_rows):
        found, labels = check.find_labels(y, "y"), check.labels(y)
        if labels.shape != (n_rows,):
            raise ValueError(f"y has shape {labels.shape}, expected ({n_rows},): a label per row")
        known = set(self.classes_.tolist())
        if unseen := [label for label in found.tolist() if label not in known]:
            raise ValueError(f"y holds labels unseen in fit: {unseen[0]!r}")
        return np.searchsorted(self.classes_, labels)

    def leave_one_out_scores(self):
        """Compute leave-one-out ``log p(y_i | x_i)``, which is low for wrong labels.

        Unlike a joint score, it is not low for unusual inputs with a right label.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            At most 0, low for rows that are mislabeled; in the order of the training rows of
            positive weight.
        """
        scores = self.leave_one_out_joint_log_scores() / self.temperature_
        return _log_probability(scores, self.y_fit_[self._model.place])

    def leave_one_out_predict(self):
        """Most probable label of each training row, in the model without the row.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, in the order of the training rows of positive weight.
        """
        return self.classes_[self.leave_one_out_joint_log_scores().argmax(axis=1)]

    def leave_one_out_joint_log_scores(self):
        """Compute leave-one-out `joint_log_scores` of the training rows, in closed form.

        A row whose copies weigh more than one loses one unit of it. Costs O(n^3) once, as `fit`
        does.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            Up to one constant for the whole model; in the order of the training rows of positive
            weight.
        """
        check_is_fitted(self)
        scores = self._left_out(self._model, self.kernel_, self.X_fit_, self.y_fit_)
        return (scores + self._log_volume(self.X_fit_))[self._model.place]

    def _left_out(self, model, kernel, X, y, rows=slice(None), unit=1.0):
        """Log score of `rows` with every label, each in the model without `unit` of its weight.

        With P = B^-1 of the model and u the joint kernel of row i under label c with the others,
        the variance without row i has ``u' P u - (P u)_i^2 / P_ii`` in place of ``u' P u``. A row
        that keeps weight w' > 0 has noise ``s / w'`` instead of ``s / w``: there P_ii grows by the
        inverse of the difference, and entry i of u stays. The columns are ``u = mismatch k + (1 -
        mismatch) g`` with the input kernel k and its part g on the rows of the label, so that one
        product P K serves all labels.
        """
        mismatch, posterior = self._mismatch, model.posterior
        weight = model.weight[rows]
        removed = np.minimum(weight, unit)
        kept = weight - removed
        own = np.arange(len(X))[rows], np.arange(len(weight))
        inverse, _ = lapack.dpotri(posterior.chol, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        # 1 / (s / kept - s / weight), which is zero for a row that leaves altogether.
        pivot = np.diag(inverse)[rows] + kept * weight / (removed * model.s)
        sums, W = posterior.sums, model.total_weight - removed
        information = posterior.information - sums[rows] ** 2 / pivot
        K = kernel(X, X[rows])
        diagonal = K[own]
        K[own] *= kept > 0
        solved = inverse @ K
        plain = np.einsum("ji,ji->i", K, solved), sums @ K, solved[own]
        rest = 1.0 - mismatch
        variance = np.empty((len(weight), len(self.classes_)))
        for label in range(len(self.classes_)):
            like = np.flatnonzero(y == label)
            part = K[like]
            cross = np.einsum("ji,ji->i", part, solved[like])
            square = mismatch**2 * plain[0] + 2.0 * mismatch * rest * cross
            square += rest**2 * np.einsum("ji,ji->i", part, inverse[np.ix_(like, like)] @ part)
            alone = mismatch * plain[2] + rest * np.einsum("ji,ji->i", part, inverse[like][:, rows])
            share = mismatch * plain[1] + rest * (sums[like] @ part) - sums[rows] * alone / pivot
            residual = np.maximum(diagonal - square + alone * alone / pivot, 0.0)
            variance[:, label] = model.variance(residual, share, W, information)
        return model.log_score(variance, W[:, None])

    def predict_proba(self, X):
        return softmax(self.joint_log_scores(X) / self.temperature_, axis=1)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, without underflow.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        return log_softmax(self.joint_log_scores(X) / self.temperature_, axis=1)

    def _log_volume(self, X):
        return log_volume(self.density_.jacobian, self.kernel_, X)[:, None]


def _log_probability(scores, place):
    """Log probability of the label at `place` of each row, without cancellation near zero."""
    rows = np.arange(len(scores))
    odds = scores - scores[rows, place][:, None]
    odds[rows, place] = -np.inf
    return -np.logaddexp(0.0, np.logaddexp.reduce(odds, axis=1))


def _best_temperature(scores, place, weight=None):
    """Least mean log loss ``fun`` of labels, and the binary logarithm ``x`` of its temperature."""

    def loss(log_temperature):
        return -np.average(_log_probability(scores / 2.0**log_temperature, place), weights=weight)

    return minimize_scalar(loss, bounds=(0.0, 14.0), method="bounded")


def prototype(density):
    if density is None:
        return KernelStudentTDensity()
    check.instance(density, "density", KernelStudentTDensity)
    for name, plain in (("normalize", False), ("max_rank", None)):
        value = getattr(density, name)
        if value is not plain:
            raise ValueError(f"density must have {name}={plain} here, got {name}={value!r}")
    if check.is_named(density.kernel, "precomputed"):
        raise ValueError("density must have a kernel that it can evaluate, not 'precomputed'")
    return clone(density)
