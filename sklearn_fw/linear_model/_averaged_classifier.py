"""The classifier by averaged subgradient steps."""

import numpy as np

from ._averaged import AveragedModel
from ._linear import LabelsMixin


class AveragedSubgradientClassifier(LabelsMixin, AveragedModel):
    """Linear SVM by one cheap subgradient per row and a weighted average of all iterates.

    Minimises, over the weights w and that of a constant feature, with factors s_i
    (``sample_weight`` times ``class_weight``) of mean one::

        alpha / 2 (|w|^2 + b^2) + sum_i s_i loss(y_i, <w, x_i> + b intercept_scaling) / n

    which for the hinge is the objective of scikit-learn's LinearSVC(loss="hinge") with
    ``C = 1 / (alpha n)``: the intercept is regularised as well. Choose it for losses with kinks,
    very many rows or a stream of them, where moderate accuracy is enough; `AsagaClassifier` is for
    smooth losses and certified accuracy. Several classes are one problem each, against the rest.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        "hinge", "smooth_hinge", "modified_huber", "log_loss", or an object of `sklearn_fw.losses`,
        maybe your own, whose slopes are bounded.
    alpha : float or "auto", default="auto"
        Weight of the ridge, positive; "auto" is 1 / n, in a fit by parts with the n of the first.
    averaging : str or tuple, default="weighted2"
        Weight of the iterate w_t: "weighted" t + 1, "weighted2" (t + 1)^2, "uniform", "suffix",
        "doubling", "none", ``("power", k)`` or ``("polynomial", eta)``, see
        `sklearn_fw.optim.RunningAverage`.
    step_size : {"auto", "theory", "pegasos"}, tuple or callable, default="auto"
        "auto" is ``1 / (alpha t + R^2)``, R^2 the mean of ``s_i |x_i|^2``, which does without the
        long first steps of the other rules; "pegasos" is ``1 / (alpha t)`` and "theory" is
        ``2 / (alpha (t + 1))``, which with "weighted" has the guarantee of [1]_;
        ``("shifted", c, b)`` is ``c / (alpha (t + b))``; a callable gets t = 1, 2, ... and returns
        at most ``1 / alpha``.
    projection : str, callable or None, default=None
        Set that every iterate is projected on: "l2_ball" (with the constant feature), "l1_ball",
        "box" (``|w_j| <= radius``), "nonneg", or ``projection(coef)`` of your own; all but
        "l2_ball" do a step in Python, in O(n_features).
    radius : float or None, default=None
        Of the ball or box. For "l2_ball" None means one that holds the minimiser,
        ``1 / sqrt(alpha)`` for the hinge.
    standardize : bool or "auto", default="auto"
        Whether the problem is posed for columns that are centred and divided by their standard
        deviation (sparse ones divided by their root mean square only), as StandardScaler in front
        would. "auto" does this for dense X if ``alpha`` is "auto" and there is no projection.
    fit_intercept : bool, default=True
        Whether there is a constant feature.
    intercept_scaling : float, default=1.0
        Its value; the larger, the less the intercept is regularised.
    max_iter : int, default=50
        Number of passes, each of n steps.
    sampling : {"uniform", "shuffle", "cyclic"}, default="shuffle"
        Rows of a pass: drawn independently, as the theory has it, in a new random order, or in the
        order of X.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses per class.
    warm_start : bool, default=False
        Go on where the last fit ended: steps, iterate and average.
    record_history : bool, default=False
        Evaluate the objective after every pass, at the cost of about one more.
    random_state : int, RandomState or None, default=None
        Orders of the rows; classes have independent ones.
    verbose : int, default=0
        Log a line per evaluation of the objective.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (1, n_features) or (n_classes, n_features)
        Averaged weights, in the dtype of X; sparse after `sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    coef_last_, intercept_last_ : ndarray
        The last iterates.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    alpha_ : float
        Weight of the ridge that was used.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by; None where they were taken as they are.
    objective_ : float or ndarray of shape (n_classes,)
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
        "n_iter", "time" (seconds), "objective", and with ``record_history`` a row per pass and
        "last_objective" of the last iterate. "output" numbers several problems.

    Raises
    ------
    FloatingPointError
        When coefficients overflow.

    See Also
    --------
    AsagaClassifier : Smooth losses, with a certificate.
    AveragedSubgradientRegressor : The same for numbers.
    sklearn_fw.optim.projected_subgradient : The method as a function of an oracle.

    Notes
    -----
    More than 13 parameters: the scheme of averaging, the steps and the projection are what the
    method is about, the others those of every linear model.

    A step costs O(nnz) of its row, the average included. Nothing is certified, so there is no
    ``tol`` and no warning; after T steps the expected error is at most ``8 R^2 / (alpha (T + 2))``,
    R^2 the mean of ``|x_i|^2``, for "theory", "weighted" and "uniform". Defaults are the best of a
    table over many data sets, not those of [1]_, whose experiments have "pegasos".

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Schmidt, F. Bach, "A simpler approach to obtaining an O(1/t)
       convergence rate for the projected stochastic subgradient method", 2012.
    .. [2] S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, "Pegasos: primal estimated
       sub-gradient solver for SVM", Mathematical Programming 127, 2011, for "pegasos".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_fw.linear_model import AveragedSubgradientClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AveragedSubgradientClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    def __init__(
        self,
        loss="hinge",
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
        class_weight=None,
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
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    def _all_truths(self, y, weight):
        codes, weight = self._find_classes(y, weight)
        return self._truths(codes), weight

    def _part_truths(self, y, weight):
        codes, weight = self._part_codes(y, weight)
        return self._truths(codes), weight

    def _centers(self, truths, weight):
        return np.zeros(len(truths))

    def _moved(self, truth, k, units):
        return truth

    def _spreads(self, truths, weight):
        return np.ones(len(truths))
