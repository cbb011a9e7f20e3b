"""Casimir: accelerated variance-reduced steps on smoothed maxima; with kappa = 0 SVRG."""

from dataclasses import KW_ONLY

import numpy as np

from ..._core import check
from ._base import BestPointMethod, BoxSolver, Solution, numbers
from ._variance_reduced import Smoothing, smooth_pass, svrg_walk

SMOOTHERS = ("entropy", "l2")
SCHEDULES = ("adapt", "adapt_nonstrong", "const", "const_nonstrong")
# First smoothing, in units of the largest loss of one part: what falls may begin high.
FALLING, FIXED = 2.0, 0.1
# A walk is made in pieces, after which the step is judged again; the mean of the later ones counts.
PIECES, LATER = 4, 2
LONGER, SHORTER, REJECTED = 0.8, 1.5, 4.0  # factors of the Lipschitz constant
MOST_REJECTED = 40  # times that one walk begins again; then no step is short enough
STEEPEST = 4.0  # what noise drives it up to, in units of its bound
FAR, FASTER = 4.0, 0.3  # one FAR times above what steps meet falls by FASTER
FLATTEST = 1e-3  # in units of lam + kappa: gradients that do not change have no curvature
PROBES, PROBED = 3, 0.1  # walks that look for the first one, of a share of the samples
MOST_OUTPUTS = 64
# What smoothing adds to the objective does not fall below this share of the gap, or of so much of
# the objective where the gap is loose: smaller mu make it no better, and steps shorter.
ADDED, LOOSE = 0.1, 0.1


class Casimir(BoxSolver):
    """Accelerated variance-reduced gradient steps on smoothed maxima (Casimir-SVRG).

    Each maximum over outputs is smoothed, by a quadratic over the best few outputs or by the
    entropy over all of them. The smooth objective with a proximal term is decreased by n steps of
    SVRG per pass, from a point with momentum. Memory is that of the weights and of one distribution
    per sample. Choose it where lam = 1 / (C n) is so small that block-coordinate Frank-Wolfe is
    slow; elsewhere that one needs fewer calls of the oracle.

    Parameters
    ----------
    schedule : {"adapt", "const", "adapt_nonstrong", "const_nonstrong"}, default="adapt"
        "const" keeps the smoothing ``mu``, and its gap ends at about mu / 2 per sample; "adapt"
        lowers it in every pass, as far as what it adds to the objective is not small against the
        gap. The other two are for lam = 0, where the former are not defined:
        ``mu`` and ``kappa`` stay, or become ``mu / k`` and ``kappa k`` in pass k.
    smoother : {"l2", "entropy"} or None, default="l2"
        "l2" mixes the best few outputs and needs an oracle with ``top_k`` or ``max_marginals``;
        "entropy" mixes all of them and needs ``marginals``; None does not smooth (no convergence
        proof) and needs ``argmax``.
    n_best : int or "adaptive", default=5
        Outputs that "l2" mixes at most; "adaptive" doubles 5 where the last one counts.
    mu : float or "auto", default="auto"
        First smoothing, in units of the task loss. "auto" is 2 times the largest loss of one part
        of an output, and 0.1 times for schedules that keep it.
    kappa : float or "auto", default="auto"
        Weight of the proximal term; 0 disables acceleration. "auto" uses the Lipschitz constant L
        of gradients: ``max(lam, L / (2 n))``, ``L / n - lam`` for "const" where that is above
        3 lam, and ``L / (n + 1)`` for lam = 0.
    lipschitz : float or "auto", default="auto"
        Steps have length ``1 / (lipschitz + lam + kappa)``. "auto" measures it on the way: a short
        walk first, then the curvature that steps meet and whether they raise the objective.
    inner_start : {"prox_center", "extrapolation", "previous"}, default="prox_center"
        Start of the steps of a pass: the point with momentum, that point with the momentum of the
        centers, too, or the end of the last pass.
    inner_budget : int or None, default=None
        Steps per pass; None is the number of samples.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes ``model.bounds()``, if any.

    See Also
    --------
    BlockFrankWolfe : A method on the distributions of samples, better where lam is not small.

    Notes
    -----
    A pass costs 2 n calls of the oracle: n for the full gradient, whose answers are kept as the
    distributions of samples, and n steps. The full gradient gives the certificate: the best primal
    point, and the best dual point on the line to its distributions, are kept and reported. The
    returned weights are those at which a full gradient was taken. History has the columns "mu",
    "lipschitz" and "saturated", the fraction of samples whose ``n_best`` outputs all count: there
    "l2" is not smooth.

    Passes over forests are compiled, and a step costs one call of the oracle and the weights that
    its sample touches. Where the best output is better than the second by mu, it counts alone.

    ``solver="svrg"`` is ``Casimir("const", kappa=0.0, inner_start="previous")``: SVRG [2]_ without
    acceleration, with constant smoothing.

    With ``StructuredSVM(surrogate="crf")`` or "softmax_margin" the loss is smooth: then
    ``smoother``, ``n_best`` and ``mu`` are not used, and the method is Catalyst [3]_.

    References
    ----------
    .. [1] K. Pillutla, V. Roulet, S. Kakade, Z. Harchaoui, "A smoother way to train structured
       prediction models", NeurIPS 2018: Algorithm 4, and propositions 29 to 32 for the schedules.
    .. [2] R. Johnson, T. Zhang, "Accelerating stochastic gradient descent using predictive variance
       reduction", NIPS 2013.
    .. [3] H. Lin, J. Mairal, Z. Harchaoui, "A universal catalyst for first-order optimization",
       NIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw.structured import Casimir, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> solver = Casimir(smoother="entropy")
    >>> svm = StructuredSVM(solver=solver, C=1.0, tol=0.05, random_state=0).fit(X, y)
    >>> svm.converged_
    True
    """

    schedule: check.options(*SCHEDULES) = "adapt"
    _: KW_ONLY
    smoother: check.optional(check.options(*SMOOTHERS)) = "l2"
    n_best: check.auto_or(check.at_least(1), words=("adaptive",)) = 5
    mu: check.auto_or(check.positive) = "auto"
    kappa: check.auto_or(check.not_negative) = "auto"
    lipschitz: check.auto_or(check.positive) = "auto"
    inner_start: check.options("extrapolation", "previous", "prox_center") = "prox_center"
    inner_budget: check.optional(check.at_least(1)) = None

    trains = ("hinge", "crf", "softmax_margin")
    _needs_features = True

    def start(self, blocks, *, lam, tol, rng, warm=None):
        if lam == 0.0 and not self.schedule.endswith("nonstrong"):
            raise ValueError(f"schedule={self.schedule!r} needs lam > 0: take 'const_nonstrong'")
        self._reset(blocks, lam if lam > 0.0 else 1.0)
        return _CasimirMethod(self, blocks, lam, rng, warm)


