"""What losses, penalties and projections say about arrays and numbers they cannot take."""

import warnings

import numpy as np
import pytest

from sklearn_fw import AsagaClassifier, AsagaRegressor, losses, penalties, projections
from sklearn_fw.losses import Huber, Loss, SmoothHinge, resolve_loss

N = 6
BAD = {
    "none": None, "text": "x", "nan": np.full(N, np.nan), "complex": np.ones(N) * 1j,
    "objects": np.array([None] * N), "dates": np.zeros(N, "M8[D]"),
    "masked": np.ma.masked_equal(np.arange(float(N)), 2.0), "texts": np.array(["1"] * N),
    "ragged": [[1.0], [1.0, 2.0]],
}  # fmt: skip
LOSSES = [
    losses.LogLoss(), losses.SquaredHinge(), SmoothHinge(), losses.ModifiedHuber(),
    losses.SquaredError(), Huber(), losses.SquaredEpsilonInsensitive(),
]  # fmt: skip
METHODS = [("value", "z"), ("derivative", "z"), ("curvature", "z"), ("conjugate", "s")]


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses(loss, kind):
    y = np.ones(N)
    for method, name in METHODS:
        with pytest.raises(ValueError, match=rf"^{name}\b"):
            getattr(loss, method)(y, BAD[kind])
        with pytest.raises(ValueError, match=r"^y\b"):
            getattr(loss, method)(BAD[kind], y)
        with pytest.raises(ValueError, match=f"y has shape .* {name} has"):
            getattr(loss, method)(y, np.ones(N + 1))


@pytest.mark.parametrize("kind", BAD)
def test_softmax(kind):
    loss = losses.MultinomialLogLoss()
    for method, name in METHODS:
        with pytest.raises(ValueError, match=rf"^{name}\b"):
            getattr(loss, method)(np.zeros(N), BAD[kind])
        with pytest.raises(ValueError, match=r"^y\b"):
            getattr(loss, method)(BAD[kind], np.zeros((N, 2)))
        with pytest.raises(ValueError, match=f"{name} must have one column per class"):
            getattr(loss, method)(np.zeros(()), np.zeros(()))


@pytest.mark.parametrize("value", [None, "x", 0.0, -1.0, np.nan, np.inf, 1j, [1.0], 1e-320])
def test_parameters_of_losses(value):
    for loss, name in ((SmoothHinge(value), "gamma"), (Huber(value), "delta")):
        if name == "delta" and value == 1e-320:
            continue  # tiny corners are allowed
        for ask in (loss.value, loss.derivative, loss.conjugate):
            with pytest.raises((TypeError, ValueError), match=name):
                ask([1.0], [0.5])
        with pytest.raises((TypeError, ValueError), match=name):
            loss.curvature([1.0], [0.5])


def test_losses_that_compiled_code_does_not_know():
    class Own(Huber):
        def value(self, y, z):
            return np.abs(z - y)

    for loss in (Own(), Huber, Loss, object()):
        with pytest.raises(ValueError, match="loss must be one of"):
            resolve_loss(loss, "regression")
        with pytest.raises(ValueError, match="loss must be one of"):
            AsagaRegressor(loss).fit([[0.0], [1.0]], [0.0, 1.0])


# ---- penalties -----------------------------------------------------------------------------------


class Own(penalties.GroupSeparable):
    """An l1 norm of the user, of which one method is replaced."""

    def __init__(self, name=None, answer=None, groups=None):
        super().__init__(groups)
        self.name = name
        self.answer = answer

    def group_value(self, u, group):
        return self.answer if self.name == "group_value" else float(np.abs(u).sum())

    def group_prox(self, u, step_size, group):
        if self.name == "group_prox":
            return self.answer(u) if callable(self.answer) else self.answer
        return np.sign(u) * np.maximum(np.abs(u) - step_size, 0.0)

    def group_conjugate(self, v, group):
        if self.name == "group_conjugate":
            return self.answer
        return 0.0 if np.abs(v).max() <= 1.0 + 1e-12 else np.inf


PENALTIES = [
    penalties.ElasticNet(), penalties.L1(), penalties.L2(), penalties.Box(-1.0, np.ones(N)),
    penalties.Box(l1=0.1), penalties.GroupLasso([[0, 1], [2, 3]]),
    penalties.L2Ball(), penalties.Simplex(), Own(),
]  # fmt: skip


