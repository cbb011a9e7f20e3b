"""When saddle point solvers leave their start, and sparse weights by a cut."""

import numpy as np
from _report import Repeats, in_child, medians, shown
from _saddle_problems import fit, letters, words
from _saddle_sparse import counts

# Radii of the paper, which has l1 balls and this many passes.
PAPER_PASSES = {0.01: 10_000, 5.0: 1000}
PAPER = {0.01: "sp_bcfw close to SSG", 5.0: "SSG faster"}
L2_LAMS = (1.0, 0.01)  # ridges whose solutions have the radii of the l2 balls
SOLVERS = ("sp_fw", "sp_bcfw", "extragradient")
LEVELS = (1e-9, 0.1, 0.5)  # of the way from the start to the optimum
EVERY = 5  # passes between two looks at sp_bcfw and extragradient
CUTS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
CUT_RADII = (5.0, 20.0)


def solver_for(name, radius, norm, gap_check=EVERY, **settings):
    """A solver in a ball."""
    from sklearn_fw.structured import Extragradient, SaddlePointFrankWolfe

    if name == "extragradient":
        return Extragradient(radius=radius, norm=norm, gap_check=gap_check, **settings)
    block = name == "sp_bcfw"
    return SaddlePointFrankWolfe(radius=radius, norm=norm, block=block, gap_check=gap_check)


# ---- leaving the start ---------------------------------------------------------------------------


def ball_of(lam):
    """Norm of the solution with a ridge on the letters."""
    from sklearn_fw.structured import ChainModel

    X, y = letters()
    svm = fit(ChainModel("hamming"), "bcpfw", X, y, 3000, 1e-3, C=1.0 / (lam * len(y)))
    return float(np.linalg.norm(svm.coef_))


def measure_leaving(norm, radius, budget, repeat):
    """For all solvers and orders the best primal values, the best dual value and CPU seconds."""
    from sklearn_fw.structured import ChainModel

    X, y = letters()
    found = {}
    for name in SOLVERS:
        n_passes = budget // 5 if name == "extragradient" else budget
        solver, found[name] = solver_for(name, radius, norm), []
        fit(ChainModel("hamming"), solver, X[:20], y[:20], 2)  # compilation
        for seed in range(repeat):
            svm = fit(ChainModel("hamming"), solver, X, y, n_passes, seed=seed)
            found[name].append({
                "passes": svm.history_["n_iter"].tolist(), "gap": svm.dual_gap_,
                "primal": np.minimum.accumulate(svm.history_["objective"]).tolist(),
                "dual": svm.dual_objective_, "cpu": svm.cpu, "n_iter": svm.n_iter_,
            })  # fmt: skip
    return found


def passes_to(run, start, optimum, level):
    """Passes until a share of the way from the start to the optimum is made; None if never."""
    goal = start - level * (start - optimum)
    for n_passes, value in zip(run["passes"], run["primal"]):
        if value < goal:
            return n_passes
    return None


def leaving(report, options):
    """Section on the start in l1 and l2 balls."""
    in_child(letters)  # skips at once when there are no data
    report.section("Leaving the start: OCR letters")
    balls = [("l1", radius) for radius in PAPER_PASSES]
    balls += [("l2", in_child(ball_of, lam)) for lam in L2_LAMS]
    report.text(
        f"""The first 100 training words as above. All solvers start at w = 0, whose primal value
        is the mean largest loss, and report the best weights met: for how many passes (iterations
        of extragradient, of two prox steps each) nothing is better than that start, and how many
        make a tenth and half of the way from there to the optimum. l1 balls have the radii of the
        paper and its numbers of passes, l2 balls the norms of ridge solutions with lam =
        {" and ".join(f"{lam:g}" for lam in L2_LAMS)}. Certificates come every {EVERY} passes
        (sp_fw: every pass); medians of {options.repeat} random orders of sp_bcfw; "--" where it was
        not reached. Gap is the certificate at the end. The paper says of its curves: {PAPER[0.01]}
        for R = 0.01, {PAPER[5.0]} for R = 5."""
    )
    rows, left = [], {}
    for norm, radius in balls:
        budget = PAPER_PASSES.get(radius, 1000)
        budget = budget // 50 if options.quick else budget
        found = in_child(measure_leaving, norm, radius, budget, options.repeat)
        optimum = max(run["dual"] for runs in found.values() for run in runs)
        start = found["sp_fw"][0]["primal"][0]  # its first certificate is that of w = 0
        for name, runs in found.items():
            cells = [_middle([passes_to(run, start, optimum, level) for run in runs])
                     for level in LEVELS]  # fmt: skip
            rows.append([
                f"{norm}, R = {radius:.3g}, {name}", runs[0]["n_iter"], *cells,
                shown(Repeats(run["gap"] for run in runs), ".2g"),
                shown(Repeats(1e3 * run["cpu"] / run["n_iter"] for run in runs), ".2f"),
            ])  # fmt: skip
            left[name, norm, radius] = cells[0]
    report.table(["ball, method", "passes", "leaves", "10 %", "50 %", "gap", "ms of a pass"], rows)
    stuck = [
        f"{name} in the {norm} ball of {radius:.3g}" for (name, norm, radius), n in left.items()
        if n is None
    ]  # fmt: skip
    if stuck:
        report.loses(f"OCR letters: no better than w = 0 in its budget: {', '.join(stuck)}.")


