"""What "auto" takes, tolerances relative to the objective, and advice that fits the case."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from _problems import fit, optimum, problem
from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    EnumeratedModel,
    GraphModel,
    LatentStructuredSVM,
    MulticlassModel,
    MultilabelModel,
    StructuredModel,
)
from sklearn_fw.structured._choice_of_c import RATIO, USUAL, USUAL_OF_BLACK_BOX, natural_C


def sentences(rng, n=60, n_features=8):
    """Sequences of three states with noisy features, none like another."""
    directions = rng.normal(size=(3, n_features))
    y = [rng.integers(3, size=length) for length in rng.integers(2, 7, size=n)]
    return [directions[t] + rng.normal(size=(len(t), n_features)) for t in y], y


def natural(X, y, **params):
    svm = StructuredSVM("chain", C=1.0, **params)
    return natural_C(svm._make_blocks(X, y, None)[0])


# ---- C -------------------------------------------------------------------------------------------


def test_natural_C_of_chains_from_its_definition(rng):
    X, y = sentences(rng)
    squares = [np.sum(x**2) + 2 for x in X]  # two constants
    lengths = [len(x) for x in X]
    assert natural(X, y) == pytest.approx(np.mean(lengths) / np.mean(squares))
    assert natural(X, y, task_loss="hamming") == pytest.approx(1 / np.mean(squares))


def graphs_of(sequences):
    """The same nodes and edges in the form of graphs."""
    return [(x, np.stack([np.arange(len(x) - 1), np.arange(1, len(x))], axis=1)) for x in sequences]


@pytest.mark.slow
@pytest.mark.parametrize("form", [list, graphs_of], ids=["chain", "graph"])
@pytest.mark.parametrize("surrogate", ["hinge", "crf"])
def test_units_of_features_beside_tables_change_nothing(form, surrogate, rng):
    X, y = sentences(rng)
    fits = [
        StructuredSVM(surrogate=surrogate, random_state=0).fit(form([a * x for x in X]), y)
        for a in (1.0, 256.0, 1 / 256)
    ]
    assert fits[1].feature_scale_ == 2**16 * fits[2].feature_scale_ > 1
    assert fits[1].C_ == fits[2].C_
    size = 3 * X[0].shape[1]  # of the weights of features, which are for X as given
    np.testing.assert_array_equal(fits[1].coef_[:size] * 2**16, fits[2].coef_[:size])
    np.testing.assert_array_equal(fits[1].coef_[size:], fits[2].coef_[size:])
    named = "features" if form is list else "nodes"
    weights = [svm.model_.unpack(svm.coef_)[named] for svm in fits[1:]]
    np.testing.assert_allclose(np.ravel(weights[0]) * 256, np.ravel(weights[1]) / 256)


def test_scores_are_those_of_the_joint_feature_in_its_units(rng):
    X, y = sentences(rng)
    X = [300 * x for x in X]
    svm = StructuredSVM(random_state=0).fit(X, y)
    assert svm.feature_scale_ > 100
    best = svm.predict(X[:3])
    scores = [svm.coef_ @ svm.model_.joint_feature(*pair) for pair in zip(X[:3], best)]
    np.testing.assert_allclose(svm.score_samples(X[:3]), scores, rtol=1e-12)
    named = svm.model_.unpack(svm.coef_)
    by_hand = (
        sum((X[0] @ named["features"])[np.arange(len(best[0])), best[0]])
        + named["transitions"][best[0][:-1], best[0][1:]].sum()
    )
    by_hand += named["start"][best[0][0]] + named["end"][best[0][-1]]
    assert by_hand == pytest.approx(scores[0])


def rings(rng, scale=1.0, n=12):
    """Small rings whose edges say whether their ends agree."""
    X, y = [], []
    for _ in range(n):
        labels = rng.integers(2, size=5)
        edges = np.stack([np.arange(5), np.roll(np.arange(5), -1)], axis=1)
        agree = labels[edges[:, 0]] == labels[edges[:, 1]]
        of_edges = 2.0 * np.stack([agree, ~agree], axis=1) + rng.normal(size=(5, 2))
        X.append((labels[:, None] + rng.normal(size=(5, 2)), edges, scale * of_edges))
        y.append(labels)
    return X, y


def test_units_of_edge_features_change_nothing(rng):
    seed = rng.integers(2**31)
    fits = []
    for scale in (256.0, 1 / 256):
        X, y = rings(np.random.default_rng(seed), scale)
        svm = StructuredSVM(random_state=0).fit(X, y)
        scores = [svm.coef_ @ svm.model_.joint_feature(*pair) for pair in zip(X, svm.predict(X))]
        np.testing.assert_allclose(svm.score_samples(X), scores, rtol=1e-12)
        of_model = [svm.model_.scores(X[0], svm.coef_).value(svm.predict(X[:1])[0])]
        np.testing.assert_allclose(of_model, scores[:1], rtol=1e-12)
        fits.append(svm)
    assert fits[0].edge_feature_scale_ == 2**16 * fits[1].edge_feature_scale_ > 1
    large, small = [svm.model_.unpack(svm.coef_)["edges"][0] for svm in fits]
    np.testing.assert_allclose(large[0], small[0])  # of the constant
    np.testing.assert_allclose(256 * large[1:], small[1:] / 256)


def test_edge_features_of_a_given_C_stay_as_they_are(rng):
    X, y = rings(rng, 1 / 256)
    with pytest.warns(UserWarning, match="at each edge, .*: features will hardly be learned"):
        svm = StructuredSVM(C=1.0).fit(X, y)
    assert svm.edge_feature_scale_ == 1.0


def test_constants_among_the_features_of_edges_have_no_units(rng):
    X, y = rings(rng, 1 / 256)
    svm = StructuredSVM(GraphModel(fit_intercept=False), random_state=0).fit(X, y)
    assert len(svm.model_.unpack(svm.coef_)["edges"][0]) == 2
    assert svm.edge_feature_scale_ < 1
    without = StructuredSVM(random_state=0).fit([x[:2] for x in X], y)
    assert without.edge_feature_scale_ == 1.0


def test_a_given_C_leaves_features_as_they_are_and_warns(rng):
    X, y = sentences(rng)
    with pytest.warns(UserWarning, match="norm of .*or leave C='auto'"):
        svm = StructuredSVM(C=1e-6).fit([300 * x for x in X], y)
    assert svm.feature_scale_ == 1.0


@pytest.mark.slow
def test_a_warm_start_keeps_the_units(rng):
    X, y = sentences(rng)
    svm = StructuredSVM(warm_start=True, random_state=0).fit([300 * x for x in X], y)
    before = svm.feature_scale_, svm.dual_objective_
    svm.fit([300 * x for x in X], y)
    assert svm.feature_scale_ == before[0] > 1
    assert svm.dual_objective_ >= before[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [MulticlassModel(fit_intercept=False), MultilabelModel("none", fit_intercept=False)],
    ids=repr,
)
def test_the_scale_of_features_changes_nothing(model, rng):
    X = rng.normal(size=(60, 5))
    y = (X @ rng.normal(size=(5, 3)) + rng.normal(size=(60, 3)) > 0).astype(int)
    y = y[:, 0] if isinstance(model, MulticlassModel) else y
    svm = StructuredSVM(model, random_state=0).fit(X, y)
    unit = natural_of(model, X, y)
    assert (
        min(abs(svm.C_ / (factor * unit) - 1) for factor in USUAL * RATIO ** np.arange(-1, 4.0))
        < 1e-9
    )
    for scale in (1 / 1024, 1024):
        other = StructuredSVM(model, random_state=0).fit(scale * X, y)
        assert other.C_ * scale**2 / svm.C_ == pytest.approx(1)
        np.testing.assert_array_equal(other.predict(scale * X), svm.predict(X))


def natural_of(model, X, y):
    return natural_C(StructuredSVM(model, C=1.0)._make_blocks(X, y, None)[0])


@pytest.mark.parametrize("form", ["table", "chain"])
def test_the_origin_of_features_changes_nothing(form, rng):
    """Columns far from zero, in one unit: few samples get a C for what is left of them."""
    X, y = sentences(rng, n=18)
    if form == "table":
        X, y = np.concatenate(X), np.concatenate(y)
        X, y = X[:18], y[:18]
    fits = []
    for origin in (9.0, 13.0):
        shifted = X + origin if form == "table" else [x + origin for x in X]
        svm = StructuredSVM(random_state=0).fit(shifted, y)
        fits.append((svm.C_, svm.score(shifted, y)))
    np.testing.assert_allclose(*fits, rtol=1e-9)
    assert fits[0][1] > 0.8


def test_C_is_not_chosen_where_lists_of_all_labelings_take_long(rng):
    X = rng.normal(size=(60, 5))
    Y = (X @ rng.normal(size=(5, 12)) + rng.normal(size=(60, 12)) > 0).astype(int)
    model = MultilabelModel("full")
    svm = StructuredSVM(model, tol=0.2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(svm.C_, USUAL * natural_of(model, X, Y))


def test_noise_gets_a_small_C_and_signal_a_larger_one(rng):
    X = rng.normal(size=(300, 40))
    noise = rng.integers(2, size=300)
    signal = (X[:, 0] + 0.02 * rng.normal(size=300) > 0).astype(int)
    unit = natural_of("multiclass", X, noise)
    small, large = (StructuredSVM(random_state=0).fit(X, y).C_ for y in (noise, signal))
    assert small / unit <= 2.0
    assert large / unit >= 8.0


def test_copies_are_not_held_out():
    """Words that show the same images are no news: a cautious value is taken."""
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    chosen = [rng.integers(40, size=4) for _ in range(60)]
    X, y = [images[i] for i in chosen], [digits[i] for i in chosen]
    svm = StructuredSVM(random_state=0).fit(X, y)
    X = [x / svm.feature_scale_ for x in X]
    np.testing.assert_allclose(svm.C_, USUAL * natural(X, y))


def test_copies_of_rows_are_held_out_together():
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(random_state=0).fit(X[:, [2]], y)  # 43 values
    assert svm.score(X[:, [2]], y) > 0.94
    # Noise, three times: copies held out on their own would ask for a large C.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 100)), rng.integers(2, size=80)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    svm = StructuredSVM(random_state=0).fit(X, y)
    assert svm.C_ / natural_of("multiclass", X, y) <= 2.0 * USUAL


def test_few_samples_get_a_cautious_C(rng):
    X, y = sentences(rng, n=19)
    np.testing.assert_allclose(StructuredSVM().fit(X, y).C_, USUAL * natural(X, y))
    X = [rng.normal(size=(4, 3)) for _ in range(19)]
    y = [int(x[:, 0].argmax()) for x in X]
    svm = StructuredSVM(EnumeratedModel(), random_state=0).fit(X, y)
    worst = [max(range(4), key=lambda c: (c != t, -c)) for t in y]
    square = np.mean([np.sum((x[t] - x[c]) ** 2) / 2 for x, t, c in zip(X, y, worst)])
    np.testing.assert_allclose(svm.C_, USUAL_OF_BLACK_BOX / square)


@pytest.mark.slow
def test_the_choice_follows_random_state_and_weights(rng):
    X, y = sentences(rng)
    one, two = (StructuredSVM(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    weight = np.r_[np.ones(40), np.zeros(20)]
    kept = StructuredSVM(random_state=3).fit(X[:40], y[:40])
    assert StructuredSVM(random_state=3).fit(X, y, sample_weight=weight).C_ == kept.C_


# ---- losses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["chain", ChainModel()], ids=repr)
def test_task_loss_by_name(rng, model):
    X, y = sentences(rng, n=20)
    auto, number, share = (
        StructuredSVM(model, task_loss=name, C=0.1, random_state=0).fit(X, y)
        for name in ("auto", "hamming_sum", "hamming")
    )
    assert (auto.task_loss_, share.task_loss_) == ("hamming_sum", "hamming")
    np.testing.assert_array_equal(auto.coef_, number.coef_)
    assert np.any(auto.coef_ != share.coef_)
    wrong = [np.mean(a != b) for a, b in zip(auto.predict(X), y)]
    np.testing.assert_allclose(auto.loss(X, y), wrong, rtol=1e-12)
    lengths = [len(t) for t in y]
    np.testing.assert_allclose(number.loss(X, y), np.multiply(wrong, lengths), rtol=1e-12)


def test_a_model_keeps_its_loss_unless_another_is_named(rng):
    X, y = rng.normal(size=(20, 3)), rng.integers(2, size=(20, 3))
    model = MultilabelModel(task_loss="hamming")
    assert StructuredSVM(model, C=1.0).fit(X, y).task_loss_ == "hamming"
    assert model.task_loss == "hamming"
    svm = StructuredSVM(model, C=1.0, task_loss="hamming_sum").fit(X, y)
    assert (svm.task_loss_, model.task_loss) == ("hamming_sum", "hamming")


def test_a_model_without_a_task_loss_says_so(rng):
    class Own(StructuredModel):
        joint_feature = loss = inference = loss_augmented_inference = lambda self, *args: None

    X, y = [rng.normal(size=(2, 2, 3))], [[(0, 1)]]
    with pytest.raises(ValueError, match="Own has no parameter task_loss: leave task_loss"):
        StructuredSVM(Own(), task_loss="hamming").fit(X, y)


# ---- averaging -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain", "labels, tree", "multiclass, costs"])
def test_the_better_of_average_and_iterate(name):
    p = problem(name)
    best = optimum(name)[1]
    took = set()
    for max_iter in (1, 2, 5, 30):
        runs = [
            fit(p, BlockFrankWolfe(averaging=a), tol=0.0, max_iter=max_iter)
            for a in (False, True, "auto")
        ]
        last, average, auto = runs
        assert auto.objective_ == min(last.objective_, average.objective_)
        assert auto.dual_objective_ == max(last.dual_objective_, average.dual_objective_)
        np.testing.assert_allclose(auto.dual_gap_, auto.objective_ - auto.dual_objective_)
        np.testing.assert_allclose(p.objective(auto.coef_), auto.objective_, rtol=1e-12)
        assert auto.dual_objective_ <= best + 1e-9 <= auto.objective_ + 2e-9
        took.add(auto.objective_ == average.objective_)
    assert took


def test_a_warm_start_goes_on_with_the_average():
    p = problem("chain")
    svm = fit(p, BlockFrankWolfe(averaging="auto"), tol=0.02, warm_start=True)
    w = svm.coef_
    svm.fit(p.X, p.y, p.sample_weight)
    assert svm.n_iter_ == 1
    np.testing.assert_allclose(svm.coef_, w, rtol=1e-9, atol=1e-12)


def test_averaging_auto_needs_steps_without_vertices():
    with pytest.raises(ValueError, match="averaging='auto' is defined for variant='fw' only"):
        fit(problem("chain"), BlockFrankWolfe("pairwise", averaging="auto"))


# ---- tolerance -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "bcfw", "bcpfw", "cached", "fw", "extragradient"])
def test_tol_is_relative_to_the_objective(solver):
    p = problem("chain")
    svm = fit(p, solver, tol=0.05, relative=True)
    assert svm.converged_
    assert 0 <= svm.dual_gap_ <= 0.05 * svm.objective_
    shares = svm.history_["dual_gap"][:-1] / svm.history_["objective"][:-1]
    assert np.all(shares > 0.05)


@pytest.mark.parametrize("tol", [0.5, 1e300])
def test_a_large_gap_is_never_called_convergence(tol):
    svm = fit(problem("chain"), "fw", tol=tol, relative=True)
    assert svm.dual_gap_ > 0.1 * svm.objective_
    assert svm.status_ == "loose"
    assert not svm.converged_


# ---- advice --------------------------------------------------------------------------------------


def advice(svm, X, y):
    with pytest.warns(ConvergenceWarning) as caught:
        svm.fit(X, y)
    return str(caught[0].message)


def test_advice_on_unequal_columns():
    X, y = load_wine(return_X_y=True)
    text = advice(StructuredSVM(solver="bcfw", C=1e-4, max_iter=3, random_state=0), X, y)
    ratio = np.sqrt(np.mean(X**2, axis=0))
    assert f"the largest is {ratio.max() / np.median(ratio):.0f} times the median" in text
    assert "solver='bcpfw'" not in text  # too far from the optimum for that to be the matter


def test_indicators_are_not_to_be_scaled(rng):
    X = (rng.random((200, 30)) < np.r_[0.9, np.full(29, 0.01)]).astype(float)
    y = rng.integers(2, size=200)
    text = advice(StructuredSVM(solver="bcfw", C=1e4, max_iter=3, random_state=0), X, y)
    assert "scale" not in text
    assert "a smaller C (C='auto' considers" in text
    assert "max_iter above 3" in text


def test_advice_near_the_end_names_pairwise_steps():
    X, y = make_digit_words(60, 1, return_X_y=True)[:2]
    svm = StructuredSVM(solver="bcfw", C=0.01, tol=1e-4, max_iter=20, random_state=0)
    assert "solver='bcpfw', which needs fewer passes" in advice(svm, X, y)
    assert "bcpfw" not in advice(svm.set_params(solver="bcpfw", max_iter=3), X, y)


def test_a_budget_that_was_asked_for():
    X, y = make_digit_words(60, 1, return_X_y=True)[:2]
    svm = StructuredSVM(solver="bcfw", C=0.01, tol=0, max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not svm.fit(X, y).converged_
    text = advice(svm.set_params(tol=1e-6, time_limit=1e-9), X, y)
    assert text.startswith("time_limit=1e-09 ended the fit after 1 passes")
    assert "max_iter" not in text


# ---- columns of unlike units ---------------------------------------------------------------------


def raw_table(rng, form=np.asarray):
    """Columns in unlike units, of which one is far from zero, an indicator and a constant."""
    clean = rng.normal(size=(240, 4))
    y = np.where(clean @ [2.0, -1.0, 1.0, 0.5] + 0.3 * rng.normal(size=240) > 0, "on", "off")
    scaled = clean * [1e-4, 1.0, 1e6, 30.0] + [0.0, 0.0, 5e6, 1e4]
    kind = (rng.random(240) < 0.2).astype(float)
    return form(np.column_stack([scaled, kind, np.full(240, 1e3)])), y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_raw_columns_are_learnt_as_scaled_ones(form, rng):
    X, y = raw_table(rng, form)
    svm = StructuredSVM(random_state=0).fit(X[:160], y[:160])
    assert svm.score(X[160:], y[160:]) > 0.85
    assert svm.feature_scale_.shape == (6,)
    named = svm.model_.unpack(svm.coef_)
    by_hand = X @ named["features"] + named["intercept"]
    np.testing.assert_allclose(svm.decision_function(X), by_hand[:, 1] - by_hand[:, 0], rtol=1e-9)
    assert svm.duality_gap(X[:160], y[:160]) <= 2 * svm.tol_ * svm.objective_


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "svm",
    [StructuredSVM("chain"), StructuredSVM("chain", surrogate="crf"), LatentStructuredSVM("chain")],
    ids=repr,
)
def test_raw_columns_of_chains_are_learnt_as_scaled_ones(svm, form, rng):
    """Start and transitions are constants of the states, which make up for the means."""
    clean, y = sentences(rng, 90, n_features=4)
    mean, spread = np.vstack(clean).mean(axis=0), np.vstack(clean).std(axis=0)
    scaled = [form((x - mean) / spread) for x in clean]
    raw = [form(x * [1e-4, 1.0, 1e5, 30.0] + [1.0, 0.0, 5e6, 1e4]) for x in clean]
    best = clone(svm).set_params(random_state=0).fit(scaled[:60], y[:60])
    found = clone(svm).set_params(random_state=0).fit(raw[:60], y[:60])
    assert found.feature_scale_.shape == (4,)
    assert found.score(raw[60:], y[60:]) > best.score(scaled[60:], y[60:]) - 0.03
    if not isinstance(svm, LatentStructuredSVM):
        # The weights for features as given are those of the fit.
        assert found.duality_gap(raw[:60], y[:60]) <= 2 * found.tol_ * found.objective_


@pytest.mark.parametrize("kind", [StructuredSVM, LatentStructuredSVM])
def test_rows_of_any_size_beside_an_intercept(kind):
    X, y = load_iris(return_X_y=True)
    known = kind(random_state=0).fit(X[::2], y[::2])
    assert np.all(known.feature_scale_ == 1.0)
    for unit in (1e-8, 1e-2, 1e2, 1e8):
        svm = kind(random_state=0).fit(unit * X[::2], y[::2])
        assert np.all(np.log2(svm.feature_scale_) % 1.0 == 0.0)
        assert svm.score(unit * X[1::2], y[1::2]) > 0.92
    with pytest.warns(UserWarning, match="norm of 8e-08 at each node.*features will hardly be"):
        kind(C=1.0, random_state=0).fit(1e-8 * X, y)
    model = MulticlassModel(fit_intercept=False)  # all weights shrink alike
    assert kind(model, random_state=0).fit(1e-8 * X, y).feature_scale_ == 1.0


def test_columns_of_rare_events_keep_their_common_unit(rng):
    X = rng.dirichlet(np.full(150, 0.3), size=400)
    X[:, 0] *= 0.02
    X[5, 0] = 0.5  # small on average, but not everywhere
    y = X[:, 1:40].sum(axis=1) > X[:, 40:80].sum(axis=1)
    assert np.ndim(StructuredSVM(random_state=0).fit(X, y).feature_scale_) == 0
    X[5, 0] = 0.0
    assert np.ndim(StructuredSVM(random_state=0).fit(X, y).feature_scale_) == 1


@pytest.mark.parametrize("table", [True, False])
def test_what_auto_chose_repeats_the_fit(table, rng):
    X, y = raw_table(rng) if table else rings(rng, 300.0)
    svm = StructuredSVM(random_state=0).fit(X, y)
    again = StructuredSVM(
        C=svm.C_, feature_scale=svm.feature_scale_, edge_feature_scale=svm.edge_feature_scale_,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_array_equal(again.coef_, svm.coef_)
    assert (again.objective_, again.dual_gap_) == (svm.objective_, svm.dual_gap_)


@pytest.mark.parametrize("scale", [-1.0, [1.0, 2.0], [1.0] * 5 + [0.0], "none", np.nan])
def test_scales_that_are_none(scale, rng):
    X, y = raw_table(rng)
    with pytest.raises((TypeError, ValueError), match="feature_scale"):
        StructuredSVM(feature_scale=scale).fit(X, y)


def test_scales_stay_when_the_array_of_the_user_changes():
    scale = np.array([2.0, 4.0])
    svm = StructuredSVM(feature_scale=scale).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    scale[:] = 1.0
    assert svm.feature_scale_.tolist() == [2.0, 4.0]
