"""
=====================================================
Belief propagation on a factor graph of parity checks
=====================================================

A black and white image is sent through a channel that flips some of its pixels, together with
parities of groups of six pixels. A parity is a factor on six variables, which forbids one half of
all combinations; no pairwise field can express it. Belief propagation on such factor graphs decodes
low-density parity-check codes.
"""

# %%
# Image, channel and parities
# ---------------------------
# Every pixel is in three groups: three random permutations of the pixels are cut into groups of
# six.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.random_fields import FactorGraph, TRBPMarginals

SIDE = 30
rng = np.random.default_rng(0)
row, column = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
face = (np.hypot(row, column) < 13) & (np.hypot(row, column) > 11)
for side in (-1, 1):
    face |= np.hypot(row + 4, column - 4.5 * side) < 1.9
face |= (np.abs(np.hypot(row, column) - 7.2) < 1.1) & (row > 2)
sent = face.ravel().astype(int)

groups = np.concatenate([rng.permutation(SIDE**2).reshape(-1, 6) for _ in range(3)])
parities = sent[groups].sum(axis=1) % 2


def received(flipped):
    """The image after the channel."""
    return sent ^ (rng.random(SIDE**2) < flipped)


# %%
# Factor graphs
# -------------
# Unary factors contain the received pixels and their reliability. Parities are tables of 2 x 2 x 2
# x 2 x 2 x 2 log-potentials, ``-inf`` where the sum is wrong. Images also have smooth areas: a
# factor on each pair of neighbors makes equal pixels more likely.

black = np.indices((2,) * 6).sum(axis=0) % 2
TABLES = {parity: np.where(black == parity, 0.0, -np.inf) for parity in (0, 1)}
checks = [(group.tolist(), TABLES[parity]) for group, parity in zip(groups, parities)]
number = np.arange(SIDE**2).reshape(SIDE, SIDE)
beside = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
above = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
areas = [(pair.tolist(), 0.8 * np.eye(2)) for pair in np.concatenate([beside, above])]
kinds = {"areas": areas, "parities": checks, "both": checks + areas}


def probabilities(image, flipped, factors, max_iter=40):
    """Probability of black for each pixel."""
    seen = np.log([[1 - flipped, flipped], [flipped, 1 - flipped]])[image]
    graph = FactorGraph([2] * SIDE**2, [*(([i], own) for i, own in enumerate(seen)), *factors])
    return TRBPMarginals("ones", max_iter=max_iter).fit(graph).marginals_[:, 1]


# %%
# Decoding by message passing
# ---------------------------
# With all factors, those of neighbors correct isolated pixels first. Groups with one wrong pixel
# then correct that pixel, and so on, until every parity holds.

warnings.simplefilter("ignore", ConvergenceWarning)  # runs stop after a few passes
FLIPPED = 0.15
image = received(FLIPPED)
shown = {"sent": sent, "received": image}
for passes in (2, 6, 12, 30):
    shown[f"{passes} passes"] = probabilities(image, FLIPPED, kinds["both"], passes)
figure, axes = plt.subplots(1, len(shown), figsize=(11, 2.4), layout="constrained")
for ax, (name, values) in zip(axes, shown.items()):
    ax.imshow(values.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=1)
    wrong = np.sum((values > 0.5) != sent)
    ax.set(title=name if name == "sent" else f"{name}:\n{wrong} wrong", xticks=[], yticks=[])

# %%
# Errors by noise level
# ---------------------
# Parities alone correct every pixel up to some noise level, and hardly any above it. Neighbors
# alone correct many pixels, but not all. Both kinds of factors together tolerate much more noise.

levels = np.array([0.03, 0.07, 0.11, 0.16, 0.22, 0.3])
curves = {name: [] for name in kinds}
for flipped in levels:
    image = received(flipped)
    for name, factors in kinds.items():
        found = probabilities(image, flipped, factors) > 0.5
        curves[name].append(np.mean(found != sent))
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(levels, levels, color="0.6", linestyle=":", label="as received")
for (name, values), marker in zip(curves.items(), "svo"):
    ax.plot(levels, values, marker=marker, label=name)
    print(f"{name:9s}", " ".join(f"{value:.4f}" for value in values))
ax.set(xlabel="fraction of pixels flipped by the channel", ylabel="fraction of wrong pixels")
ax.legend()
plt.show()
