"""One contender with growing budgets, each a fresh run, in a process that can be ended."""

import math
import os
import time
from dataclasses import dataclass, field
from multiprocessing import get_context

import numpy as np
from _linear_contenders import CONTENDERS, EPOCHS, TOL
from _linear_problems import load_data
from _linear_speed import objective_of
from _report import THREADS, Clock, Repeats, peak_memory, timed
from scipy import sparse

TARGETS = (1e-3, 1e-6, 1e-9)


RESOLUTION = 0.25  # of the levels: 2**0.25 = 1.19 in iterations, 10**0.25 = 1.78 in tolerance
SHORT, REPEAT = 0.2, 3  # runs below so many seconds are repeated, and those that reach a target
STALLED, STALLED_RUNS = 1e-13, {EPOCHS: 3, TOL: 5}  # so many equal values in a row are the end
NOT_RUN = "not run"  # how the note of a contender begins that is not there


class Failed(Exception):
    """The contender's process ended, ran too long or raised."""


@dataclass
class Result:
    name: str
    runs: dict = field(default_factory=dict)  # level -> dict of cpu, wall, F, budget, nonzeros
    preparing: float = 0.0
    compiling: float = 0.0
    note: str = ""

    def relative(self, level, optimum):
        return (self.runs[level]["F"] - optimum) / optimum

    def first(self, target, optimum):
        """The first level that reaches ``target`` and whether the last failure is close to it."""
        passing = [k for k in sorted(self.runs) if self.relative(k, optimum) <= target]
        if not passing:
            return None, None
        failing = [k for k in self.runs if k < passing[0]]
        return passing[0], max(failing, default=None)


def _serve(connection, folder, problem, name):
    """Answer budgets with runs until the parent closes the connection."""
    contender = CONTENDERS[name]
    os.environ.update(dict.fromkeys(THREADS, "1"))
    with open(os.devnull, "w") as nowhere:  # cyanure prints from compiled code
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        X, y = load_data(folder)
        objective = objective_of(problem, len(y))
        _warm_up(contender, X, y, problem)
        with Clock() as preparing:
            data = contender.prepare(X, y)
        compiling = _compiling(contender, X, y, objective)
        connection.send({"preparing": preparing.cpu, "compiling": compiling})
        while True:
            connection.send(_run(contender, data, X, y, objective, connection.recv(), compiling))
    except EOFError:
        pass
    except ImportError as error:
        connection.send(f"{NOT_RUN}: {error}")
    except Exception as error:
        connection.send(f"{type(error).__name__}: {str(error).splitlines()[0][:120]}")


def _warm_up(contender, X, y, problem):
    """Compile and load everything on a problem of the same kind with a few rows.

    The default solver of `AsagaClassifier` depends on the shape of X, and what it does last on how
    far it comes.
    """
    if contender.name == "AsagaClassifier":
        contender.solve((X, y), objective_of(problem, len(y)), 1e-6)
        return
    rng = np.random.default_rng(0)
    tiny, y = rng.standard_normal((40, 12)), np.where(np.arange(40) % 2, 1.0, -1.0)
    if sparse.issparse(X):
        tiny[tiny < 0.5] = 0.0
        tiny = sparse.csr_matrix(tiny)
        tiny.indices, tiny.indptr = tiny.indices.astype(np.int32), tiny.indptr.astype(np.int32)
    budget = 3 if contender.kind == EPOCHS else 1e-2
    contender.solve(contender.prepare(tiny, y), objective_of(problem, 40), budget)


def _compiling(contender, X, y, objective):
    """CPU seconds of compilation in every call, where nothing is kept: one epoch on two rows."""
    if not contender.compiles:
        return 0.0
    rows = contender.prepare(X[:2], y[:2])
    return min(timed(lambda: contender.solve(rows, objective, 1), REPEAT)[1].values)


