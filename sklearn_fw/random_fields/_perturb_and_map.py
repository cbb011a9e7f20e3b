"""Marginals from MAP labelings of randomly perturbed potentials."""

from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import delayed

from .._core import check
from .._core.oracle import checked
from .._core.scores import PairwiseScores
from .._core.threads import parallel
from ..inference import resolve_oracle
from ._choice import Inference, choose, pairs_of
from ._estimator import MarginalsEstimator
from ._fields import PairwiseMRF
from ._map import allowed_labeling
from ._objective import distributions


class PerturbAndMAPMarginals(MarginalsEstimator):
    """Marginals and an estimate of log Z by perturb-and-MAP.

    With independent Gumbel variables of mean zero for each state of each variable::

        log Z <= E max_x  constant + sum_i (theta_i(x_i) + gamma_i(x_i)) + sum_ij theta_ij(x_i, x_j)

    where the expectation is replaced by a mean of few draws, so that the estimate is an upper bound
    on average only. Choose it where good marginals matter more than a bound. The error falls with
    the number of draws, but not to zero unless variables are independent.

    Parameters
    ----------
    oracle : str, object or callable, default="auto"
        MAP solver, see `sklearn_fw.inference`. "auto" takes an exact one ("tree",
        "elimination") where the graph allows it, else "approx".
    n_samples : int, default=10
        Draws of perturbations.
    n_copies : int, default=1
        Copies of each variable, each with its own perturbation; see Notes.
    marginals : {"conditioning", "counting"}, default="conditioning"
        Marginals of variables: from estimates of log Z with each state of each variable fixed, or
        frequencies in the MAP labelings. The first are much more accurate for few draws, at an
        oracle call for each draw and state (two for each draw with an exact oracle and one copy).
    learner : MRFLearner or None, default=None
        For tables: how the field is learned. None is ``MRFLearner()``.
    n_jobs : int, default=None
        Threads for the draws, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For perturbations.

    Attributes
    ----------
    marginals_ : ndarray of shape (n_variables, n_states)
        Estimated probability of each state; zero for states that a variable does not have.
    edge_marginals_ : ndarray of shape (n_edges, n_states, n_states)
        Frequencies of pairs in the MAP labelings, in the order of ``mrf_.edges``; they agree with
        ``marginals_`` only if ``marginals="counting"``.
    log_partition_ : float
        Mean of ``maxima_``. Its expectation is at least log Z for ``n_copies=1`` and an exact
        oracle, but a single mean may be below.
    log_partition_upper_ : float
        inf: nothing is certain.
    log_partition_lower_ : float
        Certified lower bound: log of the total potential of the labelings found.
    maxima_ : ndarray of shape (n_samples,)
        Largest perturbed score in each draw; their spread tells the error of the mean.
    n_oracle_calls_ : int
        Oracle calls in all.
    oracle_ : object
        The oracle used.
    history_ : dict of str to ndarray
        One entry per draw: "n_iter", "n_oracle_calls", "objective" (mean of the maxima so far).
    mrf_, factor_marginals_, categories_ : various
        As of every `MarginalsEstimator`.
    learning_history_, n_features_in_, feature_names_in_ : various
        As of every `MarginalsEstimator`.

    See Also
    --------
    TRWMarginals : Certified bounds from the same oracle.

    Notes
    -----
    All states are conditioned on with the same draws, so differences between states have little
    noise. An inexact oracle makes the estimate of log Z too small by an unknown amount.

    With c copies a variable contributes ``(theta_i + gamma) / c`` for each copy, and an edge
    ``theta_ij / c^2`` for each pair of copies. More copies have less noise, but no upper bound: for
    large c the estimate tends to that of `MeanFieldMarginals`, from below log Z. `sample` returns
    MAP labelings for new perturbations, not exact samples.

    References
    ----------
    .. [1] T. Hazan, T. Jaakkola, "On the partition function and random maximum a-posteriori
       perturbations", ICML 2012.

    Examples
    --------
    Three variables that all want to differ: log Z is 3.79.

    >>> import numpy as np
    >>> from sklearn_fw.random_fields import PairwiseMRF, PerturbAndMAPMarginals
    >>> triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], 2.0 - 4 * np.eye(2))
    >>> pm = PerturbAndMAPMarginals(n_samples=1000, random_state=0).fit(triangle)
    >>> bool(3.79 < pm.log_partition_ < 4.2)
    True
    """

    oracle: object = "auto"
    _: KW_ONLY
    n_samples: check.at_least(1) = 10
    n_copies: check.at_least(1) = 1
    marginals: check.options("conditioning", "counting") = "conditioning"
    learner: object = None
    n_jobs: int | None = None
    random_state: object = None

    _finds_allowed = True

    def infer(self, field, request=None):
        mrf, n_samples, n_copies = field, self.n_samples, self.n_copies
        rng = check.random_state(self.random_state)
        conditioning = self.marginals == "conditioning"
        copies = _copies(mrf, n_copies)
        oracle, draws = self._solve(copies, n_samples, rng, n_copies, conditioning)
        labels = np.array([draw.labels for draw in draws]).reshape(n_samples, n_copies, -1)
        maxima = mrf.constant + np.array([draw.value for draw in draws])
        marginals = _shares(mrf, labels)
        if conditioning:
            logs = np.mean([draw.conditional for draw in draws], axis=0)
            top = np.maximum.reduceat(logs, mrf.node_start[:-1])
            if top.min() == -np.inf:
                raise ValueError(
                    f"the oracle found no allowed labeling for any state of variable "
                    f"{top.argmin()} in some draw: pass an exact one"
                )
            marginals[: len(logs)] = distributions(mrf, logs)
        visited = mrf.score(np.unique(labels.reshape(-1, mrf.n_variables), axis=0))
        numbers = np.arange(1, n_samples + 1)
        calls = np.cumsum([draw.n_calls for draw in draws])
        attributes = {
            "maxima_": maxima,
            "n_oracle_calls_": int(calls[-1]),
            "oracle_": oracle,
            "history_": {
                "n_iter": numbers,
                "n_oracle_calls": calls,
                "objective": np.cumsum(maxima) / numbers,
            },
        }
        lower = float(np.logaddexp.reduce(visited))
        return Inference(marginals, maxima.mean(), lower=lower, attributes=attributes)

    def _draw(self, n_samples, rng):
        _, draws = self._solve(pairs_of(self.mrf_), n_samples, rng, 1, conditioning=False)
        labels = np.array([draw.labels for draw in draws], dtype=np.int64)
        return labels[:, : self.n_features_in_]

    def _solve(self, field, n_samples, rng, n_copies, conditioning):
        """The oracle and a `Draw` for each perturbation; noise is made here, whatever n_jobs is."""
        size, is_auto = field.node_start[-1], check.is_auto(self.oracle)
        oracle = choose(field).oracle if is_auto else checked(resolve_oracle(self.oracle))
        # One after the other: a million at once would take all memory, and no interrupt.
        noise = (rng.gumbel(size=size) - np.euler_gamma for _ in range(n_samples))
        draws = parallel(self.n_jobs, prefer="threads")(
            delayed(_perturbed)(field, oracle, row / n_copies, n_copies, conditioning)
            for row in noise
        )
        if any(draw.value == -np.inf for draw in draws):
            allowed_labeling(field)
            raise ValueError(
                "the oracle found no labeling that the potentials of -inf allow: pass an exact one"
            )
        return oracle, draws


