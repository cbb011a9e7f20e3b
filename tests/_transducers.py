"""Quick transducers, and words for them."""

import numpy as np

from sklearn_fw.seq2seq import LearningToSearch, Minibatches, RecurrentNetwork, SeaRNNTransducer

WORDS = ["abc", "cab", "bca", "acb", "bac", "cba", "aab", "bbc"]


def small(loss="ll", *, search=None, network=None, training=None, **options):
    """A quick transducer in double precision on the CPU."""
    options = {"max_iter": 5, "random_state": 0} | options
    return SeaRNNTransducer(
        loss,
        search=LearningToSearch(**{"n_tokens": None} | (search or {})),
        network=RecurrentNetwork(
            **{"hidden_size": 8, "dtype": "float64", "device": "cpu"} | (network or {})
        ),
        training=Minibatches(
            **{"early_stopping": False, "eval_every": 5, "batch_size": 8} | (training or {})
        ),
        **options,
    )


def assert_same(a, b, **tolerance):
    """Equal weights, unless there is a tolerance."""
    assert a.state_dict_.keys() == b.state_dict_.keys()
    for name, value in a.state_dict_.items():
        np.testing.assert_allclose(value, b.state_dict_[name], **({"rtol": 0.0} | tolerance))


def reversed_words(words=WORDS):
    return [w[::-1] for w in words]


def doubled(words=WORDS):
    return [w.replace("a", "xy") for w in words]
