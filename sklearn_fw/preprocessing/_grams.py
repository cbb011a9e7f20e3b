"""Integer codes of the values of tokens and of the n-grams that they form with neighbors."""

import numpy as np

from .._core.packed import slices_of, starts_of

# This many tokens at a time keep the work space of the last step in the cache.
CHUNK = 8192


class Grams:
    """Columns of templates: learned from training tokens, looked up for others.

    A *row* is one kind of value of a token: a field, a function of a field, or a constant. Tokens
    have a code for each row, -1 for none. A *template* is a tuple of ``(row, offset)``, a *base*
    the same moved so that its first offset is 0: templates of one base share its codes. The code of
    a base is the rank of ``code(all but the last) * n_values(last) + code of the last`` among the
    keys seen in training.

    Sentences are laid out in one array with gaps between them that no template can bridge, hence a
    neighbor outside of the sentence has the code -1.
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
        self.levels = slices_of(np.unique(list(map(len, self.bases)), return_counts=True)[1])
        spans = [[o for _, o in t] + [0] for t in templates]
        self.gap = max(max(span) - min(span) for span in spans)

    def learn(self, rows, offsets, sizes, min_count):
        """Learn n-grams and columns from codes (n_rows, n_tokens) of tokens.

        ``offsets`` are the bounds of the sentences, ``sizes`` the numbers of values of the rows.
        Features rarer than ``min_count`` get no column. Returns the column of each token and
        template, -1 for none.
        """
        codes, places = self._lay_out(rows, offsets)
        n_values, keys = list(sizes), []
        for b in range(len(self.bases)):
            found, inside = self._keys(codes, slice(b, b + 1), np.array(n_values))
            distinct, ranks = _rank(found[inside])
            self._write(codes, slice(b, b + 1), inside, ranks)
            n_values.append(len(distinct))
            keys.append(distinct)
        self.sizes = np.array(n_values)
        # One sorted array for all bases: each has a range of its own.
        self.moved = starts_of(self.sizes[self.left] * self.sizes[self.right])
        self.first = starts_of([len(k) for k in keys])
        self.keys = np.concatenate([k + m for k, m in zip(keys, self.moved)] or [np.empty(0, int)])
        self._number_columns(codes, places, min_count)
        return self._columns(codes, places)

    def look_up(self, rows, offsets):
        """Columns of other tokens; arguments and result as for `learn`."""
        codes, places = self._lay_out(rows, offsets)
        for level in self.levels:
            found, inside = self._keys(codes, level, self.sizes)
            wanted = (found + self.moved[level, None])[inside]
            at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
            known = self.keys[at] == wanted if len(self.keys) else np.zeros(len(at), bool)
            base = np.nonzero(inside)[0] + level.start
            self._write(codes, level, inside, np.where(known, at - self.first[base], -1))
        return self._columns(codes, places)

    def keys_of(self, base):
        """The sorted keys of one base."""
        b = self.bases.index(base)
        return self.keys[self.first[b] : self.first[b + 1]] - self.moved[b]

    def _lay_out(self, rows, offsets):
        """Codes with gaps, room for those of the bases, and the place of each token."""
        lengths = np.diff(offsets)
        sentence = np.repeat(np.arange(1, len(lengths) + 1), lengths)
        places = np.arange(offsets[-1]) + self.gap * sentence
        total = offsets[-1] + self.gap * (len(lengths) + 1)
        codes = np.full((self.n_rows + len(self.bases), total), -1, dtype=np.int32)
        codes[: self.n_rows, places] = rows
        return codes, places

    def _keys(self, codes, bases, sizes):
        """Keys of some bases at all places but those of the outer gaps, and where they exist."""
        stop = codes.shape[1] - self.gap
        left = codes[self.left[bases], self.gap : stop]
        rows = zip(self.right[bases], self.shift[bases])
        right = np.stack([codes[row, self.gap + shift : stop + shift] for row, shift in rows])
        keys = left * sizes[self.right[bases]][:, None] + right
        return keys, (left >= 0) & (right >= 0)

    def _write(self, codes, bases, inside, values):
        target = codes[self.n_rows + bases.start : self.n_rows + bases.stop]
        target[:, self.gap : codes.shape[1] - self.gap][inside] = values

    def _number_columns(self, codes, places, min_count):
        """``column_of``: one entry of -1 and then one per code, template after template."""
        parts, n_columns = [], 0
        for row, offset in zip(self.row_of, self.offset_of):
            # The code -1 is counted at 0.
            counts = np.bincount(codes[row, places + offset] + 1, minlength=self.sizes[row] + 1)
            kept = counts >= min_count
            kept[0] = False
            part = np.full(len(counts), -1, dtype=np.int32)
            part[kept] = np.arange(n_columns, n_columns + np.count_nonzero(kept))
            n_columns += int(np.count_nonzero(kept))
            parts.append(part)
        self.start_of = 1 + starts_of([len(part) for part in parts[:-1]])
        self.column_of = np.concatenate(parts)
        self.n_columns = n_columns

    def _columns(self, codes, places):
        columns = np.empty((len(places), len(self.templates)), dtype=np.int32)
        flat, first = codes.ravel(), self.row_of * codes.shape[1] + self.offset_of
        for start in range(0, len(places), CHUNK):
            found = flat.take(places[start : start + CHUNK, None] + first)
            self.column_of.take(found + self.start_of, out=columns[start : start + CHUNK])
        return columns


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
