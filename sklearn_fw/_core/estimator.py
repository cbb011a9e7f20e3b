"""The base of all estimators: a fit that does not come to its end leaves things as they were."""

import functools
import inspect

from sklearn.base import BaseEstimator

from .parameters import check_parameters

FITS = "fit", "fit_predict", "fit_transform", "partial_fit"


class Estimator(BaseEstimator):
    """Estimator whose fits are all or nothing, in subclasses too.

    A fit that raises, Ctrl-C included, restores the attributes of before: those of the previous
    fit, or none. What a fit keeps it must replace, never change in place.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in FITS:
            method = vars(cls).get(name)
            if inspect.isfunction(method):
                setattr(cls, name, _all_or_nothing(method))
            elif hasattr(method, "fn"):  # of `available_if`
                method.fn = _all_or_nothing(method.fn)


def _all_or_nothing(method):
    @functools.wraps(method)
    def fit(self, *args, **kwargs):
        check_parameters(self)
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return fit
