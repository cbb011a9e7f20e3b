"""Generated random fields follow their recipe; stored ones agree with brute force."""

import itertools
import json

import numpy as np
import pytest

from sklearn_fw.datasets import load_mrf_instances, make_ising
from sklearn_fw.random_fields import ExactMarginals, PairwiseMRF, save_uai

MAKERS = {
    "clique": lambda **options: make_ising("clique", 7, **options),
    "grid": lambda **options: make_ising("grid", (3, 4), **options),
    "bipartite": lambda **options: make_ising("bipartite", (3, 5), **options),
}


def labelings(n_variables):
    return np.array(list(itertools.product([0, 1], repeat=n_variables)))


def numbers(mrf):
    """Fields and couplings; the score of spins must have no constant."""
    h, J, constant = mrf.to_ising()
    assert constant == pytest.approx(0.0, abs=1e-13)
    assert mrf.constant == 0.0
    return h, J


class TestIsing:
    def test_clique(self):
        mrf = make_ising("clique", 40, coupling=3.0, field=0.5, random_state=0)
        assert mrf.edges.tolist() == [list(pair) for pair in itertools.combinations(range(40), 2)]
        h, J = numbers(mrf)
        rng = np.random.RandomState(0)
        np.testing.assert_allclose(h, 0.5 * rng.uniform(-1, 1, 40), rtol=1e-12)
        np.testing.assert_allclose(J, 3.0 * rng.uniform(-1, 1, 780), rtol=1e-12)

    @pytest.mark.parametrize("attractive", [False, True])
    def test_grid(self, attractive):
        options = {"coupling": 4.0, "attractive": attractive}
        mrf = make_ising("grid", (6, 9), **options, random_state=np.random.RandomState(4))
        row, column = np.divmod(mrf.edges, 9)
        steps = np.column_stack([np.diff(row), np.diff(column)])
        assert set(map(tuple, steps.tolist())) == {(0, 1), (1, 0)}
        assert mrf.n_edges == 6 * 8 + 5 * 9
        h, J = numbers(mrf)
        assert abs(h).max() <= 1.0
        assert (J.min() >= 0) == attractive
        assert 3.5 < abs(J).max() <= 4.0
        repeated = make_ising("grid", (6, 9), **options, random_state=4)
        np.testing.assert_array_equal(repeated.theta, mrf.theta)

    def test_rbm(self):
        mrf = make_ising("bipartite", (30, 50), coupling=0.5, field=2.0, random_state=0)
        assert mrf.edges.tolist() == [[i, j] for i in range(30) for j in range(30, 80)]
        h, J = numbers(mrf)
        assert J.std() == pytest.approx(0.5, rel=0.05)
        assert h.std() == pytest.approx(2.0, rel=0.3)

    @pytest.mark.parametrize("name", MAKERS)
    def test_log_probability_of_spins(self, name):
        mrf = MAKERS[name](random_state=1)
        h, J = numbers(mrf)
        X = labelings(mrf.n_variables)
        spins = 2 * X - 1
        i, j = mrf.edges.T
        expected = spins @ h + (spins[:, i] * spins[:, j]) @ J
        np.testing.assert_allclose(mrf.score(X), expected, rtol=0, atol=1e-12)

    def test_smallest(self):
        for graph, size in (("clique", 1), ("grid", (1, 1)), ("bipartite", (1, 1))):
            mrf = make_ising(graph, size)
            assert mrf.n_edges == mrf.n_variables - 1
        np.testing.assert_array_equal(make_ising(size=3, coupling=0, field=0).theta, 0.0)

    @pytest.mark.parametrize(
        "params, message",
        [
            ({"coupling": -1.0}, "coupling == -1.0, must be >= 0"),
            ({"graph": "grid", "size": [5]}, "size must be a list of 2 integers for graph='grid'"),
            ({"graph": "bipartite", "size": (5, 0)}, "an entry of size == 0, must be >= 1"),
        ],
    )
    def test_wrong_parameters_are_refused(self, params, message):
        with pytest.raises(ValueError, match=message):
            make_ising(**params)


