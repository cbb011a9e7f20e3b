"""Models of the user with parts: a grid with edge features, kinds of nodes, lines, trees."""

import itertools

import numpy as np
import pytest

from _problems import ROUNDING, budget_may_end, listed_problem, part_blocks
from _references import solve_structured_svm
from sklearn_fw import StructuredSVM
from sklearn_fw._kernels.structured.block_rules import Rules
from sklearn_fw.inference import BestOf, Elimination, Enumeration, TreeMaxProduct, Viterbi
from sklearn_fw.structured import PartModel
from sklearn_fw.structured._solvers._visits import visit_blocks
from sklearn_fw.task_losses import MatrixLoss

CLOSE = {"rtol": 1e-8, "atol": 1e-10}


def grid_pairs(height, width):
    number = np.arange(height * width).reshape(height, width)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return right, down


class Grid(PartModel):
    """Pixels with features, neighbors that are the more alike the less their features differ."""

    edge_symmetry = "symmetric"

    def __init__(self, sharpness=1.0, task_loss="auto"):
        super().__init__(task_loss)
        self.sharpness = sharpness

    def parts(self, x):
        pixels = x.reshape(-1, x.shape[2])
        pairs = np.concatenate(grid_pairs(*x.shape[:2]))
        far = np.abs(pixels[pairs[:, 0]] - pixels[pairs[:, 1]]).sum(axis=1)
        alike = np.exp(-self.sharpness * far)
        return np.column_stack([pixels, np.ones(len(pixels))]), (
            pairs,
            np.column_stack([alike, np.ones(len(alike))]),
        )

    def encode(self, y):
        return np.ravel(y)

    def decode(self, states, x):
        return states.reshape(x.shape[:2])


class Potts(Grid):
    """Neighbors that lose, or gain, the same by any difference."""

    edge_symmetry = "potts"


class Directions(Grid):
    """Two kinds of edges, one of them without features, with tables of different symmetry."""

    edge_symmetry = ("antisymmetric", "free")

    def parts(self, x):
        nodes, _ = super().parts(x)
        right, down = grid_pairs(*x.shape[:2])
        return nodes, [(right, x[:, 1:].sum(axis=2).ravel()[: len(right)]), down]


class Kinds(PartModel):
    """Three words with three tags each, then a label of the sentence with two values."""

    def parts(self, x):
        words, sentence = x
        last = len(words)
        to_label = np.stack([np.arange(last), np.full(last, last)], axis=1)
        along = np.stack([np.arange(last - 1), np.arange(1, last)], axis=1)
        return [words, sentence[None]], [along, (to_label, words[:, :1])]


class Tree(PartModel):
    """Edges that point anywhere, without features."""

    def parts(self, x):
        return x[0], x[1]


class Line(PartModel):
    """A chain without weights of its ends."""

    def parts(self, x):
        t = np.arange(x.shape[0] - 1)
        return x, np.stack([t, t + 1], axis=1)


def make_grids(cls, rng):
    X = [rng.normal(size=(*shape, 2)) for shape in ((2, 2), (1, 3), (3, 2), (2, 2), (2, 3))]
    y = [(x[..., 0] + 0.5 * rng.normal(size=x.shape[:2]) > 0).astype(int) for x in X]
    return cls(), X, y


def make_potts(rng):
    model, X, _ = make_grids(Potts, rng)
    return model, X[:4], [rng.integers(3, size=x.shape[:2]) for x in X[:4]]


def make_kinds(rng):
    X = [(rng.normal(size=(n, 2)), rng.normal(size=3)) for n in (1, 2, 3, 2, 1)]
    y = [np.append(rng.integers(3, size=len(x[0])), rng.integers(2)) for x in X]
    y[2][:3] = 0, 1, 2
    return Kinds(), X, y


def make_trees(rng):
    X, y = [], []
    for n in (1, 4, 3, 5, 2):
        parents = [(t, int(rng.integers(t))) for t in range(1, n)]
        pairs = [edge[:: rng.choice([1, -1])] for edge in parents]
        X.append((rng.normal(size=(n, 2)), np.array(pairs, int).reshape(-1, 2)))
        y.append(rng.integers(3, size=n))
    y[3][:3] = 0, 1, 2
    return Tree(), X, y


MAKERS = {
    "grid": lambda rng: make_grids(Grid, rng),
    "directions": lambda rng: make_grids(Directions, rng),
    "potts": make_potts,
    "kinds": make_kinds,
    "trees": make_trees,
}


@pytest.fixture(params=MAKERS)
def problem(request):
    return listed(*MAKERS[request.param](np.random.default_rng(4)))


