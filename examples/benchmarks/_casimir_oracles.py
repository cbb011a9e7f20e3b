"""Problem E4: smoothed oracles against enumeration, and what they cost."""

from _report import Clock, Repeats

K = 5
LENGTHS = {"short chains": (200, 12, 22), "long chains": (20, 200, 22), "few states": (400, 25, 5)}


def costs(shape, repeat):
    """CPU ms of the best labelling, of the five best ones and of marginals, call by call."""
    import numpy as np

    from sklearn_fw.inference import PairwiseScores, Viterbi

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
    import numpy as np

    rng = np.random.RandomState(0)
    n = 3 if quick else 20
    rows = []
    for name, make in {
        "cuts, 4 x 4": _cut,
        "matchings, 6 x 6": _matching,
        "boxes, 32 x 32": _box,
    }.items():
        worst, seconds, count = 0.0, [], 0
        for k in range(n + 1):
            oracle, scores, every = make(rng)
            with Clock() as clock:
                values = oracle.top_k(scores, K)[0]
            best = np.sort(every)[::-1][:K]
            worst = max(worst, float(np.abs(values - best).max()))
            count = len(every)
            if k:  # the first call compiles
                seconds.append(1e3 * clock.cpu)
        rows.append({"what": name, "outputs": count, "off": worst, "ms": float(np.median(seconds))})
    return rows


def _cut(rng):
    import itertools

    import numpy as np

    from sklearn_fw.inference import GraphCut, PairwiseScores

    places = np.arange(16).reshape(4, 4)
    edges = np.concatenate([
        np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], axis=1),
        np.stack([places[:-1].ravel(), places[1:].ravel()], axis=1),
    ])  # fmt: skip
    strengths = rng.uniform(size=len(edges))
    scores = PairwiseScores(
        rng.normal(size=(16, 2)), strengths[:, None, None] * np.eye(2)[None], edges
    )
    labels = np.array(list(itertools.product((0, 1), repeat=16)))
    every = scores.unary[np.arange(16), labels].sum(axis=1)
    every += (labels[:, edges[:, 0]] == labels[:, edges[:, 1]]) @ strengths
    return GraphCut(), scores, every


def _matching(rng):
    import itertools

    import numpy as np

    from sklearn_fw.inference import Assignment

    scores = rng.normal(size=(6, 6))
    every = [scores[np.arange(6), list(p)].sum() for p in itertools.permutations(range(6))]
    return Assignment(perfect=True), scores, np.array(every)


def _box(rng):
    import numpy as np

    from sklearn_fw.inference import SubwindowSearch

    n = 32
    weights = rng.normal(size=(n, n))
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = weights.cumsum(axis=0).cumsum(axis=1)
    low, high = np.triu_indices(n + 1, 1)
    bands = sums[high] - sums[low]  # a row for each pair of top and bottom
    return SubwindowSearch(), weights, (bands[:, high] - bands[:, low]).ravel()
