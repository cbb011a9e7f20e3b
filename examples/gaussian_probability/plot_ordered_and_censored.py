"""
=======================================================
Ordinal and censored regression of diabetes progression
=======================================================

Ordinal labels and censored values are both intervals of a Gaussian process: between learned
thresholds, or between known bounds. Expectation propagation computes the posterior and the
evidence, which selects the hyperparameters.
"""

# %%
# Censored readings
# -----------------
# The instrument reads at most 1. Used as values, censored readings bias the curve downwards.
# Without them the curve is undetermined there. Used as intervals, they give the right curve.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from sklearn_fw.gaussian_probability import EPIntervalRegressor, EPOrdinalClassifier

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 6.0, 60))[:, None]
curve = 2.0 * np.sin(X[:, 0])
y = curve + 0.3 * rng.normal(size=60)
above = y > 1.0
seen = np.minimum(y, 1.0)
ends = np.column_stack([seen, np.where(above, np.inf, seen)])
fits = {
    "as values": EPIntervalRegressor().fit(X, seen),
    "left out": EPIntervalRegressor().fit(X[~above], seen[~above]),
    "as intervals": EPIntervalRegressor().fit(X, ends),
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(X[:, 0], curve, "k", lw=1, label="truth")
axes.scatter(X[:, 0], seen, s=12, c=np.where(above, "C3", "0.5"))
for (name, model), color in zip(fits.items(), ("C1", "C2", "C0")):
    mean, std = model.predict(X, return_std=True)
    axes.plot(X[:, 0], mean, color=color, label=name)
axes.fill_between(X[:, 0], mean - 2.0 * std, mean + 2.0 * std, color="C0", alpha=0.15)
axes.axhline(1.0, color="0.7", lw=1, ls="--")
axes.set(title="Readings censored at 1", ylim=(-3, 3))
axes.legend()

# %%
# Ordinal labels
# --------------
# The same curve, observed as grades. One latent curve and three thresholds give the probability of
# each grade.

grades = np.digitize(y, [-1.0, 0.0, 1.0])
classifier = EPOrdinalClassifier().fit(X, grades)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.stackplot(X[:, 0], classifier.predict_proba(X).T, labels=[f"grade {j}" for j in range(4)])
axes.scatter(X[:, 0], (grades + 0.5) / 4.0, c="k", s=6)
axes.set(title="Probabilities of the grades", ylim=(0, 1))
axes.legend(loc="upper right")
plt.show()

# %%
# Diabetes progression in five ranks
# ----------------------------------
# The targets are quintiles of the progression of diabetes. 300 of 442 patients are for training, in
# five random splits.

X, target = load_diabetes(return_X_y=True)
y = np.digitize(target, np.quantile(target, [0.2, 0.4, 0.6, 0.8]))
errors = {}
for seed in range(5):
    order = np.random.default_rng(seed).permutation(len(y))
    fit, test = order[:300], order[300:]
    scaler = StandardScaler().fit(X[fit])
    A, B = scaler.transform(X[fit]), scaler.transform(X[test])
    ordinal = EPOrdinalClassifier(decision="median").fit(A, y[fit])
    logistic = LogisticRegression().fit(A, y[fit])
    rounded = np.clip(np.rint(Ridge(10.0).fit(A, y[fit]).predict(B)), 0, 4)
    for name, guess in (
        ("EPOrdinalClassifier", ordinal.predict(B)), ("LogisticRegression", logistic.predict(B)),
        ("Ridge, rounded", rounded),
    ):  # fmt: skip
        errors.setdefault(name, []).append(np.mean(np.abs(guess - y[test])))
    for name, model in (("EPOrdinalClassifier", ordinal), ("LogisticRegression", logistic)):
        loss = log_loss(y[test], model.predict_proba(B))
        errors.setdefault(f"{name}, log loss", []).append(loss)
for name, values in errors.items():
    print(f"{name:31s} {np.mean(values):.3f}")

# %%
# Censored diabetes progression
# -----------------------------
# One third of the training targets is above the limit and censored. Errors are those of test
# patients, whose targets are not censored.

errors = {}
for seed in range(5):
    order = np.random.default_rng(seed).permutation(len(y))
    fit, test = order[:300], order[300:]
    scaler = StandardScaler().fit(X[fit])
    A, B = scaler.transform(X[fit]), scaler.transform(X[test])
    limit = np.quantile(target[fit], 2 / 3)
    above = target[fit] >= limit
    seen = np.minimum(target[fit], limit)
    for name, rows, ends in (
        ("as intervals", A, np.column_stack([seen, np.where(above, np.inf, seen)])),
        ("as values", A, seen), ("left out", A[~above], seen[~above]),
        ("uncensored targets", A, target[fit]),
    ):  # fmt: skip
        guess = EPIntervalRegressor().fit(rows, ends).predict(B)
        errors.setdefault(name, []).append(np.sqrt(np.mean((guess - target[test]) ** 2)))
for name, values in errors.items():
    print(f"{name:22s} root mean square error {np.mean(values):.1f}")
