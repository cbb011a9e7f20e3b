"""Steps among outputs that are kept, without calls of the oracle."""

from ..._kernels import lazy

block_rules = lazy("structured.block_rules")


def revisit_rules(lam):
    """Settings of `visit_blocks`: pairwise steps, for which what is kept is always good enough."""
    return block_rules.Rules(
        lam, block_rules.PAIRWISE, line_search=True, explicit=True, use_cache=True, cache_f=0.0,
        cache_nu=0.0, gap_degree=1.0,
    )  # fmt: skip