def _middle(values):
    return None if any(value is None for value in values) else Repeats(values)


# ---- cut -----------------------------------------------------------------------------------------


def measure_cut(radius, cut, n_iter, repeat):
    """Extragradient in the l1 ball with a cut on digit words; None is sp_fw."""
    from sklearn_fw.structured import ChainModel

    X, y, X_test, y_test = words(100)
    if cut is None:
        solver = solver_for("sp_fw", radius, "l1")
    else:
        solver = solver_for("extragradient", radius, "l1", 10, cut=cut)
    fit(ChainModel("hamming"), solver, X[:20], y[:20], 2)  # compilation
    rows = []
    for _ in range(repeat):
        svm = fit(ChainModel("hamming"), solver, X, y, n_iter)
        rows.append({
            "objective": svm.objective_, "gap": svm.dual_gap_, "cpu": svm.cpu,
            "calls": svm.n_oracle_calls_ / len(y),
            "test": float(svm.loss(X_test, y_test).mean()), **counts(svm.coef_),
        })  # fmt: skip
    return medians(rows)


def cuts(report, options):
    """Section on sparse weights by a cut."""
    n_iter = 50 if options.quick else 500
    report.section("Sparse weights by a cut: digit words")
    report.text(
        f"""100 training words as above, l1 balls: extragradient, {n_iter} iterations, whose weights
        are set to zero below a fraction of the largest before each certificate (``cut``), beside
        sp_fw after {n_iter}, {4 * n_iter} and {20 * n_iter} passes, which has at most as many
        weights as passes. Primal value of the weights returned, certified gap, weights that are
        not zero, mean loss on 600 test words, calls per word and CPU seconds."""
    )
    rows, ratios = [], []
    for radius in CUT_RADII[1:] if options.quick else CUT_RADII:
        found = {f"cut = {cut:g}": in_child(measure_cut, radius, cut, n_iter, options.repeat)
                 for cut in CUTS}  # fmt: skip
        for factor in (1, 4, 20):
            budget = n_iter * factor
            found[f"sp_fw, {budget}"] = in_child(measure_cut, radius, None, budget, options.repeat)
        for name, r in found.items():
            rows.append([
                f"R = {radius:g}, {name}", shown(r["objective"], ".4f"), shown(r["gap"], ".2g"),
                r["weights"], shown(r["test"], ".4f"), shown(r["calls"], ".0f"),
                shown(r["cpu"], ".2f"),
            ])  # fmt: skip
        ratios.append((radius, found["cut = 0.01"], found[f"sp_fw, {20 * n_iter}"]))
    report.table(
        ["ball, method", "objective", "gap", "weights", "test loss", "calls", "CPU s"], rows
    )
    report.goals(
        *(
            (f"objective with cut = 0.01 over that of the longest run of sp_fw, R = {radius:g}",
             ours["objective"] / theirs["objective"], 1.0, "<=")
            for radius, ours, theirs in ratios
        ),
        *(
            (f"CPU s with cut = 0.01 over those of the longest run of sp_fw, R = {radius:g}",
             ours["cpu"] / theirs["cpu"], 1.0, "<=")
            for radius, ours, theirs in ratios
        ),
    )  # fmt: skip
