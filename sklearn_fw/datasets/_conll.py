"""Column files of the CoNLL shared tasks."""

import re
from pathlib import Path

import numpy as np
from sklearn.datasets import get_data_home

from .._core import check
from .._core.files import check_path, damage, name_of, read_bytes, to_text
from .._core.packed import Packed
from ._files import Origin, Remote, bundle, fetch, find_file

DESCR = """\
CoNLL-2000 chunking
-------------------

Sentences of the Wall Street Journal with automatic part-of-speech tags and the chunks
(non-overlapping phrases) that they consist of, in IOB2 tags such as B-NP, I-NP and O.

:Samples: 8,936 training sentences with 211,727 tokens (sections 15 to 18), 2,012 test
          sentences with 47,377 tokens (section 20)
:Fields of a token: word, part of speech (Brill tagger)
:Labels: 22 chunk tags

"""
# Files may be repacked at any time, so what is inside is checked.
_REMOTE = {
    part: Remote(f"https://www.clips.uantwerpen.be/conll2000/chunking/{part}.txt.gz", size, sha256)
    for part, size, sha256 in (
        ("train", 2_842_164, "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea"),
        ("test", 639_396, "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628"),
    )
}
ORIGIN = Origin(
    source="""E. F. Tjong Kim Sang and S. Buchholz, "Introduction to the CoNLL-2000 Shared Task:
Chunking", CoNLL-2000; https://www.clips.uantwerpen.be/conll2000/chunking (train.txt.gz,
test.txt.gz).  conll2000.zip is the same as NLTK packs it.""",
    terms="""made from the Penn Treebank for research; the set stays under the terms of its
publishers and is not part of this package.""",
    checksums={
        **{f"{part}.txt": remote.sha256 for part, remote in _REMOTE.items()},
        "conll2000.zip": "01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd",
    },
    help="nothing is downloaded without download=True",
)
ASCII = b"\t\n" + bytes(range(32, 127))  # what every encoding of a column file must leave as it is
SPACES = " \t\f\v\r"  # between columns: words may hold other kinds of space


