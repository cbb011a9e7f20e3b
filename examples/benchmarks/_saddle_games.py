"""Matrix games, small ones and those of matchings: parts of the benchmark of saddle points."""

from _report import in_child, medians, shown
from _saddle_problems import fit, words
from _saddle_sparse import counts

from sklearn_fw.structured import ChainModel, Extragradient, SaddlePointFrankWolfe

EVERY = 5  # passes between two looks at sp_bcfw and extragradient
CUTS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
CUT_RADII = (5.0, 20.0)


def solver_for(name, radius, norm, gap_check=EVERY, **settings):
    if name == "extragradient":
        return Extragradient(radius=radius, norm=norm, gap_check=gap_check, **settings)
    block = name == "sp_bcfw"
    return SaddlePointFrankWolfe(radius=radius, norm=norm, block=block, gap_check=gap_check)


# ---- leaving the start ---------------------------------------------------------------------------


# ---- cut -----------------------------------------------------------------------------------------


def measure_cut(radius, cut, n_iter, repeat):
    """Extragradient in the l1 ball with a cut on digit words; None is sp_fw."""
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
