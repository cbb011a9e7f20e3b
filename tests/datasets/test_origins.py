"""Loaders say where files come from, under which terms, and how to recognize them."""

import hashlib
import json
import re

import pytest

from sklearn_fw import datasets
from sklearn_fw.datasets import _conll, _ocr_letters, _random_fields, _word_alignment

LOADERS = {
    "load_conll2000": (_conll.ORIGIN, "conll2000/train.txt"),
    "load_mrf_instances": (_random_fields.ORIGIN, "mrf/cliques/exact.json"),
    "load_ocr_letters": (_ocr_letters.ORIGIN, "ocr/letter.data"),
    "load_word_alignment": (_word_alignment.ORIGIN, "word_alignment/en-fr_hansards_train.jsonl"),
}


def test_all_loaders_of_sets_are_here():
    loaders = {name for name in datasets.__all__ if name.startswith("load_")}
    assert loaders == {*LOADERS, "load_conll"}


def says_all(text, origin):
    assert "Source: " in text
    assert "Terms: " in text
    assert "not part of this package" in " ".join(text.split())
    assert origin.checksums
    for name, digest in origin.checksums.items():
        assert f"  {digest}  {name}\n" in text
        assert re.fullmatch("[0-9a-f]{64}", digest)


@pytest.mark.parametrize("name", LOADERS)
def test_errors_say_where_files_come_from(name, tmp_path):
    origin, file = LOADERS[name]
    for home in (None, tmp_path):  # no folder at all, then an empty one
        with pytest.raises(FileNotFoundError) as caught:
            getattr(datasets, name)(home)
        says_all(str(caught.value), origin)
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("damaged\nbecause of\n", encoding="utf-8")
    (path.parent / "test.txt").write_text("a b c\n")  # the second file of CoNLL-2000
    with pytest.raises(
        ValueError, match=re.escape(path.name) if name != "load_conll2000" else "col"
    ) as caught:
        getattr(datasets, name)(tmp_path)
    says_all("\n".join(caught.value.__notes__), origin)


@pytest.mark.parametrize("name", LOADERS)
def test_real_files_have_these_checksums(name, data_home):
    origin, file = LOADERS[name]
    try:
        bunch = getattr(datasets, name)(data_home)
    except FileNotFoundError:
        pytest.skip(f"no files of {name} in the folder of real data")
    says_all(bunch.DESCR, origin)
    found = 0
    for file_name, digest in origin.checksums.items():
        folder = data_home / file.split("/")[0]
        if file_name.endswith("joined by number"):
            folder /= file_name.split("/")[0]
            stems = json.loads((folder / "exact.json").read_text(encoding="utf-8"))
            stems = sorted(stems, key=lambda stem: int(re.search(r"\d+$", stem)[0]))
            parts = [folder / f"{stem}.uai" for stem in stems]
        else:
            parts = [folder / file_name]
        if all(part.is_file() for part in parts):
            content = b"".join(part.read_bytes() for part in parts)
            assert hashlib.sha256(content).hexdigest() == digest, file_name
            found += 1
    assert found
