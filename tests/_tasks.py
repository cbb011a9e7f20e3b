"""Stand-ins for callbacks and for what they are told."""

import pytest

from sklearn_fw._core.callbacks import HAS_CALLBACKS, FitTasks

needs_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn is older than 1.9")


class Tasks(FitTasks):
    """Counts passes, remembers their numbers, and asks to stop after some."""

    def __init__(self, n_passes):
        self.n_passes, self.n_begun, self.seen = n_passes, 0, []

    def begin(self):
        self.n_begun += 1

    def end(self, attributes):
        self.seen.append(attributes()["n_iter_"])
        return len(self.seen) == self.n_passes


class Stopper:
    """Ends the fit after some passes or epochs; keeps what it saw."""

    def __init__(self, after):
        self.after, self.coefs, self.names = after, [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.names.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator, X, metadata):
        if context.task_name == "fit":
            return False
        self.coefs.append(fitted_estimator.coef_)
        self.scores = fitted_estimator.predict(X)
        self.metadata = metadata
        return len(self.coefs) == self.after