class Draw(NamedTuple):
    labels: np.ndarray  # (n_copies * n_variables,)
    value: float
    conditional: np.ndarray | None  # best score with each state of each variable, its noise apart
    n_calls: int


def _perturbed(field, oracle, noise, n_copies, conditioning):
    """The `Draw` of one perturbation; ``noise`` is added to the potentials of variables."""
    theta = field.theta.copy()
    theta[: len(noise)] += noise
    scores = field.scores(theta)
    labels, value, _ = oracle.argmax(scores)
    labels = field._check_labels(labels[None])[0]
    if not conditioning or value == -np.inf:
        return Draw(labels, value, None, 1)
    if n_copies == 1 and hasattr(oracle, "max_marginals"):
        best = oracle.max_marginals(scores)
        exists = np.arange(best.shape[1]) < field.n_states[:, None]
        return Draw(labels, value, best[exists] - noise, 2)
    n_calls = 1
    n_variables = field.n_variables // n_copies
    conditional = np.full(field.node_start[n_variables], -np.inf)
    for i in range(n_variables):
        own = i + n_variables * np.arange(n_copies)
        for state in range(field.n_states[i]):
            places = field.node_start[own] + state
            if field.theta[places[0]] == -np.inf:
                continue
            if np.all(labels[own] == state):
                conditional[places[0]] = value - noise[places].sum()
                continue
            unary, start = scores.unary.copy(), labels.copy()
            unary[own] = -np.inf
            unary[own, state] = field.theta[places]
            start[own] = state
            fixed = PairwiseScores._view(unary, scores.pairwise, scores.edges)
            _, conditional[places[0]], _ = oracle.argmax(fixed, start)
            n_calls += 1
    return Draw(labels, value, conditional, n_calls)


def _copies(mrf, n_copies):
    """The random field with c copies of each variable; copy r of variable i is ``r n + i``."""
    if n_copies == 1:
        return mrf
    copies = np.arange(n_copies) * mrf.n_variables
    shift = np.stack(np.meshgrid(copies, copies, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    return PairwiseMRF(
        [block / n_copies for block in mrf.unary] * n_copies,
        (mrf.edges + shift).reshape(-1, 2),
        [table / n_copies**2 for table in mrf.pairwise] * n_copies**2 or None,
    )


def _shares(mrf, labels):
    """Shares of states and pairs of states; ``labels`` (n_samples, n_copies, n_variables)."""
    n_samples, n_copies, _ = labels.shape
    i, j = mrf.edges.T
    node = mrf.node_start[:-1] + labels
    edge = mrf.edge_start[:-1] + labels[:, :, None, i] * mrf.n_states[j] + labels[:, None, :, j]
    counts = np.bincount(node.ravel(), minlength=len(mrf.theta)) / (n_samples * n_copies)
    counts += np.bincount(edge.ravel(), minlength=len(mrf.theta)) / (n_samples * n_copies**2)
    return counts
