"""
=============================================
Logistic regression with badly scaled columns
=============================================

Gradient methods converge slowly when the columns of a table have different scales, such as meters
and millimeters. Scaling the columns helps, but changes the problem, because the penalty then acts
on other coefficients. ``AsagaClassifier`` is fast on the original problem.
"""

# %%
# Data
# ----
# Thirty measurements of 4000 objects. Each column has its own unit, from 0.01 to 100, and none is
# centered.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sklearn_fw import AsagaClassifier
from sklearn_fw.optim import Asaga

rng = np.random.default_rng(0)
n, d = 4000, 30
Z = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
effect = rng.standard_normal(d) * (np.arange(d) % 3 > 0)  # every third one has no effect
y = np.where(Z @ effect + rng.logistic(size=n) > 0, 1, -1)
units = np.geomspace(0.01, 100, d)
X = units * (Z + rng.uniform(-3, 3, d))

# %%
# Six solvers of one objective
# ----------------------------
# All minimize the objective of ``LogisticRegression(C=1)`` on the unscaled columns, on one thread.
# Newton's method does not depend on scales: for thirty columns it is the best choice, and the
# default of ``AsagaClassifier``. Incremental methods are for tables with many more columns. With
# ``conditioning="diagonal"`` every column has its own step size, and the intercept absorbs the mean
# of the columns; "auto" selects it for dense tables. With ``conditioning=None`` all columns share
# one step size, as in scikit-learn.

warnings.simplefilter("ignore", ConvergenceWarning)
fits = {
    "AsagaClassifier(C=1)": (AsagaClassifier(C=1.0, random_state=0), 7),
    'Asaga(conditioning="diagonal")': (
        AsagaClassifier(C=1.0, solver=Asaga(conditioning="diagonal"), random_state=0),
        60,
    ),
    "Asaga(conditioning=None)": (
        AsagaClassifier(C=1.0, solver=Asaga(conditioning=None), random_state=0),
        500,
    ),
    'LogisticRegression("saga")': (LogisticRegression(solver="saga", random_state=0), 500),
    'LogisticRegression("lbfgs")': (LogisticRegression(solver="lbfgs"), 500),
    'LogisticRegression("newton-cholesky")': (LogisticRegression(solver="newton-cholesky"), 7),
}
colors = ["black", "tab:blue", "tab:cyan", "tab:orange", "tab:red", "tab:green"]


def objective(model):
    scores = X @ model.coef_[0] + model.intercept_
    return np.logaddexp(0.0, -y * scores).mean() + model.coef_[0] @ model.coef_[0] / (2 * n)


AsagaClassifier(C=1.0, solver="asaga", tol=0, max_iter=10).fit(X, y)  # compiles
best = AsagaClassifier(C=1.0, tol=1e-13).fit(X, y)
print(f"optimum {objective(best):.6f}, certified up to {best.dual_gap_:.0e}, {best.solver_}:")
print(best.solver_reason_)
for tol in (1e-2, 1e-3):
    saga = LogisticRegression(solver="saga", tol=tol, max_iter=5000, random_state=0).fit(X, y)
    above = objective(saga) - objective(best)
    print(f"saga with tol={tol:g} stops after {saga.n_iter_[0]} epochs, {above:.2f} too high")

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for (name, (model, last)), color in zip(fits.items(), colors):
    points = []
    for k in np.unique(np.geomspace(1, last, 9).astype(int)):
        model.set_params(max_iter=k, tol=1e-14)
        with threadpool_limits(1):
            start = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - start
        points.append([seconds, objective(model) - objective(best)])
    seconds, errors = np.transpose(points)
    ax.plot(seconds, np.maximum(errors, 1e-16), "o-", color=color, markersize=4, label=name)
ax.set(xscale="log", yscale="log", xlabel="CPU seconds of the whole fit")
ax.set_ylabel("objective above the optimum")
ax.legend()

# %%
# Scaling changes the penalty
# ---------------------------
# Scaling is often the right choice, but it changes the model: the penalty of a scaled table acts on
# the influence of a column, that of an unscaled table on its coefficient per unit. The lasso shows
# the difference best. Without scaling, columns with small units are too expensive, and those with
# large units are nearly free. The solver is fast either way.

lasso = AsagaClassifier(l1_ratio=1.0, C=0.02, random_state=0)
spread = X.std(axis=0)
influence = {
    "lasso, columns as they are": np.abs(lasso.fit(X, y).coef_[0]) * spread,
    "lasso, columns scaled": np.abs(lasso.fit(StandardScaler().fit_transform(X), y).coef_[0]),
}
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.bar(units, np.abs(effect) * spread / units, 0.2 * units, color="0.85", label="truth")
for (name, values), style in zip(influence.items(), ("o", "D")):
    ax.plot(units, np.where(values > 0, values, np.nan), style, label=name)
ax.set(xscale="log", xlabel="unit of the column", ylabel="influence: |coefficient| times spread")
ax.legend()

# %%
# Correlated columns
# ------------------
# Step sizes per column only compensate for scales. The columns of this table are scaled, but
# strongly correlated: the incremental method needs many epochs, Newton's method few steps.

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
for C in (0.01, 0.1, 1.0):
    model = AsagaClassifier(C=C, solver="asaga", tol=1e-6, max_iter=10_000, random_state=0)
    newton = AsagaClassifier(C=C, tol=1e-6).fit(X, y)
    print(
        f"C = {C:4g}: {model.fit(X, y).n_iter_:4d} epochs, or {newton.n_iter_} steps of Newton's "
        "method"
    )
