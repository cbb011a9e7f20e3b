"""A user's function as an oracle."""

import numpy as np

from ..._core.checked_oracle import check_argmax, copy_of
from ..._core.oracle import Oracle
from ..._core.scores import expect_scores


class CallableOracle(Oracle):
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

    def __init__(self, function):
        self.function = function

    def argmax(self, scores, start=None):
        expect_scores(scores)
        if not callable(self.function):
            raise TypeError(
                f"function must be callable with scores, got {type(self.function).__name__}"
            )
        answer, value, upper_bound = self.function(copy_of(scores)), None, None
        # Three labels may come as a tuple, too: then the first entry is a number.
        if isinstance(answer, tuple) and len(answer) == 3 and np.ndim(answer[0]) > 0:
            answer, value, upper_bound = answer
        name = getattr(self.function, "__name__", type(self.function).__name__)
        name = f"the oracle function {name}"
        return check_argmax(answer, value, upper_bound, scores, name, strict=True)
