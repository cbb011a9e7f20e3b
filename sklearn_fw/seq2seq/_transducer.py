"""The estimator of sequences from sequences."""

import time
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core.budget import time_budget
from .._core.callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from .._core.estimator import Estimator
from .._core.loop import drive
from .._core.result import Outcome, Status
from .._core.torch import import_torch
from .._core.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_list,
    check_random_state,
    is_auto,
    is_named,
)
from ..task_losses import resolve_task_loss
from ._advice import announce, summary_of, warn_of_budget
from ._losses import LOSSES
from ._network import Network
from ._predicting import Predicting
from ._search import LearningToSearch
from ._settings import Minibatches, RecurrentNetwork, check_length
from ._tokens import Outputs, Reader
from ._training import Pairs, Training, Updates, seeded, split, weighted

LONGER = 1.5  # than the longest output of fit: where outputs without an end are cut


class SeaRNNTransducer(Predicting, CallbackSupportMixin, Estimator):
    """Recurrent network from sequences to sequences that learns from what its outputs cost.

    Trains an encoder and a decoder on pairs of sequences, by maximum likelihood or by learning to
    search: in every cell of an output it asks what the task loss becomes if this or that token is
    said there and the output then goes on, and lowers, summed over cells t,
    ``L_t(s_t, c_t)`` for scores s_t and these costs c_t (see `searnn_loss`). Choose it where
    mistakes beget mistakes, or the error is not that of single tokens: transliteration, spelling,
    inflection, tagging with features that a network has to find. `StructuredSVM` is the choice
    where outputs are as long as inputs and features are good: it is faster and has a certificate.

    Parameters
    ----------
    loss : {"kl", "ll", "llcas", "mle", "shl"}, default="mle"
        Loss of a cell: "mle" is maximum likelihood, without roll-outs; for the others, which learn
        to search, see `searnn_loss`.
    task_loss : "auto", str, array-like of shape (n_classes, n_classes), callable or TaskLoss, \
            default="auto"
        What an output costs: "hamming", "edit", "bleu", "phrase_f1", another name or object of
        `sklearn_fw.task_losses`, or a function of the true and the predicted output. "auto" is
        "hamming" where outputs are as long as inputs, and else "edit".
    search : LearningToSearch or None, default=None
        Roll-ins, roll-outs and which tokens are tried; None is the default of that class.
    network : RecurrentNetwork or None, default=None
        Size and kind of the network.
    training : Minibatches or None, default=None
        Optimizer, batches and early stopping.
    output_length : {"auto", "fixed", "free"} or int, default="auto"
        Whether outputs are as long as inputs, or end where the network says so, after this many
        tokens at most. "auto" looks at the training pairs; with "auto" and "free" outputs end at
        1.5 times the longest one of them.
    beam_size : int, default=1
        Outputs that are pursued at once in `predict`; 1 is greedy, which is what training is for.
    max_iter : int, default=2000
        Most updates.
    time_limit : float or None, default=None
        Seconds after which no new update starts.
    warm_start : bool, default=False
        Start from the weights of the previous fit, whose tokens must be enough.
    random_state : int, RandomState instance or None, default=None
        First weights, batches, coins and samples. On the CPU, fits with the same value are equal.
    verbose : int, default=0
        Log a line per look at the held-out pairs, and what was done, to the logger "sklearn_fw".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Tokens of outputs, sorted.
    input_tokens_ : list of list
        Tokens of each column of inputs.
    n_features_in_ : int
        Number of features of a place, for inputs that are arrays of features.
    max_length_ : int or None
        Most tokens of an output; None where outputs are as long as inputs.
    state_dict_ : dict of str to ndarray
        Weights of the network by name.
    module_ : torch.nn.ModuleDict
        The network with these weights.
    task_loss_ : TaskLoss
        The loss that was used.
    validation_loss_ : float
        Mean task loss of held-out pairs for the weights that were kept; NaN without early stopping.
    best_iter_ : int
        Update after which these were found.
    n_rollouts_ : int
        Outputs that were finished and priced.
    n_rollout_steps_ : int
        Tokens that the network said to finish them.
    n_iter_ : int
        Updates made.
    converged_ : bool
        Whether held-out pairs got no better any more.
    status_ : str
        How the fit ended.
    history_ : dict of str to ndarray
        One entry per look: "n_iter", "time", "objective" (mean loss of the updates since the last
        look), "n_rollouts", and with early stopping "validation_loss" and "patience" (looks that
        may still pass without a better one).

    Warns
    -----
    ConvergenceWarning
        When the budget ends before held-out pairs stop getting better.

    See Also
    --------
    sklearn_fw.structured.StructuredSVM : Linear scores and exact inference.
    roll_out_costs : The costs for any policy.

    Notes
    -----
    Inputs are texts (of characters), lists of tokens, lists of tuples of tokens (a word and its
    tag, each with vectors of its own), or arrays of features, which should have the scale of one.
    Outputs are texts or lists of tokens. A token of an input that `fit` has not seen is an unknown
    token: it gets the mean of the vectors of all known tokens.

    An update by "mle" takes T steps of the network per pair of length T. The other losses add about
    T^2 A / 2 steps with A tokens tried, and half of that where half of the outputs are finished by
    the reference. The costs are constants of an update: the gradient does not
    follow them. The true gap to the best output is not known: judge by `validation_loss_`. Pairs
    that come bit by bit, or are too many for the memory, go through `partial_fit`.

    Where lengths are fixed there is no token that ends outputs, unlike in the code of [1]_, and
    batches hold outputs of similar lengths.

    References
    ----------
    .. [1] R. Leblond, J.-B. Alayrac, A. Osokin, S. Lacoste-Julien, "SeaRNN: training RNNs with
       global-local losses", 2017.

    Examples
    --------
    >>> from sklearn_fw.seq2seq import SeaRNNTransducer
    >>> words = ["abc", "cab", "bca", "acb", "bac", "cba"] * 10
    >>> model = SeaRNNTransducer(max_iter=100, random_state=0)
    >>> model.fit(words, [w[::-1] for w in words]).predict(["abc", "bac"])  # doctest: +SKIP
    array(['cba', 'cab'], dtype=object)
    """

    def __init__(
        self, loss="mle", *, task_loss="auto", search=None, network=None, training=None,
        output_length="auto", beam_size=1, max_iter=2000, time_limit=None, warm_start=False,
        random_state=None, verbose=0,
    ):  # fmt: skip
        self.loss = loss
        self.task_loss = task_loss
        self.search = search
        self.network = network
        self.training = training
        self.output_length = output_length
        self.beam_size = beam_size
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y, sample_weight=None, classes=None, input_tokens=None):
        """Train until held-out outputs get no better, or the budget ends.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs: texts, lists of tokens or of tuples of tokens, or arrays of shape (length,
            n_features).
        y : list, object array or Packed of n_samples outputs
            Outputs: texts or lists of tokens.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses of pairs; pairs of weight zero are left out.
        classes : str or list, default=None
            All tokens of outputs, where y does not hold each of them.
        input_tokens : list of str or of list, default=None
            All tokens of each column of inputs, where X does not hold each of them.

        Returns
        -------
        self : SeaRNNTransducer
            The fitted estimator.
        """
        settings = self._check_parameters()
        torch = import_torch("SeaRNNTransducer")
        rng = check_random_state(self.random_state)
        with time_budget(self.time_limit), seeded(torch, rng):
            return self._fit(X, y, sample_weight, (classes, input_tokens), settings, rng)

    def _check_parameters(self):
        check_choice(self.loss, "loss", (*LOSSES, "mle"))
        check_length(self.output_length)
        check_integer(self.beam_size, "beam_size", 1)
        check_integer(self.max_iter, "max_iter", 1)
        check_integer(self.verbose, "verbose", 0)
        check_flag(self.warm_start, "warm_start")
        found = []
        for name, kind in (
            ("search", LearningToSearch), ("network", RecurrentNetwork), ("training", Minibatches)
        ):  # fmt: skip
            value = getattr(self, name)
            if not (value is None or isinstance(value, kind)):
                raise TypeError(f"{name} must be a {kind.__name__} object or None, got {value!r}")
            found.append(kind() if value is None else clone(value))
        for settings in found[1:]:
            settings._check()
        return tuple(found)

    def _fit(self, X, y, sample_weight, tokens, settings, rng):
        search, network_settings, training = settings
        pairs = self._read_pairs(X, y, sample_weight, tokens)
        self.task_loss_ = self._task_loss()
        self._counts = self._counts_of(pairs)
        draws = self._draws(search, self.loss, rng)
        self._network_settings, start = network_settings, self._start_of(len(self._counts))
        network = self._new_network()
        if start is not None:
            network.load(start)
        trained, held_out = split(pairs, training, rng)
        updates = self._updates(network, draws, training)
        announce(self, trained, held_out)
        run = Training(updates, trained, held_out, rng=rng, max_length=self.max_length_)
        tasks = FitTasks(self, X, y, max_subtasks=self.max_iter, sample_weight=sample_weight)
        outcome = drive(
            run, tol=0.0, max_iter=self.max_iter, verbose=self.verbose,
            **tasks.hooks(lambda: self._snapshot(run)),
        )  # fmt: skip
        self._store(run, outcome)
        tasks.finish()
        warn_of_budget(self, run, training)
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None, input_tokens=None):
        """One update, whose batch is the pairs given.

        The first call, or a `fit` before it, settles the tokens, the task loss, the network, and
        whether outputs are as long as inputs or how long they may be; the optimizer goes on where
        the last call, or `fit`, ended. No pairs are held out: judge by pairs of your own when to
        stop. ``max_iter``, ``time_limit``, and of ``training`` the size of batches and early
        stopping have no say here.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs, as `fit` takes them.
        y : list, object array or Packed of n_samples outputs
            Outputs.
        classes : str or list, default=None
            All tokens of outputs, where the first call does not hold each of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses of these pairs, in units of their mean; pairs of weight zero are
            left out.
        input_tokens : list of str or of list, default=None
            All tokens of each column of inputs, as ``input_tokens_`` has them, where the first
            call does not hold each of them.

        Returns
        -------
        self : SeaRNNTransducer
            The estimator; ``history_`` has a row per call, with the loss of its update.
        """
        settings = self._check_parameters()
        torch = import_torch("SeaRNNTransducer")
        rng, n_iter = check_random_state(self.random_state), getattr(self, "n_iter_", 0)
        if n_iter and isinstance(self.random_state, Integral):
            # Other numbers in each call, and the same ones in a copy that goes on from here.
            rng = np.random.RandomState([self.random_state, n_iter])
        with seeded(torch, rng):
            return self._go_on(X, y, sample_weight, (classes, input_tokens), settings, rng)

    def _go_on(self, X, y, sample_weight, tokens, settings, rng):
        search, network_settings, training = settings
        began, n_before = time.perf_counter(), 0
        if not hasattr(self, "state_dict_"):
            pairs = self._read_pairs(X, y, sample_weight, tokens)
            self.task_loss_, self._network_settings = self._task_loss(), network_settings
            self._counts, network = 0, self._new_network()
        else:
            self._compare(tokens)
            pairs, network = self._pairs(X, y, is_training=True), self._fitted_network()
            pairs = weighted(pairs, sample_weight)
            del self._network  # so that a call that fails leaves the weights of before
            n_before = self.n_iter_
        self._counts = self._counts + self._counts_of(pairs)
        updates = self._updates(network, self._draws(search, self.loss, rng), training, n_before)
        if n_before:
            updates.remember(self._memory)
        objective = updates.update(pairs)
        self._store_update(updates, objective, time.perf_counter() - began)
        return self

    def _counts_of(self, pairs):
        """Frequencies of tokens, and of the end of outputs."""
        counts = np.bincount(np.concatenate(pairs.outputs), minlength=len(self.classes_))
        return counts if pairs.end is None else np.append(counts, len(pairs))

    def _updates(self, network, draws, training, n_iter=0):
        return Updates(
            network, loss=self.loss, task_loss=self.task_loss_, classes=self.classes_, draws=draws,
            settings=training, n_iter=n_iter,
        )  # fmt: skip

    def _compare(self, tokens):
        """Refuse classes and input_tokens that are not those of before."""
        self._outputs.compare(tokens[0])
        self._reader.compare(tokens[1])

    def _read_pairs(self, X, y, sample_weight, tokens):
        goes_on = bool(self.warm_start) and hasattr(self, "state_dict_")
        y = check_list(y, "y", "sequences")
        if goes_on:
            self._compare(tokens)
            inputs = self._reader.read(X, is_training=True)
        else:
            self._reader = Reader()
            inputs = self._reader.fit(X, tokens[1])
            self._outputs = Outputs(y, tokens[0])
        outputs = self._outputs.encode(y, inputs.lengths)
        vars(self).pop("n_features_in_", None)
        vars(self).pop("input_tokens_", None)
        if self._reader.n_features is None:
            self.input_tokens_ = self._reader.tokens
        else:
            self.n_features_in_ = self._reader.n_features
        self.classes_ = self._outputs.classes
        lengths = np.array([len(own) for own in outputs])
        self.max_length_ = self._max_length(inputs.lengths, lengths, goes_on)
        end = None if self.max_length_ is None else len(self.classes_)
        return weighted(Pairs(inputs, outputs, y, None, end=end), sample_weight)

    def _max_length(self, n_in, n_out, goes_on):
        """Most tokens of an output; None where outputs are as long as inputs."""
        wanted = self.output_length
        differ = np.flatnonzero(n_in != n_out)
        if is_auto(wanted):
            wanted = "free" if len(differ) else "fixed"
            if goes_on and wanted == "fixed" and self.max_length_ is not None:
                wanted = "free"
        if is_named(wanted, "fixed"):
            if len(differ):
                i = int(differ[0])
                raise ValueError(
                    f"y[{i}] has {n_out[i]} tokens and X[{i}] has {n_in[i]}, but "
                    f"output_length='fixed' asks for as many: take 'free'"
                )
            return None
        longest = int(n_out.max())
        if not isinstance(wanted, str):
            if longest > wanted:
                i = int(n_out.argmax())
                raise ValueError(
                    f"y[{i}] has {longest} tokens, more than output_length={wanted} allows: raise "
                    f"it, or cut the outputs"
                )
            return int(wanted)
        return int(np.ceil(LONGER * longest))

    def _task_loss(self):
        is_free = self.max_length_ is not None
        if is_auto(self.task_loss):
            return resolve_task_loss("edit" if is_free else "hamming")
        loss = resolve_task_loss(self.task_loss)
        if is_free and loss.decomposes and not loss._has_value:
            raise ValueError(
                f"task_loss {type(loss).__name__} compares outputs of one length, and outputs end "
                f"where the network says: take task_loss='edit', or output_length='fixed' where "
                f"outputs are as long as inputs"
            )
        return loss

    def _start_of(self, n_tokens):
        """Weights to start from, if any."""
        if not (self.warm_start and hasattr(self, "state_dict_")):
            return None
        known = len(self.state_dict_["scores.bias"])
        if known != n_tokens:
            raise ValueError(
                "warm_start=True needs outputs whose lengths are as free as those of the previous "
                "fit: set output_length as it was there, or warm_start=False"
            )
        return self.state_dict_

    def _new_network(self):
        settings, is_free = self._network_settings, self.max_length_ is not None
        aligned = settings.aligned
        if isinstance(aligned, str):
            aligned = not is_free
        return Network(settings, self._reader, len(self.classes_) + is_free, aligned=bool(aligned))

    def _snapshot(self, run):
        """Fitted attributes in the middle of a fit, for callbacks."""
        own = {"_counts", "_network_settings", "_outputs", "_reader"}
        weights, memory = run.updates.state()
        return {n: v for n, v in vars(self).items() if n in own or n.endswith("_")} | {
            "state_dict_": weights, "_memory": memory, "n_iter_": run.updates.n_iter,
        }  # fmt: skip

    def _store(self, run, outcome):
        updates = run.updates
        self.state_dict_, self._memory = run.solution()
        self._network = updates.network
        self._network.load(self.state_dict_)
        self._network.parts.eval()
        self.validation_loss_ = float(run.best) if run.held_out is not None else float("nan")
        self.best_iter_ = run.best_iter if run.held_out is not None else updates.n_iter
        self.n_rollouts_, self.n_rollout_steps_ = updates.n_rollouts, updates.n_steps
        if run.held_out is None and outcome.status is Status.MAX_ITER:
            outcome = outcome._replace(status=Status.FINISHED)
        vars(self).update(outcome.attributes())

    def _store_update(self, updates, objective, seconds):
        known = vars(self)
        self.state_dict_, self._memory = updates.state()
        self._network = updates.network
        self._network.parts.eval()
        self.validation_loss_, self.best_iter_ = float("nan"), updates.n_iter
        self.n_rollouts_ = known.get("n_rollouts_", 0) + updates.n_rollouts
        self.n_rollout_steps_ = known.get("n_rollout_steps_", 0) + updates.n_steps
        history = known.get("history_", {})
        row = {
            "n_iter": updates.n_iter, "time": seconds + (history["time"][-1] if history else 0.0),
            "objective": objective, "n_rollouts": float(self.n_rollouts_),
        }  # fmt: skip
        history = {
            name: np.append(history[name], row.get(name, np.nan)) if history else np.array([number])
            for name, number in (history | row).items()
        }
        known.update(Outcome(Status.FINISHED, updates.n_iter, history).attributes())

    @property
    def module_(self):
        """The network."""
        check_is_fitted(self)
        return self._fitted_network().parts

    def _fitted_network(self):
        if "_network" not in vars(self):
            # Its first weights, which are replaced, are no reason to draw from PyTorch's numbers.
            with seeded(import_torch("SeaRNNTransducer"), np.random.RandomState(0)):
                self._network = self._new_network()
            self._network.load(self.state_dict_)
            self._network.parts.eval()
        return self._network

    def summary(self):
        """What the fit did and how good it is, in a few sentences.

        Returns
        -------
        text : str
            Kind of outputs, loss, updates, time, roll-outs, and the loss on held-out pairs.
        """
        check_is_fitted(self)
        return summary_of(self)

    def __getstate__(self):
        # The weights are in state_dict_, on no device; the network is made of them when needed.
        return {k: v for k, v in super().__getstate__().items() if k != "_network"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = tags.target_tags.single_output = False
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "state_dict_")
