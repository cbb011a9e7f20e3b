"""Markov random fields: random spin glasses, and published ones with exact answers from files."""

import json
import re

import numpy as np
from sklearn.utils import Bunch

from .._core import check
from .._core.files import damage, read_text
from ..random_fields import PairwiseMRF, load_uai
from ._files import Origin, find_file
from ._grids import grid_edges

# So large a complete graph, or grid, still fits into memory.
MOST_SPINS, MOST_ROWS = 10_000, 100_000
DESCR = """\
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
MAPPING = "must map names of files, which end with a number, to log_partition and node_marginals"


def make_ising(
    graph="clique", size=10, *, coupling=1.0, field=1.0, attractive=False, random_state=None
):
    """Make a random Ising model: a spin glass on a complete, grid or bipartite graph.

    Standard tests of approximate inference. With spins -1 (state 0) and 1 (state 1)::

        log p(s) = sum_i h_i s_i + sum_{ij} J_ij s_i s_j - log Z
        h_i ~ U[-field, field],  J_ij ~ U[-coupling, coupling]

    Parameters
    ----------
    graph : {"clique", "grid", "bipartite"}, default="clique"
        Complete graph; grid of four neighbors; or a restricted Boltzmann machine, of which visible
        spins come first, with ``h_i ~ N(0, field^2)`` and ``J_ij ~ N(0, coupling^2)``.
    size : int or tuple of two int, default=10
        Number of spins of a clique; rows and columns of a grid; visible and hidden spins.
    coupling, field : float, default=1.0
        Largest absolute coupling and field, or their standard deviations, in nats. Published
        couplings: 0.5, 1, 2, ..., 8 for cliques, 4 for grids.
    attractive : bool, default=False
        Whether no coupling is negative, ``J_ij ~ U[0, coupling]``; minimum cuts then solve MAP
        inference.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same field in every call.

    Returns
    -------
    mrf : PairwiseMRF
        Random field; variable ``row * n_columns + column`` of a grid.

    Notes
    -----
    Fields are drawn first, then couplings in the order of ``edges``: variable by variable, on a
    grid to the right neighbor and then to the one below.

    References
    ----------
    .. [1] Krishnan, Lacoste-Julien and Sontag, Barrier Frank-Wolfe for marginal inference,
       NIPS 2015.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_ising
    >>> mrf = make_ising("grid", (2, 3), coupling=4.0, random_state=0)
    >>> mrf
    PairwiseMRF(n_variables=6, n_edges=7, n_states=2)
    >>> mrf.edges.tolist()
    [[0, 1], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [4, 5]]
    """
    check.choice(graph, "graph", ("bipartite", "clique", "grid"))
    coupling, field = check.moderate(coupling, "coupling"), check.moderate(field, "field")
    check.flag(attractive, "attractive")
    if graph == "clique":
        n_variables = check.integer(size, "size", 1, MOST_SPINS)
        edges = np.column_stack(np.triu_indices(n_variables, k=1))
    else:
        most = MOST_ROWS if graph == "grid" else MOST_SPINS
        sides = check.items(size, "size", f"integers for graph={graph!r}", 2)
        first, second = (check.integer(n, "an entry of size", 1, most) for n in sides)
        if graph == "grid":
            n_variables, edges = first * second, grid_edges(first, second, [(0, 1), (1, 0)])
        else:
            n_variables, edges = first + second, np.argwhere(np.ones((first, second))) + [0, first]
    rng = check.random_state(random_state)
    if graph == "bipartite":
        h, J = rng.normal(size=n_variables), rng.normal(size=len(edges))
        J = np.abs(J) if attractive else J
    else:
        h = rng.uniform(-1, 1, size=n_variables)
        J = rng.uniform(0 if attractive else -1, 1, size=len(edges))
    return PairwiseMRF.from_ising(field * h, coupling * J, edges)


def load_mrf_instances(data_home=None, *, name="cliques"):
    """Load published random fields with exact log Z and marginals from files you have.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with ``exact.json`` and UAI files in its sub-folder ``mrf/cliques`` or ``cliques``
        (or ``grids_5x5``). None means the folder named by the environment variable
        ``SKLEARN_FW_DATA``.
    name : {"cliques", "grids_5x5"}, default="cliques"
        180 complete graphs on 10 spins, 20 for each of nine couplings, or 15 grids of 25 spins.

    Returns
    -------
    Bunch
        ``mrfs``: list of ``PairwiseMRF``. ``log_partition``: ndarray of shape (n_instances,),
        natural logarithms to six digits. ``node_marginals``: list of ndarray of shape (n_variables,
        2), to six digits. ``couplings``: ndarray of shape (n_instances,), the largest absolute
        coupling t that instances were drawn with. ``filenames``: list of str. ``DESCR``: str with
        source and terms of use.

    Notes
    -----
    ``exact.json`` maps the name of each UAI file, without suffix, to ``log_partition`` and to
    ``node_marginals`` (p(0) and p(1) of each variable in order). ``to_ising`` of the cliques gives
    a constant that is not zero; log Z is that of the factors as they are.

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
    check.choice(name, "name", _INSTANCES)
    names = [f"mrf/{name}/exact.json", f"{name}/exact.json"]
    path = find_file(data_home, names, what=f"random fields {name!r}", origin=ORIGIN)
    with ORIGIN.explains():
        instances = _read_exact(path)
        filenames = [str(path.with_name(f"{stem}.uai")) for _, stem, _, _ in instances]
        mrfs = [load_uai(file) for file in filenames]
        for (_, stem, _, marginals), mrf in zip(instances, mrfs):
            if marginals.shape != (2 * mrf.n_variables,):
                reason = f"two numbers for each of {mrf.n_variables} variables"
                found = f"node_marginals of {stem!r} must have {reason}, got {marginals.shape}"
                raise damage(path, found)
    title, text = _INSTANCES[name]
    couplings = np.full(len(mrfs), 4.0)
    if name == "cliques":  # a hundred numbers for each coupling, from 1
        group = (np.array([number for number, *_ in instances]) - 1) // 100
        couplings = np.where(group == 0, 0.5, group)
    about = DESCR.format(
        title=title, line="-" * len(title), text=text, n=len(mrfs), n_variables=mrfs[0].n_variables
    )
    return Bunch(
        mrfs=mrfs, log_partition=np.array([instance[2] for instance in instances]),
        node_marginals=[marginals.reshape(-1, 2) for *_, marginals in instances],
        couplings=couplings, filenames=filenames, DESCR=f"{about}{ORIGIN}",
    )  # fmt: skip


