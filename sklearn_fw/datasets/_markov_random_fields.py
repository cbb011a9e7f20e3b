"""Markov random fields: random spin glasses, stored instances with known marginals, in-painting."""

import json
import re
from numbers import Integral

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch, check_scalar

from .._files import damage, read_text
from .._validation import (
    check_choice,
    check_flag,
    check_moderate,
    check_random_state,
)
from ..random_fields import PairwiseMRF
from ._files import Origin, find_file

# So large a complete graph, or grid, still fits into memory.
MOST_SPINS, MOST_ROWS = 10_000, 100_000

__all__ = [
    "load_mrf_instances",
    "make_digit_inpainting",
    "make_ising_clique",
    "make_ising_grid",
    "make_ising_rbm",
]

INSTANCES_DESCR = """\
{title}
{line}

{text}

:Instances: {n}
:Variables: {n_variables}, each with two states

"""
ORIGIN = Origin(
    source="""made by R. Krishnan, S. Lacoste-Julien and D. Sontag for "Barrier Frank-Wolfe for
Marginal Inference" (NIPS 2015); exact.json holds exact answers in our form.""",
    terms="""published for research; the set stays under the terms of its publisher and is not part
of this package.  Cite the paper above when you use it.""",
    checksums={
        "cliques/exact.json": "408441ec762b49191d1929fec59aef4cdab3e2491ebdb5e0d01168ca0f5b8433",
        "cliques/*.uai, joined by number": (
            "6bc03dc395d809fbf60f75a9967bb76ddd6ae3a1f520801c147d5b6c9b0a43ef"
        ),
        "grids_5x5/exact.json": "b1afd7145050a9e9b0f405b2b63332923caeef8e7161e5a71f7d76b5f9b99042",
        "grids_5x5/*.uai, joined by number": (
            "a4f5c5f922b83d8fdca6ec66514b7ae169de63ebd4e91b81a491d4c0f9fd0b09"
        ),
    },
)

_INSTANCES = {
    "cliques": (
        "Spin glasses on complete graphs",
        "Fields uniform on [-1, 1], couplings uniform on [-t, t] for spins -1 and 1, with t of\n"
        "0.5, 1, 2, ..., 8.  The files are in the form of states 0 and 1, without the constant.",
    ),
    "grids_5x5": (
        "Spin glasses on grids",
        "Fields uniform on [-1, 1], couplings uniform on [-4, 4] for spins -1 and 1.",
    ),
}

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

    Raises
    ------
    ValueError
        When n_variables is below 1, or coupling or field is negative or not finite.

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

    Raises
    ------
    ValueError
        When shape does not hold two positive integers, or coupling or field is negative or not
        finite.

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

    Raises
    ------
    ValueError
        When a number of spins is below 1, or coupling or field is negative or not finite.

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


