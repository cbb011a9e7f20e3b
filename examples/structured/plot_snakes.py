"""
=========================================
Chains with edge features: the snake data
=========================================

Every cell of a snake has a color for the direction in which its body continues. Labels number the
cells from head to tail. The cell and its neighbors contain little information on the number: it
follows from the whole chain, and the colors define the order of the neighbors.
"""

# %%
# Data
# ----
# Grids of cells with one of five colors, four for directions and one for the background, and the
# number of each cell, 0 for the background.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_snakes
from sklearn_fw.metrics import node_accuracy

LENGTH = 7
DRAW = {"n_samples": 100, "length": LENGTH, "n_test": 60, "random_state": 1, "return_X_y": True}
_, _, X_test, y_test = make_snakes(**DRAW)

# %%
# Three models
# ------------
# Node features are the colors of the 3 x 3 cells around a cell. Without edges cells are
# independent. With a table per direction neighbors interact. Edge features from both ends also
# define the order of neighbors.


def without_edges(graphs):
    return [(nodes, np.empty((0, 2), int)) for nodes, _ in graphs]


plain, labels, plain_test, labels_test = make_snakes(form="graph", **DRAW)
sets = {
    "without edges": (without_edges(plain), without_edges(plain_test)),
    "directions": (plain, plain_test),
    "features of edges": make_snakes(form="edge_features", **DRAW)[::2],
}
found = {}
for name, (graphs, graphs_test) in sets.items():
    svm = StructuredSVM(C=0.1, max_iter=10, tol=0.5, random_state=0).fit(graphs, labels)
    found[name] = svm.predict(graphs_test)
    print(f"{name:18s} correct cells {100 * node_accuracy(labels_test, found[name]):.1f} %")

# %%
# Predictions
# -----------
# Test snakes with their true numbers and the predictions of each model; errors are red.

arrows = np.array(["\u2191", "\u2193", "\u2190", "\u2192", ""])
different = {own.tobytes(): i for i, own in enumerate(y_test)}.values()
chosen = sorted(different, key=lambda i: -min(y_test[i].shape))[:3]
columns = ["colors", "numbers", *found]
fig, axes = plt.subplots(len(chosen), len(columns), figsize=(11, 7.5), layout="constrained")
for row, i in zip(axes, chosen):
    for axis, name in zip(row, columns):
        numbers = y_test[i] if name not in found else found[name][i].reshape(y_test[i].shape)
        shown = np.ma.masked_equal(numbers, 0)
        axis.imshow(shown, cmap="viridis", vmin=-2, vmax=LENGTH)
        for p in np.ndindex(y_test[i].shape):
            readable = "black" if numbers[p] > LENGTH - 3 else "white"
            if name == "colors":
                axis.text(*p[::-1], arrows[X_test[i][p].argmax()], ha="center", va="center",
                          color=readable, fontsize=13)  # fmt: skip
            elif numbers[p] or y_test[i][p]:
                wrong = numbers[p] != y_test[i][p]
                axis.text(*p[::-1], str(numbers[p]), ha="center", va="center", fontsize=11,
                          color="red" if wrong else readable,
                          weight="bold" if wrong else "normal")  # fmt: skip
        axis.set(xticks=[], yticks=[])
        if i == chosen[0]:
            axis.set_title(name)
plt.show()
