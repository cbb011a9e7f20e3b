"""Graphs, grids and default fits of structured models."""

import itertools

import numpy as np
import scipy.sparse as sp
from _defaults_structured import _fit, best_setting, judged
from _report import those_there, timed
from scipy.ndimage import gaussian_filter
from sklearn.base import clone

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import load_ocr_letters
from sklearn_fw.metrics import node_accuracy
from sklearn_fw.structured import BlockFrankWolfe
from sklearn_fw.structured._choice_of_c import natural_C


def split(X, y, n_train):
    """The first samples to learn from, the others to judge by."""
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def smooth_grids(shape, n_labels, n_train, noise, n_features=None, n_test=20, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_labels, n_features or n_labels))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    X, y = [], []
    for _ in range(n_train + n_test):
        fields = [gaussian_filter(rng.normal(size=shape), 2.0) for _ in range(n_labels)]
        y.append(np.argmax(fields, axis=0))
        X.append(means[y[-1]] + noise * rng.normal(size=(*shape, means.shape[1])))
    return split(X, y, n_train)


def checkerboards(n_train=20, noise=1.5, n_test=20, seed=0):
    """Neighbors differ, but for a few cells; one weak feature."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_train + n_test):
        rows, columns = np.indices((16, 16))
        labels = (rows + columns + rng.integers(2)) % 2
        labels ^= rng.random(labels.shape) < 0.03
        y.append(np.array(["black", "white"])[labels])
        X.append(labels[..., None] + noise * rng.normal(size=(16, 16, 1)))
    return split(X, y, n_train)


def layers(n_train=20, n_test=20, seed=0):
    """Sky above ground above rock: what is above what matters, features hardly tell."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_train + n_test):
        height = np.cumsum(rng.integers(-1, 2, size=(2, 18)), axis=1) + rng.integers(4, 8, (2, 1))
        rows = np.arange(18)[:, None]
        labels = (rows > height[0]).astype(int) + (rows > height[0] + np.abs(height[1]) + 1)
        y.append(labels)
        X.append(0.6 * np.eye(3)[labels] + rng.normal(size=(18, 18, 3)))
    return split(X, y, n_train)


def gibbs_labels(rng, edges, n_nodes, n_labels, coupling):
    """A sample of labels that like (coupling > 0) or dislike those of their neighbors."""
    labels = rng.integers(n_labels, size=n_nodes)
    near = [[] for _ in range(n_nodes)]
    for (a, b), strength in zip(edges, np.broadcast_to(coupling, len(edges))):
        near[a].append((b, strength))
        near[b].append((a, strength))
    for _ in range(30):
        for t in rng.permutation(n_nodes):
            score = np.zeros(n_labels)
            for other, strength in near[t]:
                score[labels[other]] += strength
            probability = np.exp(score - score.max())
            labels[t] = rng.choice(n_labels, p=probability / probability.sum())
    return labels


def random_edges(rng, n_nodes, n_extra):
    tree = [(t, int(rng.integers(t))) for t in range(1, n_nodes)]
    extra = {tuple(sorted(rng.choice(n_nodes, 2, replace=False).tolist())) for _ in range(n_extra)}
    known = {tuple(sorted(pair)) for pair in tree}
    return np.array(tree + sorted(extra - known), dtype=np.int64).reshape(-1, 2)


def random_graphs(
    n_train, n_labels, coupling, noise, *, sizes=(8, 30), extra=0.5, signs=False, n_test=60, seed=0
):
    """Labels of Potts models on random graphs; with signs, edge features mark repulsive edges."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_labels, 6))
    X, y = [], []
    for _ in range(n_train + n_test):
        n_nodes = int(rng.integers(*sizes))
        edges = random_edges(rng, n_nodes, int(extra * n_nodes))
        sign = rng.choice([-1.0, 1.0], size=len(edges)) if signs else np.ones(len(edges))
        labels = gibbs_labels(rng, edges, n_nodes, n_labels, coupling * sign)
        features = means[labels] + noise * rng.normal(size=(n_nodes, 6))
        told = np.column_stack([sign, rng.normal(size=len(edges))])
        X.append((features, edges, told) if signs else (features, edges))
        y.append(labels)
    return split(X, y, n_train)


def citations(n_train=2, n_test=4, seed=0):
    """A few large sparse graphs, with words of documents that mostly cite their own kind."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(200, 0.1), size=4)
    X, y = [], []
    for _ in range(n_train + n_test):
        labels = rng.integers(4, size=800)
        pairs = rng.integers(800, size=(6000, 2))
        own = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        cited = pairs[rng.random(len(pairs)) < np.where(own, 0.8, 0.08)]
        edges = np.unique(np.sort(cited[cited[:, 0] != cited[:, 1]], axis=1), axis=0)
        counts = np.stack(
            [rng.multinomial(4, 0.5 * words[k] + 0.5 * words.mean(0)) for k in labels]
        )
        X.append((sp.csr_array(counts.astype(float)), edges))
        y.append(np.array(["ai", "db", "ir", "ml"])[labels])
    return split(X, y, n_train)


