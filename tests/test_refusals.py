"""Calls that were accepted in silence once, or refused without the remedy.

That every argument is refused by its name is what tests/fuzz finds; these are messages that say
more, and values that no table of corruptions has.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_extraction import DictVectorizer

from sklearn_fw import (
    AsagaClassifier,
    AsagaRegressor,
    datasets,
    losses,
    metrics,
    penalties,
    projections,
    random_fields,
    regularization_path,
)
from sklearn_fw.inference import MILP
from sklearn_fw.model_selection import cross_validate_path
from sklearn_fw.preprocessing import NodeTransformer
from sklearn_fw.random_fields import ExactMarginals, MRFLearner, PairwiseMRF

FIELD = PairwiseMRF([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], np.eye(2))
TABLE = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])


def learned(X=TABLE):
    return ExactMarginals(learner=MRFLearner()).fit(X)


def path(run=regularization_path, **options):
    X, y = load_iris(return_X_y=True)
    model = AsagaClassifier(l1_ratio=1.0, tol=1.0, random_state=0)
    return run(model, X, y, n_values=2, **options)


MESSAGES = {
    "a missing label is located": (
        lambda: metrics.node_accuracy([[1.0], [0.0, np.nan]], [[1], [0, 1]]),
        "token 1 of sample 1 of y_tr",
    ),
    "nodes for another transformer": (
        lambda: NodeTransformer(DictVectorizer()).fit([[{"a": 1}, None]]),
        "DictVectorizer cannot take the nodes of X",
    ),
    "complex numbers in a ragged table": (
        lambda: PairwiseMRF([[1 + 1j]], [(0, 1)], np.eye(2)), r"unary\[0\]",
    ),
    "shapes of blocks": (
        lambda: FIELD.flatten(np.zeros((2, 3)), np.zeros((1, 2, 2))), "node and edge must have",
    ),
    "more states than memory holds": (lambda: learned(TABLE * 2**40), "too many states"),
    "a new state": (lambda: learned().predict(TABLE + 7), r"(?s)X\[0, 0\] is 7.*n_states"),
    "scores that are none": (
        lambda: path().score_path(*load_iris(return_X_y=True), scoring=lambda *_: "1"),
        "scoring must give a number",
    ),
    "no split": (lambda: path(cross_validate_path, cv=[]), "cv must give at least"),
    "groups by number": (
        lambda: penalties.GroupLasso([[0], {1: 2}]).bind(5),
        r"groups\[1\] must be a list of feature numbers, got {1: 2}",
    ),
    "ragged groups": (
        lambda: penalties.Simplex(groups=[[0], [[1], [2, 3]]]).bind(5),
        r"groups\[1\] must be a list of feature numbers",
    ),
    "steps that differ within a group": (
        lambda: penalties.GroupLasso([[0, 1]]).bind(2).prox(np.ones(2), [1.0, 2.0]),
        "step_size must be the same for all features of a group",
    ),
    "one column per class": (
        lambda: losses.MultinomialLogLoss().value(np.zeros(()), np.zeros(())),
        "z must have one column per class",
    ),
    "huge matrices": (
        lambda: projections.project_matching(np.full((3, 3), 1e308)), "entry of absolute value 1e",
    ),
    "an empty path": (lambda: random_fields.load_uai(""), "^path must be "),
    "a path that no system has": (lambda: datasets.load_conll("a\0b"), "^source must be "),
    "a home of nobody": (
        lambda: random_fields.load_uai("~nobody-like-this/a"),
        "path='~nobody-like-this/a' names no folder",
    ),
    "half a pair of duals": (
        lambda: projections.project_matching([[1.0]], duals=([0.0], [np.nan])),
        "v of duals must be finite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES)
def test_messages(case):
    call, message = MESSAGES[case]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_a_fraction_is_a_number():
    assert MILP(time_limit=Fraction(7, 2)).argmax(FIELD.scores())[1] == FIELD.map().value


def test_large_matrices_are_projected():
    for entropic in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)
            z = projections.project_matching(np.diag([1e90, 1e-90, 0.0]), entropic=entropic)
            assert np.all(np.isfinite(z))


# ---- code of the user ----------------------------------------------------------------------------


def test_losses_that_compiled_code_does_not_know():
    class Own(losses.Huber):
        def value(self, y, z):
            return np.abs(z - y)

    for loss in (Own(), losses.Huber, losses.Loss, object()):
        with pytest.raises(ValueError, match="loss must be one of"):
            losses.resolve_loss(loss, "regression")
        with pytest.raises(ValueError, match="loss must be one of"):
            AsagaRegressor(loss).fit([[0.0], [1.0]], [0.0, 1.0])


def test_penalties_that_solvers_do_not_know():
    class Strange(penalties.Penalty):
        def _bind(self, n_features):
            return object()

    with pytest.raises(TypeError, match="Strange is not a penalty that solvers support"):
        AsagaRegressor(penalty=Strange(), alpha=0.1).fit(np.eye(3), [1.0, 2.0, 3.0])


class Own(penalties.GroupSeparable):
    """An l1 norm of the user, of which one method is replaced."""

    def __init__(self, name=None, answer=None, groups=None):
        super().__init__(groups)
        self.name = name
        self.answer = answer

    def answered(self, name, u, usual):
        if self.name != name:
            return usual
        return self.answer(u) if callable(self.answer) else self.answer

    def group_value(self, u, group):
        return self.answered("group_value", u, float(np.abs(u).sum()))

    def group_prox(self, u, step_size, group):
        usual = np.sign(u) * np.maximum(np.abs(u) - step_size, 0.0)
        return self.answered("group_prox", u, usual)

    def group_conjugate(self, v, group):
        return self.answered("group_conjugate", v, 0.0 if np.abs(v).max() <= 1.0 else np.inf)


@pytest.mark.parametrize(
    "name, answers",
    [
        ("group_value", (None, "x", np.nan, -np.inf, 1j, np.ones(2))),
        ("group_conjugate", (None, "x", np.nan, -np.inf, 1j, np.ones(2))),
        (
            "group_prox",
            (None, "x", 1.0, np.nan, np.ones((1, 1)), lambda u: u * 1j, lambda u: [*u, 0.0]),
        ),
    ],
)
def test_answers_of_own_penalties(name, answers):
    X, y = np.eye(4), np.array([0.0, 1.0, 2.0, 3.0])
    for answer in answers:
        for model in (AsagaRegressor(alpha=0.1), AsagaClassifier()):
            model.set_params(penalty=Own(name, answer))
            with pytest.raises(ValueError, match=f"{name} of Own returned"):
                model.fit(X, y if isinstance(model, AsagaRegressor) else y > 1)
