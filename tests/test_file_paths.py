"""Paths of readers: what is none, and homes of nobody."""

import pytest

from sklearn_fw.datasets import (
    load_conll,
    load_conll2000,
    load_mrf_instances,
    load_ocr_letters,
    load_word_alignment,
)
from sklearn_fw.random_fields import (
    FactorGraph,
    PairwiseMRF,
    load_uai,
    save_bif,
    save_uai,
)

PATHS = {
    "load_conll": (load_conll, "source"),
    "load_conll2000": (load_conll2000, "data_home"),
    "load_mrf_instances": (load_mrf_instances, "data_home"),
    "load_ocr_letters": (load_ocr_letters, "data_home"),
    "load_word_alignment": (load_word_alignment, "data_home"),
    "load_conll2000, download": (lambda p: load_conll2000(p, download=True), "data_home"),
    "load_uai": (load_uai, "path"),
    "from_uai": (PairwiseMRF.from_uai, "path"),
    "save_bif": (lambda p: save_bif(FactorGraph([1]), p), "path"),
    "save_uai": (lambda p: save_uai(PairwiseMRF([[0.0, 1.0]]), p), "path"),
}


NO_PATHS = [None, 3, 2.5, b"a.txt", ["a.txt"], object(), {}, "", "a\0b"]


@pytest.mark.parametrize(
    "name, path",
    # As data_home, None means the folder of the environment or of scikit-learn.
    [(n, p) for n in PATHS for p in NO_PATHS if p is not None or PATHS[n][1] != "data_home"],
)
def test_what_is_no_path(name, path):
    read, parameter = PATHS[name]
    kind = ValueError if isinstance(path, str) else TypeError
    with pytest.raises(kind, match=f"^{parameter} must be "):
        read(path)


def test_homes_of_nobody():
    with pytest.raises(ValueError, match="path='~nobody-like-this/a' names no folder"):
        load_uai("~nobody-like-this/a")
