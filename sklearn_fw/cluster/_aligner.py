"""The common script of many sequences of tokens, by aligning all of them at once."""

from collections import Counter
from dataclasses import KW_ONLY
from enum import Enum

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.packed import starts_of
from .._core.parameters import check_parameters
from .._core.warnings import warn
from .._kernels import lazy
from ..optim.domains import OrderedPlacements
from ..optim.objectives import Objective
from ._diffrac import relax, relaxed

orderings = lazy("graphs.orderings")

FEW_SLOTS = 120
N_KICKS = 60  # parts that are put in again in vain before a search ends
STAY = (0.25, 0.5, 0.75)  # share of the sequences that stay meanwhile


def _check_cost(value, name):
    check.magnitude(np.array([check.number(value, name)]), name)


class SequenceAligner(Estimator):
    """Multiple alignment of token sequences, and their most frequent steps.

    Minimizes ``f(U) = sum of cost(a, b) over tokens a and b in one slot, over S`` for S tokens in
    all, where each token goes to a slot of the template and slots ascend along each sequence.
    Alignments from Frank-Wolfe steps on the relaxed problem are improved by exact alignments of one
    sequence at a time. Choose it instead of progressive alignment for many short sequences with
    gaps and noise: procedures, logs, lists of verbs.

    Parameters
    ----------
    n_steps : int, default=10
        Largest number of steps K.
    n_slots : int or "auto", default="auto"
        Slots of the template, at least those of the longest sequence. "auto" is 120, or the
        number of tokens if that is more.
    cost_matrix : array-like of shape (n_vocabulary, n_vocabulary) or None, default=None
        Symmetric cost of each pair of tokens in one slot, in the order of ``vocabulary`` or as
        a data frame names them. None takes ``match_cost`` for equal ones and ``mismatch_cost`` for
        others.
    vocabulary : list or None, default=None
        The tokens that count; None takes the most frequent.
    match_cost, mismatch_cost : float, default=-1.0 and 100.0
        Cost of equal tokens, and of others.
    keep : {"last", "first", "all"}, default="last"
        Which of equal tokens in a sequence counts.
    max_vocabulary : int or None, default=45
        Number of most frequent tokens that count; None is all.
    rounding : {"both", "fw", "l2"}, default="both"
        Alignments from a relaxed one: the vertex for its gradient, or the nearest.
    refine : bool, default=True
        Whether sequences are aligned again, one at a time and in random parts, while this helps.
    n_init : int, default=3
        Number of random starts; the best objective counts.
    max_iter : int, default=100
        Largest number of Frank-Wolfe iterations of a start.
    tol : float, default=1e-6
        Relative Frank-Wolfe gap at which a start ends.
    random_state : int, RandomState instance or None, default=None
        Source of starts.

    Attributes
    ----------
    vocabulary_ : list
        The tokens that count, the most frequent first.
    slots_ : list of ndarray
        Slot of each token of each sequence, -1 for tokens that do not count.
    template_, template_slots_ : list of dict, and ndarray of int
        Number of each token in each slot that is used, and those slots.
    step_slots_ : ndarray of shape (n_steps,)
        Slots of the steps, in order.
    steps_, step_names_ : list of list, and list
        Tokens of each step, the most frequent first, and that one.
    support_ : ndarray of shape (n_steps,)
        Number of sequences that have each step.
    labels_ : list of ndarray
        Step of each token of each sequence, -1 for none.
    n_steps_, n_slots_ : int
        Number of steps, where of slots with equal support all are taken or none, and of slots.
    cost_matrix_ : ndarray of shape (n_vocabulary, n_vocabulary)
        Costs that were used.
    objective_ : float
        f of the alignment, at least ``-n_sequences`` with the default costs.
    relaxed_objective_, gap_ : float
        f where the best start's relaxed problem ended, and its Frank-Wolfe gap.
    n_iter_ : int
        Frank-Wolfe iterations of the best start.
    history_ : dict of str to ndarray
        One entry per iteration of the best start, "objective" and "dual_gap" among them.

    Warns
    -----
    UserWarning
        When slots hold tokens that do not match: more slots would keep them apart.

    Notes
    -----
    An iteration costs O(S L + V^2 L) for L slots and V tokens in the vocabulary; memory is O(S L).
    Costs count ordered pairs and each token with itself, as the released code does. The relaxed
    problem is not convex. Aligning again, which never raises f, is not part of [1]_.

    More than 13 parameters: costs are two numbers or a matrix, which needs a vocabulary.

    References
    ----------
    .. [1] J.-B. Alayrac, P. Bojanowski, N. Agrawal, J. Sivic, I. Laptev, S. Lacoste-Julien,
       "Unsupervised learning from narrated instruction videos", CVPR 2016: section 4.1, appendix B.

    Examples
    --------
    >>> from sklearn_fw.cluster import SequenceAligner
    >>> lines = ["boil pour stir", "boil wait pour", "pour stir serve", "boil pour stir"]
    >>> aligner = SequenceAligner(3, random_state=0).fit([line.split() for line in lines])
    >>> aligner.step_names_
    ['boil', 'pour', 'stir']
    >>> aligner.labels_[1]
    array([ 0, -1,  1])
    """

    n_steps: check.at_least(1) = 10
    _: KW_ONLY
    n_slots: check.auto_or(check.at_least(1)) = "auto"
    cost_matrix: object = None
    vocabulary: object = None
    match_cost: _check_cost = -1.0
    mismatch_cost: _check_cost = 100.0
    keep: check.options("last", "first", "all") = "last"
    max_vocabulary: check.optional(check.at_least(1)) = 45
    rounding: check.options("both", "fw", "l2") = "both"
    refine: check.flag = True
    n_init: int = 3
    max_iter: int = 100
    tol: float = 1e-6
    random_state: object = None

    def fit(self, sequences, y=None):
        """Align the sequences.

        Parameters
        ----------
        sequences : list of list
            Tokens of each sequence, of any hashable type with an equality of its own.
        y : None
            Unused.
        """
        rng = check.random_state(self.random_state)
        sequences = _check_sequences(sequences)
        self.vocabulary_ = self._find_vocabulary(sequences)
        self.cost_matrix_ = self._costs()
        kept, codes = zip(*map(self._coded, sequences))
        for n, own in enumerate(codes):
            if not len(own):
                remedy = "leave it out, or raise max_vocabulary"
                raise ValueError(f"sequence {n} holds no token of the vocabulary: {remedy}")
        lengths = list(map(len, codes))
        starts, self.n_slots_ = starts_of(lengths), self._find_n_slots(lengths)
        domain = OrderedPlacements([(n, self.n_slots_) for n in lengths])
        problem = Alignment(np.concatenate(codes), starts, self.cost_matrix_, self.n_slots_)
        found = [self._search(problem, domain, rng) for _ in range(int(self.n_init))]
        value, slots, result = min(found, key=lambda one: one[0])
        self.objective_ = value
        vars(self).update(relaxed(result))
        self._frozen = problem.counts(slots)
        self._describe(sequences, kept, starts, slots)
        self._warn_of_mismatch()
        return self

    def _find_vocabulary(self, sequences):
        if self.vocabulary is not None:
            known = check.items(self.vocabulary, "vocabulary", "tokens")
            _check_tokens(known, "vocabulary")
            if not known or len(set(known)) < len(known):
                raise ValueError("vocabulary must hold different tokens, and one at least")
            return known
        if self.cost_matrix is not None:
            raise ValueError("cost_matrix needs vocabulary, the tokens of its rows")
        counts = Counter(token for tokens in sequences for token in tokens)
        return [token for token, _ in counts.most_common(self.max_vocabulary)]

    def _costs(self):
        tokens, V, costs = self.vocabulary_, len(self.vocabulary_), self.cost_matrix
        if costs is None:
            costs = np.full((V, V), float(self.mismatch_cost))
            np.fill_diagonal(costs, float(self.match_cost))
            return costs
        if hasattr(costs, "loc") and set(costs.columns) == set(tokens):
            costs = costs.loc[tokens, tokens]
        costs = check.shaped(costs, "cost_matrix", V, V)
        if np.any(costs != costs.T):
            raise ValueError("cost_matrix must be symmetric")
        return costs.copy()

    def _coded(self, tokens):
        """Places and codes of the tokens of a sequence that count."""
        code = {token: k for k, token in enumerate(self.vocabulary_)}
        codes = np.array([code.get(token, -1) for token in tokens], np.int64)
        places = np.flatnonzero(codes >= 0)
        if self.keep != "all":
            step = -1 if self.keep == "last" else 1
            _, first = np.unique(codes[places][::step], return_index=True)
            places = np.sort(places[::step][first])
        return places, codes[places]

    def _find_n_slots(self, lengths):
        if isinstance(self.n_slots, str):
            return max(FEW_SLOTS, sum(lengths))
        return check.integer(self.n_slots, "n_slots", max(lengths))

    def _search(self, problem, domain, rng):
        first = domain.place(rng.random_sample(domain.size))
        value, best = problem.value(first), first

        def watch(x, n_iter):
            nonlocal value, best
            costs = [problem(x)[1]] if self.rounding != "l2" else []
            costs += [-x] if self.rounding != "fw" else []
            for slots in map(domain.place, costs):
                if (new := problem.value(slots)) < value:
                    value, best = new, slots

        result = relax(
            problem, domain, algorithm="fw", start=domain.vertex(first), watch=watch, rng=rng,
            max_iter=int(self.max_iter), tol=float(self.tol), convex=False,
        )  # fmt: skip
        if self.refine:
            best = problem.refined(best, rng)
            value = problem.value(best)
        return value, best, result

    def _describe(self, sequences, kept, starts, slots):
        self.template_slots_ = used = np.unique(slots)
        counts = self._frozen[:, used].T.astype(np.int64)
        self.template_ = [
            {self.vocabulary_[k]: int(row[k]) for k in np.argsort(-row, kind="stable") if row[k]}
            for row in counts
        ]
        support = counts.sum(axis=1)
        # The lowest support of which all slots fit, so that equals are not told apart
        fits = (m for m in np.unique(support) if np.sum(support >= m) <= self.n_steps)
        chosen = np.flatnonzero(support >= next(fits, np.inf))
        self.step_slots_, self.support_, self.n_steps_ = used[chosen], support[chosen], len(chosen)
        self.steps_ = [list(self.template_[k]) for k in chosen]
        self.step_names_ = [names[0] for names in self.steps_]
        self.slots_, self.labels_ = self._laid_out(sequences, kept, np.split(slots, starts[1:-1]))

    def _laid_out(self, sequences, kept, slots):
        """Slots and steps of all tokens, also of those that do not count."""
        step = np.full(self.n_slots_ + 1, -1)  # the last is that of tokens without a slot
        step[self.step_slots_] = np.arange(self.n_steps_)
        places = [np.full(len(tokens), -1) for tokens in sequences]
        for own, where, chosen in zip(places, kept, slots):
            own[where] = chosen
        return places, [step[own] for own in places]

    def _warn_of_mismatch(self):
        present = (self._frozen > 0).astype(np.int64)
        pairs = (self.cost_matrix_ > 0).astype(np.int64) @ present
        mixed = int(np.any(present * pairs, axis=0).sum())
        if mixed:
            warn(f"{mixed} slots hold tokens of a cost above zero: take n_slots > {self.n_slots_}")

    def fit_predict(self, sequences, y=None):
        """Steps of all tokens after `fit`, -1 for none, as a list of arrays.

        Parameters
        ----------
        sequences, y : list of list, and None
            Tokens of each sequence; y is not used.
        """
        return self.fit(sequences).labels_

    def _align(self, sequences):
        """Align new sequences to the template, each by itself; (labels, cost of each)."""
        check_is_fitted(self)
        check_parameters(self)  # they may be others than at the fit
        sequences = _check_sequences(sequences)
        sums, costs = self.cost_matrix_ @ self._frozen, np.zeros(len(sequences))
        kept, codes = zip(*map(self._coded, sequences))
        slots = [np.empty(0, np.int64)] * len(codes)
        for n, own in enumerate(codes):
            if len(own) > self.n_slots_:
                raise ValueError(f"sequence {n} has {len(own)} tokens for {self.n_slots_} slots")
            if len(own):
                cost = sums[own]
                slots[n] = OrderedPlacements(cost.shape).place(cost.ravel())
                costs[n] = np.mean(cost[np.arange(len(own)), slots[n]])
        return self._laid_out(sequences, kept, slots)[1], costs

    def predict(self, sequences):
        """Align new sequences with the template: step of each token, -1 for none.

        Parameters
        ----------
        sequences : list of list
            Tokens of each sequence; tokens that are not known are of no step.
        """
        return self._align(sequences)[0]

    def transform(self, sequences):
        """Which steps new sequences have.

        Parameters
        ----------
        sequences : list of list
            Tokens of each sequence.

        Returns
        -------
        present : ndarray of shape (n_sequences, n_steps)
            1 for a step that is there, else 0.
        """
        steps = np.arange(self.n_steps_)
        return np.array([np.isin(steps, own) for own in self._align(sequences)[0]], float)

    def score(self, sequences, y=None):
        """Minus the mean cost of a token in the template, over sequences.

        Parameters
        ----------
        sequences, y : list of list, and None
            Tokens of each sequence; y is not used.
        """
        return -float(np.mean(self._align(sequences)[1]))


