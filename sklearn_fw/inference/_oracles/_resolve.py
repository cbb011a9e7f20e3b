"""From what a user writes as ``oracle=`` to an oracle."""

from sklearn.base import clone

from ..._core.checked_oracle import can_be_asked, checked
from ..._core.validation import is_auto
from ._best_of import BestOf
from ._branch_and_bound import BranchAndBound
from ._callable import CallableOracle
from ._chain import Viterbi
from ._elimination import Elimination
from ._enumeration import Enumeration
from ._graph_cut import GraphCut
from ._icm import ICM
from ._linear_programs import MILP, LPRelaxation
from ._local_search import IteratedLocalSearch
from ._max_product import MaxProduct
from ._moves import AlphaBetaSwap, AlphaExpansion
from ._qpbo import QPBO
from ._toulbar2 import Toulbar2
from ._tree import TreeMaxProduct
from ._trws import TRWS

# The one list of names; a new oracle adds its name here.
ORACLES = {
    "alpha_beta_swap": AlphaBetaSwap,
    "alpha_expansion": AlphaExpansion,
    "approx": BestOf,
    "branch_and_bound": BranchAndBound,
    "elimination": Elimination,
    "enumeration": Enumeration,
    "graph_cut": GraphCut,
    "icm": ICM,
    "ils": IteratedLocalSearch,
    "lp": LPRelaxation,
    "max_product": MaxProduct,
    "milp": MILP,
    "qpbo": QPBO,
    "toulbar2": Toulbar2,
    "tree": TreeMaxProduct,
    "trws": TRWS,
    "viterbi": Viterbi,
}


def resolve_oracle(oracle, *, default=None):
    """Turn the ``oracle`` parameter of an estimator into an object with ``argmax``.

    Parameters
    ----------
    oracle : str, object or callable
        "auto" for ``default``; a name: "alpha_beta_swap", "alpha_expansion", "approx" (`BestOf`),
        "branch_and_bound", "elimination", "enumeration", "graph_cut", "icm", "ils", "lp",
        "max_product", "milp", "qpbo", "toulbar2", "tree", "trws" or "viterbi"; an object with a
        method ``argmax(scores, start=None) -> (labels, value, upper_bound)``, which is cloned if it
        has parameters, so that the estimator's own parameter stays as it was; or a function
        ``scores -> labels``, which becomes a `CallableOracle`.
    default : str, object or callable, default=None
        What "auto" stands for, in any of the other forms.

    Returns
    -------
    oracle : object
        An oracle.

    Examples
    --------
    >>> from sklearn_fw.inference import resolve_oracle
    >>> resolve_oracle("auto", default="viterbi")
    Viterbi()
    >>> resolve_oracle(lambda scores: scores.unary.argmax(axis=1)).exact
    False
    """
    if not (default is None or isinstance(default, str) or hasattr(default, "argmax")):
        raise TypeError(
            f"default must be None or the name of an oracle, got {type(default).__name__}"
        )
    if isinstance(oracle, str):
        if is_auto(oracle):
            if default is None or is_auto(default):
                raise ValueError(
                    f"oracle='auto' has no meaning here: name one of {sorted(ORACLES)} or pass an "
                    f"object"
                )
            return resolve_oracle(default)
        if oracle not in ORACLES:
            raise ValueError(
                f"oracle={oracle!r} is unknown; names are {['auto', *sorted(ORACLES)]}"
            )
        return ORACLES[oracle]()
    if isinstance(oracle, type):
        raise TypeError(f"oracle is the class {oracle.__name__}, pass an object of that class")
    if can_be_asked(oracle):
        return clone(oracle) if hasattr(oracle, "get_params") else oracle
    if callable(oracle):
        return CallableOracle(oracle)
    raise TypeError(
        f"oracle must be a name out of {['auto', *sorted(ORACLES)]}, an object with a method "
        f"argmax(scores, start=None) or a function of scores, got {type(oracle).__name__}"
    )


def trusted_oracle(oracle):
    """`resolve_oracle`, with the answers of oracles of users checked."""
    return checked(resolve_oracle(oracle))
