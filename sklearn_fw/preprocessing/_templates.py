"""What taggers look at: functions of a word, and templates of neighbors."""

import re
from functools import cache

from .._core import check

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

    It returns text, or None where a word lacks the property: "suffix3" of "on".
    """
    affix = _AFFIX.fullmatch(name)
    if affix is None:
        return FUNCTIONS.get(name)
    n = int(affix[2])
    if affix[1] == "prefix":
        return lambda word: word[:n] if len(word) >= n else None
    return lambda word: word[-n:] if len(word) >= n else None


AFFIXES = [f"{kind}{n}" for kind in ("prefix", "suffix") for n in range(1, 5)]
FLAGS = [name for name in FUNCTIONS if name.startswith(("is_", "has_"))]


def named_templates(templates, fields):
    """The list that a name stands for; lists are returned as they are."""
    if not isinstance(templates, str):
        return check.items(templates, "templates", "tuples of (name, offset) pairs")
    if templates == "chunking":
        return chunking_templates()
    if templates == "tagging":
        return tagging_templates(*fields)
    raise ValueError(f"templates must be 'tagging', 'chunking' or a list, got {templates!r}")


def chunking_templates():
    return [
        *((("w", o),) for o in range(-2, 3)),
        *((("w", o), ("w", o + 1)) for o in range(-1, 1)),
        *window("pos"),
    ]


def window(field):
    return [
        *(((field, o),) for o in range(-2, 3)),
        *(((field, o), (field, o + 1)) for o in range(-2, 2)),
        *(((field, o), (field, o + 1), (field, o + 2)) for o in range(-2, 1)),
    ]


def tagging_templates(word="w", *others):
    """Return templates for taggers, to be extended by your own.

    Parameters
    ----------
    word : str, default="w"
        Field of the words.
    *others : str
        Further fields, such as parts of speech.

    Returns
    -------
    list of tuples
        Of the words: the word; in lower case those within two tokens to both sides and the two
        pairs with a direct neighbor, and prefixes and suffixes of one to four characters; the
        shape and the flags; short shapes within two tokens, two pairs and a triple of them. Of
        every other field: values, pairs and triples within two tokens.

    Examples
    --------
    >>> from sklearn_fw.preprocessing import TokenFeatures, tagging_templates
    >>> templates = [*tagging_templates("w"), (("suffix5(w)", 0),)]
    >>> TokenFeatures(templates).fit([["a", "word"]]).n_features_out_
    28
    """
    for field in (word, *others):
        if not isinstance(field, str):
            raise TypeError(f"word and others must be names of fields, got {field!r:.60}")
    low, short = f"lower({word})", f"short_shape({word})"
    return [
        ((word, 0),),
        *(((low, o),) for o in range(-2, 3)),
        ((low, -1), (low, 0)),
        ((low, 0), (low, 1)),
        *(((f"{affix}({low})", 0),) for affix in AFFIXES),
        *(((f"{name}({word})", 0),) for name in ["shape", *FLAGS]),
        *(((short, o),) for o in range(-2, 3)),
        ((short, -1), (short, 0)),
        ((short, 0), (short, 1)),
        ((short, -1), (short, 0), (short, 1)),
        *(template for field in others for template in window(field)),
    ]
