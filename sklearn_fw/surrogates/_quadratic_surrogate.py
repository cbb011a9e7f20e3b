"""The classifier by a quadratic surrogate of any task loss."""

from collections.abc import Callable
from dataclasses import KW_ONLY

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._core import check
from .._core.budget import budget_now, time_budget
from .._core.costs import costs_of
from .._core.estimator import Estimator
from ..task_losses import HammingLoss, Truth, ZeroOneLoss, resolve_task_loss
from ._calibration import check_eps, steps_needed
from ._embeddings import ListedOutputs, NodeOutputs
from ._kernels import choose, kernel_matrix
from ._least_squares import descend, fit_features, fit_kernel, functions, seen_constants

MOST_OUTPUTS = 5000
LEAST_COST = 0.01  # of the largest one, in weights of samples
NAMES = ("auto", "hamming", "hamming_sum", "zero_one")  # of losses of labels
KERNELS = {"auto", *PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}


class QuadraticSurrogateClassifier(ClassifierMixin, Estimator):
    """Consistent classifier for any task loss, by a quadratic surrogate.

    Minimizes, over functions g from inputs to r numbers, with the embedding psi of the loss::

        sum_i w_i |g(x_i) - psi(y_i)|^2 / (2 n) + alpha / (2 n) |g|^2

    and predicts the output with the largest score ``F g(x)``, which estimates minus the expected
    loss. F spans the columns of the loss, so that r is small where the loss has structure: one plus
    the number of labels of an output for the Hamming loss, the number of blocks for the block loss.
    As n grows, predictions become the best for the task loss, unlike those of a structured SVM.

    Parameters
    ----------
    task_loss : str, array-like, callable or TaskLoss, default="auto"
        Cost of a mistake: "zero_one", "hamming", a matrix (rows: truth), a function or an object of
        `sklearn_fw.task_losses`. "auto" is "hamming" for outputs of several labels, else
        "zero_one". Losses that are sums over labels (or have a bound that is one) are never
        enumerated; for others the outputs seen in fit are those that are predicted.
    score_space : {"loss", "full"} or array-like of shape (n_outputs, r), default="loss"
        Space of the scores. The first two predict the same with ``solver="ridge"``. Smaller spaces
        are faster to learn and mostly not consistent: see `consistency_level`.
    kernel : str or callable, default="auto"
        Any kernel of `sklearn.metrics.pairwise.pairwise_kernels`, or "precomputed". "auto" is
        "linear" or "rbf", whichever has the smaller task loss on rows left out; and "linear" for
        more than 2,000 rows, sparse X, "asgd" and where ``alpha`` is a number.
    gamma : float or None, default=None
        Of the kernel; None is ``1 / n_features``. Where the kernel is "auto", it is the best of
        0.3, 1 or 3 times that, divided by the variance of X.
    degree, coef0 : float, default=3 and 1
        Of the polynomial kernel; the latter of the sigmoid kernel, too.
    kernel_params : dict or None, default=None
        Arguments of a kernel that is a callable.
    standardize : bool or "auto", default="auto"
        Whether columns are divided by their standard deviation. "auto" takes what is better on rows
        left out where X is dense, ``alpha`` is "auto" and the kernel is "auto" or "linear".
    solver : {"ridge", "asgd"}, default="ridge"
        The minimum, or averaged stochastic gradients in a ball instead of the ridge.
    alpha : float or "auto", default="auto"
        Weight of the ridge, that of `sklearn.linear_model.Ridge`. "auto" has the least squared
        error on rows left out, each with its copies; for "asgd" it sets the size of the ball.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which "ridge" does not penalize.
    cost_weight : {"auto", "root"} or None, default="auto"
        "root" multiplies the loss of a sample by the square root of the largest cost of its true
        output, and divides psi by it: consistent, and better for few samples and skewed costs.
        "auto" is "root" where ``alpha`` is "auto" and the solver is "ridge".
    radius : float or None, default=None
        Radius of the ball for "asgd"; None is twice the norm of a ridge fit on 2,000 rows at most.
    step_size : float or {"auto", "theory"}, default="auto"
        For "asgd": "theory" is ``D / (M sqrt(N))`` for N steps, with the radius D and the largest
        norm M of a gradient; "auto" is ``1 / (2 R^2)`` with the largest norm R of an input.
    max_iter : int, default=50
        Passes of "asgd", each of n steps.
    random_state : int, RandomState or None, default=None
        Draws of rows.
    verbose : int, default=0
        Log the objective of "asgd".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, those of all columns where outputs have several.
    outputs_ : ndarray of shape (n_outputs, n_labels) or None
        The outputs of several labels that are predicted; None where they are not listed.
    task_loss_ : TaskLoss
        The loss.
    loss_matrix_, score_basis_ : ndarray of shape (n_outputs, n_outputs) and (n_outputs, r) or None
        Cost of every prediction (column) for every truth (row), and F, with ``F'F = n_outputs I``;
        None where outputs are not listed.
    rank_ : int
        The number r of functions.
    coef_ : ndarray of shape (r, n_features) or None
        Coefficients for X as given; None with a kernel. With weights by costs, here and below r is
        larger by one: the last function estimates the inverse of the mean weight, which divides the
        others.
    dual_coef_, X_fit_ : ndarray of shape (n_samples, r), rows of fit, or None
        Coefficients of the rows of fit, and these rows; None without a kernel.
    intercept_ : ndarray of shape (r,)
        Intercepts.
    alpha_, kernel_, gamma_ : object
        Weight of the ridge, kernel and its ``gamma`` that were used.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the columns; None where they were taken as they are.
    constants_ : dict
        "L_max", "r", "kappa" (1), "R" (largest norm of an input), "D" (twice the norm of g) and "M"
        (largest norm of a gradient), estimates except for the first three.
    n_iter_ : int
        Passes; 1 for "ridge".
    history_ : dict of str to ndarray
        "n_iter", "time" (seconds) and "objective" (without the ridge).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names when X had names that are all strings.

    See Also
    --------
    calibration_function : How hard a loss is.
    StructuredSVM : Outputs with inner structure, and margins.
    sklearn.linear_model.RidgeClassifier : The same predictions for "zero_one".

    Notes
    -----
    More than 13 parameters: five are those of scikit-learn's kernels, three those of "asgd".
    `alpha_`, `kernel_` and `gamma_` give the same fit again with ``cost_weight="root"`` and
    ``standardize=scale_ is not None``.

    "ridge" costs O(n d^2) for features and O(n^3) for kernels, whatever r is. Scores are not
    log-odds; `predict_risk` may leave the range of the costs.

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017.

    Examples
    --------
    To take a 0 for another digit costs five times as much.

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_fw.surrogates import QuadraticSurrogateClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> costs = 1.0 - np.eye(10)
    >>> costs[0] *= 5.0
    >>> model = QuadraticSurrogateClassifier(costs, kernel="rbf", gamma=1e-3).fit(X[:900], y[:900])
    >>> model.score(X[900:], y[900:]) > 0.95
    True
    """

    task_loss: object = "auto"
    _: KW_ONLY
    score_space: object = "loss"
    kernel: check.options(*KERNELS, kind=Callable) = "auto"
    gamma: check.optional(check.strength) = None
    degree: check.optional(check.strength) = 3
    coef0: check.number = 1
    kernel_params: check.instance_of(dict | None) = None
    standardize: check.auto_or(check.flag, "True or False") = "auto"
    solver: check.options("ridge", "asgd") = "ridge"
    alpha: check.auto_or(check.strength) = "auto"
    fit_intercept: bool = True
    cost_weight: check.optional(check.options("auto", "root")) = "auto"
    radius: check.optional(check.strength) = None
    step_size: check.auto_or(check.strength, words=("auto", "theory")) = "auto"
    max_iter: int = 50
    random_state: object = None
    verbose: int = 0

    # ---- fit -------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Learn from samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs, or the kernel between them with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors of the losses; an integer n counts as n copies.

        Returns
        -------
        self : QuadraticSurrogateClassifier
            The estimator.
        """
        with time_budget():
            standardizes = not check.is_auto(self.standardize) and self.standardize
            if standardizes and check.is_named(self.kernel, "precomputed"):
                raise ValueError("standardize must be 'auto' or False for kernel='precomputed'")
            rng = check.random_state(self.random_state)
            X, y = check.rows(self, X, y, multi_output=True, accept_sparse="csr")
            weight = check.sample_weight(sample_weight, X.shape[0])
            self._outputs, targets = self._embed(y)
            self.rank_ = self._outputs.rank
            self.coef_ = self.dual_coef_ = None
            size = self._sizes(targets, weight)
            targets, weight = targets / size[:, None], weight * size
            features = choose(self, X, targets, weight, bool(self.fit_intercept), rng)
            if self._inverse is not None:
                targets = np.column_stack([targets, 1.0 / size])
            return self._learn(features, targets, weight, rng)

    def _sizes(self, targets, weight):
        """Factors of the losses; keeps the range of their inverse where they differ."""
        weighs, self._inverse = self.cost_weight, None
        if check.is_auto(weighs):
            weighs = isinstance(self.alpha, str) and self.solver == "ridge"
        costs = self._outputs.largest(targets) if weighs else np.ones(len(targets))
        if np.ptp(costs) <= 1e-9 * costs.max():
            return np.ones(len(targets))
        size = np.sqrt(np.maximum(costs, LEAST_COST * costs.max()))
        size /= weight @ size / weight.sum()
        self._inverse = (1.0 / size.max(), 1.0 / size.min())
        return size

    def _embed(self, y):
        """Outputs and targets of least squares; sets the fitted attributes of the outputs."""
        if sp.issparse(y):
            y = y.toarray()
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if check.is_auto(self.task_loss):
            self.task_loss_ = ZeroOneLoss() if y.ndim == 1 else HammingLoss()
        else:
            self.task_loss_ = resolve_task_loss(self.task_loss, NAMES)
        self.outputs_, self.classes_ = None, check.find_labels(y.ravel(), "y")
        states, listed = np.searchsorted(self.classes_, y), self.classes_
        self.loss_matrix_ = self.score_basis_ = None
        if y.ndim == 2 and self.task_loss_.decomposes:
            outputs = NodeOutputs(self.task_loss_, states, self.classes_, self.score_space)
            return outputs, outputs.targets
        if y.ndim == 2:
            distinct, states = np.unique(states, axis=0, return_inverse=True)
            if not 2 <= len(distinct) <= MOST_OUTPUTS:
                raise ValueError(
                    f"y has {len(distinct)} distinct outputs, and from 2 to {MOST_OUTPUTS} are "
                    f"possible for task_loss={self.task_loss!r}: take a loss that is a sum over "
                    f"labels, such as 'hamming'"
                )
            self.outputs_ = listed = self.classes_[distinct]
        elif len(listed) < 2:
            raise ValueError(f"y has one class, {listed.tolist()[0]!r}: a classifier needs two")
        self.loss_matrix_ = self.task_loss_.matrix(listed)
        outputs = ListedOutputs(self.loss_matrix_, self.score_space)
        self.score_basis_ = outputs.space.basis
        return outputs, outputs.table[np.ravel(states)]

    def _learn(self, features, targets, weight, rng):
        is_kernel, fit_intercept = self.X_fit_ is not None, bool(self.fit_intercept)
        if self.solver == "ridge":
            fit = fit_kernel if is_kernel else fit_features
            coef, self.intercept_ = fit(features, targets, weight, self.alpha_, fit_intercept)
            gaps = functions(features, coef, self.intercept_, is_kernel) - targets
            objective = float(weight @ np.sum(gaps**2, axis=1)) / weight.sum() / 2.0
            row = {"n_iter": 1.0, "time": budget_now().elapsed, "objective": objective}
            self.n_iter_ = 1
            self.history_ = {name: np.array([value]) for name, value in row.items()}
        else:
            data = features, targets, weight
            coef, self.intercept_, outcome = descend(self, *data, fit_intercept, rng, is_kernel)
            self.n_iter_, self.history_ = outcome.n_iter, outcome.history
        if is_kernel:
            self.dual_coef_ = coef
        else:
            self.coef_ = coef if self.scale_ is None else coef / self.scale_
        seen = seen_constants(features, targets, coef, self.intercept_, is_kernel)
        costs = {"L_max": self._outputs.largest_cost, "r": self.rank_, "kappa": 1.0}
        self.constants_ = costs | seen
        return self

    # ---- answers ---------------------------------------------------------------------------------

    def _answer(self, X, name):
        """A method of the outputs for the functions of X."""
        X = check.rows(self, X, reset=False, accept_sparse="csr")
        features = X if self.X_fit_ is None else kernel_matrix(self, X)
        coef = self.coef_ if self.X_fit_ is None else self.dual_coef_
        g = functions(features, coef, self.intercept_, self.X_fit_ is not None)
        if self._inverse is not None:
            g = g[:, :-1] / np.clip(g[:, -1:], *self._inverse)
        check.magnitude(g, "what the functions give for X")
        return getattr(self._outputs, name)(g)

    def decision_function(self, X):
        """Return scores of the outputs, estimates of minus the expected loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_labels), \
                or list of ndarray
            For two classes the difference of the scores, positive for ``classes_[1]``. Outputs of
            several labels that are not listed: the same for each label, where all are of the same
            two; else a list with the scores of the classes of each, without a common constant.
        """
        scores = self._answer(X, "scores")
        if isinstance(scores, list):
            all_binary = all(s.shape[1] == 2 for s in scores)
            return np.column_stack([s[:, 1] - s[:, 0] for s in scores]) if all_binary else scores
        is_binary = self.outputs_ is None and len(self.classes_) == 2
        return scores[:, 1] - scores[:, 0] if is_binary else scores

    def predict(self, X):
        """Return the outputs with the largest scores; of equal ones the first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        """
        states = self._answer(X, "states")
        return (self.classes_ if self.outputs_ is None else self.outputs_)[states]

    def predict_risk(self, X):
        """Return estimates of the expected loss, of shape (n_samples, n_outputs).

        Where outputs are not listed it is that of the predicted one, of shape (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        """
        return self._answer(X, "risks")

    def score(self, X, y, sample_weight=None):
        """Return one minus the mean task loss, negative where mistakes cost more than one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            True labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples.
        """
        predicted = self.predict(X)
        y = y.toarray() if sp.issparse(y) else np.asarray(y)
        if y.ndim == 2 and predicted.ndim == 1:
            y = column_or_1d(y, warn=True)
        if y.shape != predicted.shape:
            raise ValueError(f"y has shape {y.shape}, predictions have {predicted.shape}")
        weight = check.sample_weight(sample_weight, len(y))
        return 1.0 - float(weight @ self._losses(y, predicted)) / float(weight.sum())

    def _losses(self, y, predicted):
        """Task losses, of labels by their place among those of fit."""
        loss = self.task_loss_
        if not loss._has_costs or loss._has_value:
            return loss.losses(list(y), list(predicted))
        check.find_labels(y.ravel(), "y")
        places = np.minimum(np.searchsorted(self.classes_, y.ravel()), len(self.classes_) - 1)
        states = np.where(self.classes_[places] == y.ravel(), places, -1)
        n_nodes = 1 if y.ndim == 1 else y.shape[1]
        truth = Truth(states, n_nodes * np.arange(len(y) + 1), (self.classes_,))
        predicted = np.searchsorted(self.classes_, predicted.ravel())
        return costs_of(loss, truth).losses(truth, predicted)

    def learning_complexity(self, eps):
        """Return `learning_complexity` with ``constants_``, whose D and M are estimates.

        Parameters
        ----------
        eps : float or array-like
            Excesses of the risk, positive.
        """
        check_is_fitted(self)
        eps = check_eps(eps, positive=True)
        if not self._outputs.holds_loss:
            raise ValueError(
                "score_space does not hold the loss, so no number of examples suffices for every "
                "eps: see the function learning_complexity"
            )
        return steps_needed(self.constants_, eps**2 / (2.0 * self._outputs.widest()), eps)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
