"""The regressor by averaged subgradient steps."""

import numpy as np

from ._averaged import AveragedModel
from ._linear import TargetsMixin


class AveragedSubgradientRegressor(TargetsMixin, AveragedModel):
    """Robust linear regression by one cheap subgradient per row and an average of all iterates.

    Minimises, over the weights w and that of a constant feature, with factors s_i
    (``sample_weight``) of mean one::

        alpha / 2 (|w|^2 + b^2) + sum_i s_i loss(y_i, <w, x_i> + b intercept_scaling) / n

    so that the intercept is regularised as well. Choose it for losses with kinks (medians, support
    vector regression), very many rows or a stream of them, where moderate accuracy is enough;
    `AsagaRegressor` is for smooth losses and certified accuracy. Several targets are one problem
    each.

    Parameters
    ----------
    loss : str or Loss, default="absolute_error"
        "absolute_error", "epsilon_insensitive", "huber", or an object of `sklearn_fw.losses`, to
        choose its parameter, maybe your own, whose slopes are bounded.
    alpha : float or "auto", default="auto"
        Weight of the ridge, positive; "auto" is 1 / (n s), where s is the mean distance of the
        targets from their median, which is then subtracted from them, so that neither unit nor
        origin of y matter. In a fit by parts n and s are those of the first.
    averaging : str or tuple, default="weighted2"
        As `AveragedSubgradientClassifier`.
    step_size : {"auto", "theory", "pegasos"}, tuple or callable, default="auto"
        As `AveragedSubgradientClassifier`; "auto" is ``1 / (alpha t + R^2 / s)``.
    projection : str, callable or None, default=None
        As `AveragedSubgradientClassifier`.
    radius : float or None, default=None
        Of the ball or box. For "l2_ball" None means one that holds the minimiser.
    standardize : bool or "auto", default="auto"
        Whether the problem is posed for columns that are centred and divided by their standard
        deviation (sparse ones divided by their root mean square only) and targets minus their
        median. "auto" does this for dense X if ``alpha`` is "auto" and there is no projection.
    fit_intercept : bool, default=True
        Whether there is a constant feature.
    intercept_scaling : float, default=1.0
        Its value; the larger, the less the intercept is regularised.
    max_iter : int, default=50
        Number of passes, each of n steps.
    sampling : {"uniform", "shuffle", "cyclic"}, default="shuffle"
        As `AveragedSubgradientClassifier`.
    warm_start : bool, default=False
        Go on where the last fit ended: steps, iterate and average.
    record_history : bool, default=False
        Evaluate the objective after every pass, at the cost of about one more.
    random_state : int, RandomState or None, default=None
        Orders of the rows; targets have independent ones.
    verbose : int, default=0
        Log a line per evaluation of the objective.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (n_features,) or (n_targets, n_features)
        Averaged weights, in the dtype of X; sparse, with a row per target, after `sparsify`.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts.
    coef_last_, intercept_last_ : ndarray
        The last iterates.
    alpha_ : float or ndarray of shape (n_targets,)
        Weight of the ridge that was used; several where they differ.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by; None where they were taken as they are.
    objective_ : float or ndarray of shape (n_targets,)
        The objective at the average, for the columns as they were taken.
    t_ : int
        Number of steps of each problem.
    n_iter_ : int
        Number of passes of the last fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X had names that are all strings.
    status_ : str
        How the fit ended, "finished" or "stopped".
    history_ : dict of str to ndarray
        As `AveragedSubgradientClassifier`.

    Raises
    ------
    FloatingPointError
        When coefficients overflow.

    See Also
    --------
    AsagaRegressor : Smooth losses, with a certificate.
    AveragedSubgradientClassifier : The same for labels.
    sklearn.svm.LinearSVR : Dual coordinate ascent for "epsilon_insensitive".

    Notes
    -----
    More than 13 parameters: as `AveragedSubgradientClassifier`, where costs and guarantees stand.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Schmidt, F. Bach, "A simpler approach to obtaining an O(1/t)
       convergence rate for the projected stochastic subgradient method", 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw.linear_model import AveragedSubgradientRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AveragedSubgradientRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.45
    True
    """

    def __init__(
        self,
        loss="absolute_error",
        *,
        alpha="auto",
        averaging="weighted2",
        step_size="auto",
        projection=None,
        radius=None,
        standardize="auto",
        fit_intercept=True,
        intercept_scaling=1.0,
        max_iter=50,
        sampling="shuffle",
        warm_start=False,
        record_history=False,
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.alpha = alpha
        self.averaging = averaging
        self.step_size = step_size
        self.projection = projection
        self.radius = radius
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.sampling = sampling
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    def _all_truths(self, y, weight):
        return list(self._find_targets(y)), weight

    _part_truths = _all_truths

    def _centers(self, truths, weight):
        return np.array([_median(y, weight) for y in truths])

    def _moved(self, truth, k, units):
        return truth - units.y_center[k]

    def _spreads(self, truths, weight):
        """Mean distances from the median; one where all targets are the same."""
        found = [np.average(np.abs(y - _median(y, weight)), weights=weight) for y in truths]
        return np.where(np.array(found) > 0.0, found, 1.0)


def _median(y, weight):
    """Smallest number that has half of the weight at or below it; without weights, the median."""
    if weight is None:
        return float(np.median(y))
    order = np.argsort(y)
    total = np.cumsum(weight[order])
    return float(y[order][np.searchsorted(total, 0.5 * total[-1])])
