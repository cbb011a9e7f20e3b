"""Combinations of atoms against a table of weights."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_fw._kernels.common.step_rules import AWAY, FW, PAIRWISE
from sklearn_fw.optim._frank_wolfe import _iterate
from sklearn_fw.optim._frank_wolfe._iterate import ActiveSet
from sklearn_fw.optim.domains import RankOneAtom, SparseAtom
from sklearn_fw.optim.domains._base import DenseAtom, UnitAtom

VERTICES = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, -1.0)]
SMALL = _iterate.SMALL


def as_given(vertex, kind):
    """A vertex as an atom of some kind."""
    if kind == "sparse":
        places = np.flatnonzero(vertex)
        return SparseAtom(2, places, np.array(vertex)[places])
    if kind == "rank one":
        return RankOneAtom([1.0], vertex)
    if kind == "mixed" and np.count_nonzero(vertex) == 1:
        place = int(np.flatnonzero(vertex)[0])
        return UnitAtom(2, place, vertex[place])
    return DenseAtom(vertex)


@settings(deadline=None, max_examples=100)
@given(data=st.data(), kind=st.sampled_from(["dense", "sparse", "rank one", "mixed"]))
def test_active_set_equals_a_table(data, kind):
    """Random steps, followed in a dictionary of weights."""
    first = data.draw(st.sampled_from(VERTICES))
    active, table = ActiveSet([as_given(first, kind)]), {first: 1.0}
    for _ in range(data.draw(st.integers(1, 25))):
        step_kind = data.draw(st.sampled_from([FW, AWAY, PAIRWISE]))
        step = data.draw(st.sampled_from([0.0, 0.125, 0.3, 0.5, 1.0, 2.0, 10.0]))
        vertex = data.draw(st.sampled_from(VERTICES))
        atom = as_given(vertex, kind)
        gradient = np.array(data.draw(st.tuples(*[st.integers(-3, 3)] * 2)), dtype=float)
        slot = active.worst(gradient)
        worst = tuple(active.atoms[slot].to_array().tolist())
        assert np.dot(worst, gradient) == max(np.dot(v, gradient) for v in table)
        longest = active.longest(step_kind, slot)
        if step_kind == FW:
            assert longest == 1.0
            active.step(FW, step, atom)
            step = min(step, 1.0)
            table = {v: weight * (1 - step) for v, weight in table.items()}
            table[vertex] = table.get(vertex, 0.0) + step
        elif step_kind == AWAY:
            rest = 1 - table[worst]
            active.step(AWAY, step, away=slot)
            if len(table) == 1:
                assert longest == math.inf
                continue
            assert longest == pytest.approx(table[worst] / rest, rel=1e-9)
            if step >= longest:
                del table[worst]
                table = {v: weight / rest for v, weight in table.items()}
            else:
                table = {v: weight * (1 + step) for v, weight in table.items()}
                table[worst] -= step
        else:
            assert active.is_at(slot, atom) == (worst == vertex)
            assert longest == pytest.approx(table[worst], rel=1e-9)
            active.step(PAIRWISE, step, atom, slot)
            if worst != vertex:
                moved = min(step, table[worst])
                table[worst] -= moved
                table[vertex] = table.get(vertex, 0.0) + moved
                if step >= longest:
                    del table[worst]
        table = {v: weight for v, weight in table.items() if weight > 0}
        found = {
            tuple(atom.to_array().tolist()): weight
            for atom, weight in zip(active.atoms, active.weights, strict=True)
        }
        if found.keys() != table.keys():  # a step of all the weight but for rounding, here or there
            differ = found.keys() ^ table.keys()
            assert all(found.get(v, 0.0) + table.get(v, 0.0) < 1e-12 for v in differ)
            return
        for v, weight in table.items():
            assert found[v] == pytest.approx(weight, rel=1e-9)
        assert active.weights.sum() == pytest.approx(1.0, rel=1e-15)
        point = sum(weight * np.array(v) for v, weight in table.items())
        np.testing.assert_allclose(active.point(), point, rtol=0, atol=1e-12)
        scores = [atom.dot(gradient) for atom in active.atoms]
        np.testing.assert_allclose(active.scores(gradient), scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [SMALL - 1, SMALL + 1])
def test_small_and_large_atoms_are_scored_alike(size, rng):
    """Atoms of few entries share a table, until one comes that is too large for it."""
    atoms = [UnitAtom(size, 3, 2.0), SparseAtom(size, [0, 5, size - 1], [1.0, -1.0, 0.5])]
    active = ActiveSet(atoms, [0.25, 0.75])
    gradient = rng.normal(size=size)
    expected = [atom.to_array() @ gradient for atom in atoms]
    np.testing.assert_allclose(active.scores(gradient), expected, rtol=1e-13)
    assert active._rows is not None
    atoms.append(DenseAtom(rng.normal(size=size)))
    active.step(FW, 0.5, atoms[-1])
    assert (active._rows is None) == (size > SMALL)
    expected = [atom.to_array() @ gradient for atom in atoms]
    np.testing.assert_allclose(active.scores(gradient), expected, rtol=1e-12)
    point = np.array([0.125, 0.375, 0.5]) @ np.array([atom.to_array() for atom in atoms])
    np.testing.assert_allclose(active.point(), point, rtol=0, atol=1e-15)
