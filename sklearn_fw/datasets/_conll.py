"""Column files of the CoNLL shared tasks."""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch

from .._packed import Packed
from ._files import find_file, read_bytes

__all__ = ["load_conll", "load_conll2000"]

DESCR = """\
CoNLL-2000 chunking
-------------------

Sentences of the Wall Street Journal with automatic part-of-speech tags and the chunks
(non-overlapping phrases) that they consist of, in IOB2 tags such as B-NP, I-NP and O.

:Samples: 8,936 training sentences with 211,727 tokens (sections 15 to 18), 2,012 test
          sentences with 47,377 tokens (section 20)
:Fields of a token: word, part of speech (Brill tagger)
:Labels: 22 chunk tags

Source: E. F. Tjong Kim Sang and S. Buchholz, "Introduction to the CoNLL-2000 Shared Task:
Chunking", CoNLL-2000.  Terms: made from the Penn Treebank for research; the set stays
under the terms of its publishers and is not part of this package.
"""


def load_conll(
    source, *, member=None, columns=None, separator=None, comment=None, encoding="utf-8"
):
    """Read sentences from a file with one token per line and blank lines between sentences.

    Parameters
    ----------
    source : str, path-like or file object
        The file; ``.gz`` is decompressed, ``.zip`` is an archive.  An open file may be
        binary or text.
    member : str, default=None
        Name of the file inside a zip archive; may be left out when there is only one.
    columns : sequence of int, default=None
        Which columns to keep, in this order, negative ones counted from the right;
        ``None`` keeps all.
    separator : str, default=None
        What separates the columns; ``None`` means any run of spaces and tabs.
    comment : str or tuple of str, default=None
        Lines that start with this are left out, for example
        ``("-DOCSTART-", "# ")``.
    encoding : str, default="utf-8"
        Encoding of the file, a superset of ASCII.

    Returns
    -------
    Packed of n_sentences object arrays of shape (n_tokens, n_columns)
        The fields as str, equal strings stored once.  ``list(...)`` gives a list of
        arrays, ``sentence[:, 0]`` the first column of a sentence.

    Raises
    ------
    ValueError
        When a line has another number of columns than the first (the line is named), a
        column does not exist, there is no token, or ``member`` is not in the archive.

    See Also
    --------
    load_conll2000 : Training and test set of the chunking task.

    Examples
    --------
    >>> from io import StringIO
    >>> from sklearn_fw.datasets import load_conll
    >>> text = StringIO("He PRP B-NP\\nruns VBZ B-VP\\n\\nStop VB B-VP\\n")
    >>> sentences = load_conll(text, columns=(0, -1))
    >>> sentences[0]
    array([['He', 'B-NP'],
           ['runs', 'B-VP']], dtype=object)
    """
    content = read_bytes(source, member)
    separator = None if separator is None else separator.encode(encoding)
    starts = None if comment is None else _encode_all(comment, encoding)
    # Bytes split at ASCII white space only: words may hold other kinds of space.
    fields, offsets, n_columns = [], [0], None
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            if offsets[-1] < len(fields):
                offsets.append(len(fields))
        elif starts is None or not line.startswith(starts):
            row = line.split() if separator is None else line.rstrip(b"\r").split(separator)
            n_columns = n_columns or len(row)
            if len(row) != n_columns:
                raise ValueError(
                    f"line {number} has {len(row)} columns, the first token has {n_columns}: "
                    "check separator and comment"
                )
            fields.append(row)
    if not fields:
        raise ValueError("the file holds no token")
    if offsets[-1] < len(fields):
        offsets.append(len(fields))
    text = {}  # each distinct field is decoded once and shared by all its tokens
    values = np.empty((len(fields), n_columns), dtype=object)
    for k, column in enumerate(zip(*fields)):
        for field in set(column) - text.keys():
            text[field] = field.decode(encoding)
        values[:, k] = list(map(text.__getitem__, column))
    if columns is not None:
        values = values[:, _check_columns(columns, n_columns)]
    return Packed(values, np.array(offsets, dtype=np.int64))


def load_conll2000(data_home=None, *, return_X_y=False):
    """Load the chunking task of CoNLL-2000 from files you have.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with ``conll2000.zip``, or with ``train.txt`` and ``test.txt`` (or both
        with ``.gz``), there or in its sub-folder ``conll2000``.  ``None`` means the
        folder named by the environment variable ``SKLEARN_FW_DATA``.
    return_X_y : bool, default=False
        If True, return four ``Packed`` instead of a ``Bunch``.

    Returns
    -------
    Bunch
        ``X_train``, ``X_test``: ``Packed`` of n_sentences object arrays of shape
        (n_tokens, 2), columns word and part of speech.  ``y_train``, ``y_test``:
        ``Packed`` of n_sentences arrays of str of shape (n_tokens,), chunk tags.
        ``column_names``: ("w", "pos").  ``target_names``: ndarray of the 22 training
        tags, sorted.  ``filenames``: list of str.  ``DESCR``: str with source and terms
        of use.
    X_train, y_train, X_test, y_test : Packed
        With ``return_X_y=True``.

    Raises
    ------
    FileNotFoundError
        When a file is absent; the message lists the names that were looked for.
    ValueError
        When a file is not of the expected format.

    See Also
    --------
    load_conll : Any other column file.
    sklearn_fw.preprocessing.ChunkingFeatures : Features of such sentences.

    References
    ----------
    .. [1] Tjong Kim Sang and Buchholz, Introduction to the CoNLL-2000 shared task:
       chunking, CoNLL 2000.

    Examples
    --------
    >>> from sklearn_fw.datasets import load_conll2000
    >>> chunks = load_conll2000("~/data")  # doctest: +SKIP
    >>> len(chunks.X_train), chunks.y_train[0][:3]  # doctest: +SKIP
    (8936, array(['B-NP', 'B-PP', 'B-NP'], dtype='<U7'))
    """
    parts, filenames = [], []
    for part in ("train", "test"):
        names = ["conll2000.zip", f"{part}.txt", f"{part}.txt.gz"]
        names = [folder + name for folder in ("conll2000/", "") for name in names]
        path = find_file(data_home, names, what=f"CoNLL-2000 ({part} sentences)")
        member = f"conll2000/{part}.txt" if path.suffix == ".zip" else None
        sentences = load_conll(path, member=member, columns=(0, 1, 2))
        filenames.append(str(path))
        parts.append(Packed(np.ascontiguousarray(sentences.values[:, :2]), sentences.offsets))
        # Tags are short: text of fixed width can be mapped by joblib, objects cannot.
        parts.append(Packed(sentences.values[:, 2].astype(str), sentences.offsets))
    if return_X_y:
        return tuple(parts)
    return Bunch(
        **dict(zip(("X_train", "y_train", "X_test", "y_test"), parts)),
        column_names=("w", "pos"),
        target_names=np.unique(parts[1].values),
        filenames=filenames,
        DESCR=DESCR,
    )


def _encode_all(comment, encoding):
    comment = (comment,) if isinstance(comment, str) else comment
    return tuple(start.encode(encoding) for start in comment)


def _check_columns(columns, n_columns):
    columns = list(columns)
    wrong = [c for c in columns if not isinstance(c, Integral) or not -n_columns <= c < n_columns]
    if wrong or not columns:
        raise ValueError(
            f"columns must name some of the {n_columns} columns of the file by integers, got "
            f"{columns}"
        )
    return columns
