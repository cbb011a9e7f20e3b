"""Checks of the parameters of penalties."""

import numpy as np

from .._core.validation import check_array_of_numbers, check_choice, check_list


def check_bound(bound, name, n_features):
    """One bound as a float, or an array of one per feature."""
    array = check_array_of_numbers(bound, name, finite=None)
    if np.any(np.isnan(array)):
        raise ValueError(f"{name} must not be NaN; for no bound use infinity")
    if array.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} has shape {array.shape}, expected () or ({n_features},): "
            "one bound, or one per feature"
        )
    return array if array.ndim else float(array)


def check_groups(groups, n_features):
    """Group of every feature, numbered from 0 without gaps; -1 for none."""
    if not _is_list(groups):
        raise ValueError(
            "groups must be a list of lists of feature numbers, or one label per feature; "
            f"got {groups!r}"
        )
    groups = list(groups)
    if groups and not any(map(_is_list, groups)):
        labels = _check_labels(np.asarray(groups), n_features)
    else:
        labels = np.full(n_features, -1)
        for number, group in enumerate(groups):
            members = _check_members(group, number, n_features)
            taken = members[labels[members] >= 0]
            if taken.size:
                raise ValueError(
                    f"groups overlap: feature {taken[0]} is in groups[{labels[taken[0]]}] and "
                    f"groups[{number}]; keep it in one, or copy its column for the other"
                )
            labels[members] = number
    if labels.max() < 0:
        raise ValueError("groups has no group: leave out the penalty, or name some features")
    return labels


def _is_list(group):
    try:
        check_list(group, "", "")
    except TypeError:
        return False
    return True


def _check_labels(labels, n_features):
    if labels.dtype.kind not in "iu":
        raise ValueError(f"groups must hold integer labels, got {labels.dtype}")
    if labels.shape != (n_features,):
        raise ValueError(
            f"groups has {labels.size} labels, expected one for each of the {n_features} features; "
            "use negative labels for features without penalty"
        )
    group = np.full(n_features, -1)
    group[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    return group


def _check_members(group, number, n_features):
    members = np.asarray(group) if _is_list(group) and not any(map(_is_list, group)) else None
    if members is not None and members.size == 0:
        raise ValueError(f"groups[{number}] is empty: leave it out")
    if members is None or members.ndim != 1 or members.dtype.kind not in "iu":
        raise ValueError(f"groups[{number}] must be a list of feature numbers, got {group!r}")
    outside = members[(members < 0) | (members >= n_features)]
    if outside.size:
        raise ValueError(
            f"groups[{number}] holds feature {outside[0]}: features are 0 to {n_features - 1}"
        )
    if np.unique(members).size < members.size:
        raise ValueError(f"groups[{number}] holds a feature twice: name each once")
    return members


def check_group_weights(group_weights, labels):
    """Weight of every group."""
    sizes = np.bincount(labels[labels >= 0]).astype(np.float64)
    if isinstance(group_weights, str):
        check_choice(group_weights, "group_weights", {"ones", "sqrt"}, "an array")
        return np.sqrt(sizes) if group_weights == "sqrt" else np.ones_like(sizes)
    weights = check_array_of_numbers(group_weights, "group_weights", finite=False)
    if weights.shape != sizes.shape:
        raise ValueError(
            f"group_weights has shape {weights.shape}, expected one weight for each of the "
            f"{sizes.size} groups"
        )
    if not np.all((weights >= 0.0) & (weights < np.inf)):
        raise ValueError("group_weights must be finite and not negative")
    return weights
