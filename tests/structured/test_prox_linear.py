"""The prox-linear method: its figures, its certificate, and what score models may do."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from _networks import BoxNetwork, LinearCandidates, TagNetwork, boxes
from sklearn_fw.inference import Viterbi
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    EnumeratedModel,
    ProxLinearStructuredSVM,
    StructuredSVM,
)
from sklearn_fw.structured._prox_linear._scores import CheckedScores

FORMS = ("none", "shared", "own", "edges")
ignore_budget = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def sequences(seed=0, n_samples=12, length=5):
    rng = np.random.RandomState(seed)
    y = [rng.randint(3, size=rng.randint(1, length + 1)) for _ in range(n_samples)]
    return [np.eye(3)[t] + 0.3 * rng.normal(size=(len(t), 3)) for t in y], y


def objective(svm, X, y, w):
    """F at w by enumeration of candidates with costs."""
    hinge = [np.max(c + (s := svm.model_.value(x, w)) - s[0]) for x, c in zip(X, y)]
    return 0.5 * svm.lam_ * (w @ w) + np.mean(hinge)


# ---- figures of the reference experiment ---------------------------------------------------------


@pytest.mark.slow
@ignore_budget
def test_boxes_with_automatic_steps():
    X, y = boxes()
    svm = ProxLinearStructuredSVM(BoxNetwork(), C=1.0, tol=1e-3, max_iter=15, random_state=0)
    svm.fit(X, y)
    values = svm.history_["objective"]
    assert values[2] <= 0.018
    assert values[-1] <= 0.0055
    assert np.all(np.diff(values) <= 0.0)
    assert svm.objective_ == pytest.approx(objective(svm, X, y, svm.coef_), rel=1e-9, abs=0)


@pytest.mark.slow
@ignore_budget
def test_a_step_size_that_is_too_large_is_halved():
    X, y = boxes()
    svm = ProxLinearStructuredSVM(
        BoxNetwork(), C=1.0, eta=1e3, max_iter=15, tol=1e-4, random_state=5
    ).fit(X, y)
    rejected = np.flatnonzero(svm.history_["is_accepted"][:-1] == 0)
    assert len(rejected)
    etas = svm.history_["eta"]
    assert np.array_equal(etas[rejected + 1], 0.5 * etas[rejected])
    assert svm.objective_ < 0.1 * svm.history_["objective"][0]


# ---- limits and certificates ---------------------------------------------------------------------


def test_linear_scores_reach_the_convex_optimum(rng):
    X = [rng.normal(size=(5, 4)) for _ in range(20)]
    y = rng.integers(5, size=20)
    convex = StructuredSVM(EnumeratedModel(), solver="bcpfw", C=2.0, tol=1e-8, max_iter=5000)
    convex.fit(X, y)
    svm = ProxLinearStructuredSVM(
        LinearCandidates(4), C=2.0, eta=1e12, tol=1e-7, random_state=0, max_iter=50
    ).fit(X, y)
    assert svm.converged_
    assert svm.objective_ == pytest.approx(convex.objective_, rel=1e-6, abs=0)
    assert svm.dual_objective_ <= convex.objective_ * (1 + 1e-9)


@pytest.mark.slow
def test_the_certificate_bounds_the_model_and_its_gradient():
    """Against a much more exact solution of the model at the point that was returned."""
    X, y = boxes(n_samples=20, n_boxes=12)
    svm = ProxLinearStructuredSVM(BoxNetwork(), eta=1.0, tol=0.1, max_iter=60, random_state=0)
    svm.fit(X, y)
    w, eta, lam = svm.coef_, svm.eta_, svm.lam_
    rows = [np.stack([svm.model_.jvp(x, w, e) for e in np.eye(len(w))], axis=1) for x in X]
    values = [svm.model_.value(x, w) for x in X]

    def model(v):
        hinge = [np.max(c + s - s[0] + (J - J[0]) @ (v - w)) for c, s, J in zip(y, values, rows)]
        return 0.5 * lam * (v @ v) + (v - w) @ (v - w) / (2 * eta) + np.mean(hinge)

    # Subgradient steps with averaging from the solution: no dual method involved.
    sigma, v, best, best_v = lam + 1 / eta, w.copy(), model(w), w
    for k in range(1, 4001):
        places = [np.argmax(c + s + J @ (v - w)) for c, s, J in zip(y, values, rows)]
        g = lam * v + (v - w) / eta
        g = g + np.mean([J[m] - J[0] for J, m in zip(rows, places)], axis=0)
        v = v - 2.0 / (sigma * (k + 1)) * g
        if model(v) < best:
            best, best_v = model(v), v
    assert svm.dual_objective_ <= best + 1e-12
    assert svm.objective_ - best <= svm.dual_gap_ + 1e-12
    assert best < svm.objective_  # so that the following says something
    error = np.sqrt(2 * max(best - svm.dual_objective_, 0.0) / sigma) / eta
    assert svm.prox_gradient_norm_ >= np.linalg.norm(w - best_v) / eta - error
    assert svm.converged_
    assert svm.dual_gap_ <= 0.1 * svm.objective_


# ---- kinds of scores -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_chains_in_all_forms_learn_and_predict(form):
    X, y = sequences()
    svm = ProxLinearStructuredSVM(TagNetwork(form=form), C=10.0, random_state=0).fit(X, y)
    assert svm.score(X, y) >= 0.95
    assert all(len(a) == len(b) for a, b in zip(svm.predict(X), y))
    value = svm.model_.value(X[0], svm.coef_)
    if form == "none":
        assert svm.score_samples(X)[0] == pytest.approx(value.max(axis=1).sum(), rel=1e-12, abs=0)
    assert svm.predict([np.empty((0, 3))])[0].shape == (0,)


def test_labels_may_be_words_or_some_numbers_of_states():
    X, y = sequences()
    words = [np.array(["a", "b", "c"])[t] for t in y]
    svm = ProxLinearStructuredSVM(TagNetwork(), C=10.0, random_state=0).fit(X, words)
    assert svm.classes_.tolist() == ["a", "b", "c"]
    assert set(np.concatenate(svm.predict(X))) <= {"a", "b", "c"}
    some = [np.minimum(t, 1) for t in y]
    svm = ProxLinearStructuredSVM(TagNetwork(), C=10.0, random_state=0).fit(X, some)
    assert svm.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="3 states to each node, but y holds 2 labels"):
        ProxLinearStructuredSVM(TagNetwork()).fit(X, [np.array(["a", "b"])[t] for t in some])


def test_a_matrix_of_costs_is_the_loss_of_training():
    X, y = sequences()
    costs = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    svm = ProxLinearStructuredSVM(
        TagNetwork(), task_loss=costs, C=1.0, max_iter=1, tol=0, eta=1e-12, random_state=0
    ).fit(X, y)
    w, hinge = svm.coef_, []
    for x, truth in zip(X, y):
        unary, table = svm.model_.value(x, w)
        _states, value, _ = Viterbi().argmax(_scores(unary + costs[truth], table))
        hinge.append(value - _scores(unary, table).value(truth))
    expected = 0.5 * svm.lam_ * (w @ w) + np.mean(hinge)
    assert svm.objective_ == pytest.approx(expected, rel=1e-9, abs=0)


def _scores(unary, table):
    from sklearn_fw.inference import PairwiseScores

    return PairwiseScores.from_arrays(unary, table, np.arange(len(unary) - 1)[:, None] + [0, 1])


# ---- solvers, determinism, life of an estimator --------------------------------------------------


@ignore_budget
@pytest.mark.parametrize(
    "solver", ["bcfw", "fw", "bcpfw", "bcafw", "cached", "sdm", "minibatch", "n_slack", "one_slack"]
)
def test_solvers_agree_on_the_first_models(solver):
    X, y = boxes(n_samples=20, n_boxes=12)
    options = {"eta": 1.0, "max_iter": 30, "tol": 0.02, "random_state": 0}
    svm = ProxLinearStructuredSVM(BoxNetwork(), solver=solver, **options).fit(X, y)
    assert svm.objective_ <= 0.05
    assert np.all(np.diff(svm.history_["objective"]) <= 0.0)


@pytest.mark.parametrize(
    "solver, message",
    [
        ("casimir", "is not for linearized scores"),
        ("extragradient", "is not for linearized scores"),
        ("sp_fw", "is not for linearized scores"),
        (BlockFrankWolfe(lower_bounds=0.0), "is not for linearized scores.*without bounds"),
        ("dual_ascent", "trains surrogate='crf' or 'softmax_margin'"),
    ],
)
def test_solvers_of_other_problems_are_refused(solver, message):
    X, y = boxes(n_samples=5, n_boxes=12)
    with pytest.raises(ValueError, match=message):
        ProxLinearStructuredSVM(BoxNetwork(), solver=solver).fit(X, y)


def test_solvers_without_certificate_are_refused():
    X, y = boxes(n_samples=5, n_boxes=12)
    with pytest.raises(ValueError, match=r"has no certificate.*use 'bcfw' or 'fw'"):
        ProxLinearStructuredSVM(BoxNetwork(), solver="subgradient").fit(X, y)


@pytest.mark.slow
def test_pickle_clone_and_grid_search():
    X, y = sequences()
    svm = ProxLinearStructuredSVM(TagNetwork(), C=10.0, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(svm))
    assert all(map(np.array_equal, again.predict(X), svm.predict(X)))
    assert not hasattr(clone(svm), "coef_")
    grid = GridSearchCV(svm, {"C": [1e-3, 10.0], "score_model__n_hidden": [2, 4]}, cv=2)
    assert grid.fit(X, y).best_params_["C"] == 10.0


def test_warm_start_goes_on():
    X, y = sequences()
    svm = ProxLinearStructuredSVM(TagNetwork(), C=10.0, warm_start=True, tol=1e-2, random_state=0)
    first = svm.fit(X, y).objective_
    assert svm.fit(X, y).objective_ <= first * (1 + 1e-12)
    with pytest.raises(ValueError, match="previous fit, which had 33 weights and not 27"):
        svm.set_params(score_model=TagNetwork(n_hidden=3)).fit(X, y)


def test_budgets_end_a_fit_with_a_certificate():
    X, y = boxes(n_samples=20, n_boxes=12)
    with pytest.warns(
        ConvergenceWarning, match="1 convex models were solved and the duality gap of"
    ):
        svm = ProxLinearStructuredSVM(BoxNetwork(), max_iter=1, tol=1e-3).fit(X, y)
    assert svm.dual_gap_ == pytest.approx(svm.objective_ - svm.dual_objective_, rel=1e-9, abs=0)
    assert svm.status_ == "max_iter"
    assert not svm.converged_
    with pytest.warns(ConvergenceWarning, match="time_limit=.* ended the fit"):
        ProxLinearStructuredSVM(BoxNetwork(), time_limit=1e-9, tol=1e-3).fit(X, y)


# ---- bad input -----------------------------------------------------------------------------------


class Broken(TagNetwork):
    """One method that answers something else."""

    def __init__(self, method="vjp", change=None):
        super().__init__()
        self.method, self.change = method, change

    def __getattribute__(self, name):
        get = super().__getattribute__
        if name != get("__dict__").get("method"):
            return get(name)
        return lambda *args: get("change")(get(name)(*args))


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("vjp", lambda g: 1.01 * g, "vjp of Broken does not match its jvp for sample 0: <v, jvp"),
        ("vjp", lambda g: g[:-1], r"vjp of Broken for sample 0 must have shape \(33,\), got \(32,"),
        ("jvp", lambda a: a[0], "jvp of Broken for sample 0 must have the shapes of value"),
        ("value", lambda a: (a[0], a[1], a[1], a[1]), "got a tuple of 4"),
        (
            "value",
            lambda a: (a[0] * np.nan, a[1]),
            "value of Broken for sample 0 must be finite, got NaN",
        ),
        ("value", lambda a: (a[0], a[1][:2]), "pairwise in value of Broken for sample 0 must have"),
        ("value", lambda a: a[0][None], r"must have shape \(n_candidates,\) or \(n_nodes"),
        ("value", lambda a: (2 * a[0], a[1]), "jvp of Broken does not match differences"),
        ("init", lambda w: w[None], r"init of Broken must have shape \(n_weights,\)"),
    ],
)
def test_broken_score_models_are_refused_with_numbers(method, change, message):
    X, y = sequences()
    with pytest.raises(ValueError, match=message):
        ProxLinearStructuredSVM(Broken(method, change), random_state=0).fit(X, y)


def test_errors_of_user_code_name_the_sample():
    class Fails(TagNetwork):
        def value(self, x, w):
            raise KeyError("no such word")

    X, y = sequences()
    with pytest.raises(KeyError) as error:
        ProxLinearStructuredSVM(Fails()).fit(X, y)
    assert error.value.__notes__ == ["raised by value of Fails for sample 0, X[0]"]


@pytest.mark.parametrize("model", [object(), None, "chain", TagNetwork, ChainModel()])
def test_what_is_no_score_model(model):
    with pytest.raises(TypeError, match=r"torch.nn.Module or an object with the methods init"):
        ProxLinearStructuredSVM(model).fit(*sequences())


def test_outputs_that_do_not_fit():
    X, y = sequences()
    with pytest.raises(ValueError, match="same length"):
        ProxLinearStructuredSVM(TagNetwork()).fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"y\[0\] has .* labels, but X\[0\]"):
        ProxLinearStructuredSVM(TagNetwork()).fit(X, [t[:-1] for t in y])
    X, y = boxes(n_samples=3, n_boxes=12)
    with pytest.raises(ValueError, match=r"y\[1\]: y_true must name one of 12 candidates, got 12"):
        ProxLinearStructuredSVM(BoxNetwork()).fit(X, [0, 12, 1])
    with pytest.raises(ValueError, match=r"y\[0\]: .*has 5 costs for 12"):
        ProxLinearStructuredSVM(BoxNetwork()).fit(X, [np.arange(5.0)] * 3)


def test_a_random_model_has_no_derivative():
    class Random(TagNetwork):
        def value(self, x, w):
            unary, table = super().value(x, w)
            return unary + np.random.default_rng().normal(size=unary.shape), table

    with pytest.raises(ValueError, match="draws random numbers has no derivative"):
        ProxLinearStructuredSVM(Random(), random_state=0).fit(*sequences())


def test_derivatives_at_a_kink_are_forgiven():
    class Kink(LinearCandidates):
        def value(self, x, w):
            return np.abs(x @ w)

        def jvp(self, x, w, d):
            return np.sign(x @ w) * (x @ d)

        def vjp(self, x, w, v):
            return x.T @ (np.sign(x @ w) * v)

    scores, rng = CheckedScores(Kink(2)), np.random.RandomState(0)
    scores.check_derivatives(np.eye(2), np.array([1.0, -3e-6]), rng)
    with pytest.raises(ValueError, match="differences of its value"):
        scores.check_derivatives(np.eye(2)[1:], np.array([1.0, -1e-9]), rng)


def test_weights_are_read_only_for_user_code():
    class Writes(LinearCandidates):
        def value(self, x, w):
            w[:] = 0.0
            return x @ w

    with pytest.raises(ValueError, match="read-only"):
        ProxLinearStructuredSVM(Writes(2)).fit([np.eye(2)], [0])
