"""Scores of classifiers and their gradients by the inputs."""

import numpy as np
from scipy.special import softmax
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

from .._core.torch import import_torch, is_torch_module
from ._affine import affine_pull, transformed
from ._answers import CHUNK, classes_of, labels_by, scores_by
from ._networks import Network
from ._torch import as_tensor, judging, logits_of

# What scores may differ by, relative, for a model to count as linear.
SAME = 1e-8


def away(objective, target):
    """Function from scores to the weights of scores whose weighted sum moves away from a target.

    "loss" ascends the cross-entropy of the target, "margin" the best other score minus its own, and
    a number k the score of rank k among the others, from 0, minus its own.
    """
    rank = 0 if objective == "margin" else objective

    def weights(scores, rows=slice(None)):
        t = target[rows]
        lines = np.arange(len(t))
        if objective == "loss":
            found = softmax(scores, axis=1)
        else:
            others = scores.copy()
            others[lines, t] = -np.inf
            best = np.argsort(-others, axis=1, kind="stable")[:, rank]
            found = np.zeros_like(scores)
            found[lines, best] = 1.0
        found[lines, t] -= 1.0
        return found

    return weights


class Judge:
    """What is known of a fitted classifier.

    Attributes
    ----------
    classes : ndarray or None
        In the order of the scores.
    kind : {"linear", "network", "torch", "own", "numeric", None}
        Where gradients come from; None where there are none.
    """

    kind = None
    classes = None

    def __init__(self, estimator):
        self.estimator = estimator
        self.classes = classes_of(estimator)

    def labels(self, X):
        """What the classifier itself says."""
        return labels_by(self.estimator, X)

    def scores(self, X):
        """Scores of shape (n, n_classes), or None where the classifier has none."""
        if self.classes is None:
            return None
        for method in ("decision_function", "predict_proba"):
            if callable(getattr(self.estimator, method, None)):
                if method == "decision_function" and self._votes():
                    continue
                return scores_by(self.estimator, X, method, len(self.classes))
        return None

    def _votes(self):
        # One column per pair of classes: not scores of classes.
        shape = getattr(self.estimator, "decision_function_shape", None)
        return shape == "ovo" and len(self.classes) > 2

    def pull(self, X, weights):
        """Gradients of weighted sums of scores by the inputs; weights is a function of scores."""
        raise NotImplementedError

    def ascent(self, X, target, objective):
        """Directions away from the targets, numbers of classes, as an array like X."""
        weights = away(objective, target)
        found = [
            self.pull(X[rows], lambda s, rows=rows: weights(s, rows))
            for rows in (slice(a, a + CHUNK) for a in range(0, len(X), CHUNK))
        ]
        return np.concatenate(found)

    def codes(self, labels):
        """Numbers of classes, -1 for what is no class."""
        found = np.full(len(labels), -1)
        for k, label in enumerate(self.classes):
            found[labels == label] = k
        return found


class LinearJudge(Judge):
    """Scores ``X @ coef.T + intercept``."""

    kind = "linear"

    def __init__(self, estimator, coef, intercept):
        super().__init__(estimator)
        self.coef, self.intercept = coef, intercept

    def scores(self, X):
        return X @ self.coef.T + self.intercept

    def pull(self, X, weights):
        return weights(self.scores(X)) @ self.coef


class NetworkJudge(Judge):
    """An `MLPClassifier`, by a backward pass of our own."""

    kind = "network"

    def __init__(self, estimator):
        super().__init__(estimator)
        self.network, self.theta = network_of(estimator)

    def scores(self, X):
        found = self.network.scores(self.theta, X)
        return _two_columns(found)

    def pull(self, X, weights):
        def given(scores):
            found = weights(_two_columns(scores))
            return found if scores.shape[1] > 1 else found[:, 1:]

        return self.network.pull(self.theta, X, given)


def _two_columns(scores):
    if scores.shape[1] > 1:
        return scores
    return np.column_stack([np.zeros(len(scores)), scores])


