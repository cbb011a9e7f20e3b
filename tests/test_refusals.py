"""Calls that were accepted in silence, or refused without a name, in several families."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import StandardScaler

from sklearn_fw import AsagaClassifier, TRWMarginals, regularization_path
from sklearn_fw.inference import (
    ICM,
    MILP,
    TRWS,
    Assignment,
    BranchAndBound,
    CutMoves,
    Elimination,
    Enumeration,
    IteratedLocalSearch,
)
from sklearn_fw.metrics import (
    SCORERS,
    alignment_error_rate,
    mean_hamming_loss,
    node_accuracy,
    phrase_classification_report,
    phrase_counts,
    phrase_f1_score,
    sequence_accuracy,
)
from sklearn_fw.model_selection import RegularizationPathDisplay, cross_validate_path
from sklearn_fw.penalties import GroupLasso, L2Ball, Simplex
from sklearn_fw.preprocessing import (
    ChunkingFeatures,
    NodeTransformer,
    TokenFeatures,
    crfsuite_chunking_attributes,
)
from sklearn_fw.random_fields import (
    ExactMarginals,
    MRFLearner,
    PairwiseMRF,
    PerturbAndMAPMarginals,
    trw_objective,
)

TAGS = [["B-NP", "O"], ["O"]]
FIELD = PairwiseMRF([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], np.eye(2))
TABLE = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])


def refused(call, *words, kinds=(ValueError, TypeError)):
    """The call raises with all words in its message, and nothing from inside."""
    with pytest.raises(kinds) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "label", [None, np.nan, float("nan"), [], ("B-NP",), {}, np.datetime64("NaT")]
)
@pytest.mark.parametrize(
    "metric", [node_accuracy, sequence_accuracy, mean_hamming_loss, phrase_counts, phrase_f1_score]
)
def test_what_is_no_label(metric, label):
    for name, pair in (
        ("y_true", ([["O", label], ["O"]], TAGS)),
        ("y_pred", (TAGS, [["O", label], ["O"]])),
    ):
        refused(lambda pair=pair: metric(*pair), name)


def test_missing_labels_are_located():
    refused(
        lambda: node_accuracy([[1.0], [0.0, np.nan]], [[1], [0, 1]]), "token 1 of sample 1 of y_tr"
    )


@pytest.mark.parametrize(
    "y", [None, 3, "O", b"O", np.array(3), {"a": 1}, [], [3], [None], [[[1], [1, 2]]]]
)
def test_what_is_no_list_of_labels(y):
    for metric in (node_accuracy, sequence_accuracy, mean_hamming_loss, phrase_counts):
        refused(lambda metric=metric: metric(y, TAGS), "y_true")
    refused(lambda: alignment_error_rate(y or None, y or None, [[(0, 0)]]), "y_sure")


@pytest.mark.parametrize(
    "weight",
    [
        "ab",
        [1.0, None],
        [1.0, "a"],
        [1.0, np.nan],
        [1.0, -1.0],
        [1 + 1j, 1.0],
        [[1.0, 1.0]],
        [1.0],
        np.ma.masked_array([1.0, 2.0], [True, False]),
        [0.0, 0.0],
        [1e308, 1e308],
    ],
)
def test_weights_of_a_wrong_kind(weight):
    for metric in (node_accuracy, sequence_accuracy, mean_hamming_loss, phrase_f1_score):
        refused(lambda metric=metric: metric(TAGS, TAGS, sample_weight=weight), "ample")
    refused(lambda: ExactMarginals().fit(TABLE[:2], sample_weight=weight), "ample")
    words = [np.ones((2, 1)), np.ones((1, 1))]
    refused(lambda: NodeTransformer(StandardScaler()).fit(words, sample_weight=weight), "ample")


def test_options_of_metrics():
    refused(lambda: phrase_f1_score(TAGS, TAGS, average=np.array([1, 2])), "average")
    refused(lambda: phrase_f1_score(TAGS, TAGS, zero_division="warn"), "zero_division")
    refused(lambda: mean_hamming_loss(TAGS, TAGS, normalize=np.array([1, 2])), "normalize")
    for digits in (-1, 2.5, "3", 10**30):
        refused(lambda d=digits: phrase_classification_report(TAGS, TAGS, digits=d), "digits")
    for scorer in SCORERS.values():
        refused(lambda s=scorer: s(Reader(), [1, 2], [["O"], [None]]), "y_true")


class Reader(BaseEstimator):
    """Predicts outside every phrase."""

    def predict(self, X):
        return [["O"]] * len(X)


class TestPreprocessing:
    @pytest.mark.parametrize("transformer", [None, "scale", 3, StandardScaler, np.nan])
    def test_transformers(self, transformer):
        refused(lambda: NodeTransformer(transformer).fit([np.ones((2, 1))]), "transformer must be")

    @pytest.mark.parametrize("X", [None, np.nan, 3, "abc", np.array(3.0), {}])
    def test_samples(self, X):
        for made in (NodeTransformer(StandardScaler()), TokenFeatures(), ChunkingFeatures()):
            refused(lambda made=made: made.fit(X), "X must be a list of")
        refused(lambda: NodeTransformer(StandardScaler()).fit([X]), "sample 0")

    def test_nodes_that_the_transformer_cannot_take(self):
        refused(
            lambda: NodeTransformer(DictVectorizer()).fit([[{"a": 1}, None]]),
            "DictVectorizer cannot take the nodes of X",
        )
        pair = [(np.ones((2, 1)), 0)]
        for part in (None, 1.0, "0", True):
            refused(lambda p=part: NodeTransformer(StandardScaler(), part=p).fit(pair), "part must")

    @pytest.mark.parametrize("token", [None, np.nan, 3, b"a", [], {}, np.array("a"), ("a", None)])
    def test_tokens(self, token):
        refused(lambda: ChunkingFeatures().fit([[("a", "N"), token]]), "X")
        fitted = ChunkingFeatures().fit([[("a", "N")]])
        refused(lambda: fitted.transform([[("a", "N"), token]]), "X")
        refused(lambda: crfsuite_chunking_attributes([("a", "N"), token]), "sentence")

    @pytest.mark.parametrize(
        "options, name",
        [
            ({"boundaries": "no"}, "boundaries"),
            ({"bias": None}, "bias"),
            ({"dtype": str}, "dtype"),
            ({"dtype": "x"}, "dtype"),
            ({"functions": 3}, "functions"),
            ({"fields": None}, "fields"),
            ({"functions": {"f": None}}, "functions"),
            ({"min_count": 1.5}, "min_count"),
            ({"templates": None}, "templates"),
            ({"templates": [(("w", 0.5),)]}, "templates"),
            ({"templates": [(("w", np.inf),)]}, "templates"),
            ({"templates": [None]}, "templates"),
            ({"templates": [(("w", 10**30),)]}, "templates"),
        ],
    )
    def test_parameters(self, options, name):
        refused(lambda: TokenFeatures(**options).fit([["a"]]), name)


ODD = [2.5, "3", b"3", np.nan, np.inf, None, [], 1 + 1j, np.array([1, 2])]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize(
    "oracle, name",
    [
        (CutMoves, "max_iter"),
        (ICM, "max_iter"),
        (TRWS, "max_iter"),
        (BranchAndBound, "max_iter"),
        (BranchAndBound, "node_iter"),
        (Elimination, "max_table_size"),
        (Enumeration, "max_labelings"),
        (IteratedLocalSearch, "n_rounds"),
    ],
)
def test_counts_of_oracles(oracle, name, value):
    refused(lambda: oracle(**{name: value}).argmax(FIELD.scores()), name)


@pytest.mark.parametrize(
    "value", ["1", b"1", np.nan, np.inf, -1.0, 0.0, [], 1 + 1j, np.array([1.0, 2.0])]
)
def test_time_limits(value):
    for oracle in (MILP, BranchAndBound, IteratedLocalSearch):
        refused(lambda o=oracle: o(time_limit=value).argmax(FIELD.scores()), "time_limit")
    refused(lambda: FIELD.map(time_limit=value), "time_limit")
    refused(lambda: TRWMarginals(oracle="trws", time_limit=value).fit(FIELD), "time_limit")


def test_a_fraction_is_a_number():
    assert MILP(time_limit=Fraction(7, 2)).argmax(FIELD.scores())[1] == FIELD.map().value


@pytest.mark.parametrize("value", ["no", None, 2, [], np.array([True, False])])
def test_flags(value):
    refused(lambda: Assignment(perfect=value).argmax(np.eye(2)), "perfect")
    refused(lambda: TRWMarginals(warm_start=value).fit(FIELD), "warm_start")


class TestFields:
    @pytest.mark.parametrize("oracle", [None, 3, np.eye(2), np.float64(1.0), "best", [], object()])
    def test_oracles_of_map(self, oracle):
        refused(lambda: FIELD.map(oracle), "oracle")

    @pytest.mark.parametrize(
        "start", [3, "ab", [0], [0, 2], [0, None], [[0], [1, 0]], [0.5, 0], [0, 10**30]]
    )
    def test_starts_of_map(self, start):
        refused(lambda: FIELD.map(start=start), "start")
        refused(lambda: FIELD.vertex(start), "labels")

    @pytest.mark.parametrize(
        "options, name",
        [
            ({"unary": None}, "unary"),
            ({"unary": 3}, "unary"),
            ({"unary": [["a"]]}, "unary[0]"),
            ({"unary": [[0.0, None]]}, "unary[0]"),
            ({"unary": [[1 + 1j]]}, "unary[0]"),
            ({"constant": None}, "constant"),
            ({"constant": "1"}, "constant"),
            ({"names": 3}, "names"),
            ({"constant": np.nan}, "constant"),
            ({"names": [1, 2]}, "names"),
            ({"edges": "ab"}, "edges"),
            ({"edges": [[0], [1, 0]]}, "edges"),
            ({"edges": [(0.0, 1.0)]}, "edges"),
            ({"pairwise": 3}, "pairwise"),
            ({"pairwise": [[[0.0, "a"], [0, 0]]]}, "pairwise[0]"),
        ],
    )
    def test_constructor(self, options, name):
        given = {"unary": np.zeros((2, 2)), "edges": [(0, 1)], "pairwise": np.eye(2), **options}
        refused(lambda: PairwiseMRF(**given), name)

    @pytest.mark.parametrize(
        "observed", [None, 3, [(0, 1)], {0: None}, {0: 0.5}, {None: 1}, {True: 1}]
    )
    def test_observations(self, observed):
        refused(lambda: FIELD.condition(observed), "observed")

    def test_vectors(self):
        for flat in (None, "ab", np.zeros(3), np.zeros(8, complex), [[0], [1, 2]]):
            refused(lambda f=flat: FIELD.factor_blocks(f), "flat")
            refused(lambda f=flat: FIELD.scores([] if f is None else f), "theta")
            refused(lambda f=flat: trw_objective(f, FIELD, [1.0]), "mu")
        refused(lambda: FIELD.flatten(np.zeros((2, 3)), np.zeros((1, 2, 2))), "edge must have")
        refused(lambda: trw_objective(np.full(8, 0.5), None, [1.0]), "mrf must be a PairwiseMRF")


@pytest.mark.parametrize(
    "estimator", [ExactMarginals(), TRWMarginals(), PerturbAndMAPMarginals()], ids=str
)
class TestMarginals:
    def test_tables(self, estimator):
        for X in (None, 3, np.zeros((2, 2, 2)), TABLE + 0.5, TABLE.astype(str), TABLE - 1):
            refused(lambda X=X: estimator.fit(X))
        refused(lambda: estimator.fit(TABLE * 2**40), "no room in memory")
        refused(lambda: estimator.fit(TABLE.astype("datetime64[s]")), "X")
        for name, value in (("edges", None), ("pseudocount", 1e-308), ("pseudocount", "1")):
            fresh = type(estimator)(learner=MRFLearner(**{name: value}))
            refused(lambda fresh=fresh: fresh.fit(TABLE), name)

    def test_rows(self, estimator):
        fitted = estimator.fit(TABLE)
        for X in (3, TABLE[:, :1], TABLE + 7, TABLE + 0.5, TABLE.astype(str)):
            refused(lambda X=X: fitted.predict(X), "")
        refused(lambda: fitted.predict(TABLE + 7), "X[0, 0] is 7", "n_states")


@pytest.fixture(scope="module")
def path():
    X, y = load_iris(return_X_y=True)
    model = AsagaClassifier(l1_ratio=1.0, tol=1.0, random_state=0)
    return regularization_path(model, X, y, n_values=3)


class TestPaths:
    def test_values(self, path):
        X, y = load_iris(return_X_y=True)
        for at in ("1", [], [[1.0]], [None], np.nan, 1 + 1j):
            refused(lambda at=at: path.score_path(X, y, at=at), "at")
        for at in (None, "1", np.nan, [1.0]):
            refused(lambda at=at: path.predict(X, at), "at")

    @pytest.mark.parametrize("score", [None, "1", [1.0, 2.0], 1 + 1j])
    def test_scorers_give_numbers(self, path, score):
        X, y = load_iris(return_X_y=True)
        refused(
            lambda: path.score_path(X, y, scoring=lambda *_: score), "scoring must give a number"
        )

    def test_no_split(self):
        X, y = load_iris(return_X_y=True)
        model = AsagaClassifier(l1_ratio=1.0, tol=1.0, random_state=0)
        refused(
            lambda: cross_validate_path(model, X, y, cv=[], n_values=2), "cv must give at least"
        )

    @pytest.mark.parametrize(
        "options, name",
        [
            ({"values": None}, "values"),
            ({"values": [[1.0]]}, "values"),
            ({"norms": [1.0]}, "norms"),
            ({"norms": "ab"}, "norms"),
            ({"values": [1.0, np.nan]}, "values"),
        ],
    )
    def test_displays(self, options, name):
        pytest.importorskip("matplotlib")
        given = {"values": [1.0, 0.1], "norms": [1.0, 2.0], **options}
        refused(lambda: RegularizationPathDisplay(**given).plot(curves="norm"), name)
        refused(lambda: RegularizationPathDisplay([1.0]).plot(ax=3, curves=()), "curves")
        refused(lambda: RegularizationPathDisplay.from_path(3), "path must")


@pytest.mark.parametrize("group", [None, {1: 2}, [[1], [2, 3]]], ids=["None", "dict", "ragged"])
@pytest.mark.parametrize("cls", [GroupLasso, L2Ball, Simplex])
def test_groups_of_other_things(cls, group):
    message = r"groups\[1\] must be a list of feature numbers"
    with pytest.raises(ValueError, match=message if group != {1: 2} else message + ", got {1: 2}"):
        cls(groups=[[0], group]).bind(5)
