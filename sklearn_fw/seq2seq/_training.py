"""Updates of a network by losses of its cells, until held-out outputs get no better."""

from contextlib import contextmanager

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.loop import IterativeMethod, get_logger
from .._core.packed import padded
from .._core.warnings import warn
from ._costs import costs_for, task_losses_of, written
from ._engine import finish, roll_in, roll_out
from ._losses import cheapest, searnn_loss
from ._search import all_cells

POOL = 8  # batches that are sorted by length together
MOST_EVALUATED = 1000  # outputs decoded together


class Pairs:
    def __init__(self, inputs, outputs, y, weight, *, end):
        self.inputs, self.outputs, self.y, self.weight = inputs, outputs, y, weight
        self.end = end
        self.lengths = np.array([len(own) for own in outputs])

    def __len__(self):
        return len(self.outputs)

    def take(self, index):
        return Pairs(
            self.inputs.take(index), [self.outputs[i] for i in index],
            [self.y[i] for i in index], self.weight[index], end=self.end,
        )  # fmt: skip

    @property
    def n_cells(self):
        return self.lengths + (self.end is not None)

    def targets(self):
        fill = 0 if self.end is None else self.end
        return padded(self.outputs, int(self.n_cells.max()), fill)

    def costs(self, task_loss, reference, classes):
        true = padded(self.outputs, int(self.lengths.max()), 0)
        is_free = self.end is not None
        return costs_for(task_loss, reference, classes, true, self.lengths, self.y, is_free=is_free)


def weighted(pairs, sample_weight):
    """Pairs of positive weight, in units of their mean."""
    pairs.weight = check.sample_weight(sample_weight, len(pairs))
    if not np.all(pairs.weight > 0):
        pairs = pairs.take(np.flatnonzero(pairs.weight > 0))
    pairs.weight = pairs.weight / pairs.weight.mean()
    return pairs


def split(pairs, settings, rng):
    """Pairs to train with, and those held out, or None."""
    n = len(pairs)
    if not settings.early_stopping or n < 4:
        return pairs, None
    n_out = min(max(round(float(settings.validation_fraction) * n), 2), n - 2)
    order = rng.permutation(n)
    return pairs.take(np.sort(order[n_out:])), pairs.take(np.sort(order[:n_out]))


def batches(pairs, size, rng):
    """Endless numbers of pairs, in random batches of similar lengths."""
    n = len(pairs)
    while True:
        order, found = rng.permutation(n), []
        for begin in range(0, n, POOL * size):
            pool = order[begin : begin + POOL * size]
            pool = pool[np.argsort(pairs.lengths[pool], kind="stable")]
            found += np.array_split(pool, max(1, round(len(pool) / size)))
        for k in rng.permutation(len(found)):
            yield found[k]