def load_mrf_instances(data_home=None, *, name="cliques"):
    """Load published random fields with exact log Z and marginals from files you have.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with ``exact.json`` and UAI files in its sub-folder ``mrf/cliques`` or ``cliques``
        (or ``grids_5x5``).  ``None`` means the folder named by the environment variable
        ``SKLEARN_FW_DATA``.
    name : {"cliques", "grids_5x5"}, default="cliques"
        ``"cliques"``: 180 complete graphs on 10 spins, 20 for each of nine couplings.
        ``"grids_5x5"``: 15 grids of 25 spins.

    Returns
    -------
    Bunch
        ``mrfs``: list of ``PairwiseMRF``.
        ``log_partition``: ndarray of shape (n_instances,), natural logarithms to six digits.
        ``node_marginals``: list of ndarray of shape (n_variables, 2), to six digits.
        ``couplings``: ndarray of shape (n_instances,), the largest absolute coupling t that
        instances were drawn with.
        ``filenames``: list of str.  ``DESCR``: str with source and terms of use.

    Raises
    ------
    FileNotFoundError
        When the files are absent; the message lists the names that were looked for.
    ValueError
        When a file is not of the expected format, or ``name`` is unknown.

    See Also
    --------
    make_ising_clique, make_ising_grid : Instances of the same distributions.

    Notes
    -----
    ``exact.json`` maps the name of each UAI file, without suffix, to ``log_partition`` and to
    ``node_marginals`` (p(0) and p(1) of each variable in order). The files of the cliques hold
    factors for states 0 and 1 with first entries one, so ``to_ising`` gives a constant that is not
    zero; log Z is that of the factors as they are.

    References
    ----------
    .. [1] Krishnan, Lacoste-Julien and Sontag, Barrier Frank-Wolfe for marginal inference,
       NIPS 2015.

    Examples
    --------
    >>> from sklearn_fw.datasets import load_mrf_instances
    >>> cliques = load_mrf_instances("~/data")  # doctest: +SKIP
    >>> cliques.mrfs[0]  # doctest: +SKIP
    PairwiseMRF(n_variables=10, n_edges=45, n_states=2)
    """
    check_choice(name, "name", _INSTANCES)
    names = [f"mrf/{name}/exact.json", f"{name}/exact.json"]
    path = find_file(data_home, names, what=f"random fields {name!r}", origin=ORIGIN)
    with ORIGIN.explains():
        instances = _read_exact(path)
        filenames = [str(path.with_name(f"{stem}.uai")) for _, stem, _, _ in instances]
        mrfs = [PairwiseMRF.from_uai(file) for file in filenames]
        for (_, stem, _, marginals), mrf in zip(instances, mrfs):
            if marginals.shape != (2 * mrf.n_variables,):
                raise damage(
                    path,
                    f"node_marginals of {stem!r} must have two numbers for each of "
                    f"{mrf.n_variables} variables, got {marginals.shape}",
                )
    title, text = _INSTANCES[name]
    couplings = np.full(len(mrfs), 4.0)
    if name == "cliques":  # a hundred numbers for each coupling, from 1
        group = (np.array([number for number, *_ in instances]) - 1) // 100
        couplings = np.where(group == 0, 0.5, group)
    return Bunch(
        mrfs=mrfs,
        log_partition=np.array([log_partition for _, _, log_partition, _ in instances]),
        node_marginals=[marginals.reshape(-1, 2) for *_, marginals in instances],
        couplings=couplings,
        filenames=filenames,
        DESCR=INSTANCES_DESCR.format(
            title=title,
            line="-" * len(title),
            text=text,
            n=len(mrfs),
            n_variables=mrfs[0].n_variables,
        )
        + str(ORIGIN),
    )


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

    Raises
    ------
    ValueError
        When patch or n_test is out of range.

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


MAPPING = "must map names of files, which end with a number, to log_partition and node_marginals"


def _read_exact(path):
    """Number, stem, log Z and marginals of all instances, by number."""
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        line = getattr(error, "lineno", None)
        raise damage(path, f"{MAPPING}: it is no JSON ({error})", line=line) from None
    if not isinstance(content, dict):
        raise damage(path, f"{MAPPING}, but holds a {type(content).__name__}")
    if not content:
        raise damage(path, "names no file")
    instances = [_read_answer(path, stem, exact) for stem, exact in content.items()]
    return sorted(instances, key=lambda instance: instance[0])


def _read_answer(path, stem, exact):
    try:
        # Stems end with the number of the instance.
        number = int(re.fullmatch(r"[^/\\\0]*?(?<!\d)(\d{1,18})", stem)[1])
        log_partition = float(exact["log_partition"])
        marginals = np.array(exact["node_marginals"], dtype=np.float64)
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise damage(
            path,
            f"{MAPPING}, but {stem!r:.60}: {error!r:.200}",
        ) from None
    finite = np.isfinite(log_partition) and np.all((marginals >= 0) & (marginals <= 1))
    paired = marginals.ndim == 1 and marginals.size % 2 == 0
    if not (finite and paired and np.allclose(marginals.reshape(-1, 2).sum(axis=1), 1, atol=1e-3)):
        raise damage(
            path,
            f"{stem!r} must have a finite log_partition and node_marginals p(0), p(1) of each "
            "variable, which sum to one",
        )
    return number, stem, log_partition, marginals
