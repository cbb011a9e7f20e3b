"""Corrupted files: every reader gives the data or a ValueError that names the file.

Files with bytes that are lost or changed at random are those of tests/fuzz.
"""

import gzip
import io
import json
import pickle
import re
import zipfile

import numpy as np
import pytest

from sklearn_fw.datasets import (
    load_conll,
    load_conll2000,
    load_mrf_instances,
    load_ocr_letters,
    load_word_alignment,
)
from sklearn_fw.random_fields import PairwiseMRF, load_uai

TOKENS = "He PRP B-NP\nrüns VBZ B-VP\n\nStop VB B-VP\n".encode()
UAI = b"MARKOV\n2\n2 3\n2\n1 0\n2 1 0\n\n2\n0.5 1.5\n6\n1 2 3\n4 5e-1 6\n"
PAIR = '{"src_words": ["a", "é"], "tgt_words": ["b"], "alignment": [[1, 0]]}\n'.encode()
ANSWER = {"log_partition": 2.5, "node_marginals": [0.25, 0.75, 0.5, 0.5]}
LETTERS = b"".join(
    b"\t".join([*head.split(), *([b"0", b"1"] * 64)]) + b"\t\n"
    for head in (b"1 o 2 1 1 0", b"2 k -1 1 2 0", b"3 a -1 2 1 4")
)
COMPACT = {
    "pixels": np.arange(48, dtype=np.uint8).reshape(3, 16),
    "labels": np.array([0, 25, 3]),
    "word": np.array([1, 1, 2], dtype=np.int32),
    "test": np.array([False, False, True]),
}


def read_solution(path):
    return load_uai(path, "solution")


