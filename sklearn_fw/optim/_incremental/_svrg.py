"""SVRG: the memory is that of a snapshot."""

from ..._core.validation import check_flag, check_positive
from ._run import IncrementalSolver, Run

# Epochs between two snapshots: more would be a mistake, and never end.
MOST_INNER = 1e4


class SvrgRun(Run):
    """Methods with the gradient of a snapshot, which is an exact certificate at the same time."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.certify()

    def step(self):
        """Steps on as many rows as the settings say, then a snapshot."""
        n = self.problem.active.size
        left = max(1, round(float(self.settings.n_inner) * n))
        while left > 0:
            length = left
            if self.settings.loopless:
                length = min(left, int(self.rng.geometric(1.0 / n)))
            self.advance(self.draw(None if length == n else length), refresh=False)
            left -= length
            if left > 0:
                self.certify()
        return self.certify()


class Svrg(IncrementalSolver):
    """SVRG with sparse steps: the memory is that of a snapshot.

    Parameters
    ----------
    n_inner : float, default=1.0
        Steps between snapshots, in epochs.
    loopless : bool, default=False
        Snapshots at random, once per epoch on average, besides those at the end of an iteration.
    parallel : bool, default=False
        Share the steps between threads (KROMAGNON).
    step_size : {"auto", "theory"} or float, default="auto"
        As `SparseSaga`.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        As `SparseSaga`; parts of epochs are independent draws.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        As `SparseSaga`.
    """

    def __init__(
        self,
        *,
        n_inner=1.0,
        loopless=False,
        parallel=False,
        step_size="auto",
        sampling="shuffle",
        conditioning="auto",
    ):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.n_inner = n_inner
        self.loopless = loopless
        self.parallel = parallel

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        if check_positive(self.n_inner, "n_inner") > MOST_INNER:
            raise ValueError(f"n_inner must be at most {MOST_INNER:g}, got {self.n_inner}")
        check_flag(self.loopless, "loopless")
        check_flag(self.parallel, "parallel")
        if self.loopless and self.parallel:
            raise ValueError("loopless snapshots at random moments need parallel=False")

    def make_run(self, problem, engine, *, tol, rng, start):
        return SvrgRun(problem, engine, self, tol=tol, rng=rng, start=start)
