"""What fitted structured SVMs predict, how good that is, and parameters that they share."""

from dataclasses import KW_ONLY

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils.metaestimators import available_if

from .._core import check
from .._core.blocks import blockwise
from .._core.callbacks import CallbackSupportMixin
from .._core.estimator import Estimator
from .._core.oracle import name_of
from .._core.packed import length_of
from .._core.result import Status
from .._core.warnings import refuse_scorer, warn
from ..inference import ORACLES
from ._models._ragged import check_counts
from ._models._resolve import MODELS
from ._solvers import SOLVERS

MAKERS = {"model": MODELS, "oracle": ORACLES, "solver": SOLVERS}
# Whatever tol says, a gap of a larger share of the objective is not called convergence.
LOOSEST = 0.1
# Temperatures are looked for within this factor around that at which scores differ by one.
WIDEST = 1e4
SMALLEST = 1e-300  # probabilities below it count as this


def offered(name):
    return available_if(lambda estimator: estimator._offers(name))


class StructuredPredictor(CallbackSupportMixin, Estimator):
    """Base of structured SVMs.

    A subclass has `_check_X`, and a `_view` of what was fit, with the methods of `PairwiseModel`
    that an estimator calls.
    """

    _: KW_ONLY
    task_loss: object = "auto"
    oracle: object = "auto"
    solver: object = "auto"
    C: check.auto_or(check.strength) = "auto"
    tol: check.auto_or(check.not_negative) = "auto"
    max_iter: check.auto_or(check.at_least(1)) = "auto"
    time_limit: object = None
    warm_start: bool = False
    random_state: object = None
    verbose: int = 0

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Never a classifier for scikit-learn: it would stratify by whole sequences.
        tags.input_tags.two_d_array = tags.target_tags.single_output = False
        return tags

    def _offers(self, method):
        return True

    def _fitted(self):
        """Fitted attributes by name, which callbacks see in the middle of a fit."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def _set_end(self, outcome, certified):
        """Set how the fit ended, and return the status."""
        status = outcome.status
        if not certified and status in (Status.CONVERGED, Status.MAX_ITER):
            status = Status.FINISHED
        if status is Status.CONVERGED and self.dual_gap_ > LOOSEST * abs(self.objective_):
            status = Status.LOOSE
        vars(self).update(outcome._replace(status=status).attributes())
        return status

    # ---- predictions -----------------------------------------------------------------------------

    def _predict(self, X):
        X = self._check_X(X)
        return self._view._predict(X, self.coef_, self.oracle_)

    @blockwise
    def predict(self, X):
        """Return the outputs of highest score.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; an object array of label arrays for sequences.
        """
        outputs = self._predict(X)[0]
        refuse_scorer(outputs)
        return outputs

    @blockwise
    def score_samples(self, X):
        """Return the score of the predicted output of every sample, of shape (n_samples,).

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        """
        outputs, scores = self._predict(X)
        return np.fromiter(scores, np.float64, len(outputs))

    def loss(self, X, y):
        """Return the task loss of the prediction of every sample, of shape (n_samples,).

        Losses are in the units of ``task_loss``, without class weights.

        Parameters
        ----------
        X, y : array-like, list, object array or Packed of length n_samples
            Inputs and true outputs.
        """
        predicted = self.predict(X)
        check_counts(len(predicted), length_of(y, "y"))
        return self._view._losses(y, predicted, X=X)

    def score(self, X, y, sample_weight=None):
        """Return one minus the mean task loss; for class labels the accuracy.

        Parameters
        ----------
        X, y : array-like, list, object array or Packed of length n_samples
            Inputs and true outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the mean.
        """
        losses = self.loss(X, y)
        weights = check.sample_weight(sample_weight, len(losses))
        return float(1.0 - np.average(losses, weights=weights))

    @offered("n_best")
    def n_best(self, X, k):
        """Return the k outputs of highest score, best first.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        k : int
            Number of outputs, at least 1.

        Returns
        -------
        outputs, scores : list of n_samples ndarrays of shape (m, ...) and of shape (m,)
            Different outputs of each sample and their scores, with m < k where fewer exist.
        """
        X, k = self._check_X(X), check.integer(k, "k", 1)
        self._need("n_best", "top_k")
        return self._view._top_k(X, self.coef_, self.oracle_, k)

    # ---- probabilities ---------------------------------------------------------------------------

    @offered("predict_marginals")
    @blockwise
    def predict_marginals(self, X):
        """Return marginals under ``p(y) ~ exp(score of y / temperature_)``.

        With ``surrogate="crf"`` these are the probabilities that training fits. Those of the hinge
        rank states, and need `calibrate` where their size matters, but for classes with a C that
        was chosen in `fit`.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        marginals : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels, 2)
            Class or label probabilities in the order of ``classes_``; an object array of arrays of
            shape (n_nodes, n_classes) for sequences and graphs, (n_candidates,) for candidates.
        """
        X = self._check_X(X)
        self._need("predict_marginals", "marginals")
        temperature = getattr(self, "temperature_", 1.0)
        return self._view._marginals(X, self.coef_, self.oracle_, temperature)

    @offered("calibrate")
    def calibrate(self, X, y, sample_weight=None):
        """Choose the temperature of `predict_marginals` on data that were not trained on.

        Minimizes over t > 0 the mean, over all nodes or lists of candidates, of minus the logarithm
        of the probability of the truth at temperature t [1]_, and sets ``temperature_``.
        Predictions stay the same. Costs at most about forty times `predict_marginals`.

        Parameters
        ----------
        X, y : array-like, list, object array or Packed of length n_samples
            Held-out inputs and outputs: scores of the training data are too good. Nodes with labels
            unseen in fit are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, each for all of its nodes.

        Returns
        -------
        self : object
            The estimator.

        References
        ----------
        .. [1] C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks",
           ICML 2017: temperature scaling.
        """
        X = self._check_X(X)
        self._need("calibrate", "marginals")
        check_counts(length_of(X, "X"), length_of(y, "y"))
        sample_weight = check.sample_weight(sample_weight, length_of(X, "X"))
        probabilities, spreads, weight = self._view._held_out(
            X, y, self.coef_, self.oracle_, sample_weight
        )
        if not weight.sum() > 0.0:
            raise ValueError("X and y hold no node with positive weight and a label seen in fit")
        weight = weight / weight.sum()

        def loss(temperature):
            return -weight @ np.log(np.maximum(probabilities(temperature)[0], SMALLEST))

        self.temperature_, is_at_end = best_temperature(loss, spreads @ weight or 1.0)
        if is_at_end:
            right = np.mean(probabilities(self.temperature_)[1])
            warn(
                f"temperature_={self.temperature_:.3g} is at the end of the search range "
                f"({100 * right:.1f} % of the {len(weight)} nodes are predicted correctly): pass "
                f"more data, none of them used in training"
            )
        return self

    def _need(self, method, ability):
        if not self._view._can(ability, self.oracle_):
            raise TypeError(
                f"{method} needs an oracle with the method {ability}, which "
                f"{name_of(self.oracle_)} lacks: fit with another oracle"
            )

    # ---- parameters ------------------------------------------------------------------------------

    def set_params(self, **params):
        """Set parameters of the estimator, its model, oracle and solver, and return it.

        A model, oracle or solver given by name becomes the object of that name first, so that
        ``solver__sampling="shuffle"`` works with ``solver="bcfw"``.

        Parameters
        ----------
        **params : dict
            Parameters, those of such objects as ``solver__sampling``.
        """
        super().set_params(**{key: value for key, value in params.items() if "__" not in key})
        nested = {key: value for key, value in params.items() if "__" in key}
        for key in nested:
            owner, _, name = key.partition("__")
            if owner in MAKERS and isinstance(getattr(self, owner, None), str):
                setattr(self, owner, _made(owner, getattr(self, owner), name))
        return super().set_params(**nested)


def best_temperature(loss, spread):
    """The temperature of least loss, and whether it is at an end of the range that is searched."""
    bounds = spread / WIDEST, spread * WIDEST
    found = minimize_scalar(
        lambda t: loss(np.exp(t)), bounds=np.log(bounds), method="bounded", options={"xatol": 1e-3}
    )
    # A loss that is zero, or as good as that, stays so to the end.
    is_at_end = min(map(loss, bounds)) <= found.fun + 1e-12 or found.fun < 1e-12
    return float(np.exp(found.x)), is_at_end


def _made(owner, name, key):
    """The object of a name, for a parameter of it to be set."""
    if check.is_auto(name):
        raise ValueError(
            f"{owner}='auto' is chosen in fit, so {owner}__{key} cannot be set before: name the "
            f"{owner} first, or pass an object with this parameter"
        )
    check.choice(name, owner, {"auto", *MAKERS[owner]}, f"a {owner} object")
    made = MAKERS[owner][name]()
    if not hasattr(made, "set_params"):
        raise ValueError(f"{owner}={name!r} has no parameters, got {key}")
    return made
