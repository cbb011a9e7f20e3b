"""The programs of guide pages run, block after block, as a reader would run them."""

import importlib.util
import re
import sys
import textwrap
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _package import ROOT

FOODS = [
    "onion", "garlic", "olive oil", "butter", "sugar", "brown sugar", "flour", "ground cloves",
    "orange juice", "rice", "sour cream", "tomato paste", "red wine", "parsley",
]  # fmt: skip
QUANTITIES = ["1", "2", "3", "1/2", "1 1/2", "about 2", "250"]
UNITS = ["cup", "cups", "tablespoon", "cloves", "pound", "pinch of", "can of"]


PAGES = ROOT / "docs" / "guide"
CODE = re.compile(
    r"\.\. literalinclude:: (?P<path>\S+)\n +:pyobject: (?P<name>\w+)"
    r"|\.\. code-block:: python\n\n(?P<block>(?:    .*\n|\n)+)"
)


def blocks(name):
    """Python blocks of a guide page, in order."""
    found = CODE.finditer((PAGES / name).read_text(encoding="utf-8"))
    return [textwrap.dedent(match["block"]) for match in found if match["block"]]


def run_page(name):
    """All names after the programs of a page, with those that it takes from files of the tests."""
    names = {"__name__": "__main__"}
    for match in CODE.finditer((PAGES / name).read_text(encoding="utf-8")):
        if match["block"]:
            exec(compile(textwrap.dedent(match["block"]), name, "exec"), names)
        else:
            names[match["name"]] = getattr(
                module_at((PAGES / match["path"]).resolve()), match["name"]
            )
    return names


def module_at(path):
    """A file of the tests as a module, the same for each call."""
    known = "shown_" + "_".join(path.relative_to(ROOT).with_suffix("").parts)
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, path)
        sys.modules[known] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[known]


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sequences_from_sequences(extra):
    torch = extra("torch", "torch")
    threads = torch.get_num_threads()
    names = run_page("seq2seq.rst")
    assert len(names["outputs"][0]) == 3
    assert names["model"].n_iter_ == 2
    assert names["value"].shape == (4,)
    assert torch.get_num_threads() == threads


def test_task_losses():
    careful, plain = run_page("task_losses.rst")["costs"]
    assert careful < plain


@pytest.mark.slow
def test_memorization(capsys):
    names = run_page("memorization.rst")
    report = names["report"]
    assert report.random_.critical_ratio[-1] > 2 * report.real_.critical_ratio[-1]
    assert report.random_.train_accuracy[-1] > 0.5 > report.random_.valid_accuracy[-1]
    assert names["noisy"].changed[names["suspects"]].mean() > 0.9
    assert len(capsys.readouterr().out.splitlines()) >= 4


def test_factor_graphs():
    names = run_page("factor_graphs.rst")
    assert names["best"].exact or names["best"].bound >= names["best"].value
    exact = names["exact"]
    assert names["upper"] >= np.log(1.0) - 1e-9  # a Bayesian network: log Z is zero
    joint = np.exp(exact.log_partition_)
    dry, rainy = 0.7 * 0.01 + 0.3 * 0.9, 0.7 * 0.8 + 0.3 * 0.99
    assert joint == pytest.approx(0.8 * dry + 0.2 * rainy)
    assert names["marginals"][2].tolist() == [0.0, 1.0]


def test_coming_from_pgmpy():
    names = run_page("coming_from_pgmpy.rst")
    assert names["posterior"]["yes"] == pytest.approx(0.18 / 0.26)
    assert names["evidence"] == pytest.approx(0.26)
    assert names["explanation"] == {"rain": "yes", "wet": "yes"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_submodular_functions(capsys):
    names = run_page("submodular.rst")
    table = [names["rank_less_worth"]((k >> np.arange(8) & 1).astype(bool)) for k in range(256)]
    assert names["result"].fun == pytest.approx(min(table))
    assert names["shortest"].success
    assert "[0 1 2 3 4] -3.0 -3.0" in capsys.readouterr().out


def test_graph_cuts():
    names = run_page("graph_cuts.rst")
    assert names["svm"].score(names["X"][8:], names["y"][8:]) > 0.75


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


def domains_agree(names):
    result, rough = names["result"], names["rough"]
    gradient = np.arange(10.0) - 7
    atom = names["Windows"](10, 3).lmo(gradient)
    return (
        result.success
        and rough.success
        and abs(result.fun - rough.fun) <= result.dual_gap + rough.dual_gap
        and atom.dot(gradient) == gradient[:3].sum() == gradient @ atom.to_array()
    )


# What the example of each page has shown, for a parameter of which there are built-in objects.
SHOWN = {
    "own_loss.rst": lambda n: n["high"].converged_ and abs(n["share"] - 0.9) < 0.03,
    "own_penalty.rst": lambda n: n["model"].converged_ and 5 <= n["n_kept"] < 15,
    "own_task_loss.rst": lambda n: n["value"] == 4.0 and n["svm"].converged_,
    "own_solver.rst": lambda n: n["accuracy"] > 0.9,
    "own_model.rst": lambda n: n["score"] > 0.88 and n["svm"].converged_,
    "own_black_box.rst": lambda n: n["score"] > 0.9 and n["svm"].converged_,
    "own_oracle.rst": lambda n: n["svm"].converged_ and all(
        np.all(np.diff(labels) >= 0) for labels in n["predicted"]
    ),
    "own_domain.rst": domains_agree,
    "own_marginals.rst": lambda n: n["error"] < 0.05 and n["completed"].shape == (1, 4),
}  # fmt: skip


@pytest.mark.parametrize("page", SHOWN)
def test_how_to_add(page):
    filters = "always" if page == "own_solver.rst" else "error"  # it has no certificate
    with warnings.catch_warnings():
        warnings.simplefilter(filters, ConvergenceWarning)
        assert SHOWN[page](run_page(page))


MORE_THAN_METHODS = {"own_domain.rst", "own_model.rst", "own_task_loss.rst"}


def test_every_page_on_adding_has_a_test_and_is_short():
    pages = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("own_*.rst")}
    assert set(pages) == set(SHOWN)
    index = (PAGES / "index.rst").read_text(encoding="utf-8")
    for name, text in pages.items():
        assert name.removesuffix(".rst") in index
        assert "\nMethods\n" in text or name in MORE_THAN_METHODS
        assert len(text.splitlines()) <= 140


def test_a_page_on_conditional_random_fields_runs():
    names = run_page("conditional_random_fields.rst")
    gap = names["crf"].dual_gap_ / names["crf"].objective_
    assert 0.0 <= gap <= names["crf"].tol_
    assert np.abs(names["weights"] - names["peer"].coef_).max() < 1e-2
    assert names["hinge"].temperature_ != 1.0


# Pages that a test above runs and checks, and those whose programs need an extra.
CHECKED = {
    "task_losses.rst", "memorization.rst", "factor_graphs.rst", "coming_from_pgmpy.rst",
    "submodular.rst", "graph_cuts.rst", "tagging.rst", "conditional_random_fields.rst",
    "seq2seq.rst", *SHOWN,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("page", sorted({path.name for path in PAGES.glob("*.rst")} - CHECKED))
def test_programs_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)
