"""What models and oracles of users answer is checked before compiled code sees it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from _registry import candidates, sequences
from sklearn_fw import StructuredSVM, TRWMarginals, regularization_path
from sklearn_fw.inference import BestOf, CheckedOracle, PairwiseScores, TreeMaxProduct, Viterbi
from sklearn_fw.random_fields import PairwiseMRF
from sklearn_fw.structured import BlockFrankWolfe, ChainModel, EnumeratedModel, MatchingModel

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}",
    "ignore::RuntimeWarning",
)
N_STATES = 3


# ---- oracles -------------------------------------------------------------------------------------


class Spoiled(BaseEstimator):
    """Viterbi whose answers a function spoils."""

    def __init__(self, spoil=None, method="argmax"):
        self.spoil = spoil
        self.method = method

    def _answer(self, method, *args):
        answer = getattr(TreeMaxProduct(), method)(*args)
        return self.spoil(answer) if method == self.method and self.spoil else answer

    def argmax(self, scores, start=None):
        return self._answer("argmax", scores)

    def top_k(self, scores, k):
        return self._answer("top_k", scores, k)

    def marginals(self, scores):
        return self._answer("marginals", scores)

    def max_marginals(self, scores):
        return self._answer("max_marginals", scores)

    def sample(self, scores, n_samples, random_state=None):
        return self._answer("sample", scores, n_samples, random_state)


LABELS = {
    "far": lambda labels: labels * 0 + 10**6,
    "beyond int32": lambda labels: labels.astype(np.int64) + 2**32,
    "negative": lambda labels: labels * 0 - 1,
    "one too large": lambda labels: labels * 0 + N_STATES,
    "short": lambda labels: labels[:-1],
    "long": lambda labels: np.append(labels, 0),
    "empty": lambda labels: labels[:0],
    "two axes": lambda labels: labels[:, None],
    "no axis": lambda labels: 0,
    "floats": lambda labels: labels.astype(float),
    "nan": lambda labels: labels * np.nan,
    "flags": lambda labels: labels > 0,
    "text": lambda labels: labels.astype(str),
    "objects": lambda labels: labels.astype(object),
    "none": lambda labels: None,
}
WHOLE = {
    "labels alone": lambda answer: answer[0],
    "pair": lambda answer: answer[:2],
    "nothing": lambda answer: None,
    "number": lambda answer: 3,
    "value is text": lambda answer: (answer[0], "x", None),
    "value is nan": lambda answer: (answer[0], np.nan, None),
    "bound is nan": lambda answer: (answer[0], None, np.nan),
    "bound below the value": lambda answer: (answer[0], None, -1e9),
}
SPOILS = {name: lambda a, f=f: (f(a[0]), None, None) for name, f in LABELS.items()} | WHOLE


@pytest.mark.parametrize("name", SPOILS)
def test_answers_of_oracles_in_training(name):
    oracle = Spoiled(SPOILS[name])
    for model in (ChainModel(), ChainModel("zero_one")):
        with pytest.raises((TypeError, ValueError), match="argmax of the oracle Spoiled"):
            StructuredSVM(model, oracle=oracle, max_iter=2).fit(*sequences())


@pytest.mark.parametrize("name", SPOILS)
def test_answers_of_oracles_in_predictions(name):
    X, y = sequences()
    svm = StructuredSVM(oracle=Spoiled(), max_iter=2, random_state=0).fit(X, y)
    svm.oracle_.spoil = SPOILS[name]
    for ask in (svm.predict, svm.score_samples):
        with pytest.raises((TypeError, ValueError), match="argmax of the oracle Spoiled"):
            ask(X)


@pytest.mark.parametrize("name", SPOILS)
def test_answers_of_oracles_in_other_families(name):
    mrf = PairwiseMRF([np.zeros(3), np.zeros(3)], [(0, 1)], [np.eye(3)])
    oracle = Spoiled(SPOILS[name])
    for ask in (
        lambda: TRWMarginals(oracle).fit(mrf),
        lambda: mrf.map(oracle),
        lambda: BestOf([oracle]).argmax(mrf.scores()),
        lambda: regularization_path(StructuredSVM(oracle=oracle), *sequences()),
    ):
        with pytest.raises((TypeError, ValueError), match="argmax of the oracle Spoiled"):
            ask()


@pytest.mark.parametrize(
    "method, spoil, message",
    [
        ("top_k", lambda a: a[0], "must return a tuple"),
        ("top_k", lambda a: (a[0], a[1] + 10**6), "labels from 0 to 2"),
        ("top_k", lambda a: (a[0], a[1][:, :-1]), "labels of shape"),
        ("top_k", lambda a: (a[0], a[1].astype(float)), "integer labels"),
        ("top_k", lambda a: (a[0][:-1], a[1]), "values for"),
        ("top_k", lambda a: (a[0] + 1.0, a[1]), "returned value"),
        ("top_k", lambda a: (a[0] * np.nan, a[1]), "must be finite"),
        ("top_k", lambda a: (a[0][::-1], a[1][::-1]), "descending order"),
        ("top_k", lambda a: (a[0][[0, 0]], a[1][[0, 0]]), "different labelings"),
        ("top_k", lambda a: (a[0][:0], a[1][:0]), "at least one"),
        ("marginals", lambda a: a[0], "must return a tuple"),
        ("marginals", lambda a: (a[0][:-1], *a[1:]), "node marginals .* must have shape"),
        ("marginals", lambda a: (a[0] * np.nan, *a[1:]), "must be finite"),
        ("marginals", lambda a: (a[0] * 2, *a[1:]), "sum to one"),
        ("marginals", lambda a: (a[0] * -1, *a[1:]), "sum to one"),
        ("marginals", lambda a: (a[0], a[1][:, ::-1], a[2]), "those of their nodes"),
        ("marginals", lambda a: (*a[:2], None), "log_partition .* must be a number"),
    ],
)
def test_other_answers_of_oracles(method, spoil, message):
    X, y = sequences()
    svm = StructuredSVM(oracle=Spoiled(), max_iter=5, random_state=0).fit(X, y)
    svm.oracle_.set_params(spoil=spoil, method=method)
    ask = {"top_k": lambda: svm.n_best(X, 3), "marginals": lambda: svm.predict_marginals(X)}
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        ask[method]()
    assert f"{method} of the oracle Spoiled" in str(caught.value)


@pytest.mark.parametrize(
    "method, spoil",
    [
        ("max_marginals", lambda a: a[:-1]), ("max_marginals", lambda a: a * np.nan),
        ("max_marginals", lambda a: None), ("sample", lambda a: a + 10**6),
        ("sample", lambda a: a[:, :-1]), ("sample", lambda a: a * 0.5),
    ],
)  # fmt: skip
def test_answers_that_marginal_estimators_ask_for(method, spoil, rng):
    scores = PairwiseScores.from_arrays(rng.normal(size=(3, 2)), np.eye(2), [(0, 1), (1, 2)])
    args = (scores, 2, 0) if method == "sample" else (scores,)
    whole = getattr(CheckedOracle(Spoiled()), method)(*args)
    np.testing.assert_array_equal(whole, getattr(TreeMaxProduct(), method)(*args))
    with pytest.raises((TypeError, ValueError), match=f"{method} of the oracle Spoiled"):
        getattr(CheckedOracle(Spoiled(spoil, method)), method)(*args)


def test_right_answers_pass_unchanged(rng):
    X, y = sequences()
    own, ours = (
        StructuredSVM(oracle=oracle, C=1.0, random_state=0).fit(X, y)
        for oracle in (Spoiled(), "tree")
    )
    assert type(own.oracle_) is Spoiled  # what the user gave, not what is around it
    np.testing.assert_allclose(own.coef_, ours.coef_, rtol=1e-9, atol=1e-12)
    for a, b in zip(own.predict_marginals(X), ours.predict_marginals(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    for a, b in zip(own.n_best(X, 4)[1], ours.n_best(X, 4)[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_oracles_cannot_write_to_what_training_goes_on_with():
    class Vandal:
        def argmax(self, scores, start=None):
            answer = Viterbi().argmax(scores)
            scores.unary[:] = np.nan
            scores.edges[:] = 10**6
            return answer

    X, y = sequences()
    svm, expected = (
        StructuredSVM(oracle=oracle, C=1.0, random_state=0).fit(X, y)
        for oracle in (Vandal(), "viterbi")
    )
    np.testing.assert_allclose(svm.coef_, expected.coef_, rtol=1e-9, atol=1e-12)


# ---- models --------------------------------------------------------------------------------------


class Model(EnumeratedModel):
    """Candidates, of which one method is replaced."""

    def __init__(self, name=None, function=None, task_loss="zero_one"):
        super().__init__(task_loss)
        self.name = name
        self.function = function

    def __getattribute__(self, name):
        get = super().__getattribute__
        return get("function") if name == get("__dict__").get("name") else get(name)


@pytest.mark.parametrize(
    "name, function, message",
    [
        ("joint_feature", lambda x, y: None, "joint_feature of sample 0"),
        ("joint_feature", lambda x, y: "x", "joint_feature of sample 0"),
        ("joint_feature", lambda x, y: x[y] * np.nan, "joint_feature of sample 0 must be finite"),
        ("joint_feature", lambda x, y: x[y] * 1j, "joint_feature of sample 0 must hold real"),
        ("joint_feature", lambda x, y: x[y][:-1], "joint_feature of sample 0 must have shape"),
        ("joint_feature", lambda x, y: x[y][:, None], "joint_feature of sample 0 must have shape"),
        ("joint_feature", lambda x, y: 1.0, "joint_feature of sample 0 must have shape"),
        ("joint_feature", lambda x, y: sp.csr_array(x[y][None] * np.inf), "must be finite"),
        ("loss", lambda a, b: None, "loss of sample 0 must be finite"),
        ("loss", lambda a, b: "0", "loss of sample 0 must be finite"),
        ("loss", lambda a, b: np.nan, "loss of sample 0 must be finite"),
        ("loss", lambda a, b: -1.0, "loss of sample 0 must be finite"),
        ("loss", lambda a, b: 1j, "loss of sample 0 must be finite"),
        ("loss", lambda a, b: np.zeros(2), "loss of sample 0 must be finite"),
        ("loss", lambda a, b: 1.0, r"loss\(y, y\) of sample 0 must be 0"),
        ("output_key", lambda y: [y], "output_key of Model must return something hashable"),
        ("bounds", lambda: 3, "bounds of Model must return a tuple"),
        ("bounds", lambda: (np.nan, 1.0), "lower_bounds contains NaN"),
        ("bounds", lambda: ("a", 1.0), "lower_bounds must hold real numbers"),
        ("bounds", lambda: (np.zeros(99), 1.0), "lower_bounds must be a number or have shape"),
        ("size_joint_feature", 2.5, "size_joint_feature of Model must be an integer"),
        ("size_joint_feature", -1, "size_joint_feature of Model must be an integer"),
    ],
)
def test_answers_of_models(name, function, message):
    with pytest.raises((TypeError, ValueError), match=message):
        StructuredSVM(Model(name, function), solver="bcpfw", max_iter=3).fit(*candidates())


def test_errors_of_models_say_where():
    X, y = candidates()
    svm = StructuredSVM(Model("joint_feature", lambda x, y: {}["lost"]))
    with pytest.raises(KeyError, match="lost") as caught:
        svm.fit(X, y)
    assert caught.value.__notes__ == ["raised by joint_feature of Model for sample 0, X[0]"]


@pytest.mark.parametrize("method", [None, "no such thing", 1.0, ()], ids=repr)
def test_solvers_that_start_nothing(method):
    class Starter(BlockFrankWolfe):
        def start(self, blocks, **options):
            return method

    with pytest.raises(TypeError, match="start of the solver Starter must return a method object"):
        StructuredSVM(EnumeratedModel(), solver=Starter()).fit(*candidates())


def test_features_out_of_range():
    def joint_feature(x, y):
        row = sp.csr_array(x[y][None])
        row.indices[0] = 10**8
        return row

    with pytest.raises(ValueError, match=r"joint_feature of sample 0.indices must name places"):
        StructuredSVM(Model("joint_feature", joint_feature)).fit(*candidates())


def test_answers_of_models_in_predictions():
    X, y = candidates()
    svm = StructuredSVM(Model(), max_iter=3, random_state=0).fit(X, y)
    svm.model_.name, svm.model_.function = "joint_feature", lambda x, y: [np.nan] * x.shape[1]
    with pytest.raises(ValueError, match="joint_feature of sample 0 must be finite"):
        svm.score_samples(X)
    svm.model_.name, svm.model_.function = "loss", lambda a, b: np.nan
    with pytest.raises(ValueError, match="loss of sample 0 must be finite"):
        svm.score(X, y)


def test_models_cannot_write_to_the_weights():
    def inference(x, y, w):
        w[:] = np.nan

    with pytest.raises(ValueError, match="read-only"):
        StructuredSVM(Model("loss_augmented_inference", inference)).fit(*candidates())


class Matchings(MatchingModel):
    """Matchings, of which one method is replaced."""

    replaced = None

    def __getattribute__(self, name):
        replaced = object.__getattribute__(self, "replaced")
        if replaced is not None and name == replaced[0]:
            original = object.__getattribute__(self, name)
            return lambda *args, **options: replaced[1](original(*args, **options))
        return object.__getattribute__(self, name)


@pytest.mark.parametrize(
    "method", ["label_vector", "apply", "adjoint", "project", "marginals", "log_potentials0"]
)
@pytest.mark.parametrize(
    "spoil", [lambda z: z[:-1], lambda z: z * np.nan, lambda z: None, lambda z: z * 1j]
)
def test_vectors_of_models(method, spoil, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(2, 2, 3)) for _ in range(3)], [[(0, 0)], [(1, 1)], [(0, 1)]]
    from sklearn_fw.structured import Extragradient

    geometry = "entropy" if method in ("marginals", "log_potentials0") else "euclidean"
    svm = StructuredSVM(
        Matchings(), solver=Extragradient(z_geometry=geometry), C=1.0, max_iter=3, random_state=0
    )
    clone(svm).fit(X, y)
    monkeypatch.setattr(Matchings, "replaced", (method, spoil))
    with pytest.raises((TypeError, ValueError), match=f"{method} of Matchings for sample 0"):
        svm.fit(X, y)


@pytest.mark.parametrize(
    "method, answer, message",
    [
        ("z_size", lambda z: 2.5, "must be an integer"),
        ("z_size", lambda z: -1, "must be an integer"),
        ("loss_vector", lambda z: z[0], "must return a tuple"),
        ("loss_vector", lambda z: (z[0], np.nan), "must be finite"),
        ("loss_vector", lambda z: (z[0] * np.inf, z[1]), "must be finite"),
        ("z_diameter", lambda z: None, "must be finite"),
        ("z_diameter", lambda z: np.nan, "must be finite"),
    ],
)
def test_other_answers_of_models(method, answer, message, monkeypatch):
    X, y = [np.ones((2, 2, 3))] * 2, [[(0, 0)], [(1, 1)]]
    monkeypatch.setattr(Matchings, "replaced", (method, answer))
    with pytest.raises((TypeError, ValueError), match=f"{method} of Matchings.* {message}"):
        StructuredSVM(Matchings(), solver="extragradient", C=1.0, max_iter=3).fit(X, y)
