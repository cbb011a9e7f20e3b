"""NodeTransformer against the transformer itself on stacked rows."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from sklearn_fw.preprocessing import NodeTransformer
from sklearn_fw.utils import Packed

LENGTHS = [3, 0, 1, 4]


def words(kind=np.asarray, lengths=LENGTHS, width=2):
    rng = np.random.default_rng(0)
    return [kind(rng.normal(size=(n, width))) for n in lengths]


def dense(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array, np.ndarray.tolist])
def test_equals_the_transformer_on_stacked_rows(kind):
    X = words(kind)
    if kind is np.ndarray.tolist:
        X = [x for x in X if len(x)]  # an empty list has no width of its own
    table = np.concatenate([dense(x) for x in X])
    expected = MaxAbsScaler().fit_transform(table)
    node = NodeTransformer(MaxAbsScaler())
    for out in (node.fit_transform(X), node.fit(X).transform(X)):
        assert isinstance(out, np.ndarray)
        assert out.shape == (len(X),)
        assert [o.shape[0] for o in out] == [dense(x).shape[0] for x in X]
        np.testing.assert_allclose(np.concatenate([dense(o) for o in out]), expected, rtol=1e-12)
        if kind in (sp.csr_matrix, sp.csr_array):
            assert all(o.format == "csr" for o in out)
    np.testing.assert_array_equal(node.transformer_.scale_, np.abs(table).max(axis=0))
    assert node.n_features_in_ == 2
    assert not hasattr(node, "feature_names_in_")
    back = node.inverse_transform(out)
    np.testing.assert_allclose(np.concatenate([dense(b) for b in back]), table, rtol=1e-12)


def test_equal_lengths_stay_an_object_array():
    X = np.zeros((3, 2, 2)) + np.arange(3)[:, None, None]  # a 3-D array is a list of samples too
    out = NodeTransformer(StandardScaler()).fit_transform(X)
    assert out.shape == (3,)
    assert out.dtype == object
    assert out[0].shape == (2, 2)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_packed_stays_packed(kind):
    X = Packed.from_list(words(kind))
    node = NodeTransformer(StandardScaler(with_mean=False)).fit(X)
    out = node.transform(X[[3, 0]])
    assert isinstance(out, Packed)
    assert out.values.shape == (7, 2)
    expected = node.transform(list(X))
    np.testing.assert_array_equal(dense(out[0]), dense(expected[3]))
    assert isinstance(node.fit_transform(X), Packed)
    assert isinstance(node.inverse_transform(out), Packed)


def test_tokens_as_dicts():
    X = [[{"w": "a", "n": 1}, {"w": "b"}], [], [{"w": "b"}]]
    out = NodeTransformer(DictVectorizer()).fit_transform(X)
    np.testing.assert_array_equal(out[0].toarray(), [[1, 1, 0], [0, 0, 1]])
    assert out[1].shape == (0, 3)
    np.testing.assert_array_equal(out[2].toarray(), [[0, 0, 1]])
    assert NodeTransformer(DictVectorizer()).fit(X).get_feature_names_out().tolist() == [
        "n",
        "w=a",
        "w=b",
    ]


def test_tokens_as_lists_or_tuples_of_strings():
    hasher = FeatureHasher(n_features=16, input_type="string")
    X = [[["w=a", "p=b"], ["w=c"]], [["w=a"]]]
    tuples = [[tuple(token) for token in sentence] for sentence in X]
    expected = hasher.transform([token for sentence in X for token in sentence]).toarray()
    for sentences in (X, tuples):
        out = NodeTransformer(hasher).fit_transform(sentences)
        np.testing.assert_array_equal(np.vstack([o.toarray() for o in out]), expected)
    counter = CountVectorizer(analyzer=lambda token: token)
    assert NodeTransformer(counter).fit_transform(tuples)[1].toarray().tolist() == [[0, 1, 0]]


def test_plain_strings_as_tokens():
    X = [["the", "cat"], ["the"]]
    for sentences in (X, [np.array(x) for x in X], Packed.from_list(X)):
        out = NodeTransformer(CountVectorizer()).fit_transform(sentences)
        np.testing.assert_array_equal(out[0].toarray(), [[0, 1], [1, 0]])


class Graph(NamedTuple):
    nodes: np.ndarray
    edges: np.ndarray
    name: str


@pytest.mark.parametrize("make", [Graph, lambda *parts: parts])
@pytest.mark.parametrize("part", [0, 1, -2])
def test_part_of_a_tuple(make, part):
    nodes, edges = words(lengths=[2, 3]), words(lengths=[1, 4], width=1)
    X = [make(n, e, "name") for n, e in zip(nodes, edges)]
    out = NodeTransformer(StandardScaler(), part=part).fit_transform(X)
    changed, kept = (0, 1) if part == 0 else (1, 0)
    table = np.concatenate([x[changed] for x in X])
    expected = StandardScaler().fit_transform(table)
    assert all(type(o) is type(x) for o, x in zip(out, X))
    np.testing.assert_allclose(np.concatenate([o[changed] for o in out]), expected, rtol=1e-12)
    assert all(o[kept] is x[kept] for o, x in zip(out, X))
    assert out[0][2] == "name"


def test_data_frames():
    pd = pytest.importorskip("pandas")
    X = [
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=["r", "s"]),
        pd.DataFrame({"a": [3.0], "b": ["x"]}, index=["t"]),
        pd.DataFrame({"a": [], "b": []}),
    ]
    node = NodeTransformer(OneHotEncoder(sparse_output=False)).set_output(transform="pandas")
    out = node.fit_transform(X)
    assert [list(o.index) for o in out] == [["r", "s"], ["t"], []]
    assert out[0].columns.tolist() == ["a_1.0", "a_2.0", "a_3.0", "b_x", "b_y"]
    assert node.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"data frame of sample 1 has columns.*same columns"):
        node.fit([X[0], X[1][["b", "a"]]])


def test_set_output_makes_frames_of_arrays():
    pytest.importorskip("pandas")
    for X in (words(), Packed.from_list(words())):
        node = NodeTransformer(StandardScaler()).set_output(transform="pandas").fit(X)
        out = node.transform(X)
        assert out[3].columns.tolist() == ["x0", "x1"]
        assert out[3].index.tolist() == [0, 1, 2, 3]
        assert node.set_output(transform="default").transform(X)[3].shape == (4, 2)


def test_sample_weight_is_repeated_for_nodes():
    X, weight = words(lengths=[3, 1, 2]), [1.0, 2.0, 3.0]
    copies = [X[0], X[1], X[1], X[2], X[2], X[2]]
    expected = StandardScaler().fit(np.concatenate(copies))
    node = NodeTransformer(StandardScaler())
    node.fit(X, sample_weight=weight)
    np.testing.assert_allclose(node.transformer_.mean_, expected.mean_, rtol=1e-12)
    node.fit_transform(X, sample_weight=weight)
    np.testing.assert_allclose(node.transformer_.var_, expected.var_, rtol=1e-12)
    with pytest.raises(ValueError, match="sample_weight must have one value for each of the 3"):
        node.fit(X, sample_weight=np.ones(6))


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_metadata_routing(method):
    X, weight = words(lengths=[3, 1, 2]), np.array([1.0, 2.0, 3.0])
    expected = StandardScaler().fit(np.concatenate(X), sample_weight=np.repeat(weight, [3, 1, 2]))
    with config_context(enable_metadata_routing=True):
        asked = NodeTransformer(StandardScaler().set_fit_request(sample_weight=True))
        pipeline = make_pipeline(asked, FunctionTransformer())
        getattr(pipeline, method)(X, sample_weight=weight)
        np.testing.assert_allclose(pipeline[0].transformer_.mean_, expected.mean_, rtol=1e-12)
        refused = NodeTransformer(StandardScaler().set_fit_request(sample_weight=False))
        with pytest.raises(TypeError, match="sample_weight"):
            getattr(refused, method)(X, sample_weight=weight)
        asked.fit(X)  # no metadata is fine


class TransformOnly(BaseEstimator):
    """A transformer without fit_transform."""

    def fit(self, X, y=None):
        self.n_ = len(X)
        return self

    def transform(self, X):
        return X + self.n_

    def get_feature_names_out(self, input_features=None):
        return np.array(["sum"])


def test_a_transformer_without_fit_transform():
    node = NodeTransformer(TransformOnly())
    assert node.fit_transform([np.zeros((2, 1))])[0].tolist() == [[2.0], [2.0]]
    assert not hasattr(node, "inverse_transform")
    assert node.get_feature_names_out().tolist() == ["sum"]


def test_targets_reach_transformers_that_need_them():
    X, y = words(lengths=[5, 6]), [np.arange(5) % 2, np.arange(6) % 2]
    for inner in (SelectKBest(k=1), LinearDiscriminantAnalysis()):
        expected = clone(inner).fit(np.concatenate(X), np.concatenate(y))
        out = NodeTransformer(inner).fit(X, y).transform(X)
        np.testing.assert_array_equal(np.concatenate(out), expected.transform(np.concatenate(X)))


class CrossFitted(TransformOnly):
    """Its fit_transform is not fit().transform(), as that of TargetEncoder."""

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X) + 100


def test_fit_transform_is_one_pass():
    node = NodeTransformer(CrossFitted())
    assert node.fit_transform([np.zeros((2, 1))])[0].tolist() == [[102.0], [102.0]]
    assert node.transform([np.zeros((1, 1))])[0].tolist() == [[2.0]]


@pytest.mark.parametrize(
    "y", [[0, 1], [[0], [1, 0]], ["abcde", "abcdef"], [np.eye(2)] * 2, [([0] * 5, [0])] * 2]
)
def test_targets_that_are_not_per_node_are_left_out(y):
    X = words(lengths=[5, 6])
    node = NodeTransformer(StandardScaler()).fit(X, y)
    np.testing.assert_allclose(node.transformer_.mean_, np.concatenate(X).mean(axis=0), rtol=1e-12)
    for method in ("fit", "fit_transform"):
        with pytest.raises(ValueError, match="requires y to be passed") as caught:
            getattr(NodeTransformer(SelectKBest(k=1)), method)(X, y)
        assert "y has not one label for each node" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("X", "part", "error", "message"),
    [
        ([], 0, ValueError, "X holds no sample"),
        ([np.zeros((0, 2))], 0, ValueError, "X holds 1 samples and no node"),
        ([[], []], 0, ValueError, "no node"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], 0, ValueError, r"sample 1 has rows of shape \(3,\)"),
        ([np.zeros((1, 2)), [[0, 0]]], 0, ValueError, "nodes of sample 1 are a list, those"),
        ([np.zeros((1, 2)), (np.zeros((1, 2)),)], 0, ValueError, "sample 0 is not a tuple but"),
        ([(np.zeros((1, 2)),)], 1, ValueError, "part=1 but sample 0 is a tuple of 1 parts"),
        ([{"w": "a"}], 0, TypeError, "nodes of sample 0 are a dict: use an array"),
        (["abc"], 0, TypeError, "nodes of sample 0 are a str"),
    ],
)  # fmt: skip
def test_wrong_samples_are_refused(X, part, error, message):
    with pytest.raises(error, match=message):
        NodeTransformer(StandardScaler(), part=part).fit(X)


def test_a_transformer_must_keep_the_rows():
    drop = NodeTransformer(FunctionTransformer(lambda X: X[1:]))
    with pytest.raises(ValueError, match="turned 8 nodes into 7 rows"):
        drop.fit_transform(words())


class LengthModel(BaseEstimator):
    """Final step of a pipeline that needs ragged input."""

    def __init__(self, power=1):
        self.power = power

    def fit(self, X, y):
        self.width_ = X[0].shape[1]
        return self

    def predict(self, X):
        out = np.empty(len(X), dtype=object)
        for i, x in enumerate(X):
            out[i] = np.full(len(x), x.shape[1])
        return out


def predicted_width(y_true, y_pred):
    return float(y_pred[0][0])


def test_in_pipeline_and_grid_search():
    X, y = words(lengths=[3, 1, 2, 4, 2, 5], width=3), [np.zeros(n) for n in [3, 1, 2, 4, 2, 5]]

    pipeline = make_pipeline(NodeTransformer(PCA()), LengthModel())
    grid = GridSearchCV(
        pipeline,
        {"nodetransformer__transformer__n_components": [1, 2]},
        scoring=make_scorer(predicted_width),
        cv=2,
    ).fit(X, y)
    assert grid.best_params_ == {"nodetransformer__transformer__n_components": 2}
    restored = pickle.loads(pickle.dumps(grid))
    assert [len(p) for p in restored.predict(X)] == [3, 1, 2, 4, 2, 5]


def test_node_transformer_is_shown_in_notebooks():
    for node in (NodeTransformer(StandardScaler()), NodeTransformer(StandardScaler()).fit(words())):
        assert "StandardScaler" in node._repr_html_()
        assert "StandardScaler" in repr(node)
