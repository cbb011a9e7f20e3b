"""Inputs and outputs of users as numbers of tokens, or as features."""

import numpy as np

from .._core import check
from .._core.packed import objects, padded
from ..task_losses import tokens_of

LENGTHS = "auto", "fixed", "free"  # of outputs, besides a number
LONGER = 1.5  # than the longest output of fit: where outputs without an end are cut
ADVICE = "name all tokens in fit, or in the first partial_fit, by classes and input_tokens"


class Reader:
    """Reads inputs: features in rows, tokens, or columns of tokens, as the first fit found them."""

    def __init__(self):
        self.vocabularies, self.n_features = None, None

    def fit(self, X, tokens=None):
        """Learn the kind of inputs and their tokens, unless these are known; returns them read."""
        X = check.items(X, "X", "sequences", least=1)
        if _kind(X[0], "X[0]") == "features":
            if tokens is not None:
                raise ValueError("input_tokens names tokens, but X holds features: leave it out")
            self.n_features = _features(X[0], "X[0]").shape[1]
            return self.read(X)
        columns = _all_columns(X)
        if tokens is None:
            self.vocabularies = [_numbered(own, "X") for own in zip(*columns, strict=True)]
        else:
            self.vocabularies = _named(tokens, len(columns[0]))
        return self._encoded(columns, True)

    def compare(self, tokens):
        known = self.vocabularies
        if tokens is not None and (known is None or _named(tokens, len(known)) != known):
            raise ValueError("input_tokens must be those of before, which input_tokens_ holds")

    def read(self, X, is_training=False):
        """Inputs as arrays of shape (length, n_columns) of numbers of tokens, or of features.

        Unknown tokens all have the number behind those of known ones; training refuses them.
        """
        X = check.items(X, "X", "sequences", least=1)
        if self.n_features is None:
            return self._encoded(_all_columns(X, len(self.vocabularies)), is_training)
        return Inputs([_features(x, f"X[{i}]", self.n_features) for i, x in enumerate(X)])

    def _encoded(self, columns, is_training):
        return Inputs([
            np.stack([
                _encode(tokens, known, f"X[{i}]" if is_training else None)
                for tokens, known in zip(own, self.vocabularies, strict=True)
            ], axis=1)
            for i, own in enumerate(columns)
        ])  # fmt: skip


class Inputs:
    """Read inputs, which batches are taken from."""

    def __init__(self, arrays):
        self.arrays = arrays
        self.lengths = np.array([len(own) for own in arrays])

    def __len__(self):
        return len(self.arrays)

    def take(self, index):
        return Inputs([self.arrays[i] for i in index])

    def n_cells(self, most):
        """Most tokens of each output; ``most`` is None where they are as long as inputs."""
        return self.lengths if most is None else np.full(len(self), most)

    def padded(self):
        """All in one array with zeros behind their ends."""
        first = self.arrays[0]
        return padded(self.arrays, int(self.lengths.max()), 0, first.shape[1:], first.dtype)


class Outputs:
    """The tokens of outputs by number."""

    def __init__(self, y, classes=None):
        y = check.items(y, "y", "sequences", least=1)
        if classes is None:
            self._number = _numbered((_output(own, f"y[{i}]") for i, own in enumerate(y)), "y")
        else:
            self._number = _numbered([_output(classes, "classes")], "classes")
        self.classes = _array(list(self._number))
        self.as_text = all(isinstance(own, str) for own in y)

    def compare(self, classes):
        if classes is None:
            return
        if _numbered([_output(classes, "classes")], "classes") != self._number:
            raise ValueError("classes must be those of before, which classes_ holds")

    @staticmethod
    def lengths(y):
        return np.array([len(_output(own, f"y[{i}]")) for i, own in enumerate(y)])

    def encode(self, y, n_inputs):
        """Numbers of the tokens of each output, as many outputs as inputs."""
        y = check.items(y, "y", "outputs, one for each input", n_inputs)
        named = [(f"y[{i}]", own) for i, own in enumerate(y)]
        return [_encode(_output(own, name), self._number, name) for name, own in named]


def _kind(x, name):
    if isinstance(x, str):
        return "tokens"
    if isinstance(x, np.ndarray):
        if x.ndim == 2:
            return "features" if x.dtype.kind in "fiub" else "columns"
        return "tokens"
    if not isinstance(x, list | tuple):
        raise TypeError(f"{name} must be a text, a list of tokens or an array, got {x!r:.60}")
    if len(x) and isinstance(x[0], list | np.ndarray):
        return "features"
    return "columns" if len(x) and isinstance(x[0], tuple) else "tokens"


