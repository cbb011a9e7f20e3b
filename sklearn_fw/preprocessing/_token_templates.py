"""Sparse indicator features of tokens and of their neighbours, by templates."""

from itertools import chain
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from .._packed import Packed

__all__ = ["ChunkingFeatures", "crfsuite_chunking_attributes"]

_W, _P = "w", "pos"
# The nineteen templates of the chunking tutorial of CRFsuite; an attribute exists at
# a token only where all its positions lie inside the sentence.
CHUNKING_TEMPLATES = (
    *(((_W, o),) for o in range(-2, 3)),
    *(((_W, o), (_W, o + 1)) for o in range(-1, 1)),
    *(((_P, o),) for o in range(-2, 3)),
    *(((_P, o), (_P, o + 1)) for o in range(-2, 2)),
    *(((_P, o), (_P, o + 1), (_P, o + 2)) for o in range(-2, 1)),
)
_BOUNDARIES = ("__BOS__", "__EOS__")


def crfsuite_chunking_attributes(sentence):
    """Attributes of the chunking tutorial of CRFsuite, one list of strings per token.

    Choose it to look at the attributes or to feed other software;
    :class:`ChunkingFeatures` makes the same features many times faster.

    Parameters
    ----------
    sentence : array-like of str of shape (n_tokens, >= 2) or list of tuples
        Column 0 is the word, column 1 its part of speech; further columns are ignored.

    Returns
    -------
    list of list of str
        For token t: words t-2 to t+2, the word pairs (t-1, t) and (t, t+1), parts of
        speech t-2 to t+2, their four pairs and three triples within t-2 to t+2, all as
        ``"w[-1]|w[0]=on|the"``; ``"__BOS__"`` at the first token, ``"__EOS__"`` at the
        last.

    References
    ----------
    .. [1] Okazaki, CRFsuite: a fast implementation of conditional random fields, 2007:
       tutorial on the CoNLL-2000 chunking task.

    Examples
    --------
    >>> from sklearn_fw.preprocessing import crfsuite_chunking_attributes
    >>> first, last = crfsuite_chunking_attributes([("He", "PRP"), ("runs", "VBZ")])
    >>> first
    ['w[0]=He', 'w[1]=runs', 'w[0]|w[1]=He|runs', 'pos[0]=PRP', 'pos[1]=VBZ',
     'pos[0]|pos[1]=PRP|VBZ', '__BOS__']
    """
    columns, _ = _token_columns([sentence], 2)
    columns = dict(zip((_W, _P), columns))
    n_tokens = len(columns[_W])
    attributes = [[] for _ in range(n_tokens)]
    for template in CHUNKING_TEMPLATES:
        prefix = _template_name(template) + "="
        for t in range(n_tokens):
            if all(0 <= t + offset < n_tokens for _, offset in template):
                values = "|".join(columns[field][t + offset] for field, offset in template)
                attributes[t].append(prefix + values)
    if n_tokens:
        attributes[0].append(_BOUNDARIES[0])
        attributes[-1].append(_BOUNDARIES[1])
    return attributes


