"""
==================================================
PAC-Bayes bounds and evidence of linear regression
==================================================

PAC-Bayes bounds limit the expected loss from the training data alone. The first figure compares
four bounds of Bayesian linear regression with the risk as the training set grows. The second
selects the degree of a polynomial by the evidence, which minimizes the bound.
"""

# %%
# Bounds
# ------
# Twenty normal features. "gaussian_linear" assumes known variances and is a guarantee.
# "subgamma" is a published bound without a guarantee: from n = 200 on its moment is infinite.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sklearn_fw.pac_bayes import (
    EvidenceDisplay,
    PACBayesLinearRegression,
    PACBayesModelSelector,
    RiskBoundDisplay,
)

rng = np.random.default_rng(0)
w = rng.random(20)
w *= 0.5 / np.linalg.norm(w)
X = rng.normal(size=(30000, 20))
y = X @ w + rng.normal(size=30000) / 3
targets = {"x_variance": 1.0, "w_norm2": 0.25, "noise_true": 1 / 9}
model = PACBayesLinearRegression(2.0, prior_variance=0.01, fit_intercept=False, temperature="sqrt")

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
RiskBoundDisplay.from_estimator(
    model, X, y, n_samples=np.geomspace(10, 30000, 12).astype(int), ax=axes,
    kinds={
        "gaussian_linear": targets, "hoeffding": {"loss_range": (1, 4)},
        "catoni": {"loss_range": (1, 4)}, "subgamma": targets,
    },
)  # fmt: skip
axes.set_title("Bounds of the tempered posterior")

# %%
# Evidence
# --------
# Fifteen noisy points of a sine, and polynomials of degree one to seven, selected through a
# ``Pipeline``.

rng = np.random.RandomState(42)
x = 2 * np.pi * rng.rand(15, 1)
target = np.sin(x[:, 0]) + rng.normal(0, 0.25, 15)
last = PACBayesLinearRegression(1 / 16, prior_variance=200.0, fit_intercept=False)
selector = PACBayesModelSelector(
    make_pipeline(PolynomialFeatures(), last), {"polynomialfeatures__degree": [1, 2, 3, 4, 5, 6, 7]}
).fit(x, target)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
EvidenceDisplay.from_estimator(selector, "polynomialfeatures__degree", ax=axes)
axes.set_title("Evidence by polynomial degree")
plt.show()
