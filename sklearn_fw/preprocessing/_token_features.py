"""Sparse indicator features of tokens and of their neighbors, by templates."""

import re
from dataclasses import KW_ONLY
from itertools import chain
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.packed import Packed, starts_of
from ._grams import Grams, base_of
from ._templates import FUNCTIONS, chunking_templates, named_templates, resolve_function


def token_columns(X, n_fields, name="X"):
    """One flat list of values per field, and the offsets of the sentences."""
    if isinstance(X, Packed):
        X = X.compact()
        return _split_rows(X.values, n_fields, name), X.offsets
    X = check.items(X, name, "sentences")
    for i, sentence in enumerate(X):
        sized = hasattr(sentence, "__len__") and getattr(sentence, "ndim", 1)
        table = sp.issparse(sentence) or hasattr(sentence, "columns")
        if not sized or table or isinstance(sentence, (str, bytes, tuple, dict, set)):
            raise TypeError(
                f"sample {i} is a {type(sentence).__name__}, not a sentence: {name} must hold "
                f"arrays of shape (n_tokens, {n_fields}) or lists of tokens"
            )
    offsets = starts_of([len(s) for s in X])
    if X and all(isinstance(s, np.ndarray) and s.shape[1:] == X[0].shape[1:] for s in X):
        columns = zip(*(_split_rows(sentence, n_fields, name) for sentence in X))
        return [list(chain.from_iterable(own)) for own in columns], offsets
    tokens = list(chain.from_iterable(X))
    if n_fields == 1 and all(isinstance(t, str) for t in tokens):
        return [tokens], offsets
    if n_fields == 1:
        tokens = [(token,) if isinstance(token, str) else token for token in tokens]
    for j, token in enumerate(tokens):
        sequence = isinstance(token, list | tuple) or np.ndim(token) == 1
        fits = sequence and hasattr(token, "__getitem__") and len(token) >= n_fields
        if not fits:
            i = np.searchsorted(offsets, j, side="right") - 1
            _refuse(token, f"token {j - offsets[i]} of sample {i}", n_fields, name)
    return [[token[k] for token in tokens] for k in range(n_fields)], offsets


def _refuse(token, place, n_fields, name):
    if isinstance(token, dict):
        raise TypeError(f"{place} is a dict: use NodeTransformer(DictVectorizer()) for {name}")
    if not isinstance(token, str | list | tuple | np.ndarray):
        raise TypeError(
            f"{place} is {token!r:.60} of type {type(token).__name__}: a token of {name} is a str, "
            f"or a sequence with one str for each of {n_fields} fields"
        )
    raise ValueError(f"{place} is {token!r:.60}: it needs {n_fields} fields in {name}")


def _split_rows(rows, n_fields, name):
    if sp.issparse(rows) or rows.ndim > 2:
        raise TypeError(f"{name} must hold tokens with text fields, got {type(rows).__name__}")
    if rows.ndim == 1 and n_fields == 1:
        return [rows.tolist()]
    if rows.ndim != 2 or rows.shape[1] < n_fields:
        raise ValueError(
            f"{name}: tokens have shape {rows.shape[1:]}: they need at least {n_fields} fields"
        )
    return [rows[:, k].tolist() for k in range(n_fields)]


FARTHEST = 1000  # tokens between those of a template
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
# Rows that do not depend on a field, and the names of their only feature.
_CONSTANT = {"bias": "bias", "first": "__BOS__", "last": "__EOS__"}


def _check_functions(functions, name):
    if not isinstance(functions, dict) or not all(
        isinstance(key, str) and callable(function) for key, function in functions.items()
    ):
        raise TypeError(f"{name} must be a dict of str to callable, got {functions!r:.60}")


