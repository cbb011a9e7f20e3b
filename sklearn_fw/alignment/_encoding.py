"""Two knowledge bases as the arrays that the kernels compare, and pairs that they suggest."""

import html
import re
import unicodedata
from collections.abc import Mapping
from itertools import chain

import numpy as np

from .._core.packed import places_of, starts_of
from .._core.warnings import warn
from .._kernels import lazy
from ._knowledge_base import distinct_rows, local_name

kernels = lazy("graphs.greedy_alignment")

WORD = re.compile(r"[^\W_]+")
DATE = re.compile(r"([12]\d{3})-\d{1,2}-\d{1,2}")
SIMILARITIES = ("exact", "year", "jaccard", "numeric")
N_SAMPLE = 1000  # labels that tokens are chosen by
RARE = 25  # pairs of entities that share a word, at most, which is then tried


def simple_words(text):
    if text.isascii() and text.replace(" ", "").isalnum():  # most texts, four times as fast
        return text.lower().split()
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    return WORD.findall(text.lower())


def as_pairs(pairs, name):
    """Pairs of a dict or a list of pairs."""
    found = list(pairs.items()) if isinstance(pairs, Mapping) else pairs
    if not isinstance(found, list | tuple) or not all(
        isinstance(p, tuple | list) and len(p) == 2 for p in found
    ):
        raise ValueError(f"{name} must be a dict or a list of pairs, got {pairs!r:.60}")
    return found


def tie_names(first, second, pairs, what):
    """Number of the class of each name of both sides; -1 where the other side has none of it.

    ``what`` they are, "relation" or "property", is for messages.
    """
    parameter, tied = f"{what}_map", {}
    if pairs is None:
        sides = [[local_name(n) for n in names] for names in (first, second)]
        shared = {n: t for t, n in enumerate(sorted(set(sides[0]) & set(sides[1])))}
        tied = {(s, name): shared[n] for s, names in enumerate((first, second))
                for name, n in zip(names, sides[s]) if n in shared}  # fmt: skip
    for a, b in () if pairs is None else as_pairs(pairs, parameter):
        for known, one, side in ((first, a, "first"), (second, b, "second")):
            if one not in known:
                raise ValueError(f"{parameter} names {one!r:.60}, which the {side} side lacks")
        old = [tied.get((0, a)), tied.get((1, b))]
        code = next((c for c in old if c is not None), len(tied))
        tied = {key: code if c in old else c for key, c in tied.items()}
        tied[0, a] = tied[1, b] = code
    if len(first) and len(second) and not tied:
        warn(
            f"no {what} has a name that both sides share, so none is compared: name those that "
            f"mean the same in {parameter}"
        )
    codes = ([tied.get((side, n), -1) for n in names] for side, names in enumerate((first, second)))
    return [np.array(side, dtype=np.int64) for side in codes]


