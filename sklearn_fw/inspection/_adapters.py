"""Adapters: scores of fitted classifiers, and gradients of the scores by the inputs."""

from functools import partial

import numpy as np
from scipy.special import softmax
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .._core import check
from .._core.torch import is_torch_module
from ._estimators import classes_of, dressed, in_chunks, labels_by, scores_by
from ._problems import Network, as_tensor, evaluating, layers_of, logits_of, torch_of_modules

# What scores or transformed rows may differ by, relative, to count as linear or affine.
SAME = 1e-8
# More features than this need a matrix that is too large.
MOST_FEATURES = 2000


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
            found = np.zeros_like(scores)
            best = np.argsort(-others_of(scores, t), axis=1, kind="stable")[:, rank]
            found[lines, best] = 1.0
        found[lines, t] -= 1.0
        return found

    return weights


def others_of(scores, own):
    """The scores, with -inf for those of the own classes."""
    others = scores.copy()
    others[np.arange(len(own)), own] = -np.inf
    return others


class Adapter:
    """A fitted classifier without known gradients.

    Subclasses have ``vjp(X, weights)``, gradients by the inputs of weighted sums of scores, with
    weights that are a function of the scores.

    ``kind`` is the source of gradients: "linear", "network", "torch", "own", "numeric", or
    None; ``classes`` are in the order of the scores, or None.
    """

    kind = None

    def __init__(self, estimator):
        self.estimator, self.classes = estimator, classes_of(estimator)

    def labels(self, X):
        return labels_by(self.estimator, X)

    def scores(self, X):
        """Scores of shape (n, n_classes), or None where the classifier has none."""
        if self.classes is None:
            return None
        # With "ovo" there is one column per pair of classes: no scores of classes.
        votes = getattr(self.estimator, "decision_function_shape", None) == "ovo"
        for method in ("decision_function", "predict_proba"):
            is_votes = method == "decision_function" and votes and len(self.classes) > 2
            if callable(getattr(self.estimator, method, None)) and not is_votes:
                return scores_by(self.estimator, X, method, len(self.classes))
        return None

    def ascent(self, X, target, objective):
        """Directions away from the targets, numbers of classes, as an array like X."""
        weights = away(objective, target)
        return in_chunks(lambda rows: self.vjp(X[rows], lambda s: weights(s, rows)), len(X))

    def codes(self, labels):
        """Numbers of classes, -1 for other values."""
        is_class = labels[:, None] == self.classes
        return np.where(is_class.any(axis=1), is_class.argmax(axis=1), -1)


class LayersAdapter(Adapter):
    """Dense layers: an `MLPClassifier`, or linear scores, which are one layer."""

    def __init__(self, estimator, layers, activation, kind):
        super().__init__(estimator)
        self.kind = kind
        W, b = layers[-1]
        if len(b) == 1:  # of two classes, whose scores are (0, f)
            layers = [*layers[:-1], (np.hstack([np.zeros_like(W), W]), np.r_[0.0, b])]
        self.network = Network.of(layers, activation)
        self.theta = self.network.flat(layers)

        self.scores = partial(self.network.scores, self.theta)
        self.vjp = partial(self.network.vjp, self.theta)


class TorchAdapter(Adapter):
    """A module that gives logits, in evaluation mode."""

    def __init__(self, module, kind="torch"):
        self.torch, self.estimator, self.kind = torch_of_modules(), module, kind
        self.n_classes = np.inf  # until there are scores

    def scores(self, X):
        def ask(rows):
            found = logits_of(self.estimator, as_tensor(self.estimator, X[rows]))
            return found.double().cpu().numpy()

        with evaluating(self.estimator), self.torch.no_grad():
            scores = in_chunks(ask, len(X))
        if np.any(np.isnan(scores)):
            raise ValueError("estimator: the module gave NaN")
        self.n_classes = scores.shape[1]
        return scores

    def labels(self, X):
        return self.scores(X).argmax(axis=1)

    def codes(self, labels):
        values = labels.tolist()
        known = [isinstance(v, int | np.integer) and v < self.n_classes for v in values]
        return np.array([v if is_known else -1 for v, is_known in zip(values, known)])

    def vjp(self, X, weights):
        with evaluating(self.estimator), self.torch.enable_grad():
            rows = as_tensor(self.estimator, X).requires_grad_(True)
            scores = logits_of(self.estimator, rows)
            given = weights(scores.detach().double().cpu().numpy())
            given = self.torch.as_tensor(given, dtype=scores.dtype, device=scores.device)
            (found,) = self.torch.autograd.grad((scores * given).sum(), rows)
        return found.double().cpu().numpy()


