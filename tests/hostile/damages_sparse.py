"""Damages of sparse matrices."""

import numpy as np
import scipy.sparse as sp

from .damage import need, table


def broken_sparse(change):
    def apply(value, rng):
        need(value.format == "csr" and value.nnz > 1)
        out = value.copy()
        change(out, rng)
        return out

    return apply


def set_index(entry):
    def change(matrix, rng):
        matrix.indices[rng.integers(matrix.nnz)] = entry

    return broken_sparse(change)


def set_data(entry):
    def change(matrix, rng):
        matrix.data[rng.integers(matrix.nnz)] = entry

    return broken_sparse(change)


def set_indptr(place, entry):
    def change(matrix, rng):
        matrix.indptr[place] = entry

    return broken_sparse(change)


def duplicates(value, rng):
    coo = value.tocoo()
    half = coo.data / 2
    data, places = np.concatenate([half, half]), np.tile(np.stack(coo.coords), 2)
    by_row = np.argsort(places[0], kind="stable")
    indptr = 2 * value.tocsr().indptr
    return sp.csr_array((data[by_row], places[1][by_row], indptr), shape=value.shape)


def reversed_rows(value, rng):
    out = value.tocsr(copy=True)
    for start, end in zip(out.indptr, out.indptr[1:]):
        out.indices[start:end] = out.indices[start:end][::-1].copy()
        out.data[start:end] = out.data[start:end][::-1].copy()
    out.has_sorted_indices = False
    return out


def long_indices(value, rng):
    out = value.tocsr(copy=True)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def locked(value, rng):
    out = value.tocsr(copy=True)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


SPARSE = [
    *table(
        "rubbish",
        index_beyond=lambda v, rng: set_index(v.shape[1] + 5)(v, rng),
        index_far=set_index(2**30),
        index_negative=set_index(-3),
        indptr_far=set_indptr(-1, 10**6),
        indptr_negative=set_indptr(1, -7),
        indptr_falls=lambda v, rng: set_indptr(1, v.nnz + 3)(v, rng),
        indptr_start=set_indptr(0, 2),
        nan=set_data(np.nan),
        complex_entries=lambda v, rng: v * 1j,
    ),
    *table(
        "extreme",
        inf=set_data(np.inf),
        huge=lambda v, rng: v * 1e300,
        tiny=lambda v, rng: v * 1e-300,
        no_entries=lambda v, rng: type(v)(v.shape),
        shorter=lambda v, rng: v[:-1],
        narrower=lambda v, rng: v[:, :-1],
        empty=lambda v, rng: v[:0],
    ),
    *table(
        "harmless",
        duplicates=duplicates,
        unsorted=reversed_rows,
        int64=long_indices,
        locked=locked,
        csc=lambda v, rng: v.tocsc(),
        coo=lambda v, rng: v.tocoo(),
    ),
]
