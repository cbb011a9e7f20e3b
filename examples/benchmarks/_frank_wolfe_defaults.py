"""What `minimize_frank_wolfe` does without options, against the best choice of variant and step."""

import warnings

import numpy as np
from _frank_wolfe_experiments import flows, lasso, minimize, tall_lasso, video, wide_data
from _frank_wolfe_races import Completion
from _report import Repeats, in_child, shown

from sklearn_fw.optim import domains, objectives

VARIANTS = ("fw", "away", "pairwise", "fully_corrective", "min_norm_point")
STEPS = ("exact", "line_search", "backtracking", "short", "universal")
SHARE, SECONDS, LIMIT = 1e-5, 10.0, 1.5


def _rng():
    return np.random.default_rng(0)


def _logistic(n=1000, d=200):
    A = _rng().standard_normal((n, d))
    y = np.where(A[:, :5].sum(1) + _rng().standard_normal(n) > 0, 1.0, -1.0)
    return objectives.Composite("log_loss", A, y), domains.L1Ball(d, 5.0)


def _simplex(d=500):
    A = _rng().standard_normal((300, d))
    return objectives.LeastSquares(
        A, A[:, :10].mean(1) + 0.1 * _rng().standard_normal(300)
    ), domains.Simplex(d)


def _callable(d=300):
    target = _rng().standard_normal(d)

    def function(x):
        difference = x - target
        return float(np.logaddexp(difference, -difference).sum()), np.tanh(difference)

    return function, domains.L1Ball(d, 0.3 * np.abs(target).sum())


def _box(d=200):
    A = _rng().standard_normal((d, d))
    return objectives.Quadratic(A @ A.T / d, _rng().standard_normal(d)), domains.Box(-1.0, 1.0, d)


def _l2(d=300):
    A = _rng().standard_normal((400, d))
    return objectives.LeastSquares(A, _rng().standard_normal(400)), domains.L2Ball(d, 0.3)


def _matching(n=20):
    target = _rng().random(n * n)
    return objectives.LeastSquares(np.eye(n * n), target), domains.BipartiteMatchings((n, n))


def _triangle():
    theta = np.pi / 10
    vertices = [[0.0, 0.0], [-1.0, 0.0], [np.cos(theta), np.sin(theta)]]
    return objectives.LeastSquares(np.eye(2), [-0.5, 0.01]), domains.ConvexHull(vertices)


def _videos():
    Q, b, videos = video()
    return objectives.Quadratic(Q, b), flows(videos)


def _wide(n=300, d=5000):
    A, b = wide_data(n, d)
    return objectives.LeastSquares(A, b), domains.L1Ball(d, 20.0)


def _completion():
    problem = Completion(quick=True)
    return problem.objective, problem.domain


def _permutahedron(d=200):
    target = 3.0 * d * _rng().standard_normal(d)
    return objectives.LeastSquares(np.eye(d), target), domains.Permutahedron(np.arange(1.0, d + 1))


PROBLEMS = {
    "Lasso 200 x 500": lambda: lasso(0), "Lasso 2,000 x 300": lambda: tall_lasso(0),
    "Lasso 300 x 5,000": _wide, "least squares, simplex": _simplex, "logistic, l1 ball": _logistic,
    "function, l1 ball": _callable, "quadratic, box": _box, "least squares, l2 ball": _l2,
    "matchings 20 x 20": _matching, "triangle": _triangle, "video paths": _videos,
    "permutahedron": _permutahedron, "completion 200 x 100": _completion,
}  # fmt: skip


def measure_choice(name, variant, step_size, share, seconds, repeat):
    """CPU seconds to a share of the first gap; None if it is refused or does not arrive."""
    objective, domain = PROBLEMS[name]()
    start = domain.start().to_array()
    gradient = objective(start)[1]
    first = float(gradient @ start) - domain.lmo(gradient).dot(gradient)
    options = {"variant": variant, "step_size": step_size, "max_iter": 10**6, "tol": share * first}
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of domains other than polytopes
        try:
            minimize(objective, domain, **options | {"max_iter": 3})  # compiles
        except ValueError as error:
            return {"refused": str(error)}
        for _ in range(repeat):
            run = minimize(objective, domain, time_limit=seconds, **options)
            if run.dual_gap > share * first:
                return {"refused": f"gap {run.dual_gap / first:.1e} of the first"}
            found.append(run.cpu)
    return {"seconds": found, "nit": run.nit, "variant": run.variant, "step_size": run.step_size}


def defaults_part(report, options):
    names = list(PROBLEMS)[3:5] if options.quick else PROBLEMS
    seconds = 2.0 if options.quick else SECONDS
    choices = [(v, s) for v in VARIANTS[:3] for s in STEPS] + [(v, "auto") for v in VARIANTS[3:]]
    report.section("Default variant and step size")
    report.text(f"""``minimize_frank_wolfe`` with defaults, compared with the best of {len(choices)}
        combinations of variant and step size, each with at most {seconds:g} s: CPU milliseconds to
        {SHARE:g} of the first gap. Combinations that raise an error or do not reach the gap in time
        are left out.""")
    rows, goals = [], []
    for name in names:
        found = {
            choice: in_child(measure_choice, name, *choice, SHARE, seconds, options.repeat)
            for choice in [("auto", "auto"), *choices]
        }
        ours = found.pop(("auto", "auto"))
        arrived = {choice: Repeats(r["seconds"]) for choice, r in found.items() if "seconds" in r}
        best = min(arrived, key=arrived.get) if arrived else None
        if "seconds" not in ours:
            best = (", ".join(best), shown(1e3 * arrived[best], ".3g")) if best else (None, None)
            rows.append([name, "not reached", None, *best, None])
            goals.append((f"{name}: seconds / best combination", None, LIMIT, "<="))
            continue
        mine = Repeats(ours["seconds"])
        # The defaults are one of the choices, so the best is not slower than they are.
        ratio = mine / min([mine, *arrived.values()])
        chosen = ", ".join(str(ours[key]) for key in ("variant", "step_size") if ours[key])
        rows.append([
            name, chosen, shown(1e3 * mine, ".3g"), ", ".join(best) if best else None,
            shown(1e3 * arrived[best], ".3g") if best else None, shown(ratio, ".2f"),
        ])  # fmt: skip
        goals.append((f"{name}: seconds / best combination", ratio, LIMIT, "<="))
    report.table(["problem", "defaults", "ms", "best combination", "ms, best", "ratio"], rows)
    report.goals(*goals)
