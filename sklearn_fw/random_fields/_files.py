"""Random fields in files of the UAI competitions and of the Bayesian interchange format."""

import math
import re
from graphlib import CycleError, TopologicalSorter

import numpy as np

from .._core import check
from .._core.files import check_path, damage, read_text
from . import _uai as uai
from ._fields import FactorGraph, PairwiseMRF

TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|"([^"\n]*)"|([{}()\[\],;|])|([^\s{}()\[\],;|"]+)', re.S)
# Probabilities that `default` lines may stand for, besides one for each word of the file.
FREE_ENTRIES = 2**24
ROUNDING = 1e-2  # by which the probabilities of a row may miss one
PLAIN = re.compile(r"[A-Za-z_][\w.+-]*|\d+")  # names that need no quotation marks


def load_bif(path):
    """Read a Bayesian network from a file of the Bayesian interchange format (BIF).

    Parameters
    ----------
    path : str or path
        Text file (``.bif``), or such a file packed by gzip (``.gz``).

    Returns
    -------
    graph : FactorGraph
        With a factor for the conditional probabilities of each variable, as logarithms, and the
        names of variables and states. Its log Z is zero, up to the rounding of the file; after
        `FactorGraph.condition` it is the logarithm of the probability of what was observed.

    See Also
    --------
    save_bif : Writes such files.
    FactorGraph.from_pgmpy, FactorGraph.from_pyagrum : From networks in memory.
    load_uai : Another format, without names.

    Notes
    -----
    Read are blocks ``network``, ``variable`` of ``type discrete`` and ``probability`` with
    ``table`` (the states of the variable itself change slowest), rows ``(states of parents)
    numbers`` and ``default``; properties are ignored. Probabilities are taken as they are.

    References
    ----------
    .. [1] F. G. Cozman, "The interchange format for Bayesian networks", version 0.15, 1998.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_fw.random_fields import load_bif
    >>> text = "network rain { } variable rain { type discrete [ 2 ] { yes, no }; } "
    >>> text += "probability ( rain ) { table 0.2, 0.8; }"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "rain.bif")
    ...     _ = file.write_text(text)
    ...     graph = load_bif(file)
    >>> graph.names, graph.state_names
    (['rain'], [['yes', 'no']])
    """
    reader = _Reader(path)
    blocks = {name: getattr(reader, name) for name in ("network", "variable", "probability")}
    while reader.next < len(reader.tokens):
        reader.entry(blocks)
    return reader.graph()


def save_bif(graph, path):
    """Write a Bayesian network to a file of the Bayesian interchange format (BIF).

    Parameters
    ----------
    graph : FactorGraph
        Product of one conditional distribution for each variable, in any order, as `load_bif`,
        `FactorGraph.from_pgmpy` and `FactorGraph.from_pyagrum` make them. Variables and states
        without names are written by their numbers.
    path : str or path
        Text file to write; an existing one is overwritten.

    See Also
    --------
    load_bif : Reads the same network, up to rounding of 1e-15.
    save_uai : Any random field, without names.

    Notes
    -----
    The variable of a factor is the one without a factor before it, in an order that begins with
    variables without parents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from sklearn_fw.random_fields import FactorGraph, save_bif
    >>> graph = FactorGraph([2], [(["rain"], np.log([0.5, 0.5]))], names=["rain"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "rain.bif")
    ...     save_bif(graph, file)
    ...     print(file.read_text().strip())
    network unknown { }
    variable rain { type discrete [ 2 ] { 0, 1 }; }
    probability ( rain ) { table 0.5, 0.5; }
    """
    path, graph = check_path(path), check.instance(graph, "graph", FactorGraph)._plain()
    names = [_written(name) for name in graph.names or range(graph.n_variables)]
    if len(set(names)) < len(names):
        raise ValueError("graph has two variables of one name")
    states = graph.state_names or [range(k) for k in graph.n_states]
    states = [[_written(state) for state in found] for found in states]
    lines = ["network unknown { }"]
    for name, found in zip(names, states):
        kind = f"discrete [ {len(found)} ] {{ {', '.join(found)} }}"
        lines.append(f"variable {name} {{ type {kind}; }}")
    for scope, table in _conditionals(graph):
        child, parents = names[scope[0]], [names[i] for i in scope[1:]]
        if not parents:
            lines.append(f"probability ( {child} ) {{ table {_numbers(table)}; }}")
            continue
        lines.append(f"probability ( {child} | {', '.join(parents)} ) {{")
        for place in np.ndindex(table.shape[1:]):
            given = ", ".join(states[i][a] for i, a in zip(scope[1:], place))
            lines.append(f"  ({given}) {_numbers(table[:, *place])};")
        lines.append("}")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _written(name):
    name = str(name)
    if PLAIN.fullmatch(name):
        return name
    if '"' in name or "\n" in name or not name:
        raise ValueError(f"graph has the name {name!r:.60}, which no BIF file can hold")
    return f'"{name}"'


