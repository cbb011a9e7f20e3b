"""Steps that happen once each in a known order, found in feature series without labels."""

from dataclasses import KW_ONLY
from itertools import pairwise

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.warnings import warn
from ..optim.domains import OrderedPlacements
from ._clips import check_sequences, check_windows, masks_of
from ._diffrac import Classifier, Diffrac, Term, relax, relaxed, start_of

N_CORNERS = 10  # of the first point
N_FAILURES, N_MOVES = 60, 600  # moved steps that lower nothing, one after the other, and in all


class OrderedDiscriminativeClustering(ClusterMixin, Estimator):
    """Discriminative clustering of feature series into ordered steps.

    Minimizes ``h(Z) = min over W, b of ||Z - X W - b||^2 / (2 T) + reg ||W||^2 / 2`` over
    assignments Z in which each step has one row of each sequence, in ascending order. A relaxation
    is minimized by Frank-Wolfe steps, its points are rounded to assignments, and the best of these
    is improved by random moves of single steps. Choose it instead of k-means or a hidden Markov
    model where the order is known and labels are not.

    Parameters
    ----------
    n_steps : int, default=10
        Number of steps K, at most the rows of the shortest sequence.
    reg : float or "auto", default="auto"
        Strength of the penalty on W; "auto" is one over the number of sequences times K.
    fit_intercept : bool, default=True
        Whether to fit an intercept b, which is not penalized.
    algorithm : {"fw", "bcfw", "away"}, default="fw"
        Steps of all sequences together, of one sequence after the other, or with steps away from
        the worst vertex.
    rounding : {"classifier", "l2", "fw"}, default="classifier"
        Which assignment stands for a relaxed one: that nearest to what its classifier answers,
        that nearest to itself, or the vertex that its gradient points to.
    window_constraint : {"mask", "hull"}, default="mask"
        Whether a step may take the rows of its windows alone, or all between the first and the
        last of them.
    n_init : int, default=1
        Number of random starts; the best objective counts.
    max_iter : int, default=200
        Largest number of Frank-Wolfe iterations; of passes with "bcfw".
    tol : float, default=1e-4
        Stop when the gap is at most this fraction of the relaxed objective.
    random_state : int, RandomState instance or None, default=None
        Source of starts.

    Attributes
    ----------
    labels_, locations_ : ndarray of shape (n_rows,) and (n_sequences, n_steps)
        Step of each row, one sequence after the other or as given with ``groups``, -1 for none; and
        row of each step within its sequence.
    relaxed_assignment_ : ndarray of shape (n_rows, n_steps)
        The relaxed minimum, rows of sequences one after the other.
    coef_, intercept_ : ndarray of shape (n_steps, n_features) and (n_steps,)
        W, transposed, and b, for the assignment found.
    objective_ : float
        h of the assignment.
    relaxed_objective_ : float
        h of the relaxed minimum, which is far below.
    gap_ : float
        Frank-Wolfe gap there: the relaxed objective is at most this above its minimum.
    infeasible_ : ndarray of int
        Sequences whose windows leave no placement in order, and had to be widened.
    history_ : dict of str to ndarray
        One entry per iteration of the best start, "objective" and "dual_gap" among them.
    n_iter_, best_iter_ : int
        Iterations of the best start, and the one whose rounding is returned.
    n_features_in_ : int
        Number of features.

    Warns
    -----
    UserWarning
        When windows leave a sequence no placement in order.

    See Also
    --------
    ScriptDiscovery : Finds the steps and the windows in tokens first.
    sklearn_fw.optim.domains.OrderedPlacements : The assignments of one sequence.

    Notes
    -----
    An iteration costs O(T d K) for T rows in all, and so does one of at most 600 moves; memory is
    O(T (d + K)). In a sequence without a placement the fewest possible steps ignore their windows,
    in place of the penalty of the released code. The best assignment is met early, so no warning is
    given at ``max_iter``.

    References
    ----------
    .. [1] J.-B. Alayrac, P. Bojanowski, N. Agrawal, J. Sivic, I. Laptev, S. Lacoste-Julien,
       "Unsupervised learning from narrated instruction videos", CVPR 2016: section 4.2, appendix C.
    .. [2] F. Bach, Z. Harchaoui, "DIFFRAC: a discriminative and flexible framework for clustering",
       NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.cluster import OrderedDiscriminativeClustering
    >>> first = np.eye(3)[[2, 0, 2, 2, 1, 2]]
    >>> second = np.eye(3)[[0, 2, 2, 1, 2, 2]]
    >>> model = OrderedDiscriminativeClustering(2, random_state=0).fit([first, second])
    >>> model.locations_
    array([[1, 4],
           [0, 3]])
    """

    n_steps: check.at_least(1) = 10
    _: KW_ONLY
    reg: check.auto_or(check.strength) = "auto"
    fit_intercept: bool = True
    algorithm: check.options("fw", "bcfw", "away") = "fw"
    rounding: check.options("classifier", "l2", "fw") = "classifier"
    window_constraint: check.options("mask", "hull") = "mask"
    n_init: int = 1
    max_iter: int = 200
    tol: float = 1e-4
    random_state: object = None

    def fit(self, X, y=None, *, groups=None, windows=None):
        """Find the steps.

        Parameters
        ----------
        X : list of array-like of shape (n_rows_i, n_features), or array-like
            Sequences of rows; one array with ``groups``.
        y : None
            Unused.
        groups : array-like of shape (n_rows,), default=None
            Label of the sequence that each row of one array belongs to: number, text or category.
        windows : list or None, default=None
            For each sequence where steps may be: an array of bool of shape (n_rows_i, n_steps), or
            a list of (step, first row, last row), of which several may be of one step, and which
            may extend beyond the ends; a step without any may be anywhere, and all of a sequence
            with None. Windows of one row are labels.
        """
        rng, K = check.random_state(self.random_state), int(self.n_steps)
        rows, starts, order = check_sequences(X, groups, n_rows=K)
        self.n_features_in_ = rows.shape[1]
        domain, self.infeasible_ = self._domain(K, starts, windows)
        reg = 1.0 / (K * (len(starts) - 1)) if check.is_auto(self.reg) else self.reg
        classifier = Classifier(rows, float(reg), self.fit_intercept)
        # Points have a matrix (n_steps, n_rows) for each sequence.
        inside = [np.tile(np.arange(a, b), K) for a, b in pairwise(starts)]
        steps = np.concatenate([np.repeat(np.arange(K), n) for n in np.diff(starts)])
        term = Term(classifier, slice(0, domain.size), np.concatenate(inside), steps, K)
        objective = Diffrac([term])
        found = [self._search(objective, domain, rng) for _ in range(int(self.n_init))]
        best = min(found, key=lambda one: one[0].value)
        self._store(objective, *best)
        self.labels_ = self._labels(self.locations_, starts, order)
        return self

    def _domain(self, K, starts, windows):
        lengths, masks, widened = np.diff(starts), None, np.empty(0, np.int64)
        if windows is not None:
            windows = check_windows(windows, lengths, K)
            masks, widened = masks_of(windows, self.window_constraint == "hull")
        if len(widened):
            warn(
                f"windows of sequences {widened.tolist()} leave no placement in order: the fewest "
                "steps that make one possible are free there"
            )
        return OrderedPlacements([(K, int(n)) for n in lengths], masks), widened

    def _search(self, objective, domain, rng):
        kept = Rounding(objective, domain, self.rounding)
        result = relax(
            objective, domain, algorithm=self.algorithm, start=start_of(domain, rng, N_CORNERS),
            max_iter=int(self.max_iter), tol=float(self.tol), watch=kept, rng=rng,
        )  # fmt: skip
        kept(result.x, result.nit)
        kept.improve(rng)
        return kept, result

    def _store(self, objective, kept, result):
        term, K = objective.terms[0], int(self.n_steps)
        self.locations_ = kept.slots.reshape(-1, K)
        self.relaxed_assignment_ = np.zeros((term.T, K))
        self.relaxed_assignment_[term.rows, term.columns] = result.x
        _, (self.coef_, self.intercept_) = objective.fitted(kept.domain.vertex(kept.slots))[0]
        self.objective_, self.best_iter_ = kept.value, kept.n_iter
        vars(self).update(relaxed(result))

    @staticmethod
    def _labels(locations, starts, order):
        labels = np.full(starts[-1], -1)
        labels[order[locations + starts[:-1, None]]] = np.arange(locations.shape[1])
        return labels

    def decision_function(self, X):
        """Scores ``X W + b`` of each row for each step.

        Parameters
        ----------
        X : list of array-like of shape (n_rows_i, n_features)
            Sequences.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_steps)
            ``X W + b``, sequences one after the other.
        """
        check_is_fitted(self)
        rows, _, _ = check_sequences(X, n_features=self.n_features_in_)
        return rows @ self.coef_.T + self.intercept_

    def localize(self, X, *, groups=None, windows=None):
        """The rows of all steps in new sequences, by the classifier and the order.

        Parameters
        ----------
        X, groups, windows : list or array-like, array-like, and list or None
            Sequences, as for `fit`.

        Returns
        -------
        locations : ndarray of shape (n_sequences, n_steps)
            Rows within sequences.
        """
        return self._localize(X, groups, windows)[0]

    def _localize(self, X, groups, windows):
        check_is_fitted(self)
        K = len(self.coef_)
        rows, starts, order = check_sequences(X, groups, n_rows=K, n_features=self.n_features_in_)
        domain, _ = self._domain(K, starts, windows)
        scores = rows @ self.coef_.T + self.intercept_
        cost = [(1.0 - 2.0 * scores[a:b].T).ravel() for a, b in pairwise(starts)]
        return domain.place(np.concatenate(cost)).reshape(-1, K), starts, order

    def predict(self, X, *, groups=None, windows=None):
        """The step of each row, -1 for none.

        Parameters
        ----------
        X, groups, windows : list or array-like, array-like, and list or None
            Sequences, as for `fit`.
        """
        return self._labels(*self._localize(X, groups, windows))

    def score(self, X, y=None):
        """``-||Z - X W - b||^2 / (2 T)`` for the steps Z that are found; larger is better.

        Parameters
        ----------
        X, y : list of array-like of shape (n_rows_i, n_features), and None
            Sequences; y is not used.
        """
        labels, scores = self.predict(X), self.decision_function(X)
        Z = (labels[:, None] == np.arange(len(self.coef_))).astype(float)
        return -float(np.sum((Z - scores) ** 2)) / (2.0 * len(Z))


