"""DiscreteICA: published errors, invariances, probabilities by enumeration, refusals."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation

from sklearn_fw.datasets import make_topic_corpus
from sklearn_fw.decomposition import DiscreteICA, chib_log_likelihood
from sklearn_fw.decomposition._posterior import refine_topics
from sklearn_fw.decomposition._rows import Rows
from sklearn_fw.metrics import topic_l1_error

SEEDS = range(3)


def mean_error(make, **parameters):
    errors = []
    for seed in SEEDS:
        data = make(seed)
        model = DiscreteICA(len(data.topics), random_state=seed, **parameters).fit(data.X)
        errors.append(topic_l1_error(data.topics, model.components_))
    return np.mean(errors)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*three tokens:UserWarning")
@pytest.mark.parametrize(
    ("parameters", "n_samples", "expected"),
    [
        ({}, 1000, 0.090),
        ({}, 5000, 0.042),
        ({"algorithm": "tpm"}, 1000, 0.102),
        ({"moments": "lda", "c0": 1.0}, 1000, 0.133),
        ({"moments": "lda", "c0": 1.0}, 5000, 0.061),
        ({"moments": "generalized"}, 1000, 0.090),
    ],
)
def test_errors_are_those_of_a_prototype(parameters, n_samples, expected):
    """Topics from Dirichlet(.1) over 500 words, ten topics, c_k = .1, 200 tokens; 35 %."""
    error = mean_error(
        lambda seed: make_topic_corpus(n_samples, random_state=seed),
        weighting="equal",
        **parameters,
    )
    assert error == pytest.approx(expected, rel=0.35)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*three tokens:UserWarning")
@pytest.mark.parametrize("moments", ["gp", "lda"])
@pytest.mark.parametrize("kind", ["gp", "lda"])
def test_long_documents_count_as_their_tokens_do(moments, kind):
    def draw(seed):
        if kind == "gp":
            return make_topic_corpus(2000, random_state=seed)
        lengths = np.random.RandomState(seed).lognormal(5.0, 0.9, size=2000).astype(int)
        lengths = np.maximum(lengths, 3)
        return make_topic_corpus(2000, kind=kind, length=lengths, random_state=seed)

    equal = mean_error(draw, moments=moments, weighting="equal")
    assert mean_error(draw, moments=moments) < 0.9 * equal


@pytest.mark.slow
def test_lda_moments_are_taken_where_they_fit():
    """Lengths of the squared variation .04, where concentrations would ask for 1."""
    lengths = 3 + np.random.RandomState(0).negative_binomial(33, 0.25, size=2000)

    def draw(seed):
        return make_topic_corpus(2000, kind="lda", length=lengths, random_state=seed)

    assert DiscreteICA().fit(draw(0).X).c0_ == pytest.approx(1.0, rel=0.3)
    assert mean_error(draw) < 0.6 * mean_error(draw, moments="gp")
    # With lengths that vary cumulants are taken without asking.
    assert DiscreteICA().fit(make_topic_corpus(1000, random_state=0).X).c0_ is None


@pytest.mark.slow
def test_fixed_lengths_are_noticed():
    def make(seed):
        return make_topic_corpus(2000, 300, 5, kind="lda", random_state=seed)

    with (
        pytest.warns(UserWarning, match="lengths of documents hardly vary"),
        pytest.warns(UserWarning, match="negative mass"),
    ):
        wrong = mean_error(make, moments="gp")
    assert mean_error(make) < 0.5 * wrong
    assert mean_error(make) < 1.3 * mean_error(make, moments="lda", c0=0.5)
    # A prior that cumulants alone give is not replaced by another one.
    with (
        pytest.warns(UserWarning, match="lengths of documents hardly vary"),
        pytest.warns(UserWarning, match="negative mass"),
    ):
        assert DiscreteICA(5, prior_estimator="mean_variance").fit(make(0).X).c0_ is None


def test_refinement_improves_topics_and_never_lowers_the_bound():
    data = make_topic_corpus(1000, 300, 5, random_state=0)
    plain = DiscreteICA(5).fit(data.X)
    refined = DiscreteICA(5, refine="vi", tol=1e-5).fit(data.X)
    lower = refined.history_["lower"]
    assert np.all(np.diff(lower) >= -1e-9 * abs(lower[0]))
    assert refined.score(data.X) > plain.score(data.X)
    assert topic_l1_error(data.topics, refined.components_) < topic_l1_error(
        data.topics, plain.components_
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tensor", "average", "mean_variance", "likelihood"])
def test_priors(kind):
    data = make_topic_corpus(8000, 200, 3, prior=[0.2, 0.5, 0.8], random_state=0)
    model = DiscreteICA(3, prior_estimator=kind).fit(data.X)
    overlap = model.components_ @ data.topics.T
    found = model.doc_topic_prior_[overlap.argmax(axis=0)]
    np.testing.assert_allclose(found, data.doc_topic_prior, rtol=0.35)
    assert model.rate_ == pytest.approx(model.concentration_ / model.mean_doc_length_)


@pytest.mark.slow
def test_invariances(rng):
    X = make_topic_corpus(300, 30, 3, random_state=0).X
    model = DiscreteICA(3).fit(X)
    order, words = rng.permutation(300), rng.permutation(30)
    same = DiscreteICA(3, batch_size=70).fit(X[order].toarray())
    np.testing.assert_allclose(same.components_, model.components_, rtol=1e-6, atol=1e-9)
    moved = DiscreteICA(3).fit(X[:, words])
    np.testing.assert_allclose(moved.components_, model.components_[:, words], rtol=1e-6, atol=1e-9)
    assert moved.score(X[:, words]) == pytest.approx(model.score(X), rel=1e-8)
    weight = rng.integers(0, 3, 300)
    refined = DiscreteICA(3, refine="vi", prior_estimator="mean_variance")
    weighted = clone(refined).fit(X, sample_weight=weight)
    repeated = refined.fit(sp.csr_array(np.repeat(X.toarray(), weight, axis=0)))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-5, atol=1e-8)


def test_batches_equal_one_matrix():
    X = make_topic_corpus(300, 30, 3, random_state=0).X
    model, parts = DiscreteICA(3).fit(X), DiscreteICA(3).fit([X[:100], X[100:]])
    np.testing.assert_allclose(parts.components_, model.components_, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"X\[1\] has 29 columns, but X\[0\] has 30"):
        DiscreteICA(3).fit([X[:100], X[100:, :29]])
    with pytest.raises(ValueError, match="sample_weight cannot be given with batches"):
        DiscreteICA(3).fit([X[:100], X[100:]], sample_weight=np.ones(300))


def test_empty_documents(rng):
    X = make_topic_corpus(300, 30, 3, random_state=0).X
    more = sp.vstack([X, sp.csr_array((20, 30), dtype=X.dtype)]).tocsr()
    model = DiscreteICA(3).fit(more)
    assert model.n_documents_used_ == 320
    proportions = model.transform(np.zeros((2, 30)))
    np.testing.assert_allclose(
        proportions, [model.doc_topic_prior_ / model.concentration_] * 2, rtol=1e-9
    )
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1.0, rtol=1e-12)
    lda = DiscreteICA(3, moments="lda", c0=0.3)
    long = X[np.asarray(X.sum(axis=1)).ravel() >= 3]
    with pytest.warns(UserWarning, match="fewer than three tokens"):
        found = lda.fit(more).components_
    np.testing.assert_allclose(found, lda.fit(long).components_, rtol=1e-7, atol=1e-10)


def test_number_of_topics_is_found():
    for size in (3, 8):
        data = make_topic_corpus(2000, 200, size, random_state=1)
        assert DiscreteICA("auto", random_state=0).fit(data.X).n_components_ == size
    # One document of many words makes eigenvalues and noise large where all weigh the same.
    X = sp.vstack([data.X, sp.csr_array(np.full((1, 200), 40.0))]).tocsr()
    assert DiscreteICA("auto", random_state=0).fit(X).n_components_ in (size, size + 1)
    # Far longer ones of a few words are one topic, and do not hide the others in the noise.
    far = np.zeros((20, 200))
    far[:, :5] = np.floor(5000.0 * np.random.RandomState(0).gamma(1.0, size=(20, 1)))
    X = sp.vstack([data.X, sp.csr_array(far)]).tocsr()
    assert DiscreteICA("auto", random_state=0).fit(X).n_components_ == size + 1
    X = np.random.RandomState(0).poisson(3.0, size=(200, 10))
    with pytest.raises(ValueError, match="finds no eigenvalue of X above"):
        DiscreteICA("auto", moments="gp", random_state=0).fit(X)


def test_one_topic_of_auto_that_says_no_more_than_frequencies(rng):
    X = rng.poisson(rng.gamma(2.0, 20.0, size=(300, 1)) * rng.dirichlet(np.ones(30)))
    with pytest.warns(UserWarning, match="take a number for n_components, more or longer docume"):
        assert DiscreteICA("auto", random_state=0).fit(X).n_components_ == 1
    DiscreteICA(1, random_state=0).fit(X)


def exact_log_probability(tokens, topics, prior):
    total = 0.0
    for states in product(range(len(prior)), repeat=len(tokens)):
        counts = np.bincount(states, minlength=len(prior))
        log_prior = (
            gammaln(prior.sum()) - gammaln(prior.sum() + len(tokens))
            + np.sum(gammaln(prior + counts) - gammaln(prior))
        )  # fmt: skip
        total += np.exp(log_prior) * np.prod(topics[list(states), tokens])
    return np.log(total)


@pytest.mark.slow
def test_bounds_and_chib_against_enumeration(rng):
    model = DiscreteICA(3).fit(make_topic_corpus(300, 6, 3, length=20, random_state=0).X)
    X = np.array([[1, 0, 2, 1, 0, 1], [0, 3, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]])
    topics = model._smoothed().T
    exact = [
        exact_log_probability(np.repeat(np.arange(6), x), topics, model.doc_topic_prior_) for x in X
    ]
    assert np.all(model.score_samples(X) <= np.array(exact) + 1e-12)
    assert np.all(model.score_samples(X) > np.array(exact) - 1.0)
    estimates = np.exp([
        chib_log_likelihood(X, topics, model.doc_topic_prior_, n_samples=2000, random_state=seed)
        for seed in range(8)
    ])  # fmt: skip
    error = estimates.std(axis=0) / np.sqrt(8)
    assert np.all(np.abs(estimates.mean(axis=0) - np.exp(exact)) < 4 * error + 1e-3 * np.exp(exact))


def test_proportions_are_those_of_scikit_learn():
    data = make_topic_corpus(200, 20, 3, length=30, random_state=0)
    model = DiscreteICA(3, smoothing=0.0).fit(data.X)
    model.doc_topic_prior_ = np.full(3, 0.3)
    model.components_ = model.components_ + 1e-3
    model.components_ /= model.components_.sum(axis=1, keepdims=True)
    other = LatentDirichletAllocation(
        3, doc_topic_prior=0.3, max_doc_update_iter=5000, mean_change_tol=1e-12, max_iter=1
    ).fit(data.X)
    other.components_ = other.exp_dirichlet_component_ = model.components_
    X = data.X[:20]
    np.testing.assert_allclose(model.transform(X), other.transform(X), rtol=0, atol=2e-3)


def test_dask(extra, monkeypatch, request):
    dask, arrays = extra("distributed", "dask"), extra("distributed", "dask.array")
    X = make_topic_corpus(300, 30, 3, random_state=0).X
    n_sums, n_loads, sum_of_rows = [], [0, 0, 0], Rows.sum

    @dask.delayed
    def load(k):
        n_loads[k] += 1
        return X[100 * k : 100 * (k + 1)]

    def count(rows, function):
        n_sums.append(function)
        return sum_of_rows(rows, function)

    blocks = arrays.concatenate([
        arrays.from_delayed(load(k), (100, 30), dtype=X.dtype) for k in range(3)
    ])  # fmt: skip
    alone = DiscreteICA(3).fit(X)
    monkeypatch.setattr(Rows, "sum", count)
    with dask.config.set(scheduler="synchronous"):
        found = DiscreteICA(3).fit(blocks)
        # Once per pass and for documents that are set aside, the first also for its columns.
        assert n_loads == [len(n_sums) + 2, len(n_sums) + 1, len(n_sums) + 1]
        for method in ("transform", "transform_intensities", "score_samples"):
            values = getattr(found, method)(blocks).compute()
            np.testing.assert_allclose(values, getattr(found, method)(X), rtol=1e-12)
    monkeypatch.undo()
    request.getfixturevalue("cluster")  # from here on its workers compute
    for model in (found, DiscreteICA(3).fit(blocks)):
        np.testing.assert_allclose(model.components_, alone.components_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({"n_components": 7, "moments": "gp"}, None, "n_components=7 must be at most n_features"),
        ({"n_components": 7, "moments": "lda"}, None, "n_components=7 must be at most n_features"),
        (
            {"moments": "generalized", "algorithm": "tpm"}, None,
            'algorithm="tpm" needs a tensor',
        ),
        ({}, lambda X: X + 0.5, "X must hold whole numbers"),
        ({}, lambda X: X - 1.0, "X must hold counts"),
        ({}, lambda X: np.zeros((5, 3)), "X has no words"),
        ({}, lambda X: X[:2], "n_samples=2 that count"),
        (
            {"n_components": 6, "moments": "gp"},
            lambda X: np.random.RandomState(0).poisson(3.0, size=(50, 6)),
            r"only \d eigenvalues",
        ),
    ],
)  # fmt: skip
def test_refusals(parameters, change, message):
    X = make_topic_corpus(50, 6, 2, random_state=0).X.toarray()
    X = X if change is None else change(X)
    with pytest.raises(ValueError, match=message):
        DiscreteICA(**{"n_components": 2} | parameters).fit(X)


def test_topics_and_priors_are_checked():
    X = np.eye(6)
    with pytest.raises(ValueError, match="topics must not be negative, and rows must sum to one"):
        chib_log_likelihood(X, np.ones((2, 6)), [1.0, 1.0])
    with pytest.raises(ValueError, match="prior must hold 2 numbers"):
        chib_log_likelihood(X, np.full((2, 6), 1 / 6), [1.0])


def log_evidence(X, prior, topic_prior):
    """Log probability of a corpus with topics and proportions integrated out, by enumeration."""
    tokens = [(i, m) for i, row in enumerate(X) for m in np.repeat(np.arange(len(row)), row)]
    K, size = len(prior), X.shape[1]

    def dirichlet(counts, concentrations):
        return (
            gammaln(concentrations.sum()) - gammaln((counts + concentrations).sum())
            + np.sum(gammaln(counts + concentrations) - gammaln(concentrations))
        )  # fmt: skip

    values = []
    for states in product(range(K), repeat=len(tokens)):
        documents, words = np.zeros((len(X), K)), np.zeros((K, size))
        for (i, m), k in zip(tokens, states, strict=True):
            documents[i, k] += 1
            words[k, m] += 1
        value = sum(dirichlet(row, prior) for row in documents)
        values.append(value + sum(dirichlet(row, np.full(size, topic_prior)) for row in words))
    return np.logaddexp.reduce(values)


def test_the_bound_of_the_refinement_is_one_on_the_evidence():
    X = np.array([[2, 1, 0], [0, 1, 2], [1, 0, 3]])
    rows = Rows([sp.csr_array(X).astype(float)], [np.ones(3)], 3)
    start = np.array([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]])
    distributions, prior, lower = refine_topics(
        rows, start, np.array([0.4, 0.6]), tol=1e-5, max_iter=999
    )
    assert np.all(np.diff(lower) >= -1e-10)
    exact = log_evidence(X, prior, distributions.concentration)
    assert exact - 3.0 < lower[-1] <= exact


@pytest.mark.slow
def test_few_documents_do_not_make_topics_too_sharp():
    """Refined topics tell new documents better than those of a fixed prior and random starts."""
    data = make_topic_corpus(300, 400, 5, kind="lda", topic_prior=0.2, length=60, random_state=0)
    new = make_topic_corpus(200, kind="lda", topics=data.topics, length=60, random_state=1).X
    model = DiscreteICA(5, refine="vi", moments="lda", c0=0.5, tol=1e-5).fit(data.X)
    assert model.topic_word_prior_ == pytest.approx(0.2, rel=0.25)
    best = min(
        -LatentDirichletAllocation(5, random_state=seed).fit(data.X).score(new) for seed in range(3)
    )
    assert -model.score(new) < best


def gain(model, X, new):
    """Bits per token of new documents above those of the frequencies of words."""
    counts = np.asarray(X.sum(axis=0)).ravel() + 1.0
    return (
        model.bits_per_token(new) - float((new @ np.log2(counts / counts.sum())).sum()) / new.sum()
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no basis makes", "ignore:the matrices still turned")
def test_prior_and_smoothing_suit_short_documents():
    X = make_topic_corpus(2500, 300, 5, kind="lda", length=6, prior=0.05, random_state=0).X
    X, new = X[:2000], X[2000:]
    by_moments = DiscreteICA(5, prior_estimator="tensor", random_state=0).fit(X)
    model = DiscreteICA(5, random_state=0).fit(X)
    assert gain(model, X, new) > gain(by_moments, X, new) + 0.05
    by_moments = DiscreteICA(40, prior_estimator="tensor", random_state=0).fit(X)
    assert gain(by_moments, X, new) < 0.1
    with pytest.warns(UserWarning, match="no more probable than"):
        model = DiscreteICA(40, random_state=0).fit(X)  # topics of noise
    assert gain(model, X, new) > -1e-3
