"""Default fits of `StructuredSVM` beside the best of a grid, for `defaults.py`."""

import itertools

import numpy as np
import scipy.sparse as sp
from _alignment_features import Corpus, one_partner, pair_features
from _report import data_path, quietly, timed
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import (
    load_conll,
    load_conll2000,
    load_ocr_letters,
    load_word_alignment,
    make_digit_words,
)
from sklearn_fw.metrics import alignment_error_rate, node_accuracy, phrase_f1_score
from sklearn_fw.preprocessing import TokenFeatures
from sklearn_fw.structured import BlockFrankWolfe
from sklearn_fw.structured._choice_of_c import natural_C

TITLE = "Structured support vector machines"
ABOUT = """
``StructuredSVM(name of the model)`` with defaults, compared with the best setting of a grid. The
grid varies the loss (number or fraction of wrong labels; the default loss for classes and
matchings), C and averaging (average of the iterates or the last one). C takes powers of four in
the natural units of ``C="auto"``: squared norm of the features over the largest loss. The solver is
``BlockFrankWolfe`` with at most 200 passes, or 20 on sets of more than 50,000 nodes. The setting is
chosen on a fifth of the training data.

Metrics: phrase F1 of chunks (CoNLL-2000) and of entities (wnut17); accuracy of tags, letters,
digits and classes; fraction of correct labels for label sets; 100 - AER for word alignments
(Hansards). ``ewt`` and ``wnut17`` use the attributes of ``TokenFeatures()``, CoNLL-2000 those of
``TokenFeatures("chunking")``. Features are unscaled unless the name contains "standardized".
"""
FACTORS = tuple(4.0**k for k in range(-2, 6))
FACTORS_LARGE = (0.25, 1.0, 4.0, 16.0)
LARGE = 50_000  # nodes


def rows(quick):
    """Rows of the table, one per data set; two at a time, each in a process of its own."""
    names = [name for name in SETS if not quick or name in QUICK]
    made = Parallel(n_jobs=2)(delayed(_row_of)(name, quick) for name in names)
    yield from (row for row in made if row is not None)


def _row_of(name, quick):
    model, metric, load = SETS[name]
    try:
        parts = load()
    except FileNotFoundError as error:
        print(f"{name} left out: {error}")
        return None
    row = _row(name, model, metric, *parts, quick=quick)
    print(f"{name}: {row['default']:.2f}, at best {row['best']:.2f}", flush=True)
    return row


def _row(name, model, metric, X, y, X_test, y_test, *, quick):
    score = METRICS[metric]
    stratify = y if model == "multiclass" else None
    parts = train_test_split(range(len(y)), test_size=0.2, random_state=0, stratify=stratify)
    settings, validation = best_setting(_grid(model, X, y, quick), score, X, y, parts)
    best = _fit(StructuredSVM(**settings), X, y)
    _fit(StructuredSVM(model, max_iter=1, random_state=0), X[:50], y[:50])  # compiles
    default, seconds = timed(lambda: _fit(StructuredSVM(model, random_state=0), X, y))
    return {
        "set": name, "metric": metric,
        **judged(default, best, score, X_test, y_test, seconds, validation),
        "best_setting": _words(settings),
        "chosen": ", ".join([*_loss_of(default), f"C={default.C_:.2g}"]),
    }  # fmt: skip


def judged(default, best, score, X_test, y_test, seconds, validation):
    """What a row says of the default and of the best setting."""
    return {
        "default": score(y_test, default.predict(X_test)),
        "best": score(y_test, best.predict(X_test)), "seconds": seconds.values[0],
        "validation": validation, "passes": default.n_iter_,
        "gap": f"{100 * default.dual_gap_ / default.objective_:.1f} %",
    }  # fmt: skip


def best_setting(grid, score, X, y, parts):
    """The parameters that win on validation data, with C for all training data, and their score."""
    (X_train, X_rest), (y_train, y_rest) = (
        [_safe_indexing(items, places) for places in parts] for items in (X, y)
    )
    best, best_score = None, -1.0
    for settings in grid:
        svm = _fit(StructuredSVM(**settings), X_train, y_train)
        value = score(y_rest, svm.predict(X_rest))
        if value > best_score:
            best, best_score = settings, value
    return best, best_score


def _grid(model, X, y, quick):
    is_large = model == "chain" and sum(map(len, y)) > LARGE
    losses = ("hamming_sum", "hamming") if model in ("chain", "multilabel") else ("auto",)
    factors = FACTORS_LARGE if is_large or quick else FACTORS
    for loss in losses:
        natural = natural_C(StructuredSVM(model, C=1.0, task_loss=loss)._make_blocks(X, y, None)[0])
        for factor, averaging in itertools.product(factors, (True, False)):
            yield {
                "model": model, "task_loss": loss, "C": factor * natural, "tol": 0.01,
                "solver": BlockFrankWolfe(averaging=averaging), "random_state": 0,
                "max_iter": 20 if is_large or quick else 200,
            }  # fmt: skip


