"""Handwritten words, letter by letter."""

import numpy as np
from sklearn.utils import Bunch

from .._packed import Packed
from ._files import Origin, find_file, read_bytes

__all__ = ["load_ocr_letters"]

IMAGE_SHAPE = (16, 8)
N_PIXELS = 128

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
    source="""collected by R. Kassel, MIT Spoken Language Systems Group; normalised and
distributed (letter.data.gz) by B. Taskar with "Max-Margin Markov Networks" (B. Taskar,
C. Guestrin and D. Koller, NIPS 2003).  letters.npz is a compact form of it.""",
    terms="""published for research, without a licence of its own; the set stays under the terms
of its publisher and is not part of this package.  Cite the paper above when you use it.""",
    checksums={
        "letters.npz": "b331d5b0ac85db89ed530eff55f7842920fd4929d325eb841379643176e288fa",
    },
)

# The rows of the original file: id, letter, next_id, word_id, position, fold, 128 pixels.
_N_FIELDS = 6
_ORIGINAL = ["ocr/letter.data", "ocr/letter.data.gz", "letter.data", "letter.data.gz"]
_COMPACT = ["ocr/letters.npz", "letters.npz"]
_NAMES = {
    None: [*_ORIGINAL, *_COMPACT],
    "half": _COMPACT,
    "small": _ORIGINAL,
    "large": _ORIGINAL,
}


def load_ocr_letters(data_home=None, *, split=None, dtype=np.float64, return_X_y=False):
    """Load the handwritten words of Taskar, Guestrin and Koller from a file you have.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with ``letter.data`` or ``letter.data.gz`` (the original file, with folds)
        or ``letters.npz`` (a compact form, with a half split), there or in its sub-folder
        ``ocr``.  ``None`` means the folder named by the environment variable
        ``SKLEARN_FW_DATA``.
    split : {None, "small", "large", "half"}, default=None
        ``None``: all words.  ``"small"``: train on fold 0, test on folds 1 to 9;
        ``"large"``: train on folds 1 to 9, test on fold 0 (both need the original file).
        ``"half"``: the half split of the compact form.
    dtype : numpy dtype, default=np.float64
        Type of the pixels.  The whole set takes 53 MB as float64, 7 MB as uint8.
    return_X_y : bool, default=False
        If True, return only the samples and labels, in the order below.

    Returns
    -------
    Bunch
        Without ``split``: ``X``, a ``Packed`` of n_words arrays of shape
        (n_letters, 128); ``y``, a ``Packed`` of n_words int64 arrays of shape
        (n_letters,), 0 for a to 25 for z; ``fold``, ndarray of shape (n_words,), or None;
        ``test``, bool ndarray of shape (n_words,), or None.
        With ``split``: ``X_train``, ``y_train``, ``X_test``, ``y_test``, four ``Packed``.
        Always: ``target_names``, ndarray of 26 letters; ``image_shape``, (16, 8);
        ``filename``, str; ``DESCR``, str with source and terms of use.
    X, y or X_train, y_train, X_test, y_test : Packed
        With ``return_X_y=True``.

    Raises
    ------
    FileNotFoundError
        When the file is absent; the message lists the names that were looked for.
    ValueError
        When the file is not of the expected format, or ``split`` is unknown.

    See Also
    --------
    make_digit_words : A similar set that needs no file.

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
    if split not in _NAMES:
        raise ValueError(f"split must be None, 'small', 'large' or 'half', got {split!r}")
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
        return (X, y) if return_X_y else Bunch(X=X, y=y, fold=fold, test=test, **about)
    train = {"half": lambda: ~test, "small": lambda: fold == 0, "large": lambda: fold != 0}[split]()
    parts = X[train], y[train], X[~train], y[~train]
    if return_X_y:
        return parts
    return Bunch(**dict(zip(("X_train", "y_train", "X_test", "y_test"), parts)), **about)


def _read_compact(path):
    with np.load(path) as file:
        missing = {"pixels", "labels", "word", "test"} - set(file.files)
        if missing:
            raise ValueError(f"{path} has no array named {sorted(missing)}: not the compact form")
        packed, labels, word, test = (file[k] for k in ("pixels", "labels", "word", "test"))
    if packed.shape != (len(labels), N_PIXELS // 8):
        raise ValueError(f"pixels of {path} has shape {packed.shape}, needs ({len(labels)}, 16)")
    starts = np.flatnonzero(np.concatenate([[True], word[1:] != word[:-1]]))
    offsets = np.append(starts, len(labels))
    return np.unpackbits(packed, axis=1), labels, offsets, None, test[starts]


def _read_original(path):
    lines = read_bytes(path).splitlines()
    heads, images = [], []
    for number, line in enumerate(lines, start=1):
        *head, image = line.split(b"\t", _N_FIELDS)
        # 128 digits with a tab between two of them; some copies end lines with a tab.
        image = image[0::2] if len(image.rstrip(b"\t")) == 2 * N_PIXELS - 1 else b""
        if len(head) != _N_FIELDS or len(image) != N_PIXELS or len(head[1]) != 1:
            raise ValueError(
                f"line {number} of {path} is not a letter: needs id, letter, next_id, word_id, "
                "position, fold and 128 pixels, separated by tabs"
            )
        heads.append(head)
        images.append(image)
    if not heads:
        raise ValueError(f"{path} is empty")
    ident, letter, following, _, _, fold = zip(*heads)
    pixels = np.frombuffer(b"".join(images), dtype=np.uint8).reshape(-1, N_PIXELS) - ord("0")
    labels = np.frombuffer(b"".join(letter), dtype=np.uint8) - ord("a")
    if pixels.max() > 1 or labels.max() > 25:
        raise ValueError(f"{path} holds pixels other than 0 and 1, or letters other than a to z")
    ident, following, fold = (
        np.array(column, dtype=np.int64) for column in (ident, following, fold)
    )
    last = following == -1
    broken = np.flatnonzero(~last[:-1] & (following[:-1] != ident[1:]))
    if len(broken) or not last[-1]:
        line = int(broken[0]) + 1 if len(broken) else len(ident)
        raise ValueError(f"line {line} of {path} does not name the next line as its next letter")
    offsets = np.concatenate([[0], np.flatnonzero(last) + 1])
    return pixels, labels, offsets, fold[offsets[:-1]], None
