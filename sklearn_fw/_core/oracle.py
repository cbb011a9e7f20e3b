"""Oracles, the border between those of users and compiled code, and the k best outputs.

Every answer of a user's oracle, derived from ours or not, is checked once, in linear time.
"""

import math
import sys
from abc import ABC, abstractmethod
from numbers import Real

import numpy as np
from sklearn.utils.metaestimators import available_if

from . import check
from .parameters import Parameterized
from .scores import PairwiseScores, expect_scores, is_shared

# By how much sums of user code may differ from ours, relative to their size.
ROUNDING = 1e-8
# The same for probabilities.
PROBABILITY = 1e-6


class Oracle(Parameterized, ABC):
    """Base class of oracles, which find the best output for given scores.

    Derive from it, or write any object with the method `argmax`. Oracles leave the scores unchanged
    and may be called from several threads. A grid search can set parameters of the constructor.

    Attributes
    ----------
    exact : bool
        Whether ``value`` and ``upper_bound`` are equal in every answer.
    releases_gil : bool
        Whether most of a call is compiled code that lets other threads run. Threads then share the
        calls of a fit with ``n_jobs``, else processes do; `joblib.parallel_config` overrides this.

    See Also
    --------
    Enumeration : A short one, with all optional methods.
    resolve_oracle : Makes one of a function.

    Notes
    -----
    Optional methods, as in `Enumeration`, are ``top_k(scores, k) -> (values, labels)``, the
    ``m <= k`` best allowed labelings, best first, and, of the distribution
    ``p(y) = exp(score(y) - log_partition)``, ``marginals(scores) -> (node, edge, log_partition)``,
    ``log_partition(scores) -> float``, ``max_marginals(scores) -> node`` and
    ``sample(scores, n_samples, random_state=None) -> labels``. What takes long should look at
    `time_left`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import Oracle, PairwiseScores
    >>> class IgnoreEdges(Oracle):
    ...     def argmax(self, scores, start=None):
    ...         labels = scores.unary.argmax(axis=1)
    ...         bound = scores.unary.max(axis=1).sum() + scores.pairwise.max(axis=(1, 2)).sum()
    ...         return labels, scores.value(labels), bound
    >>> scores = PairwiseScores.from_arrays([[2.0, 0.0], [0.0, 0.5]], np.eye(2), [(0, 1)])
    >>> labels, value, upper_bound = IgnoreEdges().argmax(scores)
    >>> print(labels, value, upper_bound)
    [0 1] 2.5 3.5
    """

    exact = False
    releases_gil = False

    @abstractmethod
    def argmax(self, scores, start=None):
        """Compute a labeling of high score and an upper bound on all scores.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle takes.
        start : array-like of shape (n_nodes,), integer, default=None
            A labeling to begin with, or to do no worse than. Exact oracles ignore it.

        Returns
        -------
        labels : ndarray of shape (n_nodes,), int32
            The labeling.
        value : float
            Its score, ``-inf`` if it is forbidden.
        upper_bound : float
            No labeling has a larger score; inf without a bound.
        """


def is_foreign(oracle):
    cls = type(oracle)
    if cls.__module__.split(".")[0] != __name__.split(".")[0]:
        return True
    # A class made from ours elsewhere, or a method put into one of our objects.
    ours = getattr(sys.modules.get(cls.__module__), cls.__name__, None)
    return ours is not cls or "argmax" in vars(oracle)


def checked(oracle):
    """An oracle whose answers can be trusted: ours as it is, another one in a `CheckedOracle`."""
    return CheckedOracle(oracle) if is_foreign(oracle) else oracle


def can_be_asked(oracle):
    """Whether an object has the method of an oracle; arrays and classes have one of its name."""
    is_other = isinstance(oracle, type) or hasattr(oracle, "dtype")
    return callable(getattr(oracle, "argmax", None)) and not is_other


def function_of(oracle):
    """The function of a user that an oracle asks, None if it is another kind of oracle."""
    asked = getattr(oracle, "oracle", None)
    is_function = isinstance(oracle, CheckedOracle) and not can_be_asked(asked)
    return asked if is_function and callable(asked) and not isinstance(asked, type) else None


