"""Rows in tight clusters, where neighbours have nearly the same gradients."""

import numpy as np

from sklearn_fw.losses import resolve_loss


def clustered(loss="log_loss", *, n=5000, d=20, n_clusters=250, seed=0):
    """Unit rows in tight clusters, with labels or targets of a linear model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_clusters, d))[rng.integers(n_clusters, size=n)]
    X += 0.05 * rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    z = X @ rng.standard_normal(d)
    if resolve_loss(loss, None).task == "regression":
        return X, z + 0.1 * rng.standard_normal(n)
    return X, np.sign(3 * z + rng.logistic(size=n))
