"""Greedy one-to-one alignment of two graphs (SiGMa): pairs in a hash map and a lazy heap.

Words are CSR rows of sorted word numbers that both sides share, with one weight per entry.
Neighbours are CSR rows of (relation, neighbour), sorted, with one number per entry:
gamma_i w_ik + gamma_k w_ki.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit


class Words(NamedTuple):
    """Words of the rows of one side, and the sum of their weights per row."""

    indptr: np.ndarray
    words: np.ndarray
    weights: np.ndarray
    totals: np.ndarray


class Values(NamedTuple):
    """Property values of the entities of one side; ``values`` are rows of the words beside it."""

    indptr: np.ndarray
    properties: np.ndarray
    values: np.ndarray
    weights: np.ndarray


class Neighbors(NamedTuple):
    """Neighbours of the entities of one side, sorted by relation and neighbour."""

    indptr: np.ndarray
    relations: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray


@inner
def common_weight(first, a, second, b):
    """Sum of the weights, of both sides, of the words that rows a and b share."""
    p, q, total = first.indptr[a], second.indptr[b], 0.0
    while p < first.indptr[a + 1] and q < second.indptr[b + 1]:
        if first.words[p] == second.words[q]:
            total += first.weights[p] + second.weights[q]
            p += 1
            q += 1
        elif first.words[p] < second.words[q]:
            p += 1
        else:
            q += 1
    return total


@inner
def word_similarity(first, a, second, b, smoothing):
    """Weighted share of common words (eq. 7); 0 where nothing has a weight."""
    bottom = smoothing + first.totals[a] + second.totals[b]
    return common_weight(first, a, second, b) / bottom if bottom > 0.0 else 0.0


@inner
def property_similarity(values1, words1, i, values2, words2, j, smoothing):
    """Weighted share of common values (eq. 11), at most 1."""
    top, bottom = 0.0, smoothing
    for p in range(values1.indptr[i], values1.indptr[i + 1]):
        bottom += values1.weights[p]
        for q in range(values2.indptr[j], values2.indptr[j + 1]):
            if values1.properties[p] == values2.properties[q]:
                likeness = word_similarity(
                    words1, values1.values[p], words2, values2.values[q], 0.0
                )
                top += likeness * (values1.weights[p] + values2.weights[q])
    for q in range(values2.indptr[j], values2.indptr[j + 1]):
        bottom += values2.weights[q]
    return min(top / bottom, 1.0) if bottom > 0.0 else 0.0


@inner
def static_score(i, j, text, beta, smoothing):
    """(1 - beta) string + beta prop; ``text`` holds labels, values and words."""
    labels1, labels2, values1, values2, words1, words2 = text
    score = 0.0
    if beta < 1.0:
        score += (1.0 - beta) * word_similarity(labels1, i, labels2, j, smoothing[0])
    if beta > 0.0:
        score += beta * property_similarity(values1, words1, i, values2, words2, j, smoothing[1])
    return score


@njit
def pair_terms(pairs, text, smoothing):
    """Similarity of labels and of properties of each pair."""
    labels1, labels2, values1, values2, words1, words2 = text
    out = np.empty((len(pairs), 2))
    for t in range(len(pairs)):
        i, j = pairs[t]
        out[t, 0] = word_similarity(labels1, i, labels2, j, smoothing[0])
        out[t, 1] = property_similarity(values1, words1, i, values2, words2, j, smoothing[1])
    return out


@njit
def suggest(labels1, labels2, postings, indexed, min_shared, threshold):
    """Pairs that share indexed words and whose unsmoothed similarity is above the threshold.

    ``postings`` are (indptr, entities) of each word on the second side; of words that are not
    ``indexed`` nothing is looked up.
    """
    indptr, entities = postings
    count = np.zeros(len(labels2.totals), dtype=np.int32)
    touched = np.empty(len(labels2.totals), dtype=np.int64)
    pairs = np.empty((1024, 2), dtype=np.int64)
    n_pairs = 0
    for i in range(len(labels1.totals)):
        n_touched = 0
        for p in range(labels1.indptr[i], labels1.indptr[i + 1]):
            word = labels1.words[p]
            if not indexed[word]:
                continue
            for e in range(indptr[word], indptr[word + 1]):
                j = entities[e]
                if count[j] == 0:
                    touched[n_touched] = j
                    n_touched += 1
                count[j] += 1
        for t in range(n_touched):
            j = touched[t]
            shared, count[j] = count[j], 0
            shorter = min(
                labels1.indptr[i + 1] - labels1.indptr[i],
                labels2.indptr[j + 1] - labels2.indptr[j],
            )
            if shared < min(min_shared, shorter):
                continue
            if word_similarity(labels1, i, labels2, j, 0.0) < threshold:
                continue
            if n_pairs == len(pairs):
                larger = np.empty((2 * n_pairs, 2), dtype=np.int64)
                larger[:n_pairs] = pairs
                pairs = larger
            pairs[n_pairs, 0], pairs[n_pairs, 1] = i, j
            n_pairs += 1
    return pairs[:n_pairs].copy()


@inner
def hashed(key, mask):
    """First place of a key in the table."""
    mixed = key * 0x5851F42D4C957F2D
    return (mixed ^ (mixed >> 29)) & mask


@inner
def find_or_add(table, keys, n_keys, key):
    """Number of a key, which is ``n_keys`` where it is new."""
    mask = len(table) - 1
    place = hashed(key, mask)
    while table[place] >= 0:
        if keys[table[place]] == key:
            return table[place]
        place = (place + 1) & mask
    table[place] = n_keys
    keys[n_keys] = key
    return n_keys


@inner
def grown(array):
    """Copy of twice the length."""
    larger = np.zeros(2 * len(array), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@inner
def rehashed(keys, n_keys, size):
    """Table of the keys with ``size`` places."""
    table = np.full(size, -1, dtype=np.int64)
    for n in range(n_keys):
        place = hashed(keys[n], size - 1)
        while table[place] >= 0:
            place = (place + 1) & (size - 1)
        table[place] = n
    return table


@inner
def comes_first(score, number, other_score, other, static, keys):
    """Whether an entry of the heap comes before another: score, static score, then the pair."""
    if score != other_score:
        return score > other_score
    if static[number] != static[other]:
        return static[number] > static[other]
    return keys[number] < keys[other]


@inner
def push(heap, numbers, size, score, number, static, keys):
    """Put an entry into a heap that has room."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if not comes_first(score, number, heap[up], numbers[up], static, keys):
            break
        heap[at], numbers[at] = heap[up], numbers[up]
        at = up
    heap[at], numbers[at] = score, number


