"""Pairs of two sets of things: bipartite matchings."""

from dataclasses import KW_ONLY

import numpy as np

from ..._core import check
from ..._core.costs import costs_of, truth_of_pairs
from ..._core.labels import common_shape, links_of, pairs_of
from ..._kernels import lazy
from ...inference import Assignment
from ...projections import project_matching
from ...task_losses import LinkLoss
from ._base import ScoredModel, checked_features, checked_samples, loss_of_nodes

matching = lazy("graphs.matching")

NAMES = ("links", "hamming", "hamming_sum")  # of task losses


class MatchingModel(ScoredModel):
    """Bipartite matching of two sets, by features of pairs.

    An output is a 0/1 matrix ``y`` with at most one 1 in each row and column, of score
    ``sum_jk y[j, k] <w, x[j, k]>``. Choose it for word alignment, tracking and correspondences of
    points.

    Parameters
    ----------
    task_loss : {"links", "hamming", "hamming_sum"}, array-like of shape (2, 2) or TaskLoss, \
            default="links"
        Cost of wrong pairs: `sklearn_fw.task_losses.LinkLoss`, with which a missed pair costs three
        times as much as a false one, the fraction or the number of wrong pairs, a matrix of costs
        of absent and present pairs (rows: truth), or another loss that is a sum over pairs, as
        binary nodes. Where costs are a bound of a value, predictions are evaluated by the bound.
    perfect : bool, default=False
        Whether every row and column has a partner. Then all inputs are square. Otherwise pairs of
        score at most 0 are not made: one feature should be constant, as a threshold.

    Attributes
    ----------
    n_features_in_, size_joint_feature : int
        Number of features of a pair, which is that of the weights.
    task_loss_ : str, array-like or TaskLoss
        The loss of the training, as given.

    See Also
    --------
    sklearn_fw.inference.Assignment : The oracle.
    sklearn_fw.metrics.alignment_error_rate : The usual measure of word alignments.

    Notes
    -----
    An input is an array of shape (J, K, n_features), one feature vector for each pair; J or K may
    be zero. An output is an array of shape (J, K) of 0 and 1 (or bool), or a list of pairs
    ``(j, k)``. Predictions are int8 arrays. An oracle call takes ``J K n_features`` for the scores
    and ``n m^2`` for the matching, with sides ``n >= m``.

    Features are sums over pairs, so C is usually well below that of other models: 0.01 to 0.03 for
    the sentences of `sklearn_fw.datasets.load_word_alignment`. Features have to be joint: with
    those of row j beside those of column k, the score of a pair is ``a_j + b_k``, and the pairing
    of rows and columns makes no difference.

    Saddle point methods use fractional matchings z, vectors of length ``J K``, row by row. All
    vertices of their polytope are matchings, hence the maximum over z is that over y. Any model may
    have the methods for it: `z_size`, `label_vector`, `decode`, `apply`, `adjoint`, `loss_vector`,
    `lmo`, `project`, `marginals`, `log_partition`, `log_potentials0` and `z_diameter`.

    References
    ----------
    .. [1] B. Taskar, S. Lacoste-Julien, D. Klein, "A discriminative matching approach to word
       alignment", HLT/EMNLP 2005.
    .. [2] B. Taskar, S. Lacoste-Julien, M. I. Jordan, "Structured prediction, dual extragradient
       and Bregman projections", JMLR 7, 2006.

    Examples
    --------
    Pairs are similar if their numbers are; the second feature is constant.

    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import MatchingModel
    >>> def features(a, b):
    ...     distance = np.abs(np.subtract.outer(a, b))
    ...     return np.stack([distance, np.ones_like(distance)], axis=2)
    >>> X = [features([1.0, 2.0], [2.1, 0.9]), features([3.0, 5.0], [7.0, 3.1, 4.9])]
    >>> y = [[(0, 1), (1, 0)], [(0, 1), (1, 2)]]
    >>> svm = StructuredSVM(MatchingModel(), C=100, random_state=0).fit(X, y)
    >>> svm.predict([features([4.0, 6.0], [6.1, 9.0])])[0]
    array([[0, 0],
           [1, 0]], dtype=int8)
    """

    task_loss: object = "links"
    _: KW_ONLY
    perfect: bool = False

    def initialize(self, X, y):
        self._loss = loss_of_nodes(self, self.task_loss, NAMES)
        if not self._loss.decomposes:
            raise ValueError(f"task_loss must be a sum over pairs, got {self.task_loss!r}")
        self.task_loss_ = self.task_loss
        for i, x, truth in checked_samples(X, y, least=0):
            self.n_features_in_ = self.size_joint_feature = x.shape[2]
            shape = self._check_input(x, f"X[{i}]").shape
            links = links_of(truth, f"y[{i}]", shape[:2])
            self._check_truth(links, shape, f"y[{i}]")
            if i == 0:
                self._loss._pair_costs(links, shape[:2])  # refuses bad parameters
        return self

    def _check_input(self, x, name="x"):
        x = checked_features(x, name, self.n_features_in_, least=0)
        if check.flag(self.perfect, "perfect") and x.shape[0] != x.shape[1]:
            raise ValueError(
                f"perfect=True needs as many rows as columns, but {name} has {x.shape[0]} and "
                f"{x.shape[1]}: set perfect=False"
            )
        return x

    def _check_truth(self, links, shape, name):
        for axis, (kind, other) in enumerate([("row", "columns"), ("column", "rows")]):
            count = np.bincount(links[axis], minlength=shape[axis])
            if np.any(count > 1):
                j = int(count.argmax())
                partners = links[1 - axis][links[axis] == j].tolist()
                raise ValueError(
                    f"{name} links {kind} {j} to {other} {partners}, but a matching gives it one "
                    f"partner: keep one link of each row and column"
                )
            if self.perfect and not np.all(count):
                raise ValueError(
                    f"{name} gives {kind} {count.argmin()} no partner: set perfect=False"
                )

    def default_oracle(self):
        return Assignment(self.perfect)

    # ---- features and losses ---------------------------------------------------------------------

    def joint_feature(self, x, y):
        x = self._check_input(x)
        return x[links_of(y, "y", x.shape[:2])].sum(axis=0, dtype=np.float64)

    def loss(self, y_true, y):
        loss, shape = self._loss, common_shape(y_true, y)
        true, made = links_of(y_true, "y_true", shape), links_of(y, "y", shape)
        if isinstance(loss, LinkLoss):
            return loss._value_of(true, made, shape)
        if shape is None:
            raise ValueError("the loss of two lists of pairs is not defined: pass an array")
        truth = truth_of_pairs(true, shape)
        return float(costs_of(loss, truth).losses(truth, truth_of_pairs(made, shape).states)[0])

    def output_key(self, y):
        """Return the links of an output as a sorted tuple.

        Parameters
        ----------
        y : array-like of shape (J, K) or list of pairs
            Output.
        """
        return tuple(sorted(pairs_of(links_of(y, "y"))))

    # ---- scores of pairs -------------------------------------------------------------------------

    def scores(self, x, w):
        x, w = self._check_input(x), check.shaped(w, "w", self.n_features_in_)
        features = np.ascontiguousarray(x.reshape(-1, len(w)))
        scores = np.empty(x.shape[:2])
        matching.pair_scores(features, np.ascontiguousarray(w), scores.ravel())
        return scores

    def augment(self, scores, y_true):
        scores = check.array(scores, "scores")
        if scores.ndim != 2:
            raise ValueError(f"scores must have shape (n_rows, n_columns), got {scores.shape}")
        true = links_of(y_true, "y_true", scores.shape)
        return scores + self._loss._pair_costs(true, scores.shape)[0]

    # ---- the polytope of fractional matchings, for saddle point methods --------------------------

    def z_size(self, x):
        """Return ``J K``, the length of the vectors z.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        """
        return int(np.prod(self._check_input(x).shape[:2]))

    def label_vector(self, x, y):
        """Return the vertex z(y) of a matching: its matrix, row by row.

        Parameters
        ----------
        x, y : array-like
            Features of pairs, and matching.
        """
        z = np.zeros(self._check_input(x).shape[:2])
        z[links_of(y, "y", z.shape)] = 1.0
        return z.ravel()

    def adjoint(self, x, w):
        """Return ``F^T w``, the scores of all pairs, row by row.

        Parameters
        ----------
        x, w : array-like
            Features of pairs, and weights of shape (n_features,).
        """
        return self.scores(x, w).ravel()

    def apply(self, x, z):
        """Return ``F z``, the features of z, equal to `joint_feature` at vertices.

        Parameters
        ----------
        x, z : array-like
            Features of pairs, and fractional matching.
        """
        x = self._check_input(x)
        return self._matrix(x, z, "z").ravel() @ x.reshape(-1, self.n_features_in_)

    def loss_vector(self, x, y):
        """Return c and c0, by which the loss is ``<c, z> + c0``.

        Parameters
        ----------
        x, y : array-like
            Features of pairs, and true matching. Entries of c are negative at true pairs, and c0 is
            the cost of making no pair.
        """
        shape = self._check_input(x).shape[:2]
        c, c0 = self._loss._pair_costs(links_of(y, "y", shape), shape)
        return c.ravel(), c0

    def lmo(self, x, s):
        """Return a vertex of largest ``<s, z>``.

        Parameters
        ----------
        x, s : array-like
            Features of pairs, and scores of shape (J * K,).
        """
        return self.default_oracle().argmax(self._matrix(x, s, "s"))[0].ravel().astype(np.float64)

    def project(self, x, p, tol=1e-9):
        """Return the nearest fractional matching to a point; see `project_matching`.

        Parameters
        ----------
        x, p : array-like
            Features of pairs, and any point of shape (J * K,).
        tol : float, default=1e-9
            Bound on the distance to the exact projection.
        """
        return project_matching(self._matrix(x, p, "p"), perfect=self.perfect, tol=tol).ravel()

    def log_potentials0(self, x):
        """Return the theta (zero) of the uniform z, where entropic methods start.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        """
        return np.zeros(self.z_size(x))

    def marginals(self, x, theta, tol=1e-9):
        """Return the z of largest ``<theta, z> - h(z)``, the entropic projection.

        Here ``h(z) = sum(z log z - z)``, so these are not probabilities of pairs under a
        distribution over matchings, which cannot be computed fast. See `project_matching`.

        Parameters
        ----------
        x, theta : array-like
            Features of pairs, and logarithms of positive numbers, of shape (J * K,).
        tol : float, default=1e-9
            Bound on the distance to the exact projection.
        """
        theta = self._matrix(x, theta, "theta")
        return project_matching(theta, entropic=True, perfect=self.perfect, tol=tol).ravel()

    def log_partition(self, x, theta, tol=1e-9):
        """Return the maximum of ``<theta, z> - h(z)``, whose gradient is `marginals`.

        Parameters
        ----------
        x, theta : array-like
            Features of pairs, and parameters of shape (J * K,).
        tol : float, default=1e-9
            Accuracy of the maximizer.
        """
        theta = self._matrix(x, theta, "theta")
        z, (u, v) = project_matching(
            theta, entropic=True, perfect=self.perfect, tol=tol, return_duals=True
        )
        return float(z.sum() + u.sum() + v.sum())  # the dual value, which errs in second order

    def z_diameter(self, x, geometry="euclidean"):
        """Return the largest divergence of a matching from the point where methods start.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        geometry : {"euclidean", "entropy"}, default="euclidean"
            Half the squared distance from 0 (``perfect``: from the uniform z), or the relative
            entropy to the uniform z.
        """
        check.choice(geometry, "geometry", {"euclidean", "entropy"})
        n_rows, n_columns = self._check_input(x).shape[:2]
        fewer, more = min(n_rows, n_columns), max(n_rows, n_columns)
        if fewer == 0:
            return 0.0
        if geometry == "euclidean":
            return 0.5 * (fewer - 1.0) if self.perfect else 0.5 * fewer
        entropy = fewer * np.log(more)
        # A matching with s pairs has s log(more) - s + fewer, largest at s = 0 or s = fewer.
        return float(entropy if self.perfect else max(entropy, fewer))

    def decode(self, x, z):
        """Return the matching nearest to a fractional one, an int8 array of shape (J, K).

        Parameters
        ----------
        x, z : array-like
            Features of pairs, and fractional matching; unless ``perfect``, its pairs of more than
            one half are made.
        """
        return self.default_oracle().argmax(2.0 * self._matrix(x, z, "z") - 1.0)[0]

    def _matrix(self, x, vector, name):
        shape = self._check_input(x).shape[:2]
        return check.shaped(vector, name, shape[0] * shape[1]).reshape(shape)
