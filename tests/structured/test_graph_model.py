"""Labels of nodes of graphs: forms of input and output, kinds, class weights, odd graphs."""

import itertools
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import ChainModel, GraphModel, StructuredSVMCV

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}
NAMES = np.array(["bird", "cat", "dog"])


def make_graphs(rng, n=12, width=2):
    """Small loopy graphs with features of edges, and labels that are names."""
    X, y = [], []
    for i in range(n):
        n_nodes = 2 + i % 4
        pairs = np.array(list(itertools.combinations(range(n_nodes), 2)))
        pairs = pairs[rng.permutation(len(pairs))[: n_nodes + 1]]
        features = rng.normal(size=(n_nodes, 3))
        X.append((features, pairs, rng.normal(size=(len(pairs), width))))
        y.append(NAMES[features.argmax(axis=1)])
    return X, y


def make_kinds(rng, n=8):
    """Words with three labels, regions with two others, edges between and among them."""
    X, y = [], []
    for i in range(n):
        n_words, n_regions = 1 + i % 3, 2 + i % 2
        across = np.stack([rng.integers(n_words, size=3), rng.integers(n_regions, size=3)], axis=1)
        words, regions = rng.normal(size=(n_words, 3)), rng.normal(size=(n_regions, 2))
        along = np.array([(t, t + 1) for t in range(n_words - 1)], int).reshape(-1, 2)
        X.append((
            {"word": words, "region": regions},
            {("word", "at", "region"): across, ("word", "word"): along},
            {("word", "at", "region"): rng.normal(size=(3, 2))},
        ))  # fmt: skip
        y.append({"word": NAMES[words.argmax(axis=1)], "region": (regions[:, 0] > 0).astype(int)})
    return X, y


def as_lists(X, y):
    """The same without names: nodes of all kinds numbered through."""
    graphs = []
    for nodes, edges, z in X:
        n_words = len(nodes["word"])
        across, along = edges.values()
        graphs.append((
            list(nodes.values()), [across + [0, n_words], along],
            [z["word", "at", "region"], None],
        ))  # fmt: skip
    return graphs, [list(labels.values()) for labels in y]


def score_by_hand(weights, x, labels, classes):
    """The formula of the class docstring, with loops."""
    features, pairs, z = x
    states = np.searchsorted(classes, labels)
    value = sum(row @ weights["nodes"][0][:, k] for row, k in zip(features, states))
    value += weights["intercept"][0][states].sum()
    for (a, b), own in zip(pairs, z):
        tables = weights["edges"][0][:, states[a], states[b]]
        value += tables[0] + own @ tables[1:]
    return value


def test_scores_are_those_of_the_formula(rng):
    X, y = make_graphs(rng)
    model = GraphModel().initialize(X, y)
    w = rng.normal(size=model.size_joint_feature)
    for x, labels in zip(X, y):
        expected = score_by_hand(model.unpack(w), x, labels, model.classes_)
        np.testing.assert_allclose(w @ model.joint_feature(x, labels), expected, **CLOSE)
        outputs = [np.array(c) for c in itertools.product(model.classes_, repeat=len(labels))]
        scores = [score_by_hand(model.unpack(w), x, c, model.classes_) for c in outputs]
        best = outputs[int(np.argmax(scores))]
        np.testing.assert_array_equal(model.inference(x, w), best)
        augmented = [s + np.sum(c != labels) for s, c in zip(scores, outputs)]
        found = model.loss_augmented_inference(x, labels, w)
        value = score_by_hand(model.unpack(w), x, found, model.classes_) + np.sum(found != labels)
        np.testing.assert_allclose(value, max(augmented), **CLOSE)


