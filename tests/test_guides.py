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

PAGES = ROOT / "docs" / "guide"
CODE = re.compile(
    r"\.\. literalinclude:: (?P<path>\S+)\n +:pyobject: (?P<name>\w+)"
    r"|\.\. code-block:: python\n\n(?P<block>(?:    .*\n|\n)+)"
)


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sequences_from_sequences(extra):
    torch = extra("torch", "torch")
    threads = torch.get_num_threads()
    names = run_page("seq2seq.rst")
    assert len(names["outputs"][0]) == 3
    assert names["value"].shape == (4,)
    assert torch.get_num_threads() == threads


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_submodular_functions(capsys):
    names = run_page("submodular.rst")
    table = [names["rank_less_worth"]((k >> np.arange(8) & 1).astype(bool)) for k in range(256)]
    assert names["result"].fun == pytest.approx(min(table))
    assert names["shortest"].success
    assert "[0 1 2 3 4] -3.0 -3.0" in capsys.readouterr().out


def tags_recipes(names):
    expected = [("2", "B-QTY"), ("cups", "B-UNIT"), ("brown", "B-FOOD"), ("sugar", "I-FOOD")]
    return (
        min(names["f1"], names["search"].best_score_) > 0.8
        and "lower(w)[0]=cups" in names["names"][names["row"].indices]
        and len(names["taggings"][0]) == 3
        and 0.1 < names["svm"].temperature_ < 1.0
        and names["probabilities"].shape == (4, len(names["svm"].classes_))
        and names["tag"]("2 cups brown sugar") == expected
    )


def fields_are_certified(names):
    gap = names["crf"].dual_gap_ / names["crf"].objective_
    return (
        0.0 <= gap <= names["crf"].tol_
        and np.abs(names["weights"] - names["peer"].coef_).max() < 1e-2
        and names["hinge"].temperature_ != 1.0
    )


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


# What the programs of each page have shown.
SHOWN = {
    "coming_from_crfsuite.rst": lambda n: n["tagger"].predict(n["sentences"])[0][0] == "B-NP",
    "coming_from_pgmpy.rst": lambda n: n["explanation"] == {"rain": "yes", "wet": "yes"}
    and np.allclose([n["posterior"]["yes"], n["evidence"]], [0.18 / 0.26, 0.26]),
    "conditional_random_fields.rst": fields_are_certified,
    "graph_cuts.rst": lambda n: n["svm"].score(n["X"][8:], n["y"][8:]) > 0.75,
    "tagging.rst": tags_recipes,
    "task_losses.rst": lambda n: n["costs"][0] < n["costs"][1],
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
def test_programs_of_a_page_show_this(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filters = "always" if page == "own_solver.rst" else "error"  # it has no certificate
    with warnings.catch_warnings():
        warnings.simplefilter(filters, ConvergenceWarning)
        assert SHOWN[page](run_page(page))


MORE_THAN_METHODS = {"own_domain.rst", "own_model.rst", "own_task_loss.rst"}


def test_every_page_on_adding_has_a_test_and_is_short():
    pages = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("own_*.rst")}
    assert set(pages) <= set(SHOWN)
    index = (PAGES / "index.rst").read_text(encoding="utf-8")
    for name, text in pages.items():
        assert name.removesuffix(".rst") in index
        assert "\nMethods\n" in text or name in MORE_THAN_METHODS
        assert len(text.splitlines()) <= 140


def test_a_cluster_and_files(extra, tmp_path, monkeypatch):
    extra("distributed", "distributed")
    monkeypatch.chdir(tmp_path)
    assert run_page("larger_than_memory.rst")


# Pages that a test above runs and checks, and those whose programs need an extra.
CHECKED = {
    "memorization.rst", "factor_graphs.rst", "submodular.rst", "seq2seq.rst",
    "larger_than_memory.rst", *SHOWN,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("page", sorted({path.name for path in PAGES.glob("*.rst")} - CHECKED))
def test_programs_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)
