"""Parameters of parts that are given by name: ``set_params(solver__sampling="shuffle")``."""

from .._core.validation import is_auto
from ..inference._oracles._resolve import ORACLES
from ._models._resolve import MODELS
from ._solvers import SOLVERS

MAKERS = {"model": MODELS, "oracle": ORACLES, "solver": SOLVERS}


class NamedParts:
    """Mixin of estimators whose ``model``, ``oracle`` or ``solver`` may be a name."""

    def set_params(self, **params):
        """Set parameters of this estimator and of its parts.

        A part given by name becomes the object of that name first, so that
        ``solver__sampling="shuffle"`` works with ``solver="bcfw"``.

        Parameters
        ----------
        **params : dict
            Parameters, those of parts as ``part__parameter``.

        Returns
        -------
        self : object
            The estimator.
        """
        super().set_params(**{key: value for key, value in params.items() if "__" not in key})
        of_parts = {}
        for key, value in params.items():
            part, _, name = key.partition("__")
            if name:
                of_parts.setdefault(part, {})[name] = value
        for part, values in of_parts.items():
            if part in MAKERS and isinstance(getattr(self, part), str):
                setattr(self, part, _made(part, getattr(self, part), values))
            else:
                super().set_params(**{f"{part}__{name}": value for name, value in values.items()})
        return self


def _made(part, name, values):
    """The object of a name, with these parameters."""
    makers = MAKERS[part]
    if is_auto(name):
        raise ValueError(_advice(part, next(iter(values))))
    if name not in makers:
        known = ", ".join(map(repr, sorted({"auto", *makers})))
        raise ValueError(f"{part} must be one of {known} or a {part} object; got {name!r}")
    made = makers[name]()
    if not hasattr(made, "set_params"):
        raise ValueError(f"{part}={name!r} has no parameters, got {', '.join(values)}")
    return made.set_params(**values)


def _advice(part, key):
    """What to write instead of ``part__key`` where the part is "auto"."""
    key = key.partition("__")[0]
    for name, make in MAKERS[part].items():
        made = None if is_auto(name) else make()
        if key in getattr(made, "get_params", dict)():
            return (
                f"{part}='auto' is chosen in fit, so {part}__{key} cannot be set before: name the "
                f"{part}, as in set_params({part}={name!r}, {part}__{key}=...), or write "
                f"{part}={type(made).__name__}({key}=...)"
            )
    return f"{part}__{key} is no parameter of any {part}: see the classes of `sklearn_fw`"
