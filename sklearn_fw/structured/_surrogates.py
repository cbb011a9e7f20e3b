"""The losses that are minimized: maxima of loss-augmented scores, as they are or smoothed.

With a temperature tau and a weight rho of the task loss,
``H_i(y; w) = rho L_i(y) - <w, psi_i(y)>``, each sample counts
``tau log sum_y exp(H_i(y; w) / tau)``, which for tau -> 0 is the maximum of H_i.
"""

from typing import NamedTuple

from .._core import check


class Surrogate(NamedTuple):
    """A loss of a sample that is a function of its H_i."""

    name: str
    temperature: float  # tau
    loss_weight: float  # rho

    @property
    def smooth(self):
        """Whether it is a sum over outputs, which needs marginals in place of best outputs."""
        return self.temperature > 0.0


HINGE = Surrogate("hinge", 0.0, 1.0)
ALL = HINGE, Surrogate("crf", 1.0, 0.0), Surrogate("softmax_margin", 1.0, 1.0)
SURROGATES = {loss.name: loss for loss in ALL}


def resolve_surrogate(surrogate):
    check.choice(surrogate, "surrogate", SURROGATES)
    return SURROGATES[surrogate]


def check_trains(solver, surrogate):
    trains = getattr(solver, "trains", (HINGE.name,))
    if surrogate.name not in trains:
        helps = "solver='auto' or 'dual_ascent'" if surrogate.smooth else "solver='auto' or 'bcfw'"
        raise ValueError(
            f"solver {type(solver).__name__} trains surrogate={' or '.join(map(repr, trains))}, "
            f"not surrogate={surrogate.name!r}: take {helps}"
        )
