"""Objectives of given weights, by code that no solver uses: the one judge of all contenders."""

import numpy as np

N_BINS = 15


def hinge_of_classes(coef, X, y, C):
    """``|w|^2 / (2 C n) + mean hinge`` of class weights (n_classes, n_features)."""
    scores = X @ coef.T
    rows = np.arange(len(y))
    worst = (scores + (np.arange(len(coef)) != y[:, None])).max(axis=1)
    return float((coef**2).sum() / (2 * C * len(y)) + (worst - scores[rows, y]).mean())


def likelihood_of_chains(emissions, transitions, X, y, C):
    """``|w|^2 / (2 C n) + mean log loss`` of a chain without weights for its ends.

    ``emissions`` is (n_features, n_states), ``transitions`` (n_states, n_states) from row to
    column, and y holds numbers of states. Sums over paths go forward, one position at a time.
    """
    total = 0.0
    for x, labels in zip(X, y):
        unary = x @ emissions
        forward = unary[0]
        for scores in unary[1:]:
            top = forward.max()
            forward = scores + top + _log(np.exp(forward - top) @ np.exp(transitions))
        truth = unary[np.arange(len(labels)), labels].sum()
        truth += transitions[labels[:-1], labels[1:]].sum()
        total += np.logaddexp.reduce(forward) - truth
    square = (emissions**2).sum() + (transitions**2).sum()
    return float(square / (2 * C * len(y)) + total / len(y))


def _log(values):
    with np.errstate(divide="ignore"):
        return np.log(values)


def calibration_error(chances, truth):
    """Expected calibration error in points of the best state of each node, and its bins.

    ``chances`` is (n_nodes, n_states), ``truth`` numbers of states, -1 for those nobody knows.
    """
    sure, right = chances.max(axis=1), chances.argmax(axis=1) == truth
    bins = np.minimum((sure * N_BINS).astype(int), N_BINS - 1)
    sums = [np.bincount(bins, values, N_BINS) for values in (sure, right, np.ones(len(sure)))]
    return float(100 * np.abs(sums[0] - sums[1]).sum() / len(sure)), sums


def numbers_of(labels, classes):
    """Numbers of labels in the sorted ``classes``, -1 where they are not there."""
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[places] == labels, places, -1)