class ChunkingFeatures(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """One-hot n-grams of the fields of neighbouring tokens, as CSR rows.

    Equal to a ``CountVectorizer`` over the attribute strings of each token, up to the
    order of columns, without ever making those strings.  Choose it for chunking,
    part-of-speech and entity tagging with linear chains; choose
    ``NodeTransformer(DictVectorizer())`` for features of any other kind.

    Parameters
    ----------
    templates : "chunking" or list of tuples, default="chunking"
        Each template is a tuple of ``(field, offset)`` pairs, for example
        ``(("w", -1), ("w", 0))`` for the pair of the previous and the current word.
        It gives one feature to each token whose positions all lie in the sentence.
        ``"chunking"`` means the nineteen templates of the chunking tutorial of CRFsuite
        [1]_, listed by :func:`crfsuite_chunking_attributes`.
    fields : tuple of str, default=("w", "pos")
        Names of the first columns of a token; further columns are ignored.
    boundaries : bool, default=True
        Whether the first and last token of a sentence get the features ``__BOS__`` and
        ``__EOS__``.
    min_count : int, default=1
        Features seen at fewer tokens of the training sentences get no column.
    dtype : numpy dtype, default=np.float64
        Type of the ones in the result.

    Attributes
    ----------
    n_features_out_ : int
        Number of columns.
    vocabularies_ : tuple of dict
        For each field, the position of each training value in sorted order.

    Raises
    ------
    ValueError
        When a template names an unknown field, or ``X`` holds no token.
    TypeError
        When a sentence is a string or a tuple, or a field holds something but text.

    See Also
    --------
    NodeTransformer : Applies any transformer to the tokens of all sentences.
    sklearn.feature_extraction.text.CountVectorizer : The same on lists of strings.

    Notes
    -----
    Time and memory are linear in the number of tokens times templates, apart from one
    sort of integers per kind of n-gram.  Columns are ordered by template, then by the
    values in sorted order, so the order of the training sentences does not matter.
    N-grams are compared field by field, so that ``("a|b", "c")`` and ``("a", "b|c")``
    differ here although their attribute strings are equal.  Features that were not seen
    in training are left out.

    References
    ----------
    .. [1] Okazaki, CRFsuite: a fast implementation of conditional random fields, 2007:
       tutorial on the CoNLL-2000 chunking task.

    Examples
    --------
    >>> from sklearn_fw.preprocessing import ChunkingFeatures
    >>> sentences = [[("He", "PRP"), ("runs", "VBZ")], [("Stop", "VB")]]
    >>> features = ChunkingFeatures(templates=[(("w", 0),), (("pos", -1), ("pos", 0))])
    >>> X = features.fit_transform(sentences)
    >>> X[0].toarray()
    array([[1., 0., 0., 0., 1., 0.],
           [0., 0., 1., 1., 0., 1.]])
    >>> features.get_feature_names_out()
    array(['w[0]=He', 'w[0]=Stop', 'w[0]=runs', 'pos[-1]|pos[0]=PRP|VBZ', '__BOS__',
           '__EOS__'], dtype=object)
    """

    def __init__(
        self,
        templates="chunking",
        *,
        fields=("w", "pos"),
        boundaries=True,
        min_count=1,
        dtype=np.float64,
    ):
        self.templates = templates
        self.fields = fields
        self.boundaries = boundaries
        self.min_count = min_count
        self.dtype = dtype

    def fit(self, X, y=None):
        """Learn the columns.

        Parameters
        ----------
        X : list, object array or Packed of n_samples sentences
            A sentence is an array of str of shape (n_tokens, n_fields) or a list of
            tokens; a token is a sequence with one str per field (or a plain str, when
            there is a single field).
        y : object, default=None
            Ignored, there for pipelines.

        Returns
        -------
        ChunkingFeatures
            The fitted transformer itself.
        """
        self._encode_train(X)
        return self

    def fit_transform(self, X, y=None):
        """Learn the columns and return the features of the same sentences.

        Parameters
        ----------
        X : list, object array or Packed of n_samples sentences
            As in :meth:`fit`.
        y : object, default=None
            Ignored, there for pipelines.

        Returns
        -------
        Packed of n_samples CSR blocks of shape (n_tokens, n_features_out)
            Sorted column indices, all values one.
        """
        return self._pack(*self._encode_train(X))

    def transform(self, X):
        """Return the features of sentences.

        Parameters
        ----------
        X : list, object array or Packed of n_samples sentences
            As in :meth:`fit`; values and n-grams that were not seen there give no
            feature.

        Returns
        -------
        Packed of n_samples CSR blocks of shape (n_tokens, n_features_out)
            Sorted column indices, all values one.
        """
        check_is_fitted(self)
        values, offsets = _token_columns(X, len(self._fields))
        ids = [_look_up(v, vocabulary) for v, vocabulary in zip(values, self.vocabularies_)]
        sizes = [len(v) for v in self.vocabularies_]
        grams = _Grams(ids, offsets, sizes, dict(self._gram_keys))
        columns = np.empty((offsets[-1], len(self._column_of)), dtype=np.int32)
        for k, codes in enumerate(self._codes(grams)):
            columns[:, k] = _map_codes(codes, self._column_of[k])
        return self._pack(columns, offsets)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns, made on demand.

        Parameters
        ----------
        input_features : object, default=None
            Ignored, there for pipelines.

        Returns
        -------
        ndarray of str of shape (n_features_out,), dtype=object
            For example ``"w[-1]|w[0]=on|the"``.
        """
        check_is_fitted(self)
        words = [np.array(list(vocabulary), dtype=object) for vocabulary in self.vocabularies_]
        gram_keys = dict(self._gram_keys)
        names = np.empty(self.n_features_out_, dtype=object)
        for k, column_of in enumerate(self._column_of):
            kept = np.flatnonzero(column_of >= 0)
            if k >= len(self._templates):
                names[column_of[kept]] = _BOUNDARIES[k - len(self._templates)]
                continue
            template, codes, values = self._templates[k], kept, []
            # Peel the last field off each n-gram until single values remain.
            for order in range(len(template) - 1, 0, -1):
                keys = gram_keys[_base(template[: order + 1])][codes]
                codes, last = np.divmod(keys, len(words[template[order][0]]))
                values.append(words[template[order][0]][last])
            values.append(words[template[0][0]][codes])
            prefix = _template_name([(self._fields[f], o) for f, o in template]) + "="
            names[column_of[kept]] = [prefix + "|".join(v) for v in zip(*reversed(values))]
        return names

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    def _encode_train(self, X):
        """Set the fitted attributes; return the column of each (token, template) or -1."""
        check_scalar(self.min_count, "min_count", Integral, min_val=1)
        self._fields = tuple(self.fields)
        self._templates = _check_templates(self.templates, self._fields)
        values, offsets = _token_columns(X, len(self._fields))
        if offsets[-1] == 0:
            raise ValueError("X holds no token: fit needs at least one sentence that is not empty")
        self.vocabularies_, ids = zip(*map(_fit_vocabulary, values, self._fields))
        grams = _Grams(ids, offsets, [len(v) for v in self.vocabularies_])
        self._column_of, start = [], 0
        n_templates = len(self._templates) + 2 * bool(self.boundaries)
        columns = np.empty((offsets[-1], n_templates), dtype=np.int32)
        for k, codes in enumerate(self._codes(grams)):
            counts = np.bincount(codes[codes >= 0])
            kept = counts >= self.min_count
            n_kept = np.count_nonzero(kept)
            column_of = np.full(len(counts), -1, dtype=np.int32)
            column_of[kept] = np.arange(start, start + n_kept)
            self._column_of.append(column_of)
            columns[:, k] = _map_codes(codes, column_of)
            start += n_kept
        self.n_features_out_ = start
        # Pairs, not a dict: skops stores dicts with text keys only.
        self._gram_keys = list(grams.keys.items())
        return columns, offsets

    def _codes(self, grams):
        """Yield, template by template, the n-gram code of each token (-1: none)."""
        for template in self._templates:
            yield grams.shift(grams.codes(_base(template)), template[0][1])
        if self.boundaries:
            yield np.where(grams.before == 0, 0, -1)
            yield np.where(grams.after == 0, 0, -1)

    def _pack(self, columns, offsets):
        present = columns >= 0
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        # Later templates own later columns, so the indices of a row are sorted already.
        indices = columns[present]
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        else:
            indices = indices.astype(np.int64)
        data = np.ones(len(indices), dtype=self.dtype)
        sparse_array = get_config().get("sparse_interface", "spmatrix") == "sparray"
        make = sp.csr_array if sparse_array else sp.csr_matrix
        shape = (len(columns), self.n_features_out_)
        values = make((data, indices, indptr), shape=shape)
        values.has_sorted_indices = values.has_canonical_format = True
        return Packed(values, offsets)


class _Grams:
    """Integer codes of the n-grams that start at each token.

    An n-gram is a base: a tuple of ``(field number, offset)`` whose first offset is 0.
    Its code is the rank of ``code(all but the last) * n_values + id(last)`` among such
    keys; ``keys`` keeps the sorted keys of each base.  Without given ``keys`` they are
    learned; with them, unknown n-grams get -1.
    """

    def __init__(self, ids, offsets, sizes, keys=None):
        lengths = np.diff(offsets)
        self.before = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        self.after = np.repeat(lengths, lengths) - 1 - self.before
        self.ids, self.sizes = ids, sizes
        self.learn, self.keys = keys is None, keys or {}
        self._codes = {((f, 0),): i for f, i in enumerate(ids)}

    def shift(self, codes, offset):
        """Codes at position t + offset, -1 where that leaves the sentence."""
        if offset == 0:
            return codes
        inside = self.after >= offset if offset > 0 else self.before >= -offset
        return np.where(inside, np.roll(codes, -offset), -1)

    def codes(self, base):
        if base in self._codes:
            return self._codes[base]
        left = self.codes(base[:-1])
        field, offset = base[-1]
        right = self.shift(self.ids[field], offset)
        known = np.flatnonzero((left >= 0) & (right >= 0))
        keys = left[known] * self.sizes[field] + right[known]
        codes = np.full(len(left), -1, dtype=np.int64)
        if self.learn:
            self.keys[base], codes[known] = _rank(keys)
        elif len(self.keys[base]):
            places = np.searchsorted(self.keys[base], keys)
            places[places == len(self.keys[base])] = 0
            codes[known] = np.where(self.keys[base][places] == keys, places, -1)
        self._codes[base] = codes
        return codes


def _rank(keys):
    """Sorted distinct keys, and the rank of each key among them."""
    bound = int(keys.max()) + 1 if len(keys) else 0
    if bound > 4 * len(keys):
        return np.unique(keys, return_inverse=True)
    # Few possible keys (parts of speech): a table is faster than a sort.
    present = np.zeros(bound, dtype=bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


def _map_codes(codes, column_of):
    if not len(column_of):
        return -1
    # A code may be unknown (-1), or known to a shorter n-gram but to no column here.
    usable = (codes >= 0) & (codes < len(column_of))
    return np.where(usable, column_of[np.where(usable, codes, 0)], -1)


def _fit_vocabulary(values, field):
    """Sorted distinct values with their ranks, and the rank of each value."""
    # First number the values as they come, in one pass; sort the distinct ones after.
    first = {}
    for value in values:
        if value not in first:
            first[value] = len(first)
    wrong = next((v for v in first if not isinstance(v, str)), None)
    if wrong is not None:
        raise TypeError(
            f"field {field!r} holds {wrong!r} of type {type(wrong).__name__}: fields must be "
            "text, convert numbers with str"
        )
    numbers = np.fromiter(map(first.__getitem__, values), np.int64, len(values))
    ordered = sorted(first)
    rank = np.empty(len(ordered), dtype=np.int64)
    rank[[first[v] for v in ordered]] = np.arange(len(ordered))
    return dict(zip(map(str, ordered), range(len(ordered)))), rank[numbers]


def _look_up(values, vocabulary):
    get = vocabulary.get
    return np.fromiter((get(v, -1) for v in values), np.int64, len(values))


def _base(template):
    start = template[0][1]
    return tuple((field, offset - start) for field, offset in template)


def _template_name(template):
    return "|".join(f"{field}[{offset}]" for field, offset in template)


def _check_templates(templates, fields):
    """Templates with field numbers in place of names."""
    if isinstance(templates, str):
        if templates != "chunking":
            raise ValueError(f"templates must be 'chunking' or a list of tuples, got {templates!r}")
        templates = CHUNKING_TEMPLATES
    checked = []
    for template in templates:
        try:
            pairs = tuple((fields.index(field), int(offset)) for field, offset in template)
        except (TypeError, ValueError):
            pairs = ()
        if not pairs:
            raise ValueError(
                f"templates holds {template!r}: each template must be a tuple of (field, offset) "
                f"pairs with a field out of {fields} and an integer offset"
            )
        checked.append(pairs)
    if not checked:
        raise ValueError("templates is empty: give at least one template")
    return tuple(checked)


def _token_columns(X, n_fields):
    """One flat list of values per field, and the offsets of the sentences."""
    if isinstance(X, Packed):
        X = X.compact()
        return _split_rows(X.values, n_fields, "X"), X.offsets
    X = list(X)
    for i, sentence in enumerate(X):
        if isinstance(sentence, (str, bytes, tuple, dict)):
            raise TypeError(
                f"sample {i} is a {type(sentence).__name__}, not a sentence: give an array of "
                f"shape (n_tokens, {n_fields}) or a list of tokens"
            )
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in X], dtype=np.int64)])
    if X and all(isinstance(s, np.ndarray) and s.ndim == X[0].ndim for s in X):
        widths = [s.shape[1:] for s in X]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise ValueError(
                    f"sample {i} has tokens of shape {width}, sample 0 of {widths[0]}: all "
                    "tokens need the same fields"
                )
        # Object arrays keep the strings; joining widths of text first would copy them all.
        return _split_rows(np.concatenate([s.astype(object) for s in X]), n_fields, "X"), offsets
    tokens = list(chain.from_iterable(X))
    if n_fields == 1 and all(isinstance(t, str) for t in tokens):
        return [tokens], offsets
    for j, token in enumerate(tokens):
        if isinstance(token, (str, bytes)) or len(token) < n_fields:
            i = np.searchsorted(offsets, j, side="right") - 1
            raise ValueError(
                f"token {j - offsets[i]} of sample {i} is {token!r}: it needs {n_fields} fields"
            )
    return [[token[k] for token in tokens] for k in range(n_fields)], offsets


def _split_rows(rows, n_fields, name):
    if sp.issparse(rows) or rows.ndim > 2:
        raise TypeError(f"{name} must hold tokens with text fields, got {type(rows).__name__}")
    if rows.ndim == 1 and n_fields == 1:
        return [rows.tolist()]
    if rows.ndim != 2 or rows.shape[1] < n_fields:
        raise ValueError(
            f"tokens of {name} have shape {rows.shape[1:]}: they need at least {n_fields} fields"
        )
    return [rows[:, k].tolist() for k in range(n_fields)]
