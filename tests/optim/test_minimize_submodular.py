"""Lowest sets against enumeration, maximum flow and closed forms, and what is refused."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from _submodular import KINDS, Table, all_sets, cuts, draw_table, is_submodular
from sklearn_fw.inference import GraphCut, PairwiseScores
from sklearn_fw.optim import minimize_submodular
from sklearn_fw.optim.domains import BasePolytope
from sklearn_fw.optim.set_functions import (
    CardinalityFunction,
    CoverageFunction,
    CutFunction,
    ModularFunction,
    SubmodularFunction,
)

VARIANTS = ("min_norm_point", "pairwise", "away")
EDGES = np.array([(0, 1), (1, 2), (3, 2), (3, 0), (2, 4), (0, 2)])


def functions(rng):
    """Each kind of function of five elements, with the values of all sets made otherwise."""
    sets, weights = all_sets(5), rng.exponential(size=len(EDGES))
    yield CutFunction(EDGES, weights), cuts(sets, EDGES, weights)
    yield CutFunction(EDGES, weights, directed=True), cuts(sets, EDGES, weights, True)
    matrix = rng.exponential(size=(5, 5))
    table = [mask @ matrix @ ~mask for mask in sets]
    yield CutFunction(sp.csr_matrix(matrix)), np.array(table)
    covers, weights = rng.integers(0, 2, (5, 8)), rng.exponential(size=8)
    covers[:, 3] = 0
    table = np.array([weights[covers[mask].any(axis=0)].sum() for mask in sets])
    yield CoverageFunction(covers, weights), table
    yield CoverageFunction(sp.coo_array(covers), weights), table
    values = np.array([1.0, 4.0, 5.0, 5.0, 3.0, -2.0])
    yield CardinalityFunction(values), values[sets.sum(axis=1)]
    costs = rng.normal(size=5)
    yield ModularFunction(costs), sets @ costs
    bent = CardinalityFunction(values) + ModularFunction(costs) + CoverageFunction(covers, weights)
    yield bent, values[sets.sum(axis=1)] + sets @ costs + table


def test_functions_are_their_tables(rng):
    for function, table in functions(rng):
        assert is_submodular(table)
        sets = all_sets(5)
        np.testing.assert_allclose([function.value(s) for s in sets], table, rtol=0, atol=1e-12)
        for _ in range(10):
            order = rng.permutation(5)
            plain = SubmodularFunction.base(function, order)
            np.testing.assert_allclose(function.base(order), plain, rtol=0, atol=1e-12)
            chain = np.append(0, np.cumsum(2**order))
            np.testing.assert_allclose(plain[order], np.diff(table[chain]), rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_lowest_of_all_sets(kind, rng):
    """500 functions of up to 12 elements together."""
    for _ in range(72):
        table = draw_table(rng, int(rng.integers(1, 13)), kind)
        function = Table(table)
        result = minimize_submodular(function, function.size)
        scale = max(1.0, np.abs(table).max())
        assert result.success
        assert result.fun == function(result.x)
        assert result.fun == pytest.approx(table.min(), rel=0, abs=1e-9 * scale)
        assert result.lower_bound <= table.min() + 1e-9 * scale


@pytest.mark.parametrize("variant", VARIANTS)
def test_bound_and_set_of_every_iteration(variant, rng):
    for kind in KINDS:
        table = draw_table(rng, 8, kind)
        seen = []

        def callback(state, table=table, seen=seen):
            assert state.lower_bound <= table.min() + 1e-9
            assert state.fun >= table.min() - 1e-9
            assert state.dual_gap == pytest.approx(state.fun - state.lower_bound, abs=1e-12)
            seen.append(state.nit)

        result = minimize_submodular(Table(table), 8, variant=variant, callback=callback)
        assert result.fun == pytest.approx(table.min(), rel=0, abs=1e-9)
        assert seen == list(range(1, result.nit + 1))
        base = result.base_point
        assert np.all(all_sets(8) @ base <= table - table[0] + 1e-7)
        assert base.sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


def grid(rng, side, coupling):
    """Edges of a grid and what each node wants: a disc, with noise."""
    nodes = np.arange(side * side).reshape(side, side)
    rows = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
    columns = np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])
    y, x = np.mgrid[:side, :side] - side / 2
    costs = np.where(x**2 + y**2 < side**2 / 9, -1.0, 1.0) + 1.5 * rng.normal(size=(side, side))
    return np.vstack([rows, columns]), costs.ravel(), coupling


@pytest.mark.parametrize("side, coupling", [(20, 0.5), (20, 3.0), (50, 2.0)])
def test_cuts_of_images_equal_those_of_maximum_flow(side, coupling, rng):
    edges, costs, weight = grid(rng, side, coupling)
    function = CutFunction(edges, np.full(len(edges), weight)) + ModularFunction(costs)
    result = minimize_submodular(function)
    unary = np.column_stack([np.zeros(len(costs)), -costs])
    scores = PairwiseScores.from_arrays(unary, weight * (np.eye(2) - 1.0), edges)
    labels, value, _ = GraphCut().argmax(scores)
    assert result.fun == pytest.approx(-value, rel=1e-12)
    np.testing.assert_array_equal(result.x, labels.astype(bool))
    assert result.nit < 1000


def iwata(n):
    """Iwata's test function, ``|A| |V - A| - sum_{j in A} (5 j - 2 n)`` with j from 1 on."""
    k = np.arange(n + 1.0)
    return CardinalityFunction(k * (n - k)) + ModularFunction(2.0 * n - 5.0 * np.arange(1, n + 1))


