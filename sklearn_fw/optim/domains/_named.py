"""Domains by the names that estimators take."""

from ..._core.validation import check_choice, check_positive
from ._base import is_domain
from ._sets import Box, L1Ball, L2Ball, LpBall, Simplex
from ._spectral import NuclearNormBall, Spectrahedron


def _max_norm_ball(size, radius):
    radius = check_positive(radius, "radius")
    return Box(-radius, radius, size=size)


VECTORS = {"l1": L1Ball, "l2": L2Ball, "linf": _max_norm_ball, "simplex": Simplex}
NAMES = (*VECTORS, "nuclear", "spectrahedron")


def domain_of(domain, shape, radius=1.0, name="domain"):
    """The domain that a word, a pair or an object means for points of a shape.

    Parameters
    ----------
    domain : str, tuple or domain object
        One of `NAMES`, or ("lp", p); an object is returned as it is, whatever the radius.
    shape : (int,) or (int, int)
        Of points as arrays; those of "nuclear" and "spectrahedron" need two axes. Points of other
        sets are their rows one after the other.
    radius : float, default=1.0
        Size of the set, positive.
    name : str, default="domain"
        The parameter, for errors.

    Returns
    -------
    domain object
        The set.
    """
    if is_domain(domain):
        return domain
    size = 1
    for length in shape:
        size *= length
    if isinstance(domain, tuple | list) and len(domain) == 2 and domain[0] == "lp":
        return LpBall(size, domain[1], radius)
    if not isinstance(domain, str):
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, NAMES))}, ('lp', p) or a domain with a "
            f"method lmo(gradient), got {domain!r}"
        )
    check_choice(domain, name, NAMES)
    if domain in VECTORS:
        return VECTORS[domain](size, radius=radius)
    if len(shape) != 2:
        raise ValueError(f"{name}={domain!r} needs points with two axes, got shape {tuple(shape)}")
    if domain == "nuclear":
        return NuclearNormBall(shape, radius)
    if shape[0] != shape[1]:
        raise ValueError(f"{name}={domain!r} needs square matrices, got shape {tuple(shape)}")
    return Spectrahedron(shape[0], radius)
