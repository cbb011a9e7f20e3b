"""Overlap of the n-grams of sequences."""

import numpy as np

from .._jit import inner, njit


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
