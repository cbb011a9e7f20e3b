"""
=============================================
Neural network scores in a chain, on a spiral
=============================================

A point moves along three arms of a spiral and sometimes jumps to another arm. Its positions are
observed with noise; the label is the arm. No linear function separates the arms. A small network
does, trained together with the transitions.
"""

# %%
# Data
# ----
# Sequences of positions in the plane. The label of a position is the number of its arm.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import ProxLinearStructuredSVM, ScoreModel

N_ARMS = 3


def walks(n_samples, rng):
    X, y = [], []
    for _ in range(n_samples):
        length = rng.integers(10, 16)
        jumps = rng.random(length) < 0.2
        arms = np.cumsum(jumps * rng.integers(1, N_ARMS, length)) + rng.integers(N_ARMS)
        arms, radius = arms % N_ARMS, rng.uniform(0.4, 2.0, length)
        angle = 2 * np.pi * arms / N_ARMS + 2.5 * radius
        places = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        X.append(places + 0.12 * rng.normal(size=places.shape))
        y.append(arms)
    return X, y


rng = np.random.default_rng(0)
X, y = walks(60, rng)
X_test, y_test = walks(100, rng)

# %%
# Score model
# -----------
# A score model defines scores, and products of their Jacobian with vectors from both sides: here
# one hidden layer and a table of transitions.


class Network(ScoreModel):
    def __init__(self, n_hidden=24):
        self.n_hidden = n_hidden

    def split(self, w):
        h = self.n_hidden
        first, second, table = np.split(w, [3 * h, 3 * h + h * N_ARMS])
        return first.reshape(3, h), second.reshape(h, N_ARMS), table.reshape(N_ARMS, N_ARMS)

    def hidden(self, x, first):
        return np.tanh(x @ first[:2] + first[2])

    def init(self, rng):
        h = self.n_hidden
        weights = [1.5 * rng.normal(size=3 * h), rng.normal(size=h * N_ARMS) / np.sqrt(h)]
        return np.concatenate([*weights, np.zeros(N_ARMS**2)])

    def value(self, x, w):
        first, second, table = self.split(w)
        return self.hidden(x, first) @ second, table

    def jvp(self, x, w, d):
        (first, second, _), (d1, d2, table) = self.split(w), self.split(d)
        a = self.hidden(x, first)
        return ((1 - a**2) * (x @ d1[:2] + d1[2])) @ second + a @ d2, table

    def vjp(self, x, w, v):
        first, second, _ = self.split(w)
        a = self.hidden(x, first)
        inner = (1 - a**2) * (v[0] @ second.T)
        g1 = np.vstack([x.T @ inner, inner.sum(axis=0)])
        return np.concatenate([g1.ravel(), (a.T @ v[0]).ravel(), v[1].ravel()])


linear = StructuredSVM("chain", random_state=0).fit(X, y)
network = ProxLinearStructuredSVM(Network(), random_state=0).fit(X, y)
for name, svm in {"linear": linear, "network": network}.items():
    print(f"{name:8s} correct arms {100 * svm.score(X_test, y_test):.1f} %")
assert network.score(X_test, y_test) > linear.score(X_test, y_test)

# %%
# Probabilities by position
# -------------------------
# Background colors are the probabilities of the arms at a single position, points are those of the
# test sequences. Held-out sequences calibrate the probabilities.

linear.calibrate(X_test[:50], y_test[:50])
network.calibrate(X_test[:50], y_test[:50])
ticks = np.linspace(-2.3, 2.3, 90)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 1, 2)
colors = np.array([[0.12, 0.38, 0.62], [0.93, 0.55, 0.14], [0.25, 0.58, 0.36]])
places, arms = np.concatenate(X_test), np.concatenate(y_test)

fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, svm) in zip(axes, {"linear scores": linear, "a network": network}.items()):
    probabilities = np.concatenate(list(svm.predict_marginals(list(grid))))
    image = 1 - 0.75 * (1 - probabilities @ colors)
    ax.imshow(image.reshape(90, 90, 3), extent=(-2.3, 2.3, -2.3, 2.3), origin="lower")
    ax.scatter(*places[::3].T, s=7, c=colors[arms[::3]], edgecolors="white", linewidths=0.3)
    ax.set(title=f"{name}: {100 * svm.score(X_test, y_test):.0f} % correct", xticks=[], yticks=[])

history = network.history_
axes[2].plot(history["n_iter"], history["objective"], "o-", ms=4, color=colors[0])
axes[2].set(title="objective", xlabel="convex models", yscale="log",
            ylabel="objective of the network")  # fmt: skip
plt.show()
