"""Penalties against brute-force minimization, duality, and the compiled proximal operators."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from sklearn_fw._kernels._jit import njit
from sklearn_fw._kernels.common import prox as kernels
from sklearn_fw.penalties import (
    Box,
    ElasticNet,
    GroupLasso,
    GroupSeparable,
    L2Ball,
    Penalty,
    Simplex,
    resolve_penalty,
)
from sklearn_fw.projections import project_simplex

pytestmark = pytest.mark.plain


class LargestEntry(GroupSeparable):
    """Largest absolute value of a group; its conjugate is the indicator of an l1 ball."""

    def group_value(self, u, group):
        return np.abs(u).max()

    def group_prox(self, u, step_size, group):
        if np.abs(u).sum() <= step_size:
            return np.zeros_like(u)
        if step_size == 0:
            return u.copy()
        return u - np.sign(u) * project_simplex(np.abs(u), radius=step_size)

    def group_conjugate(self, v, group):
        return 0.0 if np.abs(v).sum() <= 1 + 1e-12 else np.inf


N_FEATURES = 5
SEPARABLE = [
    ElasticNet(),
    ElasticNet(0.0),
    ElasticNet(1.0),
    Box(-1, [1, 0, 2, np.inf, 0.5]),
    Box(0.2, 1, l1=0.3, l2=0.5),
    Box(-np.inf, 1, l1=0.5),
    Box(),
    Box(l1=0.3),
]
GROUPED = [
    GroupLasso([[0, 3], [2]]),
    GroupLasso([1, 0, 1, 0, 0], group_weights=[0.5, 2.0], l1=0.2, l2=0.3),
    GroupLasso([[4, 2], [0, 1]], group_weights="ones", l1=0.4),
    GroupLasso([0] * 5, group_weights=[0.0], l1=0.4),
    L2Ball(1.5),
    L2Ball(groups=[[0, 3], [1]]),
    Simplex(2.0),
    Simplex(groups=[7, 7, 3, 3, -1]),
    LargestEntry(),
    LargestEntry(groups=[[1, 0], [2, 3]]),
]
PENALTIES = SEPARABLE + GROUPED


def bound(penalty):
    return penalty.bind(N_FEATURES)


def steps_of_groups(form, rng):
    """Return random steps, constant within each group."""
    if form.separable:
        return rng.uniform(0.1, 2, size=N_FEATURES)
    return np.append(rng.uniform(0.1, 2, size=form.weights.size), 1.0)[form.labels]


def nelder_mead(function, starts):
    """Minimize without derivatives, from several starts and again from where that ends."""
    options = {"xatol": 1e-11, "fatol": 1e-16, "maxiter": 2000}
    best = min((minimize(function, x, method="Nelder-Mead") for x in starts), key=lambda r: r.fun)
    for _ in range(3):
        best = minimize(function, best.x, method="Nelder-Mead", options=options)
    return best


# --- proximal operators ---------------------------------------------------------------


@pytest.mark.parametrize(
    "penalty",
    [
        GroupLasso([[0, 1, 2]]),
        GroupLasso([[0, 2]], l1=0.3, l2=0.5),
        GroupLasso([0, 0, 0], group_weights=[0.0], l1=0.3),
        LargestEntry([[0, 1, 2]]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_group_prox_is_the_minimiser(penalty, scale, rng):
    form = penalty.bind(3)
    u = scale * rng.normal(size=3)
    x = form.prox(u, 0.8)
    objective = lambda w: 0.8 * form.value(w) + np.sum((w - u) ** 2) / 2  # noqa: E731
    best = nelder_mead(objective, [u / (1 + np.linalg.norm(u)), np.full(3, 1e-3)])
    np.testing.assert_allclose(x, best.x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_prox_satisfies_the_optimality_condition(penalty, rng):
    # x = prox(u) if and only if g = (u - x) / step is a subgradient: h(x) + h*(g) = <x, g>.
    form = bound(penalty)
    for scale in (0.3, 1.0, 5.0):
        u = scale * rng.normal(size=N_FEATURES)
        step = steps_of_groups(form, rng)
        x = form.prox(u, step)
        g = (u - x) / step
        if not form.separable:
            np.testing.assert_array_equal(x[form.labels < 0], u[form.labels < 0])
        equality = form.value(x) + form.conjugate(g * (1 - 1e-15)) - x @ g
        assert equality == pytest.approx(0.0, rel=0, abs=1e-10)


def test_simplex_of_ties_equals_sorting(rng):
    for n in (1, 2, 3, 17, 200):
        form = Simplex(0.7).bind(n)
        for v in np.round(rng.choice([1e-3, 1.0, 100.0]) * rng.normal(size=(20, n)), 1):
            found = form.prox(v, 1.0)
            np.testing.assert_allclose(
                found, project_simplex(v, radius=0.7), rtol=1e-12, atol=1e-14
            )


@njit
def compiled_separable(w, step, l1, l2, lower, upper):
    x = np.empty_like(w)
    for j in range(w.size):
        x[j] = kernels.prox_separable(w[j], step[j], l1, l2, lower[j], upper[j])
    return x


@pytest.mark.parametrize("penalty", SEPARABLE, ids=repr)
def test_compiled_separable_equals_numpy(penalty, rng):
    form = bound(penalty)
    w, step = rng.normal(scale=2, size=N_FEATURES), steps_of_groups(form, rng)
    lower, upper = (np.full(N_FEATURES, b, dtype=float) for b in (form.lower, form.upper))
    found = compiled_separable(w, step, form.l1, form.l2, lower, upper)
    np.testing.assert_array_equal(found, form.prox(w, step))


# --- values ---------------------------------------------------------------------------


def test_values():
    w = np.array([3.0, -4.0, 0.0, 0.5, 2.0])
    group = np.sqrt(2) * 5 + 0.5
    for penalty, expected in [
        (ElasticNet(0.25), 0.25 * 9.5 + 0.75 * 29.25 / 2),
        (ElasticNet(1.0), 9.5),
        (ElasticNet(0.0), 29.25 / 2),
        (Box(-4, 3), 0.0),
        (Box(-4, [3, 1, 1, 1, 1.9]), np.inf),
        (Box(), np.inf),
        (GroupLasso([[0, 1], [3]]), group),
        (GroupLasso([[0, 1], [3]], l1=2.0, l2=4.0), group + 2 * 7.5 + 2 * 25.25),
        (L2Ball(5.5), 0.0),
        (L2Ball(5.3), np.inf),
        (L2Ball(5.0, groups=[0, 0, 1, 1, 1]), 0.0),
        (Simplex(2.5, groups=[-1, -1, 0, 0, 0]), 0.0),
        (Simplex(2.4, groups=[-1, -1, 0, 0, 0]), np.inf),
        (Simplex(1.5), np.inf),
        (LargestEntry(), 9.5),
        (LargestEntry([[0, 1, 2], [4]]), 6.0),
    ]:
        assert bound(penalty).value(w) == pytest.approx(expected, rel=1e-14), penalty


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_strong_convexity(penalty, rng):
    form = bound(penalty)
    for scale in (0.1, 1.0, 3.0):
        a, b = (form.prox(scale * rng.normal(size=N_FEATURES), 0.01) for _ in range(2))
        difference = form.strong_convexity / 8 * (a - b) @ (a - b)
        assert form.value((a + b) / 2) <= (form.value(a) + form.value(b)) / 2 - difference + 1e-12


def test_unpenalised_features_take_the_strong_convexity():
    assert GroupLasso([[0]], l2=2.0).bind(1).strong_convexity == 2.0
    assert GroupLasso([[0]], l2=2.0).bind(2).strong_convexity == 0.0


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_scaled(penalty, rng):
    form, alpha = bound(penalty), 0.3
    scaled = form.scaled(alpha)
    u = rng.normal(scale=2, size=N_FEATURES)
    x = form.prox(u, alpha * 0.7)
    np.testing.assert_allclose(scaled.prox(u, 0.7), x, rtol=1e-13, atol=1e-15)
    assert scaled.value(x) == pytest.approx(alpha * form.value(x), rel=1e-13)
    v = alpha * (u - x) / (alpha * 0.7) * (1 - 1e-15)
    assert scaled.conjugate(v) == pytest.approx(alpha * form.conjugate(v / alpha), abs=1e-13)
    assert scaled.strong_convexity == pytest.approx(alpha * form.strong_convexity)
    again = scaled.scaled(1 / alpha)
    np.testing.assert_allclose(again.prox(u, 0.7), form.prox(u, 0.7), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_no_penalty_at_scale_zero(penalty):
    form = bound(penalty).scaled(0.0)
    w = bound(penalty).prox(np.array([0.4, -0.2, 0.1, 0.3, 0.0]), 0.0)
    assert form.value(w) == 0.0
    np.testing.assert_allclose(form.prox(w, 1.0), w, rtol=0, atol=1e-15)
    assert form.conjugate(np.zeros(N_FEATURES)) == 0.0


# --- conjugates -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("penalty", SEPARABLE, ids=repr)
def test_separable_conjugate_is_the_supremum(penalty, rng):
    form = bound(penalty)
    # Concave in every coordinate: infinite, or attained at an end or within the grid.
    lower, upper = (
        np.clip(np.broadcast_to(b, N_FEATURES), -1e8, 1e8) for b in (form.lower, form.upper)
    )
    for v in rng.normal(size=(8, N_FEATURES)):

        def gain(w, v=v):
            return v * w - form.l1 * np.abs(w) - form.l2 / 2 * w * w

        grid = np.linspace(-20, 20, 400001)[:, None]
        candidates = np.vstack([lower, upper, np.clip(grid, lower, upper)])
        supremum = gain(candidates).max(axis=0).sum()
        conjugate = form.conjugate(v)
        assert (conjugate < np.inf) == (supremum < 1e3)
        if conjugate < np.inf:
            assert conjugate == pytest.approx(supremum, rel=0, abs=1e-7)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_dual_scale_ends_at_the_edge(penalty, rng):
    form = bound(penalty).scaled(0.5)
    for scale in (0.01, 0.3, 1.0, 10.0, 1e4):
        v = scale * rng.normal(size=N_FEATURES)
        if not form.separable:
            v[form.labels < 0] = 0.0
        t = form.dual_scale(v)
        assert 0.0 <= t <= 1.0
        assert form.conjugate(t * v) < np.inf
        if t < 1.0:
            assert form.conjugate((t * (1 + 1e-9) if t > 0.0 else 1e-9) * v) == np.inf
    assert form.dual_scale(np.zeros(N_FEATURES)) == 1.0


def test_features_without_penalty_have_no_dual():
    v = np.array([0.0, 0.0, 1e-3])
    for penalty in (GroupLasso([[0, 1]], l2=1.0), L2Ball(groups=[0, 0, -1]), LargestEntry([[0]])):
        form = penalty.bind(3)
        assert form.conjugate(v) == np.inf
        assert form.dual_scale(v) == 0.0
        assert form.conjugate(0 * v) == 0.0


# --- several outputs ------------------------------------------------------------------


@pytest.mark.parametrize("penalty", GROUPED, ids=repr)
def test_groups_hold_all_outputs_of_their_features(penalty, rng):
    # The same as one output of twice as many features, grouped alike.
    form = bound(penalty)
    flat = clone(penalty).set_params(groups=np.repeat(form.labels, 2))
    if isinstance(penalty, GroupLasso):
        flat.set_params(group_weights=form.weights)
    flat = flat.bind(2 * N_FEATURES)
    w, step = rng.normal(size=(N_FEATURES, 2)), steps_of_groups(form, rng)
    x = form.prox(w, step)
    expected = flat.prox(w.ravel(), np.repeat(step, 2)).reshape(w.shape)
    np.testing.assert_allclose(x, expected, rtol=1e-14, atol=1e-16)
    assert form.value(x) == pytest.approx(flat.value(x.ravel()), rel=1e-14)
    w[form.labels < 0] = 0.0
    t = form.dual_scale(w)
    assert t == pytest.approx(flat.dual_scale(w.ravel()), rel=1e-13)
    assert form.conjugate(t * w) == pytest.approx(flat.conjugate(t * w.ravel()), rel=1e-13)


# --- refusals -------------------------------------------------------------------------


def test_groups_in_every_form():
    expected = [0, -1, 0, 1, 1]
    for groups in (
        [[2, 0], [3, 4]],
        [np.array([0, 2]), range(3, 5)],
        np.array([[0, 2], [3, 4]]),
        [0, -1, 0, 1, 1],
        np.array([3, -5, 3, 8, 8]),
    ):
        form = bound(GroupLasso(groups, group_weights=[1.0, 2.0]))
        np.testing.assert_array_equal(form.labels, expected)
        np.testing.assert_array_equal(form.weights, [1.0, 2.0])
        np.testing.assert_array_equal(form.start, [0, 2, 4])
        np.testing.assert_array_equal(form.members, [0, 2, 3, 4])
    np.testing.assert_array_equal(bound(LargestEntry()).labels, np.arange(5))
    np.testing.assert_array_equal(bound(L2Ball()).labels, np.zeros(5))


GROUP_ERRORS = [
    ([[0, 1], [1, 2]], "groups overlap: feature 1 is in groups[0] and groups[1]; keep it in one"),
    ([[0], []], "groups[1] is empty: leave it out"),
    ([[0, 5]], "groups[0] holds feature 5: features are 0 to 4"),
    ([[-1]], "groups[0] holds feature -1: features are 0 to 4"),
    ([[0, 0]], "groups[0] holds a feature twice: name each once"),
    ([[0.5]], "groups[0] must be a list of feature numbers, got [0.5]"),
    ([[True, False]], "groups[0] must be a list of feature numbers"),
    ([[[0]]], "groups[0] must be a list of feature numbers"),
    ([0, 1, 1], "groups has 3 labels, expected one for each of the 5 features; use negative"),
    ([0.0, 1, 1, 0, 0], "groups must hold integer labels, got float64"),
    ("sqrt", "groups must be a list of lists of feature numbers"),
    ([-1] * 5, "groups has no group: leave out the penalty, or name some features"),
    ([], "groups has no group"),
    (3, "groups must be a list of lists of feature numbers, or one label per feature; got 3"),
]


@pytest.mark.parametrize(("groups", "message"), GROUP_ERRORS)
@pytest.mark.parametrize("cls", [GroupLasso, L2Ball, Simplex, LargestEntry])
def test_errors_of_groups(cls, groups, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        bound(cls(groups=groups))


class Misshapen(LargestEntry):
    def group_prox(self, u, step_size, group):
        return u[:1]


class WithoutConjugate(LargestEntry):
    group_conjugate = GroupSeparable.group_conjugate


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ElasticNet(1.0).bind(0), ValueError, "n_features == 0, must be >= 1"),
        (lambda: bound(Box(1, 0)), ValueError, "lower must not be above upper anywhere"),
        (lambda: bound(Box([0, 0], 1)), ValueError, "lower has shape (2,), expected () or (5,)"),
        (lambda: bound(Box(np.nan, 1)), ValueError, "lower must not be NaN; for no bound use"),
        (
            lambda: bound(GroupLasso([[0]], "cubic")),
            ValueError,
            "group_weights must be one of 'ones', 'sqrt' or an array; got 'cubic'",
        ),
        (
            lambda: bound(GroupLasso([[0]], [1.0, 2.0])),
            ValueError,
            "group_weights must have shape (1,), got (2,)",
        ),
        (
            lambda: bound(GroupLasso([[0]], [-1.0])),
            ValueError,
            "group_weights must not be negative",
        ),
        (
            lambda: bound(Misshapen([[0, 1]])).prox(np.zeros(5), 1.0),
            ValueError,
            "group_prox of Misshapen returned for group 0 must have shape (2,), got (1,)",
        ),
        (
            lambda: bound(WithoutConjugate()).conjugate(np.zeros(5)),
            NotImplementedError,
            "no duality gap can be computed: override group_conjugate",
        ),
        (lambda: resolve_penalty("l2", 0.5), ValueError, "penalty must be 'elasticnet', None or"),
    ],
)
def test_errors_name_parameter_and_remedy(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_resolve_penalty():
    penalty = GroupLasso([[0]])
    assert resolve_penalty(penalty, 0.5) is penalty
    assert resolve_penalty("elasticnet", 0.25).get_params() == {"l1_ratio": 0.25}
    none = bound(resolve_penalty(None, 0.5))
    assert none.separable
    assert (none.l1, none.l2, none.lower, none.upper) == (0.0, 0.0, -np.inf, np.inf)


def test_a_penalty_of_your_own_may_store_other_parameters():
    class Scaled(LargestEntry):
        def __init__(self, factor):
            self.factor = factor

        def group_value(self, u, group):
            return self.factor * super().group_value(u, group)

    assert Scaled(3.0).bind(2).value([1.0, -2.0]) == 9.0


def test_a_penalty_of_its_own_kind_names_the_base_class():
    class Own(Penalty):
        def value(self, w):
            return 0.0

    with pytest.raises(TypeError, match=r"Own is not a penalty.*GroupSeparable and write group_"):
        Own().bind(3)