def _run(contender, data, X, y, objective, budget, compiling):
    clocks = []
    while not clocks or (clocks[0].wall < SHORT and len(clocks) < REPEAT):
        with Clock() as clock:
            w = contender.solve(data, objective, budget)
        clocks.append(clock)
    w = np.asarray(w, dtype=np.float64).ravel()
    return {
        "cpu": Repeats(clock.cpu - compiling for clock in clocks),
        "wall": Repeats(clock.wall - compiling for clock in clocks),
        "F": objective.value(X, y, w) if np.isfinite(w).all() else math.inf,
        "nonzeros": int(np.count_nonzero(w)), "memory": peak_memory(), "budget": budget,
    }  # fmt: skip


class Child:
    """The process of a contender; ``ask`` ends it when an answer takes too long."""

    def __init__(self, *args):
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *args), daemon=True)
        self._process.start()
        theirs.close()

    def answer(self, seconds):
        if not self._connection.poll(seconds):
            self.close()
            raise Failed(f"more than {seconds:.0f} s")
        try:
            answer = self._connection.recv()
        except EOFError:
            raise Failed("process died") from None
        if isinstance(answer, str):
            raise Failed(answer)
        return answer

    def ask(self, budget, seconds):
        self._connection.send(budget)
        return self.answer(seconds)

    def close(self):
        self._process.kill()
        self._process.join()
        self._connection.close()


def race(folder, problem, name, optimum, cap, cap_run):
    """The ladder of one contender: levels 0, 1, 2, ... and then bisection before every target.

    ``cap`` bounds the wall seconds of all runs together, ``cap_run`` those of a single run.
    """
    contender, result = CONTENDERS[name], Result(name)
    child, started = Child(folder, problem, name), None

    def left():
        return cap - (time.perf_counter() - started)

    def run(level):
        budget = contender.budget(level)
        for known in result.runs.values():
            if known["budget"] == budget:
                return False
        result.runs[level] = child.ask(budget, max(0.1, min(cap_run, left())) + 5)
        return True

    try:
        vars(result).update(child.answer(300))
        started = time.perf_counter()
        result.note = _climb(contender, result, run, left, optimum, cap_run)
        for target in TARGETS:
            _refine(result, run, left, optimum, target)
        for target in TARGETS:
            _confirm(result, child, optimum, target, cap_run)
    except Failed as failure:
        result.note = str(failure)
    finally:
        child.close()
    return result


def _climb(contender, result, run, left, optimum, cap_run):
    """Double the budget until the last target is reached; says why it ended before."""
    level = 0
    while True:
        if not run(level):
            return "largest budget reached"
        if result.relative(level, optimum) <= TARGETS[-1]:
            return ""
        known = sorted(result.runs)
        last = STALLED_RUNS[contender.kind]
        if len(known) > last:
            spread = [result.runs[k]["F"] for k in known[-last:]]
            if max(spread) - min(spread) <= STALLED * optimum:
                return f"stalls at {result.relative(level, optimum):.0e}"
        room = min(left(), cap_run) / max(result.runs[level]["wall"], 1e-9)
        step = 1.0
        if contender.kind == EPOCHS and room < 2:
            step = math.log2(max(room, 1e-9))
            if step < RESOLUTION:
                return f"out of time at {result.relative(level, optimum):.0e}"
        elif left() <= 0:
            return f"out of time at {result.relative(level, optimum):.0e}"
        level += step


def _refine(result, run, left, optimum, target):
    """Bisect between the last budget that fails and the first that reaches the target."""
    while True:
        level, failing = result.first(target, optimum)
        if level is None or failing is None or level - failing <= RESOLUTION + 1e-9:
            return
        if result.runs[level]["wall"] > left() or not run((level + failing) / 2):
            return


def _confirm(result, child, optimum, target, cap_run):
    """Repeat the first run that reaches the target: what is shown is the median."""
    level, _ = result.first(target, optimum)
    if level is None:
        return
    known = result.runs[level]
    while len(known["cpu"].values) < REPEAT:
        again = child.ask(known["budget"], 2 * cap_run)
        for clock in ("cpu", "wall"):
            known[clock] = Repeats([*known[clock].values, *again[clock].values])