def _read_exact(path):
    """Number, stem, log Z and marginals of all instances, by number."""
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        line = getattr(error, "lineno", None)
        raise damage(path, f"{MAPPING}: it is not JSON ({error})", line=line) from None
    if not isinstance(content, dict) or not content:
        kind = type(content).__name__
        raise damage(path, f"{MAPPING}, but holds a {kind}" if content else "names no file")
    instances = [_read_answer(path, stem, exact) for stem, exact in content.items()]
    return sorted(instances, key=lambda instance: instance[0])


def _read_answer(path, stem, exact):
    try:
        # Stems end with the number of the instance.
        number = int(re.fullmatch(r"[^/\\\0]*?(?<!\d)(\d{1,18})", stem)[1])
        log_partition = float(exact["log_partition"])
        marginals = np.array(exact["node_marginals"], dtype=np.float64)
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise damage(path, f"{MAPPING}, but {stem!r:.60}: {error!r:.200}") from None
    finite = np.isfinite(log_partition) and np.all((marginals >= 0) & (marginals <= 1))
    paired = marginals.ndim == 1 and marginals.size % 2 == 0
    if not (finite and paired and np.allclose(marginals.reshape(-1, 2).sum(axis=1), 1, atol=1e-3)):
        reason = "must have a finite log_partition and node_marginals p(0), p(1) of each variable"
        raise damage(path, f"{stem!r} {reason}, which sum to one")
    return number, stem, log_partition, marginals
