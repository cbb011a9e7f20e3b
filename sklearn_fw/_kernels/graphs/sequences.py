"""Edit distances, also of many endings of one prefix, and overlap of n-grams."""

import numpy as np

from .._jit import inner, njit
from ..common.vectors import assign

NO_ENDING, COPIED, BEST = 0, 1, 2  # what follows: nothing, the rest of the target, its best ending


@inner
def advance(row, token, target):
    """From the distances of a text to all beginnings of the target to those with a token more."""
    diagonal = row[0]
    row[0] += 1
    for j in range(len(target)):
        above = row[j + 1]
        best = diagonal if target[j] == token else diagonal + 1
        best = min(best, min(above, row[j]) + 1)
        diagonal = above
        row[j + 1] = best


@njit
def edit_distance(text, target):
    """Insertions, deletions and replacements that turn one into the other."""
    row = np.arange(len(target) + 1)
    for i in range(len(text)):
        advance(row, text[i], target)
    return row[len(target)]


@njit
def edit_tables(texts, targets, n_targets, prefix, suffix):
    """Distances of all beginnings of texts to those of targets, and between endings of targets.

    ``prefix[b, i, j]`` is that of ``texts[b, :i]`` and ``targets[b, :j]``, ``suffix[b, i, j]`` that
    of ``targets[b, i:]`` and ``targets[b, j:]``.
    """
    for b in range(len(texts)):
        n = n_targets[b]
        target = targets[b, :n]
        for j in range(n + 1):
            prefix[b, 0, j] = j
        for i in range(texts.shape[1]):
            assign(prefix[b, i + 1], prefix[b, i, : n + 1])
            advance(prefix[b, i + 1], texts[b, i], target)
        row, backwards = np.arange(n + 1), target[::-1].copy()
        for i in range(n, -1, -1):
            for j in range(n + 1):
                suffix[b, i, j] = row[n - j]
            if i > 0:
                advance(row, target[i - 1], backwards)


@njit
def continued_distances(
    prefix, suffix, targets, n_targets, sample, time, token, rest, n_rest, ending, row, out
):
    """Distance to the target of each text that goes on by some tokens, and then by some ending.

    Text k is the beginning of length ``time[k]`` of text ``sample[k]``, then ``token[k]`` (none if
    negative), then ``rest[k, :n_rest[k]]``, then by ``ending[k]`` nothing, what follows in the
    target behind as many tokens, or the ending of the target that fits best. An ending of the
    target costs its length, not its square.
    """
    for k in range(len(sample)):
        b, n = sample[k], n_targets[sample[k]]
        target = targets[b, :n]
        assign(row, prefix[b, time[k], : n + 1])
        if token[k] >= 0:
            advance(row, token[k], target)
        for i in range(n_rest[k]):
            advance(row, rest[k, i], target)
        if ending[k] == NO_ENDING:
            out[k] = row[n]
            continue
        is_copied, i = ending[k] == COPIED, min(time[k] + 1 + n_rest[k], n)
        best = row[0] + (suffix[b, i, 0] if is_copied else 0)
        for j in range(1, n + 1):
            best = min(best, row[j] + (suffix[b, i, j] if is_copied else 0))
        out[k] = best


@inner
def shared(true, made, n, is_used):
    """How many n-grams of one text can be paired with equal ones of the other."""
    n_true, found = len(true) - n + 1, 0
    for j in range(n_true):
        is_used[j] = False
    for i in range(len(made) - n + 1):
        for j in range(n_true):
            if is_used[j]:
                continue
            k = 0
            while k < n and made[i + k] == true[j + k]:
                k += 1
            if k == n:
                is_used[j] = True
                found += 1
                break
    return found


@njit
def ngram_losses(true, n_true, sample, made, n_made, max_n, out):
    """One minus smoothed BLEU of each row of ``made`` beside row ``sample`` of ``true``."""
    is_used = np.empty(true.shape[1], np.bool_)
    for row in range(len(sample)):
        b, n = sample[row], n_made[row]
        target, text = true[b, : n_true[b]], made[row, :n]
        if n == 0 or len(target) == 0:
            out[row] = 0.0 if n == len(target) else 1.0
            continue
        found = shared(target, text, 1, is_used)
        if found == 0:
            out[row] = 1.0
            continue
        log = np.log(found / n)
        for size in range(2, min(max_n, n) + 1):  # longer ones have precision one
            log += np.log((shared(target, text, size, is_used) + 1.0) / (n - size + 2.0))
        out[row] = 1.0 - np.exp(log / max_n + min(0.0, 1.0 - len(target) / n))
