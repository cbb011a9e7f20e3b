"""Bookkeeping of CSR rows that belong to samples."""

import numpy as np

from .._jit import njit


@njit
def number_locally(row_start, indptr, indices, n_attributes):
    """Number the distinct attributes of every sample in order of first use.

    Returns ``local`` (nnz,), the number of each entry's attribute within its sample, and the
    attributes themselves: sample i owns ``attributes[attribute_start[i]:attribute_start[i + 1]]``.
    Cost: nnz, with one counter per attribute.
    """
    n_samples = row_start.size - 1
    local = np.empty(indices.size, np.int32)
    attribute_start = np.zeros(n_samples + 1, np.int64)
    last = np.zeros(n_attributes, np.int64)  # 1 + the last sample with the attribute
    number = np.empty(n_attributes, np.int32)
    for i in range(n_samples):
        n_distinct = 0
        for q in range(indptr[row_start[i]], indptr[row_start[i + 1]]):
            a = indices[q]
            if last[a] != i + 1:
                last[a] = i + 1
                number[a] = n_distinct
                n_distinct += 1
            local[q] = number[a]
        attribute_start[i + 1] = attribute_start[i] + n_distinct
    attributes = np.empty(attribute_start[n_samples], np.int32)
    for i in range(n_samples):
        for q in range(indptr[row_start[i]], indptr[row_start[i + 1]]):
            attributes[attribute_start[i] + local[q]] = indices[q]
    return local, attribute_start, attributes
