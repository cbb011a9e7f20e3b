"""Small problems with hidden states, and their objective by lists of all labelings."""

import itertools

import numpy as np

from sklearn_fw.structured import PartModel


class Ring(PartModel):
    """Nodes on a ring, with weights for its edges."""

    def parts(self, x):
        t = np.arange(len(x))
        return x, np.stack([t, (t + 1) % len(x)], axis=1)


def xor(n=60, seed=0):
    rng = np.random.default_rng(seed)
    vertices = rng.integers(0, 2, (n, 2))
    return vertices + 0.15 * rng.normal(size=(n, 2)), (vertices[:, 0] ^ vertices[:, 1])


def sequences(n=8, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = [rng.integers(0, n_classes, rng.integers(2, 5)) for _ in range(n)]
    return [np.eye(n_classes)[t] + 0.8 * rng.normal(size=(len(t), n_classes)) for t in y], y


def rings(n=6):
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 2, 4) for _ in range(n)]
    return [np.column_stack([t + 0.7 * rng.normal(size=4), np.ones(4)]) for t in y], y


def label_sets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    return X, (X @ rng.normal(size=(3, 3)) > 0).astype(int)


def objective(svm, X, y, w):
    """By lists of all labelings of states: ``A_i`` are those whose labels are not contradicted."""
    model, total = svm.model_, 0.0
    for x, truth in zip(X, y):
        x = x[None] if np.ndim(x) == 1 else [x]
        rows = model._stack(x)
        parts = model._scores_of(rows, w)
        (scores,) = parts.each()
        given = np.ma.ravel(np.ma.asarray(truth))
        known = ~np.ma.getmaskarray(given)
        best, own = -np.inf, -np.inf
        for states in itertools.product(range(model.n_states_), repeat=scores.n_nodes):
            states = np.array(states)
            labels = np.ravel(svm.state_labels_[states])
            value, wrong = scores.value(states), (labels != given.data)[known].sum()
            best = max(best, value + wrong)
            own = max(own, value if wrong == 0 else -np.inf)
        total += best - own
    return 0.5 * svm.lam_ * (w @ w) + total / len(X)
