"""Model selection over linear models on a real Dask cluster on the loopback interface."""

import joblib
import numpy as np
import pytest
from scipy.sparse import random_array
from sklearn.model_selection import GridSearchCV

from sklearn_fw import AsagaClassifier


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = random_array((300, 40), density=0.2, format="csr", rng=rng)
    return X, X @ rng.standard_normal(40) > 0


def search_on_cluster(client, X, y):
    search = GridSearchCV(
        AsagaClassifier(max_iter=1000, n_jobs=1, random_state=0),
        {"C": [0.1, 1.0], "l1_ratio": [0.0, 0.5]},
        scoring="neg_log_loss",
    )
    with joblib.parallel_config(backend="dask"):
        return search.fit(X, y)


def test_grid_search_on_a_cluster_equals_one_process(cluster, table):
    found = search_on_cluster(cluster, *table)
    expected = GridSearchCV(found.estimator, found.param_grid, scoring=found.scoring).fit(*table)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(found.best_estimator_.coef_, expected.best_estimator_.coef_)


def test_threads_within_tasks_of_a_cluster(cluster, table):
    """Fits with two threads of their own in both workers end at the same optimum."""
    search = GridSearchCV(
        AsagaClassifier(tol=1e-9, max_iter=1000, n_jobs=2), {"C": [0.1, 1.0]}, cv=3, n_jobs=2
    )
    with joblib.parallel_config(backend="dask"):
        found = search.fit(*table).best_estimator_
    alone = AsagaClassifier(tol=1e-9, max_iter=1000, C=found.C).fit(*table)
    assert found.dual_gap_ <= 1e-9
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=0, atol=1e-3)
