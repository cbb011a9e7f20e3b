"""The base of estimators of marginals: input, learning, completion of rows, and scores."""

import os
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import DensityMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core import check
from .._core.budget import time_budget
from .._core.callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from .._core.estimator import Estimator
from .._core.parameters import check_parameters
from .._core.scores import is_forest
from .._core.warnings import warn
from ._categories import has_categories, number_categories
from ._choice import Inference, Request
from ._fields import FactorGraph, PairwiseMRF
from ._files import load_uai
from ._learning import ForestRows, MRFLearner, check_learned, check_states, numbered
from ._map import allowed_labeling
from ._objective import Products, distributions


class MarginalsEstimator(CallbackSupportMixin, DensityMixin, Estimator):
    """Base class of estimators of marginals: a subclass infers one random field.

    Subclasses write `infer`; input, learning from tables, incomplete rows, scores and names come
    from here. :doc:`/guide/own_marginals` shows one.

    Attributes
    ----------
    takes_factors : bool
        Of the class: whether `infer` takes a `FactorGraph`. Else, the default, factors on more than
        two variables come to it as variables of a `PairwiseMRF`.
    sums_forests : bool
        Of the class: whether answers on graphs without cycles are exact, False by default. Rows
        are then completed by message passing, all at once.
    mrf_ : PairwiseMRF or FactorGraph
        The random field, given or learned.
    marginals_ : ndarray of shape (n_variables, n_states)
        Probability of each state; zero for states that a variable does not have.
    edge_marginals_ : ndarray of shape (n_edges, n_states, n_states)
        Probability of each pair of states, in the order of ``mrf_.edges``.
    factor_marginals_ : list of ndarray
        One for each of ``mrf_.scopes``, in place of ``edge_marginals_`` for factor graphs.
    log_partition_, log_partition_upper_, log_partition_lower_ : float
        Log Z or an estimate of it, and certified bounds.
    learning_history_ : dict of str to ndarray
        Rounds of learning from a table with missing entries, see the guide. Else empty.
    categories_ : list of ndarray or None
        Categories of each column, in the order of states, of a table with text or categories.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in,)
        Number of variables, and names of the columns of a data frame.

    See Also
    --------
    ExactMarginals : The truth, for narrow graphs.
    MeanFieldMarginals : A short one.
    """

    takes_factors = False
    sums_forests = False
    _finds_allowed = False  # whether `infer` finds out itself whether -inf allows anything
    _defaults = {"learner": MRFLearner}  # what None means for parameters that are objects

    def infer(self, field, request=Request()):  # noqa: B008 - it is immutable
        """Return the `Inference` of one random field: marginals and bounds.

        Parameters
        ----------
        field : PairwiseMRF or FactorGraph
            The field; a `FactorGraph` only if ``takes_factors``.
        request : Request
            What else is known: ``learned``, the `LearnedMRF` that the field comes from; ``tasks``,
            which callbacks follow; ``known``, an allowed labeling where potentials are -inf. Each
            may be None.
        """
        raise NotImplementedError

    def _infer_any(self, field, learned=None, tasks=None, bounded=True):
        """`infer`, by way of a field of pairs where it takes nothing else.

        The lower bound is raised only if ``bounded``: marginals of rows do without.
        """
        known = None if self._finds_allowed else allowed_labeling(field, 0.5)
        name, inferred = f"{type(self).__name__}.infer", field
        if not (self.takes_factors or isinstance(field, PairwiseMRF)):
            merged = field.merge()
            inferred = merged.to_pairwise()
        inference = self.infer(inferred, Request(learned, tasks, known))
        if not isinstance(inference, Inference):
            raise TypeError(f"{name} must return an Inference, got {type(inference).__name__}")
        inference._check(inferred.theta, name)
        if inferred is not field:
            inference.marginals = from_pairwise(field, merged, inferred, inference.marginals)
        if bounded and inference.lower < inference.log_partition:
            inference.lower = self._lower_bound(field, inference, known)
        return inference

    def _lower_bound(self, field, inference, known):
        """The best by independent variables, from several starts: one is not always ahead."""
        products, nodes = Products(field), inference.marginals[: field.node_start[-1]]
        mode = np.array([block.argmax() for block in field.node_blocks(nodes)])
        starts = [nodes, field.vertex(mode), distributions(field, field.theta[: len(nodes)])]
        lower = max(inference.lower, *(products.above(start)[1] for start in starts))
        if lower == -np.inf and known is None and not self._finds_allowed:
            known = allowed_labeling(field)
        if known is not None:
            lower = max(lower, products.above(field.vertex(known))[1])
        return min(lower, inference.upper)

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Infer the marginals of a random field, given or learned.

        Parameters
        ----------
        X : FactorGraph, PairwiseMRF, path or array-like of shape (n_samples, n_variables)
            A random field (of a subclass, its numbers); the path of a UAI file; or a table whose
            rows are observations, from which potentials are learned. A table holds states 0, 1,
            ... or, in any of its columns, text or pandas categories; then the values of each column
            are its categories. NaN and None mark missing entries.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight k of a row counts as k copies of it. Only for tables.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self._part("learner"))
        with self._budget():
            mrf, learned = self._field(X, sample_weight)
            tasks = FitTasks(self, X, y, max_subtasks=None, sample_weight=sample_weight)
            inference = self._infer_any(mrf, learned, tasks)
        for note in inference.notes:
            warn(note)
        self._store(mrf, inference)
        self.learning_history_ = {} if learned is None else learned.history
        tasks.finish()
        return self

    def _part(self, name):
        kind = self._defaults[name]
        part = check.instance(getattr(self, name, None), name, kind | None)
        return kind() if part is None else part

    def set_params(self, **params):
        """Set parameters of this estimator and of its parts; returns the estimator.

        Parameters
        ----------
        **params : dict
            Parameters, those of parts as ``learner__pseudocount``; a part that is None becomes the
            default one first.
        """
        for name, kind in self._defaults.items():
            is_meant = any(key.startswith(f"{name}__") for key in params)
            if is_meant and getattr(self, name, 0) is None:
                params = {name: kind(), **params}
        return super().set_params(**params)

    def _budget(self):
        return time_budget(getattr(self, "time_limit", None), ends_oracles=True)

    def _field(self, X, sample_weight):
        """The random field that X is or from which it is learned, and what is known of it then."""
        self.categories_ = None
        if isinstance(X, str | os.PathLike):
            X = load_uai(X)
        if isinstance(X, FactorGraph):
            if sample_weight is not None:
                raise ValueError("sample_weight weighs the rows of a table; X is a random field")
            self.n_features_in_ = X.n_variables
            vars(self).pop("feature_names_in_", None)  # columns of an earlier table
            return X._plain(), None  # a field is data: nobody asks the code of a subclass
        learner = self._part("learner")
        if hasattr(X, "columns") and "edges" in learner.get_params():
            learner = clone(learner).set_params(edges=numbered(learner.edges, X))
        if has_categories(X):
            if not check.is_auto(learner.n_states):
                raise ValueError("X holds text or categories, which set n_states: leave 'auto'")
            X, self.categories_ = self._numbered(X)
            learner = clone(learner).set_params(n_states=list(map(len, self.categories_)))
        else:
            X = check_states(X, partial(check.data, self))
        name, learned = f"{type(learner).__name__}.learn (learner)", learner.learn(X, sample_weight)
        learned = check_learned(learned, name, X.shape[1])
        learned.mrf.names = list(getattr(self, "feature_names_in_", [])) or None
        if self.categories_ is not None:
            learned.mrf.state_names = [list(map(str, own)) for own in self.categories_]
        return learned.mrf, learned

    def _store(self, mrf, inference):
        self.mrf_, self._flat_marginals = mrf, inference.marginals
        self.marginals_ = padded(mrf, inference.marginals)
        vars(self).pop("edge_marginals_", None)  # of an earlier field
        if isinstance(mrf, PairwiseMRF):
            self.edge_marginals_ = mrf.scores(inference.marginals).pairwise.copy()
        self.log_partition_ = float(inference.log_partition)
        self.log_partition_upper_ = float(inference.upper)
        self.log_partition_lower_ = float(inference.lower)
        vars(self).update(inference.attributes)

    @property
    def factor_marginals_(self):
        """Probabilities of joint states: an array for each of ``mrf_.scopes``."""
        check_is_fitted(self)
        return self.mrf_.factor_blocks(self._flat_marginals)

    # ---- use -----------------------------------------------------------------------------------

    def named_marginals(self):
        """Marginals as a dict of dicts, by names or, without them, by numbers."""
        check_is_fitted(self)
        return self.mrf_._name_marginals(self.marginals_)

    def predict(self, X=None):
        """Most probable state of each variable by itself, or completed rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables), default=None
            Rows whose missing entries are NaN, None or negative. None for the model itself.

        Returns
        -------
        states : ndarray of shape (n_variables,) or (n_samples, n_variables), int64
            The state of largest marginal given the observed entries of the row. This minimizes the
            expected number of wrong entries; it is not the most probable labeling. Categories,
            dtype object, where the table of `fit` has text or categories.
        """
        return self._named(self.predict_marginals(X).argmax(axis=-1))

    def predict_proba(self, X, column=-1):
        """Probabilities of the states of one variable, given the other entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            Rows as in `predict`; the entries of the column itself are not used.
        column : int or str, default=-1
            Number or name of the variable; -1 for the last.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_states)
            In the order of the states of the variable, see ``categories_``.
        """
        check_is_fitted(self)
        rows, is_last = self._partial_rows(X), isinstance(column, Integral) and column == -1
        j = self.mrf_._variable(self.mrf_.n_variables - 1 if is_last else column, "column")
        rows[:, j] = -1
        return self._marginals_of_rows(rows)[:, j, : self.mrf_.n_states[j]]

    def predict_marginals(self, X=None):
        """Marginals of all variables, given the observed entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables), default=None
            Rows whose missing entries are NaN or negative. None for the model itself.

        Returns
        -------
        marginals : ndarray of shape (n_variables, n_states) or (n_samples, n_variables, n_states)
            Probabilities; observed entries have probability one, states that a variable does not
            have zero.
        """
        check_is_fitted(self)
        if X is None:
            return self.marginals_.copy()
        return self._marginals_of_rows(self._partial_rows(X))

    def _marginals_of_rows(self, X):
        def answer(row, rest, inference):
            observed = row >= 0
            if not observed.any():
                return self.marginals_
            found = np.zeros(self.marginals_.shape)
            found[observed, row[observed]] = 1.0
            if inference is not None:
                node = padded(rest, inference.marginals)
                found[~observed, : node.shape[1]] = node
            return found

        of_forest = (lambda forest, rows: forest.marginals(rows)[0]) if self.sums_forests else None
        return self._by_rows(X, self.marginals_.shape, answer, of_forest)

    def _by_rows(self, X, shape, answer, of_forest, bounded=False):
        """An answer of a shape to each row, with one warning for all.

        ``answer(row, rest, inference)`` gets the field of the missing entries and its `Inference`,
        None where no entry or all are missing; ``of_forest(forest, rows)`` answers at once where it
        is not None.
        """
        # Equal observations have equal answers; the order of rows must not matter.
        rows, source = np.unique(X, axis=0, return_inverse=True)
        mrf, answers, notes = self.mrf_, np.empty((len(rows), *shape)), []
        pairs = of_forest is not None and isinstance(mrf, PairwiseMRF)
        if pairs and is_forest(mrf.edges, mrf.n_variables):
            forest = ForestRows(mrf)
            for batch in forest.batches(rows):
                answers[batch] = of_forest(forest, rows[batch])
            return answers[source.reshape(-1)]
        for r, row in enumerate(rows):
            observed, rest, inference = np.flatnonzero(row >= 0), mrf, None
            if 0 < len(observed) < len(row):
                rest = mrf.condition(dict(zip(observed.tolist(), row[observed].tolist())))
                with self._budget():
                    inference = self._infer_any(rest, bounded=bounded)
                notes.extend(inference.notes[-1:])
            answers[r] = answer(row, rest, inference)
        if notes:
            text = f"{len(notes)} of {len(rows)} different rows, the first: {notes[0]}"
            warn(type(notes[0])(text))
        return answers[source.reshape(-1)]

    def score_samples(self, X):
        """Log-probability of the observed entries of rows, or a lower bound on it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            Rows of states; missing entries are NaN or negative.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)
            ``mrf_.score(X)`` minus log Z, or its certified lower bound by ``log_partition_upper_``
            where log Z is not known, in nats. Without any bound ``log_partition_`` is taken, with a
            warning. Missing entries are summed out, by a lower bound that is exact without cycles.
        """
        check_is_fitted(self)
        X = self._partial_rows(X)
        holes = (X < 0).any(axis=1)
        scores = np.empty(len(X))
        scores[~holes] = self.mrf_.score(X[~holes])
        bounded = np.isfinite(self.log_partition_upper_)

        def answer(row, rest, inference):
            if inference is None:
                return self.log_partition_lower_ if bounded else self.log_partition_
            return inference.lower if bounded else inference.log_partition

        def of_forest(forest, rows):
            return self.mrf_.constant + forest.log_sums(rows)

        scores[holes] = self._by_rows(X[holes], (), answer, of_forest, bounded)
        if bounded:
            return scores - self.log_partition_upper_
        warn(
            f"{type(self).__name__} has no upper bound on log Z here: scores use the estimate "
            f"{self.log_partition_:.6g} and are not lower bounds",
            UserWarning,
        )
        return scores - self.log_partition_

    def score(self, X, y=None):
        """Mean of `score_samples`, in nats per row, for model selection; larger is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            Rows of states; missing entries are NaN or negative.
        y : None
            Ignored.
        """
        return float(np.mean(self.score_samples(X)))

    @available_if(lambda self: hasattr(self, "_draw"))
    def sample(self, n_samples=1, random_state=None):
        """Draw labelings, (n_samples, n_variables); for the distribution see the notes.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            None takes the estimator's ``random_state``, if it has one.
        """
        check_is_fitted(self)
        n_samples = check.integer(n_samples, "n_samples", 1)
        source = getattr(self, "random_state", None) if random_state is None else random_state
        return self._named(self._draw(n_samples, check.random_state(source)))

    def _numbered(self, X, known=None, reset=True):
        X = check.kind(X, "X") if hasattr(X, "columns") else X
        validate_data(self, X, reset=reset, skip_check_array=True)
        return number_categories(X, known)

    def _named(self, states):
        """Categories in place of states, where they have some."""
        if self.categories_ is None:
            return states
        named = np.empty(states.shape, dtype=object)
        for j, own in enumerate(self.categories_):
            named[..., j] = own[states[..., j]]
        return named

    def _partial_rows(self, X):
        known = self.categories_
        if known is None and self.mrf_.state_names and has_categories(X):  # of a field as given
            known = [np.array(own, dtype=object) for own in self.mrf_.state_names]
        if known is not None:
            X = self._numbered(X, known, reset=False)[0]
        else:
            X = check_states(X, partial(check.data, self, reset=False))
        missing = np.isnan(X) | (X < 0)
        X = np.where(missing, 0, X)
        try:
            return np.where(missing, -1, self.mrf_._check_labels(X))
        except ValueError as error:
            raise ValueError(f"{error}; set n_states for tables that lack a state") from None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True  # in predict, negative entries are missing, too
        return tags


