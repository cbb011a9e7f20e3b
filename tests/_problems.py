"""Small training sets with every output listed, so that their optimum is known."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits

from _references import EnumeratedDual, all_labelings, smallest_mean_hinge, solve_structured_svm
from sklearn_fw.structured import ChainModel, MulticlassModel, MultilabelModel, StructuredSVM
from sklearn_fw.structured._problems._parts import PartProblem
from sklearn_fw.structured._solvers import resolve_solver

C = 1.0
ROUNDING = {"rtol": 1e-9, "atol": 1e-11}  # the same numbers, added up in another order

budget_may_end = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@dataclass(frozen=True)
class Problem:
    """A training set, its model, and the features and losses of all outputs of every sample."""

    model: object
    X: object
    y: object
    sample_weight: np.ndarray
    lam: float
    weight: np.ndarray  # p_i
    outputs: list  # of every sample, as states, in lexicographic order
    psi: list  # (m_i, d) phi(x_i, y_i) - phi(x_i, y)
    losses: list  # (m_i,)
    targets: np.ndarray  # place of the truth in the list of outputs

    @property
    def size(self):
        """Number of weights."""
        return self.psi[0].shape[1]

    def dual(self, **bounds):
        """A fresh reference of block-coordinate methods."""
        return EnumeratedDual(self.psi, self.losses, self.weight, self.lam, self.targets, **bounds)

    def objective(self, w, lam=None):
        """P(w) by enumeration."""
        hinge = [np.max(l - psi @ w) for psi, l in zip(self.psi, self.losses)]
        return 0.5 * (self.lam if lam is None else lam) * (w @ w) + self.weight @ hinge


def listed_problem(model, X, y, outputs, decode=lambda i, output: output, sample_weight=None):
    """All ``outputs`` of every sample; ``decode`` makes one an output of the model."""
    model = model.initialize(X, y) if hasattr(model, "initialize") else model
    psi, losses, targets = [], [], []
    for i, own in enumerate(outputs):
        decoded = [decode(i, output) for output in own]
        phi = np.array([model.joint_feature(X[i], output) for output in decoded])
        (truth,) = [k for k, output in enumerate(decoded) if np.array_equal(output, y[i])]
        psi.append(phi[truth] - phi)
        losses.append(np.array([model.loss(y[i], output) for output in decoded]))
        targets.append(truth)
    sample_weight = np.ones(len(outputs)) if sample_weight is None else sample_weight
    total = sample_weight.sum()
    return Problem(
        model, X, y, sample_weight, 1 / (C * total), sample_weight / total, outputs, psi, losses,
        np.array(targets),
    )  # fmt: skip


def enumerate_problem(model, X, y, n_nodes, n_states, decode, sample_weight=None):
    """All labelings of nodes; ``decode`` turns an array of states into an output of the model."""
    outputs = [all_labelings(length, n_states) for length in n_nodes]
    return listed_problem(model, X, y, outputs, lambda i, states: decode(states), sample_weight)


def multiclass(**settings):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 3))
    y = np.array(["a", "b", "c"])[rng.integers(3, size=12)]
    classes = np.array(["a", "b", "c"])
    model = MulticlassModel(**settings)
    return enumerate_problem(model, X, y, [1] * 12, 3, lambda states: classes[states[0]])


def multilabel(edges, task_loss="hamming"):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(10, 2))
    y = (rng.random((10, 3)) < 0.5).astype(int)
    model = MultilabelModel(edges, task_loss=task_loss)
    return enumerate_problem(model, X, y, [3] * 10, 2, np.asarray)


def chain(form=np.asarray, weighted=False, **settings):
    rng = np.random.default_rng(3)
    lengths = [1, 3, 2, 4, 3, 2, 4, 3]
    X = [rng.normal(size=(n, 2)) for n in lengths]
    for x in X:
        x[rng.random(len(x)) < 0.3, 1] = 0.0
    y = [(x @ rng.normal(size=(2, 3)) + x @ [[2, 0, -1], [0, 2, -1]]).argmax(axis=1) for x in X]
    y[1][:] = [0, 1, 2]
    X = [form(x) for x in X]
    weight = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    settings = {"task_loss": "hamming"} | settings
    return enumerate_problem(
        ChainModel(**settings), X, y, lengths, 3, np.asarray, weight
    )  # fmt: skip


PROBLEMS = {
    "multiclass": multiclass,
    "multiclass, costs": lambda: multiclass(
        task_loss=[[0, 1, 3], [0.5, 0, 1], [2, 1, 0]], class_weight={"b": 2}, fit_intercept=False
    ),
    "labels, tree": lambda: multilabel("tree"),
    "labels, all pairs": lambda: multilabel("full", "hamming_sum"),
    "labels, no pairs": lambda: multilabel("none"),
    "chain": lambda: chain(weighted=True),
    "chain, CSR": lambda: chain(sp.csr_array, start_end=False, class_weight="balanced"),
    "chain, zero-one": lambda: chain(task_loss="zero_one"),
}


@cache
def problem(name):
    """A problem of `PROBLEMS`, made once."""
    return PROBLEMS[name]()


@cache
def optimum(name, lower=None, upper=None, C=C):
    """Optimal weights and value of a problem, with weights in [lower, upper]."""
    p = problem(name)
    lam = 1 / (C * p.sample_weight.sum())
    return solve_structured_svm(p.psi, p.losses, p.weight, lam, lower, upper)


@cache
def smallest(name, radius):
    """Smallest mean hinge of a problem over an l1 ball."""
    p = problem(name)
    return smallest_mean_hinge(p.psi, p.losses, p.weight, radius)


def digits(n_samples=100):
    X, y = load_digits(return_X_y=True)
    return X[:n_samples] / 16, y[:n_samples]


def check_certificate(svm, p, value, lam=None, rounding=1e-10):
    """What holds for a fit that converged, given the optimal value."""
    assert svm.converged_
    np.testing.assert_allclose(p.objective(svm.coef_, lam), svm.objective_, rtol=1e-12)
    np.testing.assert_allclose(svm.objective_ - svm.dual_objective_, svm.dual_gap_, atol=1e-14)
    assert svm.dual_objective_ - rounding <= value <= svm.objective_ + rounding


def box_for(p, rng):
    """Bounds on most coordinates."""
    lower, upper = -rng.uniform(0.05, 0.3, p.size), rng.uniform(0.05, 0.3, p.size)
    free = rng.random(p.size) < 0.3
    lower[free], upper[free] = -np.inf, np.inf
    return lower, upper


class OwnChains(ChainModel):
    """A black box: a model with a method of its own."""

    def inference(self, x, w):
        return super().inference(x, w)


def fit(p, solver="bcfw", *, relative=False, value=None, **params):
    """A structured SVM fitted to a problem, tightly unless asked otherwise.

    ``tol`` is an absolute gap here unless it is ``relative``, or larger than the tenth of the
    optimum which convergence asks for in any case. The optimum of other problems than `PROBLEMS`,
    in balls and with C="auto" is ``value``; without it ``tol`` is relative.
    """
    in_ball = getattr(resolve_solver(solver), "radius", None) is not None
    params = ({} if in_ball else {"C": C}) | params  # which a ball does without
    params = {"random_state": 0, "tol": 1e-6, "max_iter": 2000} | params
    names = [name for name in PROBLEMS if problem(name) is p]
    if value is None and names and not in_ball and params["C"] != "auto":
        box = getattr(solver, "lower_bounds", None), getattr(solver, "upper_bounds", None)
        value = optimum(names[0], *box, params["C"])[1]
    if value is not None and not relative:
        # The objective reached is a little above its minimum.
        params["tol"] = min(params["tol"] / (1.05 * value), 0.1)
    params = {"model": clone(p.model), "solver": solver} | params
    return StructuredSVM(**params).fit(p.X, p.y, p.sample_weight)


def part_blocks(p, oracle=None):
    """The compiled blocks of a problem, before `reset`."""
    parts = p.model._build_parts(p.X, p.y, p.weight)
    return PartProblem(parts, oracle or p.model.default_oracle())


class IgnoreEdges(BaseEstimator):
    """Best states of the nodes alone, and a bound that is far away."""

    exact = False

    def __init__(self, knows_bounds=True):
        self.knows_bounds = knows_bounds

    def argmax(self, scores, start=None):
        labels = scores.unary.argmax(axis=1)
        bound = scores.unary.max(axis=1).sum() + scores.pairwise.max(axis=(1, 2)).sum()
        return labels, scores.value(labels), bound if self.knows_bounds else np.inf
