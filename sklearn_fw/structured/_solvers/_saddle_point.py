"""Frank-Wolfe on the saddle point of a norm-constrained structured SVM."""

from dataclasses import KW_ONLY

import numpy as np

from ..._core import check
from ..._kernels import lazy
from ..._kernels.common.step_rules import open_loop_step
from ._base import BestPointMethod, Solver, dual_norm
from ._compiled import accelerated, is_compiled, saddle_visits_of_parts

block_saddle = lazy("structured.block_saddle")

# Share of the passes by whose number steps shrink that still counts after the radius has changed.
KEPT = 0.5


class SaddlePointFrankWolfe(Solver):
    """Frank-Wolfe on the norm-constrained structured SVM, for sparse weights.

    Minimizes the mean structured hinge over a ball, as a saddle point between the weights and the
    mean feature difference v and loss l of mixtures of outputs, both moved by Frank-Wolfe steps of
    one common size::

        min_{|w| <= radius} max_mu  l(mu) - <w, v(mu)>

    Choose it for models with an oracle alone: after t passes with ``norm="l1"`` at most t weights
    are not zero. Where there are projections or marginals, ``Extragradient(radius=..., norm="l1",
    cut=0.01)`` has sparse weights of a smaller objective. "l2" is slower than ridge solvers.

    Parameters
    ----------
    radius : float, default=1.0
        Bound on the norm of the weights, in place of ``C``.
    norm : {"l1", "l2"}, default="l1"
        The norm.
    block : bool, default=False
        Visit one sample at a time ("sp_bcfw") instead of all at once ("sp_fw").
    step_size : {"universal", "fictitious"}, default="universal"
        Steps of 2 / (t + 2) or 1 / (t + 1) after t steps; with ``block`` only "universal",
        2 n / (k + 2 n) after k visits.
    gap_check : int, default=5
        Passes between certificates when ``block`` is true; otherwise every pass has one for free.

    See Also
    --------
    BlockFrankWolfe : Ridge penalty, and the faster choice where that will do.
    Extragradient : The same balls to a smaller gap, with sparse weights by a cut.
    sklearn_fw.optim.solve_saddle_point : The general method.

    Notes
    -----
    A pass costs n_samples oracle calls. The certificate is the primal value of the best weights
    less the best dual value so far, both exact. The steps "adaptive" and "heuristic" of the general
    method need a ridge term, and line search cycles on bilinear saddle points.

    "sp_bcfw" starts from the answers at w = 0 and reports the average of the weights, weighted by
    their number, or the last ones if these are better. It has no proof of convergence, but its
    certificate is exact.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: Algorithm 2, section 6 and appendix F.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import SaddlePointFrankWolfe, StructuredSVM
    >>> solver = SaddlePointFrankWolfe(radius=2.0)
    >>> svm = StructuredSVM(solver=solver, tol=0.1, max_iter=1000)
    >>> svm = svm.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1])
    >>> bool(np.abs(svm.coef_).sum() <= 2.0 + 1e-12)
    True
    """

    _: KW_ONLY
    radius: check.strength = 1.0
    norm: check.options("l1", "l2") = "l1"
    block: check.flag = False
    step_size: check.options("universal", "fictitious") = "universal"
    gap_check: check.at_least(1) = 5

    _needs_features = True

    def start(self, blocks, *, lam, tol, rng, warm=None):
        if self.block and self.step_size != "universal":
            raise ValueError("step_size must be 'universal' when block=True")
        blocks.reset(1.0)
        if warm is not None:
            blocks.restore(warm)
        if self.block:
            return _BlockMethod(self, blocks, warm or {}, rng)
        return _BatchMethod(self, blocks, warm or {})


