"""All estimators under test, each in the configurations that deserve the general checks.

A case in `CASES` gets, without another line of test code: scikit-learn's checks when it takes 2-D
arrays (`two_d=True`), the checks of structured estimators when it does not, and the comparison of
its documented attributes with those it has after `fit`. For example::

    from sklearn.datasets import load_iris
    from sklearn_fw.structured import StructuredSVM

    CASES = [
        Case("multiclass", lambda: StructuredSVM(max_iter=50), iris, two_d=True),
        Case("chain", lambda: StructuredSVM(model="chain"), words, absent={"classes_"}),
    ]

where `iris` and `words` are functions that return small `(X, y)`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sklearn_fw.density import (
    KernelStudentTClassifier,
    KernelStudentTDensity,
    RelativeNoveltyDetector,
)


@dataclass(frozen=True)
class Case:
    """One estimator in one configuration."""

    name: str
    make: Callable  # () -> unfitted estimator
    data: Callable  # () -> (X, y), small: fitted several times
    two_d: bool = False  # takes arrays of shape (n_samples, n_features)
    absent: set = field(default_factory=set)  # documented attributes that this configuration lacks

    def __str__(self):
        return self.name


def points():
    """Two groups of points in the plane."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    return X, np.repeat([0, 1], 20)


CASES = [
    Case("density", KernelStudentTDensity, points, two_d=True),
    Case(
        "density, polynomial",
        lambda: KernelStudentTDensity("polynomial", contamination=0.1),
        points,
        two_d=True,
    ),
    Case("density, low rank", lambda: KernelStudentTDensity(max_rank=20), points, two_d=True),
    Case(
        "density, published",
        lambda: KernelStudentTDensity(formula="published", beta=1.0, length_scale="median"),
        points,
        two_d=True,
    ),
    Case("label reconstruction", KernelStudentTClassifier, points, two_d=True),
    Case("relative novelty", RelativeNoveltyDetector, points, two_d=True),
]

# Checks of scikit-learn that fail for a reason we accept: {class name: {check name: reason}}.
# A check that passes after all is an error, so this table cannot grow old.
EXPECTED_FAILED_CHECKS = {}
