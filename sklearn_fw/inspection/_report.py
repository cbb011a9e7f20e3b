"""A report of all measures for one estimator and one data set."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from .._core import check
from .._core.figures import new_figure
from .._core.parameters import Parameterized, check_parameters
from ._curves import corrupt_labels, track_memorization
from ._descent import LINEAR, NETWORKS
from ._difficulty import example_difficulty
from ._displays import DifficultyDisplay, MemorizationDisplay, SensitivityDisplay
from ._estimators import check_names, check_rows, check_targets, check_template, last_of, names_of
from ._radius import feature_radius
from ._sensitivity import loss_sensitivity


class MemorizationReport(Parameterized):
    """Report of memorization on real and random labels, and of difficult rows.

    Copies of the estimator are trained on most of the rows, with their targets and with random
    ones; accuracies (R^2 of regressors) and the ratio of critical samples (of classifiers) are
    measured on the others. Then come the difficulty of all rows and, for linear models and networks
    trained by plain descent, their loss sensitivity.

    Parameters
    ----------
    estimator : classifier or regressor
        Cloned; a Pipeline is fine. Without ``partial_fit`` it is fitted to the end instead of epoch
        by epoch.
    radius : float or array-like of shape (n_features,), default=None
        Box of the critical samples, in the units of X; None takes `feature_radius` of the training
        rows, a tenth of the standard deviation of each feature, and none for regressors.
    n_epochs, n_runs, n_steps : int, default=50, 50 and 200
        Epochs of the runs on real and on random labels, models for the difficulty, and steps of the
        descent for the sensitivity.
    n_jobs : int or None, default=None
        Parallel runs of the difficulty, through joblib.
    random_state : int, RandomState instance or None, default=None
        For everything.

    Attributes
    ----------
    radius_ : ndarray of shape (n_features,) or None
        The box; None for regressors.
    real_, random_ : Bunch
        `track_memorization` on real and on random labels.
    difficulty_ : Bunch
        `example_difficulty` of all rows.
    sensitivity_, random_sensitivity_ : Bunch or None
        `loss_sensitivity` on real and on random labels, of linear models and networks trained by
        plain descent.
    suspects_ : ndarray of shape (n_samples,)
        Rows from the one whose target is most doubtful to the least.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn_fw.inspection import MemorizationReport
    >>> X, y = load_iris(return_X_y=True)
    >>> report = MemorizationReport(MLPClassifier((16,)), n_epochs=5, n_runs=4, random_state=0)
    >>> report.run(X, y).suspects_.shape
    (150,)
    """

    estimator: object
    _: KW_ONLY
    radius: object = None
    n_epochs: check.at_least(1) = 50
    n_runs: check.at_least(2) = 50
    n_steps: check.at_least(1) = 200
    n_jobs: int | None = None
    random_state: object = None

    def run(self, X, y, X_valid=None, y_valid=None):
        """Measure everything.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features), and of shape (n_samples,)
            Rows and their labels or numeric targets.
        X_valid, y_valid : array-like of shape (n_valid, n_features), and (n_valid,), default=None
            Validation rows and their targets; None takes a quarter of X.
        """
        estimator = check_template(self.estimator, X)
        check_parameters(self)
        rng = check.random_state(self.random_state)
        check_names(X_valid, names_of(X), "X_valid", "X")
        X = check_rows(X)
        y, classes = check_targets(estimator, y, len(X))
        train = self._split(X, y, classes, X_valid, y_valid, rng)
        is_given = classes is None or self.radius is not None
        radius = self.radius if is_given else feature_radius(train[0])
        radius = check.optional(check.array)(radius, "radius")
        noisy = corrupt_labels(train[1], 1.0, random_state=rng).y
        every = max(1, self.n_epochs // 25)
        seeds = rng.randint(2**31, size=4)
        self.real_, self.random_ = (
            track_memorization(
                estimator, train[0], labels, *train[2:], n_epochs=self.n_epochs, every=every,
                radius=radius, random_state=int(seeds[0]),
            )
            for labels in (train[1], noisy)
        )  # fmt: skip
        self.difficulty_ = example_difficulty(
            estimator, X, y, n_runs=self.n_runs, n_jobs=self.n_jobs, random_state=int(seeds[1])
        )
        self.sensitivity_, self.random_sensitivity_ = (
            _sensitivity(estimator, train[0], labels, self.n_steps, int(seeds[2]))
            for labels in (train[1], noisy)
        )
        self.suspects_ = np.argsort(-self.difficulty_.score, kind="stable")
        self.radius_ = None if radius is None else np.broadcast_to(radius, X.shape[1:]).copy()
        return self

    @staticmethod
    def _split(X, y, classes, X_valid, y_valid, rng):
        if (X_valid is None) != (y_valid is None):
            missing = "X_valid" if X_valid is None else "y_valid"
            raise ValueError(f"{missing} is missing: X_valid and y_valid come together")
        if X_valid is not None:
            return X, y, X_valid, y_valid
        strata = y if classes is not None else np.zeros(len(y))
        counts = np.unique(strata, return_counts=True)[1]
        if counts.min() < 4:
            raise ValueError(
                f"y has a class of {counts.min()} rows, too few to split: pass X_valid and y_valid"
            )
        options = {"test_size": 0.25, "stratify": strata, "random_state": rng.randint(2**31)}
        X, X_valid, y, y_valid = train_test_split(X, y, **options)
        return X, y, X_valid, y_valid

    def plot(self, ax=None):
        """Draw one figure of all: runs on real and random labels, difficulty, sensitivity.

        Parameters
        ----------
        ax : array-like of matplotlib Axes, default=None
            Four axes; None makes a new figure.

        Returns
        -------
        display : Bunch
            With ``figure_``, ``ax_`` and ``displays``.
        """
        if not hasattr(self, "real_"):
            raise NotFittedError("this MemorizationReport has nothing to draw before `run`")
        figure, axes = new_figure(self, ax, n_panels=4, n_columns=2, size=(10, 7.5))
        shown = [MemorizationDisplay.from_result(self.real_, ax=axes[0])]
        shown.append(MemorizationDisplay.from_result(self.random_, ax=axes[1]))
        for panel, title in zip(axes, ("Real labels", "Random labels")):
            panel.set(title=title, ylim=(None if self.radius_ is None else -0.02, 1.02))
        d = self.difficulty_
        shown.append(DifficultyDisplay(d.error_rate, d.reference).plot(axes[2]))
        axes[2].set_title(f"Difficulty of rows (dispersion {d.dispersion:.1f})")
        for found, name in ((self.sensitivity_, "real"), (self.random_sensitivity_, "random")):
            if found is not None:
                shown.append(SensitivityDisplay(found.sensitivity, name=name).plot(axes[3]))
        axes[3].set_title("Loss sensitivity of rows")
        if self.sensitivity_ is None:
            axes[3].set_axis_off()
            axes[3].text(0.5, 0.5, "for linear models and\nnetworks of plain descent", ha="center")
        return Bunch(figure_=figure, ax_=axes, displays=shown)


def _sensitivity(estimator, X, y, n_steps, seed):
    """The answer for linear models and networks trained by plain descent, None for others."""
    last = last_of(estimator)
    is_descent = isinstance(last, NETWORKS) and last.solver == "sgd"
    if not (is_descent or isinstance(last, LINEAR)) or len(np.unique(y)) < 2:
        return None
    every = max(1, n_steps // 20)
    return loss_sensitivity(estimator, X, y, n_steps=n_steps, eval_every=every, random_state=seed)
