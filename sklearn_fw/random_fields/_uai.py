"""Files of the UAI inference competitions: random fields, evidence and solutions."""

import math

import numpy as np

from .._core import check
from .._core.files import check_path, damage, read_text
from .._core.scores import integers

LARGEST_EXPONENT = 700.0  # exp of it and of its negative are normal numbers of float64
MOST_PARTS = 10_000  # factors written for one table
MOST_AXES = 32  # of an array of numpy 1
LARGEST_INTEGER = 10**15  # far more than memory holds of anything that files count
# States that variables may have besides those that the words of the file could describe.
FREE_STATES = 10**7
# Rows of marginals that are written with three decimals, or of very many states.
ROUNDING, MOST_ROUNDING = 5e-4, 1e-2


def read_field(path):
    """What `load_uai` makes a random field of: blocks of variables, factors and a constant."""
    tokens = _Tokens(path)
    if tokens.word() not in ("MARKOV", "BAYES"):
        tokens.fail(f"the preamble must be MARKOV or BAYES, got {tokens.last!r}")
    n_variables = tokens.integer("the number of variables", 1)
    n_states = [tokens.integer("a number of states", 1) for _ in range(n_variables)]
    if sum(n_states) > len(tokens.words) + FREE_STATES:
        tokens.fail(f"{sum(n_states)} states in all, but {len(tokens.words)} numbers in the file")
    scopes = _read_scopes(tokens, n_variables)
    unary = [np.zeros(k) for k in n_states]
    factors, constant = [], np.zeros(1)
    for scope, table, place in _read_tables(tokens, scopes, n_states):
        if len(scope) > 1:
            factors.append((scope, table.reshape([n_states[i] for i in scope])))
            continue
        total = unary[scope[0]] if scope else constant
        total += table
        if total.max() == -np.inf:
            what = f"variable {scope[0]}" if scope else "no variable"
            tokens.fail(f"the factors on {what} are zero everywhere: nothing is allowed", place)
    return unary, factors, constant[0]


def read_evidence(path):
    tokens = _Tokens(path)
    n_samples = tokens.integer("the number of samples", 1) if _counts_samples(tokens.text) else 1
    samples = [_read_observed(tokens) for _ in range(n_samples)]
    tokens.finish()
    return samples[0] if n_samples == 1 else samples


def read_solution(path):
    tokens = _Tokens(path)
    kind = tokens.word()
    if kind not in ("MAR", "PR", "MAP", "MPE"):
        tokens.fail(f"the file must start with MAR, PR, MAP or MPE, got {kind!r}")
    try:
        return _read_solution(tokens, kind)
    except ValueError as error:
        # Older files have the number of evidence samples first; read those that have one.
        if tokens.words[1:2] != ["1"]:
            raise
        tokens.next = 2
        try:
            return _read_solution(tokens, kind)
        except ValueError:
            raise error from None


class _Tokens:
    """The words of a file, one after the other; errors name the file and the line."""

    def __init__(self, path):
        self.path = path
        # Every sequence of bytes is Latin-1: a file of another kind fails at its first word.
        self.text = read_text(path, encoding="latin-1")
        self.words = self.text.split()
        self.next = 0

    @property
    def last(self):
        return self.words[self.next - 1]

    def fail(self, reason, place=None):
        place = self.next - 1 if place is None else place
        ends = np.cumsum([len(line.split()) for line in self.text.rstrip().split("\n")])
        line = min(int(np.searchsorted(ends, place, side="right")) + 1, len(ends))
        raise damage(self.path, reason, line=line)

    def word(self):
        if self.next >= len(self.words):
            self.fail("the file ends too early", len(self.words))
        self.next += 1
        return self.last

    def integer(self, what, minimum, maximum=LARGEST_INTEGER):
        word = self.word()
        value = _integer_or_minus(word)
        if not minimum <= value <= maximum:
            self.fail(f"{what} must be an integer from {minimum} to {maximum}, got {word!r:.60}")
        return value

    def numbers(self, n, what, minimum=0.0):
        """The next n words, or all that are left for None, as finite numbers."""
        stop = len(self.words) if n is None else self.next + n
        words = self.words[self.next : stop]
        values = np.fromiter(map(number_or_nan, words), np.float64)
        wrong = ~((values >= minimum) & (values < np.inf))
        if wrong.any():
            place = int(wrong.argmax())
            wanted = "a number" if minimum == -np.inf else f"a number >= {minimum:g}"
            self.fail(f"{what} must be {wanted}, got {words[place]!r:.60}", self.next + place)
        if n is not None and len(words) < n:
            self.fail("the file ends too early", len(self.words))
        self.next += len(words)
        return values

    def finish(self):
        if self.next < len(self.words):
            self.fail(f"the file should end here, but goes on with {self.word()!r}")