def _check_sequences(sequences):
    sequences = check.items(sequences, "sequences", "lists of tokens", least=1)
    found = []
    for n, tokens in enumerate(sequences):
        tokens = check.items(tokens, f"sequences[{n}]", "tokens", least=1)
        _check_tokens(tokens, f"sequences[{n}]")
        found.append(tokens)
    return found


def _check_tokens(tokens, name):
    for token in tokens:
        if check.is_missing(token):
            raise ValueError(f"{name} holds {token!r}, which is not a token")
        try:
            hash(token)
            is_token = type(token).__eq__ is not object.__eq__ or isinstance(token, Enum)
        except TypeError:
            is_token = False
        if not is_token:  # it has no hash, or equals nothing but itself
            raise TypeError(f"{name} holds {token!r:.80}: take text, numbers or tuples as tokens")


class Alignment(Objective):
    """``f(U) = <Y'U, C Y'U> / S`` for the one-hot tokens Y: the image is ``Y'U``."""

    is_quadratic = True

    def __init__(self, tokens, starts, costs, n_slots):
        self.tokens, self.starts, self.costs, self.n_slots = tokens, starts, costs, n_slots
        self.size, self.shape = len(tokens) * n_slots, (len(costs), n_slots)

    def image(self, point):
        if isinstance(point, np.ndarray):
            counts = np.zeros(self.shape)
            np.add.at(counts, self.tokens, point.reshape(-1, self.n_slots))
            return counts.ravel()
        places, values = point.entries()
        flat = self.tokens[places // self.n_slots] * self.n_slots + places % self.n_slots
        return np.bincount(flat, weights=values, minlength=self.shape[0] * self.shape[1])

    def slopes(self, image):
        slopes = 2.0 / len(self.tokens) * (self.costs @ image.reshape(self.shape)).ravel()
        return 0.5 * float(slopes @ image), slopes

    def adjoint(self, slopes):
        return slopes.reshape(self.shape)[self.tokens].ravel()

    def inner(self, image, others):
        return others @ self.slopes(image)[1]

    def value(self, slots):
        """f of an alignment."""
        return self.slopes(self.counts(slots).ravel())[0]

    def counts(self, slots, kept=slice(None)):
        counts = np.zeros(self.shape)
        np.add.at(counts, (self.tokens[kept], slots[kept]), 1.0)
        return counts

    def refined(self, slots, rng):
        """An alignment that no single sequence, nor putting a part in again, could improve."""
        slots, value = self._descended(slots, rng, np.ones(len(self.starts) - 1, bool))
        n_failed = 0
        while n_failed < N_KICKS:
            stays = rng.random_sample(len(self.starts) - 1) < rng.choice(STAY)
            if not stays.any():
                continue
            moved, new_value = self._descended(slots, rng, stays)
            n_failed += 1
            if new_value < value - 1e-9 * (1.0 + abs(value)):
                slots, value, n_failed = moved, new_value, 0
        return slots

    def _descended(self, slots, rng, present):
        """Align sequences that are not present to the others, then each to the rest in turn."""
        slots, kept = slots.copy(), np.repeat(present, np.diff(self.starts))
        counts = self.counts(slots, kept)
        present, n = present.copy(), len(present)
        order, sums = rng.permutation(n), self.costs @ counts
        # Those that are out go in first
        order = np.concatenate([order[~present[order]], order[present[order]]])
        while orderings.realign(
            order, present, self.tokens, self.starts, self.costs, counts, sums, slots
        ):  # fmt: skip
            sums = self.costs @ counts
        return slots, self.value(slots)
