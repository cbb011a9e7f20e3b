"""Greedy one-to-one alignment of two graphs (SiGMa): pairs in a hash map and a lazy heap.

Words are CSR rows of sorted word numbers that both sides share, with one weight per entry.
Neighbors are CSR rows of (relation, neighbor), sorted, with one number per entry:
gamma_i w_ik + gamma_k w_ki.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from .._jit import inlined, inner, njit
from ..common.vectors import assign


class Words(NamedTuple):
    """Words of the rows of one side, and the sum of their weights per row."""

    indptr: np.ndarray
    words: np.ndarray
    weights: np.ndarray
    totals: np.ndarray


class Values(NamedTuple):
    """Property values of the entities of one side; ``values`` index rows of the words."""

    indptr: np.ndarray
    properties: np.ndarray
    values: np.ndarray
    weights: np.ndarray


class Neighbors(NamedTuple):
    """Neighbors of the entities of one side, sorted by relation and neighbor."""

    indptr: np.ndarray
    relations: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray


class Pairs(NamedTuple):
    """Pairs that were met: a hash table of their numbers, and by number what is known of each.

    ``stamps`` hold the last match that touched a pair. Numbers are of 32 bits.
    """

    table: np.ndarray
    keys: np.ndarray
    static: np.ndarray
    graph: np.ndarray
    stamps: np.ndarray


@inlined
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
    common = common_weight(first, a, second, b)
    if common == 0.0:  # most pairs: do not read more of them
        return 0.0
    return common / (smoothing + first.totals[a] + second.totals[b])


@inner
def property_similarity(values1, words1, i, values2, words2, j, smoothing):
    """Weighted share of common values (eq. 11), at most 1."""
    top = 0.0
    for p in range(values1.indptr[i], values1.indptr[i + 1]):
        for q in range(values2.indptr[j], values2.indptr[j + 1]):
            if values1.properties[p] == values2.properties[q]:
                likeness = word_similarity(
                    words1, values1.values[p], words2, values2.values[q], 0.0
                )
                top += likeness * (values1.weights[p] + values2.weights[q])
    if top == 0.0:
        return 0.0
    bottom = smoothing
    for p in range(values1.indptr[i], values1.indptr[i + 1]):
        bottom += values1.weights[p]
    for q in range(values2.indptr[j], values2.indptr[j + 1]):
        bottom += values2.weights[q]
    return min(top / bottom, 1.0)


@inner
def static_scores(keys, n2, text, beta, smoothing, out):
    """(1 - beta) string + beta prop of many pairs (calls with many arrays are slow).

    ``text`` holds labels, values and words; the key of (i, j) is ``i * n2 + j``.
    """
    labels1, labels2, values1, values2, words1, words2 = text
    for t in range(len(keys)):
        i, j, score = keys[t] // n2, keys[t] % n2, 0.0
        if beta < 1.0:
            score += (1.0 - beta) * word_similarity(labels1, i, labels2, j, smoothing[0])
        if beta > 0.0:
            score += beta * property_similarity(
                values1, words1, i, values2, words2, j, smoothing[1]
            )
        out[t] = score


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
def suggest(labels1, labels2, postings, indexed, hidden, min_shared, threshold):
    """Pairs that share indexed words, and their unsmoothed similarities of at least a threshold.

    ``postings`` are (indptr, entities, weights) of each word on the second side; of words that are
    not ``indexed`` nothing is looked up. ``hidden`` is the weight of these words in each row of
    both sides: with it, what was looked up bounds the similarity, and few rows are compared.
    """
    indptr, entities, weights = postings
    count = np.zeros(len(labels2.totals), dtype=np.int32)
    common = np.zeros(len(labels2.totals))
    touched = np.empty(len(labels2.totals), dtype=np.int64)
    first, second, similarities = [], [], []
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
                common[j] += labels1.weights[p] + weights[e]
        for t in range(n_touched):
            j = touched[t]
            shared, count[j] = count[j], 0
            most, common[j] = common[j] + hidden[0][i] + hidden[1][j], 0.0
            if most * (1.0 + 1e-9) < threshold * (labels1.totals[i] + labels2.totals[j]):
                continue
            shorter = min(
                labels1.indptr[i + 1] - labels1.indptr[i], labels2.indptr[j + 1] - labels2.indptr[j]
            )
            if shared < min(min_shared, shorter):
                continue
            similarity = word_similarity(labels1, i, labels2, j, 0.0)
            if similarity >= threshold:
                first.append(i)
                second.append(j)
                similarities.append(similarity)
    pairs = np.column_stack((np.array(first, np.int64), np.array(second, np.int64)))
    return pairs, np.array(similarities, np.float64)


@inner
def find_or_add(found, n_keys, key):
    """Number of a key, which is ``n_keys`` where it is new; there must be room."""
    table, keys = found.table, found.keys
    mask, mixed = len(table) - 1, key * 0x5851F42D4C957F2D
    place = (mixed ^ (mixed >> 29)) & mask
    while table[place] >= 0:
        if keys[table[place]] == key:
            return np.int64(table[place])
        place = (place + 1) & mask
    table[place] = n_keys
    keys[n_keys] = key
    return n_keys


@inner
def grown(array, size):
    """Copy of a length of ``size``, with zeros at the end."""
    larger = np.empty(size, dtype=array.dtype)
    assign(larger, array)
    larger[len(array) :] = 0
    return larger


@inner
def with_room(found, n_keys, n_new):
    """The pairs with room for more; the table is at most half full."""
    size = len(found.keys)
    if n_keys + n_new <= size:
        return found
    while size < n_keys + n_new:
        size *= 2
    larger = Pairs(
        np.full(2 * size, -1, dtype=found.table.dtype), grown(found.keys, size),
        grown(found.static, size), grown(found.graph, size), grown(found.stamps, size),
    )  # fmt: skip
    for n in range(n_keys):
        find_or_add(larger, n, larger.keys[n])
    return larger


@inner
def touch(i, j, turn, graphs, free, most_pairs, found, n_keys, touched):
    """Add what match number ``turn``, of i and j, adds to the pairs of their free neighbors.

    Returns the pairs, their number, the touched ones, how many these are, and the number of
    blocks that were skipped.
    """
    graph1, graph2 = graphs
    free1, free2 = free
    n2, n_touched, n_skipped = len(free2), 0, 0
    p, last1 = graph1.indptr[i], graph1.indptr[i + 1]
    q, last2 = graph2.indptr[j], graph2.indptr[j + 1]
    open2 = np.empty(last2 - q, dtype=np.int64)
    while p < last1 and q < last2:
        relation = graph1.relations[p]
        if relation < graph2.relations[q]:
            p += 1
            continue
        if relation > graph2.relations[q]:
            q += 1
            continue
        end1, end2, n_open2 = p, q, 0
        while end1 < last1 and graph1.relations[end1] == relation:
            end1 += 1
        while end2 < last2 and graph2.relations[end2] == relation:
            if free2[graph2.neighbors[end2]]:
                open2[n_open2] = end2
                n_open2 += 1
            end2 += 1
        if (end1 - p) * (end2 - q) > most_pairs:
            n_skipped += 1
            n_open2 = 0
        for a in range(p, end1):
            k = graph1.neighbors[a]
            if n_open2 == 0 or not free1[k]:
                continue
            found = with_room(found, n_keys, n_open2)
            if n_touched + n_open2 > len(touched):
                touched = grown(touched, 2 * (n_touched + n_open2))
            for b in open2[:n_open2]:
                number = find_or_add(found, n_keys, k * n2 + graph2.neighbors[b])
                if number == n_keys:
                    n_keys += 1
                elif found.stamps[number] == turn:  # another relation links them, too
                    continue
                found.stamps[number] = turn
                found.graph[number] += graph1.weights[a] + graph2.weights[b]
                touched[n_touched] = number
                n_touched += 1
        p, q = end1, end2
    return found, n_keys, touched, n_touched, n_skipped


@inner
def push_all(some, found, heap, alpha, threshold):
    """Put the pairs ``some`` whose scores are above the threshold into the heap.

    It is ordered by score, static score, then the pair.
    """
    for number in some:
        static = found.static[number]
        score = (1.0 - alpha) * static + alpha * found.graph[number]
        if score > threshold:
            heappush(heap, (-score, -static, found.keys[number], np.int64(number)))


@inlined
def take_seeds(seeds, graphs, text, smoothing, weights, free, matches, terms):
    """Write the seeds and their scores, each beside those before it, as the first matches."""
    alpha, beta = weights[:2]
    n2, static = len(free[1]), np.empty(len(seeds))
    static_scores(seeds[:, 0] * n2 + seeds[:, 1], n2, text, beta, smoothing, static)
    mapping = np.full(len(free[0]), -1, dtype=np.int64)
    seen = np.full(len(free[0]), -1, dtype=np.int64)
    for t in range(len(seeds)):
        i, j = seeds[t]
        graph = graph_term(i, j, mapping, graphs, seen, t)
        terms[t, 0], terms[t, 1] = (1.0 - alpha) * static[t] + alpha * graph, graph
        matches[t, 0], matches[t, 1] = i, j
        mapping[i], free[0][i], free[1][j] = j, False, False


@njit
def align(seeds, suggested, graphs, text, smoothing, weights, limits):
    """Match greedily; returns matches, (score, graph term) of each, and counts.

    ``weights`` are (alpha, beta, threshold), ``limits`` (most matches, most pairs of neighbors of
    one relation). Counts are pairs that were scored and blocks that were skipped.
    """
    alpha, beta, threshold = weights
    n1, n2 = len(graphs[0].indptr) - 1, len(graphs[1].indptr) - 1
    free = np.ones(n1, dtype=np.bool_), np.ones(n2, dtype=np.bool_)
    matches = np.empty((min(n1, n2), 2), dtype=np.int64)
    terms = np.empty((min(n1, n2), 2))
    take_seeds(seeds, graphs, text, smoothing, weights, free, matches, terms)
    found = Pairs(
        np.full(4096, -1, dtype=np.int32), np.zeros(2048, dtype=np.int64), np.zeros(2048),
        np.zeros(2048), np.zeros(2048, dtype=np.int32),
    )  # fmt: skip
    touched = np.empty(1024, dtype=np.int32)
    n_keys, n_matches, n_skipped = 0, 0, 0
    while n_matches < len(seeds) and alpha > 0.0:
        i, j = seeds[n_matches]
        n_matches += 1
        found, n_keys, touched, _, n_left = touch(
            i, j, n_matches, graphs, free, limits[1], found, n_keys, touched
        )
        n_skipped += n_left
    n_matches = len(seeds)
    found = with_room(found, n_keys, len(suggested))
    for i, j in suggested:
        if free[0][i] and free[1][j]:
            n_keys = max(n_keys, find_or_add(found, n_keys, i * n2 + j) + 1)
    static_scores(found.keys[:n_keys], n2, text, beta, smoothing, found.static)
    heap = [(0.0, 0.0, n2, n2) for _ in range(0)]  # its type
    push_all(np.arange(n_keys).astype(np.int32), found, heap, alpha, threshold)
    while len(heap) > 0 and n_matches < limits[0]:
        loss, _, key, number = heappop(heap)
        i, j = key // n2, key % n2
        if not (free[0][i] and free[1][j]):
            continue
        free[0][i], free[1][j] = False, False
        matches[n_matches, 0], matches[n_matches, 1] = i, j
        terms[n_matches, 0], terms[n_matches, 1] = -loss, found.graph[number]
        n_matches += 1
        if alpha == 0.0:
            continue
        n_known = n_keys
        found, n_keys, touched, n_touched, n_left = touch(
            i, j, n_matches, graphs, free, limits[1], found, n_keys, touched
        )
        n_skipped += n_left
        static_scores(found.keys[n_known:n_keys], n2, text, beta, smoothing, found.static[n_known:])
        push_all(touched[:n_touched], found, heap, alpha, threshold)
    return matches[:n_matches], terms[:n_matches], (n_keys, n_skipped)


@inner
def graph_term(i, j, mapping, graphs, seen, stamp):
    """Sum over matched pairs of neighbors of i and j, each counted once.

    ``seen`` marks neighbors that were counted, by a ``stamp`` of this pair's own.
    """
    graph1, graph2 = graphs
    total = 0.0
    for a in range(graph1.indptr[i], graph1.indptr[i + 1]):
        k, relation = graph1.neighbors[a], graph1.relations[a]
        partner = mapping[k]
        if partner < 0 or seen[k] == stamp:
            continue
        low, high = graph2.indptr[j], graph2.indptr[j + 1]
        while low < high:  # the first entry that is not before (relation, partner)
            middle = (low + high) >> 1
            before = graph2.relations[middle] < relation or (
                graph2.relations[middle] == relation and graph2.neighbors[middle] < partner
            )
            low, high = (middle + 1, high) if before else (low, middle)
        there = low < graph2.indptr[j + 1] and graph2.relations[low] == relation
        if there and graph2.neighbors[low] == partner:
            total += graph1.weights[a] + graph2.weights[low]
            seen[k] = stamp
    return total


@njit
def graph_terms(pairs, mapping, graph1, graph2):
    """Sum over matched pairs of neighbors, each counted once, of every pair."""
    out, seen = np.empty(len(pairs)), np.full(len(mapping), -1, dtype=np.int64)
    for t in range(len(pairs)):
        out[t] = graph_term(pairs[t, 0], pairs[t, 1], mapping, (graph1, graph2), seen, t)
    return out
