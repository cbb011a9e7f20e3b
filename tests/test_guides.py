"""The programs of guide pages run, block after block, as a reader would run them."""

import re
import textwrap

import numpy as np
import pytest

from _package import ROOT

FOODS = [
    "onion", "garlic", "olive oil", "butter", "sugar", "brown sugar", "flour", "ground cloves",
    "orange juice", "rice", "sour cream", "tomato paste", "red wine", "parsley",
]  # fmt: skip
QUANTITIES = ["1", "2", "3", "1/2", "1 1/2", "about 2", "250"]
UNITS = ["cup", "cups", "tablespoon", "cloves", "pound", "pinch of", "can of"]


def blocks(name):
    """Python blocks of a guide page, in order."""
    text = (ROOT / "docs" / "guide" / name).read_text(encoding="utf-8")
    found = re.findall(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)", text)
    return [textwrap.dedent(block) for block in found]


def write_recipes(path, rng, n_lines):
    """Lines of recipes in columns: words, and tags in the usual coding."""
    sentences = []
    for _ in range(n_lines):
        parts = [("QTY", QUANTITIES), ("UNIT", UNITS), ("FOOD", FOODS)]
        rows = []
        for tag, texts in parts[rng.integers(3) :]:
            for position, word in enumerate(rng.choice(texts).split()):
                # Some mistakes, as annotators make them: perfect data need no temperature.
                full = f"{'I' if position else 'B'}-{tag}" if rng.random() > 0.03 else "O"
                rows.append(f"{word} {full}")
        sentences.append("\n".join(rows))
    path.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")


def test_task_losses():
    names, found = {}, blocks("task_losses.rst")
    assert len(found) == 3
    for block in found:
        exec(compile(block, "task_losses.rst", "exec"), names)
    careful, plain = names["costs"]
    assert careful < plain
    assert names["value"] == 4.0
    assert names["svm"].model_._training_loss.power == 2.0
    assert names["reranker"].loss(names["lists"], names["best"]).max() <= 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_from_sentences_to_a_tagger(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for part, n_lines in [("train", 80), ("dev", 60), ("test", 40)]:
        write_recipes(tmp_path / f"{part}.conll", rng, n_lines)
    names, found = {}, blocks("tagging.rst")
    assert len(found) == 10
    for block in found:
        exec(compile(block, "tagging.rst", "exec"), names)
    assert names["f1"] > 0.8
    printed = capsys.readouterr().out
    assert "lower(w)[0]=cups" in printed
    assert len(names["taggings"][0]) == 3
    assert names["search"].best_score_ > 0.8
    assert names["svm"].temperature_ != 1.0
    assert names["probabilities"].shape == (4, len(names["svm"].classes_))
    expected = [("2", "B-QTY"), ("cups", "B-UNIT"), ("brown", "B-FOOD"), ("sugar", "I-FOOD")]
    assert names["tag"]("2 cups brown sugar") == expected


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_a_domain_of_ones_own(capsys):
    names, found = {}, blocks("own_domain.rst")
    assert len(found) == 4
    for block in found:
        exec(compile(block, "own_domain.rst", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    result, rough = names["result"], names["rough"]
    assert result.success
    assert rough.success
    assert abs(result.fun - rough.fun) <= result.dual_gap + rough.dual_gap
    gradient = np.arange(10.0) - 7
    atom = names["Windows"](10, 3).lmo(gradient)
    assert atom.dot(gradient) == gradient[:3].sum() == gradient @ atom.to_array()
