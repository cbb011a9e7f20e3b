"""Plain stochastic gradients without locks."""

from ..._core.validation import check_not_negative
from .._incremental._run import IncrementalSolver, Run


class HogwildRun(Run):
    """Plain stochastic gradients with a step that shrinks from epoch to epoch."""

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.gamma, self.epochs = engine.gamma, 0

    def step(self):
        """An epoch and an exact certificate."""
        shrink = 1.0 + float(self.settings.decay) * self.epochs
        gamma = self.gamma[0] / shrink, self.gamma[1] / shrink
        self.engine.set_step(gamma, self.engine.metric, self.engine.center)
        self.advance(self.draw(), refresh=False)
        self.epochs += 1
        return self.certify()

    def _stand(self, coef, intercept, slopes, total):
        self.engine.move_to(coef, intercept)  # no memory
        return self.problem.pair(coef, intercept, total, slopes.sum(axis=0))

    @property
    def step_size(self):
        """Step size of the columns in the first epoch."""
        return self.gamma[0]


class Hogwild(IncrementalSolver):
    """Stochastic proximal gradients on all threads without locks; low accuracy, for comparison.

    Parameters
    ----------
    decay : float, default=0.5
        In epoch t = 0, 1, ... steps are divided by ``1 + decay * t``; 0 keeps them.
    step_size : {"auto", "theory"} or float, default="auto"
        As `Asaga`.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        As `Asaga`.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        As `Asaga`.
    """

    parallel = True

    def __init__(self, *, decay=0.5, step_size="auto", sampling="shuffle", conditioning="auto"):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.decay = decay

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        check_not_negative(self.decay, "decay")

    def make_run(self, problem, engine, *, tol, rng, start):
        return HogwildRun(problem, engine, self, tol=tol, rng=rng, start=start)
