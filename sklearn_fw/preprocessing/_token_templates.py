"""The features of the chunking tutorial of CRFsuite."""

import numpy as np

from ._templates import chunking_templates
from ._token_columns import token_columns
from ._token_features import TokenFeatures, check_text


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


class ChunkingFeatures(TokenFeatures, auto_wrap_output_keys=None):
    """One-hot n-grams of the fields of neighbouring tokens, as CSR rows.

    It is :class:`TokenFeatures` with the templates and fields of chunking as defaults:
    equal to a ``CountVectorizer`` over the attribute strings of each token, up to the
    order of columns, without ever making those strings.  Choose it for chunking of
    tokens that have parts of speech; choose :class:`TokenFeatures` for words without
    columns.

    Parameters
    ----------
    templates : "chunking", "tagging" or list of tuples, default="chunking"
        Each template is a tuple of ``(field, offset)`` pairs, for example
        ``(("w", -1), ("w", 0))`` for the pair of the previous and the current word.
        It gives one feature to each token whose positions all lie in the sentence.
        ``"chunking"`` means the nineteen templates of the chunking tutorial of CRFsuite
        [1]_, listed by :func:`crfsuite_chunking_attributes`; ``"tagging"`` and functions
        of fields are described with :class:`TokenFeatures`.
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

    See Also
    --------
    TokenFeatures : Affixes, shapes and functions of your own, too.
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
        super().__init__(
            templates, fields=fields, boundaries=boundaries, bias=False, min_count=min_count,
            dtype=dtype,
        )  # fmt: skip
