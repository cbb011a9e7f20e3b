"""Markov random fields that are made: random spin glasses, and images to complete."""

from numbers import Integral

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch, check_scalar

from .._core.validation import check_flag, check_moderate, check_random_state
from ..random_fields import PairwiseMRF

# So large a complete graph, or grid, still fits into memory.
MOST_SPINS, MOST_ROWS = 10_000, 100_000

INPAINTING_DESCR = """\
In-painting of handwritten digits
---------------------------------

Binary images of digits; in the test images a square of pixels is hidden.

:Samples: {n_train} training and {n_test} test images
:Variables: 64 pixels (8 x 8), 1 for ink
:Hidden: {patch} x {patch} pixels of each test image, anywhere

The images are the test part of the Optical Recognition of Handwritten Digits data set of
the UCI Machine Learning Repository (E. Alpaydin and C. Kaynak, 1998).
"""

INK = 7  # of 16: pixels above it are 1
# Rows and columns from a pixel to its neighbours.
OFFSETS = [(0, 1), (1, 0), (1, 1), (1, -1), (0, 2), (2, 0)]


def make_ising_clique(n_variables=10, *, coupling=1.0, field=1.0, random_state=None):
    """Make a random field of spins that all depend on each other.

    The standard test of approximate inference: as couplings grow, frustrated cycles make
    relaxations on local consistency useless, while brute force still knows the truth. With spins
    -1 (state 0) and 1 (state 1)::

        log p(s) = sum_i h_i s_i + sum_{i < j} J_ij s_i s_j - log Z
        h_i ~ U[-field, field],  J_ij ~ U[-coupling, coupling]

    Parameters
    ----------
    n_variables : int, default=10
        Number of spins, at least 1.
    coupling : float, default=1.0
        Largest absolute coupling, in nats. Published: 0.5, 1, 2, ..., 8.
    field : float, default=1.0
        Largest absolute field, in nats.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same field in every call.

    Returns
    -------
    mrf : PairwiseMRF
        Random field with n_variables (n_variables - 1) / 2 edges.

    See Also
    --------
    make_ising_grid : Spins on a grid.
    load_mrf_instances : The published instances with their marginals.

    Notes
    -----
    Fields are drawn first, then couplings in the order of ``edges``.

    References
    ----------
    .. [1] Krishnan, Lacoste-Julien and Sontag, Barrier Frank-Wolfe for marginal inference,
       NIPS 2015.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_ising_clique
    >>> mrf = make_ising_clique(4, coupling=2.0, random_state=0)
    >>> mrf
    PairwiseMRF(n_variables=4, n_edges=6, n_states=2)
    >>> h, J, constant = mrf.to_ising()
    >>> J.round(2)
    array([-0.31,  0.58, -0.25,  1.57,  1.85, -0.47])
    """
    n_variables = _check_size(n_variables, "n_variables", MOST_SPINS)
    edges = np.column_stack(np.triu_indices(n_variables, k=1))
    return _uniform_ising(n_variables, edges, field, (-1, coupling), random_state)


def make_ising_grid(shape=(5, 5), *, coupling=4.0, field=1.0, attractive=False, random_state=None):
    """Make a random field of spins on a grid, each joined to its four neighbours.

    Choose it for graphs on which elimination is exact up to about 20 rows. With spins -1 (state 0)
    and 1 (state 1)::

        log p(s) = sum_i h_i s_i + sum_{ij} J_ij s_i s_j - log Z
        h_i ~ U[-field, field],  J_ij ~ U[-coupling, coupling], or U[0, coupling] if attractive

    Parameters
    ----------
    shape : tuple of two int, default=(5, 5)
        Rows and columns.
    coupling : float, default=4.0
        Largest absolute coupling, in nats.
    field : float, default=1.0
        Largest absolute field, in nats.
    attractive : bool, default=False
        Whether all couplings favour equal neighbours. Then minimum cuts find the best labelling.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same field in every call.

    Returns
    -------
    mrf : PairwiseMRF
        Random field; variable ``row * n_columns + column``.

    See Also
    --------
    make_ising_clique : Spins that all depend on each other.
    load_mrf_instances : The published instances with their marginals.

    Notes
    -----
    Fields are drawn first, then couplings in the order of ``edges``: variable by variable, to the
    right neighbour and then to the one below.

    References
    ----------
    .. [1] Krishnan, Lacoste-Julien and Sontag, Barrier Frank-Wolfe for marginal inference,
       NIPS 2015.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_ising_grid
    >>> mrf = make_ising_grid((2, 3), random_state=0)
    >>> mrf
    PairwiseMRF(n_variables=6, n_edges=7, n_states=2)
    >>> mrf.edges.tolist()
    [[0, 1], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [4, 5]]
    """
    n_rows, n_columns = _check_shape(shape)
    check_flag(attractive, "attractive")
    edges = _grid_edges(n_rows, n_columns, [(0, 1), (1, 0)])
    lowest = 0 if attractive else -1
    return _uniform_ising(n_rows * n_columns, edges, field, (lowest, coupling), random_state)