def name_of(oracle):
    asked = getattr(oracle, "oracle", oracle)
    return getattr(asked, "__name__", type(asked).__name__)


def require(oracle, method, purpose, remedy):
    """Refuse an oracle without a method; ``purpose`` ends with "need" or "needs"."""
    if not callable(getattr(oracle, method, None)):
        raise TypeError(
            f"{purpose} an oracle with the method {method}, which {name_of(oracle)} lacks: {remedy}"
        )


def _has(*methods):
    def accept(wrapper):
        return any(callable(getattr(wrapper.oracle, method, None)) for method in methods)

    return accept


class CheckedOracle(Oracle):
    """An oracle or a function of a user, each answer of which is checked.

    Estimators put it around other oracles, so that a mistake shows at the first call and not as a
    wrong certificate. It has the methods below that the oracle has, and `top_k` also by
    ``max_marginals``. The oracle gets copies of scores and start, which it may change; one table
    for all edges is read-only.

    Parameters
    ----------
    oracle : object or callable
        Has ``argmax(scores, start=None) -> (labels, value, upper_bound)``, where None stands for an
        unknown value or bound, and maybe the methods ``top_k``, ``marginals``, ``max_marginals``
        and ``sample`` of `TreeMaxProduct`. Or a function of scores, which returns such a tuple or
        the labels alone.

    Attributes
    ----------
    exact : bool
        The oracle's own attribute, False without one.

    Notes
    -----
    Wrong shapes, labels that are not integers or out of range, NaN and bounds below the score of
    the labels raise ValueError or TypeError with the name of the oracle. A value that the labels do
    not have is replaced by theirs, and an error if a function returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import CheckedOracle, PairwiseScores
    >>> def ignore_edges(scores):
    ...     return scores.unary.argmax(axis=1)
    >>> scores = PairwiseScores.from_arrays([[2.0, 0.0], [0.0, 0.5]], np.eye(2), [(0, 1)])
    >>> CheckedOracle(ignore_edges).argmax(scores)
    (array([0, 1], dtype=int32), 2.5, inf)
    """

    oracle: object

    @property
    def exact(self):
        """Whether the oracle declares itself exact."""
        return bool(getattr(self.oracle, "exact", False))

    @property
    def releases_gil(self):
        """Whether the oracle declares that it releases the GIL."""
        return bool(getattr(self.oracle, "releases_gil", False))

    def argmax(self, scores, start=None):
        question, function = copy_of(scores), function_of(self)
        if function is not None:
            answer, name = function(question), f"the oracle function {name_of(self)}"
            # Three labels may come as a tuple, too: then the first entry is a number.
            if not (isinstance(answer, tuple) and len(answer) == 3 and np.ndim(answer[0])):
                answer = answer, None, None
            return check_argmax(*answer, scores, name, strict=True)
        if not can_be_asked(self.oracle):
            raise TypeError(
                f"oracle must be an object with a method argmax(scores, start=None) or a function "
                f"of scores, got {type(self.oracle).__name__}"
            )
        name = f"argmax of {self._name}"
        answer = self.oracle.argmax(question, *(() if start is None else (np.array(start),)))
        answer = check.unpacked(answer, "labels, value or None, upper_bound or None", name)
        return check_argmax(*answer, scores, name, strict=False)

    @available_if(_has("top_k", "max_marginals"))
    def top_k(self, scores, k):
        """As `Enumeration.top_k`; by max-marginals if the oracle has no such method."""
        name, k = f"top_k of {self._name}", check.integer(k, "k", 1)
        if not callable(getattr(self.oracle, "top_k", None)):
            return k_best_labelings(self, scores, k)
        answer = self.oracle.top_k(copy_of(scores), k)
        values, labels = check.unpacked(answer, "values, labels", name)
        labels = np.asarray(labels)
        if labels.ndim != 2 or labels.shape[1] != scores.n_nodes or len(labels) > k:
            raise ValueError(
                f"{name} must return labels of shape (m, {scores.n_nodes}) with m <= {k}, got "
                f"{labels.shape}"
            )
        values = check.array(values, f"values that {name} returned")
        if values.shape != (len(labels),):
            raise ValueError(f"{name} returned {values.shape} values for {len(labels)} labelings")
        if not len(labels):
            raise ValueError(f"{name} must return at least one labeling")
        labels = np.stack([check_labels(row, scores, name) for row in labels])
        for row, value in zip(labels, values.tolist(), strict=True):
            _check_value(value, scores.value(row), name)
        tolerance = ROUNDING * max(1.0, float(np.abs(values).max()))
        if np.any(np.diff(values) > tolerance) or len(np.unique(labels, axis=0)) < len(labels):
            raise ValueError(f"{name} must return different labelings in descending order")
        return values, labels

    @available_if(_has("marginals"))
    def marginals(self, scores):
        """As `Enumeration.marginals`."""
        name = f"marginals of {self._name}"
        answer = self.oracle.marginals(copy_of(scores))
        answer = check.unpacked(answer, "node, edge, log_partition", name)
        n_states = scores.n_states
        node = _probabilities(answer[0], (scores.n_nodes, n_states), f"node {name}")
        edge = _probabilities(answer[1], (scores.n_edges, n_states, n_states), f"edge {name}")
        sums = np.stack([edge.sum(axis=2), edge.sum(axis=1)], axis=1)
        if not np.allclose(sums, node[scores.edges], rtol=0, atol=PROBABILITY):
            raise ValueError(f"{name}: rows and columns of edges must sum to those of their nodes")
        return node, edge, _number(answer[2], f"log_partition of {name}")

    @available_if(_has("max_marginals"))
    def max_marginals(self, scores):
        """As `Enumeration.max_marginals`."""
        name = f"max_marginals of {self._name}"
        best = check.array(self.oracle.max_marginals(copy_of(scores)), name, False)
        if best.shape != scores.unary.shape or np.any(best == np.inf):
            raise ValueError(
                f"{name} must return finite numbers or -inf of shape {scores.unary.shape}, got "
                f"shape {best.shape}"
            )
        return best

    @available_if(_has("sample"))
    def sample(self, scores, n_samples=1, random_state=None):
        """As `Enumeration.sample`."""
        name = f"sample of {self._name}"
        draws = np.asarray(self.oracle.sample(copy_of(scores), n_samples, random_state))
        if draws.shape != (n_samples, scores.n_nodes):
            raise ValueError(
                f"{name} must return shape {(n_samples, scores.n_nodes)}, got {draws.shape}"
            )
        return check_labels(draws, scores, name)

    @property
    def _name(self):
        return f"the oracle {type(self.oracle).__name__}"


