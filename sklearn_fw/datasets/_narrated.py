"""Generators of narrated tasks: scripts of tokens, feature series, clips with states."""

import numpy as np
from sklearn.utils import Bunch

from .._core import check

STEP_STRENGTH, STEP_SPREAD, STEP_LENGTH = 1.8, 0.8, 5  # features and rows of a step
BACKGROUNDS, BACKGROUND_LENGTH = 5, 15  # scenes between steps
N_WORDS, NOISE = 35, 6.0  # other tokens, and their mean number in a series
LAG, WINDOW = 8, 10  # rows that words come late by, at most, and that a window is long


def make_scripts(
    n_sequences=30, n_steps=10, *, n_tokens=45, p_missing=0.27, noise=6.0, random_state=None
):
    """Sequences of tokens that follow one hidden script, with gaps and noise.

    Each keeps each token of the script with probability ``1 - p_missing``, in order, and has
    Poisson(``noise``) other tokens at random places; of equal tokens the last stays.

    Parameters
    ----------
    n_sequences, n_steps : int, default=30 and 10
        Number of sequences, and of tokens of the script, numbers from 0.
    n_tokens : int, default=45
        Tokens in all; the others are noise.
    p_missing : float, default=0.27
        Probability that a sequence leaves a step out.
    noise : float, default=6.0
        Mean number of other tokens in a sequence.
    random_state : int, RandomState instance or None, default=None
        Source of all draws.

    Returns
    -------
    data : Bunch
        ``sequences``, a list of lists of integers, none of them empty, and ``script``, the list of
        the tokens of all steps in order.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_scripts
    >>> make_scripts(2, 3, noise=0.0, p_missing=0.0, random_state=0).sequences
    [[0, 1, 2], [0, 1, 2]]
    """
    n, K = check.integer(n_sequences, "n_sequences", 1), check.integer(n_steps, "n_steps", 1)
    D = check.integer(n_tokens, "n_tokens", K + 1)
    p_missing = check.fraction(p_missing, "p_missing")
    check.within(0.0, 1e4)(noise, "noise")
    rng, sequences = check.random_state(random_state), []
    for _ in range(n):
        tokens = np.flatnonzero(rng.random_sample(K) >= p_missing).tolist() or [rng.randint(K)]
        for token in rng.randint(K, D, size=rng.poisson(noise)).tolist():
            tokens.insert(rng.randint(len(tokens) + 1), token)
        last = {token: place for place, token in enumerate(tokens)}
        sequences.append([int(t) for place, t in enumerate(tokens) if last[t] == place])
    return Bunch(sequences=sequences, script=list(range(K)))


