"""Templates: which values of which neighbours of a token make its features."""

from .._core.validation import check_list
from ._word_functions import FUNCTIONS

AFFIXES = [f"{kind}{n}" for kind in ("prefix", "suffix") for n in range(1, 5)]
FLAGS = [name for name in FUNCTIONS if name.startswith(("is_", "has_"))]


def named_templates(templates, fields):
    """The list that a name stands for; lists are returned as they are."""
    if not isinstance(templates, str):
        return check_list(templates, "templates", "tuples of (name, offset) pairs")
    if templates == "chunking":
        return chunking_templates()
    if templates == "tagging":
        return tagging_templates(*fields)
    raise ValueError(
        f"templates must be 'tagging', 'chunking' or a list of tuples, got {templates!r}"
    )


def chunking_templates():
    """The nineteen templates of the chunking tutorial of CRFsuite."""
    w, p = "w", "pos"
    return [
        *(((w, o),) for o in range(-2, 3)),
        *(((w, o), (w, o + 1)) for o in range(-1, 1)),
        *window(p),
    ]


def window(field):
    """Values, pairs and triples of a field within two tokens to both sides."""
    return [
        *(((field, o),) for o in range(-2, 3)),
        *(((field, o), (field, o + 1)) for o in range(-2, 2)),
        *(((field, o), (field, o + 1), (field, o + 2)) for o in range(-2, 1)),
    ]


def tagging_templates(word="w", *others):
    """Templates that suit most taggers, to be extended by your own.

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
        pairs with a direct neighbour, and prefixes and suffixes of one to four characters; the
        shape and the flags; short shapes within two tokens, two pairs and a triple of them. Of
        every other field: values, pairs and triples within two tokens.

    See Also
    --------
    TokenFeatures : What they are for.

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
