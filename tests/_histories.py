"""Everything that iterates, each with the columns of its history."""

from functools import partial

import numpy as np
from scipy.optimize import OptimizeResult

from _networks import TagNetwork
from sklearn_fw.datasets import make_ising
from sklearn_fw.linear_model import (
    AsagaClassifier,
    AsagaRegressor,
    AveragedSubgradientClassifier,
    AveragedSubgradientRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
)
from sklearn_fw.optim import (
    domains,
    minimize_block_frank_wolfe,
    minimize_saga,
    minimize_submodular,
    objectives,
    set_functions,
    solve_matrix_game,
    solve_saddle_point,
)
from sklearn_fw.random_fields import (
    LoopyBPMarginals,
    MeanFieldMarginals,
    MiniBucketMarginals,
    MRFLearner,
    PerturbAndMAPMarginals,
    TRBPMarginals,
    TRWMarginals,
)
from sklearn_fw.structured import (
    Extragradient,
    LatentStructuredSVM,
    ProxLinearStructuredSVM,
    StructuredSVM,
)

WALK = {"n_iter", "time"}
BOTH = {"objective", "dual_objective", "dual_gap"}


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=40)


def svm(**options):
    words = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]], np.eye(3)[[1, 1, 0, 2]]]
    labels = [[0, 1, 1], [1, 0], [1, 1, 0, 0]]
    return StructuredSVM(random_state=0, **{"max_iter": 30, "tol": 1e-3, **options}).fit(
        words, labels
    )


def linear(estimator, n_classes=None):
    X, y = table()
    return estimator.fit(X, y if n_classes is None else np.digitize(y, [0.0, 1.0][: n_classes - 1]))


def marginals(estimator):
    return estimator.fit(make_ising("clique", 5, coupling=1.0, random_state=0))


def learning():
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float)
    X[::5, 1] = np.nan
    return OptimizeResult(history=MRFLearner().learn(X).history)


def saddle(variant):
    def function(x, y):
        return x @ y + 0.5 * (x @ x - y @ y), y + x, x - y

    square = domains.Box(-1.0, 2.0, size=2)
    return solve_saddle_point(function, square, square, variant=variant, max_iter=20)


# {case: (what gives a fitted estimator or a result, its columns)}
CASES = {
    "svm": (partial(svm), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "casimir": (
        partial(svm, solver="casimir"),
        WALK | BOTH | {"n_oracle_calls", "mu", "lipschitz", "saturated"},
    ),
    "pairwise": (partial(svm, solver="bcpfw"), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "crf": (
        partial(svm, surrogate="crf"), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}
    ),
    "batch": (partial(svm, solver="fw"), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "saddle svm": (partial(svm, solver="sp_fw"), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "extragradient": (
        partial(svm, solver=Extragradient(gap_check=5)),
        WALK | BOTH
        | {"n_oracle_calls", "estimated_gap", "step_size", "restricted_gap", "bound"},
    ),
    "perceptron": (partial(svm, solver="perceptron"), WALK | {"n_oracle_calls", "objective"}),
    "latent": (
        lambda: LatentStructuredSVM(n_init=2, C=1.0, random_state=0).fit(
            [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]], np.eye(3)[[1, 1, 0, 2]]],
            [[0, 1, 1], [1, 0], [1, 1, 0, 0]],
        ),
        WALK | BOTH | {"n_oracle_calls", "n_changed", "n_passes"},
    ),
    "prox-linear": (
        lambda: ProxLinearStructuredSVM(TagNetwork(), C=10.0, random_state=0).fit(
            [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]], np.eye(3)[[1, 1, 0, 2]]],
            [[0, 1, 2], [2, 0], [1, 1, 0, 2]],
        ),
        WALK | BOTH
        | {"n_oracle_calls", "certified", "prox_gradient_norm", "eta", "n_passes", "is_accepted"},
    ),
    "classifier": (
        lambda: linear(AsagaClassifier(random_state=0), 2), WALK | BOTH | {"certified"}
    ),
    "one against rest": (
        lambda: linear(AsagaClassifier(multi_class="ovr", random_state=0), 3),
        WALK | BOTH | {"certified", "output"},
    ),
    "regressor": (lambda: linear(AsagaRegressor(random_state=0)), WALK | BOTH | {"certified"}),
    "no dual": (
        lambda: linear(AsagaRegressor(alpha=0.0, solver="asaga", random_state=0)),
        WALK | {"objective", "gradient_mapping", "suboptimality", "certified"},
    ),
    "averaged": (
        lambda: linear(AveragedSubgradientRegressor(random_state=0)), WALK | {"objective"}
    ),
    "averaged, all passes": (
        lambda: linear(AveragedSubgradientClassifier(record_history=True, random_state=0), 3),
        WALK | {"objective", "last_objective", "output"},
    ),
    "on a set": (
        lambda: linear(FrankWolfeRegressor(radius=1.0)),
        WALK | {
            "objective", "dual_gap", "n_oracle_calls", "step_size", "pairwise_gap", "n_good",
            "n_away", "n_drop",
        },
    ),
    "classes on a set": (
        lambda: linear(FrankWolfeClassifier(domain="l2", radius=1.0), 3),
        WALK | {"objective", "dual_gap", "n_oracle_calls", "step_size", "output"},
    ),
    "trw": (
        lambda: marginals(TRWMarginals("elimination", n_rho_iter=2, tol=0.01)),
        WALK | BOTH
        | {
            "n_oracle_calls", "rho_iter", "estimated_gap", "log_partition_upper", "delta",
            "n_vertices",
        },
    ),
    "exact": (lambda: marginals(TRWMarginals()), set()),
    "trbp": (lambda: marginals(TRBPMarginals(n_rho_iter=3)), WALK | BOTH | {"rho_iter", "slack"}),
    "loopy": (lambda: marginals(LoopyBPMarginals()), WALK | {"slack", "objective"}),
    "mean field": (
        lambda: marginals(MeanFieldMarginals(n_init=2, random_state=0)),
        WALK | {"start", "change", "objective"},
    ),
    "mini buckets": (
        lambda: marginals(MiniBucketMarginals(4)), WALK | {"dual_objective", "change"},
    ),
    "perturbed": (
        lambda: marginals(PerturbAndMAPMarginals(random_state=0)),
        {"n_iter", "n_oracle_calls", "objective"},
    ),
    "learning": (learning, WALK | {"objective", "log_likelihood", "gain"}),
    "saddle": (
        lambda: saddle("fw"),
        WALK | {"n_oracle_calls", "objective", "dual_gap", "gap_x", "gap_y", "step_size"},
    ),
    "game": (
        lambda: solve_matrix_game(np.eye(3), max_iter=30, tol=0.0),
        WALK | BOTH | {"lower", "upper"},
    ),
    "submodular": (
        lambda: minimize_submodular(set_functions.CardinalityFunction([0.0, 1.0, 1.0, -0.5])),
        WALK | BOTH | {"n_oracle_calls", "n_atoms"},
    ),
    "blocks": (
        lambda: minimize_block_frank_wolfe(
            objectives.Quadratic(np.eye(4), [-1.0, 0.0, 0.5, 2.0]),
            domains.Product(domains.Simplex(2), domains.Simplex(2)), random_state=0,
        ),
        WALK | {"n_oracle_calls", "objective", "dual_gap", "step_size"},
    ),
    "saga": (
        lambda: minimize_saga(*table(), loss="squared_error", alpha=0.1, random_state=0),
        WALK | BOTH | {"certified"},
    ),
}  # fmt: skip


def history_of(fitted):
    return fitted.history_ if hasattr(fitted, "history_") else fitted.history
