"""Brute force: slow, short, and independent of the code under test."""

import itertools

import numpy as np
from scipy.optimize import linprog, minimize


def all_labelings(n_nodes, n_states):
    """Every labeling, in lexicographic order: (n_states ** n_nodes, n_nodes)."""
    return np.array(list(itertools.product(range(n_states), repeat=n_nodes)))


def labeling_value(unary, pairwise, edges, labels):
    """Score of one labeling, part by part."""
    value = sum(unary[t][state] for t, state in enumerate(labels))
    return value + sum(pairwise[e][labels[a]][labels[b]] for e, (a, b) in enumerate(edges))


def labeling_values(unary, pairwise, edges):
    """Every labeling and its score, in lexicographic order."""
    labelings = all_labelings(*np.shape(unary))
    values = [labeling_value(unary, pairwise, edges, labels) for labels in labelings]
    return np.array(values), labelings


def best_labeling(unary, pairwise, edges):
    """The first of the best labelings and its score."""
    values, labelings = labeling_values(unary, pairwise, edges)
    return labelings[values.argmax()], values.max()


def best_labelings(unary, pairwise, edges, k):
    """Scores and labelings of the k best that are allowed (> -inf), best first, ties in order."""
    values, labelings = labeling_values(unary, pairwise, edges)
    order = np.argsort(-values, kind="stable")[:k]
    order = order[values[order] > -np.inf]
    return values[order], labelings[order]


# ---- structured support vector machines ----------------------------------------------------------


def solve_structured_svm(psi, losses, weight, lam, lower=None, upper=None):
    """Optimal weights and objective by SLSQP on the primal with one slack per sample.

    ``psi[i]`` (m_i, d) and ``losses[i]`` (m_i,) list all outputs of sample i; constraints are
    added until none is violated. Bounds are numbers or (d,).
    """
    n, d = len(psi), psi[0].shape[1]
    p = np.asarray(weight)
    scale = np.sqrt(lam)  # in u = sqrt(lam) w the quadratic part is |u|^2 / 2

    def value(z):
        return 0.5 * z[:d] @ z[:d] + p @ z[d:]

    def gradient(z):
        return np.concatenate([z[:d], p])

    low = np.broadcast_to(-np.inf if lower is None else lower, d) * scale
    high = np.broadcast_to(np.inf if upper is None else upper, d) * scale
    bounds = [*zip(low, high), *[(0, None)] * n]
    chosen = [set() for _ in range(n)]
    start = np.clip(np.zeros(d), low, high)
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
    raise AssertionError("the reference did not converge")