@pytest.mark.parametrize("n", [10, 500])
def test_iwata_function(n, rng):
    """Its lowest set holds the elements from some j on; all chains start in a random order."""
    function = iwata(n)
    top = [function.value(np.arange(n) >= j) for j in range(n + 1)]
    result = minimize_submodular(function, start=rng.normal(size=n))
    assert result.fun == result.lower_bound == min(top)
    assert result.nit < 50


def test_integers_end_the_search_when_less_than_one_is_open(rng):
    nits = np.zeros(2, int)
    for _ in range(40):
        table = draw_table(rng, 9, "matroid")
        results = [
            minimize_submodular(Table(table), 9, integer_valued=known) for known in (True, "auto")
        ]
        nits += [result.nit for result in results]
        assert results[0].fun == results[0].lower_bound == table.min()
    assert nits[0] < nits[1]
    with pytest.raises(ValueError, match="values that are not integers, but integer_valued=True"):
        minimize_submodular(Table(table / 2), 9, integer_valued=True)
    assert iwata(5).integer_valued
    assert not (iwata(5) + ModularFunction([0.5] * 5)).integer_valued


def test_start_and_empty_set(rng):
    table = draw_table(rng, 6, "cut") + 3.0
    first = minimize_submodular(Table(table), 6)
    again = minimize_submodular(Table(table), 6, start=first.base_point)
    assert again.fun == first.fun
    assert again.nit <= first.nit
    with pytest.raises(ValueError, match=r"function gives 3\.0 for the empty set, expected 0"):
        minimize_submodular(Table(table), 6, normalize=False)
    empty = minimize_submodular(CutFunction([(0, 1)]))
    assert empty.fun == 0.0
    assert not empty.x.any()


def test_budgets(rng):
    edges, costs, _ = grid(rng, 10, 2.0)
    function = CutFunction(edges) + ModularFunction(costs)
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        result = minimize_submodular(function, max_iter=2)
    assert not result.success
    best = minimize_submodular(function)
    assert result.lower_bound <= best.fun <= result.fun
    assert result.dual_gap > 0.0
    stopped = minimize_submodular(function, callback=lambda state: True)
    assert (stopped.nit, stopped.status) == (1, "stopped")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        exact = minimize_submodular(function, tol=0.0)
    assert exact.fun == best.fun
    assert exact.status in ("converged", "rounding")


# ---- what is refused -----------------------------------------------------------------------------


def test_witness_of_a_function_that_is_not_submodular(rng):
    """The message can be checked by hand, and nearly all large ones are noticed."""
    n_noticed = 0
    pattern = re.compile(r"element (\d+) adds (\S+) to the set \[(.*)\], but (\S+) to .* \[(.*)\]")
    for _ in range(30):
        table = draw_table(rng, 8, "mixture")
        table = table + 0.3 * np.ptp(table) * rng.normal(size=256)
        try:
            minimize_submodular(Table(table), 8)
            continue
        except ValueError as error:
            element, more, larger, less, smaller = pattern.search(str(error)).groups()
        n_noticed += 1
        larger, smaller = (
            {int(word) for word in text.split(",") if word} for text in (larger, smaller)
        )
        assert smaller < larger
        assert int(element) not in larger
        for members, gain in ((larger, more), (smaller, less)):
            before = sum(1 << i for i in members)
            assert table[before | 1 << int(element)] - table[before] == pytest.approx(float(gain))
        assert float(more) > float(less)
    assert n_noticed >= 27


def test_base_that_disagrees_with_values():
    class Wrong(SubmodularFunction):
        size = 3

        def value(self, members):
            return float(np.sqrt(members.sum()))

        def base(self, order):
            return np.array([3.0, -4.0, 1.0])[order]

    with pytest.raises(ValueError, match=r"the base of Wrong.size=3. contradicts its values"):
        minimize_submodular(Wrong())


class Short(SubmodularFunction):
    size = 3

    def value(self, members):
        return 0.0

    def base(self, order):
        return np.zeros(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: minimize_submodular(lambda mask: np.nan, 2), "must give finite numbers, got nan"),
        (lambda: minimize_submodular(lambda mask: 0.0), "size must be given"),
        (lambda: minimize_submodular("cut", 2), "a callable with a mask, got 'cut'"),
        (lambda: minimize_submodular(ModularFunction([1.0]), 2), "but the function has 1 elements"),
        (lambda: minimize_submodular(Short()), "Short(size=3) must have shape (3,), got (2,)"),
        (lambda: CutFunction([(0, 1)], [-1.0]), "weights must not be negative"),
        (lambda: CutFunction([(0, 0)]), "edges must join two different nodes"),
        (lambda: CutFunction([]), "size must be given for a graph without edges"),
        (lambda: CutFunction(sp.eye_array(2, 3)), "edges.shape == (2, 3)"),
        (lambda: CutFunction(-sp.eye_array(2) + sp.eye_array(2, k=1)), None),
        (lambda: CardinalityFunction([0, 1, 3]), "values must be concave"),
        (lambda: ModularFunction([1.0]) + ModularFunction([1.0, 2.0]), "cannot be added up"),
        (lambda: ModularFunction([1.0]).value([1]), "members must be a bool for each of 1"),
        (lambda: ModularFunction([1.0, 2.0]).base([0, 0]), "order must hold each of 0 to 1 once"),
        (lambda: BasePolytope(ModularFunction), "must be a SubmodularFunction or a callable"),
    ],
)
def test_errors(call, message):
    if message is None:
        assert call().size == 2  # the diagonal says nothing
        return
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