@pytest.mark.slow
def test_a_fit_without_arguments(rng):
    X, y = make_graphs(rng, 30)
    svm = StructuredSVM(random_state=0).fit(X[:20], y[:20])
    assert isinstance(svm.model_, GraphModel)
    assert svm.score(X[20:], y[20:]) > 0.75
    predicted = svm.predict(X[20:])
    assert predicted[0].dtype == y[0].dtype
    assert predicted[0].shape == y[20].shape
    marginals = svm.calibrate(X[20:], y[20:]).predict_marginals(X[20:])
    np.testing.assert_allclose(marginals[3].sum(axis=1), 1.0, **CLOSE)
    best, values = svm.n_best(X[:2], 3)
    assert best[0].shape == (3, len(y[0]))
    assert np.all(np.diff(values[0]) <= 0)
    again = pickle.loads(pickle.dumps(svm))
    np.testing.assert_array_equal(again.predict(X[:1])[0], svm.predict(X[:1])[0])


@pytest.mark.slow
def test_selection_by_lists_and_object_arrays(rng):
    X, y = make_graphs(rng)
    graphs, labels = np.empty(len(X), object), np.empty(len(X), object)
    graphs[:], labels[:] = X, y
    found = [
        GridSearchCV(StructuredSVM("graph", random_state=0), {"C": [0.01, 1.0]}, cv=3)
        .fit(*data).cv_results_["mean_test_score"]
        for data in ((X, y), (graphs, labels))
    ]  # fmt: skip
    np.testing.assert_array_equal(*found)
    cv = StructuredSVMCV(StructuredSVM("graph", random_state=0), eps=0.5, C_max=1.0, cv=2)
    assert cv.fit(X, y).score(X, y) > 0.7
    assert clone(cv.best_estimator_).model == "graph"


def test_chains_are_graphs(rng):
    X = [rng.normal(size=(n, 3)) for n in (3, 2, 4, 5, 3)]
    y = [NAMES[x.argmax(axis=1)] for x in X]
    graphs = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    settings = {"C": 0.5, "solver": "bcpfw", "tol": 1e-7, "max_iter": 2000}
    graph = StructuredSVM(GraphModel(fit_intercept=False), **settings).fit(graphs, y)
    chain = StructuredSVM(ChainModel(start_end=False), **settings).fit(X, y)
    assert graph.objective_ == pytest.approx(chain.objective_, rel=1e-6)
    np.testing.assert_allclose(graph.score_samples(graphs), chain.score_samples(X), atol=1e-2)


# ---- kinds ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nodes_of_several_kinds(rng):
    X, y = make_kinds(rng)
    svm = StructuredSVM(GraphModel(class_weight="balanced"), C=1.0, random_state=0).fit(X, y)
    assert [own.tolist() for own in svm.classes_] == [NAMES.tolist(), [0, 1]]
    assert svm.model_.edge_features_ == [3, 0]  # with a constant
    predicted = svm.predict(X)
    assert list(predicted[0]) == ["word", "region"]
    assert set(predicted[0]["word"]) <= set(NAMES)
    marginals = svm.predict_marginals(X)
    assert marginals[0]["word"].shape == (1, 3)
    assert marginals[0]["region"].shape == (2, 2)
    assert svm.score(X, y) > 0.7
    svm.calibrate(X, y)
    lists, labels = as_lists(X, y)
    same = StructuredSVM(GraphModel(class_weight="balanced"), C=1.0, random_state=0)
    same.fit(lists, labels)
    np.testing.assert_array_equal(same.coef_, svm.coef_)
    np.testing.assert_array_equal(same.predict(lists)[3][1], predicted[3]["region"])


def test_class_weights_of_kinds_in_the_loss(rng):
    X, y = make_kinds(rng)
    model = GraphModel(class_weight={"cat": 3.0, 1: 0.5}).initialize(X, y)
    for labels in y:
        other = {"word": np.full(len(labels["word"]), "bird"), "region": 1 - labels["region"]}
        words, regions = labels["word"], labels["region"]
        expected = np.sum((words != "bird") * np.where(words == "cat", 3.0, 1.0))
        expected += np.sum(np.where(regions == 1, 0.5, 1.0))
        assert model.loss(labels, other) == pytest.approx(expected)


