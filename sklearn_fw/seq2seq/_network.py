"""The encoder-decoder in PyTorch, as a policy of the roll-out engine."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._core import check
from .._core.torch import import_torch
from ._engine import StepPolicy, roll_in

SMALL = 0.3  # first vectors of tokens: with those of scale one networks learn pairs by heart
FAR = -1e9  # score of places behind the end of an input: finite, so that gradients are numbers


class _Source(NamedTuple):
    """The encoder's states, and what all weights that do not wait for the decoder make of them."""

    states: Any  # (n_inputs, n_places, n_units)
    lengths: np.ndarray
    places: Any  # (n_inputs, n_places, n_gates): the places of aligned decoders, or None
    tokens: Any  # (n_tokens + 1, n_gates): those of tokens; None where dropout is at work
    looked_at: tuple  # of attention: keys, values and the mask of padding, an entry per input


class _State(NamedTuple):
    hidden: tuple  # of tensors (n_rows, n_units): a layer after the other, for LSTM with memory
    feed: Any  # (n_rows, n_units) or None
    row: Any  # (n_rows,) which input of the batch; None is all of them, in order
    time: Any  # (n_rows,) the cell, or that of all
    source: _Source


class Network(StepPolicy):
    """Tensors and modules; ``parts`` holds all weights."""

    def __init__(self, settings, reader, n_tokens, *, aligned):
        torch = import_torch("SeaRNNTransducer")
        nn, size = torch.nn, int(settings.hidden_size)
        self._torch, self._settings, self._aligned = torch, settings, aligned
        self.device = _device(torch, settings.device)
        dtype = getattr(torch, settings.dtype)
        width = settings.embedding_dim
        width = max(size // 2, 1) if width is None else int(width)
        self._start = n_tokens  # number of the token before the first
        parts = nn.ModuleDict()
        if reader.n_features is None:
            vectors = [_embedding(nn, len(known), width) for known in reader.vocabularies]
            parts["read"] = nn.ModuleList(vectors)
            n_in = width * len(reader.vocabularies)
        else:
            n_in = reader.n_features
        is_gru, n_layers, both = settings.cell == "gru", settings.n_layers, settings.bidirectional
        parts["encoder"] = (nn.GRU if is_gru else nn.LSTM)(
            n_in, size // 2 if both else size, n_layers, batch_first=True, bidirectional=both,
            dropout=settings.dropout if n_layers > 1 else 0.0,
        )  # fmt: skip
        parts["write"] = _embedding(nn, n_tokens + 1, width)
        n_in = width + size * (bool(settings.input_feed) + aligned)
        cell = nn.GRUCell if is_gru else nn.LSTMCell
        widths = [n_in] + [size] * (n_layers - 1)
        parts["decoder"] = nn.ModuleList([cell(own, size) for own in widths])
        if settings.attention is not None:
            parts["key"] = nn.Linear(size, size, bias=False)
            parts["mix"] = nn.Linear(2 * size, size)
        if settings.attention == "additive":
            parts["query"], parts["relevance"] = nn.Linear(size, size), nn.Linear(size, 1, False)
        parts["scores"] = nn.Linear(size, n_tokens)
        self._cell = partial(_gru if is_gru else _lstm, torch)
        self.parts = parts.to(self.device, dtype)
        self._dtype = dtype

    # ---- the policy ------------------------------------------------------------------------------

    def start(self, X):
        return self.step(self._begin(X), np.full(len(X), self._start))

    def _begin(self, X):
        torch, parts = self._torch, self.parts
        x = torch.from_numpy(X.padded()).to(self.device)
        if "read" in parts:
            x = torch.cat([self._vectors(own, x[..., c]) for c, own in enumerate(parts["read"])], 2)
        else:
            x = x.to(self._dtype)
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            self._dropped(x), torch.from_numpy(X.lengths), batch_first=True, enforce_sorted=False
        )
        out, last = parts["encoder"](packed)
        out, _ = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        feed = out.new_zeros((len(X), out.shape[2])) if self._settings.input_feed else None
        return _State(self._first(last), feed, None, -1, self._source(out, X.lengths))

    def step(self, state, tokens):
        parts, time = self.parts, state.time + 1
        gates = self._first_gates(state, self._torch.from_numpy(tokens).to(self.device), time)
        x, hidden = None, []
        for cell, own in zip(parts["decoder"], self._by_layer(state)):
            if x is not None:
                gates = linear(self._torch, self._dropped(x), cell.weight_ih, cell.bias_ih)
            hidden += self._cell(cell, gates, *own)
            x = hidden[-len(own)]
        x, scores = self._read_off(x, state)
        feed = x if self._settings.input_feed else None
        return _State(tuple(hidden), feed, state.row, time, state.source), scores

    def forced(self, X, targets):
        """Scores in all cells of known outputs, of shape (n_inputs, n_cells, n_tokens).

        What does not wait for the cell before is made for all cells at once.
        """
        torch = self._torch
        if self._settings.input_feed:
            known = np.ones(targets.shape, bool)
            return torch.stack(roll_in(self, X, targets, None, known).scores, dim=1)
        state = self._begin(X)
        before = np.pad(targets[:, :-1], ((0, 0), (1, 0)), constant_values=self._start)
        said = torch.from_numpy(before).to(self.device)
        gates, x = self._first_gates(state, said, np.arange(targets.shape[1])), None
        for cell, own in zip(self.parts["decoder"], self._by_layer(state)):
            if x is not None:
                gates = linear(torch, self._dropped(x), cell.weight_ih, cell.bias_ih)
            made = []
            for gate in gates.unbind(1):
                own = self._cell(cell, gate, *own)
                made.append(own[0])
            x = torch.stack(made, dim=1)
        return self._read_off(x, state)[1]

    def take(self, state, rows):
        if not isinstance(rows, slice):
            rows = self._torch.from_numpy(np.asarray(rows)).to(self.device)
        row, time = self._rows(state)
        return _State(
            tuple(part[rows] for part in state.hidden),
            None if state.feed is None else state.feed[rows],
            row[rows], time[rows], state.source,
        )  # fmt: skip

    def join(self, states):
        cat, n_parts = self._torch.cat, len(states[0].hidden)
        row, time = zip(*(self._rows(s) for s in states))
        # Roll-outs are free of the dropout with which the source may have been made.
        source = states[0].source
        return _State(
            tuple(cat([s.hidden[k] for s in states]).detach() for k in range(n_parts)),
            None if states[0].feed is None else cat([s.feed for s in states]).detach(),
            cat(row), cat(time),
            self._source(source.states.detach(), source.lengths),
        )  # fmt: skip

    def choose(self, scores):
        return scores.detach().argmax(dim=-1).cpu().numpy()

    def as_array(self, scores):
        return scores.detach().cpu().numpy().astype(np.float64)

    # ---- parts of a step -------------------------------------------------------------------------

    def _vectors(self, embedding, numbers):
        """Vectors of tokens of an input; that of unknown tokens is the mean of all."""
        if int(numbers.max()) < embedding.num_embeddings:
            return embedding(numbers)
        known = embedding.weight
        return self._torch.cat([known, known.mean(dim=0, keepdim=True)])[numbers]

    def _first(self, last):
        lasts = last if isinstance(last, tuple) else (last,)
        n_layers, joined = int(self._settings.n_layers), []
        for layer in range(n_layers):
            for part in lasts:
                own = part.reshape(n_layers, -1, *part.shape[1:])[layer]
                joined.append(own.transpose(0, 1).reshape(part.shape[1], -1))
        return tuple(joined)

    def _source(self, out, lengths):
        """Projections, for all steps, of states (n_inputs, n_places, n_units) of the encoder."""
        torch, parts = self._torch, self.parts
        is_dropped = self._settings.dropout and parts.training
        tokens = None if is_dropped else self._gates(parts["write"].weight, 0, bias=True)
        places = self._gates(self._dropped(out), -out.shape[2]) if self._aligned else None
        if "mix" not in parts:
            return _Source(out, lengths, places, tokens, ())
        numbers = torch.arange(out.shape[1], device=self.device)
        is_none = numbers[None, :] >= torch.from_numpy(lengths).to(self.device)[:, None]
        values = linear(torch, out, parts["mix"].weight[:, out.shape[2] :])
        return _Source(out, lengths, places, tokens, (parts["key"](out), values, is_none))

    def _gates(self, x, first, bias=False):
        """Share of some inputs, from this column on, in the gates of the lowest cell."""
        cell = self.parts["decoder"][0]
        columns = cell.weight_ih[:, first:][:, : x.shape[-1]]
        return linear(self._torch, x, columns, cell.bias_ih if bias else None)

    def _first_gates(self, state, said, time):
        source, parts = state.source, self.parts
        if source.tokens is None:
            gates = self._gates(self._dropped(parts["write"](said)), 0, bias=True)
        else:
            gates = source.tokens[said]
        if state.feed is not None:
            first = parts["write"].weight.shape[1]
            gates = gates + self._gates(self._dropped(state.feed), first)
        if source.places is None:
            return gates
        last = source.places.shape[1] - 1
        if state.row is None:
            return gates + source.places[:, np.minimum(time, last)]
        return gates + source.places[state.row, time.clamp(max=last)]

    def _rows(self, state):
        if state.row is not None:
            return state.row, state.time
        row = self._torch.arange(len(state.hidden[0]), device=self.device)
        return row, self._torch.full_like(row, state.time)

    def _by_layer(self, state):
        n = len(state.hidden) // len(self.parts["decoder"])
        return [state.hidden[k : k + n] for k in range(0, len(state.hidden), n)]

    def _read_off(self, x, state):
        """What attention makes of the highest layer, and the scores of that."""
        if "mix" in self.parts:
            x = self._torch.tanh(self._attend(x, state))
        return x, self.parts["scores"](self._dropped(x))

    def _attend(self, x, state):
        torch, parts = self._torch, self.parts
        mix = parts["mix"]
        own = linear(torch, x, mix.weight[:, : x.shape[-1]], mix.bias)
        if x.ndim == 3:
            return own + self._seen(x, state.source.looked_at)
        if state.row is None:
            return own + self._seen(x[:, None], state.source.looked_at)[:, 0]
        # Rows of one input side by side: they look at the same places, which need no copies.
        slot, width = self._slots(state.row, len(state.source.lengths))
        grid = x.new_zeros((len(state.source.lengths) * width, x.shape[1]))
        grid[slot] = x
        seen = self._seen(grid.view(-1, width, x.shape[1]), state.source.looked_at)
        return own + seen.reshape(-1, seen.shape[2])[slot]

    def _slots(self, row, n_inputs):
        """Where rows go in a table with a line per input, and how wide it is."""
        torch = self._torch
        counts = torch.bincount(row, minlength=n_inputs)
        order, width = torch.argsort(row, stable=True), int(counts.max())
        slot, ordered = torch.empty_like(row), row[order]
        rank = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[ordered]
        slot[order] = ordered * width + rank
        return slot, width

    def _seen(self, x, looked_at):
        """Means of the values of places, for states (n_inputs, n_rows, n_units)."""
        torch, parts = self._torch, self.parts
        keys, values, is_none = looked_at
        if "query" in parts:
            hidden = torch.tanh(keys[:, None] + parts["query"](x)[:, :, None])
            relevance = parts["relevance"](hidden)[..., 0]
        else:
            relevance = torch.bmm(x, keys.transpose(1, 2))
        shares = torch.softmax(relevance.masked_fill(is_none[:, None], FAR), dim=2)
        return torch.bmm(shares, values)

    def _dropped(self, x):
        share = float(self._settings.dropout)
        if not share or not self.parts.training:
            return x
        return self._torch.nn.functional.dropout(x, share)

    def inference(self):
        self.parts.eval()
        return self._torch.inference_mode()

    # ---- weights as arrays -----------------------------------------------------------------------

    def weights(self):
        return {k: v.detach().cpu().numpy().copy() for k, v in self.parts.state_dict().items()}

    def load(self, weights):
        tensor = self._torch.from_numpy
        self.parts.load_state_dict({k: tensor(np.array(v)) for k, v in weights.items()})


def _embedding(nn, n_tokens, width):
    vectors = nn.Embedding(n_tokens, width)
    nn.init.normal_(vectors.weight, std=SMALL)
    return vectors


def linear(torch, x, weight, bias=None):
    return torch.nn.functional.linear(x, weight, bias)


def _gru(torch, cell, gates, h):
    """A cell whose inputs have become shares of its gates already."""
    own = linear(torch, h, cell.weight_hh, cell.bias_hh)
    size = h.shape[1]
    both = torch.sigmoid(gates[:, : 2 * size] + own[:, : 2 * size])
    new = torch.tanh(torch.addcmul(gates[:, 2 * size :], both[:, :size], own[:, 2 * size :]))
    return (torch.lerp(new, h, both[:, size:]),)


def _lstm(torch, cell, gates, h, memory):
    write, forget, new, read = (gates + linear(torch, h, cell.weight_hh, cell.bias_hh)).chunk(4, 1)
    memory = torch.sigmoid(forget) * memory + torch.sigmoid(write) * torch.tanh(new)
    return torch.sigmoid(read) * torch.tanh(memory), memory


def _device(torch, name):
    if check.is_auto(name):
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device {name!r} cannot be used by PyTorch: {reason}") from None
    return device
