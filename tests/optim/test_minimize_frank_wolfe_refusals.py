"""What `minimize_frank_wolfe` and its objectives refuse, and what their errors say."""

import numpy as np
import pytest

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

SIMPLEX = domains.Simplex(3)
QUADRATIC = objectives.Quadratic(np.eye(3), -np.ones(3))


def plain(x):
    return 0.5 * float(x @ x), x.copy()


class Answers(domains.Domain):
    """Starts well, then answers as it is told."""

    size = 3

    def __init__(self, answer):
        self.answer = answer

    def start(self):
        return np.array([1.0, 0.0, 0.0])

    def lmo(self, gradient):
        return self.answer(gradient)

    def contains(self, x, tol=1e-9):
        return bool(np.abs(x).sum() <= 1.0 + tol)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda g: np.full(3, np.nan), "what the lmo of domain returned must be finite"),
        (lambda g: None, "what the lmo of domain returned must hold real numbers only"),
        (lambda g: np.zeros(2), r"what the lmo of domain returned must have shape \(3,\), got"),
        (lambda g: -1e3 * g, "a point that its contains\\(\\) refuses"),
        (lambda g: np.array([0.0, 1.0, 0.0]), "worse than the current one"),
    ],
)
def test_answers_that_are_none(answer, message):
    def objective(x):
        return 0.0, np.array([1.0, 2.0, 3.0])

    with pytest.raises(ValueError, match=message):
        minimize_frank_wolfe(objective, Answers(answer), tol=0.0)


def test_starts_of_oracles_are_checked():
    class Lost(domains.Domain):
        size = 3

        def lmo(self, gradient):
            return np.full(3, np.nan)

    with pytest.raises(ValueError, match=r"what start\(\) of domain returned must be finite"):
        minimize_frank_wolfe(QUADRATIC, Lost())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((0.0, np.zeros(2)), r"gradient of objective.shape == \(2,\), expected \(3,\)"),
        ((np.nan, np.zeros(3)), "objective must return a finite number as value, got nan"),
        (("x", np.zeros(3)), "objective must return a finite number as value"),
    ],
)
def test_functions_that_are_none(answer, message):
    with pytest.raises(ValueError, match=message):
        minimize_frank_wolfe(lambda x: answer, SIMPLEX)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": [1.0, 1.0, 1.0]}, "the start is not in domain"),
        ({"start": [1.0, 0.0]}, r"the start must have shape \(3,\), got \(2,\)"),
        ({"start": (np.eye(3), [0.5, 0.5])}, r"weights of start.shape == \(2,\), expected \(3,\)"),
        ({"start": (np.eye(3), [1.0, -1.0, 1.0])}, "weights of start must not be negative"),
        ({"lmo_accuracy": 0.0}, "lmo_accuracy == 0.0, must be > 0"),
    ],
)
def test_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        minimize_frank_wolfe(QUADRATIC, SIMPLEX, **options)


@pytest.mark.parametrize(
    ("objective", "options", "message"),
    [
        (plain, {"step_size": "exact"}, "step_size='exact' needs a quadratic objective"),
        (plain, {"step_size": "short"}, "step_size='short' needs lipschitz"),
        (plain, {"step_size": "curvature"}, "needs lipschitz or curvature"),
        (plain, {"variant": "min_norm_point"}, "needs a convex quadratic object"),
        (QUADRATIC, {"variant": "min_norm_point", "convex": False}, "needs a convex quadratic"),
        (objectives.Quadratic(np.eye(4)), {}, "objective has 4 variables, but domain has size 3"),
        (3.0, {}, "objective must be callable"),
    ],
)
def test_objectives_and_what_they_do_not_know(objective, options, message):
    with pytest.raises(ValueError, match=message):
        minimize_frank_wolfe(objective, SIMPLEX, **options)


def test_functions_without_a_gradient():
    with pytest.raises(TypeError, match=r"objective must return a tuple \(value, gradient\)"):
        minimize_frank_wolfe(lambda x: 3.0, SIMPLEX)


def test_callbacks():
    with pytest.raises(TypeError, match="callback must be callable or None"):
        minimize_frank_wolfe(QUADRATIC, SIMPLEX, callback=3)
    with pytest.raises(TypeError, match="callback must return True, False or None"):
        minimize_frank_wolfe(QUADRATIC, SIMPLEX, callback=lambda state: 3, tol=0.0)


def test_curved_sets_are_warned_of():
    with pytest.warns(RuntimeWarning, match="domain is not a polytope: variant='pairwise'"):
        minimize_frank_wolfe(QUADRATIC, domains.L2Ball(3), variant="pairwise", tol=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: objectives.Quadratic([[1.0, 2.0], [0.0, 1.0]]), "Q must be symmetric"),
        (lambda: objectives.Quadratic(np.ones((2, 3))), "Q must be a square matrix"),
        (lambda: objectives.Quadratic(np.eye(2), [1.0]), r"b must have shape \(2,\), got \(1,\)"),
        (lambda: objectives.Composite("log_loss", np.eye(2), [0.0, 1.0]), "y must hold -1 and"),
        (lambda: objectives.LeastSquares(np.eye(2), [1.0]), r"b has shape \(1,\), but A has 2"),
        (lambda: objectives.LeastSquares(np.eye(1), [1], sample_weight=[-1]), "sample_weight"),
        (lambda: objectives.Composite("huber", np.eye(2)), "y must be given"),
        (lambda: objectives.Composite(plain, np.eye(2), [1, 2]), "y must be None"),
        (lambda: objectives.Composite("hinge", np.eye(2), [1, 1]), "is not smooth"),
    ],
)
def test_objects_that_are_none(make, message):
    with pytest.raises(ValueError, match=message):
        make()
