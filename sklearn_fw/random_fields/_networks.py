"""Bayesian networks and factor graphs of other packages and files as random fields."""

import numpy as np

from .._core.files import check_path
from .._core.validation import check_array_of_numbers
from ._uai import read_uai_evidence, read_uai_field, write_uai


class Networks:
    """Conversions of `FactorGraph`, which inherits them."""

    @classmethod
    def from_uai(cls, path, evidence=None):
        """Read a file of the UAI inference competitions.

        Parameters
        ----------
        path : str or path
            File with the preamble MARKOV or BAYES, see `load_uai`.
        evidence : str, path or dict of int to int, default=None
            Evidence file or observed states: the result is `condition` on them.

        Returns
        -------
        field : PairwiseMRF or FactorGraph
            The random field; a `PairwiseMRF` where no factor is on more than two variables.
        """
        unary, factors, constant = read_uai_field(path)
        mrf = cls._narrow(unary, factors, constant=constant)
        if not isinstance(mrf, cls._base):
            raise ValueError(
                f"{path} has a factor on {max(map(len, mrf.scopes))} variables, and PairwiseMRF "
                f"takes pairs: use FactorGraph.from_uai"
            )
        if evidence is None:
            return mrf
        if not isinstance(evidence, dict):
            evidence = read_uai_evidence(check_path(evidence, "evidence"))
            if not isinstance(evidence, dict):
                raise ValueError(
                    "evidence holds several samples: read them with read_uai_evidence and call "
                    "condition for each"
                )
        return mrf.condition(evidence) if evidence else mrf

    def to_uai(self, path):
        """Write a file of the UAI format, from which `from_uai` reads the same numbers.

        Parameters
        ----------
        path : str or path
            File to write.
        """
        write_uai(self, path)

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
            With a factor for each table, as logarithms. Names of variables and states are those of
            the model, as text.

        See Also
        --------
        load_bif : The files that pgmpy writes by ``model.save``.
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

        See Also
        --------
        load_bif : The files that pyAgrum writes by ``saveBN``.
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
    """The field of tables of probabilities on variables with named states."""
    number = {variable: i for i, variable in enumerate(states)}
    logs = []
    for scope, table in factors:
        table = check_array_of_numbers(np.asarray(table), f"the table on {scope}")
        if table.size and table.min() < 0:
            raise ValueError(f"the table on {scope} must hold numbers >= 0, got {table.min():.6g}")
        with np.errstate(divide="ignore"):
            logs.append(([number[variable] for variable in scope], np.log(table)))
    named = [[str(state) for state in found] for found in states.values()]
    return cls._of(
        [np.zeros(len(found)) for found in named], logs, names=[str(v) for v in states],
        state_names=named,
    )  # fmt: skip
