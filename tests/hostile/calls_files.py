"""Valid calls of loaders and generators, on files made here."""

import functools
import gzip
import io
import json
import zipfile

import numpy as np

from sklearn_fw import datasets, random_fields

from . import files
from .calls import function

COLUMNS = "He PRP B-NP\nruns VBZ B-VP\n\nStop VB B-VP\n. . O\n\n" * 3
NETWORK = """network n { }
variable a { type discrete [ 2 ] { x, y }; }
variable b { type discrete [ 2 ] { x, y }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b | a ) { (x) 0.1, 0.9; (y) 0.6, 0.4; }
"""
WRITTEN = {
    ("path", "text"): "a file of that name is written",
    ("path", "code"): "a file of that name is written",
}
FIELD = """MARKOV
3
2 2 2
5
1 0
1 1
1 2
2 0 1
2 1 2

2
1.0 2.0
2
0.5 1.5
2
1.0 1.0
4
2.0 1.0 1.0 2.0
4
1.5 0.5 0.5 1.5
"""
PAIRS = [
    {"src_words": ["hear", "!"], "tgt_words": ["bravo", "!"], "alignment": [[1, 1], [0, 0]]},
    {
        "src_words": ["the", "potato"], "tgt_words": ["la", "pomme", "de", "terre"],
        "alignment": [[0, 0]], "possible": [[1, 3], [1, 1], [0, 0]],
    },
]  # fmt: skip
EXACT = {
    "clique_1": {
        "log_partition": 3.0, "node_marginals": [0.5, 0.5, 0.25, 0.75, 0.5, 0.5],
    }
}  # fmt: skip


@functools.cache
def folder():
    """A folder with all that the loaders read."""
    home = files.kept_folder()
    for part in ("train", "test"):
        (home / f"{part}.txt").write_text(COLUMNS)
    (home / "columns.txt.gz").write_bytes(gzip.compress(COLUMNS.encode()))
    with zipfile.ZipFile(home / "columns.zip", "w") as archive:
        archive.writestr("columns.txt", COLUMNS)
    (home / "field.uai").write_text(FIELD)
    (home / "net.bif").write_text(NETWORK)
    (home / "field.uai.evid").write_text("1 1 1\n")
    (home / "field.uai.MAR").write_text("MAR\n3 2 0.5 0.5 2 0.25 0.75 2 0.5 0.5\n")
    (home / "conll").mkdir()
    for part in ("train", "test"):
        (home / "conll" / f"{part}.txt.gz").write_bytes(gzip.compress(COLUMNS.encode()))
    (home / "fetched" / "conll2000").mkdir(parents=True)
    for part in ("train", "test"):
        path = home / "fetched" / "conll2000" / f"{part}.txt.gz"
        path.write_bytes(gzip.compress(COLUMNS.encode()))
    (home / "pairs").mkdir()
    for part in ("train", "valid"):
        text = "".join(json.dumps(pair) + "\n" for pair in PAIRS)
        (home / "pairs" / f"en-fr_hansards_{part}.jsonl").write_text(text)
    (home / "letters").mkdir()
    _write_letters(home / "letters" / "letter.data")
    (home / "compact" / "ocr").mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 2, (6, 128), dtype=np.uint8)
    np.savez(
        home / "compact" / "ocr" / "letters.npz",
        pixels=np.packbits(pixels, axis=1), labels=np.array([0, 1, 2, 3, 4, 5], np.uint8),
        word=np.array([1, 1, 1, 2, 2, 3], np.int32), test=np.array([0, 0, 0, 1, 1, 0], bool),
    )  # fmt: skip
    (home / "fields" / "cliques").mkdir(parents=True)
    (home / "fields" / "cliques" / "exact.json").write_text(json.dumps(EXACT))
    (home / "fields" / "cliques" / "clique_1.uai").write_text(FIELD)
    return home


def _write_letters(path):
    pixels = np.random.default_rng(0).integers(0, 2, (5, 128))
    lines, k = [], 0
    for word, text in enumerate(("abc", "no"), start=1):
        for position, letter in enumerate(text, start=1):
            following = -1 if position == len(text) else k + 2
            head = [k + 1, letter, following, word, position, word % 2]
            lines.append("\t".join(map(str, [*head, *pixels[k]])) + "\t\n")
            k += 1
    path.write_text("".join(lines))


