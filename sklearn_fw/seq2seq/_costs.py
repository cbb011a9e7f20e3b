"""What outputs cost that begin as the roll-in did, take a token, and go on by some policy."""

import numpy as np

from .._core import check
from .._core.costs import costs_of
from .._core.packed import starts_of
from .._kernels import lazy
from ..task_losses import EditLoss, SequenceLoss, Truth, resolve_task_loss

sequences = lazy("graphs.sequences")

COPIED, BEST = 1, 2  # endings, as the kernel numbers them; 0 is none
REFERENCES = {"best_suffix": BEST, "copy": COPIED}


def loss_for(task_loss, is_free, remedy=""):
    """The loss object of a parameter, which has to take outputs of other lengths if these end."""
    loss = resolve_task_loss(task_loss)
    if is_free and loss.decomposes and not loss._has_value:
        raise ValueError(
            f"task_loss {type(loss).__name__} compares outputs of one length, and outputs have "
            f"any length here: take task_loss='edit'{remedy}"
        )
    return loss


def costs_for(task_loss, reference, classes, targets, lengths, y, *, is_free):
    """The object that prices outputs of a batch: `begin` with those of a roll-in, then `of`.

    ``targets`` are numbers of the true tokens in rows of these lengths, ``y`` the outputs of the
    user and ``classes`` the tokens by number.
    """
    reference = REFERENCES[check.choice(reference, "reference", REFERENCES)]
    if isinstance(task_loss, EditLoss):
        if reference == BEST and not is_free:
            raise ValueError("reference='best_suffix' needs output_length='free': take 'copy'")
        return EditCosts(task_loss, reference, targets, lengths)
    if reference == BEST:
        raise ValueError(
            f"reference='best_suffix' is known for the edit distance alone, got {task_loss!r}: "
            f"take 'copy'"
        )
    if task_loss.decomposes and not task_loss._has_value and not is_free:
        return NodeSums(task_loss, classes, targets, lengths)
    if isinstance(task_loss, SequenceLoss):
        price = task_loss._pricing(classes.tolist(), targets, lengths)
    else:
        price = asked_once(task_loss, classes, y)
    return Values(targets, lengths, price)


def task_losses_of(task_loss, true, made):
    """Losses of outputs of the user; those that are sums over tokens take texts for many tokens."""
    if not task_loss._has_value:
        true = [list(own) if isinstance(own, str) else own for own in true]
        made = [list(own) if isinstance(own, str) else own for own in made]
    return task_loss.losses(true, made)


class NodeSums:
    """Losses that are sums over places: a table of costs, summed along the output."""

    def __init__(self, task_loss, classes, targets, lengths):
        self.targets, self.lengths = targets, lengths
        starts = starts_of(lengths)
        states = np.concatenate([row[:n] for row, n in zip(targets, lengths)])
        costs = costs_of(task_loss, Truth(states, starts, (classes,)))
        self._table = np.zeros((*targets.shape, len(classes)))
        self._table[np.arange(targets.shape[1]) < lengths[:, None]] = costs.dense()
        self._whole = float(costs.whole)

    def begin(self, texts):
        own = np.take_along_axis(self._table, texts[:, :, None], axis=2)[:, :, 0]
        self._so_far = np.pad(own.cumsum(axis=1), ((0, 0), (1, 0)))
        wrong = np.cumsum(texts != self.targets, axis=1) > 0
        self._differs = np.pad(wrong, ((0, 0), (1, 0)))

    def of(self, sample, time, token, rest, n_rest, goes_on):
        """Costs of outputs: ``time`` tokens of the roll-in, a token, and ``n_rest`` of ``rest``.

        A negative token is none. Where ``goes_on``, the reference then finishes the output.
        """
        total = self._so_far[sample, time] + self._table[sample, time, token]
        differs = self._differs[sample, time] | (token != self.targets[sample, time])
        for step in range(rest.shape[1] if len(rest) else 0):
            on = np.flatnonzero(n_rest > step)
            b, t, made = sample[on], time[on] + 1 + step, rest[on, step]
            total[on] += self._table[b, t, made]
            differs[on] |= made != self.targets[b, t]
        return total + self._whole * differs


class EditCosts:
    """Edit distances: a row of the table per beginning, which endings continue."""

    def __init__(self, task_loss, reference, targets, lengths):
        self.targets, self.lengths, self._reference = targets, lengths, reference
        self._per = np.maximum(lengths, 1) if task_loss.normalize else np.ones(len(lengths))

    def begin(self, texts):
        n, n_cells, width = len(texts), texts.shape[1], self.targets.shape[1] + 1
        self._prefix = np.zeros((n, n_cells + 1, width), np.int64)
        self._suffix = np.zeros((n, width, width), np.int64)
        sequences.edit_tables(texts, self.targets, self.lengths, self._prefix, self._suffix)

    def of(self, sample, time, token, rest, n_rest, goes_on):
        """Costs of outputs; a negative token is none."""
        out, row = np.empty(len(sample), np.int64), np.empty(self.targets.shape[1] + 1, np.int64)
        ending = self._reference * goes_on.astype(np.int64)
        sequences.continued_distances(
            self._prefix, self._suffix, self.targets, self.lengths, sample, time, token, rest,
            n_rest, ending, row, out,
        )  # fmt: skip
        return out / self._per[sample]


class Values:
    """Any loss: outputs are rows of numbers, of which ``price`` returns the costs."""

    def __init__(self, targets, lengths, price):
        self.targets, self.lengths, self._price = targets, lengths, price

    def begin(self, texts):
        self._texts = texts

    def of(self, sample, time, token, rest, n_rest, goes_on):
        n_made = time + (token >= 0) + n_rest
        n_made = np.where(goes_on, np.maximum(n_made, self.lengths[sample]), n_made)
        row, place = sample[:, None], np.arange(int(n_made.max(initial=0)))
        made = self._texts[row, np.minimum(place, self._texts.shape[1] - 1)]
        behind = place - time[:, None]
        made[behind == 0] = token[time < len(place)]
        is_rest = (behind > 0) & (behind <= n_rest[:, None])
        made[is_rest] = rest[np.nonzero(is_rest)[0], behind[is_rest] - 1]
        copied = self.targets[row, np.minimum(place, self.targets.shape[1] - 1)]
        made = np.where(goes_on[:, None] & (behind > n_rest[:, None]), copied, made)
        return self._price(sample, made, n_made)


def asked_once(task_loss, classes, y):
    """Prices of a loss that is evaluated once per distinct output."""
    known = {}

    def price(sample, made, n_made):
        out = np.empty(len(sample))
        for k, (b, n) in enumerate(zip(sample.tolist(), n_made.tolist())):
            key = b, made[k, :n].tobytes()
            if key not in known:
                output = written(made[k, :n], classes, y[b])
                known[key] = float(task_loss.losses([y[b]], [output])[0])
            out[k] = known[key]
        return out

    return price


def written(numbers, classes, like=None):
    """Tokens by number, as a text where ``like`` is one and else as an array."""
    tokens = classes[np.asarray(numbers, dtype=np.int64)]
    return "".join(tokens.tolist()) if isinstance(like, str) else tokens
