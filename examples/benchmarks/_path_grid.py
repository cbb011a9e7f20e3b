"""Exact and heuristic path against the grid of the paper: parts of the benchmark of paths."""

import functools

import numpy as np
from _report import Clock, in_child, medians
from _structured import block_solver

from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw._core.loop import drive
from sklearn_fw._kernels.structured.block_rules import CALLS
from sklearn_fw.structured import ChainModel, MultilabelModel

EPS = 0.1
GRID = 2.0 ** np.arange(15, -16, -1)  # of lam: 31 values, as in the paper
REFERENCE = 0.05  # of eps: accuracy of the optima that errors are measured against
MAX_ITER = 5000
SOLVERS = ("bcfw gap", "bcpfw gap cache")  # those of the paper
SETS = {
    "words": ("digit words", "600 digit words"),
    "letters": ("OCR letters", "626 OCR words, the number in the fold of the paper"),
    "scenes": ("scene", "The 1,211 training scenes, a tree of six labels"),
}
# Osokin and others (ICML 2016), section 5.2 and appendix K, have curves alone: "comparable" is
# their word for the time of a path and of a grid; warm starts make a grid faster.
PAPER = {"path": "comparable", "warm": "faster"}


def load(name, quick):
    if name == "scene":
        from _structured import load_scene

        X, y = load_scene()[:2]
        return MultilabelModel(task_loss="hamming"), *((X[:60], y[:60]) if quick else (X, y))
    if name == "digit words":
        from sklearn_fw.datasets import make_digit_words

        X, y = make_digit_words(return_X_y=True)[:2]
    else:
        from sklearn_fw.datasets import load_ocr_letters

        X, y = load_ocr_letters(split="half", return_X_y=True)[:2]
    n = 60 if quick else 626  # as many as fold 0 of the letters has
    return ChainModel("hamming"), X[:n], y[:n]


def estimator_for(model, solver, max_iter=MAX_ITER):
    return StructuredSVM(model, solver=block_solver(solver, gap_check=10), C=1.0,
                         max_iter=max_iter, random_state=0)  # fmt: skip


class Grid:
    def __init__(self, model, solver, X, y):
        self.svm = estimator_for(model, solver)
        self.blocks, _ = self.svm._make_blocks(X, y, None)

    def solve(self, eps, warm):
        """Solve every point to ``eps``; returns dual values and oracle calls per sample."""
        method, duals, calls = None, [], 0
        for lam in GRID:
            if method is None or not warm:
                calls += 0 if method is None else int(self.blocks.counts[CALLS])
                rng = np.random.RandomState(0)
                method = self.svm.solver_.start(self.blocks, lam=lam, tol=eps, rng=rng)
            else:
                method.move_to(lam)
            drive(method, tol=eps, max_iter=MAX_ITER)
            duals.append(method.last.dual)
        return np.array(duals), (calls + int(self.blocks.counts[CALLS])) / self.blocks.n_blocks

    def error(self, path, duals):
        """How far the weights of a path are from the optimum on the grid, at most."""
        n, worst = self.blocks.n_blocks, -np.inf
        for lam, dual in zip(GRID, duals):
            C = 1.0 / (lam * n)
            if path.start_ <= C <= path.end_:
                w = path.coef_at(C)
                worst = max(worst, self.blocks.ask(w)[0] + 0.5 * lam * (w @ w) - dual)
        return float(worst)


def measure(name, quick, repeat):
    return {solver: measure_solver(name, solver, quick, repeat) for solver in SOLVERS}


