"""TRWMarginals as an estimator: tables, completion of rows, scores, sampling, searches, errors."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from _mrf_references import brute_force, labelings
from sklearn_fw import TRWMarginals
from sklearn_fw.datasets import make_ising
from sklearn_fw.random_fields import (
    BarrierFrankWolfe,
    ExactMarginals,
    MRFLearner,
    PairwiseMRF,
    save_uai,
    trw_objective,
)

# "auto" does not search where it can sum.
searched = partial(TRWMarginals, "elimination")


def table(rng, n_samples=200):
    """Four dependent columns with 2, 3, 2 and 2 states."""
    a = rng.integers(0, 2, n_samples)
    b = (a + rng.integers(0, 2, n_samples)) % 3
    c = np.where(rng.random(n_samples) < 0.8, a, 1 - a)
    d = rng.integers(0, 2, n_samples)
    return np.stack([a, b, c, d], axis=1)


# ---- learning ------------------------------------------------------------------------------------


def test_table_gives_smoothed_frequencies(rng):
    X = table(rng)
    trw = searched(learner=MRFLearner("complete", pseudocount=4.0)).fit(X)
    counts = np.bincount(X[:, 1], minlength=3)
    np.testing.assert_allclose(
        trw.marginals_[1], (counts + 4 / 3) / (len(X) + 4), rtol=0, atol=1e-12
    )
    joint = np.zeros((2, 3))
    np.add.at(joint, (X[:, 0], X[:, 1]), 1)
    np.testing.assert_allclose(
        trw.edge_marginals_[0][:2, :3], (joint + 4 / 6) / (len(X) + 4), rtol=0, atol=1e-12
    )
    assert trw.edge_marginals_.shape == (6, 3, 3)
    assert trw.n_oracle_calls_ == 0


def test_learned_potentials_make_the_bound_zero(rng):
    """A field made from its marginals has them as optimum, so Frank-Wolfe must find them again."""
    learned = searched(learner=MRFLearner("complete")).fit(table(rng))
    mu = learned.mrf_.flatten(learned.marginals_, learned.edge_marginals_)
    assert trw_objective(mu, learned.mrf_, learned.rho_) == pytest.approx(0.0, abs=1e-12)
    again = TRWMarginals(
        "enumeration", rho_init=learned.rho_, n_rho_iter=1, tol=1e-3, max_iter=5000
    )
    again.fit(learned.mrf_)
    assert again.log_partition_ == pytest.approx(0.0, abs=1e-3)
    np.testing.assert_allclose(again.marginals_, learned.marginals_, rtol=0, atol=0.03)
    log_partition, _ = brute_force(learned.mrf_)
    assert learned.log_partition_lower_ <= log_partition <= learned.log_partition_upper_ == 0.0


def test_other_trees_tighten_the_bound_of_a_table(rng):
    X = table(rng)
    closed, tight = (
        searched(learner=MRFLearner("complete")).fit(X),
        searched(learner=MRFLearner("complete"), n_rho_iter=4, tol=0.01).fit(X),
    )
    np.testing.assert_array_equal(closed.mrf_.theta, tight.mrf_.theta)
    log_partition, _ = brute_force(closed.mrf_)
    assert log_partition <= tight.log_partition_upper_ < closed.log_partition_upper_
    assert tight.score(X) > closed.score(X)


def test_tree_is_that_of_chow_and_liu(rng):
    X = table(rng)
    tree = TRWMarginals(learner=MRFLearner(pseudocount=1e-6)).fit(X)
    np.testing.assert_allclose(tree.rho_, 1.0, rtol=0, atol=1e-12)
    graph = nx.Graph(list(map(tuple, tree.mrf_.edges)))
    assert nx.is_tree(graph)
    # Its log Z is zero, so scores are log-probabilities: they sum to one.
    everything = labelings([2, 3, 2, 2])
    assert np.exp(tree.score_samples(everything)).sum() == pytest.approx(1.0, abs=1e-9)
    complete = searched(learner=MRFLearner("complete", pseudocount=1e-6)).fit(X)
    mu = complete.mrf_.flatten(complete.marginals_, complete.edge_marginals_)
    information = complete.mrf_.mutual_information(mu)
    weights = {tuple(e): w for e, w in zip(complete.mrf_.edges.tolist(), information)}
    best = nx.maximum_spanning_tree(
        nx.Graph([(i, j, {"weight": w}) for (i, j), w in weights.items()])
    )
    assert {tuple(sorted(e)) for e in graph.edges} == {tuple(sorted(e)) for e in best.edges}


def test_columns_of_a_data_frame_name_the_variables(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table(rng), columns=list("abcd"))
    assert TRWMarginals().fit(frame).mrf_.names == ["a", "b", "c", "d"]
    trw = TRWMarginals().fit(frame)
    assert trw.fit(frame.to_numpy()).mrf_.names is None
    # A field given after a table has no columns.
    trw.fit(frame).fit(make_ising("clique", 4, random_state=0))
    assert not hasattr(trw, "feature_names_in_")


def test_edges_are_chosen(rng):
    X = table(rng)
    chain = [(0, 1), (2, 1), (2, 3)]
    by_list, by_graph = (
        TRWMarginals(learner=MRFLearner(edges)).fit(X)
        for edges in (chain, nx.Graph([(0, 1), (1, 2), (2, 3)]))
    )
    assert by_list.mrf_.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    np.testing.assert_array_equal(by_list.mrf_.theta, by_graph.mrf_.theta)


def test_weights_are_copies(rng):
    X, weight = table(rng, 50), rng.integers(0, 4, 50)
    weighted = TRWMarginals(learner=MRFLearner(n_states=[2, 3, 2, 2])).fit(X, sample_weight=weight)
    copied = TRWMarginals(learner=MRFLearner(n_states=[2, 3, 2, 2])).fit(
        np.repeat(X, weight, axis=0)
    )
    np.testing.assert_allclose(weighted.mrf_.theta, copied.mrf_.theta, rtol=0, atol=1e-10)
    # A row of weight zero is not there: its states are not seen.
    alone = TRWMarginals().fit([[0, 1], [1, 5]], sample_weight=[1, 0])
    assert alone.mrf_.n_states.tolist() == [1, 2]


# ---- completion and scores -----------------------------------------------------------------------


def test_completion_agrees_with_enumeration(rng):
    mrf = make_ising("grid", (2, 3), coupling=0.5, random_state=0)
    trw = searched(tol=1e-3, max_iter=5000).fit(mrf)
    exact = ExactMarginals().fit(mrf)
    X = np.array([[0, -1, 1, -1, -1, 0], [1, 1, 1, 1, 1, 1], [-1] * 6, [0, -1, 1, -1, -1, 0]])
    found, expected = trw.predict_marginals(X), exact.predict_marginals(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.05)
    rest = mrf.condition({0: 0, 2: 1, 5: 0})
    _, marginals = brute_force(rest)
    np.testing.assert_allclose(expected[0, [1, 3, 4]].ravel(), marginals[:6], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(expected[0], expected[3])
    completed = trw.predict(np.where(X < 0, np.nan, X))
    np.testing.assert_array_equal(completed[X >= 0], X[X >= 0])
    np.testing.assert_array_equal(completed[2], trw.predict())


def test_scores_are_lower_bounds(rng):
    mrf = make_ising("clique", 5, coupling=1.0, random_state=0)
    X = labelings(mrf.n_states)
    exact, trw = ExactMarginals().fit(mrf), searched().fit(mrf)
    assert np.exp(exact.score_samples(X)).sum() == pytest.approx(1.0, abs=1e-10)
    assert np.all(trw.score_samples(X) <= exact.score_samples(X))
    assert trw.score(X) == pytest.approx(trw.score_samples(X).mean())


def test_sample_has_the_marginals():
    mrf = make_ising("clique", 6, coupling=1.0, random_state=0)
    trw = searched(tol=0.1).fit(mrf)
    X = trw.sample(40_000, random_state=1)
    assert X.shape == (40_000, 6)
    frequency = X.mean(axis=0)
    np.testing.assert_allclose(frequency, trw.marginals_[:, 1], rtol=0, atol=0.015)
    np.testing.assert_array_equal(trw.sample(5, random_state=3), trw.sample(5, random_state=3))


def test_warm_start_saves_oracle_calls():
    cold = make_ising("grid", (4, 4), coupling=1.0, random_state=0)
    h, J, _ = cold.to_ising()
    near = PairwiseMRF.from_ising(1.02 * h, 1.02 * J, cold.edges)
    options = {"tol": 0.05, "n_rho_iter": 2}
    warm = searched(warm_start=True, **options).fit(cold).fit(near)
    fresh = searched(**options).fit(near)
    assert warm.n_oracle_calls_ < fresh.n_oracle_calls_
    assert warm.log_partition_ == pytest.approx(fresh.log_partition_, abs=0.2)
    small = make_ising("grid", (3, 3), coupling=4.0, random_state=0)
    warm.fit(small)  # other variables: starts anew
    # Points of the local polytope are no mixtures of labelings.
    assert warm.set_params(polytope="local", oracle="auto").fit(small).vertices_ is None


@pytest.mark.parametrize("first", ["table", "none"])
def test_warm_start_keeps_off_the_boundary(first, rng):
    """The mixture before was not contracted, but a bound needs contraction."""
    mrf = make_ising("clique", 4, random_state=0)
    trw = searched(warm_start=True)
    if first == "table":
        trw.fit(rng.integers(0, 2, (20, 4)))
    else:
        with pytest.warns(ConvergenceWarning, match="no certified gap"):
            trw.set_params(solver__contraction="none").fit(mrf)
    assert trw.delta_ == 0.0
    trw.set_params(solver__contraction="adaptive").fit(mrf)
    log_partition, _ = brute_force(mrf)
    assert log_partition <= trw.log_partition_upper_ < np.inf
    assert trw.converged_
    fixed = trw.set_params(solver__contraction="fixed", solver__delta=0.2).fit(mrf)
    assert fixed.delta_ == 0.2


def test_files_are_fields(tmp_path):
    mrf = make_ising("clique", 5, random_state=0)
    save_uai(mrf, tmp_path / "clique.uai")
    a, b = TRWMarginals().fit(mrf), TRWMarginals().fit(str(tmp_path / "clique.uai"))
    np.testing.assert_allclose(a.marginals_, b.marginals_, rtol=0, atol=1e-9)


# ---- searches ------------------------------------------------------------------------------------


def test_grid_search_and_pipeline(rng):
    X = rng.normal(size=(80, 3))
    X[:, 2] = X[:, 0] + 0.1 * rng.normal(size=80)
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    pipeline = make_pipeline(bins, TRWMarginals(learner=MRFLearner(n_states=3)))
    grid = {
        "trwmarginals__learner__pseudocount": [1e-3, 1.0, 1e4],
        "trwmarginals__learner__edges": ["complete", "tree"],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X)
    assert search.best_params_["trwmarginals__learner__pseudocount"] < 1e4
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    words = rng.choice(["yes", "no"], size=(30, 2))
    encoded = make_pipeline(OrdinalEncoder(), TRWMarginals()).fit(words).score(words)
    assert TRWMarginals().fit(words).score(words) == encoded < 0


# ---- budgets and errors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "budget", [{"max_iter": 2}, {"max_oracle_calls": 3}, {"time_limit": 1e-9}], ids=str
)
def test_budgets_end_the_fit(budget):
    mrf = make_ising("grid", (4, 4), coupling=4.0, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match="increase max_iter, max_oracle_calls or time_limit"
    ):
        trw = searched(tol=1e-3, n_rho_iter=2, **budget).fit(mrf)
    assert not trw.converged_
    assert trw.n_oracle_calls_ <= 4
    assert trw.log_partition_upper_ >= ExactMarginals().fit(mrf).log_partition_


def test_oracle_calls_of_line_searches_count():
    mrf = make_ising("grid", (3, 3), coupling=4.0, random_state=0)
    for calls in (15, 40):
        trw = searched(
            solver=BarrierFrankWolfe(rho_step_size="line_search"), tol=0.2, max_oracle_calls=calls
        )
        trw.fit(mrf)
        assert trw.n_oracle_calls_ <= calls
        assert trw.rho_.sum() == pytest.approx(8.0)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"oracle": "magic"}, "oracle='magic' is unknown"),
        ({"solver": "bcfw"}, "solver must be a BarrierFrankWolfe or None, got 'bcfw'"),
        ({"learner": "tree"}, "learner must be a MRFLearner or None, got 'tree'"),
        ({"solver__delta": 0.3}, "delta == 0.3, must be <= 0.25"),
        ({"solver__contraction": "fixed", "solver__delta": 1.0}, "delta == 1.0, must be < 1"),
        ({"solver__local_search": "icm", "polytope": "local"}, "needs polytope='marginal'"),
        ({"rho_init": "x"}, "rho_init must be one of"),
        ({"rho_init": [0.5]}, "rho_init"),
        ({"rho_init": [0.0] * 6}, "rho_init"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        TRWMarginals().set_params(**options).fit(make_ising("clique", 4, random_state=0))


@pytest.mark.parametrize(
    "options, X, message",
    [
        ({}, [[0.5, 1.0]], r"X\[0, 0\] is 0.5: states are whole numbers"),
        ({}, [[0, -1]], r"Negative values in data .* X\[0, 1\] is -1.* missing entries by NaN"),
        ({"learner__n_states": 2}, [[0, 2]], r"n_states\[1\] is 2, but column 1 of X holds 2"),
        ({"learner__n_states": [2]}, [[0, 1]], "one integer per column"),
        (
            {"learner__edges": "ring"},
            [[0, 1]],
            "edges must be one of 'complete', 'tree' or an array",
        ),
        ({"learner__edges": [(0, 2)]}, [[0, 1]], "edges must name variables 0 to 1"),
        ({"learner__edges": [(1, 1)]}, [[0, 1]], "two different variables"),
        ({}, [[np.nan, 1]], "column 0 of X holds no entry at all"),
    ],
    ids=str,
)
def test_bad_tables_are_refused(options, X, message):
    with pytest.raises(ValueError, match=message):
        TRWMarginals().set_params(**options).fit(X)


def test_bad_rows_are_refused(rng):
    trw = TRWMarginals()
    with pytest.raises(NotFittedError):
        trw.predict()
    trw.fit(table(rng))
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 2, but variable 0 has the states 0 to 1"):
        trw.predict([[2, 0, 0, 0]])
    with pytest.raises(ValueError, match="set n_states for tables that lack a state"):
        trw.score([[2, 0, 0, 0]])
    trw.predict_marginals()[:] = 7.0  # a copy, as for rows
    assert trw.marginals_.max() <= 1.0
    complete = trw.score_samples([[0, 0, 0, 0], [1, 0, 0, 0]])
    missing = trw.score_samples([[-1, 0, 0, 0]])
    np.testing.assert_allclose(missing, np.logaddexp.reduce(complete), rtol=1e-9)
    with pytest.raises(ValueError, match="features"):
        trw.score_samples([[0, 0, 0]])
    with pytest.raises(ValueError, match="sample_weight weighs the rows of a table"):
        trw.fit(make_ising("clique", 4, random_state=0), sample_weight=[1.0])
    assert not hasattr(TRWMarginals(polytope="local"), "sample")


def test_edge_cases_of_graphs():
    alone = searched().fit(PairwiseMRF([[0.0, 1.0]]))
    assert alone.log_partition_upper_ == pytest.approx(np.log(1 + np.e), abs=0.5)
    assert alone.rho_.shape == (0,)
    disconnected = PairwiseMRF(
        np.zeros((5, 2)), [(0, 1), (1, 2), (0, 2)], np.array([[1.0, 0.0], [0.0, 1.0]])
    )
    trw = searched(tol=0.01).fit(disconnected)
    assert trw.rho_.sum() == pytest.approx(2.0)
    log_partition, _ = brute_force(disconnected)
    assert trw.log_partition_lower_ <= log_partition <= trw.log_partition_upper_
    single = searched().fit(PairwiseMRF([[0.5], [0.0]], [(0, 1)], [[[1.0]]], constant=2.0))
    assert single.log_partition_ == pytest.approx(3.5)
    np.testing.assert_array_equal(single.marginals_, 1.0)


# ---- forbidden labelings ------------------------------------------------------------------------


def colors(n_variables):
    """Variables of three states most of which must differ."""
    edges = [(i, j) for i in range(n_variables) for j in range(i) if (i + j) % 3]
    return PairwiseMRF(np.zeros((n_variables, 3)), edges, np.where(np.eye(3), -np.inf, 0.0))


@pytest.mark.parametrize(
    "n_variables, settings, message",
    [
        (4, {"polytope": "local", "tol": 50.0}, r"weight of 0\.95 is on labelings that the"),
        (4, {"oracle": "trws", "tol": 50.0}, r"weight of 0\.95 is on labelings that the"),
    ],
)
def test_a_small_gap_without_an_allowed_answer_is_no_convergence(n_variables, settings, message):
    trw = TRWMarginals(n_rho_iter=1, **settings)
    with (
        pytest.warns(UserWarning, match=r"potentials are -inf \(hard constraints\)"),
        pytest.warns(ConvergenceWarning, match=message),
    ):
        trw.fit(colors(n_variables))
    assert trw.dual_gap_ <= trw.tol
    assert not trw.converged_
    with pytest.warns(UserWarning, match="hard constraints"):
        trw.set_params(tol=0.5).fit(colors(n_variables))
    assert trw.converged_
    assert np.isfinite(trw.log_partition_lower_)


def test_parts_that_are_none_become_objects():
    trw = TRWMarginals()
    assert trw.set_params(learner__pseudocount=3.0, solver__delta=0.1, tol=0.2) is trw
    assert (trw.learner.pseudocount, trw.solver.delta, trw.tol) == (3.0, 0.1, 0.2)
    assert trw.get_params()["learner__edges"] == "tree"
    assert TRWMarginals().learner is None
    given = MRFLearner("complete")
    exact = ExactMarginals(learner=given).set_params(learner__n_states=2)
    assert exact.learner is given
    search = GridSearchCV(TRWMarginals(), {"learner__pseudocount": [1.0, 100.0]}, cv=2)
    X = np.repeat([[0, 0], [1, 1]], 20, axis=0)[np.random.default_rng(0).permutation(40)]
    assert search.fit(X).best_params_ == {"learner__pseudocount": 1.0}


def test_edges_by_names_of_columns():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.random.default_rng(0).integers(0, 3, (40, 3)), columns=list("uvw"))
    categories = table.astype(str).astype("category")
    edges = [("w", "u"), ("v", "w")]
    for X in (table, categories):
        trw = TRWMarginals(learner=MRFLearner(edges=edges)).fit(X)
        assert trw.mrf_.edges.tolist() == [[0, 2], [1, 2]]
        assert trw.learner.edges is edges
    assert MRFLearner(edges=np.array(edges)).learn(table).mrf.edges.tolist() == [[0, 2], [1, 2]]
    for X, wrong in ((table, [("u", "x")]), (table.to_numpy(), edges), (table, ["uv", None])):
        with pytest.raises(ValueError, match=r"edges must (pair columns|hold integers)"):
            TRWMarginals(learner=MRFLearner(edges=wrong)).fit(X)
