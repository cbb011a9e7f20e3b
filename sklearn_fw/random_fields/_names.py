"""Names of variables and of their states: questions and answers in the words of the user."""

from numbers import Integral

import numpy as np

from .._core.validation import check_list


class Naming:
    """The part of `FactorGraph` that knows names."""

    def _set_names(self, names, state_names):
        """Check and keep names; ``n_states`` is known."""
        self.names = None if names is None else check_list(names, "names", "text")
        _require_text(self.names or (), "names")
        n = len(self.n_states)
        if names is not None and len(self.names) != n:
            raise ValueError(f"names must name {n} variables, got {len(self.names)}")
        self.state_names = None
        if state_names is not None:
            lists = check_list(state_names, "state_names", "lists of text, one for each variable")
            if len(lists) != n:
                raise ValueError(f"state_names must hold {n} lists, got {len(lists)}")
            self.state_names = [
                check_list(states, f"state_names[{i}]", "text") for i, states in enumerate(lists)
            ]
        for i, states in enumerate(self.state_names or ()):
            _require_text(states, f"state_names[{i}]")
            if len(states) != self.n_states[i] or len(set(states)) != len(states):
                raise ValueError(
                    f"state_names[{i}] must hold {self.n_states[i]} different names, got "
                    f"{len(states)}, {len(set(states))} of them different"
                )

    def _variable(self, key, what):
        """Number of a variable that is given by number or name; ``what`` names it."""
        if isinstance(key, str):
            return self._number(key, what)
        whole = isinstance(key, Integral) and not isinstance(key, bool | np.bool_)
        if not whole or not 0 <= key < len(self.n_states):
            raise ValueError(
                f"{what} must name variables 0 to {len(self.n_states) - 1}, got {key!r:.60}"
            )
        return int(key)

    def _number(self, name, what="observed"):
        if self.names is None:
            raise ValueError(f"{what} names {name!r}, but the variables have no names")
        if self.names.count(name) != 1:
            found = "several" if name in self.names else "no"
            raise ValueError(f"{what} names {name!r}, and {found} variables have this name")
        return self.names.index(name)

    def _state(self, i, name):
        """Number of a state that is given by its name."""
        if self.state_names is None:
            raise ValueError(f"observed names state {name!r}, but the states have no names")
        if name not in self.state_names[i]:
            raise ValueError(
                f"observed names state {name!r}, but variable {i} has the states "
                f"{', '.join(self.state_names[i]):.200}"
            )
        return self.state_names[i].index(name)

    def name_states(self, labels):
        """One labelling by names, with the states of observed variables.

        Parameters
        ----------
        labels : array-like of shape (n_variables,), integer
            State of each variable.

        Returns
        -------
        states : dict
            Name of the state of each variable, by its name; numbers where there are no names.
        """
        labels = self.complete(self.check_labelling(labels, "labels"))
        _, names, state_names = self._all
        return {
            key: int(state) if state_names is None else state_names[i][state]
            for i, (key, state) in enumerate(zip(_keys(names, len(labels)), labels))
        }

    def name_marginals(self, marginals):
        """Marginals of variables by names.

        Parameters
        ----------
        marginals : array-like of shape (n_variables, n_states)
            Such as ``marginals_`` of an estimator; what is beyond the states of a variable is left
            out.

        Returns
        -------
        probabilities : dict of dicts of float
            Of each state of each variable, by names; by numbers where there are no names.
        """
        blocks, answer = self._blocks_of(marginals), {}
        keys = self.variables.tolist() if self.names is None else self.names
        for i, (key, block) in enumerate(zip(keys, blocks)):
            states = range(len(block)) if self.state_names is None else self.state_names[i]
            answer[key] = dict(zip(states, block.tolist()))
        return answer


def _keys(names, n):
    return range(n) if names is None else names


def _require_text(names, what):
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise TypeError(f"{what} must be a list of text, got {wrong[0]!r:.60} in it")