@inner
def pop(heap, numbers, size, static, keys):
    """Take the first entry away; ``size`` is the number of entries before."""
    size -= 1
    score, number, at = heap[size], numbers[size], 0
    while 2 * at + 1 < size:
        down = 2 * at + 1
        if down + 1 < size and comes_first(
            heap[down + 1], numbers[down + 1], heap[down], numbers[down], static, keys
        ):
            down += 1
        if not comes_first(heap[down], numbers[down], score, number, static, keys):
            break
        heap[at], numbers[at] = heap[down], numbers[down]
        at = down
    heap[at], numbers[at] = score, number


@njit
def align(seeds, suggested, graphs, text, smoothing, weights, limits):
    """Match greedily; returns matches, (score, graph term) of each, and counts.

    ``weights`` are (alpha, beta, threshold), ``limits`` (most matches, most pairs of neighbours of
    one relation). Counts are pairs that were scored and blocks that were skipped.
    """
    graph1, graph2 = graphs
    alpha, beta, threshold = weights
    n1, n2 = len(graph1.indptr) - 1, len(graph2.indptr) - 1
    free1, free2 = np.ones(n1, dtype=np.bool_), np.ones(n2, dtype=np.bool_)
    matches = np.empty((min(n1, n2), 2), dtype=np.int64)
    terms = np.empty((min(n1, n2), 2))
    table = np.full(4096, -1, dtype=np.int64)
    keys = np.zeros(2048, dtype=np.int64)
    static, graph, stamps = np.zeros(2048), np.zeros(2048), np.zeros(2048, dtype=np.int64)
    heap, numbers = np.zeros(1024), np.zeros(1024, dtype=np.int64)
    n_keys, size, n_matches, n_skipped = 0, 0, 0, 0
    n_seeds, turn, n_suggested = len(seeds), 0, 0
    while True:
        pair = -1
        if turn < n_seeds:
            i, j = seeds[turn]
            turn += 1
            pair = i * n2 + j
        elif n_suggested < len(suggested):
            i, j = suggested[n_suggested]
            n_suggested += 1
            if not (free1[i] and free2[j]):
                continue
        else:
            if size == 0 or heap[0] <= threshold or n_matches >= limits[0]:
                break
            pair = keys[numbers[0]]
            pop(heap, numbers, size, static, keys)
            size -= 1
            i, j = pair // n2, pair % n2
        if pair >= 0 and not (free1[i] and free2[j]):
            continue
        # The pair itself: seeds and suggestions may be new.
        number = find_or_add(table, keys, n_keys, i * n2 + j)
        if number == n_keys:
            static[number] = static_score(i, j, text, beta, smoothing)
            n_keys += 1
        score = (1.0 - alpha) * static[number] + alpha * graph[number]
        if pair >= 0:
            free1[i], free2[j] = False, False
            matches[n_matches, 0], matches[n_matches, 1] = i, j
            terms[n_matches, 0], terms[n_matches, 1] = score, graph[number]
            n_matches += 1
        elif score > threshold:
            if size == len(heap):
                heap, numbers = grown(heap), grown(numbers)
            push(heap, numbers, size, score, number, static, keys)
            size += 1
        if n_keys == len(keys):
            keys, static, graph, stamps = grown(keys), grown(static), grown(graph), grown(stamps)
            table = rehashed(keys, n_keys, 2 * len(keys))
        if pair < 0 or alpha == 0.0:
            continue
        p, last1 = graph1.indptr[i], graph1.indptr[i + 1]
        q, last2 = graph2.indptr[j], graph2.indptr[j + 1]
        while p < last1 and q < last2:
            if graph1.relations[p] < graph2.relations[q]:
                p += 1
                continue
            if graph1.relations[p] > graph2.relations[q]:
                q += 1
                continue
            end1, end2, relation = p, q, graph1.relations[p]
            while end1 < last1 and graph1.relations[end1] == relation:
                end1 += 1
            while end2 < last2 and graph2.relations[end2] == relation:
                end2 += 1
            if (end1 - p) * (end2 - q) > limits[1]:
                n_skipped += 1
                p, q = end1, end2
                continue
            for a in range(p, end1):
                k = graph1.neighbors[a]
                if not free1[k]:
                    continue
                for b in range(q, end2):
                    other = graph2.neighbors[b]
                    if not free2[other]:
                        continue
                    number = find_or_add(table, keys, n_keys, k * n2 + other)
                    if number == n_keys:
                        static[number] = static_score(k, other, text, beta, smoothing)
                        n_keys += 1
                    elif stamps[number] == n_matches:  # another relation links them, too
                        continue
                    stamps[number] = n_matches
                    graph[number] += graph1.weights[a] + graph2.weights[b]
                    score = (1.0 - alpha) * static[number] + alpha * graph[number]
                    if score > threshold:
                        if size == len(heap):
                            heap, numbers = grown(heap), grown(numbers)
                        push(heap, numbers, size, score, number, static, keys)
                        size += 1
                    if n_keys == len(keys):
                        keys, static, graph = grown(keys), grown(static), grown(graph)
                        stamps = grown(stamps)
                        table = rehashed(keys, n_keys, 2 * len(keys))
            p, q = end1, end2
    return matches[:n_matches], terms[:n_matches], (n_keys, n_skipped)


@njit
def graph_terms(pairs, mapping, graph1, graph2):
    """Sum over matched pairs of neighbours, each counted once, of every pair."""
    out = np.zeros(len(pairs))
    for t in range(len(pairs)):
        i, j = pairs[t]
        for a in range(graph1.indptr[i], graph1.indptr[i + 1]):
            k = graph1.neighbors[a]
            found = False
            for c in range(graph1.indptr[i], a):  # an earlier relation has counted the pair
                if graph1.neighbors[c] == k:
                    for b in range(graph2.indptr[j], graph2.indptr[j + 1]):
                        same = graph2.relations[b] == graph1.relations[c]
                        if same and graph2.neighbors[b] == mapping[k]:
                            found = True
            if mapping[k] < 0 or found:
                continue
            for b in range(graph2.indptr[j], graph2.indptr[j + 1]):
                same = graph2.relations[b] == graph1.relations[a]
                if same and graph2.neighbors[b] == mapping[k]:
                    out[t] += graph1.weights[a] + graph2.weights[b]
    return out
