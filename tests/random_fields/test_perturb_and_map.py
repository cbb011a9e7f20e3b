"""Perturbed maxima against independent simulations, cases with known answers, and brute force."""

import json

import numpy as np
import pytest

from _mrf_references import brute_force, flat, labelings, random_mrf
from sklearn_fw.inference import Enumeration
from sklearn_fw.random_fields import PairwiseMRF, PerturbAndMAPMarginals


class OnlyArgmax:
    """An exact oracle that knows nothing but the best labeling; counts its calls."""

    exact = True

    def __init__(self):
        self.n_calls = 0

    def argmax(self, scores, start=None):
        self.n_calls += 1
        return Enumeration().argmax(scores)


def standard_error(estimator):
    return estimator.maxima_.std() / np.sqrt(len(estimator.maxima_))


# ---- the estimate of log Z -----------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["auto", "enumeration"])
def test_mean_is_an_upper_bound(oracle, rng):
    for scale in (0.3, 1.0, 3.0):
        mrf = random_mrf(rng, scale=scale)
        log_partition, _ = brute_force(mrf)
        pm = PerturbAndMAPMarginals(oracle, n_samples=400, random_state=0).fit(mrf)
        assert pm.log_partition_ == pytest.approx(pm.maxima_.mean(), rel=1e-14)
        assert pm.log_partition_ >= log_partition - 3 * standard_error(pm)
        assert pm.log_partition_upper_ == np.inf
        assert pm.log_partition_lower_ <= log_partition + 1e-12


def test_one_variable_is_unbiased():
    # The largest of perturbed potentials is a Gumbel variable around log Z.
    mrf = PairwiseMRF([[0.3, -1.0, 0.5, -np.inf]], constant=4.0)
    pm = PerturbAndMAPMarginals(n_samples=4000, marginals="counting", random_state=0).fit(mrf)
    log_partition, marginals = brute_force(mrf)
    assert pm.log_partition_ == pytest.approx(log_partition, abs=4 * standard_error(pm))
    assert pm.maxima_.std() == pytest.approx(np.pi / np.sqrt(6), rel=0.1)
    np.testing.assert_allclose(pm.marginals_[0], marginals, rtol=0, atol=0.04)
    assert pm.marginals_[0, 3] == 0.0
    assert pm.log_partition_lower_ == pytest.approx(log_partition)  # all states were met


# ---- marginals -----------------------------------------------------------------------------------


def test_conditioning_is_exact_for_independent_variables(rng):
    mrf = PairwiseMRF([rng.normal(size=k) for k in (2, 3, 4)], constant=1.0)
    _, marginals = brute_force(mrf)
    pm = PerturbAndMAPMarginals(n_samples=2, random_state=0).fit(mrf)
    np.testing.assert_allclose(flat(pm), marginals, rtol=0, atol=1e-12)


