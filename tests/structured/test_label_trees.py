"""Trees of labels: the edges of multilabel models against enumeration."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_fw.inference import TreeMaxProduct
from sklearn_fw.structured import MultilabelModel

few = settings(max_examples=15, deadline=None)  # the first example waits for compiled kernels
seeds = st.integers(0, 2**32 - 1)


def test_chow_liu_tree(rng):
    """The tree has the largest total mutual information of all spanning trees."""
    hidden = rng.integers(2, size=(60, 1))
    y = (rng.random((60, 5)) < np.where(hidden, 0.8, 0.3)).astype(int)
    y[:, 3] = y[:, 1] ^ (rng.random(60) < 0.1)
    model = MultilabelModel("tree").initialize(np.ones((60, 1)), y)
    graph = nx.Graph()
    for a, b in itertools.combinations(range(5), 2):
        joint = np.array(
            [[np.sum((y[:, a] == i) & (y[:, b] == j)) for j in (0, 1)] for i in (0, 1)]
        )
        joint = (joint + 0.5) / 62
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        graph.add_edge(a, b, weight=float(np.sum(joint * np.log(joint / product))))
    best = nx.maximum_spanning_tree(graph)
    assert {frozenset(e) for e in model.edges_.tolist()} == {frozenset(e) for e in best.edges}


@pytest.mark.parametrize("constant", [0, 1])
def test_tree_of_labels_that_never_vary(constant):
    y = np.full((4, 4), constant)
    model = MultilabelModel("tree").initialize(np.ones((4, 1)), y)
    assert nx.is_tree(nx.Graph(model.edges_.tolist()))


@given(n_labels=st.integers(1, 7), seed=seeds)
@few
def test_forests_point_from_children_to_parents(n_labels, seed):
    """What message passing needs: no label is a child before all edges that end in it."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(n_labels)
    edges = [(names[t], names[rng.integers(t)]) for t in range(1, n_labels) if rng.random() < 0.8]
    edges = [edge[:: rng.choice([-1, 1])] for edge in edges]
    given_edges = np.array(edges, dtype=int).reshape(-1, 2)
    X, y = np.ones((2, 1)), np.ones((2, n_labels), dtype=int)
    model = MultilabelModel(given_edges if edges else "none").initialize(X, y)
    children = model.edges_[:, 0].tolist()
    assert len(set(children)) == len(children)
    for k, (_, parent) in enumerate(model.edges_.tolist()):
        assert parent not in children[:k]
    assert {frozenset(e) for e in model.edges_.tolist()} == {frozenset(e) for e in edges}
    assert isinstance(model.default_oracle(), TreeMaxProduct)