def _numbers(row):
    return ", ".join(map(repr, row.tolist()))


def _conditionals(graph):
    """(scope, table) of each variable's distribution, with its own axis first, by variables."""
    found = {}
    for i, block in enumerate(graph.unary):
        if _speaks(block) or len(block) == 1:
            found[i] = (i,), np.exp(block)
    waiting = [factor for factor in zip(graph.scopes, graph.tables) if _speaks(factor[1])]
    n_before = None
    while len(waiting) != n_before:  # else no factor is the distribution of one variable more
        n_before, later = len(waiting), []
        for scope, table in waiting:
            children = [axis for axis, i in enumerate(scope) if i not in found]
            if len(children) != 1:
                later.append((scope, table))
                continue
            axis = children[0]
            whole = scope[axis], *scope[:axis], *scope[axis + 1 :]
            found[scope[axis]] = whole, np.moveaxis(np.exp(table), axis, 0)
        waiting = later
    rows = [table.sum(axis=0) for _, table in found.values()]
    complete = len(found) == graph.n_variables and not waiting and graph.constant == 0.0
    if not complete or not all(np.all(np.abs(sums - 1.0) <= ROUNDING) for sums in rows):
        raise ValueError(
            "graph must be a Bayesian network, a product of one conditional distribution for each "
            "variable: write other random fields by save_uai"
        )
    return [found[i] for i in range(graph.n_variables)]


def _speaks(table):
    """Whether a table of logarithms has other entries than zero."""
    return bool(np.any(np.abs(table) > ROUNDING))


