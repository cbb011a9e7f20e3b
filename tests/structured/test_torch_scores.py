"""Modules of PyTorch as score models."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone

from _networks import TagNetwork
from sklearn_fw.structured import ProxLinearStructuredSVM
from sklearn_fw.structured._prox_linear import _scores
from sklearn_fw.structured._prox_linear._scores import CheckedScores, TorchScores, as_score_model

from .test_prox_linear import sequences

# PyTorch's own, at its first derivative in forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")


@pytest.fixture
def torch(extra):
    module = extra("torch", "torch")
    module.manual_seed(0)
    return module


def tagger(torch, body=None):
    """Emissions by a body, and transitions."""
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = body or nn.Sequential(
                nn.Linear(3, 4, bias=False), nn.Tanh(), nn.Linear(4, 3, bias=False)
            )
            self.table = nn.Parameter(torch.zeros(3, 3))

        def forward(self, x):
            out = self.body(x)
            return (out[0] if isinstance(out, tuple) else out), self.table

    return Tagger()


@pytest.mark.slow
def test_module_equals_the_same_network_in_numpy(torch):
    X, y = sequences()
    module, start = tagger(torch), None
    fits = []
    numpy_model = TagNetwork()
    w = TorchScores(module).init(None)
    shapes = [("table", 9), ("first", 12), ("second", 12)]  # parameters of the module come first
    table, first, second = np.split(w, np.cumsum([n for _, n in shapes])[:-1])
    start = np.concatenate([first.reshape(4, 3).T.ravel(), second.reshape(3, 4).T.ravel(), table])
    scores = TorchScores(module)
    for x in X[:3]:
        ours, other = scores.value(x, w), numpy_model.value(x, start)
        for a, b in zip(ours, other):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    for seed in range(3):
        rng = np.random.RandomState(seed)
        CheckedScores(scores).check_derivatives(X[seed], rng.normal(size=len(w)), rng)
    fits = ProxLinearStructuredSVM(module, C=10.0, random_state=0).fit(X, y)
    assert fits.score(X, y) >= 0.95


def test_many_inputs_at_once_equal_each_alone(torch, rng):
    model = TorchScores(tagger(torch))
    X = [rng.normal(size=(4, 3)) for _ in range(5)] + [rng.normal(size=(2, 3))]
    checked, w = CheckedScores(model), rng.normal(size=33)
    layouts = [checked.value(i, x, w)[1] for i, x in enumerate(X)]
    groups = checked.groups(X, layouts, w)
    assert sorted(len(group.index) for group in groups) == [1, 5]
    group, d = max(groups, key=lambda g: len(g.index)), rng.normal(size=33)
    each = np.concatenate([checked.value(i, X[i], w)[0] for i in group.index])
    np.testing.assert_allclose(checked.values(group, w), each, rtol=1e-12, atol=1e-12)
    each = np.concatenate([checked.jvp(i, X[i], w, d, layouts[i]) for i in group.index])
    np.testing.assert_allclose(checked.jvps(group, w, d), each, rtol=1e-11, atol=1e-12)
    v = rng.normal(size=len(each))
    rows = v.reshape(5, -1)
    each = sum(checked.vjp(i, X[i], w, row, layouts[i]) for i, row in zip(group.index, rows))
    np.testing.assert_allclose(checked.vjps(group, w, v), each, rtol=1e-11, atol=1e-12)


def test_batches_change_the_order_of_steps_alone(torch, monkeypatch):
    X, y = sequences(n_samples=10, length=2)
    objectives = []
    for batch in (1, 8):
        monkeypatch.setattr(_scores, "BATCH", batch)
        torch.manual_seed(0)
        svm = ProxLinearStructuredSVM(tagger(torch), C=1.0, eta=1.0, tol=1e-3, max_iter=100)
        objectives.append(svm.set_params(random_state=0).fit(X, y).objective_)
    np.testing.assert_allclose(*objectives, rtol=0.02, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.LSTM(3, 3, batch_first=True),
        lambda nn: nn.GRU(3, 3),
        lambda nn: nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)),
        lambda nn: nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.GELU(), nn.Linear(3, 3)),
        lambda nn: nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 3)),
        lambda nn: nn.TransformerEncoderLayer(3, 1, 4, batch_first=True),
    ],
    ids=["lstm", "gru", "layer norm", "dropout", "batch norm", "transformer"],
)
def test_usual_layers_train(torch, make):
    X, y = sequences()
    svm = ProxLinearStructuredSVM(
        tagger(torch, make(torch.nn)), C=10.0, tol=0, max_iter=2, random_state=0
    ).fit(X[:4], y[:4])
    values = svm.history_["objective"]
    start = svm.set_params(max_iter=1, eta=1e-12).fit(X[:4], y[:4]).history_["objective"][0]
    assert values[-1] < 0.9 * start
    assert np.all(np.diff(values) <= 0.0)


def test_embeddings_of_words(torch):
    y = [np.array([0, 1, 2, 1]), np.array([2, 0])]
    X = [np.array([5, 6, 7, 6]), np.array([7, 5])]
    body = torch.nn.Sequential(torch.nn.Embedding(8, 4), torch.nn.Linear(4, 3))
    svm = ProxLinearStructuredSVM(tagger(torch, body), C=10.0, random_state=0).fit(X, y)
    assert svm.score(X, y) == 1.0
    assert svm.predict([[5, 7]])[0].tolist() == [0, 2]  # lists of numbers are arrays


def test_the_module_stays_as_it_is_and_its_copy_is_trained(torch):
    X, y = sequences()
    module = tagger(torch).train()
    module.body[2].weight.requires_grad_(False)
    before = {name: t.clone() for name, t in module.state_dict().items()}
    svm = ProxLinearStructuredSVM(module, C=10.0, random_state=0).fit(X, y)
    assert all(torch.equal(before[name], t) for name, t in module.state_dict().items())
    assert module.training
    assert module.table.dtype == torch.float32
    trained = svm.module_
    assert trained.table.dtype == torch.float32
    assert torch.equal(trained.body[2].weight, before["body.2.weight"])  # frozen
    assert len(svm.coef_) == 12 + 9
    unary, _ = trained(torch.as_tensor(X[0], dtype=torch.float32))
    np.testing.assert_allclose(
        unary.detach(), svm.model_.value(X[0], svm.coef_)[0], rtol=1e-4, atol=1e-5
    )


def test_tensors_are_inputs(torch):
    X, y = sequences()
    tensors = [torch.as_tensor(x, dtype=torch.float32) for x in X]
    svm = ProxLinearStructuredSVM(tagger(torch), C=10.0, random_state=0).fit(tensors, y)
    assert svm.score(tensors, y) >= 0.95


def test_pickle_and_clone(torch):
    X, y = sequences()
    body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    svm = ProxLinearStructuredSVM(body, C=10.0, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(svm))
    assert all(map(np.array_equal, again.predict(X), svm.predict(X)))
    copy = clone(svm)
    assert copy.score_model is not body
    torch.testing.assert_close(copy.score_model.state_dict(), body.state_dict())
    np.testing.assert_array_equal(copy.fit(X, y).coef_, svm.coef_)


def test_modules_without_weights_or_with_other_answers(torch):
    X, y = sequences()
    frozen = tagger(torch).requires_grad_(False)
    with pytest.raises(ValueError, match="without a parameter that requires_grad"):
        ProxLinearStructuredSVM(frozen).fit(X, y)

    class Dict(torch.nn.Linear):
        def forward(self, x):
            return {"scores": super().forward(x)}

    with pytest.raises(TypeError, match="forward of Dict must return a tensor or a tuple of"):
        ProxLinearStructuredSVM(Dict(3, 3)).fit(X, y)


def test_scores_that_ignore_the_weights(torch):
    X, y = sequences()

    class Constant(torch.nn.Linear):
        def forward(self, x):
            return x * 1.0

    svm = ProxLinearStructuredSVM(Constant(3, 3), C=1.0, random_state=0, max_iter=3, tol=1.0)
    assert np.isfinite(svm.fit(X, y).objective_)


def test_a_module_without_torch(monkeypatch):
    module = type("Module", (), {"__module__": "torch.nn.modules.module"})
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        as_score_model(module())
