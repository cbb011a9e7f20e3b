"""Random fields in the forms of others: files, packages, spins, graphs of networkx."""

import numpy as np

from .._core import check
from .._core.scores import floats, integers


class Networks:
    @classmethod
    def from_pgmpy(cls, model):
        """Bayesian network, Markov network or factor graph of pgmpy.

        Parameters
        ----------
        model : object
            With ``get_cpds()`` or ``get_factors()``, as networks of pgmpy have them.

        Returns
        -------
        graph : FactorGraph
            With a factor for each table, as logarithms, and the names of variables and states as
            text.
        """
        reader = next((r for r in ("get_cpds", "get_factors") if hasattr(model, r)), None)
        if reader is None or isinstance(model, type):
            raise TypeError(f"model must be a network of pgmpy, got {type(model).__name__}")
        states, factors = {}, []
        for table in getattr(model, reader)():
            factors.append((list(table.variables), table.values))
            for variable in table.variables:
                # Tables without names of states have numbers instead.
                found = list(table.state_names[variable])
                if states.setdefault(variable, found) != found:
                    raise ValueError(f"model names the states of {variable!r} in two ways")
        lacking = [v for v in getattr(model, "nodes", lambda: ())() if v not in states]
        lacking = [v for v in lacking if not hasattr(v, "values")]  # factors are nodes, too
        if lacking:
            raise ValueError(f"model has no table on variable {lacking[0]!r}")
        return _from_tables(cls, states, factors)

    @classmethod
    def from_pyagrum(cls, model):
        """Bayesian network or Markov random field of pyAgrum.

        Parameters
        ----------
        model : object
            With ``cpt(node)`` or ``factors()``, as ``BayesNet`` and ``MarkovRandomField`` have
            them.

        Returns
        -------
        graph : FactorGraph
            With a factor for each table, as logarithms, and the names of variables and states.
        """
        if isinstance(model, type) or not (hasattr(model, "cpt") or hasattr(model, "factor")):
            raise TypeError(f"model must be a network of pyAgrum, got {type(model).__name__}")
        variables = [model.variable(node) for node in sorted(model.nodes())]
        states = {variable.name(): list(variable.labels()) for variable in variables}
        if hasattr(model, "cpt"):
            tables = [model.cpt(node) for node in sorted(model.nodes())]
        else:
            tables = [model.factor(scope) for scope in model.factors()]
        # The first variable of their tables changes fastest.
        factors = [(list(table.names)[::-1], table.toarray()) for table in tables]
        return _from_tables(cls, states, factors)


def _from_tables(cls, states, factors):
    number = {variable: i for i, variable in enumerate(states)}
    logs = []
    for scope, table in factors:
        table = check.array(np.asarray(table), f"the table on {scope}")
        if table.size and table.min() < 0:
            raise ValueError(f"the table on {scope} must hold numbers >= 0, got {table.min():.6g}")
        with np.errstate(divide="ignore"):
            logs.append(([number[variable] for variable in scope], np.log(table)))
    named = [[str(state) for state in found] for found in states.values()]
    return cls._of(
        [np.zeros(len(found)) for found in named], logs, names=[str(v) for v in states],
        state_names=named,
    )  # fmt: skip


SPINS = np.array([-1.0, 1.0])


