"""What a user's parts may not say, and the errors that say so."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import PartModel

budget_may_end = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)


class Said(PartModel):
    """Parts as the input says them."""

    def parts(self, x):
        return x


def said(nodes, edges=None):
    return nodes, edges


ROWS = np.ones((3, 2))


@pytest.mark.parametrize(
    "x, message",
    [
        (ROWS, r"parts\(X\[0\]\) of Said must be a tuple \(nodes, edges\)"),
        (said(np.ones(3)), r"nodes of parts\(X\[0\]\) of Said must have shape"),
        (said(np.empty((0, 2))), "must have one node at least"),
        (said(ROWS, np.array([[0, 3]])), "must name nodes 0 to 2, got 0 to 3"),
        (said(ROWS, np.array([[-1, 0]])), "must name nodes 0 to 2, got -1 to 0"),
        (said(ROWS, np.array([[1, 1]])), "must join two different nodes"),
        (said(ROWS, np.array([[0.0, 1.0]])), "must hold integers"),
        (said(ROWS, np.array([0, 1])), "must be integers of shape"),
        (said(ROWS, (np.array([[0, 1]]), np.ones(2))), "features of edges of .* must have shape"),
        (said(ROWS, (np.array([[0, 1]]), [np.nan])), "features of edges of .* NaN"),
        (said(ROWS * np.inf), "infinity"),
    ],
)
def test_wrong_parts(x, message):
    with pytest.raises((TypeError, ValueError), match=message):
        StructuredSVM(Said()).fit([x, said(ROWS)], [[0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    "y, message",
    [
        ([0, 1], r"encode\(y\[0\]\) of Said has 2 states for 3 nodes"),
        ([0, 1, -1], "must not be negative, got -1"),
        ([0, 1, 0.5], "must hold one integer for each node, got float64"),
        ([[0, 1, 1]], "must hold one integer for each node"),
    ],
)
def test_wrong_states(y, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Said()).fit([said(ROWS), said(ROWS)], [y, [1, 0, 0]])


@budget_may_end
def test_what_differs_from_the_training_set():
    pairs = np.array([[0, 1]])
    svm = StructuredSVM(Said(), C=1.0, max_iter=2)
    svm.fit([said(ROWS, pairs), said(-ROWS, pairs)], [[0, 1, 0], [1, 0, 0]])
    with pytest.raises(ValueError, match=r"X\[0\] has 3 features, but 2 are expected"):
        svm.predict([said(np.ones((3, 3)), pairs)])
    with pytest.raises(ValueError, match=r"has 1 kinds of nodes and edges with \[1\] features"):
        svm.predict([said(ROWS, (pairs, np.ones(1)))])
    with pytest.raises(ValueError, match="has 2 kinds of nodes"):
        svm.predict([said([ROWS, ROWS], pairs)])
    assert svm.loss([said(ROWS, pairs)], [[0, 5, 0]])[0] > 0.0  # a state that fit has not seen
    with pytest.raises(ValueError, match="y holds state 5, but the model has 2"):
        svm.duality_gap([said(ROWS, pairs)], [[0, 5, 0]])