class OwnAdapter(Adapter):
    """An object with ``input_gradient(X, target)``."""

    kind = "own"

    def ascent(self, X, target, objective):
        if objective != "loss":
            raise ValueError("objective must be 'loss' for estimators with an input_gradient")
        named = target if self.scores(X[:1]) is None else self.classes[target]
        found = self.estimator.input_gradient(X.copy(), named)
        return check.shaped(found, "input_gradient of estimator", *X.shape)


class NumericAdapter(Adapter):
    """Central differences of the scores: two evaluations per feature and row."""

    kind = "numeric"

    def __init__(self, estimator, step):
        super().__init__(estimator)
        self.step = step

    def vjp(self, X, weights):
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


class PipelineAdapter(Adapter):
    """Affine steps, as pairs of a step and its vector-Jacobian product, and then an adapter."""

    def __init__(self, estimator, steps, head):
        super().__init__(estimator)
        self.steps, self.head, self.kind = steps, head, head.kind

    def _transform(self, X):
        for step, _ in self.steps:
            X = transformed(step, X)
        return X

    def scores(self, X):
        return self.head.scores(self._transform(X))

    def vjp(self, X, weights):
        return back_through(self.steps, self.head.vjp(self._transform(X), weights))

    def ascent(self, X, target, objective):
        return back_through(self.steps, self.head.ascent(self._transform(X), target, objective))


# ---- which one -----------------------------------------------------------------------------------


def find_adapter(estimator, X, gradient, radius):
    """The adapter of a classifier, which is tried on the rows.

    "auto" takes one with known gradients, or one without; "analytic" and "numeric" require theirs.
    """
    if gradient == "numeric":
        if is_torch_module(estimator):
            raise ValueError("gradient must be 'auto' or 'analytic' for a torch.nn.Module")
        found = NumericAdapter(estimator, 1e-4 * np.asarray(radius))
        if found.scores(X[:1]) is None:
            raise ValueError(
                f"estimator {type(estimator).__name__} has no scores of classes (decision_function "
                "or predict_proba), as gradient='numeric' requires: take gradient='search'"
            )
        return found
    found = None if gradient == "search" else _known(estimator, X, radius)
    if found is not None:
        return found
    if gradient == "analytic":
        raise ValueError(
            f"gradient='analytic' supports linear models, MLPClassifier, torch modules and affine "
            f"steps before them, not {type(estimator).__name__}: take 'numeric' or 'search'"
        )
    return TorchAdapter(estimator, None) if is_torch_module(estimator) else Adapter(estimator)


def _known(estimator, X, radius):
    """An adapter with known gradients, or None."""
    if is_torch_module(estimator):
        return TorchAdapter(estimator)
    if callable(getattr(estimator, "input_gradient", None)):
        return OwnAdapter(estimator)
    if isinstance(estimator, Pipeline):
        return _pipeline(estimator, X, radius)
    if isinstance(estimator, MLPClassifier):
        return LayersAdapter(estimator, layers_of(estimator), estimator.activation, "network")
    form = linear_form(estimator, X)
    return None if form is None else LayersAdapter(estimator, [form], "identity", "linear")


