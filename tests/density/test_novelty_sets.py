"""Default settings on real novelty sets, against the detectors that they should not fall behind."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KernelDensity, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from sklearn_fw import KernelStudentTDensity


def half_of_the_normal_rows(path, seed=0):
    """Training rows, test rows and whether these are novel; standardised by the training rows."""
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"].ravel()
    normal = np.random.RandomState(seed).permutation(np.flatnonzero(y == 0))
    train, rest = np.split(normal, [len(normal) // 2])
    test = np.concatenate([rest, np.flatnonzero(y == 1)])
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), scaler.transform(X[test]), y[test]


SETS = (
    "12_fault", "14_glass", "18_Ionosphere", "19_landsat", "26_optdigits", "27_PageBlocks",
    "28_pendigits", "29_Pima", "2_annthyroid", "31_satimage-2", "37_Stamps", "38_thyroid",
    "40_vowels", "41_Waveform", "42_WBC", "44_Wilt", "46_WPBC", "4_breastw", "6_cardio",
)  # fmt: skip


@pytest.mark.slow
def test_default_settings_are_better_than_the_simple_detectors(data_file):
    areas = {"density": [], "KernelDensity": [], "1-NN": [], "5-NN": [], "OneClassSVM": []}
    for name in SETS:
        train, test, novel = half_of_the_normal_rows(data_file(f"novelty/{name}.npz"))
        train = train[:500]
        distances = NearestNeighbors(n_neighbors=5).fit(train).kneighbors(test)[0]
        scores = {
            "density": KernelStudentTDensity().fit(train).score_samples(test),
            "KernelDensity": KernelDensity(bandwidth="scott").fit(train).score_samples(test),
            "1-NN": -distances[:, 0],
            "5-NN": -distances[:, 4],
            "OneClassSVM": OneClassSVM().fit(train).score_samples(test),
        }
        for detector, values in scores.items():
            areas[detector].append(roc_auc_score(novel, -values))
    mean = {detector: np.mean(values) for detector, values in areas.items()}
    assert max(mean, key=mean.get) == "density"
    assert mean["density"] > 0.88
