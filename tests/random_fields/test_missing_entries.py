"""Fields learned from tables with holes, and rows of forests completed together."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _mrf_references import brute_force, labelings
from sklearn_fw import TRWMarginals
from sklearn_fw.random_fields import ExactMarginals, MRFLearner, PairwiseMRF, TRBPMarginals
from sklearn_fw.random_fields._learning import ForestRows


def table(rng, n_samples=3000):
    a = rng.integers(0, 2, n_samples)
    b = np.where(rng.random(n_samples) < 0.85, a, 1 - a)
    c = (b + (rng.random(n_samples) < 0.3)) % 3
    d = np.where(rng.random(n_samples) < 0.9, c > 0, rng.random(n_samples) < 0.5).astype(int)
    return np.stack([a, b, c, d], axis=1).astype(float)


def with_holes(rng, X, share=0.3):
    return np.where(rng.random(X.shape) < share, np.nan, X)


def random_forest(rng):
    edges = [(0, 2), (2, 1), (4, 2), (3, 5)]
    n_states = (2, 3, 2, 4, 3, 2)
    tables = [rng.normal(size=(n_states[i], n_states[j])) for i, j in edges]
    return PairwiseMRF([rng.normal(size=k) for k in n_states], edges, tables, constant=0.3)


def test_forest_rows_are_conditional_marginals(rng):
    mrf = random_forest(rng)
    X = labelings(mrf.n_states)
    rows = X[rng.integers(len(X), size=30)]
    rows = np.where(rng.random(rows.shape) < 0.5, -1, rows)
    p = np.exp(mrf.score(X) - brute_force(mrf)[0])
    node, edge, total = ForestRows(mrf).marginals(rows, np.ones(len(rows)))
    expected_edge = np.zeros_like(edge)
    for row, found, value in zip(rows, node, total):
        agrees = np.all((row < 0) | (row == X), axis=1)
        q = np.where(agrees, p, 0.0) / p[agrees].sum()
        for i in range(6):
            expected = np.bincount(X[:, i], q, 4)
            np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-12)
        for e, (i, j) in enumerate(mrf.edges):
            np.add.at(expected_edge[e], (X[:, i], X[:, j]), q)
        potential = mrf.score(X[agrees]) - mrf.constant
        assert value == pytest.approx(np.logaddexp.reduce(potential), abs=1e-10)
    np.testing.assert_allclose(edge, expected_edge, rtol=0, atol=1e-10)


def test_random_completions_keep_what_is_there(rng):
    mrf = random_forest(rng)
    row = np.array([-1, 2, -1, -1, 0, -1])
    drawn = ForestRows(mrf).sample(row[None], 20_000, np.random.RandomState(0))[:, 0]
    assert np.all(drawn[:, [1, 4]] == [2, 0])
    node, _, _ = ForestRows(mrf).marginals(row[None])
    for i in (0, 2, 3, 5):
        frequency = np.bincount(drawn[:, i], minlength=4) / len(drawn)
        np.testing.assert_allclose(frequency, node[0, i], rtol=0, atol=0.02)


def test_forests_and_other_fields_complete_rows_alike(rng):
    """A forest is answered for all rows at once, the same with an idle edge row by row."""
    mrf = random_forest(rng)
    circle = PairwiseMRF(mrf.unary, [*mrf.edges, (0, 1)], [*mrf.pairwise, np.zeros((2, 3))])
    X = labelings(mrf.n_states)[::37]
    X = np.where(rng.random(X.shape) < 0.5, -1, X)
    together, alone = (ExactMarginals().fit(m).predict_marginals(X) for m in (mrf, circle))
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(TRWMarginals().fit(mrf).predict_marginals(X), together)


def test_rows_that_are_forbidden():
    mrf = PairwiseMRF(np.zeros((3, 2)), [(0, 1)], [[[0.0, 0.0], [0.0, -np.inf]]])
    exact = ExactMarginals().fit(mrf)
    np.testing.assert_allclose(exact.predict_marginals([[1, -1, -1]])[0, 1], [1.0, 0.0])
    with pytest.raises(ValueError, match="observed is forbidden by a potential of -inf"):
        exact.predict_marginals([[1, 1, -1]])


# ---- learning ------------------------------------------------------------------------------------


def log_likelihood(mrf, X):
    """Of the entries that are there, by enumeration."""
    all_rows = labelings(mrf.n_states)
    p = np.exp(mrf.score(all_rows) - brute_force(mrf)[0])
    agrees = np.all(np.isnan(X)[:, None] | (X[:, None] == all_rows), axis=2)
    return np.log(agrees @ p)


def test_holes_cost_little(rng):
    X, X_test = table(rng), table(rng)
    whole = TRWMarginals().fit(X)
    holes = TRWMarginals().fit(with_holes(rng, X))
    assert holes.mrf_.edges.tolist() == whole.mrf_.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert holes.score(X_test) > whole.score(X_test) - 0.02
    assert holes.sample(5, random_state=0).shape == (5, 4)


def test_likelihood_of_what_is_there_is_at_its_maximum(rng):
    """Stationary: no small change of the distribution on the tree has a larger likelihood."""
    X = with_holes(rng, table(rng, 400), 0.4)
    mrf = TRWMarginals(learner=MRFLearner(pseudocount=1e-6)).fit(X).mrf_
    best = log_likelihood(mrf, X).sum()
    for _ in range(40):
        moved = [t + 0.02 * rng.normal(size=t.shape) for t in mrf.pairwise]
        unary = [b + 0.02 * rng.normal(size=b.shape) for b in mrf.unary]
        other = PairwiseMRF(unary, mrf.edges, moved)
        assert log_likelihood(other, X).sum() < best + 1e-3


def test_expectation_beats_frequencies_of_what_is_there(rng):
    """Entries of one column are missing where another one is large: frequencies are biased."""
    X = table(rng, 4000)
    X[(X[:, 0] == 1) & (rng.random(4000) < 0.8), 1] = np.nan
    p = TRWMarginals(learner=MRFLearner(n_states=[2, 2, 3, 2])).fit(X).marginals_[1, 1]
    assert abs(p - 0.5) < 0.03 < abs(np.nanmean(X[:, 1]) - 0.5)


@pytest.mark.parametrize("edges", ["complete", [(0, 1), (1, 2), (0, 2), (2, 3)], [(0, 1)], []])
def test_other_graphs_learn_from_completions(edges, rng):
    X, X_test = table(rng), table(rng)
    holes = with_holes(rng, X)
    one, two = (TRWMarginals(learner=MRFLearner(edges)).fit(holes) for _ in range(2))
    np.testing.assert_array_equal(one.mrf_.theta, two.mrf_.theta)
    assert one.score(X_test) > TRWMarginals(learner=MRFLearner(edges)).fit(X).score(X_test) - 0.03
    searched = TRWMarginals("elimination", learner=MRFLearner(edges)).fit(holes)
    assert searched.sample(3, random_state=0).shape == (3, 4)


def test_columns_and_rows_without_entries():
    with pytest.raises(ValueError, match="column 1 of X holds no entry at all"):
        TRWMarginals().fit([[0, np.nan], [1, np.nan]])
    rows = [[0, 1], [1, 0], [0, 1]]
    some = TRWMarginals().fit([*rows, [np.nan, np.nan]])
    assert some.marginals_[0, 0] == pytest.approx(
        TRWMarginals().fit(rows).marginals_[0, 0], abs=0.1
    )


def test_rounds_of_learning_are_in_the_history(rng):
    X = with_holes(rng, table(rng, 200))
    for edges in ("tree", "complete"):
        trw = TRWMarginals(learner=MRFLearner(edges)).fit(X)
        history = trw.learning_history_
        np.testing.assert_array_equal(history["n_iter"], np.arange(1, len(history["n_iter"]) + 1))
        assert np.all(np.diff(history["objective"]) >= -1e-12)
        assert history["gain"][-1] <= 1e-7
    assert TRWMarginals().fit(trw.mrf_).learning_history_ == {}


def test_learning_ends_in_time(rng):
    X = with_holes(rng, table(rng, 200))
    with pytest.warns(ConvergenceWarning, match="time_limit ended the learning after 1 rounds"):
        trw = TRBPMarginals(time_limit=1e-9).fit(X)
    assert len(trw.learning_history_["n_iter"]) == 1


# ---- scores of incomplete rows -------------------------------------------------------------------


@pytest.mark.parametrize("edges", ["tree", "complete"])
def test_scores_of_incomplete_rows_sum_over_completions(edges, rng):
    X = rng.integers(3, size=(60, 4)).astype(float)
    X[:, 1] = (X[:, 0] + (rng.random(60) < 0.2)) % 3
    X[rng.random(X.shape) < 0.2] = np.nan
    exact = ExactMarginals(learner=MRFLearner(edges)).fit(X)
    every = labelings(exact.mrf_.n_states)
    scores = exact.mrf_.score(every) - exact.log_partition_
    expected = [
        np.logaddexp.reduce(scores[np.all(np.isnan(row) | (row == every), axis=1)]) for row in X
    ]
    np.testing.assert_allclose(exact.score_samples(X), expected, rtol=1e-9, atol=1e-9)
    bound = TRBPMarginals(learner=MRFLearner(edges)).fit(X)
    assert np.all(bound.score_samples(X) <= np.array(expected) + 1e-6)


@pytest.mark.parametrize("kind", ["strings", "objects", "categories"])
def test_text_and_categories_are_states_with_names(kind, rng):
    states = rng.integers(2, size=(20, 2))
    X = np.array(["plum", "teal"])[states].astype(object if kind == "objects" else str)
    if kind == "categories":  # of which one is not in the table, and the order is not that of text
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(X).astype(pandas.CategoricalDtype(["plum", "teal", "blue"]))
    numbered = TRBPMarginals(learner=MRFLearner(n_states=2 + (kind == "categories"))).fit(states)
    named = TRBPMarginals().fit(X)
    np.testing.assert_array_equal(named.marginals_, numbered.marginals_)
    np.testing.assert_array_equal(named.score_samples(X), numbered.score_samples(states))
    np.testing.assert_array_equal(named.predict(X), np.asarray(X))
    assert named.categories_[1].tolist() == ["plum", "teal", "blue"][: 2 + (kind == "categories")]
    half = numbered.predict_marginals([[np.nan, 1]])[0, 0]
    assert named.predict([[None, "teal"]])[0].tolist() == [["plum", "teal"][half.argmax()], "teal"]
    np.testing.assert_allclose(named.predict_proba([["plum", "teal"]], 0)[0], half)
    last = named.predict_proba([["plum", "teal"]])
    np.testing.assert_array_equal(named.predict_proba([["plum", "teal"]], np.int64(-1)), last)
    with pytest.raises(ValueError, match=r"column 1 of X holds 'red', .* replace it by None"):
        named.predict([["teal", "red"]])
    for call in (numbered.predict, numbered.score_samples, MRFLearner().learn):
        with pytest.raises(ValueError, match=r"X must hold states as whole .* by OrdinalEncoder"):
            call(X)


def test_columns_of_numbers_among_text_are_categories():
    X = [["x", 1.0, True], ["y", 5, False], [None, 5, None], ["x", np.nan, True]]
    fitted = ExactMarginals().fit(X)
    assert [own.tolist() for own in fitted.categories_] == [["x", "y"], [1, 5], [False, True]]
    assert fitted.predict(X)[1].tolist() == ["y", 5, False]
    for column, reason in ([["x", "y", 1], "mixes text"], [["x", "y", "z"], "holds fractions"]):
        with pytest.raises(ValueError, match=f"column . of X .*{reason}"):
            ExactMarginals().fit(list(zip(column, [0.5, 1.0, 2.0])))
