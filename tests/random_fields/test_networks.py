"""Bayesian networks from BIF files and from objects of other packages."""

from types import SimpleNamespace

import numpy as np
import pytest

from sklearn_fw.random_fields import ExactMarginals, FactorGraph, PairwiseMRF, load_bif, save_bif

DOG = """
// The dog problem, with what writers of such files do.
network "Dog Problem" { property author nobody, 2 + 3; }
variable light-on { type discrete [ 2 ] { true, false }; property position = (218, 195); }
variable family-out { type discrete[2] { "true" "false" }; }
variable bowel { type discrete [ 3 ] { none, <5, >=5.5 }; }
/* comments
   of two lines */
variable dog { type discrete [ 2 ] { true, false }; }
probability ( family-out ) { table 0.15 0.85; }
probability ( bowel ) { table 0.9, 0.09, 1e-2; }
probability ( light-on | family-out ) { table 0.6, 0.05, 0.4, 0.95; }
probability ( dog | bowel, family-out ) {
  (none, true) 0.9, 0.1;
  (none, false) 0.3, 0.7;
  (<5, "true") 0.99 0.01;
  default 0.97, 0.03;
}
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="net.bif"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_file_with_all_forms(write):
    graph = load_bif(write(DOG))
    assert graph.names == ["light-on", "family-out", "bowel", "dog"]
    assert graph.state_names[2] == ["none", "<5", ">=5.5"]
    exact = ExactMarginals().fit(graph)
    assert exact.log_partition_ == pytest.approx(0.0, abs=1e-12)
    named = exact.named_marginals()
    assert named["light-on"]["true"] == pytest.approx(0.15 * 0.6 + 0.85 * 0.05)
    expected = 0.9 * (0.15 * 0.9 + 0.85 * 0.3)
    expected += 0.09 * (0.15 * 0.99 + 0.85 * 0.97) + 0.01 * 0.97
    assert named["dog"]["true"] == pytest.approx(expected)
    seen = ExactMarginals().fit(graph.condition({"light-on": "true"}))
    assert np.exp(seen.log_partition_) == pytest.approx(0.1325)  # probability of the evidence
    assert seen.named_marginals()["family-out"]["true"] == pytest.approx(0.09 / 0.1325)


def random_network(rng, n=8):
    """A network on a random order of variables with up to three parents each, in random order."""
    n_states, order = rng.integers(1, 4, n), rng.permutation(n)
    factors = []
    for place, child in enumerate(order):
        parents = rng.permutation(order[:place])[: rng.integers(4)]
        scope = [int(i) for i in (child, *parents)]
        table = rng.dirichlet(np.ones(n_states[child]), size=tuple(n_states[scope[1:]]))
        table = np.moveaxis(table, -1, 0)
        if rng.random() < 0.3:
            table = np.full(table.shape, 1.0 / len(table))  # speaks for each of its variables
        axes = rng.permutation(len(scope))
        factors.append(([scope[a] for a in axes], np.log(table.transpose(axes))))
    return FactorGraph(n_states, [factors[i] for i in rng.permutation(n)])


def test_what_is_written_is_read_again(tmp_path, write, rng):
    path = tmp_path / "again.bif"
    dog = load_bif(write(DOG))
    save_bif(dog, path)
    again = load_bif(path)
    assert again.names == dog.names
    assert again.state_names == dog.state_names
    assert again.scopes == dog.scopes
    np.testing.assert_allclose(again.theta, dog.theta, rtol=1e-13)
    for _ in range(50):
        graph = random_network(rng)
        save_bif(graph, path)
        again = load_bif(path)
        assert again.names == list(map(str, range(8)))
        X = np.array([rng.integers(graph.n_states) for _ in range(20)])
        np.testing.assert_allclose(again.score(X), graph.score(X), rtol=1e-12, atol=1e-12)


def test_other_fields_and_names_are_not_written(tmp_path, write, rng):
    path = tmp_path / "none.bif"
    dog = load_bif(write(DOG))
    others = [
        dog.condition({"light-on": "true"}),
        FactorGraph([2, 2], [([0, 1], rng.normal(size=(2, 2)))]),
        FactorGraph([2, 2], [([0], np.log([0.5, 0.5])), ([1], np.log([0.5, 0.5]))], constant=1.0),
        PairwiseMRF(np.log([[0.5, 0.5]] * 2), [(0, 1)], [rng.normal(size=(2, 2))]),
        FactorGraph([2, 2, 2], [([i, (i + 1) % 3], np.full((2, 2), -np.log(2))) for i in range(3)]),
    ]
    for graph in others:
        with pytest.raises(ValueError, match="graph must be a Bayesian network"):
            save_bif(graph, path)
    quoted = FactorGraph([2], [([0], np.log([0.5, 0.5]))], names=["two words"])
    save_bif(quoted, path)
    assert load_bif(path).names == ["two words"]
    quoted.names = ['a "quote"']
    with pytest.raises(ValueError, match="which no BIF file can hold"):
        save_bif(quoted, path)
    quoted = FactorGraph([1, 1], names=["a", "a"])
    with pytest.raises(ValueError, match="two variables of one name"):
        save_bif(quoted, path)
    with pytest.raises(TypeError, match=r"graph must be a FactorGraph, got \d"):
        save_bif(3, path)


A = "network n { }\nvariable a { type discrete [ 2 ] { x, y }; }\n"
B = A + "variable b { type discrete [ 2 ] { u, v }; }\nprobability ( a ) { table 0.5, 0.5; }\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the file declares no variable"),
        ("network n {", "line 1: the file ends where an entry or its end should be"),
        ("nonsense", r"line 1: expected one of .*'probability', 'variable'\], got 'nonsense'"),
        (
            A + "variable a { type discrete [ 2 ] { x, y }; }",
            "line 3: variable 'a' is declared twi",
        ),
        (A + "variable b { type continuous; }", "line 3: variable 'b' must be discrete, got 'cont"),
        (A + "variable b { type discrete [ 3 ] { x, y }; }", "line 3: variable 'b' must have '3' "),
        (A + "variable b { type discrete [ 2 ] { x, x }; }", "line 3: variable 'b' has two states"),
        (A + "variable b { }", "line 3: variable 'b' has no type"),
        (A, "line 2: variable 'a' has no probabilities"),
        (A + "probability ( c ) { table 1; }", "line 3: variable 'c' is not declared before"),
        (A + "probability ( a ) { table 0.5; }", "line 3: the probabilities of 'a' must be 2 numb"),
        (A + "probability ( a ) { table 0.5, x; }", "line 3: the probabilities of 'a' must be num"),
        (
            A + "probability ( a ) { table 0.5, -0.5; }",
            "line 3: the probabilities of 'a' must be n",
        ),
        (A + "probability ( a ) { table 0.5, 1_0; }", "line 3: the probabilities of 'a' must be n"),
        (A + "probability ( a ) { table 0.5, 0.7; }", "line 3: the probabilities of 'a' must sum "),
        (
            B + "probability ( a ) { table 0.5, 0.5; }",
            "line 5: variable 'a' has probabilities alre",
        ),
        (B + "probability ( b | b ) { }", "line 5: the probabilities of 'b' name 'b' twice"),
        (B + "probability ( b | a ) { (x) 0.5, 0.5; }", r"line 5: the probabilities of 'b' lack "),
        (B + "probability ( b | a ) { (z) 0.5, 0.5; }", "line 5: variable 'a' has no state 'z'"),
        (B + "probability ( b | a ) { (x, y) 1, 0; }", "line 5: a row must name 1 states of pare"),
        (B + "probability ( b | a ) { (x) 1; }", "line 5: a row of the probabilities of 'b' must "),
        (B + "probability ( b | a ) { rows 1; }", "line 5: expected one of"),
        (B + "probability ( b | ; ) { }", "line 5: expected the name of a variable, got ';'"),
        (
            B.replace("( a )", "( a | b )").replace("0.5, 0.5", "0.5, 0.5, 0.5, 0.5")
            + "probability ( b | a ) { default 0.5, 0.5; }",
            "line 5: parents must not form a cycle, got a -> b -> a",
        ),
        (A + 'variable "b', "line 3: a quotation mark or comment has no end"),
        (A + "/* b", "line 3: expected one of .*, got '/\\*'"),
    ],
)
def test_malformed_files(text, message, write):
    path = write(text)
    with pytest.raises(ValueError, match=message) as error:
        load_bif(path)
    assert str(error.value).startswith(f"{path}, line ")


def table(variables, values, states):
    return SimpleNamespace(
        variables=variables, values=np.asarray(values), state_names=dict(zip(variables, states))
    )


def test_networks_of_pgmpy_by_their_methods():
    rain = table(["rain"], [0.2, 0.8], [["yes", "no"]])
    wet = table(["wet", "rain"], [[0.9, 0.0], [0.1, 1.0]], [[True, False], ["yes", "no"]])
    model = SimpleNamespace(get_cpds=lambda: [rain, wet], nodes=lambda: ["rain", "wet"])
    graph = FactorGraph.from_pgmpy(model)
    assert (graph.names, graph.state_names[1]) == (["rain", "wet"], ["True", "False"])
    assert graph.score([[1, 0]])[0] == -np.inf
    seen = ExactMarginals().fit(graph.condition({"wet": "False"}))
    assert seen.named_marginals()["rain"]["yes"] == pytest.approx(0.02 / 0.82)
    assert isinstance(PairwiseMRF.from_pgmpy(model), PairwiseMRF)
    factors = SimpleNamespace(get_factors=lambda: [wet])
    assert FactorGraph.from_pgmpy(factors).names == ["wet", "rain"]


def test_networks_of_pgmpy_with_gaps():
    rain = table(["rain"], [0.2, 0.8], [["yes", "no"]])
    model = SimpleNamespace(get_cpds=lambda: [rain], nodes=lambda: ["rain", "wet"])
    with pytest.raises(ValueError, match="model has no table on variable 'wet'"):
        FactorGraph.from_pgmpy(model)
    other = table(["rain"], [0.2, 0.8], [["no", "yes"]])
    with pytest.raises(ValueError, match="model names the states of 'rain' in two ways"):
        FactorGraph.from_pgmpy(SimpleNamespace(get_factors=lambda: [rain, other]))
    negative = table(["rain"], [-0.2, 1.2], [["yes", "no"]])
    with pytest.raises(ValueError, match=r"must hold numbers >= 0, got -0\.2"):
        FactorGraph.from_pgmpy(SimpleNamespace(get_factors=lambda: [negative]))


@pytest.mark.parametrize("reader", [FactorGraph.from_pgmpy, FactorGraph.from_pyagrum])
@pytest.mark.parametrize("model", [None, 3, dict])
def test_what_is_no_network(reader, model):
    with pytest.raises(TypeError, match="model must be a network of "):
        reader(model)


def test_real_networks_of_pgmpy(extra):
    models = extra("bench", "pgmpy.models")
    discrete = extra("bench", "pgmpy.factors.discrete")
    kind = getattr(models, "DiscreteBayesianNetwork", None) or models.BayesianNetwork
    model = kind([("rain", "wet")])
    names = {"rain": ["yes", "no"], "wet": ["a", "b"]}
    model.add_cpds(
        discrete.TabularCPD("rain", 2, [[0.2], [0.8]], state_names={"rain": names["rain"]}),
        discrete.TabularCPD("wet", 2, [[0.9, 0.1], [0.1, 0.9]], ["rain"], [2], state_names=names),
    )
    seen = ExactMarginals().fit(FactorGraph.from_pgmpy(model).condition({"wet": "a"}))
    assert seen.named_marginals()["rain"]["yes"] == pytest.approx(0.18 / 0.26)


def test_networks_of_pyagrum(extra):
    gum = extra("bench", "pyagrum")
    network = gum.fastBN("a{yes|no}->b[3]<-c->d[4]<-a")
    graph = FactorGraph.from_pyagrum(network)
    assert graph.state_names[graph.names.index("a")] == ["yes", "no"]
    inference = gum.LazyPropagation(network)
    inference.setEvidence({"b": 2})
    inference.makeInference()
    exact = ExactMarginals().fit(graph.condition({"b": 2}))
    assert np.exp(exact.log_partition_) == pytest.approx(inference.evidenceProbability(), rel=1e-5)
    for name, block in exact.named_marginals().items():
        expected = inference.posterior(name).toarray()
        np.testing.assert_allclose(list(block.values()), expected, rtol=1e-5)


class Tensor:
    """A table of pyAgrum: the first variable changes fastest."""

    def __init__(self, names, values):
        self.names, self._values = names, np.asarray(values)

    def toarray(self):
        return self._values


class Variable:
    def __init__(self, name, labels):
        self.name, self.labels = (lambda: name), (lambda: labels)


def test_markov_fields_of_pyagrum_by_their_methods():
    table = np.arange(1.0, 7.0).reshape(3, 2)
    model = SimpleNamespace(
        nodes=lambda: {0, 1},
        variable=[Variable("a", ("x", "y")), Variable("b", ("0", "1", "2"))].__getitem__,
        factors=lambda: [{0, 1}],
        factor=lambda scope: Tensor(("a", "b"), table),
    )
    graph = FactorGraph.from_pyagrum(model)
    np.testing.assert_allclose(np.exp(graph.tables[0]), table.T)
    assert graph.state_names == [["x", "y"], ["0", "1", "2"]]


@pytest.mark.parametrize(
    "n_parents, message", [(25, "67,108,864 entries"), (33, "on 34 variables, at most 32")]
)
def test_defaults_do_not_stand_for_any_number_of_rows(n_parents, message, write):
    lines = [f"variable v{i} {{ type discrete [ 2 ] {{ a, b }}; }}" for i in range(n_parents + 1)]
    parents = ", ".join(f"v{i}" for i in range(1, n_parents + 1))
    lines.append(f"probability ( v0 | {parents} ) {{ default 0.5, 0.5; }}")
    with pytest.raises(ValueError, match=rf"line {len(lines)}.*{message}"):
        load_bif(write("\n".join(lines)))
