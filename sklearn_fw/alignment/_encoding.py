"""Two knowledge bases as the arrays that the kernels compare: words, values and neighbours."""

import html
import re
import unicodedata
from collections import Counter
from itertools import chain

import numpy as np

from .._kernels.graphs.greedy_alignment import Neighbors, Values, Words
from ._knowledge_base import local_name

__all__ = [
    "SIMILARITIES",
    "encode_graphs",
    "encode_labels",
    "encode_values",
    "pairs_of_rare_values",
    "simple_words",
    "tie_names",
    "unique_labels",
]

WORD = re.compile(r"[^\W_]+")
DATE = re.compile(r"([12]\d{3})-\d{1,2}-\d{1,2}")
SIMILARITIES = ("exact", "year", "jaccard", "numeric")


def simple_words(text):
    """Words in lower case, without punctuation, accents and HTML entities."""
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    return WORD.findall(text.lower())


def tie_names(first, second, pairs, name):
    """Number of the class of each name of both sides; -1 where the other side has none of it."""
    tied = {}
    if pairs is None:
        sides = [[local_name(n) for n in names] for names in (first, second)]
        shared = {n: t for t, n in enumerate(sorted(set(sides[0]) & set(sides[1])))}
        return [np.array([shared.get(n, -1) for n in side], dtype=np.int64) for side in sides]
    for a, b in pairs:
        for known, one, side in ((first, a, "first"), (second, b, "second")):
            if one not in known:
                raise ValueError(f"{name} names {one!r:.60}, which the {side} knowledge base lacks")
        old = [tied.get((0, a)), tied.get((1, b))]
        code = next((c for c in old if c is not None), len(tied))
        tied = {key: code if c in old else c for key, c in tied.items()}
        tied[0, a] = tied[1, b] = code
    return [
        np.array([tied.get((side, n), -1) for n in names], dtype=np.int64)
        for side, names in enumerate((first, second))
    ]


def _sorted_rows(lists, vocabulary):
    """Words of each row once, sorted by their number in the vocabulary, which grows."""
    sets = [dict.fromkeys(words) for words in lists]
    lengths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    flat = (vocabulary.setdefault(w, len(vocabulary)) for w in chain.from_iterable(sets))
    words = np.fromiter(flat, dtype=np.int64, count=int(indptr[-1]))
    order = np.lexsort((words, np.repeat(np.arange(len(sets)), lengths)))
    return indptr, words[order]


def _weighted(indptr, words, weights):
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    return Words(indptr, words, weights, sums[indptr[1:]] - sums[indptr[:-1]])


def encode_labels(sides, tokenizer, weighting):
    """Words of the labels of both sides, and how many entities have each word."""
    vocabulary = {}
    rows = [_sorted_rows([tokenizer(text) if text else () for text in kb.labels], vocabulary)
            for kb in sides]  # fmt: skip
    labels, counts = [], []
    for kb, (indptr, words) in zip(sides, rows, strict=True):
        count = np.bincount(words, minlength=len(vocabulary))
        idf = (
            np.log10(len(kb) / np.maximum(count, 1)) if weighting == "idf" else np.ones(len(count))
        )
        labels.append(_weighted(indptr, words, idf[words]))
        counts.append(count)
    return labels, counts