class EnumeratedDual:
    """Block-coordinate Frank-Wolfe on listed outputs, with one alpha for each of them.

    Written down from Osokin et al. (ICML 2016), Algorithms 1 to 5 and 9: nothing is updated, all
    quantities are computed from the alphas. ``targets[i]`` is the place of the truth in the list.
    """

    def __init__(self, psi, losses, weight, lam, targets, lower=-np.inf, upper=np.inf):
        self.psi, self.losses, self.weight, self.lam = psi, losses, np.asarray(weight), lam
        self.lower, self.upper = lower, upper
        self.alpha = [np.eye(len(l))[truth] for l, truth in zip(losses, targets)]
        self.seen = [{int(truth)} for truth in targets]
        self.last_gap = np.full(len(psi), np.inf)
        self.counts = dict.fromkeys(["calls", "hits", "fw", "pairwise", "away", "drop"], 0)

    @property
    def v(self):
        """A alpha."""
        parts = zip(self.weight, self.alpha, self.psi)
        return sum(p * alpha @ psi for p, alpha, psi in parts) / self.lam

    @property
    def w(self):
        """The weights."""
        return np.clip(self.v, self.lower, self.upper)

    @property
    def loss(self):
        """l_i of every sample."""
        return np.array([p * a @ l for p, a, l in zip(self.weight, self.alpha, self.losses)])

    def values(self, w):
        """H_i(y; w) of every sample and output."""
        return [l - psi @ w for l, psi in zip(self.losses, self.psi)]

    def gaps(self):
        """Exact block gaps."""
        pairs = zip(self.weight, self.alpha, self.values(self.w))
        return np.array([p * (h.max() - alpha @ h) for p, alpha, h in pairs])

    def primal(self):
        """P(w)."""
        w = self.w
        return self.lam / 2 * w @ w + self.weight @ [h.max() for h in self.values(w)]

    def dual(self):
        """D(alpha) as the minimum over the box of the Lagrangian, coordinate by coordinate."""
        v, w = self.v, self.w
        return self.loss.sum() + self.lam * (w @ w / 2 - v @ w)

    def visit(self, i, step="fw", cache=None, total=np.inf, gamma=None):
        """One step of block i; ``cache`` is (F, nu), ``gamma`` a length instead of a line search.

        Does nothing and returns False when rounding would decide, as between equal vertices.
        """
        p, alpha, psi = self.weight[i], self.alpha[i], self.psi[i]
        h = self.values(self.w)[i]
        margins = []
        vertex, hit = int(h.argmax()), False
        if cache is not None and np.isfinite(self.last_gap[i]):
            seen = np.array(sorted(self.seen[i]))
            cached = seen[h[seen].argmax()]
            gap = max(p * (h[cached] - alpha @ h), 0.0)
            thresholds = cache[0] * self.last_gap[i], cache[1] / len(self.psi) * total
            hit = gap >= max(thresholds)
            margins += [abs(gap - threshold) for threshold in thresholds]
            if hit:
                margins.append(lead(h[seen]))
                vertex = cached
        if not hit:
            margins.append(lead(h))
        active = np.flatnonzero(alpha)
        away = active[h[active].argmin()]
        if step != "fw":
            margins.append(lead(-h[active]))
        one = np.eye(len(alpha))
        moves = {
            "fw": (one[vertex] - alpha, 1.0),
            "pairwise": (one[vertex] - one[away], alpha[away]),
        }
        if len(active) > 1:
            moves["away"] = alpha - one[away], alpha[away] / (1 - alpha[away])
        kinds = list(moves) if step == "hybrid" else [step]
        if step == "away":
            slopes = {kind: moves[kind][0] @ h for kind in moves if kind != "pairwise"}
            margins.append(lead(list(slopes.values())))
            kinds = [max(slopes, key=slopes.get)]
        steps = []
        for kind in kinds:
            move, limit = moves[kind]
            slope, curvature = p * move @ h, p**2 / self.lam * np.sum((move @ psi) ** 2)
            margins.append(abs(slope))
            length = limit if slope >= limit * curvature else slope / curvature
            length = length if gamma is None else gamma
            steps.append((length * slope - length**2 / 2 * curvature, kind, length))
        gain, kind, length = max(steps)
        move, limit = moves[kind]
        for other, name, size in steps:
            if not np.allclose(size * moves[name][0], length * move):
                margins.append(gain - other)
        if min(margins) < 1e-10:
            return False

        self.counts["hits" if hit else "calls"] += 1
        if not hit:
            self.last_gap[i] = p * (h[vertex] - alpha @ h)
            self.seen[i].add(vertex)
        self.counts[kind] += 1
        self.alpha[i] = alpha + length * move
        if length >= limit:
            gone = [away] if kind != "fw" else np.arange(len(alpha)) != vertex
            self.alpha[i][gone] = 0.0
            self.counts["drop"] += np.any(alpha[gone] > 0)
        return True

    def step_towards(self, vertices, gamma):
        """A common step of all blocks towards one vertex of each."""
        for i, vertex in enumerate(vertices):
            self.alpha[i] = (1 - gamma) * self.alpha[i] + gamma * np.eye(len(self.alpha[i]))[vertex]
            self.seen[i].add(int(vertex))


def lead(values):
    """How far the largest of some numbers is above the next one."""
    first = np.sort(values)[::-1]
    return first[0] - first[1] if len(first) > 1 else np.inf


def slow_subgradient(psi, losses, weight, lam, order):
    """All iterates of the stochastic subgradient method with steps 1 / k, from w = 0."""
    w, iterates = np.zeros(psi[0].shape[1]), []
    for k, i in enumerate(order):
        vertex = np.argmax(losses[i] - psi[i] @ w)
        gamma = 1.0 / (k + 1.0)
        w = (1 - gamma) * w + gamma * len(psi) * weight[i] * psi[i][vertex] / lam
        iterates.append(w)
    return np.array(iterates)


def slow_perceptron(psi, weight, order):
    """All iterates of the structured perceptron, from w = 0."""
    w, iterates = np.zeros(psi[0].shape[1]), []
    for i in order:
        w = w + len(psi) * weight[i] * psi[i][np.argmax(-psi[i] @ w)]
        iterates.append(w)
    return np.array(iterates)


def smallest_mean_hinge(psi, losses, weight, radius):
    """Smallest mean hinge over the l1 ball, by a linear program in (w+, w-, hinges)."""
    n, d = len(psi), psi[0].shape[1]
    sample = np.repeat(np.arange(n), [len(rows) for rows in psi])
    rows = np.concatenate(psi)
    constraints = np.vstack(
        [
            np.hstack([-rows, rows, -np.eye(n)[sample]]),
            np.concatenate([np.ones(2 * d), np.zeros(n)])[None],
        ]
    )
    bounds = np.concatenate([-np.concatenate(losses), [radius]])
    cost = np.concatenate([np.zeros(2 * d), weight])
    result = linprog(cost, A_ub=constraints, b_ub=bounds)
    assert result.status == 0
    return result.fun
