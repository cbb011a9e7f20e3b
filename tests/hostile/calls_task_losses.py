"""Valid calls of task losses."""

import functools

import numpy as np

from sklearn_fw import metrics, task_losses

from .calls import fitting, function, methods
from .calls_metrics import ANY_LABELS, SCORER, chain, labels_and_weights, predicted, true

COSTS = np.array([[0.0, 1.0, 3.0], [0.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


def distance(y_true, y_pred):
    """A loss of the user."""
    return float(repr(y_true) != repr(y_pred))


def links():
    return [np.array([[1, 0, 0], [0, 1, 0]]), np.array([[0, 1]])]


def made():
    return [np.array([[0, 0, 1], [0, 1, 0]]), np.array([[1, 0]])]


def tags():
    return {"y_true": [["B-X", "I-X", "O"]], "y_pred": [["B-X", "B-X"]]}


def poses():
    return [np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[1.0, 1.0], [2.0, 2.0]])]


def of_loss(cls, params, outputs=lambda: {"y_true": true(), "y_pred": predicted()}, **options):
    loss = functools.partial(lambda: cls(**params))
    given = {name: y[0] for name, y in outputs().items()}
    why = "outputs are what the loss takes; `losses` has the same checks"
    return [
        *methods(
            cls,
            loss,
            {"matrix": {"outputs": list(given.values())}},
            aliases={"outputs": ("y_true", "y_pred")},
            allows={("outputs", "*"): why, ("outputs.#", "*"): why, ("outputs.#.#", "*"): why},
        ),
        *fitting(cls, lambda: dict(params), outputs, method="losses", **options),
        *methods(cls, loss, {"value": given}, **options),
    ]


def entries():
    any_labels = {"allows": ANY_LABELS}
    scored = {"X": [np.eye(3)[y] for y in true()], "y_true": true()}
    return [
        *of_loss(
            task_losses.HammingLoss,
            {
                "normalize": True, "class_weight": {0: 1.0, 1: 2.0},
                "node_weight": np.array([1.0, 2.0, 0.5]),
            },
            **any_labels,
        ),
        *of_loss(
            task_losses.MatrixLoss,
            {"costs": COSTS, "classes": np.array([0, 1, 2]), "normalize": False},
            aliases={"classes": ("costs",)},
            allows={**ANY_LABELS, ("classes", "none"): "numbers of rows"},
        ),
        *of_loss(
            task_losses.BlockLoss,
            {"blocks": {0: "x", 1: "x", 2: "y"}, "within": 0.5, "normalize": False},
            allows={**ANY_LABELS, ("blocks.#", "*"): "a block has any name"},
        ),
        *of_loss(task_losses.ZeroOneLoss, {}, **any_labels),
        *of_loss(
            task_losses.OverlapLoss, {"positive": [1]},
            allows={**ANY_LABELS, ("positive", "*"): "labels, whatever they are"},
        ),
        *of_loss(
            task_losses.FunctionLoss, {"function": distance}, aliases={"function": ("task_loss",)},
            allows={(y, "*"): "the user's function takes it" for y in ("y_true", "y_pred")},
        ),
        *of_loss(
            task_losses.EditLoss, {"normalize": True},
            allows=ANY_LABELS
            | {(f"{y}.#", "text"): "a text is a list of characters" for y in ("y_true", "y_pred")},
        ),
        *of_loss(
            task_losses.BleuLoss, {"max_n": 2},
            allows=ANY_LABELS
            | {(f"{y}.#", "text"): "a text is a list of characters" for y in ("y_true", "y_pred")},
        ),
        *of_loss(task_losses.PhraseLoss, {}, tags),
        *of_loss(
            task_losses.LinkLoss, {"false": 1.0, "missed": 3.0, "normalize": True},
            lambda: {"y_true": links(), "y_pred": made()},
        ),
        *of_loss(
            task_losses.DistanceLoss, {"radius": 0.2, "unit": (0, 1)},
            lambda: {"y_true": poses(), "y_pred": poses()[::-1]},
            variants={"unit": ["box", "pixel"]},
        ),
        *methods(
            task_losses.DistanceLoss, lambda: task_losses.DistanceLoss(2.0),
            {"position_costs": {"y_true": poses()[0], "shape": (3, 4)}},
        ),
        *of_loss(
            task_losses.BoxLoss, {},
            lambda: {"y_true": [np.array([0, 0, 2, 3])], "y_pred": [np.array([1, 1, 3, 2])]},
        ),
        *function(
            task_losses.resolve_task_loss,
            lambda: {"task_loss": "hamming", "names": ("hamming", "links")},
        ),
        *function(
            metrics.mean_task_loss, labels_and_weights(task_loss=COSTS),
            variants={"task_loss": ["hamming", "zero_one", task_losses.HammingLoss, distance]},
            allows=ANY_LABELS, aliases={"task_loss": ("costs",)},
        ),
        *function(
            metrics.make_loss_scorer, lambda: {"task_loss": COSTS.copy()},
            allows={("task_loss", "*"): "a matrix is looked at when it is used"},
        ),
        *function(
            metrics.make_loss_scorer("hamming"), lambda: {"estimator": chain(), **scored},
            name="metrics.make_loss_scorer scorer", allows=ANY_LABELS, **SCORER,
        ),
    ]  # fmt: skip