def network_of(estimator):
    """The network of a fitted `MLPClassifier` and its weights; one output for two classes."""
    sizes = [W.shape[0] for W in estimator.coefs_] + [estimator.coefs_[-1].shape[1]]
    network = Network(sizes, estimator.activation)
    layers = [
        (np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64))
        for W, b in zip(estimator.coefs_, estimator.intercepts_)
    ]
    return network, network.flat(layers)


class TorchJudge(Judge):
    """A module that gives logits, in evaluation mode."""

    kind = "torch"

    def __init__(self, module):
        import_torch("a module of PyTorch as estimator")
        self.estimator = module

    def scores(self, X):
        torch = import_torch("a module of PyTorch as estimator")
        found = []
        with judging(self.estimator), torch.no_grad():
            for first in range(0, len(X), CHUNK):
                rows = as_tensor(self.estimator, X[first : first + CHUNK])
                found.append(logits_of(self.estimator, rows).double().cpu().numpy())
        scores = np.concatenate(found)
        if np.any(np.isnan(scores)):
            raise ValueError("estimator: the module gave NaN")
        self.n_classes = scores.shape[1]
        return scores

    def labels(self, X):
        return self.scores(X).argmax(axis=1)

    def codes(self, labels):
        n_classes = getattr(self, "n_classes", None)
        ok = np.asarray([isinstance(v, int | np.integer) for v in labels.tolist()])
        found = np.where(ok, np.where(ok, labels, 0).astype(int), -1)
        return found if n_classes is None else np.where(found < n_classes, found, -1)

    def pull(self, X, weights):
        torch = import_torch("a module of PyTorch as estimator")
        with judging(self.estimator), torch.enable_grad():
            rows = as_tensor(self.estimator, X).requires_grad_(True)
            scores = logits_of(self.estimator, rows)
            given = weights(scores.detach().double().cpu().numpy())
            given = torch.as_tensor(given, dtype=scores.dtype, device=scores.device)
            (found,) = torch.autograd.grad((scores * given).sum(), rows)
        return found.double().cpu().numpy()


class OwnJudge(Judge):
    """An object with ``input_gradient(X, target)``."""

    kind = "own"

    def ascent(self, X, target, objective):
        if objective != "loss":
            raise ValueError(
                "objective must be 'loss' for an estimator with an input_gradient of its own"
            )
        named = target if self.scores(X[:1]) is None else self.classes[target]
        found = np.asarray(self.estimator.input_gradient(X.copy(), named))
        if found.shape != X.shape or found.dtype.kind not in "fiu":
            raise ValueError(
                f"estimator: input_gradient must give numbers of the shape of X, {X.shape}, got "
                f"{found.dtype} of shape {found.shape}"
            )
        return found.astype(np.float64)


class NumericJudge(Judge):
    """Central differences of the scores: two evaluations per feature and row."""

    kind = "numeric"

    def __init__(self, estimator, step):
        super().__init__(estimator)
        self.step = step

    def pull(self, X, weights):
        given = weights(self.scores(X))
        found = np.zeros_like(X)
        for j, step in enumerate(np.broadcast_to(self.step, X.shape[1:])):
            up, down = X.copy(), X.copy()
            up[:, j] += step
            down[:, j] -= step
            width = up[:, j] - down[:, j]  # what rounding leaves of it; none if it may not move
            moves = width > 0.0
            slope = (given * (self.scores(up) - self.scores(down))).sum(axis=1)
            found[moves, j] = slope[moves] / width[moves]
        return found


class ChainJudge(Judge):
    """A Pipeline: steps that are affine, then a classifier with gradients."""

    def __init__(self, estimator, pulls, head):
        super().__init__(estimator)
        self.pulls, self.head, self.kind = pulls, head, head.kind

    def _transform(self, X):
        for step, _ in self.pulls:
            X = transformed(step, X)
        return X

    def scores(self, X):
        return self.head.scores(self._transform(X))

    def pull(self, X, weights):
        return self._back(self.head.pull(self._transform(X), weights))

    def ascent(self, X, target, objective):
        return self._back(self.head.ascent(self._transform(X), target, objective))

    def _back(self, found):
        for _, pull in reversed(self.pulls):
            found = pull(found)
        return found


# ---- which one -----------------------------------------------------------------------------------


