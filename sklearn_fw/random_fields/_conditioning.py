"""Names of variables and states, and fields of which some states are known."""

from numbers import Integral

import numpy as np

from .._core import check
from .._core.scores import as_array


def collect(unary, factors, constant=0.0):
    """Tables by their scopes, those on the same variables added up, and the constant.

    Factors on one variable are added to ``unary``, those on none to the constant.
    """
    merged = {}
    for scope, table in factors:
        if not scope:
            constant += float(table)
        elif len(scope) == 1:
            unary[scope[0]] = unary[scope[0]] + table
        else:
            merged[scope] = merged[scope] + table if scope in merged else table
    return merged, constant


def given(factors, states, kept=None):
    """Yield factors of the variables that are left where others have a state, -1 for none.

    Scopes are numbers among those that are left, of whose states only ``kept`` stay.
    """
    number, states = (np.cumsum(states < 0) - 1).tolist(), states.tolist()
    for scope, table in factors:
        left = [i for i in scope if states[i] < 0]
        if len(left) < len(scope):
            table = table[tuple(slice(None) if states[i] < 0 else states[i] for i in scope)]
        if kept is not None:
            table = table[np.ix_(*(kept[i] for i in left))]
        yield tuple(number[i] for i in left), table


def remaining(field, states, kept=None):
    """Blocks, tables by scopes and constant of what `given` leaves, and each factor's scope."""
    n_states = field.n_states if kept is None else np.array([len(own) for own in kept])
    unary = [np.zeros(k) for k in n_states[states < 0]]
    singles = [((i,), block) for i, block in enumerate(field.unary)]
    factors = list(given([*singles, *zip(field.scopes, field.tables)], states, kept))
    merged, constant = collect(unary, factors, field.constant)
    return unary, merged, constant, [scope for scope, _ in factors[len(singles) :]]


