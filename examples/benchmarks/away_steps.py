"""Randomized away steps on listed atoms, extragradient and block-coordinate steps."""

import itertools
import statistics
import warnings
from typing import NamedTuple

import numpy as np
from _report import Clock, Repeats, in_child, main, shown, timed
from sklearn.datasets import load_diabetes, load_iris
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import MulticlassModel

ROUNDING = 1e-14


class Run(NamedTuple):
    alpha: np.ndarray  # (m,)
    gap: float  # exact
    n_iter: int
    n_looked_at: int  # gradients of single atoms, certificates included


def away_steps(V, c, scale, *, n_sampled=None, tol, max_iter, check_every=10, seed=0):
    """Minimize to an exact gap of ``tol``; ``n_sampled`` of None looks at all atoms.

    Boileau, Lamouchi and St-Arnaud, 2019, appendix: randomized away-step Frank-Wolfe.
    """
    rng, m = np.random.default_rng(seed), len(c)
    n_sampled = m if n_sampled is None else min(n_sampled, m)
    alpha = np.zeros(m)
    alpha[rng.integers(m)] = 1.0
    u, looked, gap = V.T @ alpha, 0, np.inf
    for n_iter in range(max_iter + 1):
        if n_iter % check_every == 0 or n_iter == max_iter:
            u = V.T @ alpha  # without the drift of many steps
            gradient, looked = scale * (V @ u) - c, looked + m
            gap = float(gradient @ alpha - gradient.min())
            if gap <= tol or n_iter == max_iter:
                break
        active = np.flatnonzero(alpha)
        others = np.flatnonzero(alpha == 0.0)
        if n_sampled < len(others):
            others = rng.choice(others, n_sampled, replace=False)
        seen = np.concatenate([active, others])
        gradient, looked = scale * (V[seen] @ u) - c[seen], looked + len(seen)
        here = gradient[: len(active)] @ alpha[active]
        best, worst = int(np.argmin(gradient)), int(np.argmax(gradient[: len(active)]))
        if here - gradient[best] >= gradient[worst] - here:
            k, slope, longest, sign = seen[best], here - gradient[best], 1.0, 1.0
        else:
            k, slope, sign = active[worst], gradient[worst] - here, -1.0
            longest = alpha[k] / (1.0 - alpha[k])
        if slope <= 0.0:
            continue
        direction = sign * (V[k] - u)
        curvature = scale * (direction @ direction)
        gamma = longest if slope >= longest * curvature else slope / curvature
        alpha *= 1.0 - sign * gamma
        alpha[k] += sign * gamma
        if gamma == longest and sign < 0.0:
            alpha[k] = 0.0  # a drop step, exactly
        u = u + gamma * direction
        alpha[alpha < ROUNDING] = 0.0
    return Run(alpha / alpha.sum(), gap, n_iter, looked)


ABOUT = """
Boileau, Lamouchi and St-Arnaud ("RAFW", 2019, a report on dual extragradient) describe away-step
Frank-Wolfe whose linear minimization oracle searches a random sample of the atoms and the active
set. It converges linearly in expectation on polytopes whose atoms can be listed and sampled. The
package does not contain it, because outputs of structured problems can be neither. This page
measures the effect of sampling on listed atoms, and compares the cost with that of methods for
structured problems.
"""
SHARES = (1.0, 0.25, 0.1, 0.02)
LASSO_TOL, DUAL_TOL, BUDGET = 1e-6, 1e-3, 200_000


def lasso(radius):
    """Atoms of an l1 ball for the least squares of the diabetes data with products of columns."""
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(PolynomialFeatures(2, include_bias=False).fit_transform(X))
    y = (y - y.mean()) / y.std()
    rows = radius * np.vstack([X.T, -X.T]) / np.sqrt(len(y))
    return rows, rows @ y / np.sqrt(len(y))


def sampled(V, c, scale, share, tol, max_iter, repeat):
    """Iterations, gradients of atoms, CPU seconds and gaps with a share of the atoms sampled."""
    runs, n_sampled = [], max(1, round(share * len(c)))
    for seed in range(repeat):
        with Clock() as clock:
            run = away_steps(
                V, c, scale, n_sampled=n_sampled, tol=tol, max_iter=max_iter, seed=seed
            )
        runs.append((run.n_iter, run.n_looked_at, clock.cpu, run.gap))
    return zip(*runs, strict=True)


def measure_lasso(repeat, quick):
    """Iterations, gradients of atoms and CPU seconds to the gap, by share of the atoms sampled."""
    V, c = lasso(1.0)
    found = {}
    for share in SHARES:
        n_iter, looks, *rest = sampled(
            V, c, 1.0, share, LASSO_TOL, 2000 if quick else BUDGET, repeat
        )
        found[share] = [n_iter, [look / len(c) for look in looks], *rest]
    return len(c), found


