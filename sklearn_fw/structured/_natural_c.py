"""The C that "auto" stands for: the same problem has the same one in all units."""

# Chosen by regret over many sets, see the benchmark of the defaults.
FACTOR = 4.0


def natural_C(blocks):
    """C in the units of loss and features: ``FACTOR * largest loss / squared norm``.

    With features ``a x`` and losses ``b L`` the problem for ``b C / a^2`` is that for C, with
    weights ``b w / a``.
    """
    if blocks.mean_square <= 0.0:
        return 1.0  # no features: any C gives w = 0
    return FACTOR * blocks.max_loss / blocks.mean_square