def test_kinds_of_edges_have_tables_of_their_own(rng):
    X, y = make_graphs(rng)
    several = [(x, {"near": pairs[:2], "far": pairs[2:]}) for x, pairs, _ in X]
    model = GraphModel(edge_symmetry={"near": "symmetric", "far": "antisymmetric"})
    model.initialize(several, y)
    w = rng.normal(size=model.size_joint_feature)
    scores = model.scores(several[3], w)
    near, far = np.split(scores.pairwise, [2])
    np.testing.assert_allclose(near, near.swapaxes(1, 2), **CLOSE)
    np.testing.assert_allclose(far, -far.swapaxes(1, 2), **CLOSE)
    lists = [(x, list(edges.values())) for x, edges in several]
    names = ["symmetric", "antisymmetric"]
    same = GraphModel(edge_symmetry=names).initialize(lists, y).joint_feature(lists[3], y[3])
    np.testing.assert_array_equal(model.joint_feature(several[3], y[3]), same)


# ---- networkx ------------------------------------------------------------------------------------


def as_networkx(x, labels, graph):
    names = "dcbaefgh"
    features, pairs, z = x
    for t, row in enumerate(features):
        graph.add_node(names[t], color=row[:2], size=row[2])
    for (a, b), own in zip(pairs, z):
        graph.add_edge(names[a], names[b], features=own)
    return graph, {names[t]: label.item() for t, label in reversed(list(enumerate(labels)))}


@pytest.mark.slow
@pytest.mark.parametrize("cls", [nx.Graph, nx.DiGraph])
def test_networkx_graphs(rng, cls):
    X, y = make_graphs(rng)
    graphs, dicts = zip(*(as_networkx(x, labels, cls()) for x, labels in zip(X, y)))
    model = GraphModel(node_attributes=["color", "size"])
    svm = StructuredSVM(model, C=1.0, tol=1e-3, max_iter=500, random_state=0).fit(
        list(graphs), list(dicts)
    )
    symmetry = "symmetric" if cls is nx.Graph else "free"
    assert svm.model_.edge_symmetry_ == symmetry
    same = StructuredSVM(
        GraphModel(edge_symmetry=symmetry), C=1.0, tol=1e-3, max_iter=500, random_state=0
    )
    same.fit(X, y)
    assert svm.objective_ == pytest.approx(same.objective_, rel=2e-3)
    predicted = svm.predict(list(graphs))
    assert isinstance(predicted[0], dict)
    assert set(predicted[0]) == set(dicts[0])
    assert isinstance(predicted[0]["d"], str)
    assert svm.score(list(graphs), list(dicts)) == pytest.approx(same.score(X, y), abs=0.1)
    svm.fit(list(graphs), y)  # in the order of the nodes
    assert isinstance(svm.predict(list(graphs))[0], np.ndarray)


def test_networkx_without_attributes():
    graph = nx.path_graph(3)
    with pytest.raises(ValueError, match=r"node 0 has no attribute 'features': .*node_attributes"):
        StructuredSVM().fit([graph], [[0, 1, 0]])
    nx.set_node_attributes(graph, 1.0, "features")
    graph.edges[0, 1]["features"] = 2.0
    with pytest.raises(ValueError, match=r"edge \(1, 2\) has no attribute 'features'"):
        StructuredSVM().fit([graph], [[0, 1, 0]])


def test_labels_of_other_nodes():
    X = [nx.path_graph(3), nx.path_graph(2)]
    for graph in X:
        nx.set_node_attributes(graph, {node: float(node) for node in graph}, "features")
    y = [{0: "a", 1: "b", 2: "b"}, {0: "a", 1: "b"}]
    with pytest.raises(ValueError, match=r"y\[1\] must have a label for each node of X\[1\].*'z'"):
        StructuredSVM().fit(X, [y[0], {0: "a", "z": "b"}])
    svm = StructuredSVM(C=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"y\[0\] must have a label for each node of X\[0\]"):
        svm.score(X, [{1: "a", 2: "b", 3: "b"}, y[1]])


def test_graphs_with_weights_of_nodes_are_recognized(rng):
    X, y = make_graphs(rng, 4)
    X = [(*x, np.ones(len(labels))) for x, labels in zip(X, y, strict=True)]
    assert isinstance(StructuredSVM(C=1.0).fit(X, y).model_, GraphModel)


# ---- odd graphs ----------------------------------------------------------------------------------

