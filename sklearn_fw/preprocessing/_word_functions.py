"""What taggers look at in a word: affixes, shape, and the kinds of its characters."""

import re
from functools import cache

_RUNS = re.compile(r"(.)\1+", re.DOTALL)
_AFFIX = re.compile(r"(prefix|suffix)([1-9][0-9]?)")


def shape(word):
    """Capitals become X, other letters x, digits d; all else stays: "Mk-2s" is "Xx-dx"."""
    return "".join(
        ("X" if c.isupper() else "x") if c.isalpha() else "d" if c.isdigit() else c for c in word
    )


def short_shape(word):
    """The shape with runs of one character written once: "McDonald" is "XxXx"."""
    return _RUNS.sub(r"\1", shape(word))


def _flag(holds):
    return lambda word: "yes" if holds(word) else None


FUNCTIONS = {
    "lower": str.lower,
    "shape": shape,
    "short_shape": short_shape,
    "is_capitalized": _flag(lambda word: word[:1].isupper()),
    "is_upper": _flag(str.isupper),
    "has_digit": _flag(lambda word: any(map(str.isdigit, word))),
    "has_hyphen": _flag(lambda word: "-" in word),
    "has_inner_capital": _flag(lambda word: word[1:] != word[1:].lower()),
    "is_punctuation": _flag(lambda word: not any(map(str.isalnum, word))),
}


@cache
def resolve_function(name):
    """The function of words with this name, None if there is none.

    It returns text, or None where a word does not have what is asked for: "suffix3" of "on".
    """
    affix = _AFFIX.fullmatch(name)
    if affix is None:
        return FUNCTIONS.get(name)
    n = int(affix[2])
    if affix[1] == "prefix":
        return lambda word: word[:n] if len(word) >= n else None
    return lambda word: word[-n:] if len(word) >= n else None
