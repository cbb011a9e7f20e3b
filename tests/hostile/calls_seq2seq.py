"""Valid calls of sequences from sequences."""

import importlib.util

import numpy as np

from sklearn_fw import seq2seq

from .calls import Call, fitting, function, generator, methods

SEARCH = {
    "roll_in": "learned", "roll_out": "mixed", "roll_in_reference_prob": 0.5,
    "roll_out_reference_prob": 0.5, "mix_level": "sequence", "reference": "copy", "n_cells": 2,
    "n_tokens": 1, "token_sampling": "uniform", "sampled_softmax": True, "cost_scale": 1.0,
    "tie_break": "reference", "batch_size": 4,
}  # fmt: skip
NETWORK = {
    "cell": "gru", "hidden_size": 4, "n_layers": 1, "embedding_dim": 2, "bidirectional": True,
    "attention": "bilinear", "aligned": True, "input_feed": False, "dropout": 0.0,
    "dtype": "float64", "device": "cpu",
}  # fmt: skip
TRAINING = {
    "optimizer": "adam", "learning_rate": 0.01, "batch_size": 2, "max_grad_norm": 5.0,
    "weight_decay": 0.0, "normalization": "sequence", "early_stopping": False,
    "validation_fraction": 0.5, "eval_every": 1, "n_iter_no_change": 1, "warm_up": 0,
}  # fmt: skip


class Walk(seq2seq.StepPolicy):
    """Says one more than it said."""

    def start(self, X):
        return self.step(None, np.zeros(len(X), int))

    def step(self, state, tokens):
        tokens = (tokens + 1) % 3
        return tokens, np.eye(3)[tokens]


def outputs():
    return [np.array([0, 1, 2]), np.array([1, 0])]


def words():
    return [["a", "b", "a"], ["b", "b"]]


def spelled():
    return [["x", "y", "x"], ["y", "y"]]


def has_torch():
    return importlib.util.find_spec("torch") is not None


def fitted(**options):
    return seq2seq.SeaRNNTransducer(
        "ll", search=seq2seq.LearningToSearch(), network=seq2seq.RecurrentNetwork(**NETWORK),
        training=seq2seq.Minibatches(**TRAINING), max_iter=1, random_state=0, **options,
    )  # fmt: skip


def quick():
    return fitted().fit(words(), spelled())


def search_of(a):
    found = seq2seq.roll_out_costs(
        Walk(), ["x", "y"], outputs(), search=seq2seq.LearningToSearch(**a), random_state=0
    )
    return found.n_rollouts, found.n_steps


TOKENS = {
    (argument, damage): "tokens are compared, whatever they are"
    for argument in ("X.#.#", "y.#.#", "X.#", "y.#")
    for damage in ("text", "capitals", "half", "thing", "thing_inside")
}


def of_network():
    """Entries of what needs PyTorch."""
    if not has_torch():
        return []
    settings = {
        "search": seq2seq.LearningToSearch(n_tokens=1),
        "network": seq2seq.RecurrentNetwork(**NETWORK),
        "training": seq2seq.Minibatches(**TRAINING),
    }
    data = {"X": words(), "y": spelled()}
    return [
        *fitting(
            seq2seq.SeaRNNTransducer,
            lambda: {
                "loss": "ll", "task_loss": "hamming", **settings, "output_length": "fixed",
                "beam_size": 1, "max_iter": 1, "time_limit": 10.0, "warm_start": False,
                "random_state": 0, "verbose": 0,
            },
            lambda: {
                **data, "sample_weight": np.array([1.0, 2.0]), "classes": ["x", "y"],
                "input_tokens": [["a", "b"]],
            },
            variants={
                "sample_weight": [None], "task_loss": ["edit"], "output_length": ["free", 4],
                "classes": [None], "input_tokens": [None],
            },
            aliases={"y": ("outputs", "X")},
            allows=TOKENS,
        ),
        *methods(
            seq2seq.SeaRNNTransducer, quick,
            {
                "predict": {"X": words()}, "n_best": {"X": words(), "k": 2},
                "predict_proba": {"X": words()}, "score_samples": dict(data),
                "rollout_costs": {**data, "random_state": 0}, "task_losses": dict(data),
                "score": {**data, "sample_weight": np.array([1.0, 2.0])}, "summary": {},
            },
            variants={"sample_weight": [None]}, aliases={"y": ("y_true", "X")}, allows=TOKENS,
        ),
        *methods(
            seq2seq.SeaRNNTransducer, quick,
            {"partial_fit": {
                **data, "classes": ["x", "y"], "sample_weight": np.array([1.0, 2.0]),
                "input_tokens": [["a", "b"]],
            }},
            variants={"sample_weight": [None], "classes": [None], "input_tokens": [None]},
            aliases={"y": ("outputs", "X")}, allows=TOKENS,
        ),
        Call(
            "seq2seq.RecurrentNetwork", lambda: dict(NETWORK),
            lambda a: _fit(network=seq2seq.RecurrentNetwork(**a)), docs=(seq2seq.RecurrentNetwork,),
        ),
        Call(
            "seq2seq.Minibatches", lambda: dict(TRAINING),
            lambda a: _fit(training=seq2seq.Minibatches(**a)), docs=(seq2seq.Minibatches,),
        ),
    ]  # fmt: skip


def _fit(**settings):
    return fitted().set_params(**settings).fit(words(), spelled()).predict(words())


def entries():
    return [
        *function(
            seq2seq.searnn_loss,
            lambda: {
                "scores": generator(3).normal(size=(2, 3)),
                "costs": generator(4).uniform(size=(2, 3)), "loss": "ll",
                "cost_scale": 1.0, "target": np.array([0, 1]), "sampled_softmax": True,
            },
            variants={"loss": ["kl", "llcas", "shl"], "target": [None]},
        ),
        *function(
            seq2seq.roll_out_costs,
            lambda: {
                "policy": Walk(), "X": ["x", "y"], "y": outputs(), "task_loss": "hamming",
                "search": seq2seq.LearningToSearch(), "end": None, "random_state": 0,
            },
            variants={"task_loss": ["zero_one"], "search": [None]},
            allows={("X.#", "*"): "inputs go to the policy as they are",
                    ("X", "*"): "inputs go to the policy as they are"},
        ),
        Call(
            "seq2seq.LearningToSearch", lambda: dict(SEARCH), search_of,
            docs=(seq2seq.LearningToSearch,), variants={"roll_out": [2, "learned"]},
        ),
        *of_network(),
    ]  # fmt: skip
