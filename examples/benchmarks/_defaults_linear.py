"""Default fits of the linear models beside the best of a grid, for `defaults.py`."""

import gzip
import json
import warnings

import numpy as np
from _linear_problems import generator
from _report import data_path, those_there, timed
from scipy import sparse
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

from sklearn_fw import AsagaClassifier, AsagaRegressor

TITLE = "Linear models"
ABOUT = """
``AsagaClassifier()`` (accuracy) and ``AsagaRegressor()`` (R2, 0 where negative) with defaults,
compared with the best setting of a grid; metrics are in percent. The grid varies C (0.001 to 1,000)
or alpha (1e-8 to 10 times the mean variance of a column) and l1_ratio (0, and 0.5 for at most 100
dense columns). Tables without a test set are split at random, with a third for the test, and rows
are means over several splits. The setting is chosen on a quarter of the training data.

Columns are unscaled unless the name contains "scaled". Regressions "a from b" predict a column of a
table from the others. The peer is ``LogisticRegression`` or ``Ridge`` with default settings on the
same data; its warnings are suppressed.
"""
CS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
ALPHAS = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
SMALL, SPLITS = 3000, 10


def rows(quick):
    makers = CLASSES | NUMBERS
    for name, data in those_there(makers, lambda name: makers[name](quick)):
        yield _row(name, name in NUMBERS, *data, quick=quick)


def _bundled(loader, scaled=False):
    def make(quick):
        X, y = getattr(datasets, loader)(return_X_y=True)
        return (StandardScaler().fit_transform(X) if scaled else X), y, None

    return make


def _usps(quick):
    with np.load(data_path("usps/usps.npz")) as file:
        X = np.concatenate([file["X_train"], file["X_test"]]).astype(np.float64)
        y = np.concatenate([file["y_train"], file["y_test"]])
        n = len(file["y_train"])
    return _thinned(X, y, np.arange(len(y)) >= n, 20 if quick else 1)


def _a9a(quick):
    X = [sparse.load_npz(data_path(f"a9a/X_{part}.npz")) for part in ("train", "test")]
    y = [np.load(data_path(f"a9a/y_{part}.npy")) for part in ("train", "test")]
    test = np.arange(len(y[0]) + len(y[1])) >= len(y[0])
    X = sparse.csr_matrix(sparse.vstack(X), dtype=np.float64)
    return _thinned(X, np.concatenate(y), test, 40 if quick else 1)


def _covtype(quick):
    with np.load(data_path("covtype/covtype.npz")) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    keep = np.random.default_rng(0).permutation(len(y))[: 2000 if quick else 40_000]
    test = np.arange(len(keep)) >= len(keep) // 2
    return X[keep], y[keep], test


def _newsgroups(quick):
    texts, labels, counts = [], [], []
    for part in ("train", "test"):
        with gzip.open(data_path(f"20news/{part}.jsonl.gz"), "rt") as file:
            found = [json.loads(line) for line in file][:: 20 if quick else 1]
        texts += [row["text"] for row in found]
        labels += [row["label"] for row in found]
        counts.append(len(found))
    test = np.arange(len(labels)) >= counts[0]
    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(texts[: counts[0]])
    return vectorizer.transform(texts), np.array(labels), test


def _computers(quick):
    X, y, test = _newsgroups(quick)
    return X, np.char.startswith(y, "comp.") | np.char.startswith(y, "sci."), test


def _generator(quick):
    X, y = generator(quick, n=40_000, d=20_000)
    return X, y, None


def _anomalies(name, target=None):
    """A table with its labels, or with a column as the target."""

    def make(quick):
        with np.load(data_path(f"novelty/{name}.npz")) as file:
            X, y = file["X"].astype(np.float64), file["y"]
        return (X, y, None) if target is None else (np.delete(X, target, 1), X[:, target], None)

    return make


def _elevation(quick):
    X, _, test = _covtype(quick)
    return X[:, 1:], X[:, 0], test


def _made(maker, **options):
    def make(quick):
        X, y = getattr(datasets, maker)(random_state=0, **options)
        return X, y, None

    return make


def _tokens(quick):
    """Logarithms of the lengths of texts from the shares of their words."""
    X, _, test = _newsgroups(quick)
    return X, np.log(np.diff(X.indptr) + 1.0), test