def _loss_of(svm):
    """Name of the loss where there is more than one."""
    loss = getattr(svm, "task_loss_", None)
    return [loss] if loss in ("hamming", "hamming_sum") else []


def _words(settings):
    loss = "" if settings["task_loss"] == "auto" else settings["task_loss"] + ", "
    average = "average" if settings["solver"].averaging else "last"
    return f"{loss}C={settings['C']:.2g}, {average}"


def _fit(svm, X, y):
    return quietly(svm.fit, X, y)


def _equal(y_true, y_pred):
    return 100.0 * float((y_true == y_pred).mean())


def _aer(y_true, y_pred):
    made = [list(zip(*np.nonzero(matching))) for matching in y_pred]
    return 100.0 * (1.0 - alignment_error_rate([_pairs(y) for y in y_true], None, made))


def _pairs(links):
    return links if isinstance(links, list) else list(zip(*np.nonzero(links)))


METRICS = {
    "F1": lambda y_true, y_pred: 100.0 * phrase_f1_score(y_true, y_pred),
    "accuracy of nodes": lambda y_true, y_pred: 100.0 * node_accuracy(y_true, y_pred),
    "accuracy": _equal,
    "correct labels": _equal,
    "100 - AER": _aer,
}


def _conll2000():
    X, y, X_test, y_test = load_conll2000(return_X_y=True)
    features = TokenFeatures("chunking", fields=("w", "pos"), bias=False)
    return features.fit_transform(X), y, features.transform(X_test), y_test


def _tokens(folder, ending):
    def load():
        columns = {"columns": (0, 1), "separator": "\t"}
        train, test = (
            list(load_conll(data_path(f"{folder}/{part}.{ending}.gz"), **columns))
            for part in ("train", "test")
        )
        features = TokenFeatures()
        words = [[s[:, 0].tolist() for s in part] for part in (train, test)]
        tags = [[s[:, 1].astype(str) for s in part] for part in (train, test)]
        return features.fit_transform(words[0]), tags[0], features.transform(words[1]), tags[1]

    return load


def _label_sets(name):
    def load():
        with np.load(data_path(f"multilabel/{name}.npz")) as file:
            return tuple(file[k] for k in ("X_train", "Y_train", "X_test", "Y_test"))

    return load


def _scene():
    names = ("train_X", "train_Y", "test_X", "test_Y")
    return tuple(sp.load_npz(data_path(f"scene/scene_{name}.npz")).toarray() for name in names)


def _usps():
    with np.load(data_path("usps/usps.npz")) as file:
        return tuple(file[k] for k in ("X_train", "y_train", "X_test", "y_test"))


def _bundled(name, standardized=False):
    def load():
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
        if standardized:
            scaler = StandardScaler().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
        return X, y, X_test, y_test

    return load


def _hansards():
    data = load_word_alignment()
    source, target = (
        [[word.lower() for word in words] for words in data[f"{side}_train"] + data[f"{side}_test"]]
        for side in ("source", "target")
    )
    X, _ = pair_features(source, target)
    corpus, n = Corpus(source, target), len(data.sure_train)
    y = [one_partner(links, corpus, i) for i, links in enumerate(data.sure_train)]
    return X[:n], y, X[n:], data.sure_test


SETS = {
    "CoNLL-2000": ("chain", "F1", _conll2000),
    "ewt tags": ("chain", "accuracy of nodes", _tokens("ewt", "tsv")),
    "wnut17": ("chain", "F1", _tokens("wnut17", "conll")),
    "OCR letters": (
        "chain",
        "accuracy of nodes",
        lambda: load_ocr_letters(split="half", return_X_y=True),
    ),
    "digit words": ("chain", "accuracy of nodes", lambda: make_digit_words(return_X_y=True)),
    "emotions": ("multilabel", "correct labels", _label_sets("emotions")),
    "yeast": ("multilabel", "correct labels", _label_sets("yeast")),
    "scene": ("multilabel", "correct labels", _scene),
    "digits": ("multiclass", "accuracy", _bundled("digits")),
    "digits, standardized": ("multiclass", "accuracy", _bundled("digits", True)),
    "USPS": ("multiclass", "accuracy", _usps),
    "wine, standardized": ("multiclass", "accuracy", _bundled("wine", True)),
    "breast cancer": ("multiclass", "accuracy", _bundled("breast_cancer")),
    "Hansards": ("matching", "100 - AER", _hansards),
}
QUICK = ("digit words", "wine, standardized")
