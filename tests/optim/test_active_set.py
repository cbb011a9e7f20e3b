"""Combinations of atoms against a table of weights."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_fw.optim._frank_wolfe._active_set import ActiveSet, atom_key


def test_keys_of_atoms():
    assert atom_key(np.array([0.0, 1.0])) == atom_key(np.array([-0.0, 1.0]))
    atoms = [[0, 1], [1, 0], [0, 2], [1, 1], [0, 0], [0.5, 0], [-1, 0]]
    assert len({atom_key(np.array(atom, dtype=float)) for atom in atoms}) == len(atoms)


@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_active_set_equals_a_table(data):
    """Random steps, followed in a dictionary of weights."""
    vertices = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, -1.0)]
    first = data.draw(st.sampled_from(vertices))
    active, table = ActiveSet([first]), {first: 1.0}
    for _ in range(data.draw(st.integers(1, 25))):
        kind = data.draw(st.sampled_from(["towards", "away", "swap"]))
        step = data.draw(st.sampled_from([0.0, 0.125, 0.3, 0.5, 1.0, 2.0, 10.0]))
        atom = data.draw(st.sampled_from(vertices))
        gradient = data.draw(st.tuples(*[st.integers(-3, 3)] * 2))
        slot = active.worst(np.array(gradient))
        worst = tuple(active.atoms[slot].tolist())
        assert np.dot(worst, gradient) == max(np.dot(v, gradient) for v in table)
        if kind == "towards":
            step = min(step, 1.0)
            active.towards(np.array(atom), step)
            table = {v: weight * (1 - step) for v, weight in table.items()}
            table[atom] = table.get(atom, 0.0) + step
        elif kind == "away":
            longest = active.longest_away(slot)
            rest = 1 - table[worst]
            if len(table) == 1:
                assert longest == math.inf
                active.away(slot, step)
                continue
            assert longest == pytest.approx(table[worst] / rest, rel=1e-9)
            active.away(slot, step)
            if step >= longest:
                del table[worst]
                table = {v: weight / rest for v, weight in table.items()}
            else:
                table = {v: weight * (1 + step) for v, weight in table.items()}
                table[worst] -= step
        elif worst != atom:
            assert not active.is_at(slot, np.array(atom))
            longest = active.longest_swap(slot)
            assert longest == pytest.approx(table[worst], rel=1e-9)
            active.swap(slot, np.array(atom), step)
            moved = min(step, table[worst])
            table[worst] -= moved
            table[atom] = table.get(atom, 0.0) + moved
            if step >= longest:
                del table[worst]
        table = {v: weight for v, weight in table.items() if weight > 0}
        found = {tuple(v): weight for v, weight in zip(active.atoms.tolist(), active.weights)}
        if found.keys() != table.keys():  # a step of all the weight but for rounding, here or there
            differ = found.keys() ^ table.keys()
            assert all(found.get(v, 0.0) + table.get(v, 0.0) < 1e-12 for v in differ)
            return
        for v, weight in table.items():
            assert found[v] == pytest.approx(weight, rel=1e-9)
        point = sum(weight * np.array(v) for v, weight in table.items())
        np.testing.assert_allclose(active.point(), point, rtol=0, atol=1e-12)


def test_active_set_merges_equal_atoms():
    active = ActiveSet([[1, 0], [0, 1], [1, 0], [1, 1]], [1, 2, 1, 0])
    np.testing.assert_array_equal(active.atoms, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(active.weights, [0.5, 0.5])
