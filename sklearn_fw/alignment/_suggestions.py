"""Pairs of entities that are tried without a matched neighbour."""

import numpy as np

from .._kernels.graphs.greedy_alignment import suggest
from .._packed import starts_of
from ._rows import distinct_rows

__all__ = ["pairs_of_labels", "pairs_of_rare_values"]


def pairs_of_labels(labels, counts, model):
    """Pairs whose labels share words, found by an index of the words of the second side."""
    indexed = (counts[0] > 0) & (counts[1] > 0) & (counts[1] <= model.max_block)
    for count in counts:
        indexed[np.argsort(-count, kind="stable")[: model.n_stop_words]] = False
    second = labels[1]
    order = np.argsort(second.words, kind="stable")
    entities = np.repeat(np.arange(len(second.totals)), np.diff(second.indptr))[order]
    return suggest(
        *labels, (starts_of(counts[1]), entities), indexed, int(model.min_shared_words),
        float(model.suggestion_threshold),
    )  # fmt: skip


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
