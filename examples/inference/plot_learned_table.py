"""
===============================================
A random field learned from a table of patients
===============================================

A classifier predicts one column from the others. A random field models all columns: it scores rows,
imputes missing entries, and its edges show dependent columns. ``TRWMarginals`` learns it in closed
form, so a search over its settings takes seconds.
"""

# %%
# Data
# ----
# 442 patients with diabetes: sex, nine measurements, and the progression of the disease after one
# year. Except for the sex, k-means cuts each column into three bins, with states 0, 1, 2.
# ``n_states`` gives the number of states, since a state may be missing in a fold.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from sklearn_fw import TRWMarginals
from sklearn_fw.random_fields import MRFLearner

patients = load_diabetes(scaled=False)
table = np.column_stack([patients.data, patients.target])
train, test = train_test_split(table, test_size=0.3, random_state=0)

bins = KBinsDiscretizer(3, encode="ordinal", strategy="kmeans")
discretize = make_column_transformer((OrdinalEncoder(), [1]), (bins, [0, *range(2, 11)]))
names = ["sex", "age", "body mass", "blood pressure", "cholesterol", "LDL", "HDL"]
names += ["cholesterol / HDL", "triglycerides", "glucose", "progression"]
n_states = [2] + [3] * 10
model = Pipeline(
    [("discretize", discretize), ("field", TRWMarginals(learner=MRFLearner(n_states=n_states)))]
)

# %%
# Selection of edges and smoothing
# --------------------------------
# ``score`` is the mean log-probability of rows, in nats, which the grid search maximizes. Without
# edges columns are independent; ``pseudocount`` is the number of uniform rows that are added. The
# bins are not part of the search, since scores with different bins are not comparable.

edges = {"none": [], "best tree": "tree", "all pairs": "complete"}
pseudocounts = [0.3, 1, 3, 10, 30, 100]
grid = {"field__learner__edges": list(edges.values()), "field__learner__pseudocount": pseudocounts}
search = GridSearchCV(model, grid, cv=5).fit(train)
curves = search.cv_results_["mean_test_score"].reshape(len(edges), -1)
print(search.best_params_)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, curve in zip(edges, curves):
    ax.plot(pseudocounts, curve, "o-", label=name)
ax.set(xscale="log", xlabel="pseudocount", ylabel="nats per held-out row")
ax.set(xticks=pseudocounts, xticklabels=pseudocounts)
ax.minorticks_off()
ax.legend(title="edges")

# %%
# Bounds and exact scores
# -----------------------
# Eleven columns are few enough for exact sums over all possible rows, so the scores above are
# exact. For wide graphs only trees have an exact log Z; that of fields with cycles has bounds, and
# so have their scores. With an approximate oracle ``TRWMarginals`` returns such bounds here, too:
# all pairs are at least as good as the tree, but their bound is far below it.

rows_train, rows_test = discretize.fit_transform(train), discretize.transform(test)
pseudocount = search.best_params_["field__learner__pseudocount"]
print("edges       nats per test row: bound   exact")
for name, pairs in edges.items():
    learner = MRFLearner(pairs, pseudocount=pseudocount, n_states=n_states)
    bound = TRWMarginals("approx", learner=learner).fit(rows_train).score(rows_test)
    exact = TRWMarginals(learner=learner).fit(rows_train).score(rows_test)
    print(f"{name:10s} {bound:25.2f} {exact:7.2f}")

# %%
# Learned tree
# ------------
# The graph of all pairs is dense; the tree is readable. The width of a line is the mutual
# information of both columns. Two columns are independent given any column between them.

learner = MRFLearner("tree", pseudocount=pseudocount, n_states=n_states)
joined = TRWMarginals(learner=learner).fit(rows_train)
mrf = joined.mrf_
marginals = mrf.flatten(joined.marginals_, joined.edge_marginals_)
tree = nx.Graph(mrf.edges.tolist())
places = nx.kamada_kawai_layout(tree)
widths = 20 * mrf.mutual_information(marginals)

# sphinx_gallery_thumbnail_number = 2
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
nx.draw_networkx_edges(tree, places, mrf.edges.tolist(), widths, edge_color="0.75", ax=ax)
for node, place in places.items():
    color = "mistyrose" if names[node] == "progression" else "white"
    box = {"boxstyle": "round", "facecolor": color, "edgecolor": "0.6"}
    ax.text(*place, names[node], ha="center", va="center", bbox=box)
ax.axis("off")
ax.margins(0.1, 0.05)

# %%
# Missing entries
# ---------------
# A third of the entries of the test rows is hidden. ``predict`` of the selected field imputes them
# given the other entries. The baseline is the most frequent state of a column.

field = search.best_estimator_["field"]
rng = np.random.default_rng(0)
hidden = rng.random(rows_test.shape) < 1 / 3
guesses = {
    "most frequent": np.broadcast_to(field.predict(), rows_test.shape),
    "given the others": field.predict(np.where(hidden, np.nan, rows_test)),
}
accuracy = {
    name: [np.mean((guess == rows_test)[hidden[:, j], j]) for j in range(len(names))]
    for name, guess in guesses.items()
}
for name, guess in guesses.items():
    print(f"{name:17s} {np.mean((guess == rows_test)[hidden]):.0%} of hidden entries correct")

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
order = np.argsort(accuracy["given the others"])
for name, style in zip(guesses, ("o", "D")):
    ax.plot(np.array(accuracy[name])[order], np.array(names)[order], style, label=name)
ax.set(xlim=(0, 1), xlabel="fraction of hidden entries imputed correctly")
ax.grid(axis="y", color="0.9")
ax.legend(loc="lower right")