@accelerated(saddle_visits_of_parts, is_compiled)
def saddle_visits(blocks, order, visits, radius, euclidean, w, mean):
    """Joint steps of one block and of w in a norm ball; lam must be 1.

    ``visits`` were made before; ``w`` and ``mean``, the average of the weights weighted by their
    number, are changed in place.
    """
    n = blocks.n_blocks
    for k, i in enumerate(order, visits):
        gamma = open_loop_step(k, n, 1.0)
        answer = blocks.answer(i, w)
        block_saddle.step_in_ball(w, blocks.v, radius, euclidean, gamma)
        blocks.move(i, blocks.direction(i, answer), gamma)
        mean += open_loop_step(k, 1.0, 1.0) * (w - mean)


class _SaddleMethod(BestPointMethod):
    """Weights, their average, and the best bounds from both sides."""

    def __init__(self, settings, blocks, warm):
        self.settings, self.blocks = settings, blocks
        self.radius, self.euclidean = float(settings.radius), settings.norm == "l2"
        self.n_passes = warm.get("n_passes", 0)
        self.w = self._start_of(warm.get("w"))
        self.mean = self._start_of(warm.get("mean"))
        self.best_w = self.w.copy()

    def _start_of(self, w):
        """Weights in multiples of the radius, moved into the ball if its norm was another one."""
        if w is None:
            return np.zeros(self.blocks.n_weights)
        norm = np.linalg.norm(w) if self.euclidean else np.abs(w).sum()
        return w * (self.radius / max(1.0, norm))

    def export(self):
        """For a warm start: the mixture, weights in multiples of the radius, and passes made."""
        radius = self.radius
        return self.blocks.export() | {
            "w": self.w / radius,
            "mean": self.mean / radius,
            "n_passes": self.n_passes,
        }

    def _ask(self, w):
        """n oracle calls at w, which bound the value from above."""
        value, sweep = self.blocks.ask(w)
        self.take(w, value)
        return sweep.answers

    def _bound(self):
        """The mixture's bound from below; its minimum over the ball has a closed form."""
        loss, norm = float(self.blocks.loss.sum()), dual_norm(self.blocks.v, self.settings.norm)
        if self.lines is not None:
            self.lines.add([(loss, norm)])
        self.dual = max(self.dual, loss - self.radius * norm)

    def move_to(self, radius):
        """Continue in another ball, with weights in proportion and the same mixture.

        A smaller ball forgets the best weights.
        """
        factor = radius / self.radius
        self.w *= factor
        self.mean *= factor
        if factor < 1.0:
            self.primal = np.inf
        self.radius, self.dual = radius, float(self.lines.at(radius))
        self.n_passes = round(KEPT * self.n_passes)


class _BatchMethod(_SaddleMethod):
    answers = None  # at the current weights

    def move_to(self, radius):
        super().move_to(radius)
        self.answers = None

    def step(self):
        if self.answers is not None:
            t = self.n_passes
            is_fictitious = self.settings.step_size == "fictitious"
            gamma = 1.0 / (t + 1.0) if is_fictitious else open_loop_step(t, 1.0, 1.0)
            block_saddle.step_in_ball(self.w, self.blocks.v, self.radius, self.euclidean, gamma)
            self.blocks.step_towards(self.answers, gamma)
            self.blocks.refresh()
            self.n_passes += 1
        return self.certify()

    def certify(self):
        self.answers = self._ask(self.w)
        self._bound()
        return self.row()


class _BlockMethod(_SaddleMethod):
    def __init__(self, settings, blocks, warm, rng):
        super().__init__(settings, blocks, warm)
        self.rng = rng
        self._bound()
        if self.n_passes == 0:
            blocks.step_towards(self._ask(self.w), 1.0)
            blocks.refresh()

    def step(self):
        n = self.blocks.n_blocks
        saddle_visits(
            self.blocks, self.rng.randint(n, size=n), self.n_passes * n, self.radius,
            self.euclidean, self.w, self.mean,
        )  # fmt: skip
        self.n_passes += 1
        return self.certify() if self.n_passes % self.settings.gap_check == 0 else None

    def certify(self):
        """Exact bounds at the average and at the last weights."""
        self.blocks.refresh()
        self._ask(self.mean)
        self._ask(self.w)
        self._bound()
        return self.row()