class Schedule:
    """mu_k and kappa_k for k = 1, 2, ..., alpha_0 and the steps of alpha.

    ``mu`` and ``kappa`` are those to begin with; without ``kappa`` no momentum is used.
    """

    def __init__(self, name, mu, kappa, lam):
        self.mu, self.kappa, self.lam = mu, kappa, lam
        self.strong, self.adapts = not name.endswith("nonstrong"), name.startswith("adapt")
        root = np.sqrt(lam / (lam + kappa)) if lam > 0.0 else 0.0
        self.decay = np.sqrt(1.0 - 0.5 * root)
        self.alpha = root if self.strong else max(0.5 * (np.sqrt(5.0) - 1.0), root)

    def mu_of(self, k):
        if not self.adapts:
            return self.mu
        return self.mu * self.decay ** (k - 1) if self.strong else self.mu / k

    def kappa_of(self, k):
        return self.kappa * k if self.adapts and not self.strong else self.kappa

    def momentum_of(self, k):
        """beta_k, after which alpha is alpha_k; to be called for k = 1, 2, ... in turn.

        With ``r = kappa + lam``, alpha_k is the positive root of equation 27 of Pillutla et al.,
        ``a^2 r_next = (1 - a) alpha^2 r + a lam``, without cancellation; beta is equation 29.
        """
        if self.kappa == 0.0:
            return 0.0
        r, r_next = self.kappa_of(k) + self.lam, self.kappa_of(k + 1) + self.lam
        last, square = self.alpha, self.alpha * self.alpha * r
        s = square - self.lam
        self.alpha = 2.0 * square / (s + np.sqrt(s * s + 4.0 * square * r_next))
        return (1.0 - last) * last * r / (square + self.alpha * r_next)


