"""A program of a user, which `dev.py wheel` runs, and checks by mypy in strict mode.

An ignored error is one that type checkers must find: `warn_unused_ignores` is part of strict mode.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from sklearn_fw import AsagaClassifier, AsagaRegressor, StructuredSVM, TRWMarginals
from sklearn_fw.density import KernelStudentTDensity
from sklearn_fw.gaussian_probability import EPProbitClassifier, log_gaussian_probability
from sklearn_fw.linear_model import FrankWolfeRegressor
from sklearn_fw.optim import minimize_frank_wolfe
from sklearn_fw.optim.domains import Simplex
from sklearn_fw.pac_bayes import PACBayesLinearRegression
from sklearn_fw.random_fields import PairwiseMRF
from sklearn_fw.surrogates import QuadraticSurrogateClassifier


def main() -> None:
    rng = np.random.RandomState(0)
    X, noise = rng.rand(60, 4), rng.rand(60)
    y, target = (X[:, 0] > 0.5).astype(int), X[:, 0] + 0.1 * noise
    svm = assert_type(StructuredSVM(C=1.0, random_state=0).fit(X, y), StructuredSVM)
    assert_type(svm.predict(X), NDArray[Any])
    assert_type(svm.score(X, y), float)
    assert_type(svm.dual_gap_, float)
    assert_type(svm.history_, dict[str, NDArray[Any]])
    words = StructuredSVM(model="chain", C=1.0).fit([X[:5], X[5:12]], [y[:5], y[5:12]])
    assert words.score([X[:3]], [y[:3]]) > 0.5
    assert words.n_iter_ + svm.n_iter_ > 1

    classifiers = [AsagaClassifier(C=10.0), QuadraticSurrogateClassifier(), EPProbitClassifier()]
    assert min(classifier.fit(X, y).score(X, y) for classifier in classifiers) > 0.8
    strength = AsagaRegressor(alpha=0.1).fit(X, target, noise).alpha_
    assert_type(strength, float | NDArray[Any])  # several where targets differ
    assert_type(FrankWolfeRegressor(radius=1.0).fit(X, target).predict(X), NDArray[Any])
    assert_type(PACBayesLinearRegression().fit(X, target).score(X, target), float)
    assert_type(KernelStudentTDensity().fit(X).score_samples(X), NDArray[Any])
    assert_type(StructuredSVM(verbose=2).verbose, int)
    field = PairwiseMRF([[0.0, 1.0], [0.5, 0.0]], [[0, 1]], [[[1.0, 0.0], [0.0, 1.0]]])
    assert_type(TRWMarginals().fit(field), TRWMarginals)
    log_gaussian_probability([0.0, 0.0], [1.0, 1.0], cov=[[1.0, 0.5], [0.5, 1.0]])
    minimize_frank_wolfe(lambda x: (0.5 * x @ x, x), Simplex(3))

    try:
        StructuredSVM(cost=1.0)  # type: ignore[call-arg]
        raise AssertionError("a parameter that does not exist was accepted")
    except TypeError:
        pass
    try:
        AsagaClassifier(max_iter="many").fit(X, y)  # type: ignore[arg-type]
        raise AssertionError("a text was accepted as a number")
    except TypeError:
        pass


if __name__ == "__main__":
    main()
