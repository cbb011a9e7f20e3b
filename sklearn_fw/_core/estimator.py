"""The base of all estimators: a fit that does not come to its end leaves things as they were."""

import functools
import inspect

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from . import check
from .loop import verbose_fit
from .parameters import Parameterized, check_parameters

FITS = "fit", "fit_predict", "fit_transform", "partial_fit"


class Estimator(Parameterized):
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
            with verbose_fit(self, method.__name__):
                return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return fit


class ScoreMixin(RegressorMixin):
    """Score of a regressor, which looks at the targets first."""

    def score(self, X, y, sample_weight=None):
        """Coefficient of determination R^2, by `sklearn.metrics.r2_score`; at most 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        """
        y = check.numbers(y, "y")
        if sample_weight is not None:
            sample_weight = check.sample_weight(sample_weight, len(y) if y.ndim else 1)
        return super().score(X, y, sample_weight)


class LabelMixin(ClassifierMixin):
    """Fit and predictions of classifiers that have probabilities of labels."""

    def fit(self, X, y):
        """Choose the hyper-parameters that are not given, and compute the posterior.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Training rows and their labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        raise NotImplementedError

    def predict_proba(self, X):
        """Probabilities of labels, (n_samples, n_classes), in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        raise NotImplementedError

    def predict(self, X):
        """Labels, the most probable ones unless a parameter says otherwise: (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        best = np.argmax(self.predict_proba(X), axis=1)  # refuses X before a fit
        return self.classes_[best]
