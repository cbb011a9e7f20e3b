"""
====================================================
Group lasso and sparse group lasso on questionnaires
====================================================

The levels of a categorical variable are columns of zeros and ones that belong together. The lasso
selects columns. The group lasso selects variables, and the sparse group lasso selects variables and
their relevant levels.
"""

# %%
# Data
# ----
# Twenty-four questions with six answers each. In three questions all answers matter, in three
# others two answers, and in eighteen none. One-hot encoded, the table has 144 columns, with 24
# nonzeros per row.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import OneHotEncoder

from sklearn_fw import AsagaClassifier, regularization_path
from sklearn_fw.penalties import ElasticNet, GroupLasso

n_rows, n_questions, n_answers = 2000, 24, 6
n_train = 1000
rng = np.random.default_rng(0)
effect = np.zeros((n_questions, n_answers))
effect[[2, 9, 17]] = 1.2 * rng.standard_normal((3, n_answers))
effect[[5, 12, 20], [[0, 1, 3]]] = 2.0
effect[[5, 12, 20], [[2, 4, 5]]] = -2.0

answers = rng.integers(n_answers, size=(n_rows, n_questions))
X = OneHotEncoder().fit_transform(answers)
y = X @ effect.ravel() + rng.logistic(size=n_rows) > 0
groups = np.repeat(np.arange(n_questions), n_answers)
print(f"{X.shape[1]} columns, {X.nnz // n_rows} per row, {np.count_nonzero(effect)} that matter")

# %%
# Penalties
# ---------
# ``penalty`` takes an object in place of the elastic net. Its strength comes from a regularization
# path with warm starts, which begins where all coefficients are zero. The C with the best held-out
# loss keeps some irrelevant columns, so we select the strongest penalty whose held-out loss is at
# most 3 % higher.

penalties = {
    "lasso": ElasticNet(1.0),
    "group lasso": GroupLasso(groups),
    "sparse group lasso": GroupLasso(groups, l1=1.0),
}
paths, chosen = {}, {}
for name, penalty in penalties.items():
    model = AsagaClassifier(penalty=penalty, tol=1e-3, random_state=0)
    path = regularization_path(model, X[:n_train], y[:n_train], n_values=20, ratio=0.03)
    scores = path.score_path(X[n_train:], y[n_train:], scoring="neg_log_loss")
    paths[name] = path
    chosen[name] = path.values_[np.argmax(scores >= 1.03 * scores.max())]  # scores are negative
    best = path.estimator_at(chosen[name])
    kept = best.coef_.reshape(n_questions, n_answers) != 0
    print(
        f"{name:18s}  C = {chosen[name]:.2f}  best log loss {-scores.max():.3f}  "
        f"questions {kept.any(axis=1).sum():2d}  columns {kept.sum():3d}  gap {best.dual_gap_:.0e}"
    )

# %%
# Selected columns
# ----------------
# Coefficients that are exactly zero are gray. The lasso keeps single answers of many questions, the
# group lasso all answers of fewer questions. The sparse group lasso keeps the fewest questions,
# with hardly more columns than the lasso.

images = {"truth": effect} | {
    name: path.estimator_at(chosen[name]).coef_.reshape(n_questions, n_answers)
    for name, path in paths.items()
}
figure, axes = plt.subplots(4, figsize=(8, 7.5), sharex=True, layout="constrained")
colors = plt.get_cmap("RdBu_r").with_extremes(bad="0.88")
for ax, (name, coef) in zip(axes, images.items()):
    shown = np.ma.masked_equal(coef.T, 0.0)
    image = ax.imshow(shown, cmap=colors, vmin=-2, vmax=2, aspect="auto")
    ax.set(title=name, ylabel="answer", yticks=[], xticks=range(n_questions))
axes[-1].set_xlabel("question")
figure.colorbar(image, ax=axes, label="coefficient", shrink=0.5)

# %%
# Regularization paths
# --------------------
# The norm of the coefficients of each question, from strong to weak regularization: the six
# relevant questions in color, the others black. Dotted lines are the solutions of the figure above.

matter = effect.any(axis=1)
figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for ax, (name, path) in zip(axes, paths.items()):
    blocks = path.coefs_.reshape(len(path.values_), n_questions, n_answers)
    norms = np.linalg.norm(blocks, axis=2)
    smallest = path.values_[0]
    ax.plot(path.values_ / smallest, norms[:, ~matter], color="0.2", linewidth=0.8)
    ax.plot(path.values_ / smallest, norms[:, matter])
    ax.axvline(chosen[name] / smallest, color="0.5", linestyle=":")
    ax.set(xscale="log", xlabel="C / smallest C of the path", title=name)
    ax.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
axes[0].set_ylabel("norm of the coefficients of a question")