class Rounding:
    """The best assignment that relaxed ones were rounded to."""

    def __init__(self, objective, domain, kind):
        self.objective, self.domain, self.kind = objective, domain, kind
        self.value, self.slots, self.n_iter = np.inf, None, 0
        self._seen = set()

    def __call__(self, x, n_iter):
        slots = self.domain.place(self._cost(x))
        key = slots.tobytes()
        if key in self._seen:
            return
        self._seen.add(key)
        value = self.objective.value(self.domain.vertex(slots))
        if value < self.value:
            self.value, self.slots, self.n_iter = value, slots, n_iter

    def _cost(self, x):
        if self.kind == "l2":
            return -x
        if self.kind == "fw":
            return self.objective(x)[1]
        return self._nearest_to(self._answers(self.objective.image(x)))

    def _answers(self, image):
        """What the best classifier answers, (T, K)."""
        return self.objective.terms[0].fitted(image[self.objective.parts[0]])[0]

    def _nearest_to(self, answers):
        """Costs whose cheapest assignment is the nearest to answers."""
        term = self.objective.terms[0]
        return 1.0 - 2.0 * answers[term.rows, term.columns]

    def improve(self, rng):
        """Move single steps while that lowers the objective."""
        lengths, K = self.domain.shapes[:, 1], int(self.domain.shapes[0, 0])
        classifier, starts = self.objective.terms[0].classifier, np.cumsum(lengths) - lengths
        root = classifier.root[:, classifier.n_constant :]
        image = self.objective.image(self.domain.vertex(self.slots))
        answers = self._descend(self._answers(image), np.inf)
        n_failures = n_moves = 0
        while n_failures < N_FAILURES and n_moves < N_MOVES:
            n, step = rng.randint(len(lengths)), rng.randint(K)
            row = rng.randint(lengths[n])
            place = np.searchsorted(np.delete(self.slots.reshape(-1, K)[n], step), row)
            near = root @ root[starts[n] + row]  # the answers of a classifier of this row alone
            near /= max(near[starts[n] + row], np.finfo(float).tiny)
            moved = np.insert(np.delete(answers, step, axis=1), place, near, axis=1)
            before, found = self.value, self._descend(moved, 6)
            n_failures, n_moves = n_failures + 1, n_moves + 1
            if self.value < before:
                answers, n_failures = found, 0

    def _descend(self, answers, most):
        """Assign and classify in turn, keep the last assignment where it is the best so far."""
        value, n_iter = np.inf, 0
        while n_iter < most:
            slots = self.domain.place(self._nearest_to(answers))
            image = self.objective.image(self.domain.vertex(slots))
            new = self.objective.slopes(image)[0]
            if not new < value * (1.0 - 1e-12):
                break
            value, answers, n_iter = new, self._answers(image), n_iter + 1
            if value < self.value * (1.0 - 1e-12):
                self.value, self.slots = value, slots
        return answers