def make_ordered_videos(
    n_sequences=30, n_steps=7, *, n_rows=150, n_features=60, p_missing=0.15, p_mention=0.7,
    random_state=None,
):  # fmt: skip
    """Make feature series with ordered steps, and windows where these are mentioned.

    A step lasts five rows and has a direction of its own; scenes between steps recur. Mentions are
    up to eight rows late, in a window of ten rows.

    Parameters
    ----------
    n_sequences, n_steps : int, default=30 and 7
        Number of series and of steps.
    n_rows, n_features : int, default=150 and 60
        Shape of each series, of ten rows for each step at least.
    p_missing, p_mention : float, default=0.15 and 0.7
        Probability that a sequence leaves a step out, and that a step is mentioned.
    random_state : int, RandomState instance or None, default=None
        Source of all draws.

    Returns
    -------
    data : Bunch
        ``X``, a list of arrays (n_rows, n_features); ``truth`` (n_sequences, n_steps, 2), the first
        and the last row of each step, -1 where it is left out; ``windows``, a list of lists of
        (step, first row, last row); ``tokens``, numbers of steps or higher ones, and
        ``token_rows``, a list of arrays (n_tokens_i, 2) with the first and the last row of each.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_ordered_videos
    >>> data = make_ordered_videos(2, 3, n_rows=40, n_features=5, random_state=0)
    >>> data.truth.shape
    (2, 3, 2)
    """
    n, K = check.integer(n_sequences, "n_sequences", 1), check.integer(n_steps, "n_steps", 1)
    T = check.integer(n_rows, "n_rows", 2 * STEP_LENGTH * K)
    d = check.integer(n_features, "n_features", 1)
    p_missing = check.fraction(p_missing, "p_missing")
    p_mention = check.fraction(p_mention, "p_mention")
    rng = check.random_state(random_state)
    directions = rng.randn(K, d)
    directions *= STEP_STRENGTH * np.sqrt(60.0) / 4.0 / np.linalg.norm(directions, axis=1)[:, None]
    scenes = 0.25 * rng.randn(BACKGROUNDS, d)
    X, truth, windows = [], np.full((n, K, 2), -1), []
    for i in range(n):
        which = rng.randint(BACKGROUNDS, size=T // BACKGROUND_LENGTH + 1)
        rows = rng.randn(T, d) * STEP_SPREAD + scenes[np.repeat(which, BACKGROUND_LENGTH)[:T]]
        free = np.sort(rng.randint(T - K * STEP_LENGTH + 1, size=K))
        begins, spoken = free + STEP_LENGTH * np.arange(K), []
        for k in np.flatnonzero(rng.random_sample(K) >= p_missing).tolist():
            begin = int(begins[k])
            rows[begin : begin + STEP_LENGTH] += directions[k]
            truth[i, k] = begin, begin + STEP_LENGTH - 1
            if rng.random_sample() < p_mention:
                first = max(begin + int(rng.randint(LAG + 1)) - WINDOW // 2, 0)
                spoken.append((k, min(first, T - 1), min(first + WINDOW - 1, T - 1)))
        X.append(rows)
        windows.append(spoken)
    tokens, token_rows = [], []
    for spoken in windows:
        other = rng.randint(K, K + N_WORDS, size=rng.poisson(NOISE)).tolist()
        said = [(first, k) for k, first, _ in spoken]
        said += [(int(rng.randint(T)), token) for token in other]
        said = sorted(said) or [(0, K)]
        tokens.append([token for _, token in said])
        token_rows.append(np.array([(row, row) for row, _ in said]))
    return Bunch(X=X, truth=truth, windows=windows, tokens=tokens, token_rows=token_rows)


def make_state_action_clips(
    n_clips=30, *, n_rows=50, n_features=30, interval=0.4, random_state=None
):
    """Clips in which one action changes an object from a first state to a second.

    Rows of a clip show the action for one to two and a half seconds, and two distractions that are
    stronger, at any time. Of 14 to 25 candidates, 40 % show no object; others show its first state
    before the action, its second after it, and none clearly while it lasts.

    Parameters
    ----------
    n_clips, n_rows, n_features : int, default=30, 50 and 30
        Number of clips, rows of each, 20 at least, and features of rows and of candidates.
    interval : float, default=0.4
        Seconds between rows, above zero.
    random_state : int, RandomState instance or None, default=None
        Source of all draws.

    Returns
    -------
    data : Bunch
        ``clips``, a list of dicts for `sklearn_fw.cluster.JointStateActionClustering`; ``actions``
        (n_clips, 2), the first and the last row of each action; ``states``, a list of arrays with
        0 and 1 for the two states, -1 for no object and -2 for both states.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_state_action_clips
    >>> data = make_state_action_clips(2, random_state=0)
    >>> sorted(data.clips[0])
    ['X_action', 'X_state', 'end', 'start', 't_action', 't_state']
    """
    n, T = check.integer(n_clips, "n_clips", 1), check.integer(n_rows, "n_rows", 20)
    d = check.integer(n_features, "n_features", 1)
    interval = check.between(interval, "interval", 1e-6, 1e6)
    rng = check.random_state(random_state)

    def direction():
        v = rng.randn(d)
        return v / np.linalg.norm(v)

    action, distractors = direction(), [direction(), direction()]
    obj, change = direction(), direction()
    clips, actions, states = [], [], []
    for _ in range(n):
        times = interval * np.arange(T)
        length = T * interval
        begin = rng.uniform(0.3, 0.7) * length
        end = begin + rng.uniform(0.05, 0.125) * length
        rows = 0.5 * rng.randn(T, d)
        inside = (times >= begin) & (times <= end)
        inside[np.argmin(np.abs(times - (begin + end) / 2.0))] = True
        rows[inside] += 1.6 * action
        for distractor in distractors:
            at = rng.uniform(0.0, 0.9) * length
            shown = (times >= at) & (times <= at + rng.uniform(0.05, 0.125) * length)
            rows[shown] += 1.92 * distractor
        clip, kinds = _candidates(rng, begin, end, length, obj, change)
        clips.append({"X_action": rows, "t_action": times, **clip})
        where = np.flatnonzero(inside)
        actions.append((where[0], where[-1]))
        states.append(kinds)
    return Bunch(clips=clips, actions=np.array(actions), states=states)


def _candidates(rng, begin, end, length, obj, change):
    """Candidates of a clip and their kinds; each state is shown at least once."""
    m, d = rng.randint(14, 26), len(obj)
    middle = rng.uniform(0.02, 0.98, size=m) * length
    middle[:2] = rng.uniform(0.05, 0.2) * length, rng.uniform(0.85, 0.95) * length
    half = rng.uniform(0.01, 0.025, size=m) * length
    false = rng.random_sample(m) < 0.4
    false[:2] = False
    start, stop = middle - half, middle + half
    kinds = np.where(stop < begin, 0, np.where(start > end, 1, -2))
    kinds[false] = -1
    X = 0.6 * rng.randn(m, d)
    anything = rng.randn(m, d)
    X[false] += (1.25 * anything / np.linalg.norm(anything, axis=1)[:, None])[false]
    sign = np.select([kinds == 0, kinds == 1], [-1.0, 1.0], 0.0)
    X[~false] += 0.6 * obj + 1.1 * sign[~false, None] * change
    order = rng.permutation(m)
    found = {"X_state": X, "t_state": middle, "start": start, "end": stop}
    return {name: values[order] for name, values in found.items()}, kinds[order]
