"""Losses of sequences: edits, n-grams or phrases that differ from the truth."""

import numpy as np

from .._core import check
from .._core.packed import padded, starts_of
from .._kernels import lazy
from ._base import TaskLoss, as_lists

sequences = lazy("graphs.sequences")

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


class EditLoss(TaskLoss):
    """Edit distance: insertions, deletions and replacements, per token of the truth.

    Choose it for texts or lists of unknown length: a token that is missing costs one, and does not
    make all that follow it wrong.

    Parameters
    ----------
    normalize : bool, default=True
        Divide by the length of the truth (by 1 if it is empty). The loss is above 1 where the
        output is much longer than that.

    Notes
    -----
    Outputs are texts, of characters, or lists of tokens, which are text, numbers or tuples. Models
    that train by costs of nodes do not accept it. The time is the product of the lengths [1]_.

    References
    ----------
    .. [1] R. A. Wagner, M. J. Fischer, "The string-to-string correction problem", Journal of the
       ACM 21(1), 1974.

    Examples
    --------
    >>> from sklearn_fw.task_losses import EditLoss
    >>> EditLoss(normalize=False).value("kitten", "sitting")
    3.0
    >>> EditLoss().value(["to", "be", "or", "not"], ["to", "or", "not"])
    0.25
    """

    normalize: bool = True

    def value(self, y_true, y_pred):
        normalize = check.flag(self.normalize, "normalize")
        code = {}
        true, made = (
            np.array([code.setdefault(token, len(code)) for token in tokens], dtype=np.int64)
            for tokens in (tokens_of(y_true, "y_true"), tokens_of(y_pred, "y_pred"))
        )
        distance = sequences.edit_distance(made, true)
        return distance / max(len(true), 1) if normalize else float(distance)


def tokens_of(y, name):
    """Tokens of a text, a list or a vector, as Python's objects that can be compared."""
    if isinstance(y, str):
        return list(y)
    if np.ma.is_masked(y):
        raise ValueError(f"{name} has masked tokens: leave them out")
    if isinstance(y, np.ndarray):
        if y.ndim != 1:
            raise ValueError(f"{name} must be a vector of tokens, got shape {y.shape}")
        tokens = y.tolist()
    elif isinstance(y, list | tuple):
        tokens = [token.item() if isinstance(token, np.generic) else token for token in y]
    else:
        raise TypeError(f"{name} must be a text or a list of tokens, got a {type(y).__name__}")
    for token in tokens:
        try:
            hash(token)
        except TypeError:
            raise TypeError(
                f"{name} holds {token!r:.60}, which is not a token: take text, numbers or tuples"
            ) from None
        if check.is_missing(token):
            raise ValueError(f"{name} holds {token!r}, which is not a token")
    return tokens


class SequenceLoss(TaskLoss):
    """A loss of sequences of any length that is known for many of them at once (base class).

    A subclass has ``_pricing(tokens, true, n_true)``, for true outputs as rows of numbers of these
    tokens: a function of numbers of true outputs, rows that were made, and the lengths of these.
    """

    _has_value = True

    def losses(self, y_true, y_pred):
        y_true, y_pred = as_lists(y_true, y_pred)
        number = {}
        true, made = (
            self._numbered(outputs, number, name)
            for outputs, name in ((y_true, "y_true"), (y_pred, "y_pred"))
        )
        return self._pricing(list(number), *true)(np.arange(len(y_true)), *made)

    def _numbered(self, outputs, number, name):
        """Outputs as rows of numbers of their tokens, and their lengths."""
        rows = []
        for i, own in enumerate(outputs):
            tokens = tokens_of(own, f"{name}[{i}]")
            for token in tokens:
                if token not in number:
                    self._check_token(token, f"{name}[{i}]")
                    number[token] = len(number)
            rows.append([number[token] for token in tokens])
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        return padded(rows, int(lengths.max(initial=0)), 0), lengths

    def _check_token(self, token, name):
        """Refuse what the loss cannot read."""