class OtherForms:
    def to_ising(self):
        """Fields and couplings of spins -1 (state 0) and +1 (state 1).

        Returns
        -------
        h, J, constant : ndarray of shape (n_variables,), ndarray of shape (n_edges,), float
            Fields, and couplings in the order of ``edges``, of the score ``constant + sum_i h_i s_i
            + sum_ij J_ij s_i s_j``.
        """
        if np.any(self.n_states != 2):
            raise ValueError("to_ising needs two states for every variable")
        if not np.all(np.isfinite(self.theta)):
            raise ValueError("to_ising needs finite potentials, got -inf (hard constraints)")
        scores = self.scores()
        unary, t = scores.unary, scores.pairwise
        h, J = unary @ SPINS / 2, SPINS @ t @ SPINS / 4
        np.add.at(h, self.edges.T, [t.sum(axis=2) @ SPINS / 4, t.sum(axis=1) @ SPINS / 4])
        constant = self.constant + unary.mean(axis=1).sum() + t.mean(axis=(1, 2)).sum()
        return h, J, float(constant)

    @classmethod
    def from_ising(cls, h, J, edges=None, *, constant=0.0, names=None):
        """`PairwiseMRF` of spins -1 (state 0) and +1 (state 1).

        Parameters
        ----------
        h : array-like of shape (n_variables,)
            Fields: ``h_i s_i`` is added to the score.
        J : array-like of shape (n_edges,) or (n_variables, n_variables)
            Couplings: ``J_ij s_i s_j`` is added to the score. A square matrix must be symmetric or
            upper triangular; each pair counts once, and zeros make no edges.
        edges : array-like of shape (n_edges, 2), default=None
            Edges of a vector of couplings.
        constant : float, default=0.0
            Added to the score.
        names : list of str, default=None
            Names of the variables.
        """
        h, J = check.vector(h, "h"), check.array(J, "J")
        if edges is None:
            is_square = J.shape == (len(h), len(h)) and not np.any(np.diag(J))
            if not is_square or not (np.array_equal(J, J.T) or not np.any(np.tril(J))):
                raise ValueError(
                    f"J must be a matrix of shape {(len(h), len(h))} when edges is None, symmetric "
                    f"or upper triangular with a zero diagonal, got shape {J.shape}"
                )
            edges = np.argwhere(np.triu(J))
            J = J[tuple(edges.T)]
        edges = integers(edges, "edges", 2)
        if J.shape != (len(edges),):
            raise ValueError(f"J must hold a number for each of {len(edges)} edges, got {J.shape}")
        tables = J[:, None, None] * np.outer(SPINS, SPINS)
        return cls(h[:, None] * SPINS, edges, tables, constant=constant, names=names)

    @classmethod
    def from_networkx(cls, graph, unary="unary", pairwise="pairwise"):
        """`PairwiseMRF` of an undirected networkx graph; ``names`` are the nodes as text.

        Parameters
        ----------
        graph : networkx.Graph or MultiGraph
            Variables are nodes, in the order of the graph.
        unary : str, default="unary"
            Node attribute with the log-potentials, of shape (n_states_i,).
        pairwise : str, default="pairwise"
            Edge attribute with the table, of shape (n_states_i, n_states_j), rows for the node that
            comes first in the order of nodes.
        """
        parts = ("is_directed", "nodes", "edges")
        if isinstance(graph, type) or not all(hasattr(graph, name) for name in parts):
            raise TypeError(f"graph must be a graph of networkx, got {type(graph).__name__}")
        if graph.is_directed():
            raise ValueError("graph must be undirected; call graph.to_undirected()")
        number = {node: i for i, node in enumerate(graph.nodes)}
        edges = [sorted((number[a], number[b])) for a, b in graph.edges()]
        blocks = _attributes("unary", unary, graph.nodes(data=True))
        tables = _attributes("pairwise", pairwise, graph.edges(data=True))
        return cls(blocks, edges, tables or None, names=[str(node) for node in graph.nodes])

    def to_networkx(self):
        """Return a networkx.Graph: the inverse of `from_networkx`.

        Nodes 0 to n_variables - 1 have "unary", edges "pairwise"; other attributes are lost.
        """
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from((i, {"unary": block}) for i, block in enumerate(self.unary))
        tables = zip(self.scopes, self.pairwise)
        graph.add_edges_from((i, j, {"pairwise": table}) for (i, j), table in tables)
        return graph


def _attributes(name, attribute, items):
    check.instance(attribute, name, str)
    lacking = [item for *item, data in items if attribute not in data]
    if lacking:
        raise ValueError(f"{lacking[0]} of graph has no attribute {attribute!r}, see {name}")
    return [item[-1][attribute] for item in items]


def tables_of(pairwise, edges, n_states):
    if pairwise is None:
        if len(edges):
            raise ValueError("pairwise is None, but there are edges: give each a table")
        return []
    pairwise = check.items(pairwise, "pairwise", "tables, one for each edge")
    if len(pairwise) and all(np.ndim(row) == 1 for row in pairwise):
        pairwise = [pairwise] * len(edges)
    if len(pairwise) != len(edges):
        raise ValueError(f"pairwise holds {len(pairwise)} tables for {len(edges)} edges")
    tables = []
    for e, (table, (i, j)) in enumerate(zip(pairwise, edges)):
        table = np.array(floats(table, f"pairwise[{e}]"))
        shape = tuple(n_states[[i, j]].tolist())
        if table.shape != shape:
            raise ValueError(
                f"pairwise[{e}] must have shape {shape}, the numbers of states of variables {i} "
                f"and {j}; got {table.shape}"
            )
        tables.append(table)
    return tables
