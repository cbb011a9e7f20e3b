"""Novelty of a target sample relative to a background sample."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_fw import KernelStudentTDensity
from sklearn_fw.density import RelativeNoveltyDetector


@pytest.fixture
def samples(rng):
    """Both samples hold an odd cluster at (-5, 5); only the target holds one at (5, 5)."""
    odd = rng.normal([-5, 5], 0.3, size=(40, 2))
    background = np.concatenate([rng.normal(size=(360, 2)), odd[:20]])
    target = np.concatenate([rng.normal(size=(360, 2)), odd[20:], rng.normal(5, 0.3, (20, 2))])
    return np.concatenate([background, target]), np.repeat([0, 1], [380, 400])


def test_only_what_the_background_lacks_is_novel(samples):
    X, y = samples
    detector = RelativeNoveltyDetector(random_state=0).fit(X, y)
    labels = detector.predict(X[y == 1])
    assert (labels[-20:] == -1).all()  # new in the target
    assert (labels[360:380] == -1).mean() < 0.2  # odd, but known
    assert (labels[:360] == -1).mean() < 0.1
    plain = KernelStudentTDensity(contamination=0.06).fit(X[y == 1])
    assert plain.score_samples([[-5, 5]]) < plain.score_samples([[0, 0]])


def test_score_is_the_ratio_of_two_like_densities(samples):
    X, y = samples
    detector = RelativeNoveltyDetector(KernelStudentTDensity(sigma0=0.2), max_samples=1.0)
    detector.fit(X, y)
    assert detector.background_.length_scale_ == detector.target_.length_scale_
    assert detector.background_.exponent_ == detector.target_.exponent_
    expected = detector.background_.score_samples(X) - detector.target_.score_samples(X)
    assert_allclose(detector.score_samples(X), expected)
    assert_allclose(detector.decision_function(X), expected - detector.offset_)


def test_share_of_the_target_is_flagged(samples):
    X, y = samples
    detector = RelativeNoveltyDetector(max_samples=50, contamination=0.1, random_state=0)
    share = (detector.fit(X, y).predict(X[y == 1]) == -1).mean()
    assert 0.05 < share < 0.15  # the rows of the density itself are scored without themselves
    assert len(detector.target_.X_fit_) == len(detector.background_.X_fit_) == 50


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"contamination": 0.9}, "contamination"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": 1.5}, "max_samples"),
        ({"density": KernelStudentTDensity(max_rank=3)}, "max_rank"),
    ],
)
def test_bad_parameters_are_named(parameters, message, samples):
    with pytest.raises(ValueError, match=message):
        RelativeNoveltyDetector(**parameters).fit(*samples)


def test_two_samples_are_needed(samples):
    with pytest.raises(ValueError, match="one class"):
        RelativeNoveltyDetector().fit(samples[0], np.ones(780))
