"""Settings of the network and of its training."""

from dataclasses import KW_ONLY

from .._core import check
from .._core.parameters import Parameterized, check_parameters

RATES = {"adadelta": 1.0, "adam": 0.004, "sgd": 0.5}


class RecurrentNetwork(Parameterized):
    """Settings of a recurrent encoder of the input and decoder of the output.

    Parameters
    ----------
    cell : {"gru", "lstm"}, default="gru"
        Kind of recurrent cells.
    hidden_size : int, default=128
        Units of a layer; even where the encoder is bidirectional, which halves them.
    n_layers : int, default=1
        Layers of encoder and decoder.
    embedding_dim : int or None, default=None
        Length of the vectors that tokens become, those of each column of the input and those of
        the output; None is half of ``hidden_size``.
    bidirectional : bool, default=True
        Whether one half of the encoder reads backwards.
    attention : {"additive", "bilinear"} or None, default="bilinear"
        Attention of the decoder to the input.
    aligned : bool or "auto", default="auto"
        Whether cell t of the decoder gets the encoder's state t; "auto" is true where outputs are
        as long as inputs.
    input_feed : bool, default=False
        Whether a cell gets the attention output of the cell before.
    dropout : float, default=0.0
        Dropout between layers and before the scores, from 0 to below 1.
    dtype : {"float32", "float64"}, default="float32"
        Precision.
    device : str, default="auto"
        PyTorch device; "auto" is a GPU if there is one, else the CPU.

    Notes
    -----
    The scores of cell t are ``s_t = W o_t`` with the state ``h_t = f(h_{t-1}, y_{t-1}, ...)`` and,
    with attention, ``o_t = tanh(U [h_t, c_t])`` for a mean c_t of the encoder's states [1]_; else
    o_t is h_t. The last states of the encoder are the first of the decoder. Attention costs the
    length of the input in each cell.

    References
    ----------
    .. [1] M.-T. Luong, H. Pham, C. D. Manning, "Effective approaches to attention-based neural
       machine translation", EMNLP 2015.

    Examples
    --------
    >>> from sklearn_fw.seq2seq import RecurrentNetwork
    >>> RecurrentNetwork(hidden_size=64, attention=None)
    RecurrentNetwork(attention=None, hidden_size=64)
    """

    _: KW_ONLY
    cell: check.options("gru", "lstm") = "gru"
    hidden_size: check.at_least(1) = 128
    n_layers: check.at_least(1) = 1
    embedding_dim: check.optional(check.at_least(1)) = None
    bidirectional: check.flag = True
    attention: check.optional(check.options("additive", "bilinear")) = "bilinear"
    aligned: check.auto_or(check.flag, "True or False") = "auto"
    input_feed: check.flag = False
    dropout: check.within(0.0, 1.0, "left") = 0.0
    dtype: check.options("float32", "float64") = "float32"
    device: check.instance_of(str) = "auto"

    def _check(self):
        check_parameters(self)
        if self.bidirectional and self.hidden_size % 2:
            raise ValueError(f"hidden_size must be even if bidirectional, got {self.hidden_size}")
        if self.input_feed and self.attention is None:
            raise ValueError("input_feed=True needs attention, of which it tells the next cell")


class Minibatches(Parameterized):
    """Settings of training in small batches, with early stopping on held-out pairs.

    Parameters
    ----------
    optimizer : {"adadelta", "adam", "sgd"}, default="adam"
        Optimizer of PyTorch.
    learning_rate : float or None, default=None
        Step size; None is 0.004 for "adam", 1 for "adadelta" and 0.5 for "sgd".
    batch_size : int, default=64
        Pairs per update.
    max_grad_norm : float or None, default=5.0
        Longer gradients are cut to this norm; None leaves them.
    weight_decay : float, default=0.0
        Factor of half the squared norm of the weights in the objective.
    normalization : {"cell", "sequence"}, default="sequence"
        Whether all cells of a batch have equal weight, or all outputs.
    early_stopping : bool, default=True
        Whether to hold pairs out, keep the weights that are best on them, and stop when these do
        not improve.
    validation_fraction : float, default=0.1
        Held-out fraction of the pairs, above 0 and below 1; nothing is held out of fewer than four.
    eval_every : int, default=50
        Updates between evaluations on held-out pairs.
    n_iter_no_change : int, default=10
        Evaluations without improvement after which to stop.
    warm_up : int, default=0
        Updates by maximum likelihood before those of the loss; they count among ``max_iter``.

    Examples
    --------
    >>> from sklearn_fw.seq2seq import Minibatches
    >>> Minibatches(optimizer="sgd", batch_size=128)
    Minibatches(batch_size=128, optimizer='sgd')
    """

    _: KW_ONLY
    optimizer: check.options(*RATES) = "adam"
    learning_rate: check.optional(check.positive) = None
    batch_size: check.at_least(1) = 64
    max_grad_norm: check.optional(check.positive) = 5.0
    weight_decay: check.not_negative = 0.0
    normalization: check.options("cell", "sequence") = "sequence"
    early_stopping: check.flag = True
    validation_fraction: check.within(0.0, 1.0, "neither") = 0.1
    eval_every: check.at_least(1) = 50
    n_iter_no_change: check.at_least(1) = 10
    warm_up: check.at_least(0) = 0

    @property
    def _rate(self):
        return RATES[self.optimizer] if self.learning_rate is None else float(self.learning_rate)
