"""Small runs of every estimator, solver and oracle: `python -m _plain FILE` keeps their results.

Compiled or as plain Python, few iterations take the same steps and differ by rounding only.
"""

import sys
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from _random_scores import random_scores
from _registry import CASES, iris, numbers, sequences
from sklearn_fw import AsagaClassifier, AsagaRegressor, StructuredSVM, losses, regularization_path
from sklearn_fw.inference import Assignment, resolve_oracle
from sklearn_fw.inference._oracles._resolve import ORACLES
from sklearn_fw.optim import solve_matrix_game
from sklearn_fw.optim._incremental._solvers import SOLVERS as LINEAR
from sklearn_fw.penalties import GroupLasso, GroupSeparable
from sklearn_fw.random_fields import matrix_tree_edge_probabilities, sampled_edge_probabilities
from sklearn_fw.structured import BlockFrankWolfe, BoxModel, MatchingModel, TreePoseModel
from sklearn_fw.structured._solvers import SOLVERS as STRUCTURED

LOSSES = sorted(set(losses.__all__) - {"Loss", "resolve_loss"})
ON_THREADS = ("asaga", "svrg", "sdca")
N_PASSES = 2
SMOOTH_ONLY = {"newton", "newton_cg", "sag", "sdca"}  # as far as they are asked to go here


def shortened(estimator):
    """The estimator with few iterations, which ends after a number of them and not by `tol`."""
    few = {"max_iter": N_PASSES, "tol": 1e-12}
    names = estimator.get_params(deep=False)
    estimator = clone(estimator).set_params(**{k: v for k, v in few.items() if k in names})
    if names.get("C") == "auto":
        estimator.set_params(C=1.0)
    if "random_state" in names:
        estimator.set_params(random_state=0)
    return estimator


def results_of(fitted, outputs):
    """Every number that a fit leaves, and those that its methods answer with."""
    found = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    return numeric(found | outputs)


def numeric(found):
    """The entries of a dict that are numbers; dicts are taken apart, sparse arrays filled."""
    kept = {}
    for name, value in found.items():
        if isinstance(value, dict):
            kept |= {f"{name}.{key}": v for key, v in numeric(value).items()}
            continue
        try:
            value = np.asarray(value.toarray() if sp.issparse(value) else value, dtype=float)
        except (TypeError, ValueError):
            continue
        if "time" not in name:
            kept[name] = value
    return kept


def fit(estimator, data):
    """Results of a short fit and of a prediction."""
    X, y = data
    estimator = shortened(estimator).fit(X, y)
    outputs = {}
    for method in ("predict", "score_samples"):
        if hasattr(estimator, method):
            answers = getattr(estimator, method)(X)
            outputs[method] = np.concatenate(answers) if isinstance(answers, list) else answers
    return results_of(estimator, outputs)


def matchings():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3, 3, 2)) for _ in range(6)]
    return X, [Assignment().argmax(x @ [1.0, -1.0])[0] for x in X]


def poses():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 7, 2)) for _ in range(5)]
    return X, [rng.integers(6, size=(3, 2)) for _ in X]


def boxes():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 7, 2)) for _ in range(5)]
    return X, [(i % 3, 1, 5, 3 + i) for i in range(5)]


def binary():
    X, y = numbers()
    return X, y > 0


def sparse(data):
    X, y = data()
    return sp.csr_array(X * (np.abs(X) > 0.5)), y


class UsersPenalty(GroupSeparable):
    """Half the squared norm of each group, in Python."""

    def group_value(self, u, group):
        return u @ u / 2

    def group_prox(self, u, step_size, group):
        return u / (1 + step_size)

    def group_conjugate(self, v, group):
        return v @ v / 2


def linear_fits():
    """Solvers, losses and penalties of linear models."""
    for name in LINEAR:
        penalties = [0.0] if name in SMOOTH_ONLY else [0.0, 0.5]
        for l1_ratio in penalties:
            for form, data in {"dense": binary(), "CSR": sparse(binary)}.items():
                yield (
                    f"{name}, {l1_ratio}, {form}",
                    AsagaClassifier(solver=name, l1_ratio=l1_ratio),
                    data,
                )
    for name in ("sparse_saga", "svrg", "asaga"):
        for penalty in (GroupLasso([[0, 1], [2, 3]]), UsersPenalty([[0, 1], [2, 3]])):
            kind = type(penalty).__name__
            yield f"{name}, {kind}", AsagaRegressor(solver=name, penalty=penalty), numbers()
        yield f"{name}, classes", AsagaClassifier(solver=name), iris()
    for loss in ("huber", "squared_epsilon_insensitive"):
        yield loss, AsagaRegressor(loss, solver="saga"), numbers()
    yield "threads", AsagaRegressor(solver="saga", l1_ratio=0.5), sparse(numbers)


