"""Numbers of n-grams of tokens, and columns of templates.

Sentence i has the tokens from ``offsets[i]`` to ``offsets[i + 1]``. Row r of ``codes`` numbers the
values of one kind at each token, -1 for none: those of single tokens, then those of n-grams.
"""

import numpy as np

from .._jit import njit


@njit
def keys_of(codes, offsets, left, right, shift, n_values):
    """Key of the n-gram that begins at each token, -1 for none.

    Row ``left`` numbers its values but the last, row ``right`` the last, ``shift`` tokens on.
    """
    keys = np.full(codes.shape[1], -1)
    for i in range(offsets.size - 1):
        first, stop = offsets[i], offsets[i + 1]
        for t in range(max(first, first - shift), min(stop, stop - shift)):
            if codes[left, t] >= 0 and codes[right, t + shift] >= 0:
                keys[t] = codes[left, t] * n_values + codes[right, t + shift]
    return keys


@njit
def number_grams(codes, offsets, left, right, shift, sizes, moved, first, keys):
    """Rows of n-grams: the rank of each key among the sorted ``keys`` of its base, or -1."""
    row = codes.shape[0] - left.size
    for b in range(left.size):
        wanted = keys_of(codes, offsets, left[b], right[b], shift[b], sizes[right[b]])
        for t in range(wanted.size):
            key, low, high = wanted[t] + moved[b], first[b], first[b + 1]
            while low < high:
                middle = (low + high) // 2
                if keys[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            is_known = low < first[b + 1] and keys[low] == key
            codes[row + b, t] = low - first[b] if is_known else -1


@njit
def columns_of(codes, offsets, row_of, offset_of, start_of, column_of, indptr, indices):
    """CSR of tokens: ``column_of[start_of[k] + code]`` of every template k, where it is not -1."""
    n = 0
    for i in range(offsets.size - 1):
        first, stop = offsets[i], offsets[i + 1]
        for t in range(first, stop):
            for k in range(row_of.size):
                place = t + offset_of[k]
                if first <= place < stop:
                    column = column_of[start_of[k] + codes[row_of[k], place]]
                    if column >= 0:
                        indices[n] = column
                        n += 1
            indptr[t + 1] = n