def letters(n_train=300, n_test=600):
    """OCR words as graphs of adjacent letters."""
    X, y, X_test, y_test = load_ocr_letters(split="half", return_X_y=True)

    def graph(x):
        return np.asarray(x), np.stack([np.arange(len(x) - 1), np.arange(1, len(x))], axis=1)

    return (
        [graph(x) for x in X[:n_train]], list(y[:n_train]),
        [graph(x) for x in X_test[:n_test]], list(y_test[:n_test]),
    )  # fmt: skip


TITLE = "Graphs and grids"
ABOUT = """
``StructuredSVM()``, which infers the model from the form of the data, compared with the best
setting of a grid. The grid varies C (powers of four in the natural units of ``C="auto"``),
averaging (average of the iterates or the last one), constant features, and the oracle ("auto",
"trws"). The solver is ``BlockFrankWolfe`` with at most 100 passes and 20 seconds. The setting is
chosen on a fifth of the training samples, or on the last one of fewer than ten.

The metric is the accuracy of nodes. All sets except the letters are generated.
"""
FACTORS = tuple(4.0**k for k in range(-2, 4))
SECONDS = 20.0
SETS = {
    "grids, 2 labels": lambda: smooth_grids((24, 24), 2, 20, 1.5),
    "grids, 5 labels": lambda: smooth_grids((20, 20), 5, 20, 1.0, 10),
    "five images": lambda: smooth_grids((40, 40), 3, 5, 1.2),
    "large images": lambda: smooth_grids((100, 100), 2, 6, 1.5, n_test=5),
    "volumes": lambda: smooth_grids((8, 8, 8), 3, 10, 1.2),
    "checkerboards": checkerboards,
    "layers": layers,
    "trees": lambda: random_graphs(150, 4, 2.0, 2.0, extra=0),
    "loopy graphs": lambda: random_graphs(80, 8, 2.0, 1.5),
    "signs of edges": lambda: random_graphs(80, 4, 2.0, 2.0, signs=True),
    "weak couplings": lambda: random_graphs(80, 3, 0.2, 1.5),
    "repulsion": lambda: random_graphs(80, 3, -3.0, 2.0),
    "ten small graphs": lambda: random_graphs(10, 3, 2.0, 1.5, sizes=(5, 9)),
    "many labels": lambda: random_graphs(60, 20, 3.0, 1.0, sizes=(10, 25), extra=0.3),
    "citations": citations,
    "letters": letters,
}
QUICK = ("trees", "ten small graphs")


def rows(quick):
    for name, data in those_there(QUICK if quick else SETS, lambda name: SETS[name]()):
        yield _row(name, *data)


def _row(name, X, y, X_test, y_test):
    def score(y_true, y_pred):
        flat = ([labels.ravel() for labels in y] for y in (y_true, y_pred))
        return 100.0 * node_accuracy(*flat)

    _fit(StructuredSVM(max_iter=1, C=1.0, random_state=0), X[:2], y[:2])  # compiles
    default, seconds = timed(lambda: _fit(StructuredSVM(random_state=0), X, y))
    n = max(1, len(y) // 5)
    parts = list(range(len(y) - n)), list(range(len(y) - n, len(y)))
    settings, validation = best_setting(_grid(default.model_, X, y), score, X, y, parts)
    best = _fit(StructuredSVM(**settings), X, y)
    return {
        "set": name, "metric": "accuracy of nodes",
        **judged(default, best, score, X_test, y_test, seconds, validation),
        "best_setting": _words(settings), "chosen": f"C={default.C_:.2g}",
    }  # fmt: skip


def _grid(model, X, y):
    """C and averaging; then, for each C, what else there is."""
    unit = natural_C(StructuredSVM(C=1.0)._make_blocks(X, y, None)[0])
    others = ({}, {"averaging": False}, {"fit_intercept": False}, {"oracle": "trws"})
    for factor, other in itertools.product(FACTORS, others):
        yield {
            "model": clone(model).set_params(fit_intercept=other.get("fit_intercept", True)),
            "oracle": other.get("oracle", "auto"), "C": factor * unit, "tol": 0.02,
            "solver": BlockFrankWolfe(averaging=other.get("averaging", True)), "max_iter": 100,
            "time_limit": SECONDS, "random_state": 0,
        }  # fmt: skip


def _words(settings):
    words = [f"C={settings['C']:.2g}", "average" if settings["solver"].averaging else "last"]
    words += [] if settings["model"].fit_intercept else ["no constants"]
    words += ["trws"] if settings["oracle"] == "trws" else []
    return ", ".join(words)