def _features(x, name, n_features="n_features"):
    if isinstance(x, str):
        raise TypeError(f"{name} is a text, but the first input of fit held features")
    x = check.shaped(x, name, "length", n_features)
    if np.abs(x).max() > np.finfo(np.float32).max / 2:
        raise ValueError(f"{name} holds numbers that single precision cannot: scale the features")
    return x


def _columns(x, name):
    kind = _kind(x, name)
    if kind == "features":
        raise TypeError(f"{name} holds features, but the first input of fit held tokens")
    if kind == "tokens":
        return [_sequence(x, name)]
    rows = x.tolist() if isinstance(x, np.ndarray) else x
    for row in rows:
        if not isinstance(row, tuple | list) or len(row) != len(rows[0]) or not len(row):
            raise ValueError(f"{name} must hold as many tokens in each place, got {row!r:.60}")
    return [_sequence(list(column), name) for column in zip(*rows, strict=True)]


def _all_columns(X, n_columns=None):
    columns = [_columns(x, f"X[{i}]") for i, x in enumerate(X)]
    wanted = n_columns or len(columns[0])
    for i, own in enumerate(columns):
        if len(own) != wanted:
            raise ValueError(
                f"X[{i}] holds {len(own)} tokens in each place, but the first of fit held {wanted}"
            )
    return columns


def _sequence(x, name):
    if isinstance(x, np.ndarray) and x.dtype.kind in "fcmM":
        raise ValueError(f"{name} must hold tokens, got {x.dtype}; features have two axes")
    tokens = tokens_of(x, name)
    if not tokens:
        raise ValueError(f"{name} is empty: leave it out")
    strange = next((t for t in tokens if isinstance(t, float | complex)), None)
    if strange is not None:
        raise ValueError(f"{name} holds {strange!r}: tokens are text, whole numbers or tuples")
    return tokens


def _output(y, name):
    if isinstance(y, str | list | tuple | np.ndarray):
        return _sequence(y, name)
    raise TypeError(f"{name} must be a text or a list of tokens, got a {type(y).__name__}")


def _numbered(sequences, name):
    """Numbers of tokens, in sorted order."""
    known = {token for tokens in sequences for token in tokens}
    try:
        return {token: k for k, token in enumerate(sorted(known))}
    except TypeError:
        raise ValueError(f"{name} mixes tokens that cannot be sorted: use one type") from None


def _named(tokens, n_columns):
    """Numbers of the tokens that a user names for each column."""
    tokens = check.items(tokens, "input_tokens", "columns of tokens", n_columns)
    named = [(f"input_tokens[{c}]", own) for c, own in enumerate(tokens)]
    return [_numbered([_output(own, name)], name) for name, own in named]


def _encode(tokens, known, name):
    """Numbers of tokens; unknown ones are an error of what has this name, if it has one."""
    unknown = len(known)
    numbers = [known.get(token, unknown) for token in tokens]
    if name and unknown in numbers:
        token = tokens[numbers.index(unknown)]
        raise ValueError(f"{name} has the token {token!r}, which fit has not seen: {ADVICE}")
    return np.array(numbers, dtype=np.int64)


def _array(tokens):
    """Tokens as an array, of objects where numpy would change them."""
    if len({type(token) for token in tokens}) == 1 and isinstance(tokens[0], str | int):
        array = np.array(tokens)
        if array.tolist() == tokens:
            return array
    return objects(tokens)


# ---- lengths of outputs --------------------------------------------------------------------------


def most_tokens(wanted, n_in, n_out, before=None):
    """Most tokens of an output; None where outputs are as long as inputs.

    ``before`` is what it was where training goes on.
    """
    if check.is_auto(wanted):
        wanted = "free" if np.any(n_in != n_out) or before is not None else "fixed"
    most = None if wanted == "fixed" else wanted
    if wanted == "free":
        most = int(np.ceil(LONGER * n_out.max()))
    check_lengths(
        most, n_in, n_out, "output_length='fixed' asks for as many: take 'free'",
        f"output_length={wanted} allows: raise it, or cut the outputs",
    )  # fmt: skip
    return None if most is None else int(most)


def check_lengths(most, n_in, n_out, as_many, limit):
    """Refuse outputs of other lengths than inputs, or of more than ``most`` tokens."""
    wrong = np.flatnonzero(n_out != n_in if most is None else n_out > most)
    if len(wrong):
        i = int(wrong[0])
        reason = f" and X[{i}] has {n_in[i]}, but {as_many}"
        if most is not None:
            reason = f", more than {limit}"
        raise ValueError(f"y[{i}] has {n_out[i]} tokens{reason}")
