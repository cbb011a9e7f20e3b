"""
========================================
Logistic regression on a cluster of Dask
========================================

``AsagaClassifier`` fits Dask arrays whose blocks stay with the workers of a cluster. Each round
adds one vector of every block. The certificate is that of a fit in one process.
"""

# %%
# Data, workers and fit
# ---------------------
# Two worker processes draw 40,000 rows, 5,000 in each block. Processes import this file again, so
# that only the main process may start them. ``history_`` counts rounds and bytes, and its dual gap
# is an upper bound on the distance to the optimum after each iteration.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from sklearn_fw import AsagaClassifier


def fit_on_workers():
    rng = da.random.RandomState(0)
    X = rng.standard_normal((40_000, 50), chunks=(5000, -1))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(40_000, chunks=5000) > 0
    return AsagaClassifier(tol=1e-8).fit(X, y)


def draw(history):
    _, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    gaps = np.maximum(history["dual_gap"], 1e-16)
    ax.semilogy(history["n_rounds"], gaps, "o-", label="dual gap")
    ax.set(xlabel="rounds", ylabel="certified distance to the optimum")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend()


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        model = fit_on_workers()
    print(f"dual gap {model.dual_gap_:.1e}, {model.history_['n_bytes'][-1]:,} bytes")
    draw(model.history_)
