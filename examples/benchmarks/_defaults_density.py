"""Default fits of `KernelStudentTDensity` and the best of a grid, for `defaults.py`."""

import itertools

import numpy as np
from _report import Clock, data_path, those_there
from novelty import SETS
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from sklearn_fw import KernelStudentTDensity

TITLE = "Kernel Student-t density"
ABOUT = """
Novelty sets: the training rows are half of the normal rows, at most 500. The other half, at most
500, and at most 500 novelties are divided at random into validation and test rows. The metric is
the area under the ROC curve, times 100. Inputs are standardized on the training rows, unless the
name contains "raw". Rows are means over four random splits, or twelve for fewer than 500 normal
rows.

The best setting is chosen on labeled novelties, which are not available in practice. It is the pair
of ``length_scale`` (nine multiples of the median distance, 1/16 to 4) and ``sigma0`` (0.03, 0.1,
0.3) with the largest area on the validation rows. Other columns are the distance to the nearest and
to the fifth nearest training row, and ``KernelDensity`` with the bandwidth by Scott's rule and by
five-fold cross-validation of the likelihood over ten bandwidths.
"""
MULTIPLES = (1 / 16, 1 / 8, 1 / 4, 0.35, 0.5, 0.7, 1.0, 2.0, 4.0)
SIGMAS = (0.03, 0.1, 0.3)
BANDWIDTHS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 2.0)
MAX_ROWS = 500
RAW = ("26_optdigits", "27_PageBlocks", "29_Pima", "38_thyroid", "6_cardio")


def rows(quick):
    KernelStudentTDensity().fit([[float(i % 7), i**0.5] for i in range(30)])  # libraries are loaded
    jobs = [(name, True) for name in SETS] + [(name, False) for name in RAW]
    for (name, scaled), data in those_there(jobs[1:4:2] if quick else jobs, _read):
        yield _row(name, scaled, *data, n_splits=2 if quick else None)


def _read(job):
    with np.load(data_path(f"novelty/{job[0]}.npz")) as file:
        return file["X"].astype(np.float64), file["y"].ravel() == 1


def _row(name, scaled, X, novel, n_splits):
    if n_splits is None:
        n_splits = 12 if (~novel).sum() < 500 else 4
    found = [_split(X, novel, scaled, seed) for seed in range(n_splits)]
    shown = {
        "set": name.partition("_")[2] + ("" if scaled else ", raw"),
        "metric": "AUC",
        "best_setting": _most([row.pop("best_setting") for row in found]),
        "chosen": _most([row.pop("chosen") for row in found]),
    }
    return shown | {key: float(np.mean([row[key] for row in found])) for key in found[0]}


def _most(texts):
    return max(sorted(set(texts)), key=texts.count)


def _split(X, novel, scaled, seed):
    """One split: settings and areas under the ROC curve on the test rows."""
    rng = np.random.RandomState(seed)
    normal, other = (rng.permutation(np.flatnonzero(novel == kind)) for kind in (False, True))
    half = len(normal) // 2
    train = X[normal[:half][:MAX_ROWS]]
    new = np.concatenate([normal[half:][:MAX_ROWS], other[:MAX_ROWS]])
    labels, new = novel[new], X[new]
    if scaled:
        scaler = StandardScaler().fit(train)
        train, new = scaler.transform(train), scaler.transform(new)
    # Every other row of each kind, as the order within a kind is random.
    test = np.zeros(len(labels), dtype=bool)
    for kind in (False, True):
        test[np.flatnonzero(labels == kind)[::2]] = True

    with Clock() as clock:
        density = KernelStudentTDensity().fit(train)
    median = KernelStudentTDensity(length_scale="median").fit(train)
    best, setting, best_scores = -1.0, "", None
    for multiple, sigma0 in itertools.product(MULTIPLES, SIGMAS):
        scale = multiple * median.length_scale_
        candidate = KernelStudentTDensity(length_scale=scale, sigma0=sigma0)
        scores = candidate.fit(train).score_samples(new)
        area = _area(labels[~test], scores[~test])
        if area > best:
            best, best_scores = area, scores
            setting = f"{multiple:.2g} medians, sigma0 {sigma0}"
    scale = density.length_scale_
    chosen = (
        "a scale per feature" if np.ndim(scale) else f"{scale / median.length_scale_:.1f} medians"
    )
    areas = {
        "default": density.score_samples(new),
        "best": best_scores,
        "median": median.score_samples(new),
    } | _peers(train, new)
    return {"best_setting": setting, "chosen": chosen, "seconds": clock.cpu} | {
        name: _area(labels[test], scores[test]) for name, scores in areas.items()
    }


def _peers(train, new):
    """Scores of simple detectors, large for normal rows."""
    distances = NearestNeighbors(n_neighbors=5).fit(train).kneighbors(new)[0]
    spread = train.std(axis=0).mean()
    searched = GridSearchCV(
        KernelDensity(), {"bandwidth": [width * spread for width in BANDWIDTHS]}, cv=5
    )
    return {
        "1-NN": -distances[:, 0],
        "5-NN": -distances[:, 4],
        "KDE Scott": KernelDensity(bandwidth="scott").fit(train).score_samples(new),
        "KDE cv": searched.fit(train).best_estimator_.score_samples(new),
    }


def _area(labels, scores):
    return 100.0 * roc_auc_score(labels, -scores)