def archive(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return file.getvalue()


def arrays(**changes):
    file = io.BytesIO()
    np.savez(file, **{name: a for name, a in (COMPACT | changes).items() if a is not None})
    return file.getvalue()


def with_second(name, content):
    """Reader of a folder with a second file, which is whole."""

    def prepare(folder):
        (folder / name).write_bytes(content)

    return prepare


def flat(value):
    """Data as text, to be compared."""
    if isinstance(value, dict):
        return {key: flat(v) for key, v in value.items() if key not in ("DESCR", "filenames")}
    if isinstance(value, PairwiseMRF):
        return repr((value, value.edges.tolist(), value.theta.tolist(), value.constant))
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [flat(v) for v in value]
    return value


# Name of the file, its content, how it is read from its folder, and what else is there.
READERS = {
    "column file": ("a.txt", TOKENS, lambda path: load_conll(path)),
    "column file, gzip": ("a.txt.gz", gzip.compress(TOKENS), lambda path: load_conll(path)),
    "column file, zip": ("a.zip", archive({"a.txt": TOKENS}), lambda path: load_conll(path)),
    "CoNLL-2000": (
        "conll2000.zip",
        archive({"conll2000/train.txt": TOKENS, "conll2000/test.txt": TOKENS}),
        lambda path: load_conll2000(path.parent),
    ),
    "letters": ("letter.data", LETTERS, lambda path: load_ocr_letters(path.parent)),
    "letters, gzip": (
        "letter.data.gz",
        gzip.compress(LETTERS),
        lambda path: load_ocr_letters(path.parent),
    ),
    "letters, compact": ("letters.npz", arrays(), lambda path: load_ocr_letters(path.parent)),
    "alignments": (
        "en-fr_hansards_train.jsonl",
        2 * PAIR,
        lambda path: load_word_alignment(path.parent),
        with_second("en-fr_hansards_valid.jsonl", PAIR),
    ),
    "answers": (
        "exact.json",
        json.dumps({"3": ANSWER}).encode(),
        lambda path: load_mrf_instances(path.parent.parent, name="cliques"),
        with_second("3.uai", b"MARKOV 2  2 2  0"),
    ),
    "random field": ("a.uai", UAI, load_uai),
    "evidence": ("a.evid", b"2\n1 0 1\n2 0 0 1 2\n", lambda path: load_uai(path, "evidence")),
    "marginals": ("a.MAR", b"MAR\n2\n2 0.25 0.75\n3 0.5 0.25 0.25\n", read_solution),
    "partition function": ("a.PR", b"PR\n-12.5\n", read_solution),
    "labeling": ("a.MAP", b"MAP\n3 0 2 1\n", read_solution),
}


@pytest.fixture
def reader(request, tmp_path):
    """Path, content and function of a reader; the file is there."""
    file, content, read, *prepare = READERS[request.param]
    folder = tmp_path / "cliques"
    folder.mkdir()
    for step in prepare:
        step(folder)
    (folder / file).write_bytes(content)
    return folder / file, content, read


def all_readers(test):
    return pytest.mark.parametrize("reader", READERS, indirect=True)(test)


def outcome(path, content, read):
    """The data of a damaged file as text, None when it was refused as it should be."""
    path.write_bytes(content)
    fault = None
    try:
        return flat(read(path))
    except (ValueError, FileNotFoundError) as error:
        fault = error
    if isinstance(fault, FileNotFoundError):  # answers name other files, damaged ones wrong files
        assert (path.name, fault.filename is None) == ("exact.json", False), repr(fault)
        return None
    # A subclass such as UnicodeDecodeError, or a text of its own, comes from inside.
    assert type(fault) is ValueError, repr(fault)
    assert path.name in str(fault), repr(fault)
    return None


@all_readers
def test_whole_files_are_read(reader):
    path, content, read = reader
    assert flat(read(path))
    # Marks and ends of lines of other systems change nothing.
    if path.suffix not in (".gz", ".zip", ".npz"):
        expected = flat(read(path))
        assert outcome(path, content.replace(b"\n", b"\r\n"), read) == expected
        if path.name != "letter.data":  # which is older than such marks
            assert outcome(path, b"\xef\xbb\xbf" + content, read) == expected


@all_readers
@pytest.mark.parametrize(
    "content",
    [b"", b"\n \n", b"\0" * 50, b"\xff\xfe" + "He PRP".encode("utf-16-le"), bytes(range(256))],
    ids=["empty", "blank", "zeros", "UTF-16", "all bytes"],
)
def test_other_files_are_refused(reader, content):
    path, _, read = reader
    assert outcome(path, content, read) is None


@all_readers
def test_wrong_archives_are_refused(reader):
    """Text where an archive should be, and an archive where text should be."""
    path, content, read = reader
    packed = path.suffix in (".gz", ".zip", ".npz")
    assert outcome(path, TOKENS if packed else gzip.compress(content), read) is None
    if packed:
        assert outcome(path, archive({"other": b"text"})[1:], read) is None


@all_readers
def test_folders_and_paths(reader):
    path, _, read = reader
    path.unlink()
    with pytest.raises(FileNotFoundError, match=re.escape(str(path.parent.parent))):
        read(path)
    path.mkdir()
    # Loaders of sets look for files, and there is none.
    with pytest.raises(
        (IsADirectoryError, FileNotFoundError), match=re.escape(str(path.parent.parent))
    ):
        read(path)


@pytest.mark.parametrize("byte", [128, 200, 255])
@pytest.mark.parametrize("reader", ["column file", "alignments"], indirect=True)
def test_text_that_is_not_utf_8(reader, byte):
    """Every byte that cannot stand alone, on the second line."""
    path, content, read = reader
    first, second, rest = content.split(b"\n", 2)
    path.write_bytes(b"\n".join([first, second[:3] + bytes([byte]) + second[3:], rest]))
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 2: is not in utf-8")):
        read(path)


class Odd:
    """An open file of which ``read`` gives anything."""

    def __init__(self, content):
        self.content = content

    def read(self):
        return self.content


class TestOpenFiles:
    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_bytes(self, kind):
        assert load_conll(Odd(kind(TOKENS)))[1].tolist() == [["Stop", "VB", "B-VP"]]

    @pytest.mark.parametrize("content", [None, 3, ["He PRP B-NP"]])
    def test_neither_text_nor_bytes(self, content):
        with pytest.raises(
            TypeError, match=r"source must be a path or an open file whose read\(\)"
        ):
            load_conll(Odd(content))

    def test_wrong_encoding_is_named(self, tmp_path):
        path = tmp_path / "latin.txt"
        path.write_bytes("été N O\n".encode("latin-1"))
        with (
            path.open(encoding="utf-8") as file,
            pytest.raises(ValueError, match=r"latin\.txt: is"),
        ):
            load_conll(file)
        with (
            path.open(encoding="utf-8", errors="surrogateescape") as file,
            pytest.raises(ValueError, match="line 1: is not in utf-8"),
        ):
            load_conll(file)
        with path.open(encoding="latin-1") as file:
            assert load_conll(file)[0][0, 0] == "été"

    def test_member_of_an_open_file(self):
        with pytest.raises(ValueError, match=r"member='a\.txt' goes with the path of a zip"):
            load_conll(io.BytesIO(archive({"a.txt": TOKENS})), member="a.txt")


class TestColumnFiles:
    @pytest.mark.parametrize("form", ["utf-8", "utf-8-sig", "UTF8"])
    def test_byte_order_mark_is_no_part_of_the_first_word(self, form):
        source = io.BytesIO(b"\xef\xbb\xbfHe\tPRP\n%\t%\n")
        (sentence,) = load_conll(source, encoding=form, separator="\t", comment="%")
        assert sentence.tolist() == [["He", "PRP"]]

    @pytest.mark.parametrize("form", ["utf-16", "utf-32-le", "utf-7", "cp500", "hz"])
    def test_other_alphabets_need_an_open_file(self, form, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text("He + PRP~\n", encoding=form)
        with pytest.raises(ValueError, match="is not a superset of ASCII: open the file with it"):
            load_conll(path, encoding=form)
        with path.open(encoding=form) as file:
            assert load_conll(file)[0].tolist() == [["He", "+", "PRP~"]]

    @pytest.mark.parametrize("form", ["utf-99", "rot13", "base64", "undefined", "u\0", ""])
    def test_unknown_encodings(self, form):
        with pytest.raises(ValueError, match=r"^encoding="):
            load_conll(io.BytesIO(TOKENS), encoding=form)

    def test_lines_that_end_with_carriage_returns_only(self):
        with pytest.raises(ValueError, match="line 1: holds a carriage return before its end"):
            load_conll(io.BytesIO(b"He PRP\rruns VBZ\r"))


class TestCompactLetters:
    @pytest.mark.parametrize(
        "changes, message",
        [
            ({"labels": np.array([0, 26, 3])}, r"'labels': .* 0 to 25 for a to z, but labels\[1\]"),
            ({"labels": np.array([0, 3, -1])}, r"'labels': .* but labels\[2\] is -1"),
            ({"labels": np.array([0.0, 1, 2])}, "'labels': has dtype float64, needs integers"),
            ({"labels": np.array(3)}, r"'labels': needs one label per letter, got shape \(\)"),
            ({"labels": np.empty(0, int)}, "'labels': needs one label per letter"),
            (
                {"labels": None},
                r"has no array named \['labels'\]: it holds \['pixels', 'test', 'wor",
            ),
            ({"pixels": np.zeros((3, 16))}, "'pixels': has dtype float64, needs uint8, eight"),
            (
                {"pixels": np.zeros((4, 16), np.uint8)},
                r"'pixels': has shape \(4, 16\), needs \(3, ",
            ),
            ({"word": np.array([1, 1])}, r"'word': has shape \(2,\), needs \(3,\)"),
            ({"word": np.array([1, 1, np.nan])}, "'word': has dtype float64, needs integers"),
            ({"test": np.array([0, 0, 1])}, "'test': has dtype int64, needs bool"),
            (
                {"test": np.array([True, False, True])},
                "'test': differs between the letters of a wo",
            ),
            (
                {"word": np.array([1, None, 2], dtype=object)},
                "'word': is not a NumPy array .*Object arrays",
            ),
        ],
    )
    def test_arrays(self, changes, message, tmp_path):
        path = tmp_path / "letters.npz"
        path.write_bytes(arrays(**changes))
        with pytest.raises(ValueError, match=message) as caught:
            load_ocr_letters(tmp_path)
        assert str(path) in str(caught.value)

    def test_nothing_is_unpickled(self, tmp_path):
        for content in (
            pickle.dumps(COMPACT),
            archive({f"{k}.npy": pickle.dumps(1) for k in COMPACT}),
        ):
            (tmp_path / "letters.npz").write_bytes(content)
            with pytest.raises(
                ValueError, match=r"letters\.npz.* is not an? (intact zip|NumPy array)"
            ):
                load_ocr_letters(tmp_path)

    @pytest.mark.parametrize(
        "shape", ["(10**12, 10**3)", "(3, 15)", "(3, 17)", "(-1, 16)", "(3.0,)"]
    )
    def test_headers_that_lie(self, shape, tmp_path):
        """Room is taken only for what the file holds."""
        members = {}
        with zipfile.ZipFile(io.BytesIO(arrays())) as whole:
            for name in whole.namelist():
                members[name] = whole.read(name)
        shape = shape.replace("10**12", str(10**12)).replace("10**3", "1000")
        old = members["pixels.npy"]
        header = old[:128].replace(b"(3, 16)", shape.encode())
        excess = len(header) - 128
        header = header[: -excess - 1] + b"\n" if excess > 0 else header[:-1].ljust(127) + b"\n"
        members["pixels.npy"] = header + old[128:]
        (tmp_path / "letters.npz").write_bytes(archive(members))
        with pytest.raises(ValueError, match=r"array 'pixels': (has shape|is not a NumPy array)"):
            load_ocr_letters(tmp_path)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (b"1\to\t2", b"x\to\t2", "line 1: id must be an integer, got b'x'"),
        (b"1\to\t2", b"1\to\t1_0", "line 1: next_id must be an integer, got b'1_0'"),
        (b"1\to\t2", b"1\to\t" + b"9" * 5000, "line 1: next_id must be an integer, got b'9999"),
        (b"2\t1\t4", b"2\t1\t4.5", "line 3: fold must be an integer, got b'4.5'"),
        (b"1\to\t2", b"1\to\t3", "line 1: does not name the next line as its next letter"),
        (b"2\tk", b"2\tK", "line 2: holds pixels other than 0 and 1, or letters other than a to z"),
        (b"4\t0\t1", b"4\t0 1", "line 3: is not a letter"),
    ],
)
def test_lines_of_letters(old, new, message, tmp_path):
    path = tmp_path / "letter.data"
    assert old in LETTERS
    path.write_bytes(LETTERS.replace(old, new, 1))
    with pytest.raises(ValueError, match=re.escape(f"{path}, ") + message):
        load_ocr_letters(tmp_path)


