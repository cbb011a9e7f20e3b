"""Label reconstruction, mislabel detection and relative novelty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler

from sklearn_fw import KernelStudentTDensity
from sklearn_fw.density import KernelStudentTClassifier, RelativeNoveltyDetector


def one_hot(y, scale):
    return np.eye(y.max() + 1)[y] / scale


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_joint_score_is_the_density_of_input_and_label(scale, rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    new, labels = rng.normal(size=(9, 3)), np.arange(9) % 3
    weight = rng.uniform(0.2, 1, size=30)  # the density leaves out all of it, not one unit
    prototype = KernelStudentTDensity(length_scale=2.0, beta=0.4, jacobian=False)
    classifier = KernelStudentTClassifier(prototype, label_length_scale=scale)
    classifier.fit(X, y, sample_weight=weight)
    joint = KernelStudentTDensity(RBF(1.0), beta=0.4)
    joint.fit(np.column_stack([X / 2, one_hot(y, scale)]), sample_weight=weight)
    expected = joint.score_samples(np.column_stack([new / 2, one_hot(labels, scale)]))
    assert_allclose(classifier.score_joint(new, labels), expected, rtol=1e-9)
    of_labels = np.log(classifier.predict_proba(new)[np.arange(9), labels])
    assert_allclose(classifier.score_label(new, labels), of_labels, rtol=1e-9)
    left_out = classifier.leave_one_out_joint_log_scores()[np.arange(30), y]
    assert_allclose(left_out, joint.leave_one_out_scores(), rtol=1e-9)


@pytest.mark.parametrize("formula", ["exact", "published"])
@pytest.mark.parametrize("beta", [0.0, 0.4, np.inf])
def test_left_out_labels_are_those_of_refits(beta, formula, rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 3
    X[3], y[3] = X[4], y[4]
    weight = rng.uniform(0.5, 3, size=20)
    prototype = KernelStudentTDensity(length_scale=1.2, beta=beta, formula=formula)
    classifier = KernelStudentTClassifier(prototype, temperature=2.0)
    expected = np.empty((20, 3))
    for i in range(20):
        kept = weight.copy()
        kept[i] = max(weight[i] - 1.0, 0.0)
        expected[i] = classifier.fit(X, y, sample_weight=kept).joint_log_scores(X[i : i + 1])[0]
    classifier.fit(X, y, sample_weight=weight)
    assert_allclose(classifier.leave_one_out_joint_log_scores(), expected, rtol=1e-8, atol=1e-8)
    assert np.all(classifier.leave_one_out_predict() == expected.argmax(axis=1))
    conditional = expected / 2.0 - logsumexp(expected / 2.0, axis=1, keepdims=True)
    given = conditional[np.arange(20), y]
    assert_allclose(classifier.leave_one_out_scores(), given, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("load", "limit"), [(load_breast_cancer, 0.95), (load_wine, 0.95), (load_iris, 0.97)]
)
def test_flipped_labels_are_found(load, limit, scaled):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X) if scaled else X
    rng = np.random.RandomState(0)
    wrong = rng.uniform(size=len(y)) < 0.2
    n_classes = y.max() + 1
    given = np.where(wrong, (y + rng.randint(1, n_classes, size=len(y))) % n_classes, y)
    classifier = KernelStudentTClassifier().fit(X, given)
    assert roc_auc_score(wrong, -classifier.leave_one_out_scores()) > limit
    assert np.mean(classifier.leave_one_out_predict() == y) > 0.86


def test_probabilities(rng):
    X, y = rng.normal(size=(40, 2)), np.repeat(["a", "b"], 20)
    X[20:] += 2
    classifier = KernelStudentTClassifier(temperature=5.0).fit(X, y)
    probabilities = classifier.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_allclose(classifier.predict_log_proba(X), np.log(probabilities), rtol=1e-9)
    scores = classifier.joint_log_scores(X)
    assert_allclose(
        np.log(probabilities[:, 1] / probabilities[:, 0]), (scores[:, 1] - scores[:, 0]) / 5
    )
    assert np.all((classifier.decision_function(X) > 0) == (classifier.predict(X) == "b"))
    sharp = KernelStudentTClassifier(temperature=1.0).fit(X, y).predict_proba(X)
    assert np.all(sharp.max(axis=1) >= probabilities.max(axis=1) - 1e-12)


@pytest.mark.parametrize("copies", [1, 4])
def test_probabilities_of_the_default_temperature_are_calibrated(copies, rng):
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    classifier = KernelStudentTClassifier().fit(
        np.tile(X[:300], (copies, 1)), np.tile(y[:300], copies)
    )
    assert len(classifier.X_fit_) == 300
    assert len(classifier.leave_one_out_scores()) == 300 * copies
    scores = classifier.joint_log_scores(X[300:])
    losses = [log_loss(y[300:], softmax(scores / 2.0**k, axis=1)) for k in range(15)]
    assert log_loss(y[300:], classifier.predict_proba(X[300:])) < min(losses) + 0.02
    assert losses[0] > 1.0  # at a temperature of 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"density": KernelStudentTDensity(max_rank=5)}, "max_rank"),
        ({"density": KernelStudentTDensity(normalize="importance")}, "normalize"),
        ({"density": KernelStudentTDensity("precomputed")}, "precomputed"),
        ({"density": RBF()}, "KernelStudentTDensity"),
    ],
)
def test_bad_parameters_are_named(parameters, message, rng):
    with pytest.raises((ValueError, TypeError), match=message):
        KernelStudentTClassifier(**parameters).fit(rng.normal(size=(10, 2)), np.arange(10) % 2)


def test_unseen_labels_are_named(rng):
    X = rng.normal(size=(10, 2))
    classifier = KernelStudentTClassifier().fit(X, np.arange(10) % 2)
    with pytest.raises(ValueError, match="unseen"):
        classifier.score_joint(X, np.full(10, 7))
    with pytest.raises(ValueError, match="a label per row"):
        classifier.score_joint(X, [0, 1])


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
        ({"max_samples": 1.5}, "max_samples"),
        ({"density": KernelStudentTDensity(max_rank=3)}, "max_rank"),
    ],
)
def test_bad_parameters_of_the_detector_are_named(parameters, message, samples):
    with pytest.raises(ValueError, match=message):
        RelativeNoveltyDetector(**parameters).fit(*samples)


def test_two_samples_are_needed(samples):
    with pytest.raises(ValueError, match="one class"):
        RelativeNoveltyDetector().fit(samples[0], np.ones(780))
