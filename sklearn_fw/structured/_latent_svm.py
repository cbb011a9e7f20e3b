"""The structured support vector machine with hidden states and missing labels."""

from dataclasses import KW_ONLY, field

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.callbacks import FitTasks
from .._core.costs import MISSING
from .._core.loop import drive
from ._choice_of_c import most_passes, natural_C
from ._models._hidden_states import HiddenStates
from ._models._pairwise import has_parts
from ._svm import StructuredSVM

MOST_PROBLEMS = 50
# Where a larger share of labels is missing, C in natural units: samples held out judge what first
# states teach, which are mistaken too often to choose by.
MANY_MISSING, OF_MISSING = 1.0 / 3.0, 3.0


class LatentStructuredSVM(StructuredSVM):
    """Structured SVM with hidden states and partly missing labels.

    States h of all nodes, each of which belongs to a label, have scores ``<w, phi(x, h)>``. With
    the states A_i that agree with the labels known of sample i, ``lam = 1 / (C n)`` and weights s_i
    (``sample_weight``, one by default), minimizes::

        lam / 2 |w|^2 + sum_i s_i (max_h [L(y_i, h) + <w, phi(x_i, h)>]
                                   - max_{h in A_i} <w, phi(x_i, h)>) / sum_i s_i

    where the loss L depends on labels alone, and not on nodes without a label. Choose it where one
    label has several appearances (a class of several shapes), where nodes have no label at all
    (hidden nodes), or where only some nodes of a sample are labeled.

    Parameters
    ----------
    model : str or object, default="auto"
        Model of the labels, with nodes and edges, see `StructuredSVM`.
    n_states_per_label : int, array-like of shape (n_classes,), or list of these, default=2
        Number of states of each label, in the order of ``classes_``; a list has one entry for each
        kind of node, where there are several. 1 for missing labels alone.
    missing_label : object, default=None
        Value of a missing label in y, such as -1 or NaN; masked entries are missing, too.
    init : {"k-means", "random"}, default="k-means"
        First states: random, or clusters of the nodes of each label, by their features and the
        labels of their neighbors, and for missing labels predictions of a classifier of single
        nodes.
    n_init : int, default=1
        Number of starts, of which the one of smallest objective is kept.
    task_loss : "auto", str, array-like of shape (n_classes, n_classes) or TaskLoss, default="auto"
        Loss of labels, a sum over nodes, instead of the model's own.
    oracle : {"auto", "viterbi", "tree", "enumeration"}, object or callable, default="auto"
        Inference on the scores of states, see `sklearn_fw.inference`.
    solver : str or solver object, default="auto"
        Solver of the convex problems, see `StructuredSVM`.
    C : float or "auto", default="auto"
        Weight of the sum of losses. "auto" chooses on samples held out, with the first states;
        where more than a third of the labels is missing, it is three times the natural one.
    feature_scale, edge_feature_scale : "auto", float, array-like or None, default="auto"
        Divisors of features and of edge features in the fit, see `StructuredSVM`.
    tol : float or "auto", default="auto"
        ``dual_gap_ <= tol * abs(objective_)`` ends the fit; "auto" as for `StructuredSVM`.
    max_iter : int or "auto", default="auto"
        Most convex problems of a start; "auto" is 50.
    time_limit : float or None, default=None
        Seconds after which no new pass starts.
    n_jobs : int or None, default=None
        Workers for gap passes, and threads of compiled ones, see `StructuredSVM`.
    warm_start : bool, default=False
        Start from the states and the dual variables of the previous fit on the same outputs.
    random_state : int, RandomState instance or None, default=None
        First states and visiting order.
    verbose : int, default=0
        Log one line per convex problem to the logger "sklearn_fw".

    Attributes
    ----------
    state_labels_ : ndarray of shape (n_states,), or list of these
        Label of each state; of each kind of node where there are several.
    coef_ : ndarray of shape (n_weights,), or CSR of shape (1, n_weights)
        Weights, with a column for each state where `StructuredSVM` has one for each label.
    dual_gap_ : float
        Bound on the decrease left in the convex problem at ``coef_``; zero at stationary points.
    objective_, dual_objective_ : float
        The objective at ``coef_``, and the lower bound on the convex problem there.
    n_iter_, n_oracle_calls_ : int
        Convex problems solved and oracle calls, from the start that was kept.
    history_ : dict of str to ndarray
        One entry per convex problem of the start that was kept, as those of `StructuredSVM`, with
        "n_changed" (nodes whose states changed) and "n_passes" (over the convex problem).
    temperature_, model_, oracle_, solver_, classes_, n_features_in_, feature_names_in_, C_, tol_, \
            feature_scale_, edge_feature_scale_, task_loss_, lam_, block_gaps_, dual_coef_, \
            step_counts_, cache_stats_, converged_, status_ : object
        As those of `StructuredSVM`, of the model of states.

    See Also
    --------
    StructuredSVM : Labels without states, all known; the same optimum with one state per label.

    Notes
    -----
    More than 13 parameters: four are added to those of `StructuredSVM`.

    The concave-convex procedure [1]_ imputes the best states in A_i at the current weights, solves
    the convex problem in which these are true, and repeats. The first problems are solved roughly,
    later ones to half of the last decrease, and to ``tol`` in the end; dual variables are kept from
    one problem to the next. The objective never rises: a solution that does not lower it is
    rejected. The last convex problem, which touches the objective at ``coef_`` and is above it
    elsewhere, certifies the weights.

    A sample without any label is left out, of scores too. Nodes of a kind that never has a label
    are hidden nodes, with ``n_states_per_label`` states each. A state that no node begins in stays
    empty, as a rule.

    The natural C is ``largest loss / squared norm of the features`` of the nodes with labels, both
    means over samples.

    References
    ----------
    .. [1] C.-N. Yu, T. Joachims, "Learning structural SVMs with latent variables", ICML 2009:
       Algorithm 1.
    .. [2] P. Felzenszwalb, R. Girshick, D. McAllester, D. Ramanan, "Object detection with
       discriminatively trained part-based models", PAMI 2010: classes with several states.

    Examples
    --------
    Two classes of two shapes each, which no line separates:

    >>> import numpy as np
    >>> from sklearn_fw.structured import LatentStructuredSVM
    >>> X = np.array([[0, 0], [0.1, 0], [1, 1], [0.9, 1], [0, 1], [0.1, 1], [1, 0], [1, 0.1]])
    >>> y = ["same"] * 4 + ["other"] * 4
    >>> svm = LatentStructuredSVM(C=100.0, random_state=0).fit(X, y)
    >>> svm.predict([[0, 0.1], [1, 0.9], [0.9, 0]]).tolist()
    ['same', 'same', 'other']
    >>> svm.state_labels_.tolist()
    ['other', 'other', 'same', 'same']
    """

    _: KW_ONLY
    n_states_per_label: object = 2
    missing_label: object = None
    init: check.options("k-means", "random") = "k-means"
    n_init: int = 1
    surrogate: str = field(default="hinge", init=False)  # what the convex problems are made of
    class_weight: object = field(default=None, init=False)  # that of the model counts

    _iterations = "convex problems", "solved", "duality gap of the last one"

    # ---- fitting ---------------------------------------------------------------------------------

    def _find_model(self, X, y):
        model = super()._find_model(X, y)
        if not has_parts(model):
            name = type(model).__name__
            raise TypeError(
                f"hidden states need a model of nodes and edges, not {name}: take StructuredSVM"
            )
        return HiddenStates(model, self.n_states_per_label, self.missing_label)

    def _fit(self, X, y, sample_weight):
        from ._concave_convex import ConcaveConvex, start_states

        given = X, y
        X, y, weight = self._training_set(X, y, sample_weight)
        model, rows, codes = self.model_, self.model_._stack(X), y.compact().values[:, 0]
        allowed = model.allowed(codes, rows.kind)
        is_hidden = bool(np.any(allowed.sum(axis=1) > 1))
        warm = self._kept
        n_starts = self.n_init if is_hidden and warm is None else 1
        max_iter = self.max_iter
        if check.is_auto(max_iter):
            max_iter = MOST_PROBLEMS if is_hidden else 1
        tasks = FitTasks(
            self, *given, max_subtasks=n_starts * max_iter, sample_weight=sample_weight
        )
        rng, runs = check.random_state(self.random_state), []

        def impute(w):
            w = self._as_given(w)["coef_"]  # of rows as given
            return model.impute(rows, allowed, w, self.oracle_)

        for start in range(n_starts):
            if warm is None:
                states = start_states(model, rows, codes, self.init, rng)
            else:
                states = _checked_states(warm["states"], allowed)
            y = model.with_states(codes, states, rows.node_start)
            if start == 0:
                blocks, lam = self._set_up(X, y, weight)
                self.tol_ = self._resolve_tol()
            else:
                blocks = self._blocks_of(X, y, weight / weight.sum())
            blocks.relative_tol = True
            run = ConcaveConvex(
                self.solver_, blocks, impute if is_hidden else None, lam=lam, tol=self.tol_,
                rng=rng, n_passes=most_passes(blocks), warm=warm and warm["duals"],
            )  # fmt: skip
            outcome = drive(
                run, tol=self.tol_, max_iter=max_iter, relative_to="objective",
                verbose=self.verbose, **tasks.hooks(lambda run=run: self._snapshot(run)),
            )  # fmt: skip
            runs.append((run, outcome))
        run, outcome = min(runs, key=lambda pair: pair[0].point.primal)
        self._store(run, run.blocks, outcome)
        tasks.finish()
        return self

    def _choose_C(self, blocks, X, y, weight):
        if np.mean(y.compact().values[:, 0] < 0) > MANY_MISSING:
            return OF_MISSING * natural_C(blocks), 1.0
        return super()._choose_C(blocks, X, y, weight)

    @property
    def partial_fit(self):
        raise AttributeError("LatentStructuredSVM has no partial_fit: call fit with all samples")

    @property
    def predict_proba(self):  # the class of the best pair with a state need not be the likeliest
        raise AttributeError("LatentStructuredSVM has no predict_proba: use predict_marginals")

    # ---- answers ---------------------------------------------------------------------------------

    def predict_states(self, X, y=None):
        """Return the hidden states of highest score, by number.

        Parameters
        ----------
        X, y : array-like, list, object array or Packed of length n_samples
            Inputs, and labels of the states where they are not missing; None leaves all free.

        Returns
        -------
        states : ndarray of shape (n_samples,) or (n_samples, n_labels), int
            Numbers of states, whose labels are in ``state_labels_``; an object array with one array
            for each sample where outputs are lists.
        """
        X, model = self._check_X(X), self.model_
        rows = model._stack(X)
        codes = np.full(rows.node_start[-1], MISSING, np.int32)
        if y is not None:
            codes = model._encode(y, rows.node_start)
        allowed = model.allowed(codes, rows.kind)
        states, _ = model.impute(rows, allowed, self.coef_, self.oracle_)
        return model._arrange(states, rows.node_start, X)

    def score(self, X, y, sample_weight=None):
        check_is_fitted(self)
        return super().score(X, *self.model_.labeled(y, sample_weight))

    def _path_class(self):
        raise TypeError("LatentStructuredSVM has no path: its objective is not convex")


def _checked_states(states, allowed):
    """States of the previous fit, which the labels of this one must allow."""
    fits = len(states) == len(allowed) and allowed.shape[1] > states.max()
    if not fits or not np.all(allowed[np.arange(len(states)), states]):
        raise ValueError("warm_start=True needs the same outputs in the same order: fit a clone")
    return states