class _CasimirMethod(BestPointMethod):
    def __init__(self, settings, blocks, lam, rng, warm):
        self.settings, self.blocks, self.lam, self.rng = settings, blocks, lam, rng
        self.probabilities = np.cumsum(blocks.weight)
        self.k, self.dual_point = 1, None  # l and v of the best dual value
        # The largest loss of one part of an output; one where nothing costs anything.
        self.unit = blocks.unit_loss or 1.0
        w = self._warm_start(warm)
        self._first_smoothing()
        if warm is not None and warm.get("mu") and self.smoothing.kind in SMOOTHERS:
            self.smoothing = self.smoothing._replace(mu=min(self.mu, warm["mu"]))
        self._look(w)
        self.w = self.center = w
        self.measures = check.is_auto(settings.lipschitz)
        self.lipschitz = self._probed() if self.measures else float(settings.lipschitz)
        kappa = self._own_kappa() if check.is_auto(settings.kappa) else float(settings.kappa)
        self.schedule = Schedule(settings.schedule, self.mu, kappa, lam)

    def _warm_start(self, warm):
        blocks = self.blocks
        if warm is None:
            return blocks.w.copy()
        blocks.restore(warm)
        if self.lam > 0.0 and not blocks.surrogate.smooth:
            self.dual_point = float(blocks.loss.sum()), blocks.v.copy()
        return warm.get("w", blocks.w).copy()

    def _first_smoothing(self):
        settings, surrogate = self.settings, self.blocks.surrogate
        if surrogate.smooth:
            self.mu = surrogate.temperature
            self.smoothing = Smoothing("loss", self.mu)
            return
        self.mu = settings.mu
        if check.is_auto(self.mu):
            falls = settings.schedule.startswith("adapt")
            self.mu = (FALLING if falls else FIXED) * self.unit
        self.smoothing = Smoothing(None)
        if settings.smoother is not None:
            few = check.is_named(settings.n_best, "adaptive")
            sizes = (5, MOST_OUTPUTS) if few else (settings.n_best, settings.n_best)
            self.smoothing = Smoothing(settings.smoother, float(self.mu), *sizes)

    def _own_kappa(self):
        lam, n, schedule = self.lam, self.blocks.n_blocks, self.settings.schedule
        share = self.lipschitz / n
        if schedule.endswith("nonstrong"):
            return self.lipschitz / (n + 1)
        if schedule == "const" or self.smoothing.kind == "loss":
            return share - lam if share > 4.0 * lam else lam
        return max(lam, 0.5 * share)

    # ---- certificates ----------------------------------------------------------------------------

    def _look(self, x):
        """A full pass at x: its gradient, and what it proves."""
        blocks, lam = self.blocks, self.lam
        self.x = blocks.clip(x)
        self.snapshot = found = smooth_pass(blocks, self.x, self.smoothing)
        norm = 0.5 * lam * float(self.x @ self.x)
        self.improved = self.take(self.x, blocks.mean_hinge(found) + norm)
        self.gradient = -blocks.lam * blocks.v  # of the smoothed losses
        if lam > 0.0:
            tau, rho = blocks.surrogate.temperature, blocks.surrogate.loss_weight
            loss = rho * blocks.loss.sum() + tau * (blocks.weight @ found.entropy)
            self._take_dual(float(loss), blocks.v.copy())

    def _take_dual(self, loss, v):
        """Keep the best of the line from the best dual point to a new one."""
        if self.dual_point is None:
            self.dual_point = loss, v
            return
        own_loss, own = self.dual_point
        if self.blocks.bounded:  # not a parabola
            if self.blocks.dual_value(v, loss) > self.blocks.dual_value(own, own_loss):
                self.dual_point = loss, v
            return
        way = v - own
        slope, square = loss - own_loss - self.lam * float(own @ way), self.lam * float(way @ way)
        if slope <= 0.0:
            return
        t = min(slope / square, 1.0) if square > 0.0 else 1.0
        self.dual_point = own_loss + t * (loss - own_loss), own + t * way

    def certify(self):
        """The best points seen; they were certified when they were seen."""
        return numbers(self.solution(), self.blocks) | {
            "mu": self.smoothing.mu,
            "lipschitz": self.lipschitz,
            "saturated": float(np.mean(self.snapshot.cut)),
        }

    def solution(self):
        """The best point seen, with the best dual value; None where lam = 0."""
        if self.dual_point is None:
            return Solution(self.best_w.copy(), self.primal, None, None, None)
        loss, v = self.dual_point
        self.dual = self.blocks.dual_value(v, loss)
        return super().solution()

    def export(self):
        """The distributions of the last full pass, the best point, and how smooth it was then."""
        return self.blocks.export() | {"w": self.best_w.copy(), "mu": self.smoothing.mu}

    # ---- steps -----------------------------------------------------------------------------------

    def step(self):
        """Steps from the last full pass, then a full pass where the next ones begin."""
        k, schedule, start = self.k, self.schedule, self.settings.inner_start
        kappa = schedule.kappa_of(k)
        budget = self.settings.inner_budget or self.blocks.n_blocks
        w = self._walk(int(budget), kappa)
        center = w + schedule.momentum_of(k) * (w - self.w)
        x = w if start == "previous" else center
        if start == "extrapolation":
            x = w + kappa / (kappa + self.lam) * (center - self.center) if kappa > 0.0 else w
        self.w, self.center, self.k = w, center, k + 1
        if self.smoothing.kind in SMOOTHERS:
            self.smoothing = self.smoothing._replace(mu=self._next_mu(schedule.mu_of(k + 1)))
        self._look(x)
        return self.certify()

    def _next_mu(self, scheduled):
        """The smoothing of the schedule, unless what smoothing adds is far below the gap."""
        best, now = self.solution(), self.smoothing.mu
        if best.gap is None or not self.schedule.adapts:
            return scheduled
        added = self.blocks.weight @ (self.snapshot.values - self.snapshot.hinge) / now
        enough = ADDED * min(best.gap, LOOSE * abs(best.primal))
        return min(now, max(scheduled, enough / added)) if added > 0.0 else now

    def _draw(self, n_steps):
        uniforms = self.rng.uniform(size=n_steps) * self.probabilities[-1]
        places = np.searchsorted(self.probabilities, uniforms, side="right")
        return np.minimum(places, len(self.probabilities) - 1)

    def _walk(self, n_steps, kappa):
        """Mean of the later iterates of a walk, which begins again where its step is rejected."""
        pieces = np.array_split(self._draw(n_steps), min(PIECES, n_steps))
        least = 0.0  # calm pieces do not make steps long again that a later piece rejected
        for _ in range(MOST_REJECTED):
            x, total, n_counted = self.x, np.zeros_like(self.x), 0
            for place, order in enumerate(pieces):
                x, sums, report = self._piece(order, x, kappa)
                if self.measures:
                    if not self._accepts(len(order), sums, report, kappa):
                        least = self.lipschitz
                        break
                    self.lipschitz = max(self.lipschitz, least)
                if place >= len(pieces) - LATER:
                    total += sums
                    n_counted += len(order)
            else:
                return total / n_counted
        return self.x

    def _piece(self, order, x, kappa):
        """Steps on the samples of an order: their end, the sum of iterates, and what they met."""
        shrinks = self.lam + kappa
        # Lazy steps divide by the share of x that one of them leaves.
        step = 1.0 / (max(self.lipschitz, FLATTEST * shrinks) + shrinks)
        drift = step * (kappa * self.center - self.gradient)
        return svrg_walk(
            self.blocks, order, x, self.x, drift, step, 1.0 - step * shrinks,
            self.snapshot.values, self.smoothing,
        )  # fmt: skip

    def _accepts(self, n_steps, total, report, kappa):
        """Judge the step by what a walk met; False where it has to be walked again."""
        change, change_square, square, slope = report
        mean = total / n_steps
        with np.errstate(over="ignore", invalid="ignore"):
            rise = change / n_steps + 0.5 * self.lam * (mean @ mean - self.x @ self.x)
            to, before = mean - self.center, self.x - self.center
            rise += 0.5 * kappa * (to @ to - before @ before)
        noise = np.sqrt(change_square) / n_steps
        # No smooth loss is steeper; where none is smooth, steps shrink like 1 / k.
        mu = max(self.smoothing.mu, self.unit / self.k)
        steepest = STEEPEST * self.blocks.mean_square / mu
        is_wild = rise > 2.0 * abs(self.primal) and self.lipschitz < steepest
        if is_wild or not np.isfinite(rise):
            self.lipschitz = REJECTED * max(self.lipschitz, FLATTEST * (self.lam + kappa))
            return False
        met = square / slope if slope > 0.0 else 0.0
        if rise > noise:
            self.lipschitz = max(self.lipschitz, min(SHORTER * self.lipschitz, steepest))
        elif met > 0.0 and self.improved:
            factor = FASTER if self.lipschitz > FAR * met else LONGER
            self.lipschitz = max(factor * self.lipschitz, 0.5 * met)
        return True

    def _probed(self):
        """A first Lipschitz constant, from the curvature that a few steps meet."""
        blocks = self.blocks
        self.lipschitz = (blocks.mean_square or 1.0) / (self.smoothing.mu or self.unit)
        n_steps = max(1, min(self.blocks.n_blocks, int(PROBED * self.blocks.n_blocks) + 10))
        for _ in range(PROBES):
            *_, report = self._piece(self._draw(n_steps), self.x, 0.0)
            if not report[3] > 0.0:
                break
            self.lipschitz = min(self.lipschitz, 2.0 * report[2] / report[3])
        return self.lipschitz