CLASSES = {
    "iris": _bundled("load_iris"),
    "wine": _bundled("load_wine"),
    "wine, scaled": _bundled("load_wine", scaled=True),
    "breast cancer": _bundled("load_breast_cancer"),
    "breast cancer, scaled": _bundled("load_breast_cancer", scaled=True),
    "digits": _bundled("load_digits"),
    "USPS": _usps,
    "a9a": _a9a,
    "covtype": _covtype,
    "20 newsgroups": _newsgroups,
    "20 newsgroups, comp and sci": _computers,
    "generator": _generator,
    "Pima": _anomalies("29_Pima"),
    "Ionosphere": _anomalies("18_Ionosphere"),
    "PageBlocks": _anomalies("27_PageBlocks"),
    "landsat": _anomalies("19_landsat"),
}
NUMBERS = {
    "diabetes": _bundled("load_diabetes"),
    "Pima, a from b": _anomalies("29_Pima", 1),
    "PageBlocks, a from b": _anomalies("27_PageBlocks", 0),
    "landsat, a from b": _anomalies("19_landsat", 4),
    "Waveform, a from b": _anomalies("41_Waveform", 10),
    "Wilt, a from b": _anomalies("44_Wilt", 0),
    "covtype, elevation": _elevation,
    "Friedman 1": _made("make_friedman1", n_samples=500, n_features=10, noise=1.0),
    "20 newsgroups, lengths": _tokens,
}


def _thinned(X, y, test, step):
    return X[::step], y[::step], test[::step]


def _row(name, numbers, X, y, test, quick):
    n = X.shape[0]
    if test is None:
        n_splits = 2 if quick else (SPLITS if n <= SMALL else 3)
        splits = list(ShuffleSplit(n_splits, test_size=1 / 3, random_state=0).split(np.zeros(n)))
    else:
        splits = [(np.flatnonzero(~test), np.flatnonzero(test))]
    found = [_compare(X[a], y[a], X[b], y[b], numbers) for a, b in splits]
    merged = {
        key: float(np.mean([part[key] for part in found])) for key in ("default", "best", "peer")
    }
    settings = [part["best_setting"] for part in found]
    return {
        "set": name, "metric": "R2" if numbers else "accuracy", "n": n, "d": X.shape[1], **merged,
        "best_setting": max(set(settings), key=settings.count), "chosen": found[0]["chosen"],
        "seconds": float(np.median([part["seconds"] for part in found])),
        "warnings": sum(part["warned"] for part in found),
    }  # fmt: skip


def _compare(X, y, X_test, y_test, numbers):
    """The default, the best of the grid and the peer on one split."""
    make = AsagaRegressor if numbers else AsagaClassifier
    default = make(random_state=0)
    few = np.linspace(0, X.shape[0] - 1, 200).astype(int)
    count_warnings(default.set_params(max_iter=1), X[few], y[few])  # compiles
    default.set_params(max_iter=100)
    warned, seconds = timed(lambda: count_warnings(default, X, y))

    part, rest = next(ShuffleSplit(1, test_size=0.25, random_state=1).split(np.zeros(len(y))))
    dense = not sparse.issparse(X)
    mixed = dense and X.shape[1] <= 100 and (numbers or np.unique(y).size == 2)
    ratios = (0.0, 0.5) if mixed else (0.0,)
    if numbers:
        spread = np.var(X, axis=0).mean() if dense else X.multiply(X).mean()
        grid = [{"alpha": a * spread, "l1_ratio": r} for a in ALPHAS for r in ratios]
    else:
        grid = [{"C": C, "l1_ratio": r} for C in CS for r in ratios]
    scores = []
    for setting in grid:
        model = make(random_state=0, **setting)
        count_warnings(model, X[part], y[part])
        scores.append(model.score(X[rest], y[rest]))
    best = grid[int(np.argmax(scores))]
    model = make(random_state=0, **best)
    count_warnings(model, X, y)
    peer = Ridge() if numbers else LogisticRegression()
    count_warnings(peer, X, y)
    chosen = type(default.solver_).__name__
    if numbers:
        chosen += f", alpha {default.alpha_:.3g}"
    return {
        "default": _points(default, X_test, y_test), "best": _points(model, X_test, y_test),
        "peer": _points(peer, X_test, y_test), "chosen": chosen, "seconds": seconds.values[0],
        "best_setting": ", ".join(f"{name} {value:.3g}" for name, value in best.items()),
        "warned": int(warned > 0),
    }  # fmt: skip


def _points(model, X, y):
    return 100.0 * max(float(model.score(X, y)), 0.0)


def count_warnings(model, X, y):
    """How often a fit warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return len(caught)
