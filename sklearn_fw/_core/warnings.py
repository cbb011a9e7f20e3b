"""Warnings that point at the line of the user who called."""

import os
import sys
import warnings
from numbers import Number
from pathlib import Path

import joblib
import sklearn
from sklearn.utils import parallel

from .callbacks import with_callbacks

# Code that stands between a call of the user and ours: the decorator for callbacks, and joblib.
BETWEEN = (
    str(Path(__file__).parents[1]) + os.sep,
    with_callbacks.__code__.co_filename,
    str(Path(joblib.__file__).parent) + os.sep,
    parallel.__file__,
)
SCORER = str(Path(sklearn.__file__).parent / "metrics" / "_scorer.py")


def warn(message, category=UserWarning):
    """Warn of something, a text or a warning, at the first line outside of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def refuse_scorer(outputs):
    """Raise where a metric of scikit-learn is about to compare structured outputs."""
    if outputs.dtype.kind != "O" or not len(outputs) or isinstance(outputs[0], str | Number):
        return
    frame, depth = sys._getframe(1), 0
    while frame.f_code.co_filename != SCORER or "self" not in frame.f_code.co_varnames:
        frame, depth = frame.f_back, depth + 1
        if frame is None or depth > 12:
            return
    metric = getattr(frame.f_locals["self"], "_score_func", None)
    if str(getattr(metric, "__module__", None)).startswith("sklearn."):
        raise ValueError(
            f"{metric.__name__} of scikit-learn does not support structured outputs: use one of "
            "sklearn_fw.metrics.SCORERS, for instance scoring=SCORERS['node_accuracy'], or "
            "scoring=None for the score of the estimator"
        )
