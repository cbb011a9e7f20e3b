"""Brute force: slow, short, and independent of the code under test."""

import itertools

import numpy as np


def all_labelings(n_nodes, n_states):
    """Every labelling, in lexicographic order: (n_states ** n_nodes, n_nodes)."""
    return np.array(list(itertools.product(range(n_states), repeat=n_nodes)))


def labeling_value(unary, pairwise, edges, labels):
    """Score of one labelling, part by part."""
    value = sum(unary[t][state] for t, state in enumerate(labels))
    return value + sum(pairwise[e][labels[a]][labels[b]] for e, (a, b) in enumerate(edges))


def labeling_values(unary, pairwise, edges):
    """Every labelling and its score, in lexicographic order."""
    labelings = all_labelings(*np.shape(unary))
    values = [labeling_value(unary, pairwise, edges, labels) for labels in labelings]
    return np.array(values), labelings


def best_labeling(unary, pairwise, edges):
    """The first of the best labellings and its score."""
    values, labelings = labeling_values(unary, pairwise, edges)
    return labelings[values.argmax()], values.max()


def best_labelings(unary, pairwise, edges, k):
    """Scores and labellings of the k best that are allowed (> -inf), best first, ties in order."""
    values, labelings = labeling_values(unary, pairwise, edges)
    order = np.argsort(-values, kind="stable")[:k]
    order = order[values[order] > -np.inf]
    return values[order], labelings[order]