class BleuLoss(SequenceLoss):
    """One minus the BLEU of single outputs.

    Choose it for texts in words, where many phrasings are right and the order matters nearby:
    translations, summaries. `EditLoss` suits spelling and outputs with single right tokens.

    Parameters
    ----------
    max_n : int, default=4
        Length of the longest n-grams.

    Notes
    -----
    BLEU [1]_ is the geometric mean of the precisions of n-grams for n from 1 to ``max_n``, each
    n-gram counted as often as the truth has it at most, times ``exp(1 - T / L)`` where the
    prediction has L tokens, fewer than the T of the truth. One is added to matches and counts for n
    above 1 [2]_. The loss is 0 for the truth, and 1 where no token is right. The mean over samples
    is not one minus the BLEU of a corpus. The time is ``max_n`` times the product of the lengths.

    References
    ----------
    .. [1] K. Papineni, S. Roukos, T. Ward, W.-J. Zhu, "BLEU: a method for automatic evaluation of
       machine translation", ACL 2002.
    .. [2] C.-Y. Lin, F. J. Och, "ORANGE: a method for evaluating automatic evaluation metrics for
       machine translation", COLING 2004.

    Examples
    --------
    >>> from sklearn_fw.task_losses import BleuLoss
    >>> true = "the cat sat on the mat".split()
    >>> round(BleuLoss().value(true, "the cat sat on a mat".split()), 3)
    0.361
    """

    max_n: int = 4

    def _pricing(self, tokens, true, n_true):
        max_n = check.integer(self.max_n, "max_n", 1)

        def price(sample, made, n_made):
            out = np.empty(len(sample))
            sequences.ngram_losses(true, n_true, sample, made, n_made, max_n, out)
            return out

        return price


class PhraseLoss(SequenceLoss):
    """One minus the F1 of the phrases of single outputs (chunks, entities).

    Choose it where tags stand for phrases: a phrase with one wrong tag is as wrong as a missed one.

    Notes
    -----
    Outputs hold tags as `sklearn_fw.metrics.phrase_counts` reads them. A phrase is right where the
    truth has one of the same first and last place and type. With C right ones among P predicted and
    N true ones the loss is ``1 - 2 C / (P + N)``, and 0 where there is none at all. The mean over
    samples is not one minus the F1 of all together.

    Examples
    --------
    >>> from sklearn_fw.task_losses import PhraseLoss
    >>> round(PhraseLoss().value(["B-NP", "I-NP", "B-VP"], ["B-NP", "B-NP", "B-VP"]), 3)
    0.6
    """

    def _pricing(self, tokens, true, n_true):
        for tag in tokens:
            self._check_token(tag, "y")
        prefixes, types = zip(*map(split_tag, tokens), strict=True) if tokens else ((), ())
        prefixes, type_of = np.array(prefixes), np.unique(types, return_inverse=True)[1]
        row, first, end, kind = _phrases(true, n_true, prefixes, type_of)
        n_phrases = np.bincount(row, minlength=len(true))
        # By first place, with room for places that no truth has.
        ends, kinds = np.zeros((2, len(true), true.shape[1] + 1), np.int64)
        ends[row, first], kinds[row, first] = end, kind

        def price(sample, made, n_made):
            row, first, end, kind = _phrases(made, n_made, prefixes, type_of)
            place = sample[row], np.minimum(first, ends.shape[1] - 1)
            is_right = (ends[place] == end) & (kinds[place] == kind)
            n_right = np.bincount(row[is_right], minlength=len(made))
            n_all = n_phrases[sample] + np.bincount(row, minlength=len(made))
            return 1.0 - np.where(n_all, 2.0 * n_right / np.maximum(n_all, 1), 1.0)

        return price

    def _check_token(self, token, name):
        if not isinstance(token, str):
            raise ValueError(f"{name} holds {token!r:.60}: tags of phrases are text")
        if split_tag(token) is None:
            raise ValueError(f"{name} holds {token!r:.60}, which {NO_TAG}")


def _phrases(rows, lengths, prefixes, type_of):
    """Row, first place, place after the last, and type of the phrases in rows."""
    codes = rows[np.arange(rows.shape[1]) < lengths[:, None]]
    row = np.repeat(np.arange(len(rows)), lengths)
    first, end = phrases(codes, row, prefixes, type_of)
    row, begin = row[first], starts_of(lengths)[row[first]]
    return row, first - begin, end - begin, type_of[codes[first]]