def number_or_nan(word):
    try:
        return float(word) if "_" not in word else np.nan  # Python takes 1_0 for 10
    except ValueError:
        return np.nan


def _integer_or_minus(word):
    """A word as a number; -1 for what is none, and for what has more digits than any count."""
    return int(word) if word.isdecimal() and len(word) <= 18 else -1


def _read_scopes(tokens, n_variables):
    scopes = []
    for number in range(tokens.integer("the number of factors", 0)):
        n_scope = tokens.integer(f"the number of variables of factor {number}", 0)
        if n_scope > MOST_AXES:
            tokens.fail(f"factor {number} is on {n_scope} variables, at most {MOST_AXES} can be")
        what = f"a variable of factor {number}"
        scopes.append([])
        for _ in range(n_scope):
            scopes[-1].append(tokens.integer(what, 0, n_variables - 1))
            if scopes[-1].count(scopes[-1][-1]) > 1:
                tokens.fail(f"factor {number} names variable {tokens.last} twice")
    return scopes


def _read_tables(tokens, scopes, n_states):
    """Yield the scope, the logarithms of the table and the place in the file of each factor."""
    start = tokens.next
    # All at once: this is where the time goes.
    values = tokens.numbers(None, "a potential")
    with np.errstate(divide="ignore"):
        logarithms = np.log(values)
    at = 0
    for number, scope in enumerate(scopes):
        size = math.prod(n_states[i] for i in scope)
        stop = at + 1 + size
        if at < len(values) and values[at] != size:
            tokens.fail(
                f"the table of factor {number} on variables {scope} must have {size} entries, got "
                f"{tokens.words[start + at]!r}",
                start + at,
            )
        if stop > len(values):
            tokens.fail(f"the file ends within the table of factor {number}", len(tokens.words))
        yield scope, logarithms[at + 1 : stop], start + at
        at = stop
    tokens.next = start + at
    tokens.finish()


def _counts_samples(text):
    """Whether evidence begins with the number of samples on a line, and has a line for each."""
    first, *samples = [line.split() for line in text.splitlines() if line.strip()] or [[]]
    if not samples or first != [str(len(samples))]:
        return False
    return all(len(s) == 1 + 2 * _integer_or_minus(s[0]) for s in samples)


def _read_observed(tokens):
    observed = {}
    for _ in range(tokens.integer("the number of observed variables", 0)):
        variable = tokens.integer("an observed variable", 0)
        state = tokens.integer(f"the state of variable {variable}", 0)
        before = observed.setdefault(variable, state)
        if before != state:
            tokens.fail(f"variable {variable} is observed in states {before} and {state}")
    return observed


