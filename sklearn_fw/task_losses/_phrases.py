"""Tags of tokens read as phrases, as ``conlleval`` reads them."""

import numpy as np

PREFIXES = ("O", "B", "I", "E", "S")
NO_TAG = "is neither 'O' nor starts with 'B-', 'I-', 'E-' or 'S-' (or 'L-', 'U-')"


def split_tag(tag):
    """Prefix (one of O, B, I, E, S) and type of a tag; None for another text."""
    prefix, _, kind = tag.partition("-")
    prefix = {"L": "E", "U": "S"}.get(prefix, prefix)
    if prefix not in PREFIXES:
        return None
    return prefix, kind if prefix != "O" else ""


def phrases(codes, sample, prefixes, type_of):
    """Tokens at which phrases start, and the token after the end of each."""
    if not len(codes):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    # Flags of the few distinct tags first, then of the many tokens.
    inside, opens = (prefixes != "O")[codes], np.isin(prefixes, ["B", "S"])[codes]
    closes, kind = np.isin(prefixes, ["O", "E", "S"])[codes], type_of[codes]
    new_sample = np.concatenate([[True], sample[1:] != sample[:-1]])
    new_type = np.concatenate([[True], kind[1:] != kind[:-1]])
    starts = inside & (opens | new_sample | new_type | np.concatenate([[True], closes[:-1]]))
    # A phrase runs to the next token that starts one or is outside, or to a new sample.
    bounds = np.append(np.flatnonzero(starts | ~inside | new_sample), len(codes))
    first = np.flatnonzero(starts)
    return first, bounds[np.searchsorted(bounds, first, side="right")]
