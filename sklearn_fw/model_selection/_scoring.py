"""Scorers by name, for single labels and for structured outputs."""

import inspect

from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils import get_tags


def score_with(scorer, estimator, X, y, sample_weight):
    """What a scorer says; one of the user's gets weights if it has a parameter for them."""
    takes_weights = sample_weight is not None and accepts(scorer, "sample_weight")
    weights = {"sample_weight": sample_weight} if takes_weights else {}
    return scorer(estimator, X, y, **weights)


def accepts(function, name):
    """Whether a callable has a parameter, or takes any."""
    try:
        known = inspect.signature(function).parameters
    except ValueError:  # compiled functions may have none
        return False
    return name in known or any(p.kind is p.VAR_KEYWORD for p in known.values())


def check_scorer(estimator, scoring):
    """The scorer that ``scoring`` means; None is the estimator's own score."""
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
