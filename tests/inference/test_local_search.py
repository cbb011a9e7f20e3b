"""Iterated local search, and best labelings of random fields."""

import numpy as np
import pytest

from _mrf_references import labelings, random_mrf
from sklearn_fw.datasets import make_ising
from sklearn_fw.inference import TRWS, BestOf, Elimination, IteratedLocalSearch
from sklearn_fw.random_fields import PairwiseMRF, load_uai

ROUNDS = 300


# ---- the oracle ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_way_out_of_what_is_forbidden(rng):
    """Proper colors of a ring with chords, from a start of one color."""
    n = 20
    edges = [(i, (i + d) % n) for i in range(n) for d in (1, 2)]
    table = np.where(np.eye(3), -np.inf, 0.0)
    mrf = PairwiseMRF(rng.normal(size=(n, 3)), edges, table)
    _, best, _ = Elimination().argmax(mrf.scores())
    _, value, _ = IteratedLocalSearch().argmax(mrf.scores(), start=[0] * n)
    assert value == pytest.approx(best, abs=1e-9)
    nothing = PairwiseMRF(
        np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], np.where(np.eye(2), -np.inf, 0)
    )
    assert IteratedLocalSearch(ROUNDS).argmax(nothing.scores())[1] == -np.inf


def test_the_same_seed_gives_the_same_labels_and_none_is_worse_than_the_start(rng):
    scores = make_ising("grid", (12, 12), coupling=4.0, random_state=1).scores()
    one, two = (IteratedLocalSearch(ROUNDS).argmax(scores) for _ in range(2))
    np.testing.assert_array_equal(one[0], two[0])
    best, value, _ = Elimination().argmax(scores)
    assert IteratedLocalSearch(ROUNDS).argmax(scores, best)[1] == pytest.approx(value, rel=1e-14)
    assert IteratedLocalSearch(10**9, time_limit=0.05).argmax(scores)[1] <= value + 1e-9


def test_dense_graphs_are_searched_too():
    """Trees in a clique are pairs, and messages alone may leave it far from the best labeling."""
    n_missed = 0
    for seed in range(8):
        scores = make_ising("clique", 20, random_state=seed).scores()
        best = Elimination().argmax(scores)[1]
        n_missed += TRWS().argmax(scores)[1] < best - 1e-6
        assert BestOf().argmax(scores)[1] == pytest.approx(best, abs=1e-9)
    assert n_missed > 0


def test_mixed_grids_come_close_to_the_best():
    """Messages and single changes leave 5 to 10 % on such grids; half of it at least is closed."""
    closed = []
    for seed in range(6):
        scores = make_ising("grid", (14, 14), coupling=4.0, random_state=seed).scores()
        best = Elimination().argmax(scores)[1]
        before = BestOf(["qpbo", "trws", "icm"]).argmax(scores)[1]
        after = BestOf().argmax(scores)[1]
        assert before <= after <= best + 1e-9
        closed.append((after - before) / (best - before))
    assert np.mean(closed) > 0.6


# ---- most probable labelings --------------------------------------------------------------------


@pytest.mark.parametrize(
    "oracle", ["auto", "elimination", "approx", "milp", lambda s: s.unary.argmax(1)]
)
def test_map_says_what_it_knows(oracle, rng):
    for _ in range(5):
        mrf = random_mrf(rng, (2, 3, 2, 4))
        X = labelings(mrf.n_states)
        best = mrf.score(X).max()
        result = mrf.map(oracle)
        assert result.value == mrf.score(result.labels[None])[0] <= best + 1e-9
        assert result.bound >= best - 1e-9
        if oracle in ("auto", "elimination", "milp"):
            assert result.exact
            assert result.value == pytest.approx(best, abs=1e-9)
        if callable(oracle):
            assert result.bound == np.inf
            assert not result.exact


def test_map_of_wide_fields_and_little_time():
    mrf = make_ising("grid", (30, 30), coupling=4.0, random_state=0)
    result = mrf.map(time_limit=1.0)
    assert result.choice.startswith("approximate: ")
    assert TRWS().argmax(mrf.scores())[1] < result.value < result.bound
    short = make_ising("grid", (18, 18), coupling=4.0, random_state=0).map(time_limit=1e-3)
    assert short.choice.startswith("approximate: ")
    assert short.bound > 1013.3
    again = mrf.map("icm", start=result.labels)
    assert again.value >= result.value


def test_map_refuses_contradictions():
    table = np.where(np.eye(2), -np.inf, 0.0)
    triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], table)
    with pytest.raises(ValueError, match="potentials of -inf forbid every labeling"):
        triangle.map()
    with pytest.raises(ValueError, match="no labeling was found that the potentials of -inf allow"):
        triangle.map("icm")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Segmentation_12", "Segmentation_13", "wcsp_15"])
def test_labelings_of_a_competition_are_reached(data_file, tmp_path, name):
    import gzip

    path = tmp_path / "model.uai"
    path.write_bytes(gzip.decompress(data_file(f"uai/MAP/{name}.uai.gz").read_bytes()))
    mrf = load_uai(path)
    given = load_uai(data_file(f"uai/MAP/{name}.uai.MAP"), "solution")
    result = mrf.map(time_limit=20)
    assert mrf.score(given[None])[0] <= result.value + 1e-9 <= result.bound + 1e-6
