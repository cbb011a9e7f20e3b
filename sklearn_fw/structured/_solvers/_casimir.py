"""Casimir: accelerated variance-reduced steps on smoothed maxima; with kappa = 0 SVRG."""

import numpy as np

from ..._kernels.structured.block_rules import CALLS
from ..._loop import IterativeMethod
from ..._validation import check_choice, check_integer, check_not_negative, check_positive
from ._base import Solution, Solver, check_bounds
from ._variance_reduced import Smoothing, smooth_pass, svrg_walk

__all__ = ["SVRG", "Casimir"]

SCHEDULES = ("const", "adapt", "const_nonstrong", "adapt_nonstrong")
STARTS = ("prox_center", "extrapolation", "previous")
MOST_OUTPUTS = 64  # of one sample, where their number is found
MOST_REJECTED = 30  # walks one after the other, each of half the step


def is_auto(value):
    return isinstance(value, str) and value == "auto"


# ---- schedules -----------------------------------------------------------------------------------


def next_alpha(alpha, r, r_next, lam):
    """Equation 27 of [1]_, solved without cancellation; ``r = kappa + lam``, now and next."""
    square = alpha * alpha * r
    s = square - lam
    return 2.0 * square / (s + np.sqrt(s * s + 4.0 * square * r_next))


def momentum(alpha, alpha_next, r, r_next):
    """Beta of equation 29."""
    square = alpha * alpha * r
    return (square - alpha * square) / (square + alpha_next * r_next)


class Schedule:
    """mu_k and kappa_k for k = 1, 2, ..., and alpha_0."""

    def __init__(self, name, mu, kappa, lam):
        self.mu, self.kappa, self.lam = mu, kappa, lam
        self.strong = not name.endswith("nonstrong")
        self.adapts = name.startswith("adapt")
        if not self.strong:
            self.first_alpha = 0.5 * (np.sqrt(5.0) - 1.0)
            return
        q = lam / (lam + kappa)
        self.first_alpha = np.sqrt(q)
        self.decay = np.sqrt(1.0 - 0.5 * np.sqrt(q))

    def mu_of(self, k):
        """Smoothing of iteration k."""
        if not self.adapts:
            return self.mu
        return self.mu * self.decay**k if self.strong else self.mu / k

    def kappa_of(self, k):
        """Weight of the proximal term of iteration k."""
        return self.kappa * k if self.adapts and not self.strong else self.kappa


class Casimir(Solver):
    def __init__(
        self,
        schedule="adapt",
        *,
        smoother="l2",
        n_best=5,
        mu="auto",
        kappa="auto",
        lipschitz="auto",
        inner_start="prox_center",
        inner_budget=None,
        lower_bounds=None,
        upper_bounds=None,
    ):
        self.schedule = schedule
        self.smoother = smoother
        self.n_best = n_best
        self.mu = mu
        self.kappa = kappa
        self.lipschitz = lipschitz
        self.inner_start = inner_start
        self.inner_budget = inner_budget
        self.lower_bounds = lower_bounds
        self.upper_bounds = upper_bounds

    def start(self, blocks, *, lam, tol, rng, warm=None):
        bounds = check_bounds(self.lower_bounds, self.upper_bounds, blocks.n_weights)
        blocks.reset(lam or 1.0, bounds=bounds)
        if warm is not None:
            blocks.restore(warm)
        mu = 2.0 * blocks.unit_loss if is_auto(self.mu) else float(self.mu)
        lipschitz = blocks.mean_square / mu if is_auto(self.lipschitz) else self.lipschitz
        n = blocks.n_blocks
        if is_auto(self.kappa):
            share = lipschitz / n
            kappa = lam
            if self.schedule == "const" and share > 4.0 * lam:
                kappa = share - lam
            if self.schedule.endswith("nonstrong"):
                kappa = lipschitz / (n + 1)
        else:
            kappa = self.kappa
        schedule = Schedule(self.schedule, mu, kappa, lam)
        return _Method(blocks, lam, rng, self, schedule, lipschitz)


