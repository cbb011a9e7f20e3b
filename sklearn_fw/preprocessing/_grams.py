"""Integer codes of the values of tokens and of the n-grams that they form with neighbors."""

import numpy as np

from .._core.packed import starts_of
from .._kernels import lazy

kernels = lazy("common.grams")


class Grams:
    """Columns of templates: learned from training tokens, looked up for others.

    A *row* is one kind of value of a token: a field, a function of a field, or a constant. Tokens
    have a code for each row, -1 for none. A *template* is a tuple of ``(row, offset)``, a *base*
    the same moved so that its first offset is 0: templates of one base share its codes. The code of
    a base is the rank of ``code(all but the last) * n_values(last) + code of the last`` among the
    keys seen in training. A neighbor outside of the sentence has the code -1.
    """

    def __init__(self, templates, n_rows):
        self.templates, self.n_rows = templates, n_rows
        bases = {base_of(t)[:n] for t in templates for n in range(2, len(t) + 1)}
        # By length, so that the codes of all but the last pair are there when they are needed.
        self.bases = sorted(bases, key=lambda base: (len(base), base))
        place = {((row, 0),): row for row in range(n_rows)}
        place |= {base: n_rows + b for b, base in enumerate(self.bases)}
        self.left = np.array([place[base[:-1]] for base in self.bases], dtype=np.int64)
        self.right = np.array([base[-1][0] for base in self.bases], dtype=np.int64)
        self.shift = np.array([base[-1][1] for base in self.bases], dtype=np.int64)
        self.row_of = np.array([place[base_of(t)] for t in templates], dtype=np.int64)
        self.offset_of = np.array([t[0][1] for t in templates], dtype=np.int64)

    def learn(self, codes, offsets, sizes, min_count):
        """Learn n-grams and columns from the codes of tokens, see `room`.

        ``offsets`` are the bounds of the sentences, ``sizes`` the numbers of values of the rows.
        Features rarer than ``min_count`` get no column. Returns what `look_up` returns.
        """
        n_values, keys = list(sizes), []
        for b, (left, right, shift) in enumerate(zip(self.left, self.right, self.shift)):
            found = kernels.keys_of(codes, offsets, left, right, shift, n_values[right])
            inside = found >= 0
            distinct, codes[self.n_rows + b, inside] = _rank(found[inside])
            n_values.append(len(distinct))
            keys.append(distinct)
        self.sizes = np.array(n_values)
        # One sorted array for all bases: each has a range of its own.
        self.moved = starts_of(self.sizes[self.left] * self.sizes[self.right])
        self.first = starts_of([len(k) for k in keys])
        self.keys = np.concatenate([k + m for k, m in zip(keys, self.moved)] or [np.empty(0, int)])
        # ``column_of`` has an entry of -1 and then one per code, template after template.
        sizes = 1 + self.sizes[self.row_of]
        self.start_of = 1 + starts_of(sizes[:-1])
        self.column_of = np.arange(sizes.sum(), dtype=np.int32)
        self.column_of[self.start_of - 1] = -1
        every = self._columns(codes, offsets)[1]
        kept = np.bincount(every, minlength=len(self.column_of)) >= min_count
        self.column_of = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1))
        self.n_columns = int(np.count_nonzero(kept))
        return self._columns(codes, offsets)

    def look_up(self, codes, offsets):
        """``indptr`` and ``indices`` of the columns of other tokens."""
        kernels.number_grams(
            codes, offsets, self.left, self.right, self.shift, self.sizes, self.moved, self.first,
            self.keys,
        )  # fmt: skip
        return self._columns(codes, offsets)

    def room(self, n_tokens):
        """Codes (n_rows + n_bases, n_tokens) to be filled, all -1."""
        return np.full((self.n_rows + len(self.bases), n_tokens), -1, dtype=np.int32)

    def keys_of(self, base):
        """The sorted keys of one base."""
        b = self.bases.index(base)
        return self.keys[self.first[b] : self.first[b + 1]] - self.moved[b]

    def _columns(self, codes, offsets):
        n_tokens, n_entries = codes.shape[1], codes.shape[1] * len(self.row_of)
        kind = np.int32 if n_entries < 2**31 else np.int64
        indptr, indices = np.zeros(n_tokens + 1, kind), np.empty(n_entries, kind)
        kernels.columns_of(
            codes, offsets, self.row_of, self.offset_of, self.start_of, self.column_of, indptr,
            indices,
        )  # fmt: skip
        return indptr, indices[: indptr[-1]]


def base_of(template):
    """The template moved so that its first offset is 0."""
    start = template[0][1]
    return tuple((row, offset - start) for row, offset in template)


def _rank(keys):
    """Sorted distinct keys, and the rank of each key among them."""
    bound = int(keys.max()) + 1 if len(keys) else 0
    if bound > 4 * len(keys):
        return np.unique(keys, return_inverse=True)
    # Few possible keys (parts of speech): a table is faster than a sort.
    present = np.zeros(bound, dtype=bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]
