"""Every estimator of the registry obeys scikit-learn's contract and ours."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from _interruptions import assert_all_or_nothing
from _registry import CASES, EXPECTED_FAILED_CHECKS, FAILED_CHECKS_OF_KINDS, first_of_each
from sklearn_fw.density import KernelStudentTDensity
from sklearn_fw.utils import check_structured_estimator

# Checks run with few iterations on arbitrary data: an honest solver warns there. Estimates of log Z
# that bound nothing are said to be so by every call of score_samples.
pytestmark = [
    pytest.mark.filterwarnings(
        f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
    ),
    pytest.mark.filterwarnings("ignore:.* has no upper bound on log Z:UserWarning"),
    pytest.mark.filterwarnings("ignore:labels of y are taken in the order of the:UserWarning"),
    # The checks' numbers are no documents, which topic models say.
    pytest.mark.filterwarnings("ignore:.*(negative mass|hardly vary|three tokens):UserWarning"),
]


BEFORE_1_7 = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7)


def takes_newton(estimator):
    """Whether it is a linear model that Newton's method solves."""
    is_linear = type(estimator).__name__.startswith("Asaga") and estimator.penalty == "elasticnet"
    return is_linear and estimator.solver in ("auto", "lagged_saga")  # the latter on the support


def expected_failures(estimator):
    name = type(estimator).__name__
    reasons = dict(EXPECTED_FAILED_CHECKS.get(name, {}))
    reasons |= FAILED_CHECKS_OF_KINDS.get(getattr(estimator, "kind", None), {})
    if takes_newton(estimator):  # which is as accurate as the checks ask
        for kind in ("dense", "sparse"):
            reasons.pop(f"check_sample_weight_equivalence_on_{kind}_data", None)
    if BEFORE_1_7 and get_tags(estimator).input_tags.categorical:
        reasons["check_positive_only_tag_during_fit"] = (
            "this check of scikit-learn 1.6 itself fails on categories: it subtracts a mean from "
            "whole numbers in place"
        )
    return reasons


def check_results(estimator):
    """What scikit-learn's checks answer, each as a dict."""
    reasons = expected_failures(estimator)
    return check_estimator(
        estimator, expected_failed_checks=reasons, on_skip=None, on_fail=None
    )  # fmt: skip


def one_of_each(cases):
    """Parameters: the first case of each class is quick, its other settings are slow."""
    first = first_of_each(cases)
    return [case if case in first else pytest.param(case, marks=pytest.mark.slow) for case in cases]


@pytest.mark.whole
@pytest.mark.parametrize("case", one_of_each([case for case in CASES if case.two_d]), ids=str)
def test_scikit_learn_checks(case):
    estimator, faults = case.make(), []
    # The data are interpolated: what is left of the sums is rounding, of which the check asks seven
    # digits; linear_model/test_regressor.py asks for what the gap allows.
    is_rounding = takes_newton(estimator) and is_regressor(estimator)
    for result in check_results(estimator):
        name, status, reason = (
            result["check_name"], result["status"], result["expected_to_fail_reason"]
        )  # fmt: skip
        if is_rounding and "sample_weight_equivalence" in name:
            continue
        if status == "failed":
            faults.append(f"{name}: {result['exception']!r}")
        elif status == "passed" and result["expected_to_fail"]:
            faults.append(f"{name} passes, and was expected to fail: {reason}")
    assert not faults, "\n".join(["", *faults])


def test_arrays_of_other_libraries(extra):
    extra("test-extras", "array_api_strict")
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("SCIPY_ARRAY_API=1 switches these checks on: dev.py test-extras")
    results = [r for r in check_results(KernelStudentTDensity()) if "array_api" in r["check_name"]]
    assert {r["status"] for r in results} <= {"passed", "skipped"}
    assert any(r["status"] == "passed" for r in results)


STRUCTURED = [case for case in CASES if case.supervised and not case.two_d]


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize("case", one_of_each(STRUCTURED), ids=str)
def test_structured_checks(case):
    X, y = case.data()
    check_structured_estimator(case.make(), X, y, skip=case.skip)


def test_expected_failures_belong_to_registered_estimators():
    classes = {type(case.make()).__name__ for case in CASES}
    assert set(EXPECTED_FAILED_CHECKS) <= classes
    assert all(all(reasons.values()) for reasons in EXPECTED_FAILED_CHECKS.values())


ONE_EACH = first_of_each(CASES)


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_an_interrupted_fit_changes_nothing(case):
    assert_all_or_nothing(lambda model: model.fit(*case.data()), case.make())


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_what_is_no_string_is_refused_by_name(case):
    pandas = pytest.importorskip("pandas")
    no_names = [sp.csr_array(np.eye(2)), np.array(["auto", "b"]), pandas.NA]
    for name, value in case.make().get_params(deep=False).items():
        for odd in no_names if isinstance(value, str) else ():
            with pytest.raises((TypeError, ValueError), match=name):
                case.make().set_params(**{name: odd}).fit(*case.data())


TAUGHT = [case for case in ONE_EACH if get_tags(case.make()).target_tags.required]


@pytest.mark.parametrize("case", TAUGHT, ids=str)
def test_targets_without_axes_are_refused(case):
    X, _ = case.data()
    for odd in (np.array(1), 3):
        with pytest.raises(TypeError, match=r"y must be a list .* give one entry per sample"):
            case.make().fit(X, odd)


@pytest.mark.parametrize("case", [c for c in ONE_EACH if c.two_d], ids=str)
def test_two_columns_of_one_name_are_refused(case):
    pandas = pytest.importorskip("pandas")
    X, y = case.data()
    frame = pandas.DataFrame(X, columns=["b", *map(str, range(X.shape[1] - 2)), "b"])
    with pytest.raises(ValueError, match="X has several columns of the name 'b': rename"):
        case.make().fit(frame, y)


WARM = [case for case in ONE_EACH if "warm_start" in case.make().get_params()]


@pytest.mark.parametrize("case", WARM, ids=str)
def test_an_interrupted_warm_start_changes_nothing(case):
    model = case.make().set_params(warm_start=True)
    assert_all_or_nothing(lambda model: model.fit(*case.data()), model)


PARTIAL = [case for case in ONE_EACH if hasattr(case.make(), "partial_fit")]


@pytest.mark.parametrize("case", PARTIAL, ids=str)
def test_an_interrupted_part_changes_nothing(case):
    X, y = case.data()
    classes = {} if y is None or is_regressor(case.make()) else {"classes": sorted(set(y))}
    classes = classes if "Density" not in type(case.make()).__name__ else {}
    assert_all_or_nothing(lambda model: model.partial_fit(X, y, **classes), case.make())
