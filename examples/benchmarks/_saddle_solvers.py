"""All solvers of structured SVMs side by side: a part of the benchmark of saddle points."""

import numpy as np
from _report import in_child, medians, shown
from _saddle_problems import PROBLEMS, fit, problem
from sklearn.base import clone

from sklearn_fw.structured import Extragradient, SaddlePointFrankWolfe

RIDGE = ("bcfw", "bcpfw", "extragradient")
BALL = ("sp_fw, ball", "sp_bcfw, ball", "extragradient, ball")
# Passes after which a solver is given up; half as many iterations, which have two prox steps each.
BUDGETS = {
    "digits": 5000, "digit words, lam = 1": 3000, "digit words, lam = 1/3": 3000,
    "planted matchings": 3000, "word alignment": 2000, "scene": 600,
}  # fmt: skip


def contender(name, radius):
    """A solver, with the defaults of all parameters but the radius."""
    if name == "extragradient, ball":
        return Extragradient(radius=radius)
    if name in BALL:
        return SaddlePointFrankWolfe(radius=radius, norm="l2", block=name.startswith("sp_bcfw"))
    return name


def measure_solvers(name, shares, repeat, budget):
    """Optimum, norm of the solution, and for every solver and share what it took."""
    model, X, y, lam = problem(name)
    C = 1.0 / (lam * len(y))
    best = fit(clone(model), "bcpfw", X, y, 3000, 1e-4, C=C)
    optimum, radius = best.objective_, float(np.linalg.norm(best.coef_))
    # Both in units of the objective of the solver: a ball has no ridge term.
    hinge = optimum - 0.5 * lam * radius**2
    found = {}
    for solver_name in (*RIDGE, *BALL):
        solver = contender(solver_name, radius)
        n_passes = budget // 2 if solver_name.startswith("extra") else budget
        options = {"C": C} if solver_name in RIDGE else {}
        fit(clone(model), solver, X[:20], y[:20], 3, **options)  # compilation
        for share in shares:
            runs = []
            tol = share if solver_name in RIDGE else share * optimum / hinge
            for seed in range(repeat):
                svm = fit(clone(model), solver, X, y, n_passes, tol, seed=seed, **options)
                runs.append({
                    "calls": svm.n_oracle_calls_ / len(y), "cpu": svm.cpu,
                    "converged": svm.converged_,
                })  # fmt: skip
            stopped = all(run["converged"] for run in runs)
            found[solver_name, share] = medians(runs) | {"converged": stopped}
            if not stopped:
                break
    return optimum, radius, found


def solvers_compared(report, options):
    shares = (1e-2,) if options.quick else (1e-2, 1e-3)
    report.section("Solvers side by side")
    report.text(
        """Oracle calls per sample and CPU seconds until a solver stops by itself at a certified gap
        of 1 % and of 0.1 % of the optimum with the ridge penalty. A call of extragradient is a prox
        step of one sample, that is one projection of a matching or one pass of sums forward and
        backward, or a call of its certificate. "Ball" means no ridge but a ball, whose radius is
        the norm of the solution, so that the weights are the same, to the same gap; these solvers
        are told that norm. All else are defaults. ">" marks runs that their budget ended, which is
        given in passes; extragradient has half as many iterations, with two prox steps each."""
    )
    names = [name for name in PROBLEMS if not (options.quick and BUDGETS[name] < 3000)]
    report.bullets(*(f"{name}: {PROBLEMS[name]}; budget {BUDGETS[name]}." for name in names))
    rows, ratios, calls = [], [], {solver: {} for solver in (*RIDGE, *BALL)}
    for name in names:
        budget = BUDGETS[name] // 10 if options.quick else BUDGETS[name]
        optimum, radius, found = in_child(measure_solvers, name, shares, options.repeat, budget)
        for solver in (*RIDGE, *BALL):
            cells = []
            for share in shares:
                r = found.get((solver, share))
                cells += (None, None) if r is None else (at_least(r, "calls", ".0f"),
                                                         at_least(r, "cpu", ".2f"))  # fmt: skip
            last = found.get((solver, shares[-1]))
            calls[solver][name] = last["calls"] if last and last["converged"] else None
            rows.append([f"{name}, {solver}", *cells])
        about = f"{name} (optimum {optimum:.4g}, norm {radius:.3g})"
        ratios.append(f"{about}: {'; '.join(_ratio(found, share) for share in shares)}.")
    head = [f"{kind} to {100 * share:g} %" for share in shares for kind in ("calls", "CPU s")]
    report.table(["problem, solver", *head], rows)
    report.loses(*(
        f"Extragradient over the better of bcfw and bcpfw, in calls and in CPU seconds, {ratio}"
        for ratio in ratios
    ))  # fmt: skip
    report.bars(
        f"Oracle calls per sample to a gap of {100 * shares[-1]:g} %", "calls", calls, log=True
    )


def at_least(r, key, style):
    """A cell; ">" before it where the budget ended a run."""
    return shown(r[key], style) if r["converged"] else f"> {r[key]:{style}}"


def _ratio(found, share):
    """How much more extragradient takes, in words."""
    r = found.get(("extragradient", share))
    rivals = [found.get((name, share)) for name in ("bcfw", "bcpfw")]
    rivals = [rival for rival in rivals if rival and rival["converged"]]
    place = f"at {100 * share:g} %"
    if r is None or not rivals:
        return f"no ratio {place}"
    calls, cpu = (r[key] / min(rival[key] for rival in rivals) for key in ("calls", "cpu"))
    return f"{'' if r['converged'] else 'more than '}{calls:.1f} and {cpu:.1f} times {place}"


# ---- word alignment ------------------------------------------------------------------------------