def _pipeline(pipeline, X, radius):
    rows, steps = X, []
    near = X + np.asarray(radius) * np.where(np.arange(X.shape[1]) % 2, 1.0, -1.0)
    for _, step in front_of(pipeline):
        vjp = affine_vjp(step, rows, near)
        if vjp is None:
            return None
        steps.append((step, vjp))
        rows, near = transformed(step, rows), transformed(step, near)
    head = _known(pipeline.steps[-1][1], rows, np.abs(near - rows).max(axis=0))
    return None if head is None else PipelineAdapter(pipeline, steps, head)


def linear_form(estimator, X):
    """``(coef.T, intercept)`` if the scores are linear; None otherwise.

    The numbers decide, not the name of the class: scores that ``coef_`` and ``intercept_`` do not
    give are not linear in them.
    """
    classes, coef = classes_of(estimator), getattr(estimator, "coef_", None)
    has_scores = callable(getattr(estimator, "decision_function", None))
    if classes is None or not has_scores or not isinstance(coef, np.ndarray) or coef.ndim > 2:
        return None
    slack = 1e-4 if coef.dtype.itemsize < 8 else SAME
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.ravel(np.asarray(getattr(estimator, "intercept_", 0.0), dtype=np.float64))
    fits = coef.shape[1] == X.shape[1] and intercept.size in (1, len(coef))
    if not fits or (len(coef) != len(classes) and (len(coef), len(classes)) != (1, 2)):
        return None
    intercept = np.broadcast_to(intercept, (len(coef),))
    rows = X[:50]
    want = scores_by(estimator, rows, "decision_function", len(classes))
    first, want = want[:, : -len(coef)], want[:, -len(coef) :]
    have = rows @ coef.T + intercept
    size = np.abs(rows) @ np.abs(coef).T + np.abs(intercept)
    same = np.all(np.abs(want - have) <= slack * (size + 1e-300)) and not first.any()
    return (coef.T, intercept) if same else None


# ---- affine steps --------------------------------------------------------------------------------


def front_of(pipeline):
    """Names and steps of a Pipeline before its last one, without those that do nothing."""
    return [(n, step) for n, step in pipeline.steps[:-1] if step not in (None, "passthrough")]


def back_through(steps, gradients):
    """Gradients behind the steps as such by what goes into the first."""
    for _, vjp in reversed(steps):
        gradients = vjp(gradients)
    return gradients


def affine_vjp(step, rows, near):
    """Function from gradients behind a fitted step to those before it; None if it is not affine.

    Scalers are affine; any other step is evaluated at the mean of the rows and one unit of spread
    from it along every feature, and is affine if that predicts, to rounding, its values at the
    rows and at others ``near``.
    """
    if not getattr(step, "clip", False):
        if type(step) is MinMaxScaler:
            return lambda G: G * step.scale_
        if type(step) in (MaxAbsScaler, RobustScaler, StandardScaler):
            return lambda G: G if step.scale_ is None else G / step.scale_
    if rows.shape[1] > MOST_FEATURES or not callable(getattr(step, "transform", None)):
        return None
    matrix = _matrix_of(step, rows, near)
    return None if matrix is None else lambda G: G @ matrix.T


def _matrix_of(step, rows, near):
    """The matrix (n_features, n_out) of an affine step."""
    middle = rows.mean(axis=0)
    spread = np.abs(rows - middle).max(axis=0)
    spread[spread == 0.0] = 1.0
    probes = np.concatenate([middle[None], middle + np.diag(spread)])
    given = np.concatenate([rows[:50], near[:50]])
    try:
        answers, wanted = (
            check.matrix(step.transform(dressed(step, points)), "the table")
            for points in (probes, given)
        )
    except ValueError:
        return None  # a step that takes no such points is not affine everywhere
    moved = (probes[1:] - middle).diagonal()[:, None]
    matrix = (answers[1:] - answers[0]) / moved
    found = answers[0] + (given - middle) @ matrix
    size = np.abs(answers).max(initial=0.0) + np.abs(wanted).max(initial=0.0)
    return matrix if np.all(np.abs(found - wanted) <= SAME * (size + 1e-300)) else None


def transformed(step, X):
    """What a fitted step makes of rows, as an array."""
    return np.asarray(step.transform(dressed(step, X)), dtype=np.float64)
