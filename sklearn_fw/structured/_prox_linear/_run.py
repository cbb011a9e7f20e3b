"""The prox-linear method: convex models of the objective, solved one after the other."""

from typing import NamedTuple

import numpy as np

from ..._core.budget import budget_now
from ..._core.loop import IterativeMethod, drive
from .._solvers import begin

SHARE = 0.5  # of the decrease of the model, which its certified gap may be
TIGHTER = 0.25  # factor of the tolerance while the gap is larger
REALIZED = 0.1  # share of the decrease of the model that a step has to realize
SHORTER, LONGER = (0.05, 0.5), 4.0  # factors of eta after a step that did not, and one that did
ROUNDING = 1e-13  # gaps below this share of the objective are rounding errors
MOST_PASSES = 50  # over one model


class Model(NamedTuple):
    """The convex model at a point, as far as it was solved."""

    w: np.ndarray  # its approximate minimizer
    value: float  # of the model there
    lower: float  # bound on its minimum
    n_passes: int

    @property
    def gap(self):
        """What the value may lack of the minimum."""
        return max(self.value - self.lower, 0.0)


class ProxLinear(IterativeMethod):
    """One run, as `ProxLinearStructuredSVM` describes it."""

    def __init__(self, blocks, solver, w, *, lam, tol, eta, rng, first_eta=None):
        self.blocks, self.solver, self.rng = blocks, solver, rng
        self.lam, self.tol = float(lam), min(tol, 1.0)  # a gap is never more than all
        self.w, self.warm = w, None
        self.values, self.level = blocks.evaluate(w)
        self.objective = self._penalty(w) + self.level
        self.start = self.objective
        self.finds_eta = eta is None
        self.eta = eta or first_eta or self._natural_eta()
        self.inner_tol = SHARE * self.objective

    def _penalty(self, w):
        return 0.5 * self.lam * float(w @ w)

    def _natural_eta(self):
        """The size of weights squared in units of the objective; all of it without weights."""
        natural = float(self.w @ self.w) / max(self.objective, 1e-300) or np.inf
        return float(np.clip(natural, 1e-6 / self.lam, 1.0 / self.lam))

    # ---- one model -------------------------------------------------------------------------------

    def _solve(self):
        """The model at the current point, to a gap below its decrease."""
        blocks, shrink = self.blocks, 1.0 + self.lam * self.eta
        center, sigma = self.w / shrink, self.lam + 1.0 / self.eta
        constant = self._penalty(self.w) / shrink
        blocks.linearize(self.w, self.values, center, self.level)
        # The bound of the paper, F(w_0) / k, is loose; half of what can be gained is what counts.
        tol, n_passes, value, lower, w = self.inner_tol, 0, np.inf, -np.inf, None
        floor = max(0.5 * self.tol, ROUNDING) * abs(self.objective)
        while True:
            tol = max(tol, floor)
            # Distributions are kept, whatever eta was.
            warm = self.warm and self.warm | {"lam": sigma}
            method = begin(self.solver, blocks, lam=sigma, tol=tol, rng=self.rng, warm=warm)
            outcome = drive(method, tol=tol, max_iter=max(MOST_PASSES - n_passes, 1))
            n_passes += outcome.n_iter
            found = method.solution()
            self.warm = blocks.export_complete()
            if found.primal + constant < value:
                value, w = float(found.primal + constant), center + found.w
            lower = max(lower, float(found.dual + constant))
            gap, decrease = value - lower, self.objective - value
            is_done = gap <= SHARE * decrease or self.objective - lower <= self.tol * self.objective
            if is_done or tol <= floor or n_passes >= MOST_PASSES or budget_now().is_spent:
                break
            tol = TIGHTER * min(tol, gap)
        self.inner_tol = max(SHARE * (self.objective - value), TIGHTER * tol)
        return Model(w, value, lower, n_passes)

    def _row(self, model, certified, **numbers):
        gap = max(self.objective - model.lower, 0.0)
        return {
            "n_oracle_calls": self.blocks.calls, "objective": self.objective,
            "dual_objective": model.lower if certified else None,
            "dual_gap": gap if certified else None,
            "prox_gradient_norm": self._prox_gradient(model) if certified else None,
            "eta": self.eta, "n_passes": model.n_passes, "certified": certified, **numbers,
        }  # fmt: skip

    def _prox_gradient(self, model):
        """Bound on the norm of (w - argmin of the model) / eta, by the certified gap."""
        sigma = self.lam + 1.0 / self.eta
        around = np.linalg.norm(self.w - model.w) + np.sqrt(2.0 * model.gap / sigma)
        whole = np.sqrt(2.0 * max(self.objective - model.lower, 0.0) / sigma)
        return float(min(around, whole)) / self.eta

    # ---- the loop --------------------------------------------------------------------------------

    def step(self):
        """Solve the model at the current point, and go to its minimizer if that is better."""
        model = self._solve()
        decrease = self.objective - model.value
        if self.objective - model.lower <= self.tol * self.objective or decrease <= 0.0:
            return self._row(model, True, is_accepted=0.0)
        values, level = self.blocks.evaluate(model.w)
        objective = self._penalty(model.w) + level
        needed = REALIZED * decrease if self.finds_eta else 0.0
        is_accepted = self.objective - objective >= needed
        square = float((model.w - self.w) @ (model.w - self.w))
        if is_accepted:
            last = self._prox_gradient(model)
            self.w, self.values, self.level, self.objective = model.w, values, level, objective
            row = self._row(model, False, is_accepted=1.0, prox_gradient_norm=last)
        else:
            row = self._row(model, True, is_accepted=0.0)
        if self.finds_eta:
            self._adapt(objective - model.value, square)
        elif not is_accepted:
            self.eta *= SHORTER[1]  # the same model again would be as wrong
        return row

    def _adapt(self, excess, square):
        """A step size for which the error of the linearization stays below the proximal term."""
        error = excess + 0.5 * square / self.eta
        best = 0.5 * square / error if error > 0.0 else np.inf
        if best < self.eta:
            self.eta *= float(np.clip(best / self.eta, *SHORTER))
        else:
            self.eta *= min(LONGER, max(0.5 * best / self.eta, 1.0))
        self.eta = min(self.eta, 1e6 / self.lam)

    def certify(self):
        return self._row(self._solve(), True, is_accepted=0.0)

    def solution(self):
        return self.w
