"""The encoder-decoder in PyTorch, as a policy of the roll-out engine."""

from typing import Any, NamedTuple

import numpy as np

from .._torch import import_torch
from ._engine import StepPolicy

__all__ = ["Network"]

FAR = -1e9  # score of places behind the end of an input: finite, so that gradients are numbers


class _State(NamedTuple):
    """Rows of the decoder."""

    hidden: tuple  # of tensors (n_rows, n_units): a layer after the other, for LSTM with memory
    feed: Any  # (n_rows, n_units) or None
    row: Any  # (n_rows,) which input of the batch
    time: Any  # (n_rows,) the cell
    source: tuple  # of the batch: states of the encoder, keys and mask
    own: Any = None  # states, keys and masks of the rows, where rows are not inputs in order


class Network(StepPolicy):
    """Tensors and modules; ``parts`` holds all weights."""

    def __init__(self, settings, reader, n_tokens, *, aligned):
        torch = import_torch("SeaRNNTransducer")
        nn, size = torch.nn, int(settings.hidden_size)
        self._torch, self._settings, self._aligned = torch, settings, aligned
        self.device = _device(torch, settings.device)
        dtype = getattr(torch, settings.dtype)
        width = size if settings.embedding_dim is None else int(settings.embedding_dim)
        self._start = n_tokens  # number of the token before the first
        parts = nn.ModuleDict()
        if reader.n_features is None:
            parts["read"] = nn.ModuleList(
                [nn.Embedding(len(known), width) for known in reader.vocabularies]
            )
            n_in = width * len(reader.vocabularies)
        else:
            n_in = reader.n_features
        is_gru, n_layers, both = settings.cell == "gru", settings.n_layers, settings.bidirectional
        parts["encoder"] = (nn.GRU if is_gru else nn.LSTM)(
            n_in, size // 2 if both else size, n_layers, batch_first=True, bidirectional=both,
            dropout=settings.dropout if n_layers > 1 else 0.0,
        )  # fmt: skip
        parts["write"] = nn.Embedding(n_tokens + 1, width)
        n_in = width + size * (bool(settings.input_feed) + aligned)
        cell = nn.GRUCell if is_gru else nn.LSTMCell
        parts["decoder"] = nn.ModuleList(
            [cell(n_in if layer == 0 else size, size) for layer in range(n_layers)]
        )
        if settings.attention is not None:
            parts["key"] = nn.Linear(size, size, bias=False)
            parts["mix"] = nn.Linear(2 * size, size)
        if settings.attention == "additive":
            parts["query"], parts["relevance"] = nn.Linear(size, size), nn.Linear(size, 1, False)
        parts["scores"] = nn.Linear(size, n_tokens)
        self.parts = parts.to(self.device, dtype)
        self._dtype = dtype

    # ---- the policy ------------------------------------------------------------------------------

    def start(self, X):
        torch, parts = self._torch, self.parts
        x = torch.from_numpy(X.padded()).to(self.device)
        if "read" in parts:
            x = torch.cat([embed(x[:, :, c]) for c, embed in enumerate(parts["read"])], dim=2)
        else:
            x = x.to(self._dtype)
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            self._dropped(x), torch.from_numpy(X.lengths), batch_first=True, enforce_sorted=False
        )
        out, last = parts["encoder"](packed)
        out, _ = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        n = len(X)
        places = torch.arange(out.shape[1], device=self.device)
        lengths = torch.from_numpy(X.lengths).to(self.device)
        keys = parts["key"](out) if "key" in parts else None
        source = (out, keys, places[None, :] >= lengths[:, None])
        rows = torch.arange(n, device=self.device)
        feed = out.new_zeros((n, out.shape[2])) if self._settings.input_feed else None
        state = _State(self._first(last), feed, rows, torch.full_like(rows, -1), source)
        return self.step(state, np.full(n, self._start))

    def step(self, state, tokens):
        torch, parts = self._torch, self.parts
        said = torch.from_numpy(tokens).to(self.device)
        time, n_places = state.time + 1, state.source[0].shape[1]
        inputs = [parts["write"](said)]
        if self._settings.input_feed:
            inputs.append(state.feed)
        if self._aligned:
            inputs.append(state.source[0][state.row, time.clamp(max=n_places - 1)])
        x, hidden = torch.cat(inputs, dim=1) if len(inputs) > 1 else inputs[0], []
        is_gru = self._settings.cell == "gru"
        for layer, cell in enumerate(parts["decoder"]):
            x = self._dropped(x)
            if is_gru:
                x = cell(x, state.hidden[layer])
                hidden.append(x)
            else:
                x, memory = cell(x, state.hidden[2 * layer : 2 * layer + 2])
                hidden += [x, memory]
        own = state.own
        if "mix" in parts:
            own = self._gathered(state)
            x = torch.tanh(parts["mix"](torch.cat([x, self._attend(x, own)], dim=1)))
        scores = parts["scores"](self._dropped(x))
        feed = x if self._settings.input_feed else None
        return _State(tuple(hidden), feed, state.row, time, state.source, own), scores

    def take(self, state, rows):
        if not isinstance(rows, slice):
            rows = self._torch.from_numpy(np.asarray(rows)).to(self.device)
        is_view = isinstance(rows, slice) and state.own is not None
        return _State(
            tuple(part[rows] for part in state.hidden),
            None if state.feed is None else state.feed[rows],
            state.row[rows], state.time[rows], state.source,
            tuple(part[rows] for part in state.own) if is_view else None,
        )  # fmt: skip

    def join(self, states):
        cat, n_parts = self._torch.cat, len(states[0].hidden)
        return _State(
            tuple(cat([s.hidden[k] for s in states]).detach() for k in range(n_parts)),
            None if states[0].feed is None else cat([s.feed for s in states]).detach(),
            cat([s.row for s in states]), cat([s.time for s in states]),
            tuple(None if part is None else part.detach() for part in states[0].source),
        )  # fmt: skip

    def choose(self, scores):
        return scores.detach().argmax(dim=-1).cpu().numpy()

    def as_array(self, scores):
        return scores.detach().cpu().numpy().astype(np.float64)

    # ---- parts of a step -------------------------------------------------------------------------

    def _first(self, last):
        """The first states of the decoder: both directions of each layer side by side."""
        lasts = last if isinstance(last, tuple) else (last,)
        n_layers, joined = int(self._settings.n_layers), []
        for layer in range(n_layers):
            for part in lasts:
                own = part.reshape(n_layers, -1, *part.shape[1:])[layer]
                joined.append(own.transpose(0, 1).reshape(part.shape[1], -1))
        return tuple(joined)

    def _gathered(self, state):
        """Encoder's states, keys and masks of the rows."""
        if state.own is not None:
            return state.own
        values, keys, mask = state.source
        n = len(values)
        if len(state.row) == n and bool((state.row[1:] > state.row[:-1]).all()):
            return state.source
        return values[state.row], keys[state.row], mask[state.row]

    def _attend(self, x, own):
        torch, parts = self._torch, self.parts
        values, keys, mask = own
        if "query" in parts:
            hidden = torch.tanh(keys + parts["query"](x)[:, None])
            relevance = parts["relevance"](hidden)[:, :, 0]
        else:
            relevance = torch.bmm(keys, x[:, :, None])[:, :, 0]
        shares = torch.softmax(relevance.masked_fill(mask, FAR), dim=1)
        return torch.bmm(shares[:, None], values)[:, 0]

    def _dropped(self, x):
        share = float(self._settings.dropout)
        if not share or not self.parts.training:
            return x
        return self._torch.nn.functional.dropout(x, share)

    # ---- weights as arrays -----------------------------------------------------------------------

    def weights(self):
        """All weights, by name."""
        return {
            name: value.detach().cpu().numpy().copy()
            for name, value in self.parts.state_dict().items()
        }

    def load(self, weights):
        """Take weights by name."""
        torch = self._torch
        self.parts.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in weights.items()})


def _device(torch, name):
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device {name!r} cannot be used by PyTorch: {reason}") from None
    return device