def score_by_hand(model, x, states, w):
    """The formula of the class docstring, with loops."""
    weights = model.unpack(w)
    nodes, edges = model.parts(x)
    nodes = nodes if isinstance(nodes, list) else [nodes]
    edges = [] if edges is None else edges if isinstance(edges, list) else [edges]
    names = model.edge_symmetry
    names = [names] * len(edges) if isinstance(names, str) else names
    value, t = 0.0, 0
    for rows, table in zip(nodes, weights["nodes"], strict=True):
        for row in rows:
            value += row @ table[:, states[t]]
            t += 1
    for kind, tables, name in zip(edges, weights["edges"], names, strict=True):
        pairs, features = kind if isinstance(kind, tuple) else (kind, np.ones((len(kind), 1)))
        features = np.reshape(features, (len(pairs), len(tables)))
        for (a, b), z in zip(pairs, features, strict=True):
            for number, table in zip(z, tables, strict=True):
                if name == "potts":
                    apart = table[~np.eye(len(table), dtype=bool)].mean()
                    value += number * apart * (states[a] != states[b])
                    continue
                there, back = table[states[a], states[b]], table[states[b], states[a]]
                sign = {"symmetric": 1, "antisymmetric": -1}.get(name)
                value += number * (there if sign is None else (there + sign * back) / 2)
    return value


def listed(model, X, y):
    """A training set with all outputs of every sample."""
    model, outputs = model.initialize(X, y), []
    for nodes, _ in map(model.parts, X):
        counts = [len(rows) for rows in (nodes if isinstance(nodes, list) else [nodes])]
        outputs.append(list(itertools.product(*map(range, np.repeat(model.states_, counts)))))
    return listed_problem(
        model, X, y, outputs, lambda i, states: model.decode(np.array(states), X[i])
    )


# ---- scores and features -------------------------------------------------------------------------


@pytest.mark.slow
def test_scores_and_features(problem, rng):
    model = problem.model
    w = rng.normal(size=model.size_joint_feature)
    for x, outputs in zip(problem.X, problem.outputs):
        scores = model.scores(x, w)
        for states in outputs:
            y = model.decode(np.array(states), x)
            by_hand = score_by_hand(model, x, states, w)
            np.testing.assert_allclose(scores.value(states), by_hand, **ROUNDING)
            np.testing.assert_allclose(model.joint_feature(x, y) @ w, by_hand, **ROUNDING)


@pytest.mark.slow
def test_smoothed_answers(problem, rng):
    blocks = part_blocks(problem, Enumeration())
    blocks.reset(problem.lam)
    w = rng.normal(size=blocks.n_weights)
    for i, (psi, losses) in enumerate(zip(problem.psi, problem.losses)):
        values = losses - psi @ w
        alpha = np.exp(values - values.max())
        value = values.max() + np.log(alpha.sum())
        answer = blocks.smoothed_answer(i, w, 1.0)
        np.testing.assert_allclose(answer.value, value, **ROUNDING)
        mean = np.zeros(blocks.n_weights)
        blocks.add_to(i, answer, 1.0, mean)
        np.testing.assert_allclose(mean, alpha @ psi / alpha.sum(), **ROUNDING)


# ---- training ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("step", ["fw", "pairwise"])
def test_visits_are_those_of_the_reference(problem, step, rng):
    """Compiled and plain passes, against a reference that lists all outputs."""
    steps = ("fw", "pairwise")
    rules = Rules(problem.lam, steps.index(step))
    slow, compiled, plain = problem.dual(), part_blocks(problem), part_blocks(problem)
    for blocks in (compiled, plain):
        blocks.reset(problem.lam, capacity=4 if step != "fw" else 0)
    vertices = [int(rng.integers(len(outputs))) for outputs in problem.outputs]
    labels = np.concatenate([o[c] for o, c in zip(problem.outputs, vertices)]).astype(np.int32)
    for blocks in (compiled, plain):
        blocks.step_towards(labels, 0.4)
        blocks.refresh()
    slow.step_towards(vertices, 0.4)
    for i in np.concatenate([rng.permutation(len(problem.targets)) for _ in range(6)]):
        if not slow.visit(i, step, None, compiled.max_loss):
            continue
        visit_blocks(compiled, np.array([i]), np.zeros(1), rules)
        visit_blocks.plain(plain, np.array([i]), np.zeros(1), rules)
        for blocks in (compiled, plain):
            np.testing.assert_allclose(blocks.v, slow.v, **CLOSE)
            np.testing.assert_allclose(blocks.loss, slow.loss, **CLOSE)
    for blocks in (compiled, plain):
        blocks.refresh()
        np.testing.assert_allclose(blocks.v, slow.v, **CLOSE)
        blocks.scale(0.5)
        blocks.lam *= 0.5
        blocks.refresh()
        np.testing.assert_allclose(blocks.v, slow.v, **CLOSE)


