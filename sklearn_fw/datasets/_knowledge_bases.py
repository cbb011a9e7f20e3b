"""Two knowledge bases of films and people with typing errors, and what is the same in them."""

import numpy as np
from sklearn.utils import Bunch

from .._core import check

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_kb_pair(n_movies=1000, *, random_state=None):
    """Films and people in two knowledge bases with different gaps and typing errors.

    There are 1.5 people per film and 3 to 7 actors and one director of each film. Each side keeps
    77 percent of the films, 87 of the people and 85 of the links. Words of names get a typing
    error (7.5 percent) or are dropped (4.5), names get an extra "the" (7.5), titles are replaced
    (8), and years are off by one (3.3).

    Parameters
    ----------
    n_movies : int, default=1000
        Number of films, from 10 on.
    random_state : int, RandomState instance or None, default=None
        Source of all draws.

    Returns
    -------
    data : Bunch
        ``relations1``, ``relations2``: lists of (entity, relation, entity); ``properties1``,
        ``properties2``: lists of (entity, property, value); ``labels1``, ``labels2``: dicts;
        ``truth``: dict of the entities that both sides have.

    References
    ----------
    .. [1] S. Lacoste-Julien and others, "SiGMa: simple greedy matching for aligning large knowledge
       bases", KDD 2013: the sizes and errors of its film data are imitated.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_kb_pair
    >>> data = make_kb_pair(50, random_state=0)
    >>> sorted(data)
    ['labels1', 'labels2', 'properties1', 'properties2', 'relations1', 'relations2', 'truth']
    """
    check.integer(n_movies, "n_movies", 10)
    rng = check.random_state(random_state)
    n_people = n_movies + n_movies // 2
    names, years = _names(rng, n_movies, n_people)
    facts = _facts(rng, n_movies, n_people)
    data, known = {}, []
    for side in "12":
        there = np.concatenate([
            rng.random_sample(n_movies) < 0.6**0.5, rng.random_sample(n_people) < 0.6**0.5 + 0.1,
        ])  # fmt: skip
        entities = np.flatnonzero(there).tolist()
        use = there[facts[:, 0]] & there[facts[:, 2]] & (rng.random_sample(len(facts)) < 0.85)
        order = rng.permutation(len(entities))
        ids = {e: f"{side}:{t}" for e, t in zip(entities, order, strict=True)}
        known.append(ids)
        data[f"relations{side}"] = [
            (ids[m], "actor" if r == 0 else "director", ids[p]) for m, r, p in facts[use].tolist()
        ]
        replaced = rng.random_sample(n_movies) < 0.08
        data[f"labels{side}"] = labels = {}
        for e in entities:
            is_other = e < n_movies and replaced[e]
            labels[ids[e]] = _damaged(rng, names[rng.randint(n_movies) if is_other else e])
        shift = (rng.random_sample(n_movies) < 0.05) * rng.randint(-1, 2, size=n_movies)
        films = [e for e in entities if e < n_movies]
        data[f"properties{side}"] = [(ids[e], "year", int(years[e] + shift[e])) for e in films]
    first, second = known
    data["truth"] = {first[e]: second[e] for e in first if e in second}
    return Bunch(**data)


def _zipf(n, power):
    weights = np.arange(1, n + 1) ** -float(power)
    return weights / weights.sum()


def _vocabulary(rng, n, taken):
    words = []
    while len(words) < n:
        word = "".join(LETTERS[c] for c in rng.randint(26, size=rng.randint(3, 10)))
        if word not in taken:
            taken.add(word)
            words.append(word)
    return np.array(words, dtype=object)


def _names(rng, n_movies, n_people):
    taken = {"the"}
    titles, first, last = (_vocabulary(rng, n, taken) for n in (4000, 300, 3000))
    lengths = rng.randint(1, 5, size=n_movies)
    words = iter(titles[rng.choice(4000, size=int(lengths.sum()), p=_zipf(4000, 0.9))])
    names = [[next(words) for _ in range(length)] for length in lengths.tolist()]
    firsts = first[rng.choice(300, size=n_people, p=_zipf(300, 1.0))]
    lasts = last[rng.choice(3000, size=n_people, p=_zipf(3000, 0.7))]
    names += [[a, b] for a, b in zip(firsts, lasts, strict=True)]
    return names, rng.randint(1950, 2012, size=n_movies)


def _facts(rng, n_movies, n_people):
    counts = rng.randint(3, 8, size=n_movies)
    actors = rng.choice(n_people, size=int(counts.sum()), p=_zipf(n_people, 0.6))
    movies = np.repeat(np.arange(n_movies), counts)
    directors = rng.randint(max(n_people // 6, 1), size=n_movies)
    people = np.concatenate([actors, directors]) + n_movies
    relation = np.repeat([0, 1], [len(actors), n_movies])
    facts = np.column_stack([np.concatenate([movies, np.arange(n_movies)]), relation, people])
    return np.unique(facts, axis=0)


def _damaged(rng, words):
    made = []
    for word in words:
        draw = rng.random_sample()
        if draw < 0.075:
            at = rng.randint(len(word))
            word = word[:at] + LETTERS[rng.randint(26)] + word[at + 1 :]
        elif draw < 0.12 and len(words) > 1:
            continue
        made.append(word)
    if rng.random_sample() < 0.075:
        made.append("the")
    return " ".join(made)