def listed_outputs(n):
    """All joint outputs of n flowers as atoms of one simplex, and the flowers."""
    X, y = load_iris(return_X_y=True)
    keep = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[keep] / 8.0, y[keep]
    outputs = np.array(list(itertools.product(range(3), repeat=n)))
    losses = (outputs != y).mean(axis=1)
    rows = np.zeros((len(outputs), 3, X.shape[1]))
    for i in range(n):
        rows[:, y[i]] += X[i] / n
        rows[np.arange(len(outputs)), outputs[:, i]] -= X[i] / n
    return rows.reshape(len(outputs), -1), losses, X, y


def measure_dual(n, repeat, quick):
    """Calls or gradients per sample, CPU seconds and gaps of all contenders on one problem."""
    warnings.simplefilter("ignore")
    V, c, X, y = listed_outputs(n)
    C = 10.0
    lam = 1.0 / (C * n)
    found = {}

    def svm(solver):
        model = MulticlassModel(fit_intercept=False)
        settings = {"tol": DUAL_TOL, "max_iter": BUDGET, "random_state": 0}
        return StructuredSVM(model, solver=solver, C=C, **settings).fit(X, y)

    for name in ("bcpfw", "extragradient"):
        svm(name)  # compiled here
        fitted, seconds = timed(lambda name=name: svm(name), repeat)
        found[name] = [[fitted.n_oracle_calls_], seconds.values, [fitted.dual_gap_]]
    tol = DUAL_TOL * fitted.objective_
    for share in SHARES:
        _, looks, *rest = sampled(V, c, 1.0 / lam, share, tol, 500 if quick else 5000, repeat)
        found[f"away steps, {share:.0%} of the atoms"] = [looks, *rest]
    return len(c), fitted.objective_, found


def ball(report, options):
    report.section("Vertices of an l1 ball")
    n_atoms, found = in_child(measure_lasso, options.repeat, options.quick)
    report.text(f"""Least squares in the l1 ball of radius 1, on the diabetes data with all products
        of two columns, standardized; {n_atoms} vertices. Runs stop at a gap of {LASSO_TOL:g}. The
        gap needs all vertices and is computed every ten iterations. "Gradients" is the number of
        gradients of single vertices, including those of gaps, over the number of vertices.""")
    report.records(
        "sampled", {f"{share:.0%}": list(map(Repeats, run)) for share, run in found.items()},
        ("iterations", lambda run: run[0]), ("gradients", lambda run: run[1], ".0f"),
        ("seconds", lambda run: run[2], ".3f"), ("gap", lambda run: run[3], ".1e"),
    )  # fmt: skip
    full, few = (statistics.median(found[share][1]) for share in (1.0, 0.1))
    report.goals(("gradients, 10 % sampled / all", few / full, 1.0, "<="))
    report.lines(
        "Least squares in an l1 ball: gradients of vertices to the gap",
        "fraction of the vertices sampled", "gradients per vertex",
        {"away steps": (list(SHARES), [statistics.median(found[s][1]) for s in SHARES])}, log="xy",
    )  # fmt: skip


def dual(report, options):
    report.section("Joint outputs of a structured problem")
    report.text(f"""The dual of a structured support vector machine on n iris flowers, C = 10, whose
        {3}^n joint outputs are listed as atoms of one simplex. Runs stop at a gap of {DUAL_TOL:g}
        of the objective. "Calls" are oracle calls for one flower or gradients of single atoms,
        including those of certificates. Block steps and extragradient do not list joint
        outputs.""")
    rows, worst = [], {}
    for n in (3, 5) if options.quick else (3, 5, 7):
        n_atoms, objective, found = in_child(measure_dual, n, options.repeat, options.quick)
        for name, (asked, seconds, gaps) in found.items():
            gap = shown(statistics.median(gaps) / objective, ".1e")
            rows.append([f"n = {n}, {name}", n_atoms, shown(Repeats(asked), ".0f"),
                         shown(Repeats(seconds), ".4f"), gap])  # fmt: skip
            worst[n, name] = statistics.median(asked)
    report.table(["run", "atoms", "calls", "seconds", "gap"], rows)
    last = max(n for n, _ in worst)
    least = min(v for (n, name), v in worst.items() if n == last and "away" in name)
    report.goals(
        ("calls, extragradient / best away steps, largest n",
         worst[last, "extragradient"] / least, 1.0, "<="),
    )  # fmt: skip


if __name__ == "__main__":
    parts = {"ball": ball, "dual": dual}
    raise SystemExit(main("away_steps", "Randomized away steps", ABOUT, parts))
