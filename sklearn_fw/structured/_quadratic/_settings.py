"""Parameters of the classifier that are wrong whatever the data are."""

from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from ..._core.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_random_state,
    check_strength,
)

KERNELS = {"auto", *PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}


def check_settings(model):
    """Refuse parameters out of range; whether there is an intercept, and the random state."""
    check_choice(model.solver, "solver", {"ridge", "asgd"})
    if not callable(model.kernel):
        check_choice(model.kernel, "kernel", KERNELS)
    if model.kernel_params is not None and not isinstance(model.kernel_params, dict):
        raise TypeError(f"kernel_params must be a dict or None, got {model.kernel_params!r}")
    for name in ("gamma", "degree"):
        value = getattr(model, name)
        if value is not None:
            check_strength(value, name)
    check_number(model.coef0, "coef0")
    if isinstance(model.alpha, str):
        check_choice(model.alpha, "alpha", {"auto"}, "a number")
    else:
        check_strength(model.alpha, "alpha")
    if model.radius is not None:
        check_strength(model.radius, "radius")
    if isinstance(model.step_size, str):
        check_choice(model.step_size, "step_size", {"auto", "theory"}, "a number")
    else:
        check_strength(model.step_size, "step_size")
    if model.cost_weight is not None:
        check_choice(model.cost_weight, "cost_weight", {"auto", "root"})
    check_integer(model.max_iter, "max_iter", 1)
    if isinstance(model.standardize, str):
        check_choice(model.standardize, "standardize", {"auto"}, "True or False")
    elif check_flag(model.standardize, "standardize") and model.kernel == "precomputed":
        raise ValueError("standardize must be 'auto' or False for kernel='precomputed'")
    return check_flag(model.fit_intercept, "fit_intercept"), check_random_state(model.random_state)
