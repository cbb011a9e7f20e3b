"""Brute force: slow, short, and independent of the code under test."""

import itertools

import numpy as np
from scipy.optimize import minimize


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


# ---- structured support vector machines ----------------------------------------------------------


def solve_structured_svm(psi, losses, weight, lam, lower=None, upper=None):
    """Optimal weights and objective by SLSQP on the primal with one slack per sample.

    ``psi[i]`` (m_i, d) and ``losses[i]`` (m_i,) list all outputs of sample i; constraints are
    added until none is violated.
    """
    n, d = len(psi), psi[0].shape[1]
    p = np.asarray(weight)
    scale = np.sqrt(lam)  # in u = sqrt(lam) w the quadratic part is |u|^2 / 2

    def value(z):
        return 0.5 * z[:d] @ z[:d] + p @ z[d:]

    def gradient(z):
        return np.concatenate([z[:d], p])

    box = [(None if lower is None else lower * scale, None if upper is None else upper * scale)]
    bounds = box * d + [(0, None)] * n
    chosen = [set() for _ in range(n)]
    start = np.zeros(d)
    start = np.clip(start, box[0][0], box[0][1]) if lower is not None or upper is not None else start
    z = np.concatenate([start, np.zeros(n)])
    for _ in range(200):
        added = 0
        for i in range(n):
            gaps = losses[i] - psi[i] @ z[:d] / scale
            worst = int(gaps.argmax())
            if gaps[worst] > z[d + i] + 1e-11 and worst not in chosen[i]:
                chosen[i].add(worst)
                added += 1
            z[d + i] = max(gaps.max(), 0.0)
        if not added:
            return z[:d] / scale, value(z)
        pairs = [(i, c) for i in range(n) for c in chosen[i]]
        A = np.array([np.concatenate([psi[i][c] / scale, np.eye(n)[i]]) for i, c in pairs])
        b = np.array([losses[i][c] for i, c in pairs])
        constraint = {"type": "ineq", "fun": lambda z: A @ z - b, "jac": lambda z: A}  # noqa: B023
        result = minimize(
            value, z, jac=gradient, bounds=bounds, constraints=[constraint], method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )  # fmt: skip
        z = result.x
    raise AssertionError("the referee did not converge")


class EnumeratedDual: pass
