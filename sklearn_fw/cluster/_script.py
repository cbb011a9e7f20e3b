"""The steps of a task from its narration, then their locations."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from ._aligner import SequenceAligner
from ._clips import check_sequences
from ._ordered import OrderedDiscriminativeClustering


class ScriptDiscovery(Estimator):
    """Steps of a task from narrated series: a script of tokens, then its locations.

    First the tokens of all sequences are aligned, and the steps of the common script are found.
    Then these are located in the feature series, once each and in the order of the script, and near
    their tokens where a sequence has them. Choose it for many narrated series of one task.

    Parameters
    ----------
    n_steps : int, default=10
        Largest number of steps.
    before, after : float, default=0 and 10
        Rows before the first and after the last of a token where its step may be.
    aligner, localizer : SequenceAligner and OrderedDiscriminativeClustering, default=None
        Estimators of both stages, whose ``n_steps`` is replaced.
    random_state : int, RandomState instance or None, default=None
        Source of starts of both, where these are None.

    Attributes
    ----------
    aligner_, localizer_ : SequenceAligner and OrderedDiscriminativeClustering
        The fitted estimators.
    n_steps_, step_names_ : int and list
        Number of steps that were found, and the most frequent token of each.
    windows_ : list of list
        For each sequence (step, first row, last row) where steps may be.
    locations_, labels_ : ndarray of shape (n_sequences, n_steps) and (n_rows,)
        Row of each step within its sequence, and step of each row, -1 for none.

    Notes
    -----
    A step with several mentions may be near any of them. The cost is that of both stages.

    References
    ----------
    .. [1] J.-B. Alayrac, P. Bojanowski, N. Agrawal, J. Sivic, I. Laptev, S. Lacoste-Julien,
       "Unsupervised learning from narrated instruction videos", CVPR 2016.

    Examples
    --------
    >>> from sklearn_fw.cluster import ScriptDiscovery
    >>> from sklearn_fw.datasets import make_ordered_videos
    >>> data = make_ordered_videos(12, 3, n_rows=40, random_state=0)
    >>> model = ScriptDiscovery(3, random_state=0)
    >>> model = model.fit(data.X, tokens=data.tokens, token_rows=data.token_rows)
    >>> model.step_names_
    [0, 1, 2]
    """

    n_steps: check.at_least(1) = 10
    _: KW_ONLY
    before: check.not_negative = 0
    after: check.not_negative = 10
    aligner: object = None
    localizer: object = None
    random_state: object = None

    def fit(self, X, y=None, *, tokens, token_rows):
        """Find the script, then its steps.

        Parameters
        ----------
        X : list of array-like of shape (n_rows_i, n_features)
            Feature series.
        y : None
            Unused.
        tokens : list of list
            Tokens of each narration, in order.
        token_rows : list of array-like of shape (n_tokens_i, 2)
            First and last row of each token; with ``before`` and ``after`` they must hold a row of
            the series.
        """
        self.aligner_ = self._stage("aligner", SequenceAligner).set_params(n_steps=self.n_steps)
        self.aligner_.fit(tokens)
        self.n_steps_, self.step_names_ = self.aligner_.n_steps_, self.aligner_.step_names_
        if not self.n_steps_:
            # Slots of equal support are taken together or not at all.
            raise ValueError(f"tokens have no step in common: raise n_steps={self.n_steps}")
        lengths = np.diff(check_sequences(X, n_rows=self.n_steps_)[1]).tolist()
        self.windows_ = self._windows(self.aligner_.labels_, token_rows, lengths)
        localizer = self._stage("localizer", OrderedDiscriminativeClustering)
        self.localizer_ = localizer.set_params(n_steps=self.n_steps_)
        self.localizer_.fit(X, windows=self.windows_)
        self.locations_, self.labels_ = self.localizer_.locations_, self.localizer_.labels_
        return self

    def _stage(self, name, cls):
        given = check.instance(getattr(self, name), name, cls | None)
        return cls(random_state=self.random_state) if given is None else clone(given)

    def _windows(self, labels, token_rows, lengths):
        token_rows = check.items(token_rows, "token_rows", "arrays, one per sequence")
        sizes = len(token_rows), len(labels), len(lengths)
        if len(set(sizes)) > 1:
            raise ValueError("token_rows holds {} sequences, tokens {}, X {}".format(*sizes))
        windows = []
        for n, (own, rows, n_rows) in enumerate(zip(labels, token_rows, lengths)):
            rows = check.shaped(rows, f"token_rows[{n}]", len(own), 2)
            first, last = np.floor(rows[:, 0] - self.before), np.ceil(rows[:, 1] + self.after)
            inside = (first < n_rows) & (last >= 0) & (rows[:, 0] <= rows[:, 1])
            if np.any(rows % 1) or not np.all(inside[own >= 0]):
                raise ValueError(f"token_rows[{n}] must hold whole numbers from 0 to {n_rows - 1}")
            found = zip(own.tolist(), map(int, first), map(int, last))
            windows.append([window for window in found if window[0] >= 0])
        return windows

    def localize(self, X):
        """The rows of all steps in new series without words.

        Parameters
        ----------
        X : list of array-like of shape (n_rows_i, n_features)
            Feature series.

        Returns
        -------
        locations : ndarray of shape (n_sequences, n_steps)
            Rows within sequences.
        """
        check_is_fitted(self)
        return self.localizer_.localize(X)

    def predict(self, X):
        """The step of each row of new series without words, -1 for none.

        Parameters
        ----------
        X : list of array-like of shape (n_rows_i, n_features)
            Feature series.
        """
        check_is_fitted(self)
        return self.localizer_.predict(X)