@pytest.mark.slow
def test_costs_of_each_kind_of_node(rng):
    """A matrix of costs per kind trains and judges."""
    _, X, y = make_kinds(rng)
    of_tags = np.array([[0.0, 1.0, 4.0], [0.5, 0.0, 1.0], [2.0, 1.0, 0.0]])
    of_labels = np.array([[0.0, 3.0], [1.0, 0.0]])
    problem = listed(Kinds(), X, y)
    losses = [
        np.array([
            of_tags[list(truth[:-1]), list(states[:-1])].sum() + of_labels[truth[-1], states[-1]]
            for states in outputs
        ])
        for truth, outputs in zip(y, problem.outputs)
    ]  # fmt: skip
    value = solve_structured_svm(problem.psi, losses, problem.weight, problem.lam)[1]
    svm = StructuredSVM(
        Kinds(MatrixLoss([of_tags, of_labels])), solver="bcpfw", C=1.0, tol=1e-3, max_iter=5000
    ).fit(X, y)
    assert svm.converged_
    assert svm.dual_objective_ <= value <= svm.objective_ <= value * 1.001
    judged = [
        own[outputs.index(tuple(predicted.tolist()))]
        for own, outputs, predicted in zip(losses, problem.outputs, svm.predict(X))
    ]
    np.testing.assert_allclose(svm.loss(X, y), judged, rtol=1e-12)


@pytest.mark.slow
@budget_may_end
def test_tables_keep_their_symmetry():
    rng = np.random.default_rng(0)
    for cls, signs in ((Grid, [1]), (Directions, [-1, None])):
        model, X, y = make_grids(cls, rng)
        svm = StructuredSVM(model, solver="bcfw", C=1.0, max_iter=20, tol=0.0).fit(X, y)
        for tables, sign in zip(svm.feature_weights()["edges"], signs, strict=True):
            assert np.any(tables != 0.0)
            if sign is not None:
                np.testing.assert_allclose(tables, sign * tables.transpose(0, 2, 1), atol=1e-12)


# ---- which oracle --------------------------------------------------------------------------------


class Cycle(PartModel):
    def parts(self, x):
        t = np.arange(len(x))
        return x, np.stack([t, np.roll(t, -1)], axis=1)


def oracle_of(n_nodes, cls=Cycle, task_loss="auto"):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n_nodes, 2)) for _ in range(3)]
    y = [rng.integers(2, size=n_nodes) for _ in X]
    return type(cls(task_loss).initialize(X, y).default_oracle())


def test_automatic_oracles():
    assert oracle_of(6, Line) is TreeMaxProduct
    assert oracle_of(6) is Enumeration  # few enough for compiled code to list them
    assert oracle_of(30) is Elimination  # a cycle is easy
    assert oracle_of(14, task_loss="zero_one") is Enumeration  # which finds the second best, too


def test_large_grids_get_bounds():
    model = Grid().initialize([np.zeros((40, 40, 1))], [np.zeros((40, 40), int)])
    assert type(model.default_oracle()) is BestOf


@budget_may_end
def test_a_tree_oracle_refuses_the_cycle_of_one_sample(rng):
    X = [(rng.normal(size=(3, 2)), np.array([[0, 1], [1, 2]])) for _ in range(2)]
    X[1] = X[1][0], np.array([[0, 1], [1, 2], [2, 0]])
    y = [np.array([0, 1, 1]), np.array([1, 0, 1])]
    with pytest.raises(ValueError, match="TreeMaxProduct needs edges without a cycle"):
        StructuredSVM(Tree(), oracle="tree").fit(X, y)
    with pytest.raises(ValueError, match="Viterbi"):
        StructuredSVM(Tree(), oracle=Viterbi()).fit(X, y)
    svm = StructuredSVM(Tree(), C=1.0, max_iter=5).fit(X, y)
    assert isinstance(svm.oracle_, Enumeration)


def test_states_that_a_kind_of_node_lacks(rng):
    model, X, y = make_kinds(rng)
    model.initialize(X, y)
    wrong = [np.append(y[0][:-1], 2), *y[1:]]
    with pytest.raises(ValueError, match="y has the state 2 at a node with 2 states"):
        model._build_parts(X, wrong, np.full(5, 0.2))


@pytest.mark.parametrize(
    "symmetry, message",
    [("odd", "edge_symmetry must be one of"), (("free", "symmetric"), "names 2 kinds of edges")],
)
def test_symmetry_of_edges(symmetry, message):
    cls = type("Other", (Line,), {"edge_symmetry": symmetry})
    with pytest.raises(ValueError, match=message):
        StructuredSVM(cls()).fit([np.eye(3)], [[0, 1, 0]])


def test_extragradient_needs_plain_tables():
    model, X, y = make_grids(Grid, np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs one table of weights for each edge"):
        StructuredSVM(model, solver="extragradient", C=1.0).fit(X, y)
