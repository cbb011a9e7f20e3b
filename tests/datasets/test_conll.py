"""Column files: small ones made here, and the real chunking task when there."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from sklearn_fw.datasets import load_conll, load_conll2000
from sklearn_fw.utils import Packed

TEXT = "He PRP B-NP\nruns VBZ B-VP\n\n# # I-NP\n1.8\tCD  I-NP\n"
EXPECTED = [
    [["He", "PRP", "B-NP"], ["runs", "VBZ", "B-VP"]],
    [["#", "#", "I-NP"], ["1.8", "CD", "I-NP"]],
]


def fields(sentences):
    return [sentence.tolist() for sentence in sentences]


@pytest.mark.parametrize(
    "content",
    [TEXT, "\n\n" + TEXT + "\n\n", TEXT.replace("\n", "\r\n"), TEXT.rstrip("\n"), TEXT + " \t\n"],
)
def test_forms_of_lines(content):
    for source in (io.StringIO(content), io.BytesIO(content.encode())):
        sentences = load_conll(source)
        assert isinstance(sentences, Packed)
        assert sentences[0].dtype == object
        assert fields(sentences) == EXPECTED


@pytest.mark.parametrize("form", ["a.txt", "a.txt.gz", "a.zip", "b.zip"])
def test_forms_of_files(tmp_path, form):
    path, member = tmp_path / form, None
    if form.endswith("zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.mkdir("folder")
            archive.writestr("folder/a.txt", TEXT)
            if form == "b.zip":
                archive.writestr("b.txt", "x y z")
                member = "folder/a.txt"
    else:
        path.write_bytes(gzip.compress(TEXT.encode()) if form.endswith("gz") else TEXT.encode())
    assert fields(load_conll(path, member=member)) == EXPECTED
    assert fields(load_conll(str(path), member=member, columns=(0,)))[0] == [["He"], ["runs"]]
    if form == "b.zip":
        with pytest.raises(ValueError, match=r"member must be a file in .*got None"):
            load_conll(path)
        with pytest.raises(ValueError, match=r"got 'a\.txt'"):
            load_conll(path, member="a.txt")


def test_options():
    assert fields(load_conll(io.StringIO(TEXT), columns=[-1, 0]))[1] == [
        ["I-NP", "#"],
        ["I-NP", "1.8"],
    ]
    text = "-DOCSTART- -X- O\n\n" + TEXT
    assert fields(load_conll(io.StringIO(text), comment="-DOCSTART-")) == EXPECTED
    text = "# id = 1\n1\tNew York\t\nx\t\té\n"
    sentences = load_conll(io.StringIO(text), separator="\t", comment=("# ", "%"))
    assert fields(sentences) == [[["1", "New York", ""], ["x", "", "é"]]]
    latin = io.BytesIO("été N O".encode("latin-1"))
    assert load_conll(latin, encoding="latin-1")[0][0, 0] == "été"


def test_spaces_inside_words_are_kept():
    word = "10\N{NO-BREAK SPACE}000\N{LINE SEPARATOR}"
    assert load_conll(io.StringIO(f"{word} CD O\n"))[0][0, 0] == word


def test_equal_words_are_stored_once():
    sentences = load_conll(io.StringIO("word X\nword X\n\nword X\n"))
    assert sentences[0][0, 0] is sentences[1][0, 0]


@pytest.mark.parametrize(
    ("text", "params", "message"),
    [
        ("", {}, "the file holds no token"),
        ("\n\n", {}, "the file holds no token"),
        ("a b\n\nc d e\n", {}, "StringIO, line 3: 3 columns, but the first token has 2: check sep"),
        ("a b\n", {"columns": (2,)}, "columns must name some of 2 columns of the open Str"),
        ("a b\n", {"columns": ("w",)}, "columns must be an instance of int, not str"),
        ("a b\n", {"columns": ()}, "columns must be a list of 1 or more integers, got 0"),
    ],
)
def test_broken_files_are_refused(text, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        load_conll(io.StringIO(text), **params)


@pytest.mark.parametrize("form", ["zip", "txt", "txt.gz"])
@pytest.mark.parametrize("folder", ["", "conll2000"])
def test_conll2000_made_here(tmp_path, form, folder, monkeypatch):
    home = tmp_path / folder
    home.mkdir(exist_ok=True)
    test = "Stop VB B-VP\n"
    if form == "zip":
        with zipfile.ZipFile(home / "conll2000.zip", "w") as archive:
            archive.writestr("conll2000/train.txt", TEXT)
            archive.writestr("conll2000/test.txt", test)
    else:
        for name, content in (("train", TEXT), ("test", test)):
            data = content.encode()
            (home / f"{name}.{form}").write_bytes(gzip.compress(data) if form != "txt" else data)
    monkeypatch.setenv("SKLEARN_FW_DATA", str(tmp_path))
    chunks = load_conll2000()
    assert fields(chunks.X_train) == [[row[:2] for row in sentence] for sentence in EXPECTED]
    assert fields(chunks.y_train) == [["B-NP", "B-VP"], ["I-NP", "I-NP"]]
    assert chunks.y_train.values.dtype.kind == "U"
    assert fields(chunks.y_test) == [["B-VP"]]
    assert chunks.target_names.tolist() == ["B-NP", "B-VP", "I-NP"]
    assert chunks.column_names == ("w", "pos")
    assert len(chunks.filenames) == 2
    assert "Tjong Kim Sang" in chunks.DESCR
    assert [len(part) for part in load_conll2000(return_X_y=True)] == [2, 2, 1, 1]


def test_absent_files_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("SKLEARN_FW_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="SKLEARN_FW_DATA"):
        load_conll2000()
    (tmp_path / "train.txt").write_text(TEXT)
    with pytest.raises(FileNotFoundError, match=r"\(test sentences\): looked for conll2000/conll"):
        load_conll2000(tmp_path)


def test_real_conll2000(data_home):
    """Sizes as published by Tjong Kim Sang and Buchholz (2000)."""
    try:
        chunks = load_conll2000(data_home)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert (len(chunks.X_train), len(chunks.X_test)) == (8936, 2012)
    assert chunks.X_train.values.shape == (211_727, 2)
    assert chunks.X_test.values.shape == (47_377, 2)
    assert len(chunks.target_names) == 22
    assert chunks.X_train[0][:3].tolist() == [["Confidence", "NN"], ["in", "IN"], ["the", "DT"]]
    assert chunks.y_train[0][:3].tolist() == ["B-NP", "B-PP", "B-NP"]
    np.testing.assert_array_equal(chunks.X_train.lengths, chunks.y_train.lengths)
