"""Groups in every form, and what penalties refuse."""

import re

import numpy as np
import pytest

from _penalties import (
    LargestEntry,
    bound,
)
from sklearn_fw.penalties import (
    L1,
    Box,
    ElasticNet,
    GroupLasso,
    GroupSeparable,
    L2Ball,
    Penalty,
    Simplex,
    resolve_penalty,
)

pytestmark = pytest.mark.plain


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


def test_group_lasso_needs_groups():
    with pytest.raises(ValueError, match="groups must be a list of lists"):
        bound(GroupLasso(None))


class Misshapen(LargestEntry):
    def group_prox(self, u, step_size, group):
        return u[:1]


class WithoutConjugate(LargestEntry):
    group_conjugate = GroupSeparable.group_conjugate


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: L1().bind(0), ValueError, "n_features == 0, must be >= 1"),
        (lambda: bound(ElasticNet(1.5)), ValueError, "l1_ratio == 1.5, must be <= 1"),
        (lambda: bound(ElasticNet(-1)), ValueError, "l1_ratio == -1, must be >= 0"),
        (lambda: bound(ElasticNet(np.nan)), ValueError, "l1_ratio must be finite"),
        (lambda: bound(ElasticNet("auto")), TypeError, "l1_ratio must be an instance of float"),
        (lambda: bound(Box(1, 0)), ValueError, "lower must not be above upper anywhere"),
        (lambda: bound(Box(np.inf, np.inf)), ValueError, "lower must not be above upper"),
        (lambda: bound(Box([0, 0], 1)), ValueError, "lower has shape (2,), expected () or (5,)"),
        (lambda: bound(Box(0, [1] * 6)), ValueError, "upper has shape (6,), expected () or (5,)"),
        (lambda: bound(Box(np.nan, 1)), ValueError, "lower must not be NaN; for no bound use"),
        (lambda: bound(Box(0, 1, l1=-1)), ValueError, "l1 == -1, must be >= 0"),
        (lambda: bound(Box(l2=-1)), ValueError, "l2 == -1, must be >= 0"),
        (lambda: bound(Box(l1=np.inf)), ValueError, "l1 must be finite"),
        (lambda: bound(GroupLasso([[0]], l2=-1)), ValueError, "l2 == -1, must be >= 0"),
        (
            lambda: bound(GroupLasso([[0]], "cubic")),
            ValueError,
            "group_weights must be one of 'ones', 'sqrt' or an array; got 'cubic'",
        ),
        (
            lambda: bound(GroupLasso([[0]], [1.0, 2.0])),
            ValueError,
            "group_weights has shape (2,), expected one weight for each of the 1 groups",
        ),
        (
            lambda: bound(GroupLasso([[0]], [-1.0])),
            ValueError,
            "group_weights must be finite and not negative",
        ),
        (lambda: bound(L2Ball(0)), ValueError, "radius == 0, must be > 0"),
        (lambda: bound(Simplex(-1)), ValueError, "radius == -1, must be > 0"),
        (
            lambda: bound(Misshapen([[0, 1]])).prox(np.zeros(5), 1.0),
            ValueError,
            "group_prox of Misshapen returned shape (1,) for group 0, expected (2,)",
        ),
        (
            lambda: bound(WithoutConjugate()).conjugate(np.zeros(5)),
            NotImplementedError,
            "no duality gap can be computed: override group_conjugate",
        ),
        (lambda: resolve_penalty("l2", 0.5), ValueError, "penalty must be 'elasticnet', None or"),
        (lambda: resolve_penalty(L1, 0.5), ValueError, "such as L1() or GroupLasso(groups); got"),
        (lambda: resolve_penalty("elasticnet", 2), ValueError, "l1_ratio == 2, must be <= 1"),
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


def test_the_base_class_of_own_penalties_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        GroupSeparable()


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

    with pytest.raises(TypeError, match=r"Own is no penalty.*GroupSeparable and write group_value"):
        Own().bind(3)