def find_judge(estimator, X, gradient, radius):
    """The judge for a classifier, looked at on rows that it will be asked about.

    With "auto" one whose gradients are known, or one without; "analytic" and "numeric" insist.
    """
    if gradient == "search":
        return _plain(estimator)
    if gradient == "numeric":
        return _numeric(estimator, X, radius)
    judge = _known(estimator, X, radius)
    if judge is not None:
        return judge
    if gradient == "analytic":
        raise ValueError(
            f"gradient='analytic' knows linear models, MLPClassifier, torch modules and Pipelines "
            f"of affine steps before them, not {_name(estimator)}: take 'numeric' or 'search'"
        )
    return _plain(estimator)


def _plain(estimator):
    if is_torch_module(estimator):
        judge = TorchJudge(estimator)
        judge.kind = None
        return judge
    return Judge(estimator)


def _name(estimator):
    if isinstance(estimator, Pipeline):
        return " + ".join(type(step).__name__ for _, step in estimator.steps)
    return type(estimator).__name__


def _numeric(estimator, X, radius):
    if is_torch_module(estimator):
        raise ValueError("gradient must be 'auto' or 'analytic' for a torch.nn.Module")
    if Judge(estimator).scores(X[:1]) is None:
        raise ValueError(
            f"estimator {_name(estimator)} has no scores of classes (decision_function or "
            "predict_proba), of which gradient='numeric' takes differences: take gradient='search'"
        )
    return NumericJudge(estimator, 1e-4 * np.asarray(radius))


def _known(estimator, X, radius):
    if is_torch_module(estimator):
        return TorchJudge(estimator)
    if callable(getattr(estimator, "input_gradient", None)):
        return OwnJudge(estimator)
    if isinstance(estimator, Pipeline):
        return _chain(estimator, X, radius)
    if isinstance(estimator, MLPClassifier):
        if estimator.out_activation_ == "logistic" and estimator.n_outputs_ > 1:
            raise ValueError("estimator answers with several labels at once, one is needed")
        return NetworkJudge(estimator)
    form = linear_form(estimator, X)
    return None if form is None else LinearJudge(estimator, *form)


def _chain(pipeline, X, radius):
    last, rows, pulls = pipeline.steps[-1][1], X, []
    near = X + np.asarray(radius) * np.where(np.arange(X.shape[1]) % 2, 1.0, -1.0)
    for _, step in pipeline.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        pull = affine_pull(step, rows, near)
        if pull is None:
            return None
        pulls.append((step, pull))
        rows, near = transformed(step, rows), transformed(step, near)
    head = _known(last, rows, np.abs(near - rows).max(axis=0))
    return None if head is None else ChainJudge(pipeline, pulls, head)


def linear_form(estimator, X):
    """``(coef, intercept)`` with a row per class, if the scores are linear; None otherwise.

    The numbers decide, not the name of the class: scores that ``coef_`` and ``intercept_`` do not
    give are not linear in them.
    """
    classes = classes_of(estimator)
    coef = getattr(estimator, "coef_", None)
    if classes is None or not isinstance(coef, np.ndarray) or coef.ndim > 2:
        return None
    if not callable(getattr(estimator, "decision_function", None)):
        return None
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.ravel(np.asarray(getattr(estimator, "intercept_", 0.0), dtype=np.float64))
    if coef.shape[1] != X.shape[1] or intercept.size not in (1, len(coef)):
        return None
    intercept = np.broadcast_to(intercept, (len(coef),))
    if len(coef) == 1 and len(classes) == 2:
        coef = np.concatenate([np.zeros_like(coef), coef])
        intercept = np.concatenate([[0.0], intercept])
    if len(coef) != len(classes):
        return None
    rows = X[:50]
    want = scores_by(estimator, rows, "decision_function", len(classes))
    have = rows @ coef.T + intercept
    size = np.abs(rows) @ np.abs(coef).T + np.abs(intercept)
    single = np.asarray(estimator.coef_).dtype.itemsize < 8
    slack = 1e-4 if single else SAME
    return (coef, intercept) if np.all(np.abs(want - have) <= slack * (size + 1e-300)) else None
