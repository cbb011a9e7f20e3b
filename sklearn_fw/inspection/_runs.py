"""Runs of descent on rows of the user, and the derivatives of later losses through them."""

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

from .._core.torch import is_torch_module
from .._core.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_magnitude,
    check_not_negative,
    check_random_state,
    check_table,
    is_auto,
    is_named,
)  # fmt: skip
from ._affine import affine_pull
from ._answers import best_of, check_labels, check_names, dressed, with_names
from ._networks import ACTIVATIONS, Network
from ._torch import TorchProblem
from ._unroll import DenseProblem, Descent, unroll


class Rows:
    """Training rows, the affine steps of a Pipeline that they go through, and the model behind.

    The steps are fitted to the rows, or taken as they are of an estimator that is fitted.
    """

    def __init__(self, estimator, X, y, *, fitted):
        estimator = best_of(estimator)
        if fitted:
            wanted = getattr(estimator, "feature_names_in_", None)
            check_names(X, wanted, "X", "the rows that estimator was fitted to")
        else:
            estimator = with_names(estimator, X)
        X = check_table(X, dtype=np.float64, allow_nd=is_torch_module(estimator))
        check_magnitude(X, "X")
        self.classes, self.y = check_labels(y, len(X))
        self.pulls, self.model = [], estimator
        if isinstance(estimator, Pipeline):
            self.model = estimator.steps[-1][1]
            for name, step in estimator.steps[:-1]:
                if step is not None and step != "passthrough":
                    X = self._go_through(name, step if fitted else clone(step).fit(X, y), X)
        self.X = np.asarray(X, dtype=np.float64)

    def _go_through(self, name, step, X):
        """Rows behind a fitted step; they may be a frame."""
        rows = np.asarray(X, dtype=np.float64)
        pull = affine_pull(step, rows, rows + rows.std(axis=0))
        if pull is None:
            raise ValueError(
                f"estimator: the step {name!r} is not affine in X, so that there are no "
                "derivatives through it"
            )
        self.pulls.append(pull)
        return step.transform(dressed(step, rows))

    def back(self, derivative):
        """Derivatives by the rows behind the steps as such by those of the user."""
        for pull in reversed(self.pulls):
            flat = derivative.reshape(-1, derivative.shape[-1])
            back = np.asarray(pull(flat))
            derivative = back.reshape(*derivative.shape[:-1], back.shape[-1])
        return derivative


class Run(Rows):
    """A run of descent and the derivatives through it."""

    def __init__(self, estimator, X, y, n_steps, eval_every, given, random_state):
        n_steps = check_integer(n_steps, "n_steps", 1)
        eval_every = check_integer(eval_every, "eval_every", 1)
        if eval_every > n_steps:
            raise ValueError(f"eval_every={eval_every} is larger than n_steps={n_steps}")
        rng = check_random_state(random_state)
        super().__init__(estimator, X, y, fitted=False)
        n = len(self.X)
        self.problem, defaults = _problem_of(self.model, self.X, self.y, self.classes)
        rate, momentum, nesterov, size = _settings(given, defaults, n)
        self.times = np.arange(eval_every, n_steps + 1, eval_every)
        self.descent = Descent(rate, momentum, nesterov, _batches(n, size, n_steps, rng))
        with np.errstate(over="ignore", invalid="ignore"):
            self.path = self.descent.run(self.problem, self.problem.initial(rng))
        if not np.all(np.isfinite(self.path[-1])):
            raise ValueError(f"learning_rate={rate:g} is too large: the run diverges")

    def losses(self):
        """Mean training losses at the times."""
        return np.array([self.problem.loss(self.path[t]).mean() for t in self.times])

    def direct_terms(self, groups):
        """Derivatives of the terms of the rows in the losses at each time, `(n_groups, n, ...)`."""
        everything = np.arange(len(self.y))
        for t in self.times:
            found = [self.problem.gradient(self.path[t], everything, w)[1] for w in groups]
            yield self.back(np.array(found))

    def derivatives(self, groups, direct):
        """Derivatives by the inputs at each time, `(n_groups, n, ...)`."""
        with np.errstate(over="ignore", invalid="ignore"):
            for _, derivative in unroll(
                self.problem, self.descent, self.path, self.times, groups, direct=direct
            ):
                yield self.back(derivative)


def _problem_of(estimator, X, y, classes):
    """What is trained, and the settings ``(rate, momentum, nesterov, batch size)`` for None."""
    n, d = X.shape[0], X[0].size
    if is_torch_module(estimator):
        return TorchProblem(estimator, X, classes[y]), (None, 0.0, False, min(200, n))
    if isinstance(estimator, MLPClassifier):
        if not is_named(estimator.solver, "sgd"):
            raise ValueError(
                f"estimator has solver={estimator.solver!r}: steps of plain descent are needed, "
                "MLPClassifier(solver='sgd')"
            )
        check_choice(estimator.activation, "activation", ACTIVATIONS)
        hidden = np.atleast_1d(estimator.hidden_layer_sizes).tolist()
        hidden = [check_integer(size, "hidden_layer_sizes", 1) for size in hidden]
        network = Network([d, *hidden, len(classes)], estimator.activation)
        alpha = check_not_negative(estimator.alpha, "alpha")
        size = estimator.batch_size
        size = min(200, n) if is_auto(size) else check_integer(size, "batch_size", 1)
        settings = (
            estimator.learning_rate_init, estimator.momentum,
            check_flag(estimator.nesterovs_momentum, "nesterovs_momentum"), size,
        )  # fmt: skip
        return DenseProblem(network, X, y, alpha), settings
    if isinstance(estimator, LogisticRegression):
        network = Network([d, len(classes)], "identity")
        size = float((X**2).sum(axis=1).mean()) + 1.0
        return DenseProblem(network, X, y), (2.0 / size, 0.0, False, min(200, n))
    raise not_a_network(estimator)


def not_a_network(estimator):
    """The error for what is none of the models with a known training objective."""
    return TypeError(
        f"estimator must be an MLPClassifier, a LogisticRegression, a Pipeline that ends in one, "
        f"or a torch.nn.Module, got {estimator!r:.60}"
    )


def _settings(given, defaults, n):
    rate, momentum, size = given
    nesterov = defaults[2] and momentum is None
    rate = defaults[0] if rate is None else rate
    if rate is None:
        raise ValueError("learning_rate is needed for a torch.nn.Module, such as 0.01")
    rate = check_not_negative(rate, "learning_rate")
    momentum = check_not_negative(defaults[1] if momentum is None else momentum, "momentum")
    if momentum >= 1.0:
        raise ValueError(f"momentum must be below 1, got {momentum:g}")
    size = defaults[3] if size is None else check_integer(size, "batch_size", 1)
    return rate, momentum, nesterov, min(size, n)


def _batches(n, size, n_steps, rng):
    """Rows of each step: all rows in a new order in every epoch."""
    found = []
    while len(found) < n_steps:
        order = rng.permutation(n)
        found += [order[a : a + size] for a in range(0, n, size)]
    return found[:n_steps]
