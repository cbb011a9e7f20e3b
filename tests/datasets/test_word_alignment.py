"""The loader of word alignments, on files made here and on the real ones."""

import json

import pytest

from sklearn_fw.datasets import load_word_alignment
from sklearn_fw.metrics import alignment_error_rate

PAIRS = [
    {"src_words": ["hear", "!"], "tgt_words": ["bravo", "!"], "alignment": [[1, 1], [0, 0]]},
    {
        "src_words": ["the", "potato"],
        "tgt_words": ["la", "pomme", "de", "terre"],
        "alignment": [[0, 0]],
        "possible": [[1, 3], [1, 1], [0, 0]],
        "source": "anything else",
    },
]


def write(folder, train, test, name="en-fr_hansards"):
    folder.mkdir(exist_ok=True)
    for suffix, pairs in (("train", train), ("valid", test)):
        lines = [pair if isinstance(pair, str) else json.dumps(pair) for pair in pairs]
        path = folder / f"{name}_{suffix}.jsonl"
        path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")


@pytest.mark.parametrize("folder", ["", "word_alignment"])
@pytest.mark.parametrize(
    ("corpus", "name"), [("hansards", "en-fr_hansards"), ("europarl", "en-fr_fr_golden")]
)
def test_files_made_here(tmp_path, monkeypatch, folder, corpus, name):
    write(tmp_path / folder, PAIRS, PAIRS[:1], name)
    monkeypatch.setenv("SKLEARN_FW_DATA", str(tmp_path))
    pairs = load_word_alignment(corpus=corpus)
    assert pairs.source_train == [["hear", "!"], ["the", "potato"]]
    assert pairs.target_train == [["bravo", "!"], ["la", "pomme", "de", "terre"]]
    assert pairs.sure_train == [[(0, 0), (1, 1)], [(0, 0)]]
    assert pairs.possible_train == [[(0, 0), (1, 1)], [(0, 0), (1, 1), (1, 3)]]
    assert (pairs.source_test, pairs.target_test) == ([["hear", "!"]], [["bravo", "!"]])
    assert pairs.sure_test == pairs.possible_test == [[(0, 0), (1, 1)]]
    assert [path.endswith(".jsonl") for path in pairs.filenames] == [True, True]
    assert "Och" in pairs.DESCR


def test_absent_files_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("SKLEARN_FW_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="SKLEARN_FW_DATA"):
        load_word_alignment()
    with pytest.raises(FileNotFoundError, match=r"\(europarl, train pairs\): looked for word_al"):
        load_word_alignment(tmp_path, corpus="europarl")
    with pytest.raises(ValueError, match="corpus must be one of 'europarl', 'hansards'; got 'xx'"):
        load_word_alignment(tmp_path, corpus="xx")


@pytest.mark.parametrize(
    ("corpus", "sizes", "n_links"),
    [("hansards", (436, 48), (3937, 439)), ("europarl", (90, 10), (926, 83))],
)
def test_real_files(data_home, corpus, sizes, n_links):
    try:
        pairs = load_word_alignment(data_home, corpus=corpus)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    for part, size, links in zip(("train", "test"), sizes, n_links):
        fields = [pairs[f"{field}_{part}"] for field in ("source", "target", "sure", "possible")]
        assert {len(field) for field in fields} == {size}
        assert sum(map(len, fields[2])) == links
        assert fields[3] == fields[2]
        assert all(isinstance(word, str) for sentence in fields[0] + fields[1] for word in sentence)
    # Words and links belong together: equal numbers are linked with each other.
    hits = [
        [(j, k) for j, k in links if source[j] == target[k] and source[j].isdigit()]
        for source, target, links in zip(pairs.source_train, pairs.target_train, pairs.sure_train)
    ]
    assert sum(map(len, hits)) >= (20 if corpus == "hansards" else 1)
    assert alignment_error_rate(pairs.sure_test, pairs.possible_test, pairs.sure_test) == 0.0
