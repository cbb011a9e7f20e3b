"""Model selection and oracle sweeps on a real Dask cluster on the loopback interface."""

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.inference import TreeMaxProduct
from sklearn_fw.structured import ChainModel, MinibatchFrankWolfe, StructuredSVMCV


class SlowTree:
    """An oracle that is not compiled into the pass, so that sweeps send it to the workers."""

    def argmax(self, scores, start=None):
        return TreeMaxProduct().argmax(scores)


class OwnChains(ChainModel):
    """A black box, whose samples are sent to the workers once."""

    def inference(self, x, w):
        return super().inference(x, w)


@pytest.fixture(scope="module")
def words():
    data = make_digit_words(n_train=60, n_test=1)
    return data.X_train, data.y_train


def test_grid_search_on_a_cluster_equals_one_process(cluster, words):
    X, y = words
    search = GridSearchCV(
        StructuredSVM("chain", tol=0.05, random_state=0), {"C": [0.01, 0.1]}, cv=3, n_jobs=2
    )
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend="dask"):
        found = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, expected)


def test_oracle_sweeps_on_a_cluster_equal_one_process(cluster, words):
    X, y = words
    svm = StructuredSVM(
        "chain", oracle=SlowTree(), C=0.01, tol=0.01, n_jobs=2, random_state=0, max_iter=50
    )
    expected = svm.fit(X, y).coef_
    with joblib.parallel_config(backend="dask"):
        found = svm.fit(X, y)
    np.testing.assert_array_equal(found.coef_, expected)
    assert found.dual_gap_ <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["oracle", "black box"])
def test_batches_on_a_cluster_equal_one_process(cluster, words, kind):
    X, y = words
    model = "chain" if kind == "oracle" else OwnChains()
    oracle = SlowTree() if kind == "oracle" else "auto"
    solver = MinibatchFrankWolfe(batch_size=8)
    svm = StructuredSVM(
        model, oracle=oracle, solver=solver, C=0.01, tol=0.01, n_jobs=2, random_state=0
    )
    expected = svm.fit(X, y)
    coef, calls = expected.coef_, expected.n_oracle_calls_
    with joblib.parallel_config(backend="dask"):
        found = svm.fit(X, y)
    np.testing.assert_array_equal(found.coef_, coef)
    assert found.n_oracle_calls_ == calls
    assert found.converged_


def test_cross_validated_path_on_a_cluster(cluster, words):
    X, y = words
    search = StructuredSVMCV(
        StructuredSVM("chain", random_state=0), eps=0.3, cv=2, C_max=1.0, n_jobs=2
    )
    expected = search.fit(X, y).C_
    with joblib.parallel_config(backend="dask"):
        assert expected == search.fit(X, y).C_
