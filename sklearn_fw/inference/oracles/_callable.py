"""A user's function as an oracle."""

import math

import numpy as np
from sklearn.base import BaseEstimator


class CallableOracle(BaseEstimator):
    """An oracle made from a plain function, for inference of your own or of another library.

    Each answer is checked once: number of labels, integer dtype, range, and that the numbers that
    come with them fit. So a mistake shows at the first call and not as a wrong certificate.

    Parameters
    ----------
    function : callable
        ``function(scores)`` gets a `PairwiseScores` and returns either the labels, array-like of
        shape (n_nodes,) with integers from 0 to ``n_states - 1``, or the tuple
        ``(labels, value, upper_bound)``, where None stands for an unknown value or bound.

    Attributes
    ----------
    exact : bool
        False: nothing is promised for all answers. A single answer is exact if its
        ``upper_bound`` equals its ``value``.

    See Also
    --------
    resolve_oracle : Wraps a function where an oracle is expected.

    Notes
    -----
    Checks take time linear in the size of the graph. Calls may come
    from several threads if the function allows it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import CallableOracle, PairwiseScores
    >>> def ignore_edges(scores):
    ...     return scores.unary.argmax(axis=1)
    >>> scores = PairwiseScores.from_arrays([[2.0, 0.0], [0.0, 0.5]], np.eye(2), [(0, 1)])
    >>> CallableOracle(ignore_edges).argmax(scores)
    (array([0, 1], dtype=int32), 2.5, inf)
    """

    exact = False

    def __init__(self, function):
        self.function = function

    def argmax(self, scores, start=None):
        """The labelling that the function returns.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on any graph that the function can handle.
        start : object, default=None
            Ignored: the function gets the scores alone.

        Returns
        -------
        labels : ndarray of shape (n_nodes,), int32
            The function's labelling.
        value : float
            Its score.
        upper_bound : float
            The function's bound on the score of every labelling, inf if it gave none.

        Raises
        ------
        ValueError
            When the labels have the wrong shape or range, or the value is not their score, or the
            bound is below it.
        TypeError
            When the labels are not integers.
        """
        answer = self.function(scores)
        value = upper_bound = None
        # Three labels may come as a tuple, too: then the first entry is a number.
        if isinstance(answer, tuple) and len(answer) == 3 and np.ndim(answer[0]) > 0:
            answer, value, upper_bound = answer
        labels = self._labels(answer, scores)
        found = scores.value(labels)
        tolerance = 1e-8 * max(1.0, abs(found)) if math.isfinite(found) else 0.0
        value = found if value is None else float(value)
        upper_bound = math.inf if upper_bound is None else float(upper_bound)
        if value != found and not abs(value - found) <= tolerance:
            raise ValueError(
                f"{self._name()} returned value {value!r} for labels that score {found!r}; "
                f"return None to have it computed"
            )
        if not upper_bound >= value - tolerance:
            raise ValueError(
                f"{self._name()} returned upper_bound {upper_bound!r} for labels that score "
                f"{found!r}; a bound is never below a score, and None stands for no bound"
            )
        # A bound that is short by rounding alone means the same as an equal one.
        return labels, value, max(value, upper_bound)

    def _labels(self, answer, scores):
        labels = np.asarray(answer)
        if labels.shape != (scores.n_nodes,):
            raise ValueError(
                f"{self._name()} must return {scores.n_nodes} labels, one per node, or a tuple "
                f"(labels, value, upper_bound); got an answer of shape {labels.shape}"
            )
        if labels.dtype.kind not in "iu":
            raise TypeError(
                f"{self._name()} must return integer labels, got dtype {labels.dtype}; "
                f"convert them with labels.astype(int)"
            )
        if labels.min() < 0 or labels.max() >= scores.n_states:
            raise ValueError(
                f"{self._name()} must return labels from 0 to {scores.n_states - 1}, "
                f"got {labels.min()} to {labels.max()}"
            )
        return labels.astype(np.int32)

    def _name(self):
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"the oracle function {name}"
