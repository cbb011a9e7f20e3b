"""What scikit-learn asks of estimators, for those that take lists without targets."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from _registry import CASES
from sklearn_fw.cluster import ScriptDiscovery
from sklearn_fw.datasets import make_ordered_videos

CASES = [case for case in CASES if not case.supervised and not case.two_d]


def numbers_of(estimator):
    """All fitted attributes as text that tells them apart."""
    known = {k: v for k, v in vars(estimator).items() if k.endswith("_") and k != "history_"}
    return {name: repr(value) for name, value in known.items()}


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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_searches_split_by_sequence(case):
    X, _ = case.data()
    search = GridSearchCV(case.make(), {"max_iter": [3, 5]}, cv=2).fit(X)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_both_stages_have_the_documented_attributes():
    from numpydoc.docscrape import ClassDoc

    data = make_ordered_videos(6, 2, n_rows=30, n_features=4, random_state=0)
    model = ScriptDiscovery(2, random_state=0).fit(
        data.X, tokens=data.tokens, token_rows=data.token_rows
    )
    told = {entry.name for entry in ClassDoc(ScriptDiscovery)["Attributes"]}
    assert told == {name for name in vars(model) if name.endswith("_")}
