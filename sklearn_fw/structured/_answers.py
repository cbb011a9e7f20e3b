"""What a fitted structured SVM answers besides its predictions: n-best lists and probabilities."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.checked_oracle import checked
from .._core.validation import check_integer, check_sample_weight
from ._items import length_of
from ._models import MulticlassModel
from ._models._hidden_states import labelled
from ._models._pairwise import has_parts
from ._models._scored import is_scored
from ._problems._checked_model import CheckedModel
from ._suboptimality import suboptimality
from ._temperature import best_temperature, spread_of


def _has_parts(name, or_scores=False):
    def check(estimator):
        model = getattr(estimator, "model_", estimator.model)
        if isinstance(model, str | MulticlassModel) or has_parts(model):  # names: known after fit
            return True
        if or_scores and is_scored(model):
            return True
        raise AttributeError(
            f"{name} needs a model with part scores, which {type(model).__name__} lacks"
        )

    return check


class Answers:
    """Mixin of `StructuredSVM`."""

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    # ---- n-best lists ------------------------------------------------------------------------

    @available_if(_has_parts("n_best", or_scores=True))
    def n_best(self, X, k):
        """The k outputs of highest score, best first.

        Choose it for a second opinion: a parser that reads several taggings, a person who corrects
        them, or the difference of the first two scores as a measure of doubt.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        k : int
            How many outputs are wanted, at least 1.

        Returns
        -------
        outputs : list of n_samples ndarrays of shape (m, ...)
            The outputs of each sample, all different; the first is that of `predict`, or another
            one of the same score. Arrays of shape (m, T) for sequences, (m, n_labels) for sets of
            labels, (m,) for classes and candidates, (m, n_rows, n_columns) for matchings, (m, 4)
            for boxes, with m < k where fewer outputs exist.
        scores : list of n_samples ndarrays of shape (m,)
            Their scores ``<coef_, phi(x, y)>``, in descending order.
        """
        X, k = self._check_X(X), check_integer(k, "k", 1)
        self._need("n_best", "top_k")
        if is_scored(self.model_):
            model = CheckedModel(self.model_, self.oracle_)
            coef = self._dense_coef()
            found = [model.k_best(i, x, coef, k) for i, x in enumerate(X)]
            return [outputs for outputs, _ in found], [scores for _, scores in found]
        return self.model_._n_best(X, self.coef_, checked(self.oracle_), k)

    # ---- probabilities -----------------------------------------------------------------------

    @available_if(_has_parts("predict_marginals"))
    def predict_marginals(self, X):
        """Probabilities of states of nodes if ``p(y) ~ exp(<coef_, phi(x, y)> / temperature_)``.

        With ``surrogate="crf"`` these are the probabilities that training fits. The hinge does not
        fit them: they rank the states of a node by what the whole sample says about them, and need
        `calibrate` where their size matters.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        marginals : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels, 2)
            Class or label probabilities in the order of ``classes_``; for sequences an object array
            of arrays of shape (T, n_classes).
        """
        X = self._check_X(X)
        self._need("predict_marginals", "marginals")
        return self.model_._predict_marginals(X, self.coef_, self._sums(), self._temperature)

    @available_if(_has_parts("predict_relaxed"))
    def predict_relaxed(self, X):
        """States of nodes by the linear relaxation, fractions included.

        Choose it to see where the relaxation leaves open what `predict` has to decide: rows with a
        single one are settled, others are shares of states that no labelling has.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        marginals : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels, 2)
            Shares of the states of each node, summing to one, in the order of ``classes_``; for
            sequences and graphs an object array of arrays of shape (n_nodes, n_classes).
        """
        X = self._check_X(X)
        self._need("predict_relaxed", "vertex")
        parts, oracle = self.model_._part_scores(X, self.coef_), checked(self.oracle_)
        shares = [np.empty((0, self.model_.n_states_))]
        shares += [oracle.vertex(scores)[0] for scores in parts.each()]
        shares = self.model_._of_labels(np.concatenate(shares))
        return self.model_._arrange(shares, parts.node_start, X)

    @available_if(_has_parts("calibrate"))
    def calibrate(self, X, y, sample_weight=None):
        """Choose the temperature of `predict_marginals` by data that were not trained on.

        Minimises over t > 0 the mean, over all nodes, of minus the logarithm of the probability
        that the marginals at temperature t give to the true state. Predictions stay the same.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs that `fit` has not seen: on those it has seen the scores are too good.
        y : array-like, list, object array or Packed of n_samples outputs
            Their outputs. Nodes with labels unseen in fit are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, each for all of its nodes.

        Returns
        -------
        self : StructuredSVM
            The estimator, with ``temperature_`` set.

        Warns
        -----
        UserWarning
            When the smallest or largest temperature looked at is the best one.

        Notes
        -----
        A structured SVM asks that the true output wins by a margin, and then stops: its scores are
        on no scale that would make them logarithms of probabilities. One number, fitted to a few
        hundred held-out sequences, corrects most of it [1]_. Costs about forty times
        `predict_marginals` at most.

        References
        ----------
        .. [1] C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks",
           ICML 2017: temperature scaling.
        """
        X = self._check_X(X)
        self._need("calibrate", "marginals")
        if length_of(X, "X") != length_of(y, "y"):
            raise ValueError(
                f"X and y must have the same length, got {length_of(X, 'X')} and "
                f"{length_of(y, 'y')}"
            )
        sample_weight = check_sample_weight(sample_weight, length_of(X, "X"))
        self.temperature_ = self._best_temperature(X, y, sample_weight)
        return self

    def _best_temperature(self, X, y, sample_weight):
        parts, oracle = self.model_._part_scores(X, self.coef_), self._sums()
        truth = self.model_._encode(y, parts.node_start, allow_unseen=True)
        weight = np.repeat(sample_weight, parts.lengths) * (truth >= 0)
        nodes = np.flatnonzero(weight)
        if not len(nodes):
            raise ValueError("X and y hold no node with positive weight and a label seen in fit")
        truth, weight = truth[nodes], weight[nodes] / weight.sum()

        def chances(temperature):
            scaled = parts._replace(
                nodes=parts.nodes / temperature, tables=parts.tables / temperature
            )
            rows = self.model_._marginals_of(scaled, oracle)[nodes]
            return rows[np.arange(len(nodes)), truth], rows.argmax(axis=1) == truth

        return best_temperature(chances, spread_of(parts.nodes[nodes]) @ weight or 1.0, weight)

    @property
    def _temperature(self):
        return getattr(self, "temperature_", 1.0)

    def _sums(self):
        """The oracle for marginals; None means the compiled trees, which single nodes are too."""
        return None if isinstance(labelled(self.model_), MulticlassModel) else self._own_oracle()

    def _own_oracle(self):
        """The oracle for predictions; None means the compiled trees."""
        return None if self._compiled else checked(self.oracle_)

    def _need(self, method, ability):
        single_nodes = ability == "marginals" and isinstance(self.model_, MulticlassModel)
        oracle = self.oracle_ if is_scored(self.model_) else checked(self.oracle_)
        if not single_nodes and not callable(getattr(oracle, ability, None)):
            raise TypeError(
                f"{method} needs an oracle with the method {ability}, which "
                f"{type(self.oracle_).__name__} lacks: fit with another oracle"
            )

    # ---- other data --------------------------------------------------------------------------

    def duality_gap(self, X, y, sample_weight=None, *, max_iter=None):
        """Bound on how far ``coef_`` is from the optimum of the problem that some data pose.

        The problem is the one that `fit` solves with ``C = C_`` (or with the radius of the solver)
        and the fitted model. On the training data it is that of ``dual_gap_``. On others it says
        whether a fit on them would pay: how much smaller its objective could be at most.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        y : array-like, list, object array or Packed of n_samples outputs
            True outputs, of classes seen in fit.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses; samples of weight zero are left out.
        max_iter : int or None, default=None
            Largest number of passes over the data; any number gives a bound, more passes a smaller
            one. None is what ``max_iter="auto"`` means in `fit`.

        Returns
        -------
        gap : float
            Value of the objective at ``coef_`` less the best lower bound on its minimum that was
            found; inf where an oracle that is not exact gives no bounds.

        Notes
        -----
        The weights alone tell nothing of the minimum: dual variables of these data must be found,
        by passes of block-coordinate Frank-Wolfe (the solver itself, if it has a radius). They end
        when a tenth of the gap at most is owed to them, so that the true distance is at least nine
        tenths of what is returned, or with ``max_iter``. Costs n_samples oracle calls, and one or
        two times as many per pass. On the training data ``dual_gap_`` is known without any.
        """
        check_is_fitted(self)
        return suboptimality(self, X, y, sample_weight, max_iter)

    # ---- sparse weights ----------------------------------------------------------------------

    def sparsify(self):
        """Keep ``coef_`` as a sparse row.

        Predictions stay the same. Choose it before a model with many features is stored or sent:
        weights of features and labels that never met in training are zero.

        Returns
        -------
        self : StructuredSVM
            The estimator.

        See Also
        --------
        densify : The way back.

        Notes
        -----
        A weight that is not zero takes 12 bytes in place of 8, so memory is saved when two thirds
        of them are zero, at least ``(coef_ == 0).sum() / coef_.size``. Prediction makes only those
        weights dense that an input uses. `fit` makes dense weights anew.
        """
        check_is_fitted(self)
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_array(self.coef_.reshape(1, -1))
        return self

    def densify(self):
        """Keep ``coef_`` as an array, as after `fit`.

        Returns
        -------
        self : StructuredSVM
            The estimator.
        """
        check_is_fitted(self)
        self.coef_ = self._dense_coef()
        return self

    def _dense_coef(self):
        return self.coef_.toarray().ravel() if sp.issparse(self.coef_) else self.coef_
