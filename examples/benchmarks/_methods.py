"""The eight variants of block-coordinate Frank-Wolfe."""

import itertools

GAP_CHECK = 9  # nine passes and a gap pass are ten effective passes
# (step, sampling, cache)
METHODS = {
    f"{name} {sampling}{' cache' if cache else ''}": (step, sampling, cache)
    for (name, step), sampling, cache in itertools.product(
        (("bcfw", "fw"), ("bcpfw", "pairwise")), ("uniform", "gap"), (False, True)
    )
}


def block_solver(method, **settings):
    """Solver object of one of the eight methods."""
    from sklearn_fw.structured import BlockFrankWolfe

    step, sampling, cache = METHODS[method]
    settings = {"gap_check": GAP_CHECK} | settings
    return BlockFrankWolfe(step, sampling=sampling, cache=cache, **settings)
