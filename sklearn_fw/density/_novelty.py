"""From scores to decisions: threshold, labels and p-values of a density."""

import numpy as np
from sklearn.base import OutlierMixin

from .._core.validation import is_auto
from ._threshold import ReferenceScores

NORMAL_SHARE = 0.05  # of new normal rows that contamination="auto" calls outliers


class NoveltyMixin(OutlierMixin):
    """Decisions about new rows, calibrated by the scores of left-out training rows.

    An estimator gives `score_samples`, `_check_query`, `_model_backend`, `_place` (for each row of
    the X of `fit` its position in the model, -1 where its weight is zero) and calls `_calibrate`.
    """

    def _calibrate(self, scores, weight):
        """Take the scores of the left-out rows, on the scale of new rows."""
        self._reference = ReferenceScores(scores, weight)
        share = NORMAL_SHARE if is_auto(self.contamination) else self.contamination
        self.offset_ = self._reference.threshold(share)

    def decision_function(self, X, *, diag=None):
        """`score_samples` minus ``offset_``: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
        diag : array-like of shape (n_samples,), default=None
            Values k(x, x), for precomputed kernels where they are not constant.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Negative for outliers.
        """
        self._check_query(X, "decision_function")
        return self.score_samples(X, diag=diag) - self.offset_

    def predict(self, X, *, diag=None):
        """Label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
        diag : array-like of shape (n_samples,), default=None
            Values k(x, x), for precomputed kernels where they are not constant.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 for inliers, -1 for outliers.
        """
        self._check_query(X, "predict")
        return self._label(self.decision_function(X, diag=diag))

    def _label(self, scores):
        xp = self._model_backend().xp
        ones = xp.ones_like(scores, dtype=xp.int64)
        return xp.where(scores < 0, -ones, ones)

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and label every training row by the model without it.

        ``contamination`` is thus the share of outliers here, too, while ``fit(X).predict(X)`` says
        "normal" to nearly all rows, as each is explained by itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or kernel values of shape (n_samples, n_samples).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight zero are labelled as new ones.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 for inliers, -1 for outliers.
        """
        self.fit(X, y, sample_weight=sample_weight)
        decision, unused = self._reference.scores[self._place] - self.offset_, self._place < 0
        if np.any(unused):
            decision[unused] = self._model_backend().to_host(self.decision_function(X))[unused]
        return self._label(self._model_backend().array(decision, X))

    def novelty_p_values(self, X, *, diag=None):
        """Share of training rows that are at least as novel, each seen by the model without it.

        With scores S_i of the n training rows, each left out with its copies, and the score S(x) of
        a new row,

            ``p(x) = (1 + #{i: S_i <= S(x)}) / (1 + n)`` ,

        where equality is up to rounding; rows of weight k count k times. S_i takes the exponent and
        the precision of the mean from all rows, so that S_i and S(x) have the same limit far from
        all data, ``log_floor_``. If x is drawn like the
        training rows, the probability of ``p(x) <= c`` is about c, whatever the distribution: a
        conformal p-value whose training rows are scored by one row less than x is. The smallest
        possible value is ``1 / (1 + n)``. `predict` says -1 to the rows with p up to about
        ``contamination``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, or their kernel values with the training rows.
        diag : array-like of shape (n_samples,), default=None
            Values k(x, x), for precomputed kernels where they are not constant.

        Returns
        -------
        p : ndarray of shape (n_samples,)
            In (0, 1]; small for novel rows.
        """
        self._check_query(X, "novelty_p_values")
        backend = self._model_backend()
        scores = self.score_samples(X, diag=diag)
        return backend.array(self._reference.p_values(backend.to_host(scores)), scores)
