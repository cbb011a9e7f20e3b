"""Models of the UAI competition with their answers, and answers written in the same forms."""

import math

import numpy as np
import pytest

from sklearn_fw.random_fields import ExactMarginals, FactorGraph, PairwiseMRF, load_uai, save_uai

SUMS = [
    "Alchemy_11", "CSP_12", "DBN_11", "Grids_12", "ObjectDetection_11", "Pedigree_11",
    "Pedigree_12", "Promedus_11", "Promedus_12", "Segmentation_12",
]  # fmt: skip
LARGER = {
    "Alchemy",
    "CSP_12",
    "Pedigree",
    "Promedus",
    "Promedas",
    "linkage",
    "relational",
    "wcsp_11",
}


def conditioned(data_file, kind, name):
    observed = load_uai(data_file(f"uai/{kind}/{name}.uai.evid"), "evidence")
    field = load_uai(data_file(f"uai/{kind}/{name}.uai.gz"))
    return field.condition(observed) if observed else field


@pytest.mark.slow
def test_all_models_load(data_file):
    paths = sorted(data_file("uai").glob("*/*.uai.gz"))
    assert len(paths) == 45
    for path in paths:
        field = load_uai(path)
        larger = any(path.name.startswith(name) for name in LARGER)
        assert type(field) is (FactorGraph if larger else PairwiseMRF)


@pytest.mark.parametrize("name", SUMS)
def test_sums_to_the_digits_of_the_files(name, data_file):
    field = conditioned(data_file, "PR", name)
    exact = ExactMarginals().fit(field)
    digits = data_file(f"uai/PR/{name}.uai.PR").read_text().split()[1]
    unit = 10.0 ** -len(digits.partition(".")[2])
    assert exact.log_partition_ / math.log(10) == pytest.approx(float(digits), abs=0.51 * unit)
    expected = load_uai(data_file(f"uai/MAR/{name}.uai.MAR"), "solution")
    found = field.complete_marginals(exact.marginals_)
    for block, row in zip(found, expected, strict=True):
        np.testing.assert_allclose(block, row, rtol=0, atol=1e-6)


def test_a_file_that_contradicts_itself(data_file):
    """No assignment of numbers reaches the log Z that comes with this model."""
    field = conditioned(data_file, "PR", "relational_3")
    bound = field.constant + sum(np.logaddexp.reduce(block) for block in field.unary)
    bound += sum(table.max() for table in field.tables)
    assert load_uai(data_file("uai/PR/relational_3.uai.PR"), "solution") > bound + 500
    assert ExactMarginals().fit(field).log_partition_ < bound


@pytest.mark.slow
def test_best_labeling_of_a_network(data_file):
    field = conditioned(data_file, "MAP", "Promedas_12")
    given = load_uai(data_file("uai/MAP/Promedas_12.uai.MAP"), "solution")
    best = field.map("milp")
    assert best.value >= field.score(given[field.variables][None])[0] - 1e-6
    assert best.bound >= best.value


def test_factor_graphs_are_written_and_read(rng, tmp_path):
    table = rng.normal(size=(2, 3, 2))
    table[0, 0, 0] = -np.inf
    graph = FactorGraph([2, 3, 2], [([2, 0, 1], table.transpose(2, 0, 1)), ([1], [0, 1.0, 2])])
    path = tmp_path / "a.uai"
    save_uai(graph, path)
    again = load_uai(path)
    np.testing.assert_allclose(again.theta, graph.theta, rtol=1e-12, atol=1e-12)
    assert again.scopes == graph.scopes
    save_uai(graph, path)
    np.testing.assert_allclose(load_uai(path).condition({0: 1}).theta[:5], [0, 1, 2, 0, 0])


@pytest.mark.parametrize(
    ("solution", "kind"),
    [
        (-12.345678901234567, "auto"),
        (np.float64(700.0), "PR"),
        ([[0.25, 0.75], [1.0], [0.1, 0.2, 0.7]], "auto"),
        ([0, 3, 1], "auto"),
        (np.array([1, 0]), "MPE"),
        (np.array([[0.5, 0.5], [0.0, 1.0]]), "MAR"),
    ],
)
def test_answers_are_written_and_read(solution, kind, tmp_path):
    path = tmp_path / "a"
    save_uai(solution, path, kind)
    again = load_uai(path, "solution")
    if isinstance(again, float):
        assert again == pytest.approx(float(solution), rel=1e-14)
    else:
        for row, wanted in zip(again, solution, strict=True):
            np.testing.assert_array_equal(row, wanted)
    if kind != "auto":
        assert path.read_text().startswith(kind)


def test_evidence_is_written_and_read(tmp_path):
    path = tmp_path / "a.evid"
    for observed in ({}, {3: 1, 0: 2}):
        save_uai(observed, path)
        assert load_uai(path, "evidence") == observed


@pytest.mark.parametrize(
    ("solution", "kind", "message"),
    [
        ([[0.5, 0.6]], "auto", r"data\[0\] must hold probabilities that sum to one"),
        ([0, -1], "MAP", "data must hold one state >= 0 for each variable for MAP"),
        ([1.0, 2.0], "PR", r"data must be a number for PR, got shape \(2,\)"),
        (-math.inf, "PR", "data"),
        (1.0, "LOG", "kind"),
    ],
)
def test_answers_that_make_no_sense(solution, kind, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        save_uai(solution, tmp_path / "a", kind)
