"""The k best labelings and marginals of forests where ordinary numbers could lose something."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sklearn_fw._kernels.common.vectors import FLOOR, exponentials
from sklearn_fw.inference import Elimination, GraphCut, PairwiseScores, TreeMaxProduct, Viterbi


@pytest.mark.parametrize("penalty", [-150.0, -400.0, -900.0, -5e4, -1e300, -np.inf])
@pytest.mark.parametrize("head_start", [50.0, 650.0, 800.0, 3000.0])
def test_what_seems_lost_at_first_wins_in_the_end(penalty, head_start, rng):
    """Two groups of states that hardly meet: one is ahead by far, and the other gains for long."""
    n_nodes, n_states = 400, 4
    unary = rng.normal(size=(n_nodes, n_states))
    unary[0, 2:] -= head_start
    unary[1:, 2:] += 5.0
    table = rng.normal(size=(n_states, n_states))
    table[:2, 2:] += penalty
    table[2:, :2] += penalty
    edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
    scores = PairwiseScores.from_arrays(unary, table, edges)
    alpha = unary[0]
    for row in unary[1:]:  # the forward recursion
        with np.errstate(invalid="ignore"):
            alpha = row + logsumexp(alpha[:, None] + table, axis=0)
    expected = logsumexp(alpha)
    for oracle in (Viterbi(), TreeMaxProduct()):
        node, edge, value = oracle.marginals(scores)
        assert value == pytest.approx(expected, rel=1e-11)
        assert oracle.log_partition(scores) == pytest.approx(expected, rel=1e-11)
        np.testing.assert_allclose(node.sum(axis=1), 1.0, rtol=0, atol=1e-9)
        np.testing.assert_allclose(edge.sum(axis=2), node[:-1], rtol=0, atol=1e-9)
        late = node[:, 2:].sum(axis=1)
        if penalty < -head_start and head_start < 1000:
            assert late.min() > 0.999
        elif head_start > 2500 and penalty < -2500:
            assert late.max() < 0.001


def marginals_in_logarithms(unary, tables):
    """Forward and backward recursion, slowly."""
    alpha, beta = [unary[0]], [np.zeros(unary.shape[1])]
    with np.errstate(invalid="ignore"):
        for own, table in zip(unary[1:], tables):
            alpha.append(own + logsumexp(alpha[-1][:, None] + table, axis=0))
        for own, table in zip(unary[:0:-1], tables[::-1]):
            beta.append(logsumexp(table + own + beta[-1], axis=1))
        alpha, beta, total = np.array(alpha), np.array(beta[::-1]), logsumexp(alpha[-1])
        edge = alpha[:-1, :, None] + tables + (unary[1:] + beta[1:])[:, None, :]
        return np.exp(alpha + beta - total), np.exp(edge - total), total


@pytest.mark.parametrize("shared", [False, True], ids=["own tables", "one table"])
@pytest.mark.parametrize("size", [1.0, 30.0, 200.0, 700.0])
def test_hard_tables_equal_sums_in_logarithms(size, shared, rng):
    """Scores up to the exponents of float64, and transitions of which a third is forbidden."""
    for n_nodes, n_states in [(25, 5), (60, 3), (12, 22)]:
        unary = size * rng.uniform(-1, 1, size=(n_nodes, n_states))
        tables = size * rng.uniform(-1, 1, size=(1 if shared else n_nodes - 1, n_states, n_states))
        forbidden = rng.random(tables.shape) < 1 / 3
        tables[forbidden & ~np.eye(n_states, dtype=bool)] = -np.inf
        tables = np.broadcast_to(tables, (n_nodes - 1, n_states, n_states))
        edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
        found = Viterbi().marginals(
            PairwiseScores.from_arrays(unary, tables[0] if shared else tables, edges)
        )
        expected = marginals_in_logarithms(unary, tables)
        atol = 1e-12 * max(1.0, size)  # rounding of the sums of scores, in the reference as well
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=atol)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_exponentials(size, rng):
    numbers = -rng.exponential(size=size) * rng.choice([1e-3, 1.0, 100.0, 1000.0], size=size)
    numbers[rng.random(size) < 0.1] = -np.inf
    numbers[0] = 0.0
    found = numbers.copy()
    faint = getattr(exponentials, "py_func", exponentials)(found)
    expected = np.where(numbers < FLOOR, 0.0, np.exp(numbers))
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=0)
    below = -numbers[numbers < -200]
    assert faint == below.min(initial=np.inf)


# ---- searches on larger problems ---------------------------------------------------------------


@pytest.mark.slow
def test_cuts_of_8_x_8_grids(rng):
    """The best labelings of a ferromagnet, by cuts and by elimination."""
    number = np.arange(64).reshape(8, 8)
    edges = np.concatenate([
        np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
        np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
    ])  # fmt: skip
    for draw in range(3):
        unary = rng.normal(size=(64, 2))
        tables = rng.uniform(size=(len(edges), 1, 1)) * np.eye(2)
        if draw == 2:
            unary = np.round(unary)
        scores = PairwiseScores.from_arrays(unary, tables, edges)
        values, labels = GraphCut().top_k(scores, 6)
        expected, _ = Elimination().top_k(scores, 6)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)
        assert len({tuple(row) for row in labels}) == 6
        np.testing.assert_allclose(
            GraphCut().max_marginals(scores), Elimination().max_marginals(scores),
            rtol=0, atol=1e-10,
        )  # fmt: skip
