"""What a fit did, in words."""

from sklearn.exceptions import ConvergenceWarning

from .._core.loop import get_logger
from .._core.warnings import warn


def announce(model, trained, held_out):
    """A line in the log before the first update."""
    if model.verbose:
        get_logger(model.verbose).info(
            "%d pairs to train with, %d held out", len(trained), len(held_out or ())
        )


def warn_of_budget(model, run, training):
    """A ConvergenceWarning with numbers where more updates would help; else a line in the log."""
    if model.verbose:
        get_logger(model.verbose).info("%s", summary_of(model))
    if run.held_out is None or model.status_ not in ("max_iter", "time_limit"):
        return
    if model.validation_loss_ == 0.0:
        return
    what = "time_limit" if model.status_ == "time_limit" else "max_iter"
    n_looks = int(training.n_iter_no_change)
    warn(
        f"{what} ended the fit after {model.n_iter_} updates, before the task loss of the "
        f"{len(run.held_out)} held-out pairs stayed above its best for {n_looks} looks: it is "
        f"{model.validation_loss_:.3g}, of update {model.best_iter_}. A larger {what} helps, or a "
        f"larger learning_rate of Minibatches",
        ConvergenceWarning,
    )


def summary_of(model):
    """A few sentences about a fitted transducer."""
    history, free = model.history_, model.max_length_
    length = "as long as inputs" if free is None else f"of up to {free} tokens"
    seconds = float(history["time"][-1])
    lines = [
        f"Outputs {length}, of {len(model.classes_)} tokens; loss {model.loss!r} with the task "
        f"loss {model.task_loss_!r}.",
        f"{model.n_iter_} updates in {seconds:.1f} s, with {model.n_rollouts_} roll-outs; the fit "
        f"ended as {model.status_!r}.",
    ]
    if model.validation_loss_ == model.validation_loss_:
        lines.append(
            f"Mean task loss of held-out pairs: {model.validation_loss_:.4g} after update "
            f"{model.best_iter_}, {history['validation_loss'][0]:.4g} at the first look."
        )
    else:
        lines.append("No pairs were held out: how good the network is on new ones is not known.")
    return "\n".join(lines)
