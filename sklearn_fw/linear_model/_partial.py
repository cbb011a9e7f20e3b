"""Fits by parts of the data: the rows of one part, memory and counts of all rows seen."""

from copy import copy, deepcopy

import numpy as np

from .._core.threads import count_workers
from .._core.validation import check_random_state
from ..optim._incremental._run import Seen, Start
from ..optim._incremental._solvers import resolve_incremental_solver

# What `fit` says of its result and parts cannot say.
CERTIFIED = (
    "converged_", "dual_gap_", "gradient_mapping_", "history_", "memory_drift_", "n_iter_",
    "n_updates_", "objective_", "status_", "step_size_",
)  # fmt: skip


class Stream:
    """What a fit by parts keeps of the rows it has seen."""

    def __init__(self, random_state):
        self.starts = None  # a `Start` with the memory of all rows, per problem
        self.n_rows, self.weight = 0, 0.0
        self.strength = None  # of the penalty of a regressor
        self.rng = check_random_state(random_state)

    def places(self, rows, n_samples):
        """Row numbers of a part and whether they are new; all of them or none must be."""
        if rows is None:
            rows = slice(self.n_rows, self.n_rows + n_samples)
        if isinstance(rows, slice):
            rows = np.arange(rows.start or 0, rows.stop)
        rows = np.asarray(rows)
        if rows.dtype.kind not in "iu" or rows.shape != (n_samples,):
            raise ValueError(
                f"rows must be a slice or {n_samples} integers, one per sample; got an array of "
                f"dtype {rows.dtype} and shape {rows.shape}"
            )
        if n_samples and rows.min() < 0:
            raise ValueError(f"rows must not be negative, got {rows.min()}")
        if np.unique(rows).size != n_samples:
            raise ValueError("rows must not name a row twice")
        new = rows >= self.n_rows
        if new.any() and not np.array_equal(np.sort(rows), self.n_rows + np.arange(n_samples)):
            raise ValueError(
                f"rows must be rows seen before (below {self.n_rows}) or exactly the next ones "
                f"({self.n_rows} to {self.n_rows + n_samples - 1})"
            )
        return rows, bool(new.any())


def partial_fit(model, X, y, classes, sample_weight, rows):
    """See `AsagaModel.partial_fit`."""
    model.solver_ = resolve_incremental_solver(model.solver)
    model._choose_for_parts()
    stream = copy(getattr(model, "_stream", None))
    first = stream is None
    X, y, weight = model._check(X, y, sample_weight, reset=first)
    model._name_classes(y, classes, first)
    if first:
        stream = Stream(model.random_state)
    stream.rng = deepcopy(stream.rng)
    rows, adds = stream.places(rows, X.shape[0])
    total_weight = stream.weight
    if adds:
        total_weight += float(X.shape[0] if weight is None else weight.sum())
    problems = model._part_problems(X, y, weight, total_weight)
    if hasattr(model, "alpha_"):
        stream.strength = model.alpha_ * total_weight
    starts = [None] * len(problems) if first else stream.starts
    stream.starts = [
        _visit(model, problem, start, rows, adds, stream.rng)
        for problem, start in zip(problems, starts, strict=True)
    ]
    stream.weight = total_weight
    stream.n_rows += X.shape[0] if adds else 0
    if first:
        for name in CERTIFIED:
            vars(model).pop(name, None)
    model._stream = stream
    model._set_points([(start.coef, start.intercept) for start in stream.starts], X.dtype)
    return model


def _visit(model, problem, start, rows, adds, rng):
    """An epoch over the rows of a part."""
    shape = problem.shape
    memory = np.zeros((0, *shape[1:])) if start is None else start.memory
    if adds:
        memory = np.concatenate([memory, np.zeros((rows.size, *shape[1:]))])
    else:
        memory = memory.copy()
    if start is None:
        start = Start(
            problem.resting_point(), np.zeros(shape[1:]), None,
            Seen(np.zeros(problem.n_columns), 0, True, np.zeros(shape), np.zeros(shape[1:])),
        )  # fmt: skip
    if not problem.fit_intercept:  # now, whatever it was before
        start = start._replace(intercept=np.zeros(shape[1:]))
    seen = start.seen._replace(adds=adds)
    run = model.solver_.start(
        problem, tol=0.0, rng=rng, n_workers=count_workers(model.n_jobs),
        start=start._replace(memory=memory[rows], seen=seen),
    )  # fmt: skip
    try:
        engine = run.engine
        run.advance(run.draw())
        memory[rows] = engine.memory.reshape(rows.size, *shape[1:])
        coef, intercept = engine.point()
        seen = Seen(engine.counts(), engine.n_rows, adds, engine.total(), engine.mass())
        return Start(coef, intercept, memory, seen)
    finally:
        run.close()
