"""Problem E3: boxes scored by a small network, trained by the prox-linear method."""

import warnings

import numpy as np
from _report import Clock

from sklearn_fw.structured import ProxLinearStructuredSVM

ETAS = (0.1, 1.0, 10.0)
# F of the specification's prototype after 15 convex models, by eta.
PROTOTYPE = {0.1: 0.022, 1.0: 0.005, 10.0: 0.0045}
START = 0.48  # F of its first weights
# F after 60 passes of stochastic subgradients, by their step sizes.
SUBGRADIENT = {"0.01": 0.004, "0.1 / sqrt(t)": 0.005, "1 / t": 0.038}
N_PLACES, N_FEATURES, N_HIDDEN, SCALE = 4, 8, 3, 0.1


def overlap(box, others):
    """Intersection over union of boxes (low corner, high corner)."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.maximum(high - low, 0.0), axis=1)
    area = np.prod(others[:, 2:] - others[:, :2], axis=1)
    return shared / (np.prod(box[2:] - box[:2]) + area - shared)


def boxes(n_samples, n_boxes=40):
    """Features of candidate boxes, of which the first is the true one, and one minus overlaps."""
    rng = np.random.RandomState(0)
    first = rng.normal(size=(N_FEATURES, N_HIDDEN)) / np.sqrt(N_FEATURES)
    sign = np.sign(rng.normal(size=(N_HIDDEN, N_PLACES)).T @ first.T)
    X, y = [], []
    for _ in range(n_samples):
        corners = np.sort(rng.uniform(size=(n_boxes, 2, 2)), axis=1)
        corners[1:11] = corners[0] + 0.1 * rng.normal(size=(10, 2, 2))
        corners = np.sort(corners, axis=1).reshape(n_boxes, 4)
        share = overlap(corners[0], corners)
        noise = rng.normal(size=(n_boxes, N_PLACES, N_FEATURES))
        X.append(noise + 2.0 * share[:, None, None] * sign)
        y.append(1.0 - share)
    return X, y


class Network:
    """``sum_{p,c} ELU(x[box, p] . W1[:, c]) W2[c, p]``: a score model in numpy."""

    def init(self, rng):
        """Small random weights."""
        return SCALE * rng.normal(size=N_HIDDEN * (N_FEATURES + N_PLACES))

    def _parts(self, x, w):
        split = N_FEATURES * N_HIDDEN
        first, second = w[:split].reshape(N_FEATURES, N_HIDDEN), w[split:].reshape(N_HIDDEN, -1)
        z = x @ first
        low = np.exp(np.minimum(z, 0.0))
        return second, np.where(z >= 0.0, z, low - 1.0), np.where(z >= 0.0, 1.0, low)

    def value(self, x, w):
        second, hidden, _ = self._parts(x, w)
        return (hidden * second.T).sum(axis=(1, 2))

    def jvp(self, x, w, d):
        """Derivative of the scores along d."""
        second, hidden, slope = self._parts(x, w)
        split = N_FEATURES * N_HIDDEN
        d1, d2 = d[:split].reshape(N_FEATURES, N_HIDDEN), d[split:].reshape(N_HIDDEN, -1)
        return (hidden * d2.T + slope * (x @ d1) * second.T).sum(axis=(1, 2))

    def vjp(self, x, w, v):
        """Sum of the derivatives of the scores, weighted by v."""
        second, hidden, slope = self._parts(x, w)
        inner = v[:, None, None] * slope * second.T
        first = x.reshape(-1, N_FEATURES).T @ inner.reshape(-1, N_HIDDEN)
        return np.concatenate([first.ravel(), np.einsum("m,mpc->cp", v, hidden).ravel()])


def objective(w, X, y):
    """F, apart from the estimator: the true box is candidate 0, and lam = 1 / n."""
    hinges = []
    for x, losses in zip(X, y):
        scores = Network().value(x, w)
        hinges.append(np.max(losses + scores - scores[0]))
    return float(w @ w / (2 * len(X)) + np.mean(hinges))


def first_value(n_samples, seed):
    return objective(Network().init(np.random.RandomState(seed)), *boxes(n_samples))


def train(eta, n_models, n_samples, seed):
    """Objective after so many convex models, by the estimator and by the referee."""
    warnings.simplefilter("ignore")
    X, y = boxes(n_samples)
    ProxLinearStructuredSVM(Network(), max_iter=1, random_state=0).fit(X[:3], y[:3])  # compiles
    svm = ProxLinearStructuredSVM(
        Network(), eta=eta, max_iter=n_models, tol=1e-4, C=1.0, random_state=seed
    )
    with Clock() as clock:
        svm.fit(X, y)
    rises = [b - a for a, b in zip(svm.history_["objective"], svm.history_["objective"][1:])]
    return {
        "objective": objective(svm.coef_, X, y), "said": svm.objective_, "seconds": clock.cpu,
        "calls": svm.n_oracle_calls_ / len(X), "stationary": svm.prox_gradient_norm_,
        "rise": float(max(rises, default=0.0)), "models": svm.n_iter_,
    }  # fmt: skip


def network_of_gradients(step_size, n_passes, n_samples, seed):
    """Objective of stochastic subgradients with a step size of its number, in plain numpy."""
    X, y = boxes(n_samples)
    rng, network = np.random.RandomState(seed), Network()
    w = network.init(rng)
    rules = {"0.01": lambda t: 0.01, "0.1 / sqrt(t)": lambda t: 0.1 / t**0.5,
             "1 / t": lambda t: 1.0 / t}  # fmt: skip
    for t, i in enumerate(rng.randint(len(X), size=n_passes * len(X)), start=1):
        scores = network.value(X[i], w)
        v = np.zeros(len(scores))
        v[np.argmax(y[i] + scores)] += 1.0
        v[0] -= 1.0
        w = w - rules[step_size](t) * (network.vjp(X[i], w, v) + w / len(X))
    return objective(w, X, y)