class _Reader:
    """The tokens of a file and what they have said so far; errors name the file and the line."""

    def __init__(self, path):
        self.path, self.text = path, read_text(path)
        self.tokens, at = [], 0  # (text, place, whether it is punctuation)
        while at < len(self.text):
            match = TOKEN.match(self.text, at)
            if match is None:
                line = self.text.count("\n", 0, at) + 1
                raise damage(path, "a quotation mark or comment has no end", line=line)
            if kind := match.lastindex:  # quoted, mark or word; none for spaces and comments
                self.tokens.append((match[kind], at, kind == 2))
            at = match.end()
        self.next = 0
        self.states, self.tables, self.n_entries = {}, {}, 0

    def fail(self, reason):
        place = self.tokens[min(self.next, len(self.tokens)) - 1][1] if self.tokens else 0
        raise damage(self.path, reason, line=self.text.count("\n", 0, place) + 1)

    def token(self, what):
        """The next token: (text, whether it is punctuation)."""
        if self.next >= len(self.tokens):
            self.fail(f"the file ends where {what} should be")
        self.next += 1
        text, _, is_mark = self.tokens[self.next - 1]
        return text, is_mark

    def name(self, what):
        text, is_mark = self.token(what)
        if is_mark:
            self.fail(f"expected {what}, got {text!r}")
        return text

    def mark(self, wanted):
        if not self.take(wanted):
            self.fail(f"expected {wanted!r}, got {self.token(repr(wanted))[0]!r:.60}")

    def take(self, wanted):
        """Whether the next token is this punctuation mark, which then counts as read."""
        is_there = self.next < len(self.tokens) and self.tokens[self.next][::2] == (wanted, True)
        self.next += is_there
        return is_there

    def words(self, end, what):
        found = []
        while not self.take(end):
            if not self.take(","):
                found.append(self.name(what))
        return found

    def numbers(self, what, n, n_of):
        """The n numbers of an entry; errors name ``n_of``, which must have n."""
        words = self.words(";", what)
        values = np.array([uai.number_or_nan(word) for word in words])
        if not np.all((values >= 0) & (values < np.inf)):
            self.fail(f"{what} must be numbers >= 0, got {' '.join(words)!r:.60}")
        if len(values) != n:
            self.fail(f"{n_of} {n} numbers, got {len(values)}")
        return values

    def entry(self, entries):
        """A word, which ``entries`` has, and what follows it there."""
        word = "(" if "(" in entries and self.take("(") else self.name("an entry or its end")
        if word not in entries:
            self.fail(f"expected one of {sorted(entries)}, got {word!r:.60}")
        entries[word]()

    def body(self, entries):
        """A block of entries in braces, properties among them."""
        self.mark("{")
        while not self.take("}"):
            self.entry({"property": self._skip, **entries})

    def _skip(self):
        while not self.take(";"):
            self.token("';'")

    def network(self):
        self.name("the name of the network")
        self.body({})

    def variable(self):
        variable = self.name("the name of a variable")
        if variable in self.states:
            self.fail(f"variable {variable!r} is declared twice")
        self.body({"type": lambda: self.states.update({variable: self._type(variable)})})
        if variable not in self.states:
            self.fail(f"variable {variable!r} has no type")

    def _type(self, variable):
        kind = self.name("the type of the variable")
        if kind != "discrete":
            self.fail(f"variable {variable!r} must be discrete, got {kind!r:.60}")
        self.mark("[")
        count = self.name("the number of states")
        self.mark("]")
        self.mark("{")
        states = self.words("}", "the name of a state")
        self.take(";")
        if not states or str(len(states)) != count:
            self.fail(f"variable {variable!r} must have {count!r:.20} states, got {len(states)}")
        if len(set(states)) < len(states):
            self.fail(f"variable {variable!r} has two states of one name")
        return states

    def probability(self):
        self.mark("(")
        scope = [self.name("the name of a variable")]
        self.take("|")
        scope += self.words(")", "the name of a variable")
        what = f"the probabilities of {scope[0]!r}"
        for variable in scope:
            if variable not in self.states:
                self.fail(f"variable {variable!r} is not declared before its probabilities")
            if scope.count(variable) > 1:
                self.fail(f"{what} name {variable!r} twice")
        if scope[0] in self.tables:
            self.fail(f"variable {scope[0]!r} has probabilities already")
        if len(scope) > uai.MOST_AXES:
            self.fail(f"{what} are on {len(scope)} variables, at most {uai.MOST_AXES} can be")
        shape = [len(self.states[variable]) for variable in scope]
        self.n_entries += math.prod(shape)
        n_words = len(self.tokens)
        if self.n_entries > n_words + FREE_ENTRIES:
            self.fail(f"{what} make {self.n_entries:,} entries, too many for {n_words:,} words")
        table, default = np.full(shape, np.nan), np.full(shape[0], np.nan)

        def whole():
            table[:] = self.numbers(what, table.size, f"{what} must be").reshape(table.shape)

        def row():
            states = self.words(")", "the state of a parent")
            if len(states) != len(scope) - 1:
                self.fail(f"a row must name {len(scope) - 1} states of parents, got {len(states)}")
            for variable, state in zip(scope[1:], states):
                if state not in self.states[variable]:
                    self.fail(f"variable {variable!r} has no state {state!r:.60}")
            place = [self.states[v].index(state) for v, state in zip(scope[1:], states)]
            table[:, *place] = self.numbers(what, len(table), f"a row of {what} must have")

        def rest():
            default[:] = self.numbers(what, len(table), f"a row of {what} must have")

        self.body({"table": whole, "(": row, "default": rest})
        table = np.where(np.isnan(table), default.reshape(-1, *[1] * (table.ndim - 1)), table)
        lacking = np.argwhere(np.isnan(table))
        if len(lacking):
            states = [self.states[v][a] for v, a in zip(scope[1:], lacking[0][1:])]
            self.fail(f"{what} lack those for ({', '.join(states)})")
        if not np.all(np.abs(table.sum(axis=0) - 1.0) <= ROUNDING):
            sums = table.sum(axis=0).ravel()
            worst = sums[np.abs(sums - 1.0).argmax()]
            self.fail(f"{what} must sum to one, some sum to {worst:.6g}")
        self.tables[scope[0]] = scope, table

    def graph(self):
        if not self.states:
            self.fail("the file declares no variable")
        lacking = [variable for variable in self.states if variable not in self.tables]
        if lacking:
            self.fail(f"variable {lacking[0]!r} has no probabilities")
        try:
            TopologicalSorter({scope[0]: scope[1:] for scope, _ in self.tables.values()}).prepare()
        except CycleError as error:
            self.fail(f"parents must not form a cycle, got {' -> '.join(error.args[1]):.200}")
        with np.errstate(divide="ignore"):
            factors = [(scope, np.log(table)) for scope, table in self.tables.values()]
        names, states = list(self.states), list(self.states.values())
        return FactorGraph([*map(len, states)], factors, names=names, state_names=states)


