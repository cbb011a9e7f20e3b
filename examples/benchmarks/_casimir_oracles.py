"""Problem E4: smoothed oracles against enumeration, and what they cost."""

import itertools

import numpy as np
from _report import Clock, Repeats

from sklearn_fw.inference import Assignment, GraphCut, PairwiseScores, SubwindowSearch, Viterbi

K = 5
LENGTHS = {"short chains": (200, 12, 22), "long chains": (20, 200, 22), "few states": (400, 25, 5)}


def costs(shape, repeat):
    """CPU ms of the best labelling, of the five best ones and of marginals, call by call."""
    n_chains, length, n_states = shape
    rng = np.random.RandomState(0)
    edges = np.arange(length - 1)[:, None] + np.arange(2)
    chains = [
        PairwiseScores(
            rng.normal(size=(length, n_states)), rng.normal(size=(length - 1, n_states, n_states)),
            edges,
        )
        for _ in range(n_chains)
    ]  # fmt: skip
    oracle = Viterbi()
    ways = {
        "best": oracle.argmax, "five best": lambda s: oracle.top_k(s, K),
        "marginals": oracle.marginals,
    }  # fmt: skip
    seconds = {name: [] for name in ways}
    for way in ways.values():
        way(chains[0])  # compiles
    for _ in range(max(3, repeat)):
        for name, way in ways.items():
            with Clock() as clock:
                for scores in chains:
                    way(scores)
            seconds[name].append(1e3 * clock.cpu)
    return {name: Repeats(values) for name, values in seconds.items()}


def answers(quick):
    """Largest difference of the best scores from enumeration, calls and ms, per structure."""
    rng = np.random.RandomState(0)
    n = 3 if quick else 20
    rows = []
    for name, make in {
        "cuts, 4 x 4": lambda rng: _cut(rng, 4),
        "cuts, 8 x 8": lambda rng: _cut(rng, 8),
        "matchings, 6 x 6": _matching,
        "boxes, 32 x 32": _box,
    }.items():
        worst, seconds = 0.0, []
        for k in range(n + 1):
            oracle, scores, best, count = make(rng)
            with Clock() as clock:
                values = oracle.top_k(scores, K)[0]
            worst = max(worst, float(np.abs(values - best).max()))
            if k:  # the first call compiles
                seconds.append(1e3 * clock.cpu)
        rows.append(
            {"what": name, "outputs": float(count), "off": worst, "ms": float(np.median(seconds))}
        )
    return rows


def _best(every):
    """The K largest of all scores, and how many there are."""
    return np.sort(every)[::-1][:K], len(every)


def _cut(rng, n):
    """A grid of n x n cells; its labellings are chains of rows, of which all are listed."""
    places = np.arange(n * n).reshape(n, n)
    edges = np.concatenate([
        np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], axis=1),
        np.stack([places[:-1].ravel(), places[1:].ravel()], axis=1),
    ])  # fmt: skip
    strengths, unary = rng.uniform(size=len(edges)), rng.normal(size=(n * n, 2))
    scores = PairwiseScores(unary, strengths[:, None, None] * np.eye(2)[None], edges)
    rows = np.array(list(itertools.product((0, 1), repeat=n)))
    within, between = np.split(strengths, 2)
    within, between = within.reshape(n, n - 1), between.reshape(n - 1, n)
    best = np.zeros((1, 1))  # K largest scores so far, for each labelling of the last row
    for i in range(n):
        own = unary[places[i], rows].sum(axis=1) + (rows[:, 1:] == rows[:, :-1]) @ within[i]
        joined = best[:, :, None] + own
        if i:
            joined += ((rows[:, None] == rows) @ between[i - 1])[:, None]
        best = np.sort(joined.reshape(-1, len(rows)), axis=0)[::-1][:K].T
    return GraphCut(), scores, _best(best.ravel())[0], 2 ** (n * n)


def _matching(rng):
    scores = rng.normal(size=(6, 6))
    every = [scores[np.arange(6), list(p)].sum() for p in itertools.permutations(range(6))]
    return Assignment(perfect=True), scores, *_best(np.array(every))


def _box(rng):
    n = 32
    weights = rng.normal(size=(n, n))
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = weights.cumsum(axis=0).cumsum(axis=1)
    low, high = np.triu_indices(n + 1, 1)
    bands = sums[high] - sums[low]  # a row for each pair of top and bottom
    return SubwindowSearch(), weights, *_best((bands[:, high] - bands[:, low]).ravel())