def _kind(values):
    sample = values[:: max(1, len(values) // 1000)]
    if sum(DATE.match(v) is not None for v in sample) >= 0.9 * len(sample):
        return "year"
    if sum(_number(v) is not None for v in sample) >= 0.9 * len(sample):
        return "numeric"
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
    kept, by_property = [], {}
    for kb, tie in zip(sides, ties, strict=True):
        codes = tie[kb.properties[:, 1]]
        rows = np.flatnonzero(codes >= 0)
        kept.append((kb.properties[rows, 0], codes[rows], [kb.values[r] for r in rows.tolist()]))
        for code, value in zip(codes[rows].tolist(), kept[-1][2], strict=True):
            by_property.setdefault(code, []).append(value)
    kinds = {code: _kind(values) for code, values in by_property.items()}
    for name, kind in similarity.items():
        for kb, tie in zip(sides, ties, strict=True):
            if name in kb.property_names:
                kinds[int(tie[kb.property_names.index(name)])] = kind
    vocabulary = {}
    coded = [_encode_side(len(kb), *side, kinds, tokenizer, weighting, vocabulary)
             for kb, side in zip(sides, kept, strict=True)]  # fmt: skip
    return [values for values, _ in coded], [words for _, words in coded]


def _encode_side(n_entities, entities, codes, values, kinds, tokenizer, weighting, vocabulary):
    distinct, tokens, places = {}, [], np.empty(len(values), dtype=np.int64)
    for t, (code, value) in enumerate(zip(codes.tolist(), values, strict=True)):
        words = _tokens(value, kinds[code], tokenizer)
        key = (code, tuple(sorted(set(words))))
        if key not in distinct:
            distinct[key] = len(distinct)
            tokens.append([(code, word) for word in key[1]])
        places[t] = distinct[key]
    rows = np.unique(np.column_stack([entities, codes, places]), axis=0)
    rows = rows[rows[:, 0] >= 0].reshape(-1, 3)
    property_of = np.array([code for code, _ in distinct], dtype=np.int64)
    n_codes = max(kinds, default=0) + 1
    holders = np.unique(rows[:, :2], axis=0)
    n_holders = np.bincount(holders[:, 1], minlength=n_codes)
    n_value = np.bincount(rows[:, 2], minlength=len(distinct))
    rarity = np.log10(n_holders[property_of] / np.maximum(n_value, 1))
    weights = rarity[rows[:, 2]] if weighting == "idf" else np.ones(len(rows))
    indptr = np.searchsorted(rows[:, 0], np.arange(n_entities + 1))
    indptr_w, words = _sorted_rows(tokens, vocabulary)
    row_of = np.repeat(np.arange(len(distinct)), np.diff(indptr_w))
    n_word = np.bincount(words, weights=n_value[row_of], minlength=len(vocabulary))
    idf = np.log10(np.maximum(n_holders[property_of[row_of]] / np.maximum(n_word[words], 1), 1.0))
    graded = np.array([kinds[code] == "jaccard" for code, _ in distinct], dtype=bool)
    w = np.where(graded[row_of], idf, 1.0) if len(words) else idf
    made = Values(indptr, rows[:, 1].copy(), rows[:, 2].copy(), weights)
    return made, _weighted(indptr_w, words, w)


def encode_graphs(sides, ties, weighting, smoothing):
    """Neighbours over tied relations, both ways, with what each adds to a matched pair."""
    return [_neighbors(kb, tie, weighting, smoothing) for kb, tie in zip(sides, ties, strict=True)]


def _neighbors(kb, tie, weighting, smoothing):
    facts = kb.relations[tie[kb.relations[:, 1]] >= 0] if len(kb.relations) else kb.relations
    relation = 2 * tie[facts[:, 1]]
    rows = np.concatenate([
        np.column_stack([facts[:, 0], relation, facts[:, 2]]),
        np.column_stack([facts[:, 2], relation + 1, facts[:, 0]]),
    ])  # fmt: skip
    rows = np.unique(rows, axis=0).reshape(-1, 3)
    weight = np.ones(len(rows))
    if weighting == "inverse_degree" and len(rows):
        _, group, size = np.unique(rows[:, 1:], axis=0, return_inverse=True, return_counts=True)
        weight = 1.0 / size[group.ravel()]
    n = len(kb)
    link = rows[:, 0] * n + rows[:, 2]
    links, place = np.unique(link, return_inverse=True)
    strongest = np.zeros(len(links))
    np.maximum.at(strongest, place, weight)
    total = np.bincount(links // max(n, 1), weights=strongest, minlength=n)
    bottom = smoothing + total
    gamma = np.divide(0.5, bottom, out=np.zeros(n), where=bottom > 0.0)
    back = np.searchsorted(links, (links % max(n, 1)) * n + links // max(n, 1))
    both = gamma[links // max(n, 1)] * strongest + gamma[links % max(n, 1)] * strongest[back]
    indptr = np.searchsorted(rows[:, 0], np.arange(n + 1))
    return Neighbors(indptr, rows[:, 1].copy(), rows[:, 2].copy(), both[place])


def unique_labels(labels, tokenizer):
    """Entity of each label, as its words, that one entity alone has."""
    texts = [" ".join(tokenizer(text)) if text else "" for text in labels]
    count = Counter(texts)
    return {text: i for i, text in enumerate(texts) if text and count[text] == 1}


def pairs_of_rare_values(values, words, n_pairs=25):
    """Pairs of entities that share a word of a property value which so few pairs share."""
    sides = []
    for side, rows in zip(values, words, strict=True):
        entity = np.repeat(np.arange(len(side.indptr) - 1), np.diff(side.indptr))
        lengths = np.diff(rows.indptr)[side.values]
        start = np.repeat(rows.indptr[side.values] - np.cumsum(lengths) + lengths, lengths)
        words_of = rows.words[start + np.arange(int(lengths.sum()))]
        sides.append(np.unique(np.column_stack([words_of, np.repeat(entity, lengths)]), axis=0))
    first, second = (side.reshape(-1, 2) for side in sides)
    n_words = 1 + max((int(side[-1, 0]) for side in (first, second) if len(side)), default=0)
    count1, count2 = (np.bincount(side[:, 0], minlength=n_words) for side in (first, second))
    rare = (count1 > 0) & (count2 > 0) & (count1 * count2 <= n_pairs)
    first = first[rare[first[:, 0]]]
    start = np.concatenate([[0], np.cumsum(count2)])[first[:, 0]]
    length = count2[first[:, 0]]
    at = np.repeat(start - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    pairs = np.column_stack([np.repeat(first[:, 1], length), second[at, 1]])
    return np.unique(pairs, axis=0).reshape(-1, 2)