ROWS = np.array([[1.0], [-1.0], [2.0], [-2.0]])
STATES = [1, 0, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "edges",
    [
        np.empty((0, 2), int), [], None, [(0, 1)], [(0, 1), (2, 3)], [(0, 1), (0, 1), (1, 0)],
        [(0, 1), (1, 2), (2, 0)],
    ],
    ids=["none", "list", "None", "isolated", "components", "repeated", "cycle"],
)  # fmt: skip
def test_odd_graphs_are_learned_exactly(edges):
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    X, y = [(ROWS, edges), (ROWS, ring), (ROWS[:1], [])], [STATES, STATES, [1]]
    svm = StructuredSVM(C=10.0, solver="bcpfw", tol=0.01, max_iter=500).fit(X, y)
    assert svm.converged_
    assert svm.score(X, y) == 1.0
    model = svm.model_
    for x in X:
        outputs = list(itertools.product([0, 1], repeat=len(x[0])))
        best = max(svm.coef_ @ model.joint_feature(x, output) for output in outputs)
        assert svm.score_samples([x])[0] == pytest.approx(best, rel=1e-9)


def test_repeated_edges_count_each_time(rng):
    once, twice = (ROWS, [(0, 1)]), (ROWS, [(0, 1), (0, 1)])
    model = GraphModel().initialize([once, twice], [STATES, STATES])
    tables = [model.joint_feature(x, STATES)[-4:] for x in (once, twice)]
    np.testing.assert_array_equal(2 * tables[0], tables[1])
    assert tables[0].sum() == 1.0


@pytest.mark.parametrize("nothing", [np.empty((0, 5)), np.empty(0), [], None])
def test_samples_without_edges_need_no_features_of_edges(rng, nothing):
    X, y = make_graphs(rng)
    lonely = (X[0][0], np.empty((0, 2), int))
    X[0] = lonely if nothing is None else (*lonely, nothing)
    svm = StructuredSVM(C=1.0).fit(X, y)
    assert svm.model_.edge_features_ == [3]
    assert svm.predict(X)[0].shape == y[0].shape


def test_sparse_features(rng):
    X, y = make_graphs(rng)
    sparse = [(sp.csr_array(x[0]), *x[1:]) for x in X]
    a, b = (StructuredSVM(C=1.0, random_state=0).fit(data, y) for data in (X, sparse))
    np.testing.assert_allclose(a.coef_, b.coef_, **CLOSE)


def test_other_forms_of_graphs(rng):
    X, y = make_graphs(rng)
    for loose in ((X[0], y[0]), (nx.path_graph(3), [0, 1, 0])):
        with pytest.raises(ValueError, match=r"X is a single graph: write .* \[X\], and \[y\]"):
            StructuredSVM().fit(*loose)
    with pytest.raises(ValueError, match=r"X\[0\] is a list of features and edges: write a tuple"):
        StructuredSVM().fit([list(x) for x in X], y)
    svm = StructuredSVM(C=1.0, random_state=0).fit(X, y)
    column = pd.Series(X, index=range(5, 5 + len(X)))
    np.testing.assert_array_equal(
        StructuredSVM(C=1.0, random_state=0).fit(column, pd.Series(y)).coef_, svm.coef_
    )
    with pytest.raises(TypeError, match="single input is given as a list of one"):
        svm.predict(X[0])


@pytest.mark.parametrize("factor, lost", [(100.0, "tables and constants"), (0.001, "features")])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_sizes_next_to_constants(rng, factor, lost, make):
    X, y = make_graphs(rng)
    X = [(make(factor * x[0]), *x[1:]) for x in X]
    with pytest.warns(UserWarning, match=f"norm of .*: {lost}.* hardly be learned; scale"):
        StructuredSVM(C=1.0).fit(X, y)