def measure_solver(name, solver, quick, repeat):
    """One row: cold and warm grid, exact and heuristic path, and their errors."""
    model, X, y = load(name, quick)
    few = slice(0, 30)
    for mode in ("exact", "heuristic"):  # compiles
        regularization_path(estimator_for(model, solver), X[few], y[few], eps=0.5, mode=mode)
    judge = Grid(model, solver, X, y)
    duals = judge.solve(REFERENCE * EPS, warm=True)[0]
    rows = []
    for _ in range(repeat):
        row = {}
        for kind in ("cold", "warm"):
            with Clock() as clock:
                row[f"{kind} calls"] = Grid(model, solver, X, y).solve(EPS, kind == "warm")[1]
            row[f"{kind} s"] = clock.cpu
        for mode in ("exact", "heuristic"):
            with Clock() as clock:
                path = regularization_path(
                    estimator_for(model, solver), X, y, eps=EPS, mode=mode,
                    C_max=1.0 / (GRID[-1] * len(y)),
                )  # fmt: skip
            row |= {
                f"{mode} calls": path.n_oracle_calls_ / len(y), f"{mode} s": clock.cpu,
                f"{mode} points": len(path.values_), f"{mode} end": path.terminated_by_,
            }  # fmt: skip
            row[f"{mode} error"] = judge.error(path, duals)
        rows.append(row)
    return medians(rows)


def path_grid(key, report, options):
    name, what = SETS[key]
    report.section(f"Grid of the paper: {name}")
    report.text(f"""{what}, normalized Hamming loss. A path for all lam with eps = {EPS:g} is
        compared with 31 values of lam, 2^15, 2^14, ..., 2^-15. Each is solved to the same gap, from
        zero ("cold") and from the point before ("warm"), with the two solvers of the paper. Columns
        are oracle calls per sample and CPU seconds, including the setup of the data. Path and grid
        end at 2^-15; the path may end where the mean hinge loss is below eps ("hinge"). "Error" is
        the largest suboptimality at the 31 values, whose optima are known to {REFERENCE * EPS:g}.
        The certificate of the exact path is {EPS:g}; the heuristic path has none.""")
    races = in_child(measure, name, options.quick, options.repeat)
    report.records(
        "solver", races,
        ("cold: calls", "cold calls", ".0f"), ("s", "cold s", ".2f"),
        ("warm: calls", "warm calls", ".0f"), ("s", "warm s", ".2f"),
        ("exact path: points", "exact points", ".0f"), ("calls", "exact calls", ".0f"),
        ("s", "exact s", ".2f"), ("end", "exact end", ""), ("error", "exact error", ".3f"),
        ("heuristic: points", "heuristic points", ".0f"), ("calls", "heuristic calls", ".0f"),
        ("s", "heuristic s", ".2f"), ("error", "heuristic error", ".3f"),
    )  # fmt: skip
    report.text("""Ratios of these numbers, and the description of the curves in the paper, which
        states no numbers:""")
    rows = []
    for what, above, below, paper in (
        ("warm / cold grid", "warm", "cold", PAPER["warm"]),
        ("exact path / cold grid", "exact", "cold", PAPER["path"]),
        ("exact path / warm grid", "exact", "warm", PAPER["path"]),
        ("heuristic path / warm grid", "heuristic", "warm", PAPER["path"]),
        ("heuristic / exact path", "heuristic", "exact", PAPER["warm"]),
    ):
        quotients = [
            [r[f"{above} {unit}"] / r[f"{below} {unit}"] for r in races.values()]
            for unit in ("calls", "s")
        ]
        rows.append([what, *(f"{min(q):.2f} to {max(q):.2f}" for q in quotients), paper])
    report.table(["ratio", "calls", "CPU s", "paper"], rows)
    report.goals(
        ("error of the exact path / eps, largest on the grid",
         max(r["exact error"] for r in races.values()) / EPS, 1.0, "<="),
        ("exact path / warm grid of the paper, CPU s, largest",
         max(r["exact s"] / r["warm s"] for r in races.values()), 1.0, "<="),
    )  # fmt: skip
    wrong = [
        f"{name}, {solver} ({r['heuristic error']:.3g})"
        for solver, r in races.items() if r["heuristic error"] > EPS
    ]  # fmt: skip
    if wrong:
        report.loses(f"The error of the heuristic path exceeds {EPS:g} on {', '.join(wrong)}.")


PATH_GRID = {f"grid-{key}": functools.partial(path_grid, key) for key in SETS}
