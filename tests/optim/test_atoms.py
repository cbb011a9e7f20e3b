"""Atoms against the arrays that they stand for."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_fw.optim.domains import Atom, RankOneAtom, SparseAtom
from sklearn_fw.optim.domains._base import DenseAtom, ProductAtom, UnitAtom, as_atom, ask

ENTRIES = st.sampled_from([0.0, -0.0, 1.0, 1.0, -2.0, 0.5])


@st.composite
def atoms(draw, kinds=("unit", "sparse", "dense", "rank one", "product"), size=None):
    """An atom and its array."""
    kind = draw(st.sampled_from(kinds))
    if kind == "product":
        parts = draw(st.lists(atoms(kinds=kinds[:-1]), min_size=1, max_size=3))
        return ProductAtom([a for a, _ in parts]), np.concatenate([x for _, x in parts])
    if kind == "rank one":
        left, right = (draw(st.lists(ENTRIES, min_size=1, max_size=3)) for _ in range(2))
        return RankOneAtom(left, right), np.outer(left, right).ravel()
    x = np.array(draw(st.lists(ENTRIES, min_size=size or 1, max_size=size or 6)))
    if kind == "dense":
        return DenseAtom(x), x
    places = np.array(draw(st.permutations(range(x.size))), dtype=int)
    if kind == "unit":
        found = np.where(np.arange(x.size) == places[0], x, 0.0)
        return UnitAtom(x.size, int(places[0]), x[places[0]]), found
    places = places[: draw(st.integers(0, x.size))]
    if draw(st.booleans()):
        found = np.zeros(x.size)
        found[places] = x[0]
        return SparseAtom(x.size, places, x[0]), found
    found = np.zeros(x.size)
    found[places] = x[places]
    return SparseAtom(x.size, places, x[places]), found


@settings(deadline=None, max_examples=300)
@given(pair=atoms(), data=st.data())
def test_atoms_equal_their_arrays(pair, data):
    atom, x = pair
    assert atom.size == x.size
    np.testing.assert_array_equal(atom.to_array(), x)
    numbers = st.lists(st.integers(-5, 5), min_size=x.size, max_size=x.size)
    vector = np.array(data.draw(numbers), dtype=float)
    assert atom.dot(vector) == pytest.approx(vector @ x, abs=1e-12)
    scale = data.draw(st.sampled_from([1.0, -1.0, 0.25, 0.0]))
    target, before = vector.copy(), vector.copy()
    assert atom.add_to(target, scale) is None
    np.testing.assert_allclose(target, before + scale * x, rtol=0, atol=1e-12)
    entries = atom.entries()
    if entries is not None:
        places, values = entries
        assert np.all(np.diff(places) > 0)
        again = np.zeros(x.size)
        again[places] = values
        np.testing.assert_array_equal(again, x)
    hash(atom.key)
    atom.to_array()[:] = 7.0
    np.testing.assert_array_equal(atom.to_array(), x)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_equal_points_have_equal_keys(data):
    """Whatever kind of atom they are, as long as entries are known."""
    known = ("unit", "sparse", "dense")
    (one, x), (other, y) = (data.draw(atoms(kinds=known, size=3)) for _ in range(2))
    assert (one.key == other.key) == np.array_equal(x, y)
    assert as_atom(x, 3, "a test").key == one.key
    assert ProductAtom([one]).key == one.key


def test_plain_arrays_become_what_is_short():
    kinds = {UnitAtom: [0, 0, -2, 0], DenseAtom: [1, 0, 0, 1], SparseAtom: [0] * 8}
    kinds |= {SparseAtom: [1, 0, 1, 0, 0, 0, 0, 0]}
    for kind, x in kinds.items():
        atom = as_atom(np.array(x), len(x), "a test")
        assert type(atom) is kind
        np.testing.assert_array_equal(atom.to_array(), x)
    buffer = np.array([1.0, 2.0, 0.0])
    atom = as_atom(buffer, 3, "a test")
    buffer[:] = 0.0
    np.testing.assert_array_equal(atom.to_array(), [1, 2, 0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SparseAtom(3, [0, 0]), ValueError, "places must be different"),
        (lambda: SparseAtom(3, [0, 3]), ValueError, "places must be from 0 to size - 1 == 2"),
        (lambda: SparseAtom(3, [0.5]), ValueError, "places must be a vector of integers"),
        (
            lambda: SparseAtom(3, [0, 1], [1.0]),
            ValueError,
            "values has shape (1,), but places (2,)",
        ),
        (lambda: SparseAtom(3, [0], [np.inf]), ValueError, "values must be finite"),
        (lambda: RankOneAtom([[1.0]], [1.0]), ValueError, "left must be a vector"),
        (lambda: Atom(), TypeError, "abstract"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


# ---- the border ----------------------------------------------------------------------------------


class Wrong(Atom):
    """What it adds is not what it multiplies with."""

    size, key = 3, "wrong"

    def __init__(self, product=2.0):
        self.product = product

    def dot(self, vector):
        return self.product

    def add_to(self, x, scale=1.0):
        x[0] += scale


def answering(atom):
    return type("Own", (), {"lmo": lambda self, gradient: atom})()


def test_atoms_of_users_are_checked():
    gradient = np.array([1.0, 0.0, 0.0])
    assert ask(answering(Wrong(1.0)), gradient, "domain").dot(gradient) == 1.0
    with pytest.raises(ValueError, match=r"the lmo of domain returned a Wrong with dot\(gradient"):
        ask(answering(Wrong()), gradient, "domain")
    with pytest.raises(ValueError, match=r"the lmo of domain returned must have shape \(2,\), got"):
        ask(answering(Wrong(1.0)), gradient[:2], "domain")
    for name in ("value", "bound"):
        atom = UnitAtom(3, 0)
        setattr(atom, name, np.nan)
        with pytest.raises(ValueError, match=f"an atom with {name} nan"):
            ask(answering(atom), gradient, "domain")
    unhashable = Wrong(1.0)
    unhashable.key = []
    with pytest.raises(TypeError, match="unhashable"):
        ask(answering(unhashable), gradient, "domain")
    written = np.array([1.0, -1.0])
    ask(type("Own", (), {"lmo": lambda self, g: g.fill(7.0) or [0.0, 1.0]})(), written, "domain")
    np.testing.assert_array_equal(written, [1, -1])
