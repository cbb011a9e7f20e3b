"""What scikit-learn asks of estimators, for those that take lists without targets."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from _registry import CASES

CASES = [case for case in CASES if not case.supervised and not case.two_d]


def numbers_of(estimator):
    """All fitted attributes as text that tells them apart."""
    known = {k: v for k, v in vars(estimator).items() if k.endswith("_") and k != "history_"}
    return {name: repr(value) for name, value in known.items()}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_fits_are_the_same_and_survive_a_pickle(case):
    X, _ = case.data()
    first = case.make()
    before = first.get_params()
    assert first.fit(X) is first
    assert first.get_params() == before
    assert numbers_of(clone(first).fit(X)) == numbers_of(first)
    other = pickle.loads(pickle.dumps(first))
    assert repr(other.predict(X)) == repr(first.predict(X))
    assert np.isfinite(first.score(X))
    with pytest.raises(NotFittedError):
        case.make().predict(X)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_searches_split_by_sequence(case):
    X, _ = case.data()
    search = GridSearchCV(case.make(), {"max_iter": [3, 5]}, cv=2).fit(X)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