def copy_of(scores):
    """Scores that user code may change: ours are views of what training goes on with."""
    expect_scores(scores)
    pairwise = scores.pairwise if is_shared(scores.pairwise) else scores.pairwise.copy()
    return PairwiseScores._view(scores.unary.copy(), pairwise, scores.edges.copy())


def check_argmax(labels, value, upper_bound, scores, name, *, strict):
    """The answer ``(labels, value, upper_bound)`` of user code, checked and completed.

    A value that the labels do not have is refused if ``strict``, else replaced by theirs.
    """
    labels = np.asarray(labels)
    if labels.shape != (scores.n_nodes,):
        raise ValueError(
            f"{name} must return {scores.n_nodes} labels, one per node, or a tuple "
            f"(labels, value, upper_bound); got an answer of shape {labels.shape}"
        )
    labels = check_labels(labels, scores, name)
    found = scores.value(labels)
    value = found if value is None else _number(value, f"the value that {name} returned")
    if strict or math.isnan(value):
        _check_value(value, found, name)
    elif not _agree(value, found):
        value = found  # the score of the labels is exact
    if upper_bound is None:
        upper_bound = math.inf
    upper_bound = _number(upper_bound, f"the upper_bound that {name} returned")
    if not (upper_bound >= value or _agree(upper_bound, value)):
        raise ValueError(
            f"{name} returned upper_bound {upper_bound!r} for labels that score {found!r}; a "
            f"bound is never below a score, and inf stands for no bound, as None does"
        )
    # A bound that is short by rounding alone means the same as an equal one.
    return labels, value, max(value, upper_bound)