class _Method(IterativeMethod):
    def __init__(self, blocks, lam, rng, solver, schedule, lipschitz):
        self.blocks, self.lam, self.rng = blocks, lam, rng
        self.solver, self.schedule, self.lipschitz = solver, schedule, lipschitz
        self.budget = solver.inner_budget or blocks.n_blocks
        self.k = 1
        self.alpha = schedule.first_alpha
        self.w = self.z = self.z_before = blocks.w.copy()
        self.best = None
        self.dual = None
        self.chances = np.cumsum(blocks.weight)
        self._look(self.z)

    def _smoothing(self):
        s = self.solver
        return Smoothing(s.smoother, self.schedule.mu_of(self.k), s.n_best, s.n_best)

    def _look(self, x):
        b = self.blocks
        self.x = x
        self.smoothing = self._smoothing()
        self.snapshot = smooth_pass(b, x, self.smoothing)
        primal = 0.5 * self.lam * (x @ x) + b.weight @ self.snapshot.hinge
        loss = b.loss.sum()
        self.v = b.v.copy()
        if self.dual is None:
            self.dual = [loss, self.v.copy()]
        else:
            l, v = self.dual
            dv = self.v - v
            sq = self.lam * (dv @ dv)
            if sq > 0:
                t = np.clip((loss - l - self.lam * (v @ dv)) / sq, 0, 1)
                self.dual = [l + t * (loss - l), v + t * dv]
        if self.best is None or primal < self.best[0]:
            self.best = primal, x.copy()
        self.primal = self.best[0]
        self.dual_value = self.dual[0] - 0.5 * self.lam * (self.dual[1] @ self.dual[1])
        return self._row(primal)

    def _row(self, primal):
        return {"n_oracle_calls": int(self.blocks.counts[CALLS]), "objective": self.primal,
            "dual_objective": self.dual_value, "dual_gap": self.primal - self.dual_value,
            "mu": self.smoothing.mu, "now": primal, "lipschitz": self.lipschitz, "cut": self.snapshot.cut.mean()}

    def step(self):
        b, lam = self.blocks, self.lam
        kappa = self.schedule.kappa_of(self.k)
        self.xo = self.x
        order = np.searchsorted(self.chances, self.rng.uniform(size=self.budget) * self.chances[-1])
        import os
        n_chunks, half, thr, up, down = (float(v) for v in os.environ.get("RULE", "4,.5,0,2,.8").split(","))
        n_chunks = int(n_chunks)
        x, mean, made = self.x, 0, 0
        report = np.zeros(4)
        for j, piece in enumerate(np.array_split(order, n_chunks)):
            step = 1.0 / (self.lipschitz + lam + kappa)
            drift = step * (lam * self.v + kappa * self.z)
            x, total, rep = svrg_walk(b, piece, x, self.x, drift, step, 1 - step * (lam + kappa), self.snapshot.values, self.smoothing)
            m = len(piece)
            if j >= half * n_chunks:
                mean = mean + total; made += m
            mid = total / m
            q = 0.5 * lam * (mid @ mid - self.x @ self.x) + 0.5 * kappa * (((mid - self.z)**2).sum() - ((self.x-self.z)**2).sum())
            self.lipschitz *= up if rep[0] / m + q > thr * np.sqrt(rep[1]) / m else down
            report += rep
        w = mean / made
        kn = self.schedule.kappa_of(self.k + 1)
        r, rn = kappa + lam, kn + lam
        a = next_alpha(self.alpha, r, rn, lam)
        beta = momentum(self.alpha, a, r, rn)
        z = w + beta * (w - self.w)
        start = self.solver.inner_start
        nxt = z if start == "prox_center" else w if start == "previous" else w + kappa / (kappa + lam) * (z - self.z)
        self.w, self.z, self.alpha = w, z, a
        self.k += 1
        row = self._look(nxt)
        m = len(order)
        row |= {"ratio": report[2] / max(report[3], 1e-300), "est": report[0] / m, "se": np.sqrt(report[1]) / m}
        return row

    def weights(self):
        return self.best[1]

    def solution(self):
        return Solution(self.best[1].copy(), float(self.primal), float(self.dual_value), float(self.primal - self.dual_value), None)
