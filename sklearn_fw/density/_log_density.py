"""The log density at rows: a fitted model with its kernel and the rows that it was fitted on."""

import numpy as np
from sklearn.utils import gen_batches

from .._core.validation import is_auto
from ._derivatives import hyvarinen, score_gradient
from ._low_rank import LowRankPosterior
from ._model import batch_rows
from ._resolve import log_volume


class LogDensity:
    """Log density of validated rows, without normaliser and box; calling it gives its values.

    ``X_fit`` is None for kernel values that were computed elsewhere, of which ``used`` are the
    columns that count (None: all); ``jacobian`` is the volume element, "auto", False or a function.
    """

    def __init__(self, model, kernel, X_fit, jacobian, used):
        self.model, self.kernel, self.X_fit = model, kernel, X_fit
        self.jacobian, self.used = jacobian, used

    def __call__(self, X):
        return self.of_variance(X, self.variance(X))

    def of_variance(self, X, variance):
        """The same where variances are known."""
        return self.model.log_score(variance) + self.volume(X)

    def variance(self, X, diag=None):
        """Variance of rows, batch by batch."""
        size = batch_rows(self.model.posterior.half_ones.shape[0])
        parts = [
            self._batch_variance(X[rows, :], None if diag is None else diag[rows])
            for rows in gen_batches(X.shape[0], size)
        ]
        return self.model.posterior.backend.xp.concat(parts)

    def _batch_variance(self, X, diag):
        posterior = self.model.posterior
        if isinstance(posterior, LowRankPosterior):
            return self.model.variance(*posterior.project_rows(X))
        if self.X_fit is None:
            K = X.copy() if self.used is None else X[:, self.used]
        else:
            K, diag = self.kernel(X, self.X_fit), self.kernel.diag(X)
        return self.model.variance(*posterior.project(K, diag))

    def volume(self, X):
        """The volume element of rows."""
        return 0.0 if self.X_fit is None else log_volume(self.jacobian, self.kernel, X)

    def left_out(self):
        """Value at each training row in the model without it."""
        return self.model.leave_one_out() + self.volume(self.X_fit)

    def reference(self):
        """The same on the scale of new rows, in the memory of the host."""
        scores = self.model.reference() + self.volume(self.X_fit)
        return self.model.posterior.backend.to_host(scores)

    def floor(self):
        """Limit far from all data: -inf for kernels that grow, NaN where unknown."""
        far = self.kernel.far_value
        if far is None:
            return -np.inf
        if callable(self.jacobian) or np.isnan(far):
            return np.nan
        model = self.model
        volume = model.posterior.backend.to_host(self.volume(self.X_fit[:1, :]))
        return float(volume[0] - model.exponent * np.log(model.variance(far, 0.0) / model.s))

    def gradient(self, X):
        """Gradient in the coordinates of each row."""
        return self._derived(score_gradient, X)

    def hyvarinen(self, X):
        """Hyvarinen score of each row."""
        return self._derived(hyvarinen, X)

    def _derived(self, function, X):
        with_volume = is_auto(self.jacobian)
        parts = [
            function(self.kernel, self.model, self.X_fit, X[rows], with_volume)
            for rows in gen_batches(len(X), batch_rows(len(self.X_fit)))
        ]
        return np.concatenate(parts)
