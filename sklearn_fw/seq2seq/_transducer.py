"""The estimator of sequences from sequences."""

import time
from dataclasses import KW_ONLY
from numbers import Integral

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.budget import time_budget
from .._core.callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from .._core.estimator import Estimator
from .._core.loop import drive, get_logger
from .._core.packed import objects
from .._core.parameters import check_parameters
from .._core.result import Outcome, Status
from .._core.torch import import_torch
from .._core.warnings import refuse_scorer
from ..task_losses import resolve_task_loss
from . import _training as trainer
from ._costs import loss_for, task_losses_of, written
from ._engine import beam_search, priced, roll_in
from ._losses import LOSSES
from ._network import Network
from ._search import Draws, LearningToSearch
from ._settings import Minibatches, RecurrentNetwork
from ._tokens import LENGTHS, Outputs, Reader, check_lengths, most_tokens


class SeaRNNTransducer(CallbackSupportMixin, Estimator):
    """Recurrent encoder-decoder trained by learning to search (SeaRNN).

    Trains an encoder and a decoder on pairs of sequences, by maximum likelihood or by learning to
    search: in every cell t of an output it estimates the costs c_t of tokens, the task loss when
    the output then goes on, and minimizes the sum of ``L_t(s_t, c_t)`` for scores s_t (see
    `searnn_loss`). Choose it where errors lead to errors, or the loss is not that of single tokens:
    transliteration, spelling, inflection. `StructuredSVM` is the choice where outputs are as long
    as inputs and features are good: it is faster and has a certificate.

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
        Whether outputs are as long as inputs, or end where the network predicts it, after this many
        tokens at most; "free" is 1.5 times the longest training output, "auto" depends on the
        training pairs.
    beam_size : int, default=1
        Width of the beam in `predict`; 1 is greedy.
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
    state_dict_, module_ : dict of str to ndarray, and torch.nn.ModuleDict
        Weights of the network by name, and the network with these weights.
    task_loss_ : TaskLoss
        The loss that was used.
    validation_loss_, best_iter_ : float and int
        Mean task loss of held-out pairs for the weights that were kept, NaN without early stopping,
        and the update after which these were found.
    n_rollouts_, n_rollout_steps_ : int
        Outputs that were finished and priced, and tokens that the network made for them.
    n_iter_ : int
        Updates made.
    converged_, status_ : bool and str
        Whether held-out pairs stopped improving, and how the fit ended.
    history_ : dict of str to ndarray
        One entry per look: "n_iter", "time", "objective" (mean loss of the updates since the last
        look), "n_rollouts", and with early stopping "validation_loss" and "patience" (looks that
        may still pass without a better one).

    Warns
    -----
    ConvergenceWarning
        When the budget ends before held-out pairs stop getting better.

    Notes
    -----
    Inputs are texts (of characters), lists of tokens, lists of tuples of tokens (a word and its
    tag, each with vectors of its own), or arrays of features, which should have the scale of one.
    Outputs are texts or lists of tokens. An unknown token of an input gets the mean of the vectors
    of all known tokens.

    An update by "mle" takes T steps of the network per pair of length T. The other losses add about
    T^2 A / 2 steps with A tokens tried. Costs are constants of an update. Where lengths are fixed,
    no token ends outputs, unlike in the code of [1]_.

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

    loss: check.options(*LOSSES, "mle") = "mle"
    _: KW_ONLY
    task_loss: object = "auto"
    search: check.instance_of(LearningToSearch | None) = None
    network: check.instance_of(RecurrentNetwork | None) = None
    training: check.instance_of(Minibatches | None) = None
    output_length: check.auto_or(check.at_least(1), "a number", LENGTHS) = "auto"
    beam_size: check.at_least(1) = 1
    max_iter: int = 2000
    time_limit: float | None = None
    warm_start: bool = False
    random_state: object = None
    verbose: int = 0

    @with_callbacks
    def fit(self, X, y, sample_weight=None, classes=None, input_tokens=None):
        """Train until held-out outputs get no better, or the budget ends.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples inputs and outputs
            See the notes of the class.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses of pairs; pairs of weight zero are left out.
        classes : str or list, default=None
            All tokens of outputs, where y does not hold each of them.
        input_tokens : list of str or of list, default=None
            All tokens of each column of inputs, where X does not hold each of them.
        """
        search, network_settings, training = self._settings()
        torch, rng = import_torch("SeaRNNTransducer"), check.random_state(self.random_state)
        with time_budget(self.time_limit), trainer.seeded(torch, rng):
            tokens = classes, input_tokens
            pairs, network = self._begin(X, y, sample_weight, tokens, network_settings)
            updates = self._updates(network, search, training, rng)
            trained, held_out = trainer.split(pairs, training, rng)
            counts = len(trained), len(held_out or ())
            if self.verbose:
                get_logger(self.verbose).info("%d pairs to train with, %d held out", *counts)
            run = trainer.Training(updates, trained, held_out, rng=rng, max_length=self.max_length_)
            tasks = FitTasks(self, X, y, max_subtasks=self.max_iter, sample_weight=sample_weight)
            outcome = drive(
                run, tol=0.0, max_iter=self.max_iter, verbose=self.verbose,
                **tasks.hooks(lambda: self._snapshot(run)),
            )  # fmt: skip
            if held_out is None and outcome.status is Status.MAX_ITER:
                outcome = outcome._replace(status=Status.FINISHED)
            self._store(updates, run.solution(), outcome)
            tasks.finish()
            trainer.warn_of_budget(self, run, training)
            return self

    def _settings(self):
        search = clone(self.search or LearningToSearch())
        network = clone(self.network or RecurrentNetwork())
        training = clone(self.training or Minibatches())
        network._check()
        check_parameters(training)
        return search, network, training

    def partial_fit(self, X, y, classes=None, sample_weight=None, input_tokens=None):
        """One update, whose batch is the pairs given.

        The first call, or a `fit` before it, determines the tokens, the task loss, the network and
        the lengths of outputs; the optimizer goes on where the last call, or `fit`, ended. No pairs
        are held out; ``max_iter``, ``time_limit``, and of ``training`` the size of batches and
        early stopping have no effect.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples inputs and outputs
            See the notes of the class.
        classes : str or list, default=None
            All tokens of outputs, where the first call does not hold each of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses of these pairs, in units of their mean; pairs of weight zero are
            left out.
        input_tokens : list of str or of list, default=None
            All tokens of each column of inputs, where the first call does not hold each of them.

        Returns
        -------
        self : SeaRNNTransducer
            Its ``history_`` has a row per call, with the loss of the update.
        """
        torch = import_torch("SeaRNNTransducer")
        rng, n_iter = check.random_state(self.random_state), getattr(self, "n_iter_", 0)
        if n_iter and isinstance(self.random_state, Integral):
            # Other numbers in each call, and the same ones in a copy that goes on from here.
            rng = np.random.RandomState([self.random_state, n_iter])
        with trainer.seeded(torch, rng):
            self._update(X, y, sample_weight, (classes, input_tokens), rng)
        return self

    def _update(self, X, y, sample_weight, tokens, rng):
        search, network_settings, training = self._settings()
        began, history = time.perf_counter(), vars(self).get("history_", {})
        if not history:
            pairs, network = self._begin(X, y, sample_weight, tokens, network_settings)
            updates = self._updates(network, search, training, rng)
        else:
            self._compare(tokens)
            pairs, network = self._pairs(X, y, is_training=True), self._fitted_network()
            pairs = trainer.weighted(pairs, sample_weight)
            del self._network  # so that a call that fails leaves the weights of before
            self._counts = self._counts + self._counts_of(pairs)
            updates = self._updates(network, search, training, rng)
            updates.go_on(self._memory, self.n_iter_, self.n_rollouts_, self.n_rollout_steps_)
        objective = updates.update(pairs)
        seconds = time.perf_counter() - began + (history["time"][-1] if history else 0.0)
        row = {
            "n_iter": updates.n_iter, "time": seconds, "objective": objective,
            "n_rollouts": float(updates.n_rollouts),
        }  # fmt: skip
        history = {
            name: np.append(history[name], row.get(name, np.nan)) if history else np.array([number])
            for name, number in (history | row).items()
        }
        outcome = Outcome(Status.FINISHED, updates.n_iter, history)
        self._store(updates, (updates.state(), np.nan, updates.n_iter), outcome)

    def _begin(self, X, y, sample_weight, tokens, network_settings):
        """Pairs as read, and a new network, with the weights of the previous fit if wanted."""
        goes_on = bool(self.warm_start) and hasattr(self, "state_dict_")
        pairs = self._read_pairs(X, y, sample_weight, tokens, goes_on)
        self.task_loss_, self._network_settings = self._task_loss(), network_settings
        self._counts = self._counts_of(pairs)
        network = self._new_network()
        if goes_on:
            if len(self.state_dict_["scores.bias"]) != len(self._counts):
                raise ValueError(
                    "warm_start=True needs outputs whose lengths are as free as those of the "
                    "previous fit: set output_length as it was there, or warm_start=False"
                )
            network.load(self.state_dict_)
        return pairs, network

    def _counts_of(self, pairs):
        counts = np.bincount(np.concatenate(pairs.outputs), minlength=len(self.classes_))
        return counts if pairs.end is None else np.append(counts, len(pairs))

    def _updates(self, network, search, training, rng):
        return trainer.Updates(
            network, loss=self.loss, task_loss=self.task_loss_, classes=self.classes_,
            draws=self._draws(search, self.loss, rng), settings=training,
        )  # fmt: skip

    def _compare(self, tokens):
        self._outputs.compare(tokens[0])
        self._reader.compare(tokens[1])

    def _read_pairs(self, X, y, sample_weight, tokens, goes_on):
        y = check.items(y, "y", "sequences")
        if goes_on:
            self._compare(tokens)
            inputs = self._reader.read(X, is_training=True)
        else:
            self._reader = Reader()
            inputs = self._reader.fit(X, tokens[1])
            self._outputs = Outputs(y, tokens[0])
        outputs = self._outputs.encode(y, len(inputs))
        vars(self).pop("n_features_in_", None)
        vars(self).pop("input_tokens_", None)
        if self._reader.n_features is None:
            self.input_tokens_ = [list(known) for known in self._reader.vocabularies]
        else:
            self.n_features_in_ = self._reader.n_features
        self.classes_ = self._outputs.classes
        lengths = np.array([len(own) for own in outputs])
        before = self.max_length_ if goes_on else None
        self.max_length_ = most_tokens(self.output_length, inputs.lengths, lengths, before)
        pairs = trainer.Pairs(inputs, outputs, y, None, end=self._end)
        return trainer.weighted(pairs, sample_weight)

    def _task_loss(self):
        is_free = self.max_length_ is not None
        if check.is_auto(self.task_loss):
            return resolve_task_loss("edit" if is_free else "hamming")
        remedy = ", or output_length='fixed' where outputs are as long as inputs"
        return loss_for(self.task_loss, is_free, remedy)

    def _new_network(self):
        settings, is_free = self._network_settings, self.max_length_ is not None
        aligned = not is_free if check.is_auto(settings.aligned) else bool(settings.aligned)
        return Network(settings, self._reader, len(self.classes_) + is_free, aligned=aligned)

    def _snapshot(self, run):
        """Fitted attributes in the middle of a fit, for callbacks."""
        own = {"_counts", "_network_settings", "_outputs", "_reader"}
        weights, memory = run.updates.state()
        return {n: v for n, v in vars(self).items() if n in own or n.endswith("_")} | {
            "state_dict_": weights, "_memory": memory, "n_iter_": run.updates.n_iter,
        }  # fmt: skip

    def _store(self, updates, solution, outcome):
        (self.state_dict_, self._memory), self.validation_loss_, self.best_iter_ = solution
        self._take_network(updates.network)
        self.n_rollouts_, self.n_rollout_steps_ = updates.n_rollouts, updates.n_steps
        vars(self).update(outcome.attributes())

    @property
    def module_(self):
        """The network."""
        check_is_fitted(self)
        return self._fitted_network().parts

    def _fitted_network(self):
        if "_network" not in vars(self):
            # Its first weights, which are replaced, must not draw from PyTorch's numbers.
            with trainer.seeded(import_torch("SeaRNNTransducer"), np.random.RandomState(0)):
                self._take_network(self._new_network())
        return self._network

    def _take_network(self, network):
        network.load(self.state_dict_)
        network.parts.eval()
        self._network = network

    # ---- predictions -----------------------------------------------------------------------------

    def _inputs(self, X, is_training=False):
        check_is_fitted(self)
        return self._reader.read(X, is_training)

    @property
    def _end(self):
        return None if self.max_length_ is None else len(self.classes_)

    def _draws(self, search, loss, rng):
        counts = np.maximum(self._counts, 1.0)
        return Draws(search, loss, counts, rng, has_end=self._end is not None)

    def predict(self, X):
        """Outputs that the network makes, greedily or by a beam.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs, as `fit` takes them.

        Returns
        -------
        y : ndarray of shape (n_samples,), of objects
            Texts where `fit` had texts, and else arrays of tokens.
        """
        inputs = self._inputs(X)
        if check.integer(self.beam_size, "beam_size", 1) > 1:
            made = [outputs[0] for outputs, _ in self._beams(inputs, self.beam_size)]
        else:
            codes = trainer.decode(self._fitted_network(), inputs, self.max_length_, self._end)
            made = [self._written(own) for own in codes]
        made = objects(made)
        refuse_scorer(made)
        return made

    def n_best(self, X, k=5):
        """The k best outputs that a beam of this width finds.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.
        k : int, default=5
            Number of outputs.

        Returns
        -------
        outputs, logs : ndarray of shape (n_samples,), of lists and of ndarray
            At most k outputs of each input, the most probable first, and logarithms of their
            probabilities.
        """
        check.integer(k, "k", 1)
        outputs, logs = zip(*self._beams(self._inputs(X), int(k)), strict=True)
        return objects(outputs), objects(logs)

    def _beams(self, inputs, width):
        network, found = self._fitted_network(), []
        n_cells = inputs.n_cells(self.max_length_)
        with network.inference():
            for own in trainer.chunks(len(inputs), max(1, trainer.MOST_EVALUATED // width)):
                beams = beam_search(network, inputs.take(own), n_cells[own], width, self._end)
                for tokens, logs, lengths in zip(*beams, strict=True):
                    there = logs > -np.inf
                    rows = zip(tokens[there], lengths[there], strict=True)
                    found.append(([self._written(row[:n]) for row, n in rows], logs[there]))
        return found

    def _written(self, numbers):
        return written(numbers, self.classes_, "" if self._outputs.as_text else None)

    def predict_proba(self, X):
        """Compute token probabilities at each position of the greedy output.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        probabilities : ndarray of shape (n_samples,), of ndarray of shape (n_cells, n_tokens)
            In the order of ``classes_``; where lengths are free, the last column is the end of the
            output and the last row that in which it ends, or is cut.
        """
        inputs, found = self._inputs(X), []
        for own in trainer.chunks(len(inputs)):
            part = inputs.take(own)
            n_cells = part.n_cells(self.max_length_)
            learned = np.zeros((len(part), int(n_cells.max())), bool)
            targets = np.zeros(learned.shape, np.int64)
            shares, rolled = self._shares(part, targets, n_cells, learned)
            found += [own[:n] for own, n in zip(np.exp(shares), rolled.lengths)]
        return objects(found)

    def score_samples(self, X, y):
        """Logarithms of the probabilities of outputs.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples inputs and outputs
            Inputs and outputs.

        Returns
        -------
        logs : ndarray of shape (n_samples,)
            ``log p(y | x)``; where lengths are free, with the end of the output.
        """
        pairs, found = self._pairs(X, y), []
        for own in map(pairs.take, trainer.chunks(len(pairs))):
            targets = own.targets()
            shares, _ = self._shares(own.inputs, targets, own.n_cells, np.ones(targets.shape, bool))
            logs = np.take_along_axis(shares, targets[:, :, None], axis=2)[:, :, 0]
            is_cell = np.arange(targets.shape[1]) < own.n_cells[:, None]
            found.append(np.where(is_cell, logs, 0.0).sum(axis=1))
        return np.concatenate(found)

    def _shares(self, inputs, targets, n_cells, reference):
        """Logarithms of the probabilities in all cells of a roll-in, and that roll-in."""
        network = self._fitted_network()
        with network.inference():
            rolled = roll_in(network, inputs, targets, n_cells, reference, self._end)
            scores = network.as_array(network._torch.stack(rolled.scores, dim=1))
        return log_softmax(scores, axis=-1), rolled

    def _pairs(self, X, y, is_training=False):
        inputs, y = self._inputs(X, is_training), check.items(y, "y", "sequences")
        outputs = self._outputs.encode(y, len(inputs))
        check_lengths(
            self.max_length_, inputs.lengths, np.array([len(own) for own in outputs]),
            "outputs are as long as inputs", f"max_length_={self.max_length_}: cut it, or begin "
            f"again with a larger output_length",
        )  # fmt: skip
        return trainer.Pairs(inputs, outputs, y, np.ones(len(y)), end=self._end)

    def rollout_costs(self, X, y, random_state=None):
        """Costs of each token in each place of the output, with the fitted network.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples inputs and outputs
            Inputs and true outputs.
        random_state : int, RandomState instance or None, default=None
            Coins and samples of ``search``.

        Returns
        -------
        costs : ndarray of shape (n_samples,), of ndarray of shape (n_cells, n_tokens)
            Costs, in the order of ``classes_`` (and the end of the output); inf where a token was
            not tried.
        """
        pairs, rng = self._pairs(X, y), check.random_state(random_state)
        draws = self._draws(self.search or LearningToSearch(), "ll", rng)
        network, targets = self._fitted_network(), pairs.targets()
        costs = pairs.costs(self.task_loss_, draws.settings.reference, self.classes_)
        with network.inference():
            found = priced(network, pairs.inputs, targets, pairs.n_cells, costs, draws, self._end)
        return objects(found.costs)

    def task_losses(self, X, y):
        """Task loss of the prediction of every sample.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples inputs and outputs
            Outputs may hold tokens that `fit` has not seen, which are wrong then.
        """
        predicted = self.predict(X)
        y = check.items(y, "y", "outputs, one for each input", len(predicted))
        if self.max_length_ is None and check.is_auto(self.task_loss):
            differ = self._outputs.lengths(y) != [len(own) for own in predicted]
            if differ.any():
                # The loss that outputs of other lengths than their inputs have.
                losses = task_losses_of(resolve_task_loss("edit"), y, predicted)
                if not differ.all():
                    true = [own for own, is_other in zip(y, differ) if not is_other]
                    losses[~differ] = task_losses_of(self.task_loss_, true, predicted[~differ])
                return losses
        return task_losses_of(self.task_loss_, y, predicted)

    def score(self, X, y, sample_weight=None):
        """One minus the mean task loss.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples inputs and outputs
            Inputs and true outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the mean.
        """
        losses = self.task_losses(X, y)
        weight = check.sample_weight(sample_weight, len(losses))
        return float(1.0 - np.average(losses, weights=weight))

    def summary(self):
        """Text of a few sentences on the fit and the held-out loss."""
        check_is_fitted(self)
        return trainer.summary_of(self)

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
