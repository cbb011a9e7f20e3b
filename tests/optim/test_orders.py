"""Ordered placements and choices of states against enumeration."""

import itertools

import numpy as np
import pytest

from _domain_references import check_against, is_combination
from sklearn_fw.optim.domains import OrderedPlacements, StateChoices


def placements(n_items, n_slots, allowed=None):
    """All vertices, one row each."""
    found = []
    for slots in itertools.combinations(range(n_slots), n_items):
        if allowed is None or all(allowed[k][t] for k, t in enumerate(slots)):
            x = np.zeros((n_items, n_slots))
            x[np.arange(n_items), slots] = 1.0
            found.append(x.ravel())
    return np.array(found)


def state_choices(start, end, constraint):
    """All vertices by trying every labeling against the definition."""
    found, m = [], len(start)
    for labels in itertools.product((-1, 0, 1), repeat=m):
        used = [i for i in range(m) if labels[i] >= 0]
        counts = [labels.count(0), labels.count(1)]
        fits = counts == [1, 1] if constraint == "exactly_one" else min(counts) >= 1
        for i, j in itertools.combinations(used, 2):
            fits &= end[i] < start[j] or end[j] < start[i]
        for i, j in itertools.product(used, used):
            if labels[i] == 0 and labels[j] == 1:
                fits &= end[i] < start[j]
        if fits:
            x = np.zeros((m, 2))
            x[used, [labels[i] for i in used]] = 1.0
            found.append(x.ravel())
    return np.array(found).reshape(-1, 2 * m)


def test_placements_equal_enumeration(rng):
    for _ in range(60):
        n_slots = int(rng.integers(1, 9))
        n_items = int(rng.integers(1, n_slots + 1))
        allowed = rng.random((n_items, n_slots)) < 0.7 if rng.random() < 0.5 else None
        vertices = placements(n_items, n_slots, allowed)
        if not len(vertices):
            with pytest.raises(ValueError, match="allowed leaves sequence 0 no placement"):
                OrderedPlacements((n_items, n_slots), allowed)
            continue
        check_against(OrderedPlacements((n_items, n_slots), allowed), vertices, rng)


def test_contains_is_membership(rng):
    domain, vertices = OrderedPlacements((2, 4)), placements(2, 4)
    answers = []
    for k in range(100):
        x = rng.dirichlet(np.full(len(vertices), 0.5)) @ vertices
        if k % 2:  # another point with the same sums of rows
            x = np.abs(x.reshape(2, 4) + 0.1 * rng.normal(size=(2, 4)))
            x = (x / x.sum(axis=1, keepdims=True)).ravel()
        answers.append(is_combination(x, vertices))
        assert domain.contains(x, tol=1e-7) == answers[-1]
    assert 50 <= sum(answers) < 95


@pytest.mark.parametrize("constraint", ["at_least_one", "exactly_one"])
def test_states_equal_enumeration(constraint, rng):
    n_infeasible = 0
    for instance in range(200):
        m = int(rng.integers(2, 8 if instance % 50 == 0 else 5))
        start = rng.integers(0, 8, size=m) / 2.0  # ties and extents that touch
        end = start + rng.integers(0, 4, size=m) / 2.0
        vertices = state_choices(start, end, constraint)
        if not len(vertices):
            n_infeasible += 1
            with pytest.raises(ValueError, match="clip 0 has no candidate in the first state"):
                StateChoices(start, end, constraint)
            continue
        check_against(StateChoices(start, end, constraint), vertices, rng)
    assert 0 < n_infeasible < 100


def test_several_sequences_are_a_product(rng):
    both = OrderedPlacements([(2, 3), (1, 2)], [None, [[0, 1]]])
    parts = OrderedPlacements((2, 3)), OrderedPlacements((1, 2), [[0, 1]])
    clips = StateChoices([[0.0, 1, 2], [0.0, 2]], [[0.5, 1.5, 2.5], [1.0, 3.0]])
    apart = StateChoices([0.0, 1, 2], [0.5, 1.5, 2.5]), StateChoices([0.0, 2], [1.0, 3.0])
    for domain, factors in ((both, parts), (clips, apart)):
        for _ in range(20):
            g = rng.normal(size=domain.size)
            product = domain.split()
            cut = [f.lmo(g[b]).to_array() for f, b in zip(factors, product.blocks)]
            assert np.array_equal(domain.lmo(g).to_array(), np.concatenate(cut))
            assert np.array_equal(product.lmo(g).to_array(), np.concatenate(cut))


def test_masked_states(rng):
    start, end = np.arange(4.0), np.arange(4.0) + 0.5
    allowed = np.array([[0, 1], [1, 0], [1, 1], [1, 1]])
    vertices = state_choices(start, end, "at_least_one")
    vertices = vertices[~np.any(vertices[:, allowed.ravel() == 0], axis=1)]
    check_against(StateChoices(start, end, allowed=allowed), vertices, rng)


@pytest.mark.parametrize("make, message", [
    (lambda: OrderedPlacements((3, 2)), "shape of sequence 0 has 3 items and 2 slots"),
    (lambda: OrderedPlacements([(1, 2), (0, 2)]), "shape of sequence 1 has 0 items"),
    (lambda: OrderedPlacements((1.5, 2)), "shape must hold integers"),
    (lambda: OrderedPlacements((1, 2, 3)), r"shape must be a pair \(n_items, n_slots\)"),
    (lambda: OrderedPlacements((1, 2), [[1]]), "allowed of sequence 0 must have shape"),
    (lambda: OrderedPlacements([(1, 2)], [[0], [1]]), "allowed must be a list of 1 arrays"),
    (lambda: StateChoices([0.0, 2], [1.0]), r"end of clip 0 must have shape \(2,\), got \(1,\)"),
    (lambda: StateChoices([0.0, 2], [1.0, 1.0]), "end of candidate 1 of clip 0 is before"),
    (lambda: StateChoices([[0.0, 2], [0.0, 0]], [[1.0, 3], [1.0, 1]]), "clip 1 has no candidate"),
    (lambda: StateChoices([0.0, 2], [1.0, 3], "both"), "constraint must be one of"),
    (lambda: StateChoices([0.0, 2], [1.0, 3], allowed=[[1, 1]]), "allowed of clip 0 must"),
    (lambda: OrderedPlacements((1, 2)).vertex([0, 1]), r"slots.shape == \(2,\)"),
    (lambda: StateChoices([0.0, 2], [1.0, 3]).vertex([0]), r"states.shape == \(1,\)"),
])  # fmt: skip
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()
