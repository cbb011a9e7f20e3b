"""What to do about a fit that its budget ended, in the case at hand."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core.result import Status
from .._core.warnings import warn
from .._kernels import lazy
from ._choice_of_c import factors_of, natural_C
from ._problems._part_sets import rows_of
from ._solvers import BlockFrankWolfe, has_radius

block_rules = lazy("structured.block_rules")

LARGE_C = 50.0  # times the natural one
UNEQUAL = 100.0  # root mean squares of columns, the largest over the median
FAR = 0.5  # of the objective
SATURATED = 0.5  # share of samples for which the best few outputs are too few to be smooth


def warn_of_oracle(blocks):
    """A RuntimeWarning when the oracle turned out not to be exact."""
    n_worse = blocks.counts[block_rules.WORSE]
    faults = []
    if n_worse:
        faults.append(f"answered {n_worse} times with an output worse than the true one")
    if blocks.n_unbounded:
        faults.append(f"gave {blocks.n_unbounded} answers without an upper bound")
    if faults:
        void = ", and dual_gap_ is not a certificate: take one that is exact or has bounds"
        helps = (
            ". Remedies: an oracle that searches longer, such as BestOf(tol=1e-6), a larger "
            "max_iter of it, or a model without cycles"
        )
        warn(
            f"the oracle {' and '.join(faults)}: it is not exact"
            f"{'' if blocks.certified else void}{helps if n_worse else ''}",
            RuntimeWarning,
        )


def warn_of_budget(svm, status, other_help):
    """A ConvergenceWarning with numbers, unless the fit converged or ``tol=0``."""
    if status not in (Status.MAX_ITER, Status.TIME_LIMIT) or svm.tol_ == 0:
        return
    gap, objective, n_iter = svm.dual_gap_, abs(svm.objective_), svm.n_iter_
    of_objective = f", {gap / objective:.2g} of the objective" if objective > 0 else ""
    what, done, kind = svm._iterations
    if status is Status.TIME_LIMIT:
        own = "" if svm.time_limit is None else f"={svm.time_limit:.3g}"  # else that of a search
        ended = f"time_limit{own} ended the fit after {n_iter} {what}"
        helps = "a larger time_limit"
    else:
        ended, helps = f"{n_iter} {what} were {done}", f"max_iter above {n_iter}"
    helps = "; ".join([helps, *other_help])
    warn(
        f"{ended} and the {kind} is {gap:.3g}{of_objective}, more than tol={svm.tol_:.3g}. "
        f"Remedies: {helps}{'; or accept it with a larger tol' if svm.tol_ < 0.1 else ''}",
        ConvergenceWarning,
    )


def other_help(svm, blocks):
    """Remedies besides a larger budget."""
    solver, is_near = svm.solver_, svm.dual_gap_ < FAR * abs(svm.objective_)
    if isinstance(solver, BlockFrankWolfe) and solver.variant == "fw" and is_near:
        yield "solver='bcpfw', which needs fewer passes for a small gap"
    saturated = svm.history_.get("saturated", [0.0])[-1]
    if saturated > SATURATED:
        yield (
            f"n_best='adaptive' or a smaller mu of {type(solver).__name__} (the best "
            f"{solver.n_best} outputs are too few for {100 * saturated:.0f} % of the samples)"
        )
    natural = natural_C(blocks)
    low, *_, high = natural * factors_of(blocks)
    if not has_radius(solver) and LARGE_C * natural < svm.C_:
        yield f"a smaller C (C='auto' considers {low:.2g} to {high:.2g})"
    if columns := help_of_columns(svm, blocks):
        yield f"{columns}, which C='auto' brings about"


def help_of_columns(svm, blocks):
    """The remedy for columns of X in unlike units; empty where there are none, or none known."""
    if not hasattr(blocks, "_parts") or np.ndim(svm.feature_scale_) == 1:
        return ""
    rows = rows_of(blocks._parts)[:, : svm.n_features_in_]
    # Indicators are rare or frequent, not large or small.
    if np.isin(rows.data, (0.0, 1.0, 1.0 / svm.feature_scale_)).all():
        return ""
    sizes = np.sqrt(rows.astype(np.float64).power(2).sum(axis=0))
    ratio = sizes.max() / np.median(sizes[sizes > 0.0])
    text = f"columns of X on one scale (the largest is {ratio:.0f} times the median one)"
    return text if ratio > UNEQUAL else ""
