"""The border between the models of users and solvers: every answer of a model is checked here.

What is checked costs time linear in the size of the answer. Weights are handed out read-only: a
model that wrote to them would change the iterate of the solver.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.oracle import function_of, name_of, require


class SparseVector(NamedTuple):
    """A vector by its nonzero entries; indices are sorted."""

    indices: np.ndarray
    values: np.ndarray

    def dot(self, w):
        return float(self.values @ w[self.indices])


def union(a, b):
    """Sorted union of two sorted index arrays; much faster than ``np.union1d``."""
    both = np.sort(np.concatenate([a, b]), kind="stable")  # which merges what is sorted already
    return both[np.diff(both, prepend=-1) != 0]


def are_same(a, b):
    return a is b or (len(a) == len(b) and bool((a == b).all()))


def difference(a, b):
    if are_same(a.indices, b.indices):  # as those of dense features are
        indices, values = a.indices, a.values - b.values
    else:
        indices = union(a.indices, b.indices)
        values = np.zeros(len(indices))
        values[indices.searchsorted(a.indices)] = a.values
        values[indices.searchsorted(b.indices)] -= b.values
    kept = values.nonzero()[0]
    if len(kept) == len(values):
        return SparseVector(indices, values)
    return SparseVector(indices[kept], values[kept])


class Output(NamedTuple):
    """An output of one sample as the dual problem sees it."""

    psi: SparseVector
    loss: float
    key: object  # tells outputs apart; None where no vertices are kept
    slack: float = 0.0  # what its score may lack of the best one, inf if unknown


class Sample(NamedTuple):
    """A sample, its number for messages and the features of its truth."""

    i: int
    x: object
    y: object
    phi: SparseVector


class CheckedModel:
    """The methods of a model, with what they return checked and made sparse.

    With an ``oracle`` that one infers, on the scores of a `ScoredModel`.
    """

    def __init__(self, model, oracle=None):
        self.model, self.oracle = model, oracle
        # A model need not declare it: then the first feature vector tells.
        self.n_weights = getattr(model, "size_joint_feature", None)
        if self.n_weights is not None:
            self.n_weights = count(self.n_weights, self._name("size_joint_feature"), 1)

    def sample(self, i, x, y):
        sample = Sample(i, x, y, self.features(i, x, y))
        if self.loss(i, y, y) != 0.0:
            raise ValueError(f"loss(y, y) of sample {i} must be 0: the truth costs nothing")
        return sample

    def features(self, i, x, y):
        phi, name = call(self.model, "joint_feature", i, x, y), f"joint_feature of sample {i}"
        if sp.issparse(phi):
            phi = check.sparse(phi, name).tocsr()
            data = check.numbers(phi.data, name)
        else:
            phi = data = check.numbers(phi, name)
        if self.n_weights is None and phi.ndim:
            self.n_weights = phi.shape[-1]
        if phi.shape not in ((self.n_weights,), (1, self.n_weights)):
            raise ValueError(f"{name} must have shape ({self.n_weights},), got {phi.shape}")
        if not sp.issparse(phi):
            data = data.ravel()
            indices = data.nonzero()[0]
            return SparseVector(indices.astype(np.int64, copy=False), data[indices])
        indices = phi.indices.astype(np.int64, copy=False)
        if (indices[1:] <= indices[:-1]).any():
            indices, place = np.unique(indices, return_inverse=True)
            data = np.bincount(place, weights=data)  # sums duplicates
        return SparseVector(indices, data)

    def loss(self, i, y_true, y):
        loss = call(self.model, "loss", i, y_true, y)
        if isinstance(loss, np.ndarray) and loss.size == 1:
            loss = loss.item()
        if not isinstance(loss, Real) or not 0.0 <= loss < np.inf:
            raise ValueError(f"loss of sample {i} must be finite and >= 0, got {loss!r}")
        return float(loss)

    def score(self, i, x, y, w):
        self.n_weights = len(w)
        return self.features(i, x, y).dot(w)

    def predict(self, i, x, w):
        return self._infer(i, x, w)[0]

    def _infer(self, i, x, w, y_true=None):
        """The best output of sample i, with the loss to ``y_true`` if given, and its slack."""
        w = read_only(w)
        if self.oracle is not None:
            return ask_for_output(self.oracle, self._scores(i, x, w, y_true))
        if y_true is None:
            return call(self.model, "inference", i, x, w), 0.0
        return call(self.model, "loss_augmented_inference", i, x, y_true, w), 0.0

    def _scores(self, i, x, w, y_true):
        scores = call(self.model, "scores", i, x, w)
        if y_true is None:
            return scores
        augmented = call(self.model, "augment", i, scores, y_true)
        old, new = (getattr(given, "shape", None) for given in (scores, augmented))
        if old != new:
            raise ValueError(f"{self._name('augment')} must keep the shape {old}, got {new}")
        return augmented

    def top_outputs(self, sample, w, k, keyed):
        """At most k `Output` of largest loss-augmented score at w."""
        found, _ = self.k_best(sample.i, sample.x, w, k, sample.y)
        return [self._output(sample, y, keyed) for y in found]

    def k_best(self, i, x, w, k, y_true=None):
        """The k best outputs of sample i and their scores, with the loss to ``y_true`` if given."""
        return ask_for_outputs(self.oracle, self._scores(i, x, read_only(w), y_true), k)

    def key(self, y):
        """A hashable that identifies an output."""
        if callable(getattr(self.model, "output_key", None)):
            key = self.model.output_key(y)
            try:
                hash(key)
            except TypeError:
                name = self._name("output_key")
                raise TypeError(f"{name} must return something hashable, got {key!r}") from None
            return key
        try:
            array = np.asarray(y)
        except ValueError:  # lists of unequal lengths
            array = np.empty(0, dtype=object)
        if array.dtype == object:
            raise TypeError(
                f"outputs of type {type(y).__name__} cannot be compared: give the model a method "
                f"output_key(y)"
            )
        # Not bytes: equal labels may come in different integer or text types.
        flat = tuple(array.ravel().tolist())
        return flat if array.ndim == 1 else (array.shape, flat)

    def ask(self, sample, w, keyed, augmented=True):
        y, slack = self._infer(sample.i, sample.x, w, sample.y if augmented else None)
        return self._output(sample, y, keyed, slack)

    def _output(self, sample, y, keyed, slack=0.0):
        psi = difference(sample.phi, self.features(sample.i, sample.x, y))
        return Output(psi, self.loss(sample.i, sample.y, y), self.key(y) if keyed else None, slack)

    def _name(self, what):
        return f"{what} of {type(self.model).__name__}"


def call(model, method, i, *args):
    """What a method of a model answers; its errors go on as they are, with a note."""
    try:
        return getattr(model, method)(*args)
    except Exception as error:
        error.add_note(f"raised by {method} of {type(model).__name__} for sample {i}, X[{i}]")
        raise


def ask_for_outputs(oracle, scores, k):
    """The k best outputs and their scores, from the ``top_k`` of an oracle."""
    name = f"top_k of the oracle {name_of(oracle)}"
    require(oracle, "top_k", f"the best {k} outputs need", "take another oracle, or smoother=None")
    values, outputs = check.unpacked(oracle.top_k(scores, k), "values, outputs", name)
    values = check.array(values, f"values that {name} returned")
    if not len(values) == len(outputs) <= k or np.any(np.diff(values) > 0.0):
        got = f"{len(outputs)} with {len(values)} values"
        raise ValueError(f"{name} must return at most {k} outputs in descending order, got {got}")
    return outputs, values


def ask_for_output(oracle, scores):
    """The output that an oracle finds best for scores of any kind, and what it may lack."""
    function = function_of(oracle)
    if function is not None:
        return function(scores), np.inf
    name = f"argmax of the oracle {name_of(oracle)}"
    output, value, bound = check.unpacked(
        oracle.argmax(scores), "output, value or None, upper_bound or None", name
    )
    if value is None or bound is None:
        return output, np.inf
    # NaN differs from itself.
    if not all(isinstance(number, Real) and number == number for number in (value, bound)):
        raise TypeError(f"{name} must return numbers or None, got {value!r} and {bound!r}")
    if bound < value - 1e-9 * max(1.0, abs(value)):
        raise ValueError(
            f"{name} returned {bound!r} for a score of {value!r}: a bound is never below a score"
        )
    return output, max(float(bound - value), 0.0)


def count(value, name, minimum):
    if not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return int(value)


def read_only(w):
    view = w.view()
    view.flags.writeable = False
    return view
