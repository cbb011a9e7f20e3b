"""Models of two views: tensors by brute force, exact moments, published errors, conduct."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_fw.datasets import make_discrete_cca, make_mixed_cca, make_nongaussian_cca
from sklearn_fw.decomposition import DiscreteCCA, DiscreteICA, MixedCCA, NonGaussianCCA
from sklearn_fw.decomposition._cross_moments import CrossMoments, Whitening
from sklearn_fw.decomposition._diagonalization import SHEARS, jacobi
from sklearn_fw.decomposition._multi_view import find_loadings
from sklearn_fw.decomposition._pairs import Pairs
from sklearn_fw.metrics import multiview_l1_error

MAKERS = {
    DiscreteCCA: make_discrete_cca, MixedCCA: make_mixed_cca, NonGaussianCCA: make_nongaussian_cca,
}  # fmt: skip
COUNTS = {cls: cls._counts for cls in MAKERS}


def small(cls, n=60, seed=0):
    data = MAKERS[cls](n, 6, 3, 2, random_state=seed)
    return data.X[:, :5], data.y


def moments_of(X, Y, counts, weight=None, n_batches=1):
    weight = np.ones(len(X)) if weight is None else weight
    parts = np.array_split(np.arange(len(X)), n_batches)
    pairs = [(X[p], Y[p]) for p in parts]
    return CrossMoments(Pairs(pairs, [weight[p] for p in parts], (X.shape[1], Y.shape[1])), counts)


def whitened(moments, K=3):
    U, values, V = moments.svd(K)
    return Whitening.of(U[:, :K], values[:K], V[:, :K])


def cross_tensors(X, Y, counts):
    """Unbiased third cumulants (x, y, x) and (x, y, y), less the noise of counts."""
    n = len(X)
    x, y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    S, e2 = x.T @ y / (n - 1), n / ((n - 1) * (n - 2))
    first = e2 * np.einsum("na,nb,nc->abc", x, y, x)
    second = e2 * np.einsum("na,nb,nc->abc", x, y, y)
    if counts[0]:
        first -= np.einsum("ac,ab->abc", np.eye(X.shape[1]), S)
    if counts[1]:
        second -= np.einsum("bc,ab->abc", np.eye(Y.shape[1]), S)
    return first, second


@pytest.mark.parametrize("cls", MAKERS)
def test_cumulants_are_those_of_explicit_tensors(cls):
    X, Y = small(cls)
    moments = moments_of(X, Y, COUNTS[cls], n_batches=3)
    W = whitened(moments)
    expected = [
        W.x @ (tensor @ v) @ W.y.T
        for tensor, side in zip(cross_tensors(X, Y, COUNTS[cls]), (W.x, W.y))
        for v in side
    ]
    np.testing.assert_allclose(moments.cumulants(W), expected, rtol=1e-10, atol=1e-10)


def explicit_generalized(X, Y, counts, W, view, p, delta):
    side, data = ((W.x, X), (W.y, Y))[view]
    spread = np.sqrt(np.mean(((data - data.mean(axis=0)) @ side[p]) ** 2))
    t = side[p] * delta / spread
    if counts[view]:
        t = side[p] * min(delta / spread, 1 / np.abs(side[p]).max())
    ts = [np.zeros(X.shape[1]), np.zeros(Y.shape[1])]
    ts[view] = t
    chance = np.exp(X @ ts[0] + Y @ ts[1])
    chance /= chance.sum()
    S = (X.T * chance) @ Y - np.outer(X.T @ chance, Y.T @ chance)
    left, right = (w * np.exp(-t) if c else w for w, t, c in zip((W.x, W.y), ts, counts))
    return left @ S @ right.T - np.eye(len(W.x))


@pytest.mark.parametrize("cls", MAKERS)
def test_generalized_covariances_are_those_of_explicit_weights(cls):
    X, Y = small(cls)
    moments = moments_of(X, Y, COUNTS[cls], n_batches=2)
    W = whitened(moments)
    found = moments.generalized(W, 0.1, (1, -1))
    for row, delta in zip(found, (0.1, -0.1)):
        expected = [
            explicit_generalized(X, Y, COUNTS[cls], W, view, p, delta)
            for view in range(2)
            for p in range(3)
        ]
        np.testing.assert_allclose(row, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("cls", MAKERS)
@pytest.mark.parametrize("shear", SHEARS)
def test_exact_moments_give_the_loadings(cls, shear, rng):
    """Generalized covariances and cumulants of gamma sources, by their formulas."""
    K, counts = 4, COUNTS[cls]
    D1, D2 = (np.abs(rng.normal(size=(m, K))) if c else rng.normal(size=(m, K))
              for m, c in zip((7, 6), counts))  # fmt: skip
    shape = rng.uniform(0.2, 1.0, K)  # of gamma laws of rate one: K''(s) = shape / (1 - s)^2
    U, values, Vt = np.linalg.svd(D1 * shape @ D2.T)
    W = Whitening.of(U[:, :K], values[:K], Vt[:K].T)
    targets = []
    for view, (side, D, is_count) in enumerate(zip(W[:2], (D1, D2), counts)):
        for w in side:
            t = 0.1 * w / np.max(np.abs(D.T @ w))
            s = D.T @ (np.expm1(t) if is_count else t)
            S = D1 * (shape / (1.0 - s) ** 2) @ D2.T
            sides = [np.exp(t) if is_count and v == view else np.ones(1) for v in range(2)]
            S = sides[0][:, None] * S * sides[1]
            targets.append((W.x / sides[0]) @ S @ (W.y / sides[1]).T - np.eye(K))
            targets.append(W.x @ (D1 * (2.0 * shape * (D.T @ w)) @ D2.T) @ W.y.T)
    found = find_loadings(W, jacobi(np.array(targets), shear, 1e-13, 200).basis, counts)
    error = multiview_l1_error(D1, D2, found.x, found.y, signed=True)
    assert error < 1e-8
    np.testing.assert_allclose(found.x * found.variance @ found.y.T, D1 * shape @ D2.T, atol=1e-8)
    np.testing.assert_allclose(found.x_rotations.T @ found.x, np.eye(K), atol=1e-8)
    np.testing.assert_allclose(found.y_rotations.T @ found.y, np.eye(K), atol=1e-8)
    scaled = Whitening.of(U[:, :K], 9.0 * values[:K], Vt[:K].T)
    again = find_loadings(scaled, jacobi(np.array(targets), shear, 1e-13, 200).basis, counts)
    np.testing.assert_allclose(again.x, found.x, atol=1e-8)


def error_of(cls, n_samples, seed=0, **parameters):
    data = MAKERS[cls](n_samples, random_state=seed)
    model = cls(10, random_state=0, **parameters).fit(data.X, data.y)
    signed = cls is not DiscreteCCA
    return multiview_l1_error(
        data.x_loadings, data.y_loadings, model.x_loadings_, model.y_loadings_, signed=signed
    )


@pytest.mark.parametrize(
    ("cls", "n_samples", "published", "parameters"),
    [
        (DiscreteCCA, 1000, 0.172, {}),
        (DiscreteCCA, 10_000, 0.050, {}),
        (DiscreteCCA, 10_000, 0.050, {"shear": "jdtm"}),
        (DiscreteCCA, 10_000, 0.050, {"moments": "generalized"}),
        (NonGaussianCCA, 1000, 0.102, {}),
        (NonGaussianCCA, 10_000, 0.027, {}),
        (MixedCCA, 1000, 0.134, {}),
        (MixedCCA, 5000, 0.054, {}),
        (MixedCCA, 20_000, 0.030, {}),
    ],
)
def test_errors_are_at_most_those_of_a_prototype(cls, n_samples, published, parameters):
    """Tables of 20 features, ten factors; 35 % at one seed."""
    assert error_of(cls, n_samples, **parameters) < 1.35 * published


@pytest.mark.filterwarnings("ignore:.*(complex eigenvalues|stay outside|negative mass):UserWarning")
def test_other_methods_are_worse():
    data = make_discrete_cca(5000, random_state=0)
    ours = error_of(DiscreteCCA, 5000)
    assert ours < 0.6 * error_of(DiscreteCCA, 5000, algorithm="spectral")
    assert ours < 0.35 * error_of(DiscreteCCA, 300)
    stacked = DiscreteICA(40, moments="gp")
    topics = stacked.fit(np.hstack([data.X, data.y])).components_.T
    assert ours < multiview_l1_error(data.x_loadings, data.y_loadings, topics[:20], topics[20:])


def test_classical_loadings_are_worse():
    data = make_nongaussian_cca(5000, random_state=0)
    peer = CCA(10).fit(data.X, data.y)
    theirs = multiview_l1_error(
        data.x_loadings, data.y_loadings, peer.x_loadings_, peer.y_loadings_, signed=True
    )
    assert error_of(NonGaussianCCA, 5000) < theirs / 3


def test_gaussian_sources_leave_the_space_and_the_prediction(rng):
    D1, D2 = rng.normal(size=(8, 3)), rng.normal(size=(7, 3))
    sources = rng.normal(size=(6000, 3))
    X = sources @ D1.T + 0.3 * rng.normal(size=(6000, 8))
    Y = sources @ D2.T + 0.3 * rng.normal(size=(6000, 7))
    model = NonGaussianCCA(3).fit(X[:5000], Y[:5000])
    assert multiview_l1_error(D1, D2, model.x_loadings_, model.y_loadings_, signed=True) > 0.1
    assert np.max(subspace_angles(D1, model.x_loadings_)) < 0.05
    full = LinearRegression().fit(X[:5000], Y[:5000])
    assert model.score(X[5000:], Y[5000:]) > full.score(X[5000:], Y[5000:]) - 0.01


def test_prediction_is_that_of_full_least_squares():
    data = make_discrete_cca(10_000, random_state=0)
    train, test = slice(0, 8000), slice(8000, None)
    model = DiscreteCCA(10).fit(data.X[train], data.y[train])
    full = LinearRegression().fit(data.X[train], data.y[train])
    expected = full.score(data.X[test], data.y[test])
    assert model.score(data.X[test], data.y[test]) == pytest.approx(expected, abs=0.01)
    np.testing.assert_allclose(
        model.predict(data.X[test]),
        (data.X[test] - model.x_mean_) @ model.coef_.T + model.intercept_,
        atol=1e-8,
    )


@pytest.mark.filterwarnings("ignore:.*negative mass:UserWarning")
@pytest.mark.parametrize("cls", MAKERS)
def test_weights_repeat_rows_and_forms_agree(cls, rng):
    X, Y = small(cls, 200)
    weight = rng.integers(0, 4, len(X))
    expected = cls(2).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    weighted = cls(2).fit(X, Y, sample_weight=weight)
    order = rng.permutation(len(expected.transform(X)))
    kept = np.repeat(np.arange(len(X)), weight)
    others = {
        "weights": weighted,
        "sparse": cls(2).fit(sp.csr_array(X[kept]), sp.csc_array(Y[kept])),
        "small batches": cls(2, batch_size=17).fit(X[kept], Y[kept]),
        "batches": cls(2).fit(np.array_split(X[kept], 3), np.array_split(Y[kept], 3)),
        "order": cls(2).fit(X[order], Y[order], sample_weight=weight[order]),
    }
    for name, model in others.items():
        np.testing.assert_allclose(model.x_loadings_, expected.x_loadings_, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-5, err_msg=name)
    assert weighted.score(sp.csr_array(X), sp.csr_array(Y)) == pytest.approx(weighted.score(X, Y))


@pytest.mark.filterwarnings("ignore:.*negative mass:UserWarning")
@pytest.mark.parametrize("cls", [DiscreteCCA, NonGaussianCCA])
def test_views_can_be_swapped(cls):
    X, Y = small(cls, 500)
    model, swapped = cls(2).fit(X, Y), cls(2).fit(Y, X)
    error = multiview_l1_error(
        model.x_loadings_, model.y_loadings_, swapped.y_loadings_, swapped.x_loadings_, signed=True
    )
    assert error < 1e-3


def test_large_sparse_views_take_other_ways(rng):
    """Lanczos, powers over batches and conjugate gradients give what dense algebra gives."""
    sources = rng.gamma(0.3, 200.0, size=(1500, 2))
    X, Y = (
        sp.csr_array(rng.poisson(sources @ rng.dirichlet(np.full(m, 0.05), size=2)).astype(float))
        for m in (260, 230)
    )
    lanczos = DiscreteCCA(2, ridge=0.1).fit(X, Y)
    cuts = [slice(0, 800), slice(800, None)]
    streamed = DiscreteCCA(2, ridge=0.1).fit([X[c] for c in cuts], [Y[c] for c in cuts])
    S = np.cov(X.toarray().T, Y.toarray().T)
    cross, within = S[:260, 260:], S[:260, :260]
    np.testing.assert_allclose(
        lanczos.singular_values_, np.linalg.svd(cross, compute_uv=False)[:2], rtol=1e-8
    )
    within = within + 0.1 * np.trace(within) / 260 * np.eye(260)
    rank_two = lanczos.x_mixing_ * lanczos.source_variance_ @ lanczos.y_mixing_.T
    np.testing.assert_allclose(
        lanczos.coef_.T, np.linalg.solve(within, rank_two), atol=1e-4 * np.abs(lanczos.coef_).max()
    )
    np.testing.assert_allclose(streamed.x_loadings_, lanczos.x_loadings_, atol=1e-6)
    moments = CrossMoments(Pairs([(X, Y)], None, (260, 230), lambda pair, _: pair), (True, True))
    np.testing.assert_allclose(moments._subspace(2)[1][:2], lanczos.singular_values_, rtol=1e-6)


def test_dask_blocks_are_summed(extra):
    array = extra("distributed", "dask.array")
    X, Y = small(DiscreteCCA, 100)
    model = DiscreteCCA(2).fit(array.from_array(X, chunks=(30, -1)),
                               array.from_array(Y, chunks=(30, -1)))  # fmt: skip
    np.testing.assert_allclose(model.x_loadings_, DiscreteCCA(2).fit(X, Y).x_loadings_, atol=1e-8)


def test_conduct_in_pipelines_and_searches():
    data = make_nongaussian_cca(400, 6, 2, 2, random_state=0)
    model = make_pipeline(StandardScaler(), NonGaussianCCA(2)).fit(data.X, data.y)
    assert model.predict(data.X).shape == data.y.shape
    search = GridSearchCV(NonGaussianCCA(), {"n_components": [1, 2]}, scoring="r2")
    assert search.fit(data.X, data.y).best_params_["n_components"] == 2
    one = clone(search.best_estimator_).set_output(transform="pandas").fit(data.X, data.y)
    assert list(one.transform(data.X).columns) == ["nongaussiancca0", "nongaussiancca1"]
    x_scores, y_scores = NonGaussianCCA(2).fit_transform(data.X, data.y)
    assert np.corrcoef(x_scores[:, 0], y_scores[:, 0])[0, 1] > 0.7
    x_back, y_back = search.best_estimator_.inverse_transform(x_scores, y_scores)
    assert x_back.shape == data.X.shape
    assert y_back.shape == data.y.shape
    single = NonGaussianCCA(1).fit(data.X, data.y[:, 0])
    assert single.predict(data.X).shape == (400,)


def test_estimates_of_sources_are_shrunk():
    data = make_discrete_cca(3000, random_state=0)
    model = DiscreteCCA(10, transform_method="lmmse").fit(data.X, data.y)
    x_scores, y_scores = model.transform(data.X, data.y)
    assert x_scores.var() < DiscreteCCA(10).fit(data.X, data.y).transform(data.X).var()
    np.testing.assert_allclose(x_scores @ model.y_mixing_.T + model.y_mean_, model.predict(data.X))
    assert y_scores.shape == (3000, 10)


@pytest.mark.parametrize(
    ("cls", "change", "message"),
    [
        (DiscreteCCA, lambda X, Y: (X - 50, Y), "Negative values in data.*X must hold counts"),
        (DiscreteCCA, lambda X, Y: (X, Y + 0.5), "y must hold whole numbers"),
        (MixedCCA, lambda X, Y: (X, Y - 50), "Negative values.*y must hold counts"),
        (NonGaussianCCA, lambda X, Y: (X[:-1], Y), "inconsistent numbers of samples: 59 and 60"),
        (NonGaussianCCA, lambda X, Y: (X, np.ones_like(Y)), "y is constant"),
        (NonGaussianCCA, lambda X, Y: (np.zeros_like(X), Y), "X is constant"),
        (NonGaussianCCA, lambda X, Y: (X, Y[:, [0, 0, 0]]), "singular value 2 .* only 1 are"),
        (NonGaussianCCA, lambda X, Y: (X, Y[:, :1]), "n_components=2 must be at most"),
        (NonGaussianCCA, lambda X, Y: (X, None), "requires y to be passed"),
        (NonGaussianCCA, lambda X, Y: (X[:2], Y[:2]), "n_samples=2 .* more than 2"),
        (NonGaussianCCA, lambda X, Y: ([X, X], [Y]), "same batches"),
        (NonGaussianCCA, lambda X, Y: ([X, X[:, :2]], [Y, Y]), "all batches need the same"),
    ],
)
def test_bad_views_are_refused_with_the_remedy(cls, change, message):
    with pytest.raises(ValueError, match=message):
        cls(2).fit(*change(*small(cls)))


def test_views_that_share_nothing_are_refused():
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] * 5)
    with pytest.raises(
        ValueError, match=r"singular value 1 of the cross-covariance .* 0 are above"
    ):
        NonGaussianCCA(1).fit(X[:, :1], X[:, 1:])


def test_misfits_are_said(rng):
    X, Y = (rng.poisson(rng.gamma(0.5, 5.0, (200, 12))) for _ in range(2))
    with pytest.warns(UserWarning, match="negative mass"):
        DiscreteCCA(10).fit(X, Y)
    X, Y = small(NonGaussianCCA, 200)
    X[0] *= 1e4
    with pytest.warns(UserWarning, match="exponential weights leave"):
        NonGaussianCCA(1, delta=5.0).fit(X, Y)