def load_conll(
    source, *, member=None, columns=None, separator=None, comment=None, encoding="utf-8"
):
    """Read sentences from a file with one token per line (CoNLL format).

    Parameters
    ----------
    source : str, path-like or file object
        The file; ``.gz`` is decompressed, ``.zip`` is an archive. An open file may be binary or
        text.
    member : str, default=None
        Name of the file inside a zip archive; may be left out when there is only one.
    columns : sequence of int, default=None
        Which columns to keep, in this order, negative ones counted from the right; None keeps all.
    separator : str, default=None
        Separator of the columns; None means any run of spaces and tabs.
    comment : str or tuple of str, default=None
        Lines that start with this are left out, for example ``("-DOCSTART-", "# ")``.
    encoding : str, default="utf-8"
        Encoding of the file, a superset of ASCII.

    Returns
    -------
    Packed of n_sentences object arrays of shape (n_tokens, n_columns)
        The fields as str; ``sentence[:, 0]`` is the first column of a sentence.

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
    _check_encoding(encoding)
    if separator is not None:
        _check_text(separator, "separator")
    starts = (comment,) if isinstance(comment, str) else comment
    if starts is not None:
        starts = check.items(starts, "comment", "texts", least=1)
        starts = tuple(_check_text(start, "comment") for start in starts)
    if columns is not None:
        columns = check.items(columns, "columns", "integers", least=1)
        columns = [check.integer(c, "columns", -(2**31)) for c in columns]
    content, file = read_bytes(source, member), name_of(source)
    lines = to_text(content, file, encoding).split("\n")
    spaces, texts = re.compile(f"[{SPACES}]+"), {}  # each distinct field is stored once
    rows, offsets, n_columns = [], [0], None
    for number, line in enumerate([*lines, ""], start=1):
        line = line.rstrip("\r")
        if "\r" in line:
            reason = "holds a carriage return before its end: write the file with lines that end "
            raise damage(file, reason + "with a line feed", line=number)
        if not line.strip(SPACES):
            if offsets[-1] < len(rows):
                offsets.append(len(rows))
        elif starts is None or not line.startswith(starts):
            row = line.split(separator) if separator else spaces.split(line.strip(SPACES))
            n_columns = n_columns or len(row)
            if len(row) != n_columns:
                reason = f"{len(row)} columns, but the first token has {n_columns}: check "
                raise damage(file, reason + "separator and comment", line=number)
            rows.append([texts.setdefault(field, field) for field in row])
    if not rows:
        raise damage(file, "the file holds no token")
    values = np.array(rows, dtype=object)
    if columns is not None:
        if not all(-n_columns <= c < n_columns for c in columns):
            raise ValueError(
                f"columns must name some of {n_columns} columns of {file}, got {columns}"
            )
        values = values[:, columns]
    return Packed(values, np.array(offsets, dtype=np.int64))


def load_conll2000(data_home=None, *, download=False, return_X_y=False):
    """Load the chunking task of CoNLL-2000 from files you have, or download them once.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with ``conll2000.zip``, or with ``train.txt`` and ``test.txt`` (or both with
        ``.gz``), there or in its sub-folder ``conll2000``. None means the folder named by the
        environment variable ``SKLEARN_FW_DATA``, with ``download`` that of
        ``sklearn.datasets.get_data_home()``.
    download : bool, default=False
        Whether ``train.txt.gz`` and ``test.txt.gz``, 3.5 MB of text, are downloaded to the
        sub-folder ``conll2000`` where they are absent or damaged, and their SHA-256 checked.
    return_X_y : bool, default=False
        Return four ``Packed`` instead of a ``Bunch``.

    Returns
    -------
    Bunch
        ``X_train``, ``X_test``: ``Packed`` of n_sentences object arrays of shape (n_tokens, 2),
        columns word and part of speech. ``y_train``, ``y_test``: ``Packed`` of n_sentences arrays
        of str of shape (n_tokens,), chunk tags. ``column_names``: ("w", "pos"). ``target_names``:
        the 22 training tags, sorted. ``filenames``, ``DESCR``: list of str, and str with the terms
        of use.
    X_train, y_train, X_test, y_test : Packed
        With ``return_X_y=True``.

    Raises
    ------
    FileNotFoundError
        When a file is absent.
    OSError
        When a file cannot be downloaded or has other contents: nothing is stored then.

    Notes
    -----
    Progress is logged to ``"sklearn_fw"`` at level INFO. Several processes may download at once.

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
    check.flag(return_X_y, "return_X_y")
    if check.flag(download, "download"):
        home = None if data_home is None else check_path(data_home, "data_home")
        folder = Path(get_data_home(home)) / "conll2000"
        paths = {part: fetch(remote, folder) for part, remote in _REMOTE.items()}
    else:
        paths = {}
        for part in _REMOTE:
            names = ["conll2000.zip", f"{part}.txt", f"{part}.txt.gz"]
            names = [folder + name for folder in ("conll2000/", "") for name in names]
            what = f"CoNLL-2000 ({part} sentences)"
            paths[part] = find_file(data_home, names, what=what, origin=ORIGIN)
    parts = {}
    for part, path in paths.items():
        member = f"conll2000/{part}.txt" if path.suffix == ".zip" else None
        with ORIGIN.explains():
            sentences = load_conll(path, member=member, columns=(0, 1, 2))
        X, y = np.ascontiguousarray(sentences.values[:, :2]), sentences.values[:, 2]
        parts[f"X_{part}"] = Packed(X, sentences.offsets)
        # Tags are short: text of fixed width can be mapped by joblib, objects cannot.
        parts[f"y_{part}"] = Packed(y.astype(str), sentences.offsets)
    return bundle(
        parts, return_X_y, column_names=("w", "pos"), DESCR=f"{DESCR}{ORIGIN}",
        target_names=np.unique(parts["y_train"].values),
        filenames=[str(path) for path in paths.values()],
    )  # fmt: skip


def _check_encoding(encoding):
    """Refuse what is unknown, and what does not write ASCII as single bytes."""
    check.instance(encoding, "encoding", str)
    try:
        fits = ASCII.decode("ascii").encode(encoding).endswith(ASCII)
    except (LookupError, ValueError) as error:
        raise ValueError(f"encoding={encoding!r} cannot be used: {error}") from None
    if not fits:
        raise ValueError(f"encoding={encoding!r} is not a superset of ASCII: open the file with it")


def _check_text(text, name):
    if not isinstance(text, str) or not text:
        raise ValueError(f"{name} must be text that is not empty, got {text!r}")
    return text
