"""Handwritten words, letter by letter."""

import numpy as np

from .._core import check
from .._core.files import damage, read_arrays, read_bytes
from .._core.packed import Packed
from ._files import Origin, bundle, find_file

IMAGE_SHAPE = (16, 8)
N_PIXELS = 128
LONGEST_INTEGER = 18  # digits that int64 always holds

DESCR = """\
OCR letters: handwritten words
------------------------------

Handwritten words as sequences of binary images, one per letter.  The first letter of each
word, which was often a capital, had been left out by those who made the set.

:Samples: about 6,877 words with 52,151 letters (3 to 14 in a word)
:Features of a letter: 128 pixels, 0 or 1 (16 rows of 8)
:Labels: 0 to 25 for a to z

"""
ORIGIN = Origin(
    source="""collected by R. Kassel, MIT Spoken Language Systems Group; normalized and
distributed (letter.data.gz) by B. Taskar with "Max-Margin Markov Networks" (B. Taskar,
C. Guestrin and D. Koller, NIPS 2003).  letters.npz is a compact form of it.""",
    terms="""published for research, without a license of its own; the set stays under the terms
of its publisher and is not part of this package.  Cite the paper above when you use it.""",
    checksums={"letters.npz": "b331d5b0ac85db89ed530eff55f7842920fd4929d325eb841379643176e288fa"},
)

# The rows of the original file: id, letter, next_id, word_id, position, fold, 128 pixels.
_N_FIELDS = 6
_ORIGINAL = ["ocr/letter.data", "ocr/letter.data.gz", "letter.data", "letter.data.gz"]
_COMPACT = ["ocr/letters.npz", "letters.npz"]
_NAMES = {None: [*_ORIGINAL, *_COMPACT], "half": _COMPACT, "small": _ORIGINAL, "large": _ORIGINAL}


def load_ocr_letters(data_home=None, *, split=None, dtype=np.float64, return_X_y=False):
    """Load the handwritten words of Taskar, Guestrin and Koller from a file you have.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with ``letter.data`` or ``letter.data.gz`` (the original file, with folds) or
        ``letters.npz`` (a compact form, with a half split), there or in its sub-folder ``ocr``.
        None means the folder named by the environment variable ``SKLEARN_FW_DATA``.
    split : {None, "small", "large", "half"}, default=None
        None: all words. ``"small"``: train on fold 0, test on folds 1 to 9; ``"large"``: train on
        folds 1 to 9, test on fold 0 (both need the original file). ``"half"``: the half split of
        the compact form.
    dtype : numpy dtype, default=np.float64
        Type of the pixels. The whole set takes 53 MB as float64, 7 MB as uint8.
    return_X_y : bool, default=False
        Return only the samples and labels, in the order below.

    Returns
    -------
    Bunch
        Without ``split``: ``X``, a ``Packed`` of n_words arrays of shape (n_letters, 128); ``y``, a
        ``Packed`` of n_words int64 arrays of shape (n_letters,), 0 for a to 25 for z; ``fold`` and
        ``test``, an int and a bool ndarray of shape (n_words,), or None. With ``split``:
        ``X_train``, ``y_train``, ``X_test``, ``y_test``, four ``Packed``. Always: ``target_names``,
        ndarray of 26 letters; ``image_shape``, (16, 8); ``filename``, str; ``DESCR``, str with
        source and terms of use.
    X, y or X_train, y_train, X_test, y_test : Packed
        With ``return_X_y=True``.

    References
    ----------
    .. [1] Taskar, Guestrin and Koller, Max-margin Markov networks, NIPS 2003.

    Examples
    --------
    >>> from sklearn_fw.datasets import load_ocr_letters
    >>> words = load_ocr_letters("~/data")  # doctest: +SKIP
    >>> words.X[0].shape  # doctest: +SKIP
    (9, 128)
    """
    if split is not None and not (isinstance(split, str) and split in _NAMES):
        raise ValueError(f"split must be None, 'small', 'large' or 'half', got {split!r}")
    dtype = check.dtype(dtype)
    check.flag(return_X_y, "return_X_y")
    what = "OCR letters" if split is None else f"OCR letters for split={split!r}"
    path = find_file(data_home, _NAMES[split], what=what, origin=ORIGIN)
    read = _read_compact if path.suffix == ".npz" else _read_original
    with ORIGIN.explains():
        pixels, labels, offsets, fold, test = read(path)
    X = Packed(pixels.astype(dtype, copy=False), offsets)
    y = Packed(labels.astype(np.int64), offsets)
    about = {
        "target_names": np.array(list("abcdefghijklmnopqrstuvwxyz")),
        "image_shape": IMAGE_SHAPE,
        "filename": str(path),
        "DESCR": f"{DESCR}{ORIGIN}",
    }
    if split is None:
        return bundle({"X": X, "y": y}, return_X_y, fold=fold, test=test, **about)
    train = ~test if split == "half" else (fold == 0) == (split == "small")
    parts = {"X_train": X[train], "y_train": y[train], "X_test": X[~train], "y_test": y[~train]}
    return bundle(parts, return_X_y, **about)