class Updates:
    """Steps of an optimizer by the losses of cells, a batch at a time."""

    def __init__(self, network, *, loss, task_loss, classes, draws, settings):
        self.network, self.task_loss, self.classes = network, task_loss, classes
        self.settings, self._loss, self._draws = settings, loss, draws
        self._optimizer = _optimizer(network, settings)
        self.n_iter = self.n_rollouts = self.n_steps = 0

    def state(self):
        past = self._optimizer.state_dict()["state"]
        past = _converted(past, lambda v: v.cpu().numpy().copy() if hasattr(v, "cpu") else v)
        return self.network.weights(), (self.settings.optimizer, past)

    def go_on(self, memory, *counts):
        """Go on with such a state; that of another kind of optimizer is of no use."""
        self.n_iter, self.n_rollouts, self.n_steps = counts
        kind, past = memory
        if kind == self.settings.optimizer:
            tensor = self.network._torch.from_numpy
            past = _converted(past, lambda v: tensor(v.copy()) if isinstance(v, np.ndarray) else v)
            self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": past})

    def update(self, batch):
        """One step of the optimizer; returns the mean loss."""
        network, targets = self.network, batch.targets()
        network.parts.train()
        by_likelihood = self._loss == "mle" or self.n_iter < int(self.settings.warm_up)
        if by_likelihood:
            stacked, cells = network.forced(batch.inputs, targets), all_cells(batch.n_cells)
        else:
            reference = self._draws.reference_cells(targets.shape)
            rolled = roll_in(network, batch.inputs, targets, batch.n_cells, reference, batch.end)
            stacked = network._torch.stack(rolled.scores, dim=1)
        scores = network.as_array(stacked)
        if not np.isfinite(scores).all():
            raise FloatingPointError(
                f"scores of the network are not finite after {self.n_iter} updates: lower "
                f"learning_rate, or check the scale of features"
            )
        if by_likelihood:
            value, gradient = _likelihood(scores[cells], targets[cells])
            tokens = np.arange(scores.shape[2])[None, :]
        else:
            cells, tokens, value, gradient = self._cost_sensitive(batch, rolled, targets, scores)
        factor = self._cell_weights(batch, cells[0])
        full = np.zeros(scores.shape)
        full[cells[0][:, None], cells[1][:, None], tokens] = gradient * factor[:, None]
        self._optimizer.zero_grad()
        stacked.backward(network._torch.from_numpy(full).to(stacked))
        limit, clip = self.settings.max_grad_norm, network._torch.nn.utils.clip_grad_norm_
        if limit is not None:
            clip(network.parts.parameters(), float(limit))
        self._optimizer.step()
        self.n_iter += 1
        return float(value @ factor)

    def _cost_sensitive(self, batch, rolled, targets, scores):
        draws, network, end = self._draws, self.network, batch.end
        costs = batch.costs(self.task_loss, draws.settings.reference, self.classes)
        with network.inference():
            found = roll_out(network, rolled, scores, targets, batch.n_cells, costs, draws, end)
        network.parts.train()
        self.n_rollouts += found.n_rollouts
        self.n_steps += found.n_steps
        cells, tokens = found.cells, found.tokens
        own, true = scores[cells], targets[cells]
        place = (tokens == true[:, None]).argmax(axis=1)
        rng = draws.ties if draws.settings.tie_break == "random" else None
        best = cheapest(found.costs, place, rng)
        if draws.sampled_softmax or tokens.shape[1] == own.shape[1]:
            tried, scale = np.take_along_axis(own, tokens, axis=1), draws.settings.cost_scale
            loss = searnn_loss(tried, found.costs, self._loss, cost_scale=scale, target=best)
            return cells, tokens, *loss
        # Of the cheapest token, among all.
        best = np.take_along_axis(tokens, best[:, None], axis=1)[:, 0]
        return cells, np.arange(own.shape[1])[None, :], *_likelihood(own, best)

    def _cell_weights(self, batch, sample):
        if self.settings.normalization == "cell":
            return batch.weight[sample] / len(sample)
        counts = np.bincount(sample, minlength=len(batch))
        return batch.weight[sample] / (counts[sample] * len(batch))


def _converted(state, convert):
    return {k: {name: convert(value) for name, value in own.items()} for k, own in state.items()}


class Training(IterativeMethod):
    """One update per step, and a look at held-out pairs now and then."""

    certificate = "patience"  # looks that may still pass without a better one

    def __init__(self, updates, pairs, held_out, *, rng, max_length):
        self.updates, self.pairs, self.held_out = updates, pairs, held_out
        self._settings, self._max_length = updates.settings, max_length
        self._batches = batches(pairs, int(self._settings.batch_size), rng)
        self._losses, self._bad = [], 0
        self._best, self._kept = np.inf, None
        if held_out is not None:
            self._look()

    def step(self):
        updates = self.updates
        self._losses.append(updates.update(self.pairs.take(next(self._batches))))
        return self.certify() if updates.n_iter % int(self._settings.eval_every) == 0 else None

    def certify(self):
        if self._losses:
            self._objective, self._losses = float(np.mean(self._losses)), []
        row = {"objective": self._objective, "n_rollouts": float(self.updates.n_rollouts)}
        if self.held_out is not None:
            if self._looked_at != self.updates.n_iter:
                self._look()
            patience = max(int(self._settings.n_iter_no_change) - self._bad, 0)
            row |= {"validation_loss": self._last, "patience": float(patience)}
        return row

    def solution(self):
        """State, its loss on held-out pairs, and the updates after which it was found."""
        if self._kept is None:
            return self.updates.state(), np.nan, self.updates.n_iter
        return self._kept

    def _look(self):
        """Decode what is held out, and keep the weights if they are the best so far."""
        pairs, updates = self.held_out, self.updates
        made = decode(updates.network, pairs.inputs, self._max_length, pairs.end)
        outputs = [written(own, updates.classes, true) for own, true in zip(made, pairs.y)]
        losses = task_losses_of(updates.task_loss, pairs.y, outputs)
        self._last = float(np.average(losses, weights=pairs.weight))
        self._looked_at = updates.n_iter
        # Of equal ones the later weights are kept, but they do not extend the run.
        if self._last <= self._best:
            self._bad = 0 if self._last < self._best else self._bad + 1
            self._best, self._kept = self._last, (updates.state(), self._last, updates.n_iter)
        else:
            self._bad += 1


