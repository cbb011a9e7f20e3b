"""Novelty of one sample relative to another."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.base import clone

from .._core import check
from .._core.estimator import Estimator
from ._classifier import prototype
from ._model import score_threshold


class RelativeNoveltyDetector(Estimator):
    """Detector of rows that are common in a target and rare in a background sample.

    Two kernel Student-t densities with the same parameters and the same number of rows, so that all
    constants cancel in the ratio of the two::

        score(x) = log q_background(x) - log q_target(x)          (low: relatively novel)

    Choose it where only what is new against a reference matters (yesterday's log, the image without
    the object), and not everything unusual.

    Parameters
    ----------
    density : KernelStudentTDensity, default=None
        Kernel and hyper-parameters of both densities, grid keys ``density__sigma0`` and so on. A
        length scale "auto" or "median" is that of the background. ``normalize`` and ``max_rank``
        are not for this use.
    contamination : float in (0, 0.5], default=0.05
        Fraction of the target rows that are labeled relatively novel.
    max_samples : int or float, default=300
        Rows drawn from each sample for its density: at most that number, or that fraction of the
        smaller sample.
    random_state : int, RandomState instance or None, default=None
        Choice of these rows.

    Attributes
    ----------
    background_, target_ : KernelStudentTDensity
        The two densities.
    offset_ : float
        Score below which `predict` returns -1.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    Notes
    -----
    Not an outlier detector in the sense of scikit-learn, which fits one sample: `fit` needs y.

    References
    ----------
    .. [1] A. Smola, L. Song, C. H. Teo, "Relative novelty detection", AISTATS 2009.
    .. [2] F. Huszar, S. Lacoste-Julien, "A kernel approach to tractable Bayesian nonparametrics",
       arXiv:1103.1761, 2011: section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.density import RelativeNoveltyDetector
    >>> rng = np.random.default_rng(0)
    >>> background = rng.normal(size=(200, 2))
    >>> target = np.concatenate([rng.normal(size=(200, 2)), rng.normal(4, 0.3, size=(10, 2))])
    >>> X, y = np.concatenate([background, target]), np.repeat([0, 1], [200, 210])
    >>> detector = RelativeNoveltyDetector(random_state=0).fit(X, y)
    >>> detector.predict([[0, 0], [4, 4]])
    array([ 1, -1])
    """

    density: object = None
    _: KW_ONLY
    contamination: check.within(0.0, 0.5, "right") = 0.05
    max_samples: int = 300
    random_state: object = None

    def fit(self, X, y):
        """Fit the two densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of both samples.
        y : array-like of shape (n_samples,)
            0 for the background, 1 for the target. With other labels the smallest is the background
            and all others are the target.

        """
        X, y = check.rows(self, X, y)
        _, is_target = check.classes(y)
        samples = X[is_target == 0], X[is_target > 0]
        rng = check.random_state(self.random_state)
        n_rows = self._n_rows(min(map(len, samples)))
        chosen = [rng.permutation(len(sample))[:n_rows] for sample in samples]
        density = prototype(self.density)
        self.background_ = clone(density).fit(samples[0][chosen[0]])
        if self.background_.length_scale_ is not None:
            density.set_params(length_scale=self.background_.length_scale_)
        self.target_ = density.fit(samples[1][chosen[1]])
        own = self.target_.score_samples(samples[1])
        own[chosen[1]] = self.target_._reference[0][self.target_._model.place]
        scores = self.background_.score_samples(samples[1]) - own
        self.offset_ = score_threshold(scores, np.ones(len(scores)), self.contamination)
        return self

    def _n_rows(self, available):
        if isinstance(self.max_samples, float):
            check.within(0.0, 1.0, "right")(self.max_samples, "max_samples")
            return max(1, int(self.max_samples * available))
        return min(check.integer(self.max_samples, "max_samples", 1), available)

    def score_samples(self, X):
        """Log ratio of background to target density: low for relatively novel rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        X = check.rows(self, X, reset=False)
        return self.background_.score_samples(X) - self.target_.score_samples(X)

    def decision_function(self, X):
        """`score_samples` minus ``offset_``: negative for relatively novel rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """Label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            -1 for relatively novel rows, 1 for the others.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