class Conditioning:
    _before = None  # (n_states, names, state_names) of all variables, where some were fixed

    def _set_names(self, names, state_names):
        n, self.state_names = len(self.n_states), None
        self.names = None if names is None else check.texts(names, "names", n)
        if state_names is None:
            return
        lists = enumerate(check.items(state_names, "state_names", "lists of text", n))
        self.state_names = [check.texts(found, f"state_names[{i}]") for i, found in lists]
        for i, (found, k) in enumerate(zip(self.state_names, self.n_states)):
            if not len(found) == len(set(found)) == k:
                raise ValueError(f"state_names[{i}] needs {k} distinct names, got {found!r:.40}")

    def _variable(self, key, what):
        """Number of a variable that is given by number or name; ``what`` names it."""
        if not isinstance(key, str):
            if not _is_whole(key) or not 0 <= key < len(self.n_states):
                last = len(self.n_states) - 1
                raise ValueError(f"{what} must name variables 0 to {last}, got {key!r:.60}")
            return int(key)
        if self.names is None:
            raise ValueError(f"{what} names {key!r}, but the variables have no names")
        if self.names.count(key) != 1:
            found = "several" if key in self.names else "no"
            raise ValueError(f"{what} names {key!r}, and {found} variables have this name")
        return self.names.index(key)

    def _state(self, i, name):
        if self.state_names is None:
            raise ValueError(f"observed names state {name!r}, but the states have no names")
        if name not in self.state_names[i]:
            known = f"variable {i} has the states {', '.join(self.state_names[i]):.200}"
            raise ValueError(f"observed names state {name!r}, but {known}")
        return self.state_names[i].index(name)

    def name_states(self, labels):
        """Dict of states by variables, with observed ones; numbers without names.

        Parameters
        ----------
        labels : array-like of shape (n_variables,), integer
            State of each variable.
        """
        labels = self.complete(self._check_labeling(labels, "labels"))
        n_states, names, state_names = self._all
        states = zip(names or range(len(labels)), state_names or map(range, n_states), labels)
        return {key: found[state] for key, found, state in states}

    def _name_marginals(self, marginals):
        keys, states = self.names or self.variables.tolist(), self.state_names
        blocks = zip(keys, states or map(range, self.n_states), self._blocks_of(marginals))
        return {key: dict(zip(found, block.tolist())) for key, found, block in blocks}

    @property
    def _all(self):
        return self._before or (self.n_states, self.names, self.state_names)

    def condition(self, observed):
        """The random field of the other variables, given the states of some.

        Parameters
        ----------
        observed : dict of int or str to int or str
            State of each observed variable; both are given by number or by name.

        Returns
        -------
        field : FactorGraph or PairwiseMRF
            Of the same kind, with the other variables in their order. ``variables`` are their first
            numbers, ``evidence`` the observation; log Z sums all labelings that agree with it.
        """
        states = self._observed_states(observed)
        free = np.flatnonzero(states < 0)
        if not len(free):
            raise ValueError("observed holds all variables: leave at least one free")
        unary, merged, constant, _ = remaining(self, states)
        if constant == -np.inf or any(np.all(block == -np.inf) for block in unary):
            raise ValueError("observed is forbidden by a potential of -inf")
        options = {"constant": constant}
        for name in ("names", "state_names"):
            known = getattr(self, name)
            options[name] = None if known is None else [known[i] for i in free]
        rest = type(self)._of(unary, list(merged.items()), **options)
        rest.variables, rest._before = self.variables[free], self._all
        fixed = zip(self.variables.tolist(), states.tolist())
        rest.evidence = self.evidence | {i: state for i, state in fixed if state >= 0}
        return rest

    def _observed_states(self, observed):
        """State of each variable, -1 where it is not observed."""
        states = np.full(self.n_variables, -1)
        for key, state in check.instance(observed, "observed", dict).items():
            i = self._variable(key, "observed")
            if isinstance(state, str):
                state = self._state(i, state)
            if not (_is_whole(state) and 0 <= state < self.n_states[i]):
                raise ValueError(
                    f"observed[{key!r:.60}] = {state!r:.60} is not a state of the variable: it has "
                    f"0 to {self.n_states[i] - 1}"
                )
            if states[i] not in (-1, state):
                raise ValueError(f"observed gives variable {key!r} the states {states[i]}, {state}")
            states[i] = state
        return states

    def complete(self, X):
        """Add the states of ``evidence`` to labelings, in the order of the first field.

        Parameters
        ----------
        X : array-like of shape (n_variables,) or (n_samples, n_variables), integer
            Labelings of this field.
        """
        X = as_array(X, "X")
        labels = self._check_labels(np.atleast_2d(X))
        full = np.empty((len(labels), self.n_variables + len(self.evidence)), np.int64)
        full[:, self.variables] = labels
        for i, state in self.evidence.items():
            full[:, i] = state
        return full if X.ndim == 2 else full[0]

    def complete_marginals(self, marginals):
        """Marginals of all variables there were before conditioning.

        Parameters
        ----------
        marginals : array-like of shape (n_variables, n_states)
            Such as ``marginals_`` of an estimator of this field.

        Returns
        -------
        marginals : list of n_all arrays of shape (n_states_i,)
            The same, with probability one for what is observed, in the order of the first field:
            what `save_uai` writes.
        """
        blocks, n_states = self._blocks_of(marginals), self._all[0]
        full = [np.zeros(k) for k in n_states]
        for i, block in zip(self.variables, blocks):
            full[i] = block.copy()
        for i, state in self.evidence.items():
            full[i][state] = 1.0
        return full

    def _blocks_of(self, marginals):
        marginals = check.array(marginals, "marginals")
        n, k = self.n_variables, self.n_states.max()
        if marginals.ndim != 2 or marginals.shape[0] != n or marginals.shape[1] < k:
            raise ValueError(f"marginals must have shape ({n}, {k}), got {marginals.shape}")
        return [row[:k] for row, k in zip(marginals, self.n_states)]


def _is_whole(value):
    return isinstance(value, Integral) and not isinstance(value, bool)
