"""pystruct's learners on the problems of a file: a program for an interpreter that has pystruct.

``python _pystruct_peer.py SCRIPT PROBLEM ANSWER`` reads the pickled arguments of a function
below and writes what it returns: the seconds of CPU that a fit took, and predictions.
"""

import pickle
import sys
import time
import warnings
from itertools import combinations

import numpy as np
from _box_graphs import box_graphs
from pystruct import models
from pystruct.inference import inference_dispatch
from pystruct.learners import FrankWolfeSSVM, LatentSSVM, NSlackSSVM, OneSlackSSVM

NO_EDGES = np.empty((0, 2), int)


def as_nodes(X, y):
    """Samples of one row as graphs of one node."""
    return [(np.atleast_2d(x), NO_EDGES) for x in X], np.asarray(y).reshape(-1, 1)


def learned(learner, X, y, X_test, *start):
    began = time.process_time()
    learner.fit(X, y, *start)
    return time.process_time() - began, [
        np.asarray(own).tolist() for own in learner.predict(X_test)
    ]


def one_slack(model, C, **settings):
    return OneSlackSSVM(model, C=C, **{"tol": 0.1, "inference_cache": 50} | settings)


def multi_class_svm(X, y, X_test, C):
    return learned(one_slack(models.MultiClassClf(), C, tol=0.001, inference_cache=0), X, y, X_test)


def plot_binary_svm(X, y, X_test, C):
    return learned(one_slack(models.BinaryClf(), C, inference_cache=0), X, y, X_test)


def svm_as_crf(X, y, X_test, C):
    graphs, states = as_nodes(X, y)
    learner = NSlackSSVM(models.GraphCRF(inference_method="unary"), C=C)
    return learned(learner, graphs, states, as_nodes(X_test, np.zeros(len(X_test)))[0])


def multi_label(X, y, X_test, C):
    edges = np.array(list(combinations(range(y.shape[1]), 2)))
    model = models.MultiLabelClf(edges=edges, inference_method="ad3")
    return learned(one_slack(model, C, tol=0.01), X, y, X_test)


def plot_letters(X, y, X_test, C):
    return learned(FrankWolfeSSVM(models.ChainCRF(), C=C, max_iter=11), X, y, X_test)


def plot_grid_crf(X, y, X_test, C):
    """One table for all pairs of neighbors."""
    return learned(one_slack(models.GridCRF(neighborhood=4), C, inference_cache=100), X, y, X_test)


def plot_directional_grid(X, y, X_test, C):
    model = models.DirectionalGridCRF(inference_method="ad3", neighborhood=4)
    return learned(one_slack(model, C, inference_cache=100), X, y, X_test)


def plot_snakes(X, y, X_test, C):
    """Features of edges, to the right and down in columns of their own."""

    def joined(graphs):
        out = []
        for nodes, edges, features in graphs:
            right, down = features
            blocks = np.zeros((len(right) + len(down), right.shape[1] + down.shape[1]))
            blocks[: len(right), : right.shape[1]] = right
            blocks[len(right) :, right.shape[1] :] = down
            out.append((nodes, np.vstack(edges), blocks))
        return out

    model = models.EdgeFeatureGraphCRF(inference_method="ad3")
    return learned(one_slack(model, C), joined(X), y, joined(X_test))


def plot_latent_crf(X, y, X_test, C):
    """Two hidden states for the cross."""
    model = models.LatentGridCRF(n_states_per_label=[1, 2])
    learner = LatentSSVM(one_slack(model, C, inference_cache=20))
    return learned(learner, np.array(X), np.array(y), np.array(X_test))


def plot_latent_node(X, y, X_test, C):
    """A hidden node above each quarter of the grid."""
    model = models.LatentNodeCRF(n_labels=2, n_features=2, n_hidden_states=2, inference_method="lp")
    rng = np.random.RandomState(0)
    start = [np.hstack([own.ravel(), rng.randint(2, 4, 4)]) for own in y]
    learner = LatentSSVM(one_slack(model, C, max_iter=200))
    flat = [own.ravel() for own in y]
    seconds, answers = learned(learner, box_graphs(X), flat, box_graphs(X_test), start)
    return seconds, [np.reshape(own, (4, 4)).tolist() for own in answers]


def plot_latent_svm_as_crf(X, y, X_test, C):
    """Five hidden states for each of two classes."""
    model = models.LatentGraphCRF(n_states_per_label=5, inference_method="unary")
    base = NSlackSSVM(model, C=C, tol=0.01, inactive_threshold=1e-3, batch_size=10)
    graphs, states = as_nodes(X, y)
    tests = as_nodes(X_test, np.zeros(len(X_test)))[0]
    return learned(LatentSSVM(base_ssvm=base, latent_iter=2), graphs, states, tests)


def plot_potts_model(unary, pairwise, edges, methods):
    found = {}
    for name, method in methods.items():
        began = time.process_time()
        labels = inference_dispatch(unary, pairwise, edges, inference_method=method)
        found[name] = (np.asarray(labels).tolist(), time.process_time() - began)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    script, problem, answer = sys.argv[1:]
    with open(problem, "rb") as file:
        question = pickle.load(file)
    np.random.seed(0)  # noqa: NPY002, pystruct draws from it
    with open(answer, "wb") as file:
        pickle.dump(globals()[script](*question), file)