def _likelihood(scores, targets):
    costs = np.ones(scores.shape)
    np.put_along_axis(costs, targets[:, None], 0.0, axis=1)
    return searnn_loss(scores, costs, "ll")


def _optimizer(network, settings):
    kinds = network._torch.optim
    kind = {"adadelta": kinds.Adadelta, "adam": kinds.Adam, "sgd": kinds.SGD}[settings.optimizer]
    decay = float(settings.weight_decay)
    return kind(network.parts.parameters(), lr=settings._rate, weight_decay=decay)


def chunks(n, size=MOST_EVALUATED):
    """Ranges that cover n samples."""
    return (range(begin, min(begin + size, n)) for begin in range(0, n, size))


def decode(network, inputs, most, end):
    """Greedy outputs as numbers of tokens, without the one that ends them."""
    found = []
    with network.inference():
        for own in map(inputs.take, chunks(len(inputs))):
            state, scores = network.start(own)
            first = network.choose(scores)
            is_over = first == (-1 if end is None else end)
            n_left = np.where(is_over, 0, own.n_cells(most) - 1)
            rest, n_rest, _ = finish(network, state, first, n_left, end)
            rows = zip(np.column_stack([first, rest]), np.where(is_over, 0, 1 + n_rest))
            found += [row[:n] for row, n in rows]
    return found


@contextmanager
def seeded(torch, rng):
    """PyTorch's random numbers by ours for a while; those of the user stay as they were."""
    seed = rng.randint(2**31 - 1)
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=list(devices)):
        torch.manual_seed(seed)
        yield


# ---- what a fit did, in words --------------------------------------------------------------------


def warn_of_budget(model, run, training):
    """A ConvergenceWarning with numbers where more updates would help; else a line in the log."""
    if model.verbose:
        get_logger(model.verbose).info("%s", summary_of(model))
    what = model.status_
    is_cut = what in ("max_iter", "time_limit")
    if run.held_out is None or not is_cut or model.validation_loss_ == 0.0:
        return
    n_looks = int(training.n_iter_no_change)
    warn(
        f"{what} ended the fit after {model.n_iter_} updates, before the task loss of the "
        f"{len(run.held_out)} held-out pairs stayed above its best for {n_looks} looks: it is "
        f"{model.validation_loss_:.3g}, of update {model.best_iter_}. A larger {what} helps, or a "
        f"larger learning_rate of Minibatches",
        ConvergenceWarning,
    )


def summary_of(model):
    history, free = model.history_, model.max_length_
    length = "as long as inputs" if free is None else f"of up to {free} tokens"
    seconds = float(history["time"][-1])
    lines = [
        f"Outputs {length}, of {len(model.classes_)} tokens; loss {model.loss!r} with the task "
        f"loss {model.task_loss_!r}.",
        f"{model.n_iter_} updates in {seconds:.1f} s, with {model.n_rollouts_} roll-outs; the fit "
        f"ended as {model.status_!r}.",
    ]
    if model.validation_loss_ == model.validation_loss_:
        lines.append(
            f"Mean task loss of held-out pairs: {model.validation_loss_:.4g} after update "
            f"{model.best_iter_}, {history['validation_loss'][0]:.4g} at the first look."
        )
    else:
        lines.append("No pairs were held out: how good the network is on new ones is not known.")
    return "\n".join(lines)
