"""Everything that iterates, each with the columns of its history."""

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator

from _networks import TagNetwork
from _registry import numbers, sequences
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
STRUCTURED = WALK | BOTH | {"n_oracle_calls"}
SOLVER = STRUCTURED | {"estimated_gap"}
FRANK_WOLFE = WALK | {"objective", "dual_gap", "n_oracle_calls", "step_size"}


def svm(**options):
    return StructuredSVM("chain", **{"max_iter": 30, "tol": 1e-3, "C": 1.0, **options})


def learning():
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float)
    X[::5, 1] = np.nan
    return OptimizeResult(history=MRFLearner().learn(X).history)


def saddle():
    def function(x, y):
        return x @ y + 0.5 * (x @ x - y @ y), y + x, x - y

    square = domains.Box(-1.0, 2.0, size=2)
    return solve_saddle_point(function, square, square, variant="fw", max_iter=20)


def blocks():
    quadratic = objectives.Quadratic(np.eye(4), [-1.0, 0.0, 0.5, 2.0])
    pair = domains.Product(domains.Simplex(2), domains.Simplex(2))
    return minimize_block_frank_wolfe(quadratic, pair, random_state=0)


def concave():
    return minimize_submodular(set_functions.CardinalityFunction([0.0, 1.0, 1.0, -0.5]))


# {case: (an estimator or a function that gives a result, its columns)}
CASES = {
    "svm": (svm(), SOLVER),
    "casimir": (svm(solver="casimir"), SOLVER | {"mu", "lipschitz", "saturated"}),
    "pairwise": (svm(solver="bcpfw"), SOLVER),
    "crf": (svm(surrogate="crf"), SOLVER),
    "batch": (svm(solver="fw"), SOLVER),
    "saddle svm": (svm(solver="sp_fw", C="auto"), SOLVER),
    "extragradient": (
        svm(solver=Extragradient(gap_check=5)),
        SOLVER | {"step_size", "restricted_gap", "bound"},
    ),
    "perceptron": (svm(solver="perceptron"), WALK | {"n_oracle_calls", "objective"}),
    "latent": (LatentStructuredSVM(n_init=2, C=1.0), SOLVER | {"n_changed", "n_passes"}),
    "prox-linear": (
        ProxLinearStructuredSVM(TagNetwork(), C=10.0),
        STRUCTURED | {"certified", "prox_gradient_norm", "eta", "n_passes", "is_accepted"},
    ),
    "classifier": (AsagaClassifier(), WALK | BOTH | {"certified"}),
    "one against rest": (
        AsagaClassifier(multi_class="ovr"), WALK | BOTH | {"certified", "output"}
    ),
    "regressor": (AsagaRegressor(), WALK | BOTH | {"certified"}),
    "no dual": (
        AsagaRegressor(alpha=0.0, solver="asaga"),
        WALK | {"objective", "gradient_mapping", "suboptimality", "certified"},
    ),
    "averaged": (AveragedSubgradientRegressor(), WALK | {"objective"}),
    "averaged, all passes": (
        AveragedSubgradientClassifier(record_history=True),
        WALK | {"objective", "last_objective", "output"},
    ),
    "on a set": (
        FrankWolfeRegressor(radius=1.0),
        FRANK_WOLFE | {"pairwise_gap", "n_good", "n_away", "n_drop"},
    ),
    "classes on a set": (FrankWolfeClassifier(domain="l2", radius=1.0), FRANK_WOLFE | {"output"}),
    "trw": (
        TRWMarginals("elimination", n_rho_iter=2, tol=0.01),
        SOLVER | {"rho_iter", "log_partition_upper", "delta", "n_vertices"},
    ),
    "exact": (TRWMarginals(), set()),
    "trbp": (TRBPMarginals(n_rho_iter=3), WALK | BOTH | {"rho_iter", "slack"}),
    "loopy": (TRBPMarginals("ones"), WALK | {"slack", "objective"}),
    "mean field": (MeanFieldMarginals(n_init=2), WALK | {"start", "change", "objective"}),
    "mini buckets": (MiniBucketMarginals(4), WALK | {"dual_objective", "change"}),
    "perturbed": (PerturbAndMAPMarginals(), {"n_iter", "n_oracle_calls", "objective"}),
    "learning": (learning, WALK | {"objective", "log_likelihood", "gain"}),
    "saddle": (saddle, FRANK_WOLFE | {"gap_x", "gap_y"}),
    "game": (
        lambda: solve_matrix_game(np.eye(3), max_iter=30, tol=0.0), WALK | BOTH | {"lower", "upper"}
    ),
    "submodular": (concave, STRUCTURED | {"n_atoms"}),
    "blocks": (blocks, FRANK_WOLFE),
    "saga": (
        lambda: minimize_saga(*numbers(), loss="squared_error", alpha=0.1, random_state=0),
        WALK | BOTH | {"certified"},
    ),
}  # fmt: skip


def made(case):
    """The result of a case, or its estimator after `fit`."""
    source = CASES[case][0]
    if not isinstance(source, BaseEstimator):
        return source()
    if "random_state" in source.get_params(deep=False):
        source.set_params(random_state=0)
    if "Marginals" in type(source).__name__:
        return source.fit(make_ising("clique", 5, coupling=1.0, random_state=0))
    if hasattr(source, "task_loss"):
        return source.fit(*sequences())
    X, y = numbers()
    several = case in ("one against rest", "averaged, all passes", "classes on a set")
    is_classifier = "Classifier" in type(source).__name__
    return source.fit(X, np.digitize(y, [0.0, 1.0][: 1 + several]) if is_classifier else y)


def history_of(fitted):
    return fitted.history_ if hasattr(fitted, "history_") else fitted.history