def _read_compact(path):
    names = ["pixels", "labels", "word", "test"]
    packed, labels, word, test = arrays = read_arrays(path, names)
    n_letters = len(labels) if labels.ndim == 1 else 0
    if not n_letters:
        raise damage(path, f"needs one label per letter, got shape {labels.shape}", array="labels")
    for name, array, shape, kinds in zip(
        names, arrays, [(n_letters, N_PIXELS // 8), *[(n_letters,)] * 3], ["u", "iu", "iu", "b"]
    ):
        if array.shape != shape:
            raise damage(path, f"has shape {array.shape}, needs {shape}", array=name)
        if array.dtype.kind not in kinds or (name == "pixels" and array.dtype != np.uint8):
            wanted = {"u": "uint8, eight pixels each", "iu": "integers", "b": "bool"}[kinds]
            raise damage(path, f"has dtype {array.dtype}, needs {wanted}", array=name)
    if labels.min() < 0 or labels.max() > 25:
        place = int(np.flatnonzero((labels < 0) | (labels > 25))[0])
        reason = f"labels must be 0 to 25 for a to z, but labels[{place}] is {labels[place]}"
        raise damage(path, reason, array="labels")
    starts = np.flatnonzero(np.concatenate([[True], word[1:] != word[:-1]]))
    offsets = np.append(starts, n_letters)
    if np.any(test != np.repeat(test[starts], np.diff(offsets))):
        raise damage(path, "differs between the letters of a word", array="test")
    return np.unpackbits(packed, axis=1), labels, offsets, None, test[starts]


def _read_original(path):
    lines = read_bytes(path).splitlines()
    heads, images = [], []
    for number, line in enumerate(lines, start=1):
        *head, image = line.split(b"\t", _N_FIELDS)
        # 128 digits with a tab between two of them; some copies end lines with a tab.
        whole = len(image.rstrip(b"\t")) == 2 * N_PIXELS - 1
        tabs = image[1 : 2 * N_PIXELS - 1 : 2]
        if len(head) != _N_FIELDS or not whole or tabs.strip(b"\t") or len(head[1]) != 1:
            fields = f"id, letter, next_id, word_id, position, fold and {N_PIXELS} pixels"
            raise damage(path, f"is not a letter: needs {fields}, separated by tabs", line=number)
        heads.append(head)
        images.append(image[0 : 2 * N_PIXELS : 2])
    if not heads:
        raise damage(path, "the file is empty")
    columns = dict(zip(("id", "letter", "next_id", "word_id", "position", "fold"), zip(*heads)))
    pixels = np.frombuffer(b"".join(images), dtype=np.uint8).reshape(-1, N_PIXELS) - ord("0")
    labels = np.frombuffer(b"".join(columns["letter"]), dtype=np.uint8) - ord("a")
    wrong = (pixels > 1).any(axis=1) | (labels > 25)
    if wrong.any():
        reason = "holds pixels other than 0 and 1, or letters other than a to z"
        raise damage(path, reason, line=int(wrong.argmax()) + 1)
    ident, following, fold = (_integers(path, columns, k) for k in ("id", "next_id", "fold"))
    last = following == -1
    broken = np.flatnonzero(~last[:-1] & (following[:-1] != ident[1:]))
    if len(broken) or not last[-1]:
        line = int(broken[0]) + 1 if len(broken) else len(ident)
        raise damage(path, "does not name the next line as its next letter", line=line)
    offsets = np.concatenate([[0], np.flatnonzero(last) + 1])
    return pixels, labels, offsets, fold[offsets[:-1]], None


def _integers(path, columns, name):
    """One column as int64; the first word that is none is named."""
    for number, word in enumerate(columns[name], start=1):
        if not word.removeprefix(b"-").isdigit() or len(word) > LONGEST_INTEGER:
            raise damage(path, f"{name} must be an integer, got {word!r:.60}", line=number)
    return np.array(columns[name], dtype=np.int64)