def load_uai(path, kind="field"):
    """Read a random field, evidence or a solution from a file in UAI format.

    Parameters
    ----------
    path : str or path
        Text file, or such a file packed by gzip (``.gz``).
    kind : {"field", "evidence", "solution"}, default="field"
        A random field, with the preamble MARKOV or BAYES; the number of observed variables and then
        pairs of variable and state (in older files the number of samples on the first line, and one
        such list on each line); or a solution, which starts with MAR, PR, MAP or MPE.

    Returns
    -------
    data : object
        The `PairwiseMRF`, or `FactorGraph` where a factor is on more than two variables. Or the
        dict of observed states, a list of such for several samples. Or the solution: a list of the
        marginals of variables; the natural logarithm of the partition function; or the state of
        each variable, int64.

    See Also
    --------
    save_uai : Write such a file.
    FactorGraph.condition : The field of the other variables, given what was observed.

    Notes
    -----
    A field holds numbers with any white space between them: the number of variables, their
    numbers of states, the number of factors; for each factor the number of its variables and the
    variables; for each factor the size of its table and the table, not as logarithms, the last
    variable changing fastest. Zeros become ``-inf`` (hard constraints).

    References
    ----------
    .. [1] UAI 2014 Inference Competition, Description of the file formats.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_fw.random_fields import load_uai
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, seen = pathlib.Path(folder, "two.uai"), pathlib.Path(folder, "two.uai.evid")
    ...     _ = file.write_text("MARKOV 2  2 3  2  1 0  2 0 1  2  0.5 0.5  6  1 2 3  4 5 6")
    ...     _ = seen.write_text("1  0 1")
    ...     mrf, observed = load_uai(file), load_uai(seen, "evidence")
    >>> mrf, observed
    (PairwiseMRF(n_variables=2, n_edges=1, n_states=2..3), {0: 1})
    """
    readers = {"field": _read_graph, "evidence": uai.read_evidence, "solution": uai.read_solution}
    return readers[check.choice(kind, "kind", readers)](path)


def _read_graph(path):
    unary, factors, constant = uai.read_field(path)
    kind = PairwiseMRF if all(len(scope) == 2 for scope, _ in factors) else FactorGraph
    return kind._of(unary, factors, constant=constant)


def save_uai(data, path, kind="auto"):
    """Write a random field, evidence or a solution to a file in UAI format.

    Parameters
    ----------
    data : FactorGraph, dict, float, list of arrays or array of integers
        A random field, whose names have no place in the format; observed states, such as
        ``evidence`` of a field; or a solution: the natural logarithm of the partition function, the
        marginals of all variables (see `FactorGraph.complete_marginals`), or a labeling (see
        `FactorGraph.complete`).
    path : str or path
        Text file to write; an existing one is overwritten.
    kind : {"auto", "PR", "MAR", "MAP", "MPE"}, default="auto"
        First word of the file of a solution. "auto" is PR for a number, MAP for a labeling and
        else MAR; it is the only one for fields and evidence.

    See Also
    --------
    load_uai : Reads the same, up to rounding of 1e-13.

    Notes
    -----
    Each variable, edge and larger factor of a field gets a factor, and ``constant`` one without
    variables if it is not zero. Where ``exp`` of a potential would leave the range of floating
    point numbers, equal parts of it go to several factors on the same variables, which readers
    multiply.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_fw.random_fields import PairwiseMRF, save_uai
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.uai")
    ...     save_uai(PairwiseMRF([[0.0, float("-inf")]]), file)
    ...     print(file.read_text().split())
    ...     save_uai([[0.5, 0.5], [0.25, 0.75]], file)
    ...     print(file.read_text().split())
    ['MARKOV', '1', '2', '1', '1', '0', '2', '1.0', '0.0']
    ['MAR', '2', '2', '0.5', '0.5', '2', '0.25', '0.75']
    """
    check.choice(kind, "kind", ("auto", "PR", "MAR", "MAP", "MPE"))
    if isinstance(data, FactorGraph | dict) and kind != "auto":
        raise ValueError(f"{kind=} is for solutions: leave 'auto' for a random field or evidence")
    if isinstance(data, FactorGraph):
        uai.write_field(data, path)
    elif isinstance(data, dict):
        uai.write_evidence(data, path)
    else:
        uai.write_solution(data, path, kind)