@pytest.fixture
def small_home(tmp_path):
    """A folder with three small instances, and what is known of each: {number: (mrf, entry)}."""
    folder = tmp_path / "mrf" / "cliques"
    folder.mkdir(parents=True)
    instances = {}
    for number in (820, 3, 101):
        mrf = make_ising("clique", 3, random_state=number)
        score = mrf.score(labelings(3))
        log_z = np.logaddexp.reduce(score)
        p = np.exp(score - log_z) @ labelings(3)
        known = {"log_partition": log_z, "node_marginals": np.column_stack([1 - p, p]).ravel()}
        save_uai(mrf, folder / f"{number}.uai")
        instances[number] = mrf, {k: np.asarray(v).tolist() for k, v in known.items()}
    answers = {str(number): known for number, (_, known) in instances.items()}
    (folder / "exact.json").write_text(json.dumps(answers))
    return tmp_path, instances


def assert_exact(mrf, log_partition, marginals):
    exact = ExactMarginals().fit(mrf)
    assert exact.log_partition_ == pytest.approx(log_partition, rel=6e-6)
    np.testing.assert_allclose(marginals, exact.marginals_, rtol=0, atol=2e-6)


class TestInstances:
    @pytest.mark.parametrize("given", ["home", "mrf", "environment"])
    def test_read(self, given, small_home, monkeypatch):
        home, instances = small_home
        if given == "environment":
            monkeypatch.setenv("SKLEARN_FW_DATA", str(home))
        data_home = {"home": home, "mrf": home / "mrf", "environment": None}[given]
        found = load_mrf_instances(data_home)
        assert found.filenames[0].endswith("3.uai")
        assert found.couplings.tolist() == [0.5, 1.0, 8.0]
        for i, number in enumerate((3, 101, 820)):
            mrf, known = instances[number]
            assert isinstance(found.mrfs[i], PairwiseMRF)
            np.testing.assert_allclose(found.mrfs[i].theta, mrf.theta, rtol=0, atol=1e-14)
            assert found.log_partition[i] == known["log_partition"]
            assert found.node_marginals[i].ravel().tolist() == known["node_marginals"]
            assert found.node_marginals[i].shape == (3, 2)
        assert "3, each with two states" in found.DESCR

    def test_absent_files(self, small_home):
        home, _ = small_home
        with pytest.raises(FileNotFoundError, match=r"looked for mrf/grids_5x5/exact.json"):
            load_mrf_instances(home, name="grids_5x5")
        (home / "mrf" / "cliques" / "3.uai").unlink()
        with pytest.raises(FileNotFoundError, match=r"3\.uai"):
            load_mrf_instances(home)
        with pytest.raises(
            ValueError, match="name must be one of 'cliques', 'grids_5x5'; got 'rbm'"
        ):
            load_mrf_instances(home, name="rbm")

    @pytest.mark.slow
    def test_published_cliques(self, data_file):
        cliques = load_mrf_instances(data_file("mrf/cliques/exact.json").parents[1])
        assert len(cliques.mrfs) == 180
        levels, counts = np.unique(cliques.couplings, return_counts=True)
        assert levels.tolist() == [0.5, 1, 2, 3, 4, 5, 6, 7, 8]
        assert set(counts) == {20}
        for i, mrf in enumerate(cliques.mrfs):
            h, J, constant = mrf.to_ising()
            # Numbers in the files have twelve digits; each coupling contributes to a field.
            assert abs(h).max() <= 1 + 1e-9
            assert 0.8 * cliques.couplings[i] < abs(J).max() <= cliques.couplings[i] + 1e-9
            assert constant == pytest.approx(h.sum() - J.sum(), abs=1e-9)
            assert_exact(mrf, cliques.log_partition[i], cliques.node_marginals[i])

    def test_published_grids(self, data_file):
        grids = load_mrf_instances(
            data_file("mrf/grids_5x5/exact.json").parents[1], name="grids_5x5"
        )
        assert len(grids.mrfs) == 15
        assert grids.filenames[1].endswith("Tr2.uai")
        assert grids.couplings.tolist() == [4.0] * 15
        lattice = set(map(tuple, make_ising("grid", (5, 5), coupling=4.0).edges.tolist()))
        for mrf, log_z, marginals in zip(grids.mrfs, grids.log_partition, grids.node_marginals):
            assert set(map(tuple, mrf.edges.tolist())) == lattice
            h, J, constant = mrf.to_ising()
            assert abs(h).max() <= 1 + 1e-9
            assert abs(J).max() <= 4 + 1e-9
            assert constant == pytest.approx(0.0, abs=1e-9)
            assert_exact(mrf, log_z, marginals)
