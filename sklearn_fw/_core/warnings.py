"""Warnings that point at the line of the user who called."""

import os
import sys
import warnings
from pathlib import Path

import joblib
from sklearn.utils import parallel

from .callbacks import with_callbacks

# Code that stands between a call of the user and ours: the decorator for callbacks, and joblib.
BETWEEN = (
    str(Path(__file__).parents[1]) + os.sep,
    with_callbacks.__code__.co_filename,
    str(Path(joblib.__file__).parent) + os.sep,
    parallel.__file__,
)


def warn(message, category=UserWarning):
    """Warn of something, a text or a warning, at the first line outside of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
