"""Pairs of entities that are tried without a matched neighbour."""

import numpy as np

from .._core.packed import starts_of
from .._kernels.graphs.greedy_alignment import Words, suggest
from ._rows import distinct_rows

N_SAMPLE = 1000  # labels that tokens are chosen by


def pairs_of_labels(labels, counts, model, threshold):
    """Pairs whose labels share words, found by an index of the words of the second side."""
    indexed = (counts[0] > 0) & (counts[1] > 0) & (counts[1] <= model.max_block)
    for count in counts:
        indexed[np.argsort(-count, kind="stable")[: model.n_stop_words]] = False
    rows = [np.repeat(np.arange(len(side.totals)), np.diff(side.indptr)) for side in labels]
    hidden = tuple(
        np.bincount(row, side.weights * ~indexed[side.words], len(side.totals))
        for row, side in zip(rows, labels, strict=True)
    )
    order = np.argsort(labels[1].words, kind="stable")
    postings = starts_of(counts[1]), rows[1][order], labels[1].weights[order]
    return suggest(
        *labels, postings, indexed, hidden, int(model.min_shared_words), float(threshold)
    )


def mutual_fraction(labels, counts, model, threshold):
    """Fraction of labels of the smaller side that are the nearest of their nearest, in a sample."""
    if len(labels[1].totals) < len(labels[0].totals):
        labels, counts = labels[::-1], counts[::-1]
    rows = np.flatnonzero(np.diff(labels[0].indptr))
    rows = rows[:: max(1, len(rows) // N_SAMPLE)]
    nearest, there = _nearest(labels, counts, rows, model, threshold)
    back = _nearest(labels[::-1], counts[::-1], np.unique(nearest), model, threshold)[1]
    mutual = there[rows] * (1.0 + 1e-9) >= back[nearest[rows]]
    return float(np.mean(mutual & (there[rows] > 0.0))) if len(rows) else 0.0


def _nearest(labels, counts, rows, model, threshold):
    """For all rows of the first side, of which some are searched: nearest, and its similarity."""
    first = labels[0]
    chosen = np.zeros(len(first.totals), dtype=bool)
    chosen[rows] = True
    lengths = np.diff(first.indptr)
    used = np.repeat(chosen, lengths)
    part = Words(starts_of(lengths * chosen), first.words[used], first.weights[used], first.totals)
    pairs, found = pairs_of_labels((part, labels[1]), counts, model, threshold)
    order = np.argsort(found, kind="stable")  # the largest is written last
    nearest, similarity = np.zeros(len(first.totals), dtype=np.int64), np.zeros(len(first.totals))
    nearest[pairs[order, 0]], similarity[pairs[order, 0]] = pairs[order, 1], found[order]
    return nearest, similarity


def pairs_of_rare_values(values, words, n_pairs=25):
    """Pairs of entities that share a word of a property value which so few pairs share."""
    sides = []
    for side, rows in zip(values, words, strict=True):
        entity = np.repeat(np.arange(len(side.indptr) - 1), np.diff(side.indptr))
        lengths = np.diff(rows.indptr)[side.values]
        start = np.repeat(rows.indptr[side.values] - np.cumsum(lengths) + lengths, lengths)
        words_of = rows.words[start + np.arange(int(lengths.sum()))]
        sides.append(np.column_stack(distinct_rows(words_of, np.repeat(entity, lengths))))
    first, second = sides
    n_words = 1 + max((int(side[-1, 0]) for side in (first, second) if len(side)), default=0)
    count1, count2 = (np.bincount(side[:, 0], minlength=n_words) for side in (first, second))
    rare = (count1 > 0) & (count2 > 0) & (count1 * count2 <= n_pairs)
    first = first[rare[first[:, 0]]]
    start = starts_of(count2)[first[:, 0]]
    length = count2[first[:, 0]]
    at = np.repeat(start - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    pairs = np.column_stack([np.repeat(first[:, 1], length), second[at, 1]])
    return np.column_stack(distinct_rows(*pairs.T))
