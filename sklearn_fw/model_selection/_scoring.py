"""Scorers by name, for single labels and for structured outputs."""

import inspect

from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils import get_tags

__all__ = ["check_scorer", "score_with"]


def score_with(scorer, estimator, X, y, sample_weight):
    """What a scorer says; one of the user's gets weights if it has a parameter for them."""
    if sample_weight is None:
        return scorer(estimator, X, y)
    own = inspect.isfunction(scorer) and "sample_weight" not in inspect.signature(scorer).parameters
    weights = {} if own else {"sample_weight": sample_weight}
    return scorer(estimator, X, y, **weights)


def check_scorer(estimator, scoring):
    """The scorer that ``scoring`` means.

    Parameters
    ----------
    estimator : estimator
        What is to be scored; its tags say whether outputs are structured.
    scoring : str, callable or None
        Name of a scorer of `sklearn_fw.metrics.SCORERS` or, for outputs in arrays, of
        scikit-learn; or ``scoring(estimator, X, y)``. None means the estimator's score.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y)``, larger is better.

    Raises
    ------
    TypeError
        When scoring is something else.
    ValueError
        When there is no scorer of this name for such outputs.
    """
    if not isinstance(scoring, str):
        if scoring is not None and not callable(scoring):
            raise TypeError(
                f"scoring must be one name, a callable or None, got {type(scoring).__name__}"
            )
        return check_scoring(estimator, scoring)
    from ..metrics import SCORERS

    if scoring in SCORERS:
        return SCORERS[scoring]
    own = ", ".join(repr(name) for name in SCORERS)
    if not get_tags(estimator).input_tags.two_d_array:
        raise ValueError(
            f"scoring={scoring!r} is no scorer of structured outputs: take one of {own}, a "
            f"callable scoring(estimator, X, y), or None for one minus the mean task loss"
        )
    try:
        return get_scorer(scoring)
    except ValueError:
        raise ValueError(
            f"scoring={scoring!r} is neither a scorer of scikit-learn "
            f"(sklearn.metrics.get_scorer_names) nor one of {own}"
        ) from None