@pytest.mark.parametrize("kind", [*BAD, "longer", "two axes too many", "a number"])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_points_of_penalties(penalty, kind):
    extra = {"longer": np.ones(N + 1), "two axes too many": np.ones((N, 1, 1)), "a number": 3.0}
    bound, bad = penalty.bind(N), (BAD | extra)[kind]
    for ask, name in (
        (bound.value, "w"), (lambda w: bound.prox(w, 1.0), "w"), (bound.conjugate, "v"),
        (bound.dual_scale, "v"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name}\b"):
            ask(bad)


@pytest.mark.parametrize(
    "step", [(), None, "x", np.nan, np.inf, -1.0, 1j, np.ones(N + 1), np.ones((N, 1))], ids=repr
)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_steps_of_penalties(penalty, step):
    with pytest.raises(ValueError, match=r"^step"):
        penalty.bind(N).prox(np.ones(N), step)


def test_steps_differ_between_groups_only():
    bound = penalties.GroupLasso([[0, 1], [2, 3]]).bind(N)
    bound.prox(np.ones(N), [1.0, 1.0, 2.0, 2.0, 3.0, 4.0])  # two features have no penalty
    with pytest.raises(ValueError, match="step_size must be the same for all features of a group"):
        bound.prox(np.ones(N), [1.0, 2.0, 2.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("alpha", [None, "x", -1.0, np.nan, np.inf, 1j])
def test_factors_of_penalties(alpha):
    for penalty in PENALTIES:
        with pytest.raises((TypeError, ValueError), match="alpha"):
            penalty.bind(N).scaled(alpha)


@pytest.mark.parametrize(
    "name, answer",
    [
        *(("group_value", a) for a in (None, "x", np.nan, -np.inf, 1j, np.ones(2))),
        *(("group_conjugate", a) for a in (None, "x", np.nan, -np.inf, 1j, np.ones(2))),
        *(("group_prox", a) for a in (None, "x", 1.0, np.nan, np.ones((1, 1)))),
        ("group_prox", lambda u: u * np.nan),
        ("group_prox", lambda u: u * 1j),
        ("group_prox", lambda u: np.append(u, 0.0)),
    ],
)
def test_answers_of_own_penalties(name, answer):
    X, y = np.eye(4), np.array([0.0, 1.0, 2.0, 3.0])
    for fit in (AsagaRegressor(penalty=Own(name, answer), alpha=0.1),):
        with pytest.raises(ValueError, match=f"{name} of Own returned"):
            fit.fit(X, y)
    with pytest.raises(ValueError, match=f"{name} of Own returned"):
        AsagaClassifier(penalty=Own(name, answer)).fit(X, y > 1)


def test_penalties_that_solvers_do_not_know():
    class Strange(penalties.Penalty):
        def _bind(self, n_features):
            return object()

    with pytest.raises(TypeError, match="Strange is no penalty that solvers know"):
        AsagaRegressor(penalty=Strange(), alpha=0.1).fit(np.eye(3), [1.0, 2.0, 3.0])


# ---- projections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BAD)
def test_points_of_projections(kind):
    for project in (
        projections.project_simplex, projections.project_l1_ball, projections.project_l2_ball,
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^v\b"):
            project(BAD[kind])
    with pytest.raises(ValueError, match=r"^v\b"):
        projections.project_box(BAD[kind], 0.0, 1.0)
    for name in ("lower", "upper"):
        with pytest.raises(ValueError, match=name):
            projections.project_box(np.ones(N), **{"lower": 0.0, "upper": 1.0, name: BAD[kind]})
    for project, name in (
        (projections.project_matching, "p"), (projections.sinkhorn_matching, "log_p"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name}\b"):
            project(BAD[kind])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"perfect": "no"}, "perfect must be True or False, got 'no'"),
        ({"perfect": None}, "perfect must be True or False"),
        ({"return_duals": "no"}, "return_duals must be True or False"),
        ({"duals": 3}, "duals must be a pair"),
        ({"duals": (None, [0.0])}, "u of duals must hold real numbers"),
        ({"duals": ([0.0], [np.nan])}, "v of duals must be finite"),
        ({"tol": None}, "tol must be"),
        ({"max_iter": 0.5}, "max_iter must be"),
    ],
)
def test_options_of_projections_onto_matchings(options, message):
    for project in (projections.project_matching, projections.sinkhorn_matching):
        with pytest.raises((TypeError, ValueError), match=message):
            project([[1.0]], **options)


def test_huge_matrices_are_refused_and_large_ones_projected():
    for project in (projections.project_matching, projections.sinkhorn_matching):
        with pytest.raises(ValueError, match="entry of absolute value 1e"):
            project(np.full((3, 3), 1e308))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)
            assert np.all(np.isfinite(project(np.diag([1e90, 1e-90, 0.0]))))