@pytest.mark.parametrize(
    "line, message",
    [
        (PAIR.replace(b"[1, 0]", b"[true, 0]"), "links that are not pairs of whole numbers"),
        (PAIR.replace(b"[1, 0]", b"[NaN, 0]"), "links that are not pairs of whole numbers"),
        (PAIR.replace(b"[1, 0]", b"[" + b"9" * 40 + b", 0]"), r"links the words \(9{40}, 0\)"),
        (PAIR.replace(b"[1, 0]", b"[" + b"9" * 5000 + b", 0]"), "is not JSON with"),
        (PAIR.replace(b"[[1, 0]]", b"null"), "links that are not pairs of whole numbers"),
        (PAIR.replace(b'"a"', b"7"), "has words that are not a list of text"),
        (b"[" * 100_000 + b"\n", "is not JSON with"),
    ],
)
def test_lines_of_alignments(line, message, tmp_path):
    path = tmp_path / "en-fr_hansards_train.jsonl"
    path.write_bytes(PAIR + line)
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 2: ") + f".*{message}"):
        load_word_alignment(tmp_path)


@pytest.mark.parametrize(
    "content, message",
    [
        ({"3": ANSWER | {"log_partition": float("nan")}}, "'3' must have a finite log_partition"),
        ({"3": ANSWER | {"log_partition": 10**400}}, "must map names .*'3': OverflowError"),
        ({"3": ANSWER | {"node_marginals": [0.5, 0.6, 0, 1]}}, "which sum to one"),
        ({"3": ANSWER | {"node_marginals": [1.5, -0.5]}}, "which sum to one"),
        ({"3": ANSWER | {"node_marginals": [0.5]}}, "which sum to one"),
        ({"../3": ANSWER}, "must map names of files"),
        ({"3" * 19: ANSWER}, "must map names of files"),
        ({"a\0003": ANSWER}, "must map names of files"),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_answers(content, message, tmp_path):
    folder = tmp_path / "cliques"
    folder.mkdir()
    (folder / "exact.json").write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ValueError, match=r"exact\.json.*" + message):
        load_mrf_instances(tmp_path)