def _sorted_rows(lists, vocabulary):
    """Words of each row once, sorted by their number in the vocabulary, which grows."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    for word in chain.from_iterable(lists):
        if word not in vocabulary:
            vocabulary[word] = len(vocabulary)
    flat = map(vocabulary.__getitem__, chain.from_iterable(lists))
    words = np.fromiter(flat, dtype=np.int64, count=int(lengths.sum()))
    rows, words = distinct_rows(np.repeat(np.arange(len(lists)), lengths), words)
    return _starts(rows, len(lists)), words.astype(np.int32)


def _starts(rows, n_rows):
    return starts_of(np.bincount(rows, minlength=n_rows))


def _weighted(indptr, words, weights):
    return kernels.Words(indptr, words, weights, np.diff(np.r_[0.0, np.cumsum(weights)][indptr]))


def encode_labels(texts, weighting, by_trigrams):
    """Words or trigrams of the labels of both sides, and how many entities have each."""
    if by_trigrams:
        rows, n_words = _trigram_rows(texts)
    else:
        vocabulary = {}
        rows = [_sorted_rows(lists, vocabulary) for lists in texts]
        n_words = len(vocabulary)
    labels, counts = [], []
    for lists, (indptr, words) in zip(texts, rows, strict=True):
        count = np.bincount(words, minlength=n_words)
        rarity = np.log10(len(lists) / np.maximum(count, 1))
        idf = rarity if weighting == "idf" else np.ones(n_words)
        labels.append(_weighted(indptr, words, idf[words]))
        counts.append(count)
    return labels, counts


def _trigram_rows(texts):
    """Three characters in a row, with a space between words and at both ends, as numbers."""
    owners, keys = [], []
    for lists in texts:
        lines = [f" {' '.join(words)} " if words else "" for words in lists]
        row = np.repeat(np.arange(len(lines)), list(map(len, lines)))
        text = "".join(lines).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(text, dtype="<u4").astype(np.int64)
        inside = np.flatnonzero(row[:-2] == row[2:])
        owners.append(row[inside])
        keys.append(codes[inside] << 42 | codes[inside + 1] << 21 | codes[inside + 2])
    known, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    numbers = np.split(numbers.ravel(), [len(keys[0])])
    rows = []
    for lists, row, number in zip(texts, owners, numbers, strict=True):
        row, number = distinct_rows(row, number)
        rows.append((_starts(row, len(lists)), number.astype(np.int32)))
    return rows, len(known)


def _kind(values):
    sample = values[:: max(1, len(values) // 1000)]
    for kind, read in (("year", DATE.match), ("numeric", _number)):
        if sum(read(value) is not None for value in sample) >= 0.9 * len(sample):
            return kind
    return "jaccard"


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def _tokens(text, kind, tokenizer):
    if kind == "jaccard":
        return tokenizer(text)
    if kind == "year":
        found = re.search(r"(?<!\d)[12]\d{3}(?!\d)", text)
        return [found.group()] if found else []
    number = _number(text) if kind == "numeric" else None
    return [text if number is None else repr(number)]


def encode_values(sides, ties, tokenizer, weighting, similarity):
    """Values of tied properties of both sides, and the words of the values."""
    if unknown := set(similarity).difference(*(kb.property_names for kb in sides)):
        raise ValueError(f"property_similarity names {min(unknown)!r:.60}, which both sides lack")
    kept, by_property = [], {}
    for kb, tie in zip(sides, ties, strict=True):
        codes = tie[kb.properties[:, 1]]
        rows = np.flatnonzero(codes >= 0)
        kept.append((kb.properties[rows, 0], codes[rows], [kb.values[r] for r in rows.tolist()]))
        for code, value in zip(codes[rows].tolist(), kept[-1][2], strict=True):
            by_property.setdefault(code, []).append(value)
    kinds = {code: _kind(values) for code, values in by_property.items()}
    for kb, tie in zip(sides, ties, strict=True):
        for name, code in zip(kb.property_names, tie.tolist(), strict=True):
            kinds[code] = similarity.get(name, kinds.get(code))
    vocabulary = {}
    shared = kinds, tokenizer, weighting, vocabulary
    return zip(*(_encode_side(len(kb), *side, *shared) for kb, side in zip(sides, kept)))


def _encode_side(n_entities, entities, codes, values, kinds, tokenizer, weighting, vocabulary):
    distinct, tokens, places = {}, [], np.empty(len(values), dtype=np.int64)
    for t, (code, value) in enumerate(zip(codes.tolist(), values, strict=True)):
        words = _tokens(value, kinds[code], tokenizer)
        key = (code, tuple(sorted(set(words))))
        if key not in distinct:
            distinct[key] = len(distinct)
            tokens.append([(code, word) for word in key[1]])
        places[t] = distinct[key]
    entities, codes, places = distinct_rows(entities, codes, places)
    property_of = np.array([code for code, _ in distinct], dtype=np.int64)
    n_holders = np.bincount(distinct_rows(entities, codes)[1], minlength=max(kinds, default=0) + 1)
    n_value = np.bincount(places, minlength=len(distinct))
    rarity = np.log10(n_holders[property_of] / np.maximum(n_value, 1))
    weights = rarity[places] if weighting == "idf" else np.ones(len(places))
    indptr_w, words = _sorted_rows(tokens, vocabulary)
    row_of = np.repeat(np.arange(len(distinct)), np.diff(indptr_w))
    n_word = np.bincount(words, weights=n_value[row_of], minlength=len(vocabulary))
    idf = np.log10(np.maximum(n_holders[property_of[row_of]] / np.maximum(n_word[words], 1), 1.0))
    graded = np.array([kinds[code] == "jaccard" for code, _ in distinct], dtype=bool)
    made = kernels.Values(_starts(entities, n_entities), codes, places, weights)
    return made, _weighted(indptr_w, words, np.where(graded[row_of], idf, 1.0))


def encode_graph(kb, tie, weighting, smoothing):
    """Neighbors over tied relations, both ways, with what each adds to a matched pair."""
    n, codes = len(kb), tie[kb.relations[:, 1]]
    first, _, second = kb.relations[codes >= 0].T
    relation = 2 * codes[codes >= 0]
    rows, relation, neighbors = distinct_rows(
        np.concatenate([first, second]), np.concatenate([relation, relation + 1]),
        np.concatenate([second, first]),
    )  # fmt: skip
    weight = np.ones(len(rows))
    if weighting == "inverse_degree":
        group = relation * n + neighbors
        _, group, size = np.unique(group, return_inverse=True, return_counts=True)
        weight = 1.0 / size[group.ravel()]
    # Of several relations between two entities the strongest counts.
    links, link = np.unique(rows * n + neighbors, return_inverse=True)
    strongest = np.zeros(len(links))
    np.maximum.at(strongest, link.ravel(), weight)
    bottom = smoothing + np.bincount(links // n, weights=strongest, minlength=n)
    gamma = np.divide(0.5, bottom, out=np.zeros(n), where=bottom > 0.0)
    back = strongest[np.searchsorted(links, neighbors * n + rows)]
    both = gamma[rows] * strongest[link.ravel()] + gamma[neighbors] * back
    relation, neighbors = relation.astype(np.int32), neighbors.astype(np.int32)
    return kernels.Neighbors(_starts(rows, n), relation, neighbors, both)


def pairs_of_labels(labels, counts, model, threshold):
    """Pairs whose labels share words, found by an index of the words of the second side."""
    indexed = (counts[0] > 0) & (counts[1] > 0) & (counts[1] <= model.max_block)
    for count in counts:
        indexed[np.argsort(-count, kind="stable")[: model.n_stop_words]] = False
    rows = [np.repeat(np.arange(len(side.totals)), np.diff(side.indptr)) for side in labels]
    weights = [side.weights * ~indexed[side.words] for side in labels]
    hidden = tuple(
        np.bincount(row, weight, len(side.totals))
        for row, weight, side in zip(rows, weights, labels)
    )
    order = np.argsort(labels[1].words, kind="stable")
    postings = starts_of(counts[1]), rows[1][order], labels[1].weights[order]
    least_shared = int(model.min_shared_words)
    return kernels.suggest(*labels, postings, indexed, hidden, least_shared, float(threshold))


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
    part = kernels.Words(
        starts_of(lengths * chosen), first.words[used], first.weights[used], first.totals
    )
    pairs, found = pairs_of_labels((part, labels[1]), counts, model, threshold)
    order = np.argsort(found, kind="stable")  # the largest is written last
    nearest, similarity = np.zeros(len(first.totals), dtype=np.int64), np.zeros(len(first.totals))
    nearest[pairs[order, 0]], similarity[pairs[order, 0]] = pairs[order, 1], found[order]
    return nearest, similarity


def pairs_of_rare_values(values, words):
    """Pairs of entities that share a word of a property value which few pairs share."""
    sides = []
    for side, rows in zip(values, words, strict=True):
        entity = np.repeat(np.arange(len(side.indptr) - 1), np.diff(side.indptr))
        lengths = np.diff(rows.indptr)[side.values]
        words_of = rows.words[places_of(rows.indptr[side.values], lengths)]
        sides.append(np.column_stack(distinct_rows(words_of, np.repeat(entity, lengths))))
    first, second = sides
    n_words = 1 + max((int(side[-1, 0]) for side in (first, second) if len(side)), default=0)
    count1, count2 = (np.bincount(side[:, 0], minlength=n_words) for side in (first, second))
    rare = (count1 > 0) & (count2 > 0) & (count1 * count2 <= RARE)
    word, entity = first[rare[first[:, 0]]].T
    length = count2[word]
    others = second[places_of(starts_of(count2)[word], length), 1]
    return np.column_stack(distinct_rows(np.repeat(entity, length), others))