def padded(mrf, marginals):
    """Marginals of variables as an array with zeros where a variable has no such state."""
    node = np.zeros((mrf.n_variables, mrf.n_states.max()))
    exists = np.arange(node.shape[1]) < mrf.n_states[:, None]
    node[exists] = np.maximum(marginals[: mrf.node_start[-1]], 0.0)  # but for rounding
    return node


def from_pairwise(field, merged, pairwise, marginals):
    """Marginals of a factor graph from those of the field of pairs that `merge` of it became."""
    nodes = iter(pairwise.node_blocks(marginals)[field.n_variables :])
    edges, found, holders = iter(pairwise.factor_blocks(marginals)), {}, {}
    for scope, table in zip(merged.scopes, merged.tables):
        if len(scope) == 2:
            found[scope] = next(edges)
        else:
            found[scope] = np.zeros(table.shape)
            found[scope][table > -np.inf] = next(nodes)
            for _ in scope:
                next(edges)
        for i in scope:
            holders.setdefault(i, []).append(scope)
    flat = np.zeros(len(field.theta))
    flat[: field.node_start[-1]] = marginals[: field.node_start[-1]]
    for block, scope in zip(field.factor_blocks(flat), field.scopes):
        within = next(s for s in holders[scope[0]] if set(scope) <= set(s))
        others = tuple(axis for axis, i in enumerate(within) if i not in scope)
        block[:] = found[within].sum(axis=others)
    return flat
