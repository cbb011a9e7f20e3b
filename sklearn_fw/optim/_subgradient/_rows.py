"""Averaged subgradient steps on the rows of a table."""

import numpy as np
import scipy.sparse as sp

from ..._core.loop import IterativeMethod
from ..._core.validation import LARGEST
from ..._kernels import lazy
from ._step_sizes import step_sizes

incremental = lazy("incremental.incremental")
rows_kernels = lazy("common.rows")
subgradient = lazy("incremental.subgradient")

SAMPLINGS = {"uniform", "shuffle", "cyclic"}


class RidgeProblem:
    """``alpha / 2 |w|^2 + sum_i s_i loss(y_i, <w, (x_i, bias)>) / n``, the s_i of mean one.

    Parameters
    ----------
    X : CSR matrix or C-contiguous ndarray of shape (n_samples, n_features)
        Rows, float32 or float64; CSR without duplicates.
    y : ndarray of shape (n_samples,)
        Truth as the loss takes it.
    loss : Loss
        Loss of a score.
    alpha : float
        Weight of the ridge, positive.
    weight : ndarray of shape (n_samples,) or None
        The s_i; None means ones.
    bias : float
        Value of the constant feature, zero for none.
    project : callable or None
        Projection of the coefficients, without that of the constant feature.
    radius : float
        Of a ball for all of w; infinite for none.
    """

    def __init__(self, X, y, loss, alpha, *, weight, bias, project=None, radius=np.inf):
        self.X, self.y, self.loss, self.alpha = X, y, loss, alpha
        self.weight, self.bias, self.project, self.radius = weight, bias, project, radius

    def mean_square(self):
        """Mean of ``s_i |(x_i, bias)|^2``."""
        X = self.X
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        squares = np.asarray(squares, np.float64).ravel() + self.bias**2
        return float(squares.mean() if self.weight is None else squares @ self.weight / self.y.size)

    def value(self, w):
        """The objective at ``w``, whose last entry belongs to the constant feature."""
        z = self.X @ w[:-1] + self.bias * w[-1]
        total = self.loss._total(self.y, np.asarray(z, np.float64), 0.0, self.weight)
        return float(0.5 * self.alpha * (w @ w) + total / self.y.size)

    def rows(self):
        """The rows and truths as kernels take them."""
        X = self.X
        if sp.issparse(X):
            rows = rows_kernels.Rows(X.data, X.indices, X.indptr, 0, None)
        else:
            columns = np.arange(X.shape[1], dtype=np.int32)
            rows = rows_kernels.Rows(X.reshape(-1), columns, columns[:1], X.shape[1], None)
        return rows, incremental.Target(self.loss._formula(), self.y, self.weight)


class SubgradientState:
    """Iterate ``a v`` and average ``b u + c v`` after t steps; what fits by parts go on with."""

    def __init__(self, size, average):
        self.t, self.average = 0, average
        average.rates(1)  # of the start, zero
        self.v, self.u = np.zeros(size), np.zeros(size)
        self.factors = np.array([1.0, 0.0, 1.0, 0.0])

    @property
    def last(self):
        """The iterate."""
        return self.factors[0] * self.v

    @property
    def mean(self):
        """The average."""
        _, b, c, _ = self.factors
        return c * self.v if b == 0.0 else b * self.u + c * self.v


class RowSteps(IterativeMethod):
    """Passes over the rows of one problem; no certificate."""

    def __init__(self, problem, state, *, step_size, sampling, rng, record):
        self.problem, self.state, self.step_size = problem, state, step_size
        self.sampling, self.rng, self.record = sampling, rng, record
        self.rows, self.target = problem.rows()

    def step(self):
        """One pass: as many steps as there are rows."""
        state, n = self.state, self.problem.y.size
        order = self._order(n)
        shares = step_sizes(self.step_size, self.problem.alpha, state.t + 1, n)
        rates = state.average.rates(n)
        state.t += n
        (self._plain if self.problem.project is not None else self._compiled)(order, shares, rates)
        size = np.abs(state.mean).max()
        if not size <= LARGEST:
            raise FloatingPointError(f"coefficients became {size:g}: scale X, or increase alpha")
        return self.certify() if self.record else None

    def certify(self):
        """The objective at both points."""
        row = {"objective": self.problem.value(self.state.mean), "dual_gap": None}
        return row | {"last_objective": self.problem.value(self.state.last)} if self.record else row

    def solution(self):
        """The average."""
        return self.state.mean

    def _order(self, n):
        if self.sampling == "cyclic":
            return np.arange(n)
        return (
            self.rng.permutation(n) if self.sampling == "shuffle" else self.rng.randint(n, size=n)
        )

    def _compiled(self, order, shares, rates):
        problem, state = self.problem, self.state
        subgradient.averaged_pass(
            self.rows, self.target, order, shares, rates, problem.alpha, problem.bias,
            problem.radius, state.factors, state.v, state.u,
        )  # fmt: skip

    def _plain(self, order, shares, rates):
        """The same steps in numpy, for projections of all coefficients."""
        problem, state = self.problem, self.state
        w, mean = state.last, state.mean
        weight = np.ones(problem.y.size) if problem.weight is None else problem.weight
        for i, share, rho in zip(order, shares, rates, strict=True):
            x = problem.X[[i]].toarray()[0] if sp.issparse(problem.X) else problem.X[i]
            z = np.array([x @ w[:-1] + problem.bias * w[-1]])
            slope = weight[i] * problem.loss.derivative(problem.y[i : i + 1], z)[0]
            w *= 1.0 - share
            w[:-1] -= share / problem.alpha * slope * x
            w[-1] -= share / problem.alpha * slope * problem.bias
            w[:-1] = problem.project(w[:-1])
            mean += rho * (w - mean)
        state.v, state.u, state.factors = w, mean, np.array([1.0, 1.0, 0.0, w @ w])
