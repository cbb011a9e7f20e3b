"""Steps of all blocks at once, on the primitives of `Problem`."""

from ..._kernels import lazy
from ..._kernels.common.step_rules import short_step

block_rules = lazy("structured.block_rules")


def batch_line_search(blocks, answers):
    """The best step towards the corner that all answers of a sweep form together."""
    lam, v, w = blocks.lam, blocks.v, blocks.w
    v_s, l_s = blocks.corner_of(answers)
    slope = lam * ((v - v_s) @ w) - blocks.loss.sum() + l_s
    return short_step(slope, lam * ((v - v_s) @ (v - v_s)), 1.0)


def batch_step(blocks, certificate):
    """A step of all blocks by `batch_line_search`."""
    gamma = batch_line_search(blocks, certificate.sweep.answers)
    if gamma == 0.0:
        return 0.0
    before, loss_before = blocks.v.copy(), blocks.loss.sum()
    blocks.step_towards(certificate.sweep.answers, gamma)
    blocks.refresh()
    if blocks.moments.size:
        # The step counts as one more iterate of the average.
        blocks.counts[block_rules.VISITS] += 1
        visit = float(blocks.counts[block_rules.VISITS])
        blocks.moments += 0.5 * visit * (visit - 1.0) * (blocks.v - before)
        blocks.loss_moment += 0.5 * visit * (visit - 1.0) * (blocks.loss.sum() - loss_before)
    return gamma
