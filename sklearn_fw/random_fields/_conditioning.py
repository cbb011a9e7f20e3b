"""Random fields of which the states of some variables are known."""

from numbers import Integral

import numpy as np

from ..inference._scores import as_array

__all__ = ["Conditioning"]


class Conditioning:
    """The part of `PairwiseMRF` that fixes variables and puts them back."""

    def condition(self, observed):
        """The random field of the other variables, given the states of some.

        Parameters
        ----------
        observed : dict of int or str to int
            State of each observed variable, which is given by its number or its name.

        Returns
        -------
        mrf : PairwiseMRF
            Variables that are not observed, in their order; ``variables`` are their numbers before
            all conditioning, ``evidence`` what is known, and `complete` goes back. Its log Z is
            that of all labellings that agree with the observation.

        Raises
        ------
        ValueError
            When a variable or state does not exist, a variable is observed in two states, all
            variables are observed, or the observation is forbidden.
        """
        states = self._observed_states(observed)
        free = np.flatnonzero(states < 0)
        if not len(free):
            raise ValueError("observed holds all variables: leave at least one free")
        unary = [block.copy() for block in self.unary]
        fixed = np.flatnonzero(states >= 0)
        constant = self.constant + sum(unary[i][states[i]] for i in fixed)
        edges, tables = [], []
        number = np.cumsum(states < 0) - 1
        for (i, j), table in zip(self.edges, self.pairwise):
            if states[i] < 0 and states[j] < 0:
                edges.append((number[i], number[j]))
                tables.append(table)
            elif states[i] < 0:
                unary[i] += table[:, states[j]]
            elif states[j] < 0:
                unary[j] += table[states[i]]
            else:
                constant += table[states[i], states[j]]
        if constant == -np.inf or any(np.all(unary[i] == -np.inf) for i in free):
            raise ValueError("observed is forbidden by a potential of -inf")
        names = None if self.names is None else [self.names[i] for i in free]
        rest = type(self)(
            [unary[i] for i in free], edges, tables or None, constant=constant, names=names
        )
        rest.variables = self.variables[free]
        known = dict(zip(self.variables[fixed].tolist(), states[fixed].tolist()))
        rest.evidence = {**self.evidence, **known}
        return rest

    def _observed_states(self, observed):
        """State of each variable, -1 where it is not observed."""
        if not isinstance(observed, dict):
            raise TypeError(
                f"observed must be a dict of variables to their states, got "
                f"{type(observed).__name__}"
            )
        states = np.full(self.n_variables, -1)
        for key, state in observed.items():
            i = self._number(key) if isinstance(key, str) else key
            whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in (i, state))
            if not whole or not 0 <= i < self.n_variables or not 0 <= state < self.n_states[i]:
                raise ValueError(
                    f"observed[{key!r:.60}] = {state!r:.60} is no state of any variable"
                )
            if states[i] not in (-1, state):
                raise ValueError(f"observed gives variable {key!r} the states {states[i]}, {state}")
            states[i] = state
        return states

    def _number(self, name):
        if self.names is None:
            raise ValueError(f"observed names {name!r}, but the variables have no names")
        if self.names.count(name) != 1:
            found = "several" if name in self.names else "no"
            raise ValueError(f"observed names {name!r}, and {found} variables have this name")
        return self.names.index(name)

    def complete(self, X):
        """Labellings of all variables there were before conditioning.

        Parameters
        ----------
        X : array-like of shape (n_variables,) or (n_samples, n_variables), integer
            Labellings of this field.

        Returns
        -------
        X : ndarray of shape (n_all,) or (n_samples, n_all), int64
            The same with the states of ``evidence``, in the order of the first field.
        """
        X = as_array(X, "X")
        labels = self.check_labels(np.atleast_2d(X))
        full = np.empty((len(labels), self.n_variables + len(self.evidence)), np.int64)
        full[:, self.variables] = labels
        for i, state in self.evidence.items():
            full[:, i] = state
        return full if X.ndim == 2 else full[0]