@pytest.mark.parametrize(
    "x, message",
    [
        (ROWS, r"must be a tuple \(features, edges\).*, got ndarray"),
        ((ROWS,), "must be a tuple .*, got tuple"),
        ((ROWS, [(0, 4)]), "must name nodes 0 to 3, got 0 to 4"),
        ((ROWS, [(-1, 0)]), "must name nodes 0 to 3, got -1 to 0"),
        ((ROWS, [(2, 2)]), "must join two different nodes"),
        ((ROWS, [(0.0, 1.0)]), "edges must hold integers"),
        ((ROWS, [(0, 1, 2)]), r"edges must have shape \(n_edges, 2\), got \(1, 3\): one row"),
        ((ROWS, [(0, 1, 2), (1, 2, 3)]), "got .*: transpose them"),
        ((ROWS, 1.0 - np.eye(4)), r"adjacency matrix A they are np.argwhere\(np.triu\(A, 1\)\)"),
        ((ROWS, sp.csr_array(1.0 - np.eye(4))), r"np.transpose\(scipy.sparse.triu\(A, 1\)"),
        ((ROWS, [("a", "b")]), "must hold the numbers of nodes, .*, got names: .* networkx"),
        ((ROWS, [(0, 1)], np.ones((2, 2))), r"have shape \(1, n_edge_features\), got \(2, 2"),
        ((ROWS, [(0, 1)], np.ones((1, 0))), r"have shape \(1, n_edge_features\), got \(1, 0"),
        ((ROWS, [(0, 1)], np.ones((1, 3))), r"edges with \[4\] features, but 1 and \[3\]"),
        ((ROWS, [(0, 1)]), r"edges with \[0\] features, but 1 and \[3\]"),
        ((ROWS, [(0, 1)], [[np.nan, 1.0]]), "NaN"),
        ((ROWS * np.inf, [(0, 1)], np.ones((1, 2))), "infinity"),
        ((np.ones((4, 2)), [(0, 1)], np.ones((1, 2))), "has 2 features, but 1 are expected"),
        (([], []), "must have one node at least"),
    ],
)
def test_bad_graphs(x, message):
    good = (ROWS, [(0, 1), (1, 2)], np.ones((2, 2)))
    with pytest.raises((TypeError, ValueError), match=message):
        StructuredSVM("graph").fit([good, x], [STATES, STATES])


@pytest.mark.parametrize(
    "x, message",
    [
        (({"a": ROWS}, {("a", "a"): [(0, 4)]}), "edges .* nodes 0 to 3 of their kind"),
        (({"b": ROWS}, {("a", "a"): [(0, 1)]}), "kind of node 'b', which the first training"),
        (({"a": ROWS}, [(0, 1)]), "edges must be a dict as in the training"),
        (({"a": ROWS}, {("a", "a"): [(0, 1)]}, {"x": [[1.0]]}), "has the kind 'x', which edges la"),
        (({"a": ROWS}, {("a", "a"): [(0, 1)]}, [[1.0]]), "edge_features must be a dict"),
    ],
)
def test_bad_kinds(x, message):
    good = ({"a": ROWS}, {("a", "a"): [(0, 1)]})
    y = [{"a": STATES}, {"a": STATES}]
    with pytest.raises((TypeError, ValueError), match=message):
        StructuredSVM().fit([good, x], y)


@pytest.mark.parametrize(
    "y, message",
    [
        ([[1, 0, 1]], r"y\[0\] has 3 labels, but X\[0\] has 4 nodes"),
        ([[1, 1, 1, 1]], "needs at least 2 classes"),
        ([[[1, 0, 1, 0]]], "must be a sequence with one label per node"),
        ([{"a": 1}], r"y\[0\] has the keys \['a'\]"),
        ([[1, None, 1, 0]], r"y\[0\] lacks labels"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        StructuredSVM().fit([(ROWS, [(0, 1)])], y)


def test_bad_parameters(rng):
    X, y = make_graphs(rng)
    with pytest.raises(ValueError, match="edge_symmetry must be one of"):
        StructuredSVM(GraphModel(edge_symmetry="skew")).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight names the class 'cow'"):
        StructuredSVM(GraphModel(class_weight={"cow": 2.0})).fit(X, y)
    with pytest.raises(ValueError, match="class_weight needs a task_loss that is a sum over nodes"):
        StructuredSVM(GraphModel("zero_one", class_weight="balanced")).fit(X, y)
