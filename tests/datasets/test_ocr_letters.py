"""Both file forms of the OCR letters, made small here, and the real file when there."""

import gzip

import numpy as np
import pytest

from sklearn_fw.datasets import load_ocr_letters
from sklearn_fw.utils import Packed

WORDS = ["ommanding", "ab", "zoo", "it"]
FOLDS = [0, 1, 0, 2]


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 2, (sum(map(len, WORDS)), 128), dtype=np.uint8)


def original(pixels, end="\t\n"):
    """Lines of the original file: id, letter, next_id, word_id, position, fold, pixels."""
    lines, k = [], 0
    for number, (word, fold) in enumerate(zip(WORDS, FOLDS), start=1):
        for position, letter in enumerate(word, start=1):
            following = -1 if position == len(word) else k + 2
            head = [k + 1, letter, following, number, position, fold]
            lines.append("\t".join(map(str, [*head, *pixels[k]])) + end)
            k += 1
    return "".join(lines)


def compact(pixels, path):
    word = np.repeat(np.arange(len(WORDS)), [len(w) for w in WORDS]) + 1
    np.savez(
        path,
        pixels=np.packbits(pixels, axis=1),
        labels=np.array([ord(c) - ord("a") for c in "".join(WORDS)], dtype=np.uint8),
        word=word.astype(np.int32),
        test=word > 2,
    )


def text(y):
    return ["".join(chr(97 + c) for c in word) for word in y]


@pytest.mark.parametrize("name", ["letter.data", "ocr/letter.data.gz", "ocr/letter.data"])
@pytest.mark.parametrize("end", ["\t\n", "\n"])
def test_original_file(tmp_path, pixels, name, end):
    (tmp_path / "ocr").mkdir()
    content = original(pixels, end).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    words = load_ocr_letters(tmp_path)
    assert isinstance(words.X, Packed)
    assert isinstance(words.y, Packed)
    assert text(words.y) == WORDS
    np.testing.assert_array_equal(words.X.values, pixels)
    assert words.X.values.dtype == np.float64
    assert words.y.values.dtype == np.int64
    assert words.fold.tolist() == FOLDS
    assert words.test is None
    assert words.filename.endswith(name)
    assert (words.target_names[0], words.target_names[25]) == ("a", "z")
    assert words.image_shape == (16, 8)
    assert "Taskar" in words.DESCR
    assert "terms" in words.DESCR.lower()
    small, large = (load_ocr_letters(tmp_path, split=split) for split in ("small", "large"))
    assert text(small.y_train) == text(large.y_test) == ["ommanding", "zoo"]
    assert text(small.y_test) == text(large.y_train) == ["ab", "it"]
    assert small.X_train.lengths.tolist() == [9, 3]


@pytest.mark.parametrize("name", ["letters.npz", "ocr/letters.npz"])
def test_compact_file(tmp_path, pixels, name, monkeypatch):
    (tmp_path / "ocr").mkdir()
    compact(pixels, tmp_path / name)
    monkeypatch.setenv("SKLEARN_FW_DATA", str(tmp_path))
    words = load_ocr_letters(dtype=np.uint8)
    assert text(words.y) == WORDS
    np.testing.assert_array_equal(words.X.values, pixels, strict=True)
    assert words.fold is None
    assert words.test.tolist() == [False, False, True, True]
    half = load_ocr_letters(split="half")
    assert text(half.y_train) == WORDS[:2]
    assert text(half.y_test) == WORDS[2:]
    X, y = load_ocr_letters(return_X_y=True)
    assert len(X) == len(y) == 4
    parts = load_ocr_letters(split="half", return_X_y=True)
    assert [len(part) for part in parts] == [2, 2, 2, 2]


def test_absent_files_are_named(tmp_path, pixels, monkeypatch):
    monkeypatch.delenv("SKLEARN_FW_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"pass data_home= or set.*SKLEARN_FW_DATA.*letter"):
        load_ocr_letters()
    with pytest.raises(FileNotFoundError, match=r"looked for ocr/letter\.data, ocr/letter\.data"):
        load_ocr_letters(tmp_path)
    compact(pixels, tmp_path / "letters.npz")
    with pytest.raises(FileNotFoundError, match="OCR letters for split='small': looked for ocr/le"):
        load_ocr_letters(tmp_path, split="small")
    with pytest.raises(ValueError, match="split must be None, 'small', 'large' or 'half'"):
        load_ocr_letters(tmp_path, split="fold0")


def test_real_letters(data_home):
    try:
        words = load_ocr_letters(data_home)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert len(words.X) == len(words.y) == 6877
    assert words.X.values.shape[0] in (52_151, 52_152)  # copies differ by one letter
    lengths = words.X.lengths
    assert (lengths.min(), lengths.max()) == (3, 14)
    assert lengths.mean() == pytest.approx(7.583, abs=0.001)
    assert {"ommanding", "nexpected", "olcanic"} <= set(text(words.y))
    assert set(np.unique(words.X.values)) == {0.0, 1.0}
    # Pixels and labels belong together: half of the letters are nearest to their mean image.
    pixels, labels = words.X.values, words.y.values
    means = np.array([pixels[labels == c].mean(axis=0) for c in range(26)])
    distance = (means**2).sum(axis=1) - 2 * pixels @ means.T
    assert np.mean(distance.argmin(axis=1) == labels) > 0.5
