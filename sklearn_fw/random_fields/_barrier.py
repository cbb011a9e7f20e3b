"""Settings of the search of `TRWMarginals`."""

from numbers import Real

from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from .._core.validation import check_choice, check_integer, check_positive, is_auto

LOOSE = 0.1  # part of a large gap that a correction may leave


class BarrierFrankWolfe(BaseEstimator):
    """Fully corrective Frank-Wolfe on the tree-reweighted objective: settings of `TRWMarginals`.

    Its parameters are grid keys ``solver__variant``.

    Parameters
    ----------
    variant : {"away", "pairwise", "fw"} or None, default="away"
        Steps of the corrections, which optimise over the labellings found so far: away steps,
        pairwise steps, or plain ones. None makes no corrections.
    correction_every : int, default=1
        Oracle calls between corrections.
    correction_tol : "auto" or float, default="auto"
        Gap at which a correction ends. "auto": 0.5 while the gap is above 1, then 0.05, and at most
        a fifth of small ``tol``.
    contraction : {"adaptive", "fixed", "none"}, default="adaptive"
        Keep marginals off the boundary, where the gradient is infinite: in a polytope shrunk
        towards the uniform point by ``delta``, which shrinks less as the gap falls; by a fixed
        ``delta``; or not at all, with a floor in the logarithms, which certifies nothing.
    delta : float, default=0.05
        Contraction at the start: in (0, 1/4] if adaptive, in (0, 1) if fixed.
    local_search : {"auto", "icm"} or None, default="auto"
        Between oracle calls also step towards labellings found by local search. "auto" does so
        where ``oracle="auto"`` ends with "approx": on large graphs such steps cost little.
    rho_step_size : {"universal", "line_search"}, default="universal"
        Step towards the best spanning tree: 2 / (i + 2), or the best one, which costs more.

    See Also
    --------
    TRWMarginals : Takes it as ``solver``.

    References
    ----------
    .. [1] R. G. Krishnan, S. Lacoste-Julien, D. Sontag, "Barrier Frank-Wolfe for marginal
       inference", NIPS 2015: Algorithms 1 and 2.

    Examples
    --------
    >>> from sklearn_fw import TRWMarginals
    >>> from sklearn_fw.random_fields import BarrierFrankWolfe
    >>> trw = TRWMarginals("elimination", solver=BarrierFrankWolfe(variant="pairwise"))
    >>> trw.set_params(solver__delta=0.1).solver
    BarrierFrankWolfe(delta=0.1, variant='pairwise')
    """

    def __init__(
        self,
        variant="away",
        *,
        correction_every=1,
        correction_tol="auto",
        contraction="adaptive",
        delta=0.05,
        local_search="auto",
        rho_step_size="universal",
    ):
        self.variant = variant
        self.correction_every = correction_every
        self.correction_tol = correction_tol
        self.contraction = contraction
        self.delta = delta
        self.local_search = local_search
        self.rho_step_size = rho_step_size

    def _check(self):
        """Refuse settings that make no sense."""
        if self.variant is not None:
            check_choice(self.variant, "variant", {"away", "pairwise", "fw"})
        check_integer(self.correction_every, "correction_every", 1)
        if not is_auto(self.correction_tol):
            check_positive(self.correction_tol, "correction_tol")
        check_choice(self.contraction, "contraction", {"adaptive", "fixed", "none"})
        if self.contraction != "none":
            check_positive(self.delta, "delta")
            largest = 0.25 if self.contraction == "adaptive" else 1.0
            check_scalar(
                self.delta, "delta", Real, min_val=0, max_val=largest,
                include_boundaries="right" if largest < 1 else "neither",
            )  # fmt: skip
        if self.local_search is not None:
            check_choice(self.local_search, "local_search", {"auto", "icm"})
        check_choice(self.rho_step_size, "rho_step_size", {"universal", "line_search"})

    def _tol_of_correction(self, gap, tol):
        """Pairwise gap at which a correction ends, given the gap outside of it."""
        if not is_auto(self.correction_tol):
            return self.correction_tol
        # The authors' choice where gaps are a few nats; large graphs begin with thousands. Anything
        # looser than the goal would stall the outer loop.
        auto = max(0.5, LOOSE * gap) if gap >= 1.0 else 0.05
        return auto if tol >= 0.25 else min(auto, tol / 5)