def _without_network(make):
    """The entry of `load_conll2000`, with an address where nobody answers."""
    import dataclasses
    import hashlib
    from unittest import mock

    from sklearn_fw.datasets import _conll, _files
    from sklearn_fw.datasets._files import Remote

    def run(a):
        digest = hashlib.sha256(COLUMNS.encode()).hexdigest()
        remotes = {
            part: Remote(f"http://127.0.0.1:9/{part}.txt.gz", 10_000, digest)
            for part in ("train", "test")
        }
        with (
            mock.patch.object(_conll, "_REMOTE", remotes),
            mock.patch.object(_files, "N_RETRIES", 0),
        ):
            return datasets.load_conll2000(**a)

    (entry,) = function(datasets.load_conll2000, make)
    return [dataclasses.replace(entry, run=run)]


def field():
    return random_fields.load_uai(folder() / "field.uai")


def entries():
    def home(name):
        return lambda: folder() / name

    return [
        *function(
            datasets.load_conll,
            lambda: {
                "source": folder() / "train.txt", "columns": (0, 1),
                "separator": " ", "comment": "#", "encoding": "utf-8",
            },
            variants={
                "source": [
                    home("columns.txt.gz"), home("columns.zip"), lambda: io.StringIO(COLUMNS),
                ],
                "columns": [None], "separator": [None],
            },
        ),
        *_without_network(
            lambda: {"data_home": folder() / "fetched", "download": False, "return_X_y": False},
        ),
        *function(
            datasets.load_mrf_instances,
            lambda: {"data_home": folder() / "fields", "name": "cliques"},
        ),
        *function(
            datasets.load_ocr_letters,
            lambda: {
                "data_home": folder() / "letters", "split": "small", "dtype": np.float64,
                "return_X_y": False,
            },
            variants={"data_home": [home("compact")], "split": [None, "large"]},
        ),
        *function(
            datasets.load_word_alignment,
            lambda: {"data_home": folder() / "pairs", "corpus": "hansards"},
        ),
        *function(
            datasets.make_digit_inpainting,
            lambda: {"patch": 2, "n_test": 5, "random_state": 0}, slow=True,
        ),
        *function(
            datasets.make_digit_words,
            lambda: {
                "n_train": 3, "n_test": 2, "noise": 0.3, "min_length": 2, "max_length": 3,
                "bias": True, "n_valid": 1, "random_state": 0, "return_X_y": False,
            },
        ),
        *function(
            datasets.make_ising,
            lambda: {
                "graph": "grid", "size": (2, 3), "coupling": 1.0, "field": 1.0,
                "attractive": False, "random_state": 0,
            },
            variants={"graph": ["bipartite"]},
        ),
        *function(
            datasets.make_label_grids,
            lambda: {
                "pattern": "boxes", "n_samples": 2, "shape": (4, 5), "noise": 0.3,
                "random_state": 0,
            },
        ),
        *function(
            datasets.make_stick_figures,
            lambda: {
                "n_samples": 2, "n_rows": 32, "n_columns": 33, "noise": 0.3, "n_distractors": 1,
                "random_state": 0,
            },
        ),
        *function(
            datasets.make_snakes,
            lambda: {
                "n_samples": 2, "length": 3, "n_test": 1, "margin": 1, "form": "grid",
                "random_state": 0, "return_X_y": False,
            },
            variants={"form": ["graph", "edge_features"]},
        ),
        *function(random_fields.load_bif, lambda: {"path": folder() / "net.bif"}),
        *function(
            random_fields.load_uai, lambda: {"path": folder() / "field.uai", "kind": "field"}
        ),
        *function(
            random_fields.save_bif,
            lambda: {
                "graph": random_fields.FactorGraph([1, 1]),
                "path": str(files.fresh_folder() / "out.bif"),
            },
            allows=WRITTEN,
        ),
        *function(
            random_fields.save_uai,
            lambda: {
                "data": np.array([[0.5, 0.5], [0.25, 0.75]]),
                "path": str(files.fresh_folder() / "out.MAR"), "kind": "auto",
            },
            variants={"kind": ["MAR"], "data": [1.5, np.array([0, 1]), {0: 1}, field()]},
            allows={**WRITTEN, ("data", "no_axis"): "a number is log Z"},
        ),
    ]  # fmt: skip