def make_ising_rbm(n_visible=20, n_hidden=20, *, coupling=1.0, field=1.0, random_state=None):
    """Make a restricted Boltzmann machine with normal weights: spins on a complete bipartite graph.

    Choose it for dense graphs without triangles. With spins -1 (state 0) and 1 (state 1)::

        log p(s) = sum_i h_i s_i + sum_{ij} J_ij s_i s_j - log Z
        h_i ~ N(0, field^2),  J_ij ~ N(0, coupling^2)

    Parameters
    ----------
    n_visible : int, default=20
        Number of visible spins, the first ones.
    n_hidden : int, default=20
        Number of hidden spins, the last ones.
    coupling : float, default=1.0
        Standard deviation of the couplings, in nats.
    field : float, default=1.0
        Standard deviation of the fields, in nats.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same field in every call.

    Returns
    -------
    mrf : PairwiseMRF
        Random field with n_visible * n_hidden edges.

    See Also
    --------
    make_ising_grid : Spins on a grid.

    Notes
    -----
    Fields are drawn first, then couplings in the order of ``edges``. Exact inference takes time
    2^min(n_visible, n_hidden).

    References
    ----------
    .. [1] Krishnan, Lacoste-Julien and Sontag, Barrier Frank-Wolfe for marginal inference,
       NIPS 2015 (instances of the PASCAL inference challenge 2011).

    Examples
    --------
    >>> from sklearn_fw.datasets import make_ising_rbm
    >>> make_ising_rbm(12, 12, random_state=0)
    PairwiseMRF(n_variables=24, n_edges=144, n_states=2)
    """
    n_visible = _check_size(n_visible, "n_visible", MOST_SPINS)
    n_hidden = _check_size(n_hidden, "n_hidden", MOST_SPINS)
    coupling, field = check_moderate(coupling, "coupling"), check_moderate(field, "field")
    rng = check_random_state(random_state)
    edges = np.argwhere(np.ones((n_visible, n_hidden))) + [0, n_visible]
    h = field * rng.normal(size=n_visible + n_hidden)
    return PairwiseMRF.from_ising(h, coupling * rng.normal(size=len(edges)), edges)


def make_digit_inpainting(patch=4, n_test=100, *, random_state=0):
    """Make binary images of digits of which a square is to be completed.

    A table of states to learn a random field from, and test images with hidden pixels: choose it
    for examples of learning and of conditional marginals. Needs no file.

    Parameters
    ----------
    patch : int, default=4
        Rows and columns of the hidden square, from 1 to 8.
    n_test : int, default=100
        Number of test images, from 1 to 1796; the others are for training.
    random_state : int, RandomState instance or None, default=0
        Chooses the test images and the places of the squares.

    Returns
    -------
    Bunch
        ``X_train``: int64 ndarray of shape (n_train, 64), 1 for ink.
        ``X_test``: int64 ndarray of shape (n_test, 64), the complete test images.
        ``X_hidden``: the same with -1 at hidden pixels.
        ``mask``: bool ndarray of shape (n_test, 64), True at hidden pixels.
        ``y_train``, ``y_test``: int64 ndarrays of shape (n_train,) and (n_test,), the digits.
        ``edges``: int64 ndarray of shape (306, 2), pixels joined with those one step to the right,
        below and on both diagonals below, and two steps to the right and below.
        ``image_shape``: (8, 8).  ``DESCR``: str.

    See Also
    --------
    sklearn.datasets.load_digits : The images.

    Notes
    -----
    A pixel is ink if its value is above 7 of 16. The permutation of all images is drawn first (its
    first n_test are for testing), then the upper and then the left ends of all squares.

    References
    ----------
    .. [1] Nowozin, Rother, Bagon, Sharp, Yao and Kohli, Decision tree fields, ICCV 2011: the
       in-painting of occluded characters that this imitates.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_digit_inpainting
    >>> digits = make_digit_inpainting(patch=3)
    >>> digits.X_train.shape, digits.X_hidden.shape, digits.mask.sum(axis=1)[:2]
    ((1697, 64), (100, 64), array([9, 9]))
    """
    images, digits = load_digits(return_X_y=True)
    patch = _check_size(patch, "patch", 8)
    n_test = _check_size(n_test, "n_test", len(images) - 1)
    rng = check_random_state(random_state)
    X = (images > INK).astype(np.int64)
    order = rng.permutation(len(X))
    test, train = order[:n_test], order[n_test:]
    top, left = rng.randint(9 - patch, size=(2, n_test, 1))
    row, column = np.divmod(np.arange(64), 8)
    mask = (row >= top) & (row < top + patch) & (column >= left) & (column < left + patch)
    return Bunch(
        X_train=X[train],
        X_test=X[test],
        X_hidden=np.where(mask, -1, X[test]),
        mask=mask,
        y_train=digits[train],
        y_test=digits[test],
        edges=_grid_edges(8, 8, OFFSETS),
        image_shape=(8, 8),
        DESCR=INPAINTING_DESCR.format(n_train=len(train), n_test=len(test), patch=patch),
    )


def _uniform_ising(n_variables, edges, field, couplings, random_state):
    lowest, coupling = couplings
    coupling, field = check_moderate(coupling, "coupling"), check_moderate(field, "field")
    rng = check_random_state(random_state)
    h = field * rng.uniform(-1, 1, size=n_variables)
    J = coupling * rng.uniform(lowest, 1, size=len(edges))
    return PairwiseMRF.from_ising(h, J, edges)


def _check_shape(shape):
    flat = isinstance(shape, tuple | list) or (isinstance(shape, np.ndarray) and shape.ndim == 1)
    if not flat or len(shape) != 2:
        raise ValueError(f"shape must hold the numbers of rows and columns, got {shape!r}")
    return [_check_size(n, "an entry of shape", MOST_ROWS) for n in shape]


def _check_size(value, name, most):
    return int(check_scalar(value, name, Integral, min_val=1, max_val=most))


def _grid_edges(n_rows, n_columns, offsets):
    """Pairs of pixels at some offsets, pixel by pixel and then in the order of the offsets."""
    row, column = np.divmod(np.arange(n_rows * n_columns)[:, None], n_columns)
    down, right = np.array(offsets).T
    row, column = row + down, column + right
    inside = (row < n_rows) & (column >= 0) & (column < n_columns)
    first = np.nonzero(inside)[0]
    return np.column_stack([first, (row * n_columns + column)[inside]])
