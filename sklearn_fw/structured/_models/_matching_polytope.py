"""What saddle point methods ask of a model of matchings."""

import numpy as np

from ..._core.links import links_of
from ..._core.validation import check_array_of_numbers, check_choice, check_magnitude
from ...projections import project_matching, sinkhorn_matching


class MatchingPolytope:
    """Fractional matchings z as flat vectors of length J K, and what is linear in them.

    ``F`` is `apply` and its transpose `adjoint`: the features of a matching y are ``F z(y)`` and
    its loss is ``<c, z(y)> + c0``. A subclass has ``perfect``, ``n_features_in_``, ``scores`` and
    ``_loss``.
    """

    def z_size(self, x):
        """Length of the vectors z.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.

        Returns
        -------
        size : int
            ``J K``.
        """
        return int(np.prod(self._check_input(x).shape[:2]))

    def label_vector(self, x, y):
        """The corner z(y) of a matching.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        y : array-like of shape (J, K) or list of pairs
            Matching.

        Returns
        -------
        z : ndarray of shape (J * K,)
            The matrix of the matching, row by row.
        """
        z = np.zeros(self._check_input(x).shape[:2])
        z[links_of(y, "y", z.shape)] = 1.0
        return z.ravel()

    def adjoint(self, x, w):
        """``F^T w``: the scores of all pairs.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        w : ndarray of shape (n_features,)
            Weights.

        Returns
        -------
        scores : ndarray of shape (J * K,)
            The scores, row by row.
        """
        return self.scores(x, w).ravel()

    def apply(self, x, z):
        """``F z``: the features of a fractional matching.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        z : ndarray of shape (J * K,)
            Fractional matching.

        Returns
        -------
        phi : ndarray of shape (n_features,)
            Features, those of `joint_feature` at corners.
        """
        x = self._check_input(x)
        return self._matrix(x, z, "z").ravel() @ x.reshape(-1, self.n_features_in_)

    def loss_vector(self, x, y):
        """The loss as a linear function ``<c, z> + c0``.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        y : array-like of shape (J, K) or list of pairs
            True matching.

        Returns
        -------
        c : ndarray of shape (J * K,)
            Cost of each pair, negative for true ones.
        c0 : float
            Cost of making no pair.
        """
        shape = self._check_input(x).shape[:2]
        c, c0 = self._loss._pair_costs(links_of(y, "y", shape), shape)
        return c.ravel(), c0

    def lmo(self, x, s):
        """A corner of largest ``<s, z>``.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        s : ndarray of shape (J * K,)
            Scores.

        Returns
        -------
        z : ndarray of shape (J * K,)
            A matching.
        """
        return self.default_oracle().argmax(self._matrix(x, s, "s"))[0].ravel().astype(np.float64)

    def project(self, x, p, tol=1e-9):
        """Nearest fractional matching; see `project_matching`.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        p : ndarray of shape (J * K,)
            Any point.
        tol : float, default=1e-9
            Bound on the distance to the exact projection.

        Returns
        -------
        z : ndarray of shape (J * K,)
            Its projection.
        """
        return project_matching(self._matrix(x, p, "p"), perfect=self.perfect, tol=tol).ravel()

    def log_potentials0(self, x):
        """Parameters of the uniform fractional matching, where entropic methods start.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.

        Returns
        -------
        theta : ndarray of shape (J * K,)
            Zeros.
        """
        return np.zeros(self.z_size(x))

    def marginals(self, x, theta, tol=1e-9):
        """Entropic projection: the z of largest ``<theta, z> - h(z)``; see `sinkhorn_matching`.

        Here ``h(z) = sum(z log z - z)``, so these are not probabilities of pairs under a
        distribution over matchings, which cannot be computed fast.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        theta : ndarray of shape (J * K,)
            Parameters, logarithms of positive numbers.
        tol : float, default=1e-9
            Bound on the distance to the exact projection.

        Returns
        -------
        z : ndarray of shape (J * K,)
            A fractional matching without zeros but for underflow.
        """
        return sinkhorn_matching(
            self._matrix(x, theta, "theta"), perfect=self.perfect, tol=tol
        ).ravel()

    def log_partition(self, x, theta, tol=1e-9):
        """The maximum of ``<theta, z> - h(z)`` over fractional matchings; `marginals` is its slope.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        theta : ndarray of shape (J * K,)
            Parameters.
        tol : float, default=1e-9
            Accuracy of the maximiser.

        Returns
        -------
        value : float
            The maximum.
        """
        z, (u, v) = sinkhorn_matching(
            self._matrix(x, theta, "theta"), perfect=self.perfect, tol=tol, return_duals=True
        )
        return float(z.sum() + u.sum() + v.sum())  # the dual value, which errs in second order

    def z_diameter(self, x, geometry="euclidean"):
        """Largest divergence of a matching from the point where methods start.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        geometry : {"euclidean", "entropy"}, default="euclidean"
            Half the squared distance from 0 (``perfect``: from the uniform fractional matching), or
            the relative entropy to the uniform one.

        Returns
        -------
        diameter : float
            The divergence.
        """
        check_choice(geometry, "geometry", {"euclidean", "entropy"})
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
        """Matching nearest to a fractional one.

        Parameters
        ----------
        x : array-like of shape (J, K, n_features)
            Features of pairs.
        z : ndarray of shape (J * K,)
            Fractional matching.

        Returns
        -------
        y : ndarray of shape (J, K), int8
            The matching; unless ``perfect``, the pairs of more than one half.
        """
        return self.default_oracle().argmax(2.0 * self._matrix(x, z, "z") - 1.0)[0]

    def _matrix(self, x, vector, name):
        """A vector of parts as a matrix of pairs."""
        shape = self._check_input(x).shape[:2]
        vector = check_array_of_numbers(vector, name)
        if vector.shape != (shape[0] * shape[1],):
            raise ValueError(f"{name} must have shape ({shape[0] * shape[1]},), got {vector.shape}")
        check_magnitude(vector, name)
        return vector.reshape(shape)