def structured_fits():
    for name, make in STRUCTURED.items():
        options = {"solver": name, "surrogate": make().trains[0], "C": 1.0}
        model = StructuredSVM("chain", **options)
        if name != "sdm":
            yield f"{name}, chain", model, sequences()
        if name not in ("extragradient", "sp_fw", "sp_bcfw"):
            yield f"{name}, classes", StructuredSVM("multiclass", **options), iris()
    for step in ("away", "pairwise", "hybrid"):
        solver = BlockFrankWolfe(step, cache=True, averaging=True)
        yield (
            f"cached {step}",
            StructuredSVM("chain", solver=solver, C=1.0),
            sequences(sp.csr_array),
        )

    class OwnOracle:
        def argmax(self, scores, start=None):
            return resolve_oracle("tree").argmax(scores)

    yield "own oracle", StructuredSVM("chain", oracle=OwnOracle(), C=1.0), sequences()
    for name, data in {"chain": sequences(), "multiclass": iris()}.items():
        solver = BlockFrankWolfe("pairwise", lower_bounds=-0.1, upper_bounds=0.1)
        yield f"bounds, {name}", StructuredSVM(name, solver=solver, C=1.0), data
    yield "zero-one", StructuredSVM("chain", task_loss="zero_one", C=1.0), sequences()
    yield "matching", StructuredSVM(MatchingModel(), solver="extragradient", C=1.0), matchings()
    yield "matching, bcfw", StructuredSVM(MatchingModel(), C=1.0), matchings()
    yield "poses", StructuredSVM(TreePoseModel(), solver="bcpfw", C=1.0), poses()
    yield "boxes", StructuredSVM(BoxModel(), C=1.0), boxes()


def oracle_answers(name):
    """Values, not labels: several may be best."""
    rng = np.random.default_rng(0)
    graph = {"viterbi": "chain", "tree": "forest"}.get(name, "any")
    attractive = name in ("graph_cut", "qpbo")
    found = {}
    for i in range(4):
        scores = random_scores(
            rng, graph=graph, n_nodes=5, n_states=2 if attractive else 3, attractive=attractive
        )
        options = {"random_state": 0} if name == "ils" else {}
        oracle = resolve_oracle(name)
        oracle = oracle.set_params(**options) if options else oracle
        _, value, upper_bound = oracle.argmax(scores)
        found |= {f"value {i}": value, f"bound {i}": upper_bound}
        for method in ("log_partition", "max_marginals", "marginals"):
            if hasattr(oracle, method):
                answer = getattr(oracle, method)(scores)
                for k, part in enumerate(answer if isinstance(answer, tuple) else (answer,)):
                    found[f"{method} {k} {i}"] = part
        if hasattr(oracle, "top_k"):
            found[f"top {i}"] = oracle.top_k(scores, 3)[1]
        if hasattr(oracle, "sample"):
            found[f"sample {i}"] = oracle.sample(scores, 3, random_state=0)
    return numeric(found)


def loss_values():
    """Values, slopes and conjugates of the losses on their own."""
    rng = np.random.default_rng(0)
    z, classes = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    found = {}
    for name in LOSSES:
        loss = getattr(losses, name)()
        several = name == "MultinomialLogLoss"
        y, scores = (classes, z) if several else (np.sign(z[:, 1]), z[:, 0])
        slopes = loss.derivative(y, scores)
        found |= {
            f"{name} value": loss.value(y, scores), f"{name} derivative": slopes,
            f"{name} conjugate": loss.conjugate(y, slopes),
        }  # fmt: skip
    return found


def on_threads():
    """Runs of two workers, which no two ways make alike."""
    fits = [(AsagaClassifier(solver=name, n_jobs=2), sparse(binary)) for name in ON_THREADS]
    fits.append((AsagaRegressor(penalty=GroupLasso([[0, 1]]), n_jobs=2), sparse(numbers)))
    for estimator, data in fits:
        fit(estimator, data)
    return {}


def table():
    """Yield names and functions without arguments that return a dict of arrays."""
    for case in CASES:
        yield f"case {case}", lambda case=case: fit(case.make(), case.data())
    for kind, fits in {"structured": structured_fits(), "linear": linear_fits()}.items():
        for name, estimator, data in fits:
            yield f"{kind} {name}", lambda e=estimator, d=data: fit(e, d)
    for name in ORACLES:
        if name != "toulbar2":
            yield f"oracle {name}", lambda name=name: oracle_answers(name)
    lasso = AsagaClassifier(l1_ratio=1.0, solver="sparse_saga", max_iter=N_PASSES, random_state=0)
    yield "path", lambda: numeric(vars(regularization_path(lasso, *binary(), n_values=2)))
    chain = StructuredSVM("chain", random_state=0)
    yield (
        "path of chains",
        lambda: numeric(vars(regularization_path(chain, *sequences(), eps=0.5, C_max=1.0))),
    )
    yield "losses", loss_values
    yield "threads", on_threads
    edges = np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    yield "trees", lambda: numeric(
        {"matrix": matrix_tree_edge_probabilities(edges, 4),
         "drawn": sampled_edge_probabilities(edges, 4, n_trees=20, random_state=0)}
    )  # fmt: skip
    matrix = np.random.default_rng(0).normal(size=(3, 4))
    yield "game", lambda: numeric(dict(solve_matrix_game(matrix, tol=0.0, max_iter=5)))


def all_results():
    """Results under "name | what", and the errors of what did not end."""
    found, errors = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in table():
            try:
                found |= {f"{name} | {key}": value for key, value in run().items()}
            except Exception as error:
                errors[name] = repr(error)
    return found, errors


if __name__ == "__main__":
    results, faults = all_results()
    np.savez(sys.argv[1], **results)
    sys.exit(str(faults) if faults else 0)