@pytest.mark.parametrize("forbidden", [False, True])
def test_conditioning_equals_its_definition(forbidden, rng):
    mrf = random_mrf(rng, density=1.0)
    if forbidden:
        unary, tables = [b.copy() for b in mrf.unary], [t.copy() for t in mrf.pairwise]
        unary[1][0] = tables[0][0, 1] = tables[-1][-1, 0] = -np.inf
        mrf = PairwiseMRF(unary, mrf.edges, tables, constant=mrf.constant)
    oracle = OnlyArgmax()
    pm = PerturbAndMAPMarginals(oracle, n_samples=6, random_state=7).fit(mrf)
    noise = np.random.RandomState(7).gumbel(size=(6, mrf.node_start[-1])) - np.euler_gamma
    X = labelings(mrf.n_states)
    places = mrf.node_start[:-1] + X
    perturbed = mrf.score(X) + noise[:, places].sum(axis=2)
    np.testing.assert_allclose(pm.maxima_, perturbed.max(axis=1), rtol=1e-12)
    for i, k in enumerate(mrf.n_states):
        values = perturbed - noise[:, places[:, i]]  # without the noise of the variable itself
        best = np.array([values[:, X[:, i] == state].max(axis=1) for state in range(k)])
        p = np.exp(best.mean(axis=1) - best.mean(axis=1).max())
        np.testing.assert_allclose(pm.marginals_[i, :k], p / p.sum(), rtol=0, atol=1e-10)
    # Both ways to ask give the same: one call for all states, or one for each but the best.
    other = PerturbAndMAPMarginals("auto", n_samples=6, random_state=7).fit(mrf)
    np.testing.assert_allclose(other.marginals_, pm.marginals_, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(other.edge_marginals_, pm.edge_marginals_)
    possible = np.count_nonzero(mrf.theta[: mrf.node_start[-1]] > -np.inf)
    assert oracle.n_calls == pm.n_oracle_calls_ == 6 * (1 + possible - mrf.n_variables)
    assert other.n_oracle_calls_ == 12


def test_conditioning_with_copies(rng):
    mrf = random_mrf(rng, (2, 3, 2), density=1.0)
    c = 2
    pm = PerturbAndMAPMarginals("enumeration", n_samples=4, n_copies=c, random_state=7).fit(mrf)
    size = mrf.node_start[-1]
    noise = np.random.RandomState(7).gumbel(size=(4, c * size)) - np.euler_gamma
    noise = noise.reshape(4, c, size) / c
    X = labelings([2, 3, 2] * c).reshape(-1, c, 3)
    score = np.zeros(len(X))
    for r in range(c):
        score += sum(mrf.unary[i][X[:, r, i]] for i in range(3)) / c
        for s in range(c):
            score += sum(
                table[X[:, r, i], X[:, s, j]] / c**2
                for (i, j), table in zip(mrf.edges, mrf.pairwise)
            )
    places = mrf.node_start[:-1] + X
    parts = np.stack([noise[:, r][:, places[:, r]] for r in range(c)], axis=2)
    perturbed = mrf.constant + score + parts.sum(axis=(2, 3))
    np.testing.assert_allclose(pm.maxima_, perturbed.max(axis=1), rtol=1e-12)
    for i, k in enumerate(mrf.n_states):
        values = perturbed - parts[:, :, :, i].sum(axis=2)
        best = np.array(
            [values[:, np.all(X[:, :, i] == state, axis=1)].max(axis=1) for state in range(k)]
        )
        p = np.exp(best.mean(axis=1))
        np.testing.assert_allclose(pm.marginals_[i, :k], p / p.sum(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_copies", [1, 3])
def test_counted_marginals_agree_with_each_other(n_copies, rng):
    mrf = random_mrf(rng, (2, 3, 2), density=1.0)
    pm = PerturbAndMAPMarginals(
        n_samples=7, n_copies=n_copies, marginals="counting", random_state=0
    ).fit(mrf)
    assert pm.n_oracle_calls_ == 7
    for (i, j), table in zip(mrf.edges, pm.edge_marginals_):
        np.testing.assert_allclose(table.sum(axis=1), pm.marginals_[i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(table.sum(axis=0), pm.marginals_[j], rtol=0, atol=1e-12)
    multiples = 7 * n_copies**2 * flat(pm)
    np.testing.assert_allclose(multiples, np.round(multiples), rtol=0, atol=1e-9)


# ---- the estimator -------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["auto", "trws"])
def test_n_jobs_and_random_state(oracle, rng):
    mrf = random_mrf(rng, (2,) * 6, density=1.0)
    one, again, two = (
        PerturbAndMAPMarginals(oracle, n_jobs=n_jobs, random_state=0).fit(mrf)
        for n_jobs in (None, 1, 2)
    )
    other = PerturbAndMAPMarginals(oracle, random_state=1).fit(mrf)
    for fitted in (again, two):
        np.testing.assert_array_equal(flat(one), flat(fitted))
        np.testing.assert_array_equal(one.maxima_, fitted.maxima_)
        np.testing.assert_array_equal(one.sample(5), fitted.sample(5))
    assert np.any(one.maxima_ != other.maxima_)


def test_sample(rng):
    mrf = random_mrf(rng, (2, 3, 2), density=1.0, scale=0.3)
    pm = PerturbAndMAPMarginals(random_state=0).fit(mrf)
    X = pm.sample(2000, random_state=1)
    assert X.shape == (2000, 3)
    assert X.dtype == np.int64
    _, marginals = brute_force(mrf)
    for i, block in enumerate(mrf.node_blocks(marginals)):
        frequency = np.bincount(X[:, i], minlength=len(block)) / 2000
        np.testing.assert_allclose(frequency, block, rtol=0, atol=0.1)


class Helpless:
    """Finds the labeling of zeros and nothing else."""

    exact = False

    def argmax(self, scores, start=None):
        labels = np.zeros(scores.n_nodes, np.int32)
        return labels, scores.value(labels), np.inf


def test_oracles_that_find_nothing():
    different = np.where(np.eye(2), -np.inf, 0.0)
    triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], different)
    with pytest.raises(ValueError, match="potentials of -inf forbid every labeling"):
        PerturbAndMAPMarginals().fit(triangle)
    allowed = PairwiseMRF(np.zeros((2, 2)), [(0, 1)], different)
    message = "the oracle found no labeling that the potentials of -inf allow: pass an exact one"
    with pytest.raises(ValueError, match=message):
        PerturbAndMAPMarginals(Helpless()).fit(allowed)


def test_oracles_that_lose_what_they_found():
    class Wavering:
        exact, answers = False, iter([0, 0, 1, 1])

        def argmax(self, scores, start=None):
            labels = np.full(1, next(self.answers), np.int32)
            return labels, scores.value(labels), np.inf

    message = "no allowed labeling for any state of variable 0 in some draw: pass an exact one"
    with pytest.raises(ValueError, match=message):
        PerturbAndMAPMarginals(Wavering(), n_samples=2).fit(PairwiseMRF([[0.0, 1.0]]))


@pytest.mark.slow
def test_errors_are_below_published_ones(data_file):
    """Ten draws for all states make less noise than in the paper; fifty, a third less at least."""
    truth = json.loads(data_file("mrf/cliques/exact.json").read_text())
    for group, published in ((0, 0.206), (2, 0.168), (8, 0.134)):
        for n_samples, factor in ((10, 1.2), (50, 0.7)):
            errors, slack = [], []
            for name in [100 * group + i for i in range(1, 21)]:
                # Draws of their own: with the same ones for all fields nothing is averaged.
                pm = PerturbAndMAPMarginals(n_samples=n_samples, random_state=name).fit(
                    data_file(f"mrf/cliques/{name}.uai")
                )
                expected = np.reshape(truth[str(name)]["node_marginals"], (-1, 2))
                errors.append(np.abs(pm.marginals_ - expected)[:, 1].mean())
                slack.append(pm.log_partition_ - truth[str(name)]["log_partition"])
            assert np.mean(errors) < factor * published
        assert 0.4 < np.mean(slack) < 1.4  # 1.2 to 1.4 in the paper


def test_perturbations_are_drawn_when_they_are_needed():
    """A million at once would take 160 GB."""

    class Impatient(Enumeration):
        def argmax(self, scores, start=None):
            raise KeyboardInterrupt

    field = PairwiseMRF(np.zeros((10_000, 2)))
    with pytest.raises(KeyboardInterrupt):
        PerturbAndMAPMarginals(Impatient(), n_samples=10**6).fit(field)