def _read_solution(tokens, kind):
    if kind == "PR":
        solution = float(tokens.numbers(1, "a decimal logarithm", -np.inf)[0]) * math.log(10.0)
        if math.isinf(solution) and not math.isinf(float(tokens.last)):
            tokens.fail(f"the natural logarithm of 10^{tokens.last:.60} is not a float64")
    elif kind in ("MAP", "MPE"):
        n_variables = tokens.integer("the number of variables", 1)
        states = [tokens.integer("a state", 0) for _ in range(n_variables)]
        solution = np.array(states, dtype=np.int64)
    else:
        n_variables = tokens.integer("the number of variables", 1)
        solution = [_read_marginals(tokens, i) for i in range(n_variables)]
    tokens.finish()
    return solution


def _read_marginals(tokens, variable):
    row = tokens.numbers(tokens.integer("a number of states", 1), "a probability")
    if not abs(row.sum() - 1.0) <= min(ROUNDING * len(row), MOST_ROUNDING) + 1e-9:
        tokens.fail(f"probabilities of variable {variable} must sum to one, not {row.sum():.6g}")
    return row


def write_field(mrf, path):
    path, mrf = check_path(path), mrf._plain()  # as the class has it, whatever a subclass says
    blocks = [(f"1 {i}", block) for i, block in enumerate(mrf.unary)]
    for scope, table in zip(mrf.scopes, mrf.tables):
        name = " ".join(map(str, (len(scope), *scope)))
        blocks.append((name, table.reshape(len(table), -1)))
    if mrf.constant:
        blocks.append(("0", np.array([mrf.constant])))
    scopes, tables = [], []
    for scope, block in blocks:
        largest = np.abs(block[block > -np.inf]).max(initial=0.0)
        n_parts = max(1, int(np.ceil(largest / LARGEST_EXPONENT)))
        if n_parts > MOST_PARTS:
            most = f"{MOST_PARTS * LARGEST_EXPONENT:g}"
            raise ValueError(f"mrf has a log-potential of {largest:.6g}, above {most}: scale it")
        rows = np.exp(np.atleast_2d(block) / n_parts).tolist()
        table = "\n".join(" ".join(map(repr, row)) for row in rows)
        scopes += [scope] * n_parts
        tables += [f"\n{block.size}\n{table}"] * n_parts
    n_states = " ".join(map(str, mrf.n_states))
    lines = ["MARKOV", str(mrf.n_variables), n_states, str(len(scopes)), *scopes, *tables, ""]
    path.write_text("\n".join(lines), encoding="ascii")


def write_evidence(observed, path):
    pairs = integers(list(observed.items()), "data", 2)
    if pairs.min(initial=0) < 0:
        raise ValueError("data must hold numbers >= 0 of variables and states")
    words = [len(pairs), *pairs.ravel().tolist()]
    check_path(path).write_text(" ".join(map(str, words)) + "\n", encoding="ascii")


def write_solution(solution, path, kind):
    path = check_path(path)
    if check.is_auto(kind):
        is_number = not isinstance(solution, list | tuple) and np.ndim(solution) == 0
        is_labeling = not is_number and all(np.ndim(row) == 0 for row in solution)
        kind = "PR" if is_number else "MAP" if is_labeling else "MAR"
    if kind == "PR":
        number = check.array(solution, "data", finite=True)
        if number.ndim:
            raise ValueError(f"data must be a number for PR, got shape {number.shape}")
        words = [float(number) / math.log(10.0)]
    elif kind == "MAR":
        rows = check.items(solution, "data", "marginals")
        words = [len(rows)]
        for i, row in enumerate(rows):
            row = check.vector(row, f"data[{i}]")
            if row.min() < 0 or abs(row.sum() - 1.0) > 1e-6:
                raise ValueError(f"data[{i}] must hold probabilities that sum to one")
            words += [len(row), *row.tolist()]
    else:
        labels = integers(solution, "data", None)
        if labels.ndim != 1 or not labels.size or labels.min() < 0:
            raise ValueError(f"data must hold one state >= 0 for each variable for {kind}")
        words = [len(labels), *labels.tolist()]
    path.write_text(f"{kind}\n{' '.join(map(str, words))}\n", encoding="ascii")