def check_labels(labels, scores, name):
    """Labels of user code as int32, of any shape."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must return integer labels, got dtype {labels.dtype}: use .astype(int)"
        )
    if labels.size and (labels.min() < 0 or labels.max() >= scores.n_states):
        raise ValueError(
            f"{name} must return labels from 0 to {scores.n_states - 1}, got {labels.min()} to "
            f"{labels.max()}"
        )
    return labels.astype(np.int32)


def _agree(value, found):
    tolerance = ROUNDING * max(1.0, abs(found)) if math.isfinite(found) else 0.0
    return value == found or abs(value - found) <= tolerance


def _check_value(value, found, name):
    if not _agree(value, found):
        raise ValueError(
            f"{name} returned value {value!r} for labels that score {found!r}; None has it computed"
        )


def _number(value, name):
    """A float; None is an error here."""
    value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number or None, got {value!r}")
    return float(value)


def _probabilities(array, shape, name):
    array = check.shaped(array, name, *shape)
    sums = array.sum(axis=tuple(range(1, len(shape))))
    if np.any(array < -PROBABILITY) or np.any(np.abs(sums - 1.0) > PROBABILITY):
        raise ValueError(f"{name} must hold probabilities that sum to one")
    return array


def k_best(argmax, max_marginals, left, k):
    """Values (m,) and labels (m, n_nodes) of the k best outputs, best first.

    ``argmax(left) -> (labels, value)`` and ``max_marginals(left) -> (n_nodes, n_states)`` answer
    for outputs whose states are left, where ``left`` is a boolean array of that shape.

    All outputs are divided into parts, each with its best one known. Max-marginals show in which
    part, and with which state of a node, the next best output is; that state makes a part of its
    own, at the cost of one table and one call of the oracle: C. Yanover, Y. Weiss, NIPS 2003, and
    E. L. Lawler, Management Science 18, 1972. The call is needed, because states of largest
    max-marginals need not fit together where several are equal.
    """
    found, parts, n_nodes = [], [], len(left)
    while left is not None:
        labels, value = argmax(left)
        if value > -np.inf:
            found.append((value, labels))
            parts.append([left, labels, None])
        left = _next_part(parts, max_marginals) if len(found) < k else None
    values = np.array([value for value, _ in found])
    order = np.argsort(-values, kind="stable")  # rounding may differ from part to part
    outputs = np.array([labels for _, labels in found], np.int32).reshape(len(found), n_nodes)
    return values[order], outputs[order]


def _next_part(parts, max_marginals):
    """What is left in the part that holds the best output not found so far; None if none does."""
    for part in parts:
        left, labels, table = part
        if table is None:  # max-marginals of all states but those of the best output
            part[2] = np.where(left, max_marginals(left), -np.inf)
            part[2][np.arange(len(left)), labels] = -np.inf
    tops = [table.max(initial=-np.inf) for *_, table in parts]
    if max(tops, default=-np.inf) == -np.inf:
        return None
    part = parts[int(np.argmax(tops))]
    left, _, table = part
    node, state = np.unravel_index(table.argmax(), table.shape)
    rest = left.copy()
    rest[node] = False
    rest[node, state] = True
    left[node, state], part[2] = False, None
    return rest


def k_best_labelings(oracle, scores, k):
    """`k_best` for an oracle on graphs, which is asked about scores with states forbidden."""

    def with_states(left):
        unary = np.where(left, scores.unary, -np.inf)
        return PairwiseScores._view(unary, scores.pairwise, scores.edges)

    return k_best(
        lambda left: oracle.argmax(with_states(left))[:2],
        lambda left: oracle.max_marginals(with_states(left)),
        scores.unary > -np.inf,
        k,
    )
