"""Exact marginals of narrow graphs."""

from dataclasses import KW_ONLY

from .._core import check
from .._core.scores import is_forest
from ..inference import Elimination, TreeMaxProduct
from ._choice import Inference, exact_inference
from ._estimator import MarginalsEstimator
from ._fields import PairwiseMRF
from ._reduced import Reduced


class ExactMarginals(MarginalsEstimator):
    """Exact marginals, log Z and samples, by bucket elimination or message passing.

    Sums over all labelings of the random field::

        log Z = log sum_x exp(constant + sum_i theta_i(x_i) + sum_ij theta_ij(x_i, x_j))

    and, for a `FactorGraph`, its tables on any number of variables.

    Choose it wherever the graph is narrow enough: trees and chains of any length, grids up to
    about 20 variables wide, any graph of up to about 20 variables.

    Parameters
    ----------
    max_table_size : int, default=2**26
        Most numbers in the table of a variable and the neighbors that it has when it is
        eliminated. 2^26 numbers are 512 MB, and reached at induced width 25 with two states.
    learner : MRFLearner or None, default=None
        For tables: how the field is learned. None is ``MRFLearner()``.

    Attributes
    ----------
    log_partition_, log_partition_upper_, log_partition_lower_ : float
        Log Z, three times.
    mrf_, marginals_, edge_marginals_, factor_marginals_, categories_ : various
        As of every `MarginalsEstimator`.
    learning_history_, n_features_in_, feature_names_in_ : various
        As of every `MarginalsEstimator`.

    See Also
    --------
    TRWMarginals : Bounds on log Z for graphs that are too wide.
    Elimination : The algorithm, also for MAP inference.

    Notes
    -----
    Time is a few times the size of all tables of the elimination order, memory 8 bytes for each
    number in them. Potentials of ``-inf`` are exact. Factor graphs first lose the states that they
    exclude, and many orders are tried where tables are large. `sample` draws from the field.
    Potentials learned from a table maximize the tree-reweighted likelihood: the marginals of the
    learned field are those of the table only for trees.

    References
    ----------
    .. [1] R. Dechter, "Bucket elimination: a unifying framework for reasoning", Artificial
       Intelligence 113, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.random_fields import ExactMarginals, PairwiseMRF
    >>> triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], 2.0 - 4 * np.eye(2))
    >>> exact = ExactMarginals().fit(triangle)
    >>> bool(np.isclose(exact.log_partition_, np.log(2 * np.exp(-6) + 6 * np.exp(2))))
    True
    >>> exact.edge_marginals_[0].round(3).tolist()
    [[0.167, 0.333], [0.333, 0.167]]
    """

    max_table_size: check.at_least(1) = 2**26
    _: KW_ONLY
    learner: object = None

    sums_forests = True
    takes_factors = True
    _finds_allowed = True

    def infer(self, field, request=None):
        if isinstance(field, PairwiseMRF):
            return exact_inference(field, self._oracle(field))
        marginals, value = Reduced(field, self.max_table_size).sums()
        return Inference(marginals, value, value, value)

    def _oracle(self, mrf):
        is_tree = is_forest(mrf.edges, mrf.n_variables)
        return TreeMaxProduct() if is_tree else Elimination(self.max_table_size)

    def _draw(self, n_samples, rng):
        if not isinstance(self.mrf_, PairwiseMRF):
            return Reduced(self.mrf_, self.max_table_size).draws(n_samples, rng)
        X = self._oracle(self.mrf_).sample(self.mrf_.scores(), n_samples, rng)
        return X.astype("int64")
