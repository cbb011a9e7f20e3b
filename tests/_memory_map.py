"""Sparse rows in files: the code of the guide, and a process with too little memory for them."""

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_fw import AsagaClassifier


def save_rows(folder, X):
    for name in ("data", "indices", "indptr"):
        np.save(Path(folder, f"{name}.npy"), getattr(X, name))


def open_rows(folder, n_features, mmap_mode="r"):
    arrays = [
        np.load(Path(folder, f"{name}.npy"), mmap_mode=mmap_mode)
        for name in ("data", "indices", "indptr")
    ]
    return csr_matrix(tuple(arrays), shape=(arrays[2].size - 1, n_features))


def fit_by_parts(model, X, y, n_parts, n_rounds, rng):
    classes, n = np.unique(y), X.shape[0]
    for rows in np.array_split(np.arange(n), n_parts):
        model.partial_fit(X[rows], y[rows], classes=classes, rows=rows)
    for _ in range(n_rounds - 1):
        for rows in np.array_split(rng.permutation(n), n_parts):
            rows = np.sort(rows)
            model.partial_fit(X[rows], y[rows], rows=rows)
    return model


def fit_all(X, y):
    return AsagaClassifier(tol=1e-2, random_state=0).fit(X, y)


def fit_parts(X, y):
    model = AsagaClassifier(random_state=0)
    return fit_by_parts(model, X, y, n_parts=20, n_rounds=3, rng=np.random.default_rng(0))


def main(how, folder, small, n_features, headroom, mmap_mode):
    """Fit rows with at most ``headroom`` bytes more than the compiled package needs."""
    import resource  # POSIX only

    n_features, headroom = int(n_features), int(headroom)
    fit = {"all": fit_all, "parts": fit_parts}[how]
    fit(open_rows(small, n_features), np.load(Path(small, "y.npy")))  # compiles
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + headroom, resource.RLIM_INFINITY))
    X = open_rows(folder, n_features, mmap_mode if mmap_mode == "r" else None)
    y = np.load(Path(folder, "y.npy"))
    sys.stdout.write(str(fit(X, y).score(X, y)))


if __name__ == "__main__":
    main(*sys.argv[1:])