class TokenFeatures(TransformerMixin, Estimator, auto_wrap_output_keys=None):
    """Sparse indicator features of words, affixes, shapes and neighboring tokens.

    Choose it to tag raw sentences, or tokens with further columns, by a linear chain: parts of
    speech, entities, chunks. The default templates need no tuning. Choose
    ``NodeTransformer(DictVectorizer())`` for features of any other kind.

    Parameters
    ----------
    templates : "tagging", "chunking" or list of tuples, default="tagging"
        Each template is a tuple of ``(name, offset)`` pairs, for example ``(("w", -1), ("w", 0))``
        for the pair of the previous and the current word. It gives one feature to each token at
        which all its values exist: positions outside of the sentence have none. A name is a field
        or functions of a field, as ``"suffix3(w)"`` or ``"suffix3(lower(w))"``. "tagging" and
        "chunking" are lists, see the notes.
    fields : tuple of str, default=("w",)
        Names of the first columns of a token; further columns are ignored. A token of one field
        may be a plain str.
    functions : dict of str to callable, default=None
        Functions of your own, to be named in ``templates``. Each takes a str and returns a str, or
        None where it gives no feature. It is called once per distinct value, and has to be a named
        function of a module, or a method such as ``clusters.get``, to be stored in a file.
    boundaries : bool, default=True
        Whether the first and last token of a sentence get the features ``__BOS__`` and ``__EOS__``.
    bias : bool, default=True
        Whether all tokens get the feature ``bias``.
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

    Notes
    -----
    *Functions of a word.* "lower"; "prefix1", "suffix3" and so on, where the word has as many
    characters; "shape" ("McDonald-2" gives "XxXxxxxx-d") and "short_shape" ("XxXx-d"); the flags
    "is_capitalized", "is_upper", "has_inner_capital", "has_digit", "has_hyphen" and
    "is_punctuation", which are "yes" or nothing.

    *Templates.* "tagging" is `tagging_templates` of the fields. "chunking" means the nineteen
    templates of :func:`crfsuite_chunking_attributes`: with ``fields=("w", "pos")`` and
    ``bias=False`` the columns are those of a ``CountVectorizer`` over these attributes, up to their
    order, without ever making the strings.

    Time and memory are linear in the number of tokens times templates, apart from one sort of
    integers per kind of n-gram. Columns are ordered by template, then by the values in sorted
    order. N-grams are compared field by field. Features not seen in training are left out.

    References
    ----------
    .. [1] Ratnaparkhi, A maximum entropy model for part-of-speech tagging, EMNLP 1996: words,
       affixes and flags for rare words.
    .. [2] Collins, Ranking algorithms for named-entity extraction, ACL 2002: shapes of words.

    Examples
    --------
    >>> from sklearn_fw.preprocessing import TokenFeatures
    >>> sentences = [["He", "runs"], ["Stop", "running"]]
    >>> features = TokenFeatures([(("w", 0),), (("prefix3(w)", 0),)], boundaries=False)
    >>> X = features.fit_transform(sentences)
    >>> features.get_feature_names_out()
    array(['w[0]=He', 'w[0]=Stop', 'w[0]=running', 'w[0]=runs', 'prefix3(w)[0]=Sto',
           'prefix3(w)[0]=run', 'bias'], dtype=object)
    """

    templates: object = "tagging"
    _: KW_ONLY
    fields: object = ("w",)
    functions: check.optional(_check_functions) = None
    boundaries: check.flag = True
    bias: check.flag = True
    min_count: check.at_least(1) = 1
    dtype: object = np.float64

    def fit(self, X, y=None):
        """Learn the columns.

        Parameters
        ----------
        X : list, object array or Packed of n_samples sentences
            A sentence is an array of str of shape (n_tokens, n_fields) or a list of tokens; a token
            is a sequence with one str per field (or a plain str, when there is a single field).
        y : object, default=None
            Ignored, there for pipelines.
        """
        self._learn(X)
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
        return self._pack(*self._learn(X))

    def transform(self, X):
        """Return the features of sentences.

        Parameters
        ----------
        X : list, object array or Packed of n_samples sentences
            As in :meth:`fit`; values and n-grams that were not seen there give no feature.

        Returns
        -------
        Packed of n_samples CSR blocks of shape (n_tokens, n_features_out)
            Sorted column indices, all values one.
        """
        if not hasattr(self, "_grams"):  # the check of scikit-learn costs more than a sentence
            check_is_fitted(self)
        values, offsets = token_columns(X, len(self._names))
        codes = self._room(offsets)
        for f, column in enumerate(values):
            codes[self._rows_of[f]] = self._look_up(f, column)
        return self._pack(*self._grams.look_up(codes, offsets), offsets)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns, made on demand.

        Parameters
        ----------
        input_features : ignored
            Ignored, there for pipelines.

        Returns
        -------
        ndarray of str of shape (n_features_out,), dtype=object
            For example ``"w[-1]|suffix3(w)[0]=on|ing"``.
        """
        check_is_fitted(self)
        grams, names = self._grams, np.empty(self.n_features_out_, dtype=object)
        words = [np.array(v, dtype=object) for v in self._values]
        starts = np.append(grams.start_of, len(grams.column_of) + 1)
        kinds = list(self._numbers)  # in the order of their rows
        for k, template in enumerate(grams.templates):
            column_of = grams.column_of[starts[k] : starts[k + 1] - 1]
            kept = np.flatnonzero(column_of >= 0)
            if self._kinds[template[0][0]][0] is None:
                names[column_of[kept]] = _CONSTANT[self._kinds[template[0][0]][1]]
                continue
            codes, values = kept, []
            # Peel the last value off each n-gram until single values remain.
            for order in range(len(template) - 1, 0, -1):
                keys = grams.keys_of(base_of(template)[: order + 1])[codes]
                codes, last = np.divmod(keys, len(words[template[order][0]]))
                values.append(words[template[order][0]][last])
            values.append(words[template[0][0]][codes])
            prefix = "|".join(f"{kinds[row]}[{offset}]" for row, offset in template) + "="
            names[column_of[kept]] = [prefix + "|".join(v) for v in zip(*reversed(values))]
        return names

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    # ---- training ----------------------------------------------------------------------------

    def _learn(self, X):
        """Set the fitted attributes; return ``indptr`` and ``indices``, and offsets."""
        self._dtype = check.dtype(self.dtype)
        self._names = _check_fields(self.fields)
        templates = self._resolve_templates()
        values, offsets = token_columns(X, len(self._names))
        if offsets[-1] == 0:
            raise ValueError("X holds no token: fit needs at least one sentence that is not empty")
        self.vocabularies_, ids = zip(*map(_fit_vocabulary, values, self._names))
        self._codes_of, self._values = [], [[""] for _ in self._kinds]
        self._derived = [{} for _ in self._kinds]
        for f, vocabulary in enumerate(self.vocabularies_):
            self._codes_of.append(self._encode(f, list(vocabulary), learns=True))
        self._grams = Grams(templates, len(self._kinds))
        codes, sizes = self._room(offsets), list(map(len, self._values))
        for own, table, places in zip(self._rows_of, self._codes_of, ids):
            codes[own] = table[:, places]
        found = self._grams.learn(codes, offsets, sizes, self.min_count)
        self.n_features_out_ = self._grams.n_columns
        return *found, offsets

    def _resolve_templates(self):
        """Templates with numbers of rows; ``_kinds`` has (field, functions) for each row."""
        self._kinds, self._numbers = [], {}
        templates = tuple(map(self._resolve, named_templates(self.templates, self._names)))
        if not templates:
            raise ValueError("templates is empty: give at least one template")
        constants = [("bias", self.bias), ("first", self.boundaries), ("last", self.boundaries)]
        for name, wanted in constants:
            if wanted:
                self._kinds.append((None, name))
                templates += (((len(self._kinds) - 1, 0),),)
        self._rows_of = [
            [row for row, (field, _) in enumerate(self._kinds) if field == f]
            for f in range(len(self._names))
        ]
        return templates

    def _resolve(self, template):
        try:
            pairs = [(name, offset) for name, offset in template]
        except (TypeError, ValueError):
            pairs = []
        whole = [isinstance(offset, Integral) and abs(offset) <= FARTHEST for _, offset in pairs]
        if not pairs or not all(whole) or not all(isinstance(name, str) for name, _ in pairs):
            raise ValueError(
                f"templates holds {template!r}: each template must be a tuple of (name, offset) "
                f"pairs with a field out of {self._names}, or a function of one, and an integer "
                f"offset, from -{FARTHEST} to {FARTHEST}"
            )
        return tuple((self._row_of(name, template), int(offset)) for name, offset in pairs)

    def _row_of(self, name, template):
        if name not in self._numbers:
            field, functions = name, []
            while field not in self._names and (call := _CALL.fullmatch(field)):
                functions.insert(0, call[1])
                field = call[2]
            if field not in self._names:
                raise ValueError(
                    f"templates holds {template!r}: each name must be a field out of "
                    f"{self._names}, or a function of one such as 'lower({self._names[0]})'"
                )
            for function in functions:
                if self._function(function) is None:
                    known = ", ".join([*FUNCTIONS, "prefix1", "suffix1", *(self.functions or {})])
                    raise ValueError(
                        f"templates holds {template!r} with the unknown function {function!r}: "
                        f"known are {known}; give others in the parameter functions"
                    )
            self._numbers[name] = len(self._kinds)
            self._kinds.append((self._names.index(field), tuple(functions)))
        return self._numbers[name]

    def _function(self, name):
        own = self.functions or {}
        return _checked(own[name], name) if name in own else resolve_function(name)

    def _apply(self, functions, done):
        """Values of words by functions, innermost first; ``done`` has words at () and remembers."""
        if functions not in done:
            call = self._function(functions[-1])
            inner = self._apply(functions[:-1], done)
            done[functions] = [None if word is None else call(word) for word in inner]
        return done[functions]

    # ---- codes of tokens -----------------------------------------------------------------------

    def _look_up(self, field, column):
        """Codes of a column of tokens in all rows of its field."""
        vocabulary = self.vocabularies_[field]
        try:
            ids = [vocabulary.get(value, -1) for value in column]
        except TypeError:
            check_text(column, self._names[field])
            raise
        codes = self._codes_of[field][:, np.array(ids, dtype=np.int64)]
        if -1 in ids:
            unknown = [t for t, known in enumerate(ids) if known < 0]
            words = [column[t] for t in unknown]
            check_text(words, self._names[field])
            codes[:, unknown] = self._encode(field, words)
        return codes

    def _encode(self, field, words, learns=False):
        """Codes of words in the rows of their field, whose values training numbers first."""
        codes, done = np.empty((len(self._rows_of[field]), len(words)), dtype=np.int32), {(): words}
        for k, row in enumerate(self._rows_of[field]):
            found = self._apply(self._kinds[row][1], done)
            if learns:
                self._values[row] = sorted(set(found) - {None})
                self._derived[row] = dict(zip(self._values[row], range(len(self._values[row]))))
            codes[k] = [self._derived[row].get(value, -1) for value in found]
        return codes

    def _room(self, offsets):
        """Codes of tokens to be filled, but those of constants."""
        codes = self._grams.room(offsets[-1])
        full = offsets[:-1] < offsets[1:]
        places = {"bias": slice(None), "first": offsets[:-1][full], "last": offsets[1:][full] - 1}
        for row, (field, name) in enumerate(self._kinds):
            if field is None:
                codes[row, places[name]] = 0
        return codes

    def _pack(self, indptr, indices, offsets):
        # Later templates own later columns, so the indices of a row are sorted already.
        data = np.ones(len(indices), dtype=self._dtype)
        sparse_array = get_config().get("sparse_interface", "spmatrix") == "sparray"
        make = sp.csr_array if sparse_array else sp.csr_matrix
        values = make((data, indices, indptr), shape=(len(indptr) - 1, self.n_features_out_))
        values.has_sorted_indices = values.has_canonical_format = True
        return Packed._view(values, offsets, np.arange(len(offsets) - 1))


def _check_fields(fields):
    if isinstance(fields, str):
        raise TypeError(f"fields must be a tuple of names, got the str {fields!r}: ({fields!r},)")
    fields = tuple(check.items(fields, "fields", "names"))
    if not fields or not all(isinstance(f, str) for f in fields) or len(set(fields)) < len(fields):
        raise ValueError(f"fields must hold at least one name, all different, got {fields!r}")
    return fields


def _checked(function, name):
    """A function of a user, whose answers are looked at."""

    def call(word):
        value = function(word)
        if value is None or isinstance(value, str):
            return value
        raise TypeError(
            f"functions[{name!r}] returned {value!r} of type {type(value).__name__} for {word!r}: "
            f"it must return text or None"
        )

    return call


def check_text(values, field, name="X"):
    """Refuse values of a field other than text; ``name`` is the parameter they came in by."""
    for wrong in values:
        if not isinstance(wrong, str):
            raise TypeError(
                f"field {field!r} holds {wrong!r:.60} of type {type(wrong).__name__}: fields must "
                f"be text, convert the numbers in {name} with str"
            )


def _fit_vocabulary(values, field):
    """Sorted distinct values with their ranks, and the rank of each value."""
    try:
        distinct = dict.fromkeys(values)
    except TypeError:  # lists and arrays have no hash
        check_text(values, field)
        raise
    check_text(distinct, field)
    rank = {value: k for k, value in enumerate(sorted(map(str, distinct)))}
    return rank, np.fromiter(map(rank.__getitem__, values), np.int64, len(values))


def crfsuite_chunking_attributes(sentence):
    """Attributes of the chunking tutorial of CRFsuite, one list of strings per token.

    :class:`TokenFeatures` makes the same features many times faster.

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
    columns = dict(zip(("w", "pos"), token_columns([sentence], 2, "sentence")[0]))
    for field, values in columns.items():
        check_text(values, field, "sentence")
    n_tokens = len(columns["w"])
    attributes = [[] for _ in range(n_tokens)]
    for template in chunking_templates():
        prefix = "|".join(f"{field}[{offset}]" for field, offset in template) + "="
        for t in range(n_tokens):
            if all(0 <= t + offset < n_tokens for _, offset in template):
                values = "|".join(columns[field][t + offset] for field, offset in template)
                attributes[t].append(prefix + values)
    if n_tokens:
        attributes[0].append("__BOS__")
        attributes[-1].append("__EOS__")
    return attributes
