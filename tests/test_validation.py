"""What a number, a flag, a weight and a seed are, decided once for all estimators."""

import decimal
import inspect
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_fw import AsagaClassifier, AsagaRegressor, StructuredSVM
from sklearn_fw._core import check
from sklearn_fw.losses import Huber, SmoothHinge
from sklearn_fw.optim import Svrg
from sklearn_fw.structured import GraphCutModel

KINDS = [
    0.5, 1, np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int8(1), np.uint64(3),
    np.longdouble(1.5), Fraction(1, 4), 2**70,
]  # fmt: skip
CHECKS = check.positive, check.not_negative, check.number, check.strength


@pytest.mark.parametrize("check", CHECKS)
def test_numbers(check):
    for value in KINDS:
        found = check(value, "tol")
        assert type(found) is float
        assert found == value
    for value in (decimal.Decimal(1), "1", None, 1j, [1.0], np.array(1.0)):
        with pytest.raises(TypeError, match="tol must be"):
            check(value, "tol")
    for value in (10**400, Fraction(10**400, 3), np.finfo(np.longdouble).max):
        with pytest.raises(ValueError, match="C must be finite"):
            check(value, "C")


@pytest.mark.parametrize(
    "check, values, message",
    [
        (
            lambda v: check.positive(v, "tol"), [Fraction(1, 10**400), np.longdouble("1e-4000")],
            "tol must be positive",
        ),
        (
            lambda v: check.integer(v, "max_iter", 1), [10**30, 10**400],
            "max_iter == .*, must be <= 9223372036854775807",
        ),
        (
            lambda v: check.strength(v, "C"), [1e-101, 1e101, 5e-324, 1e308],
            "C must be from 1e-100 to 1e",
        ),
        (
            check.random_state, ["x", -1, 2**40, 1.5, object()],
            "random_state must be None, an integer from 0",
        ),
        (
            lambda v: check.flag(v, "perfect"), ["no", None, 2, 1.0, [], np.array([True])],
            "perfect must be True or False",
        ),
    ],
)  # fmt: skip
def test_numbers_out_of_range(check, values, message):
    for value in values:
        with pytest.raises((ValueError, TypeError), match=message):
            check(value)


def test_flags():
    for value in (True, False, np.True_, 0, 1, np.int64(1)):
        assert check.flag(value, "perfect") is bool(value)


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2"],
        np.array(["1", 2.0], dtype=object),
        [None, 1.0],
        [1j, 1.0],
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.ma.masked_equal([1.0, 2.0], 2.0),
        [[1.0], [1.0, 2.0]],
        [10**400],
        object(),
        [np.nan],
        [-np.inf],
    ],
)
def test_arrays_of_other_things_are_refused_by_name(values):
    with pytest.raises(ValueError, match="weights"):
        check.array(values, "weights")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u8", "?", "O", np.longdouble])
def test_arrays_of_numbers(dtype):
    values = np.array([[1, 0], [1, 1]]).astype(dtype)
    assert check.array(values, "weights").dtype == np.float64
    np.testing.assert_array_equal(check.array(values, "weights"), [[1, 0], [1, 1]])


def test_infinity_and_nan_where_they_are_allowed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check.array([1e308, 1e308], "v")[0] == 1e308  # the sum overflows
        assert check.array([np.inf, -np.inf], "v", finite=False)[0] == np.inf
    with pytest.raises(ValueError, match="v contains NaN"):
        check.array([np.inf, np.nan], "v", finite=False)
    assert np.isnan(check.array([np.nan], "v", finite=None))


@pytest.mark.parametrize("labels", [["a", 1.0], [None, 1], [[0, 1]], [np.nan, 1.0]], ids=repr)
def test_labels_that_cannot_be_sorted(labels):
    with pytest.raises(ValueError, match=r"^y "):
        check.find_labels(np.array(labels, dtype=object if "a" in labels else None), "y")


# ---- weights of samples --------------------------------------------------------------------------

BAD_WEIGHTS = {
    "sum overflows": np.full(30, 1e308),
    "all denormal": np.full(30, 5e-324),
    "some denormal": np.r_[np.ones(29), 5e-324],
    "dates": np.zeros(30, "M8[D]"),
    "objects": np.array([None] * 30),
    "masked": np.ma.masked_less(np.arange(30.0), 3),
    "two axes": np.ones((30, 1)),
    "longer": np.ones(31),
    "negative": np.full(30, -1.0),
    "zero": np.zeros(30),
}


@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_weights_that_no_fit_takes(kind):
    X, y = np.eye(30), np.arange(30) % 2
    for model in (AsagaClassifier(max_iter=2), StructuredSVM(max_iter=2)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, y, sample_weight=BAD_WEIGHTS[kind])


def test_weights_of_any_common_scale_are_kept():
    np.testing.assert_array_equal(check.sample_weight([0.0, 1e-99, 1.0], 3), [0.0, 1e-99, 1.0])
    np.testing.assert_array_equal(check.sample_weight(2, 2), [2.0, 2.0])
    with pytest.raises(ValueError, match=r"sample_weight goes from 1e\+101 to 1e\+101"):
        check.sample_weight([10 * check.LARGEST], 1)
    with pytest.raises(ValueError, match="sample_weight times class_weight goes from"):
        AsagaClassifier(class_weight={0: 1e-300, 1: 1.0}).fit([[0.0], [1.0]], [0, 1])


# ---- parameters of estimators --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.longdouble, Fraction])
def test_all_kinds_of_real_numbers_do_the_same(kind):
    X, y = np.arange(12.0).reshape(6, 2) % 5 / 4, [0, 1, 1, 0, 1, 0]
    half = kind(1) / 2
    for make in (
        lambda h: AsagaClassifier(C=h, tol=h / 8, l1_ratio=h, time_limit=h * 40, random_state=0),
        lambda h: AsagaRegressor(Huber(h), alpha=h, random_state=0),
        lambda h: AsagaClassifier(
            SmoothHinge(h), solver=Svrg(n_inner=h), tol=0, max_iter=3, random_state=0
        ),
        lambda h: StructuredSVM(C=h, tol=h / 8, time_limit=h * 40, random_state=0),
    ):
        expected, found = (make(h).fit(X, y) for h in (0.5, half))
        np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_subclasses_add_parameters():
    class Annotated(AsagaClassifier):
        share: float = 0.5

    class Written(AsagaClassifier):
        share: float = 0.5  # a hint to readers, as `__init__` says what the parameters are

        def __init__(self, C=2.0):
            super().__init__(C=C)

    own = clone(Annotated("multinomial", C=3.0, share=0.25))
    assert (own.loss, own.C, own.share) == ("multinomial", 3.0, 0.25)
    assert Annotated().get_params() == AsagaClassifier().get_params() | {"share": 0.5}
    assert Written().get_params() == {"C": 2.0}
    with pytest.raises(ValueError, match="max_iter == 0, must be >= 1"):
        Annotated(max_iter=0).fit([[0.0], [1.0]], [0, 1])


def test_signatures_show_names_and_defaults():
    assert str(inspect.signature(Svrg)).startswith("(*, step_size='auto', sampling='shuffle', ")
    assert "edge_symmetry" not in GraphCutModel().get_params()
