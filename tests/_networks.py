"""Score models in numpy that tests share, and the boxes of the reference experiment."""

import numpy as np

from sklearn_fw.structured import ScoreModel


class BoxNetwork(ScoreModel):
    """sum_{p,c} ELU(x[y, p] . W1[:, c]) W2[c, p] for features x of shape (boxes, P, D)."""

    def __init__(self, n_places=4, n_features=8, n_hidden=3, scale=0.1):
        self.n_places = n_places
        self.n_features = n_features
        self.n_hidden = n_hidden
        self.scale = scale

    def init(self, rng):
        return self.scale * rng.normal(size=self.n_hidden * (self.n_features + self.n_places))

    def unpack(self, w):
        k = self.n_features * self.n_hidden
        return w[:k].reshape(self.n_features, self.n_hidden), w[k:].reshape(self.n_hidden, -1)

    def hidden(self, x, first):
        z = x @ first
        e = np.exp(np.minimum(z, 0.0))
        return np.where(z >= 0.0, z, e - 1.0), np.where(z >= 0.0, 1.0, e)

    def value(self, x, w):
        first, second = self.unpack(w)
        return np.einsum("mpc,cp->m", self.hidden(x, first)[0], second)

    def jvp(self, x, w, d):
        (first, second), (d1, d2) = self.unpack(w), self.unpack(d)
        a, slope = self.hidden(x, first)
        return np.einsum("mpc,cp->m", a, d2) + np.einsum("mpc,cp->m", slope * (x @ d1), second)

    def vjp(self, x, w, v):
        first, second = self.unpack(w)
        a, slope = self.hidden(x, first)
        inner = v[:, None, None] * slope * second.T
        g1 = x.reshape(-1, x.shape[2]).T @ inner.reshape(-1, self.n_hidden)
        return np.concatenate([g1.ravel(), np.einsum("m,mpc->cp", v, a).ravel()])


class TagNetwork(ScoreModel):
    """A hidden layer of tanh for the nodes of a chain, and transitions in ``form``."""

    def __init__(self, n_features=3, n_hidden=4, n_states=3, form="shared"):
        self.n_features = n_features
        self.n_hidden = n_hidden
        self.n_states = n_states
        self.form = form

    def init(self, rng):
        h, k = self.n_hidden, self.n_states
        return rng.normal(size=self.n_features * h + h * k + k * k)

    def unpack(self, w):
        f, h, k = self.n_features, self.n_hidden, self.n_states
        first, second, table = np.split(w, [f * h, f * h + h * k])
        return first.reshape(f, h), second.reshape(h, k), table.reshape(k, k)

    def joined(self, unary, table):
        n_edges = max(len(unary) - 1, 0)
        if self.form == "none":
            return unary
        if self.form == "shared":
            return unary, table
        tables = np.repeat(table[None], n_edges, axis=0)
        if self.form == "own":
            return unary, tables
        return unary, tables, np.arange(n_edges)[::-1, None] + np.arange(2)

    def value(self, x, w):
        first, second, table = self.unpack(w)
        return self.joined(np.tanh(x @ first) @ second, table)

    def jvp(self, x, w, d):
        (first, second, _), (d1, d2, table) = self.unpack(w), self.unpack(d)
        a = np.tanh(x @ first)
        return self.joined(((1 - a**2) * (x @ d1)) @ second + a @ d2, table)

    def vjp(self, x, w, v):
        first, second, _ = self.unpack(w)
        unary = v if self.form == "none" else v[0]
        a = np.tanh(x @ first)
        table = np.zeros((self.n_states, self.n_states))
        if self.form != "none":
            table = v[1] if self.form == "shared" else v[1].sum(axis=0)
        g1 = x.T @ ((1 - a**2) * (unary @ second.T))
        return np.concatenate([g1.ravel(), (a.T @ unary).ravel(), table.ravel()])


class LinearCandidates(ScoreModel):
    """Scores <w, x[y]>: what `EnumeratedModel` has."""

    def __init__(self, n_features):
        self.n_features = n_features

    def init(self, rng):
        return rng.normal(size=self.n_features)

    def value(self, x, w):
        return x @ w

    def jvp(self, x, w, d):
        return x @ d

    def vjp(self, x, w, v):
        return x.T @ v


def overlap(box, others):
    """Intersection over union of boxes (low corner, high corner)."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.maximum(high - low, 0.0), axis=1)
    area = np.prod(others[:, 2:] - others[:, :2], axis=1)
    return shared / (np.prod(box[2:] - box[:2]) + area - shared)


def boxes(seed=0, n_samples=100, n_boxes=40):
    """Boxes of which the first is the true one, with features that tell their overlap with it."""
    rng = np.random.RandomState(seed)
    teacher = rng.normal(size=(8, 3)) / np.sqrt(8), rng.normal(size=(3, 4))
    sign, X, y = np.sign(teacher[1].T @ teacher[0].T), [], []
    for _ in range(n_samples):
        vertices = rng.uniform(size=(n_boxes, 2, 2))
        vertices[1:11] = np.concatenate([np.sort(vertices[:1], axis=1)] * 10) + 0.1 * rng.normal(
            size=(10, 2, 2)
        )
        vertices = np.sort(vertices, axis=1).reshape(n_boxes, 4)
        share = overlap(vertices[0], vertices)
        share[0] = 1.0
        features = rng.normal(size=(n_boxes, 4, 8)) + 2.0 * share[:, None, None] * sign
        X.append(features)
        y.append(1.0 - share)
    return X, y
