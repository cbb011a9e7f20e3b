"""Visits of single blocks and steps of all of them, on the primitives of `Blocks`.

Decisions are those of `_kernels.structured.block_rules`.
"""

from ..._kernels.common.step_rules import short_step
from ._accelerators import accelerated

__all__ = ["batch_line_search", "batch_step", "visit_blocks"]


@accelerated
def visit_blocks(blocks, order, uniforms, rules):
    """Visit blocks and step towards their answers.

    Parameters
    ----------
    blocks : Blocks
        The dual problem.
    order : ndarray of int
        Numbers of blocks, or codes that leave the choice to the gaps.
    uniforms : ndarray of shape (len(order),)
        Random numbers of those choices.
    rules : block_rules.Rules
        Settings.

    Returns
    -------
    n_visits : int
        Fewer than asked for when no block has a gap left.
    """
    from ..._kernels.structured.block_rules import DONE, NO_GAP, REASON, pick_block

    for k in range(len(order)):
        i = pick_block(blocks.gaps, order[k], uniforms[k])
        if i < 0:
            blocks.counts[REASON] = NO_GAP
            return k
        _visit(blocks, i, rules)
    blocks.counts[REASON] = DONE
    return len(order)


def _visit(blocks, i, rules):
    from ..._kernels.structured import block_rules

    counts, p, corners = blocks.counts, blocks.weight[i], None
    if blocks.explicit:
        if rules.step != block_rules.FW and (blocks.corners(i).alpha > 0.0).all():
            blocks.grow()  # all slots are taken by active corners
        corners = blocks.corners(i)
    current, values = blocks.values(i)
    slot = -1
    if rules.use_cache:
        slot = block_rules.cache_candidate(
            values, corners.size, current, p, blocks.gaps.value[i], blocks.gaps.total[0],
            blocks.n_blocks, rules, counts,
        )  # fmt: skip
    head = slot
    if slot >= 0:
        value = values[slot]
        counts[block_rules.HITS] += 1
    else:
        head = blocks.answer(i, blocks.w)
        value = head.value
        gap = max(p * (value - current), 0.0)
        block_rules.set_gap(blocks.gaps, i, gap, rules.gap_degree)
        if corners is not None:
            head = slot = _slot_of(corners, head, values, rules, counts)
    counts[block_rules.VISITS] += 1
    _step(blocks, i, rules, corners, values, head, value, current)


def _slot_of(corners, answer, values, rules, counts):
    """Slot of the oracle's answer among the corners, made if it is new."""
    from ..._kernels.structured.block_rules import EVICTED, FW, free_slot

    slot = corners.find(answer)
    if slot < 0:
        slot = free_slot(corners.alpha, values, corners.size, len(corners.alpha), rules.step == FW)
        # From an eviction on the alphas no longer describe the iterate.
        counts[EVICTED] += corners.alpha[slot] > 0.0
        corners.put(slot, answer)
        values[slot] = answer.value
    return slot


def _step(blocks, i, rules, corners, values, head, value, current):
    """The step of block i towards ``head``, whose H_i is ``value``, or from its worst corner."""
    from ..._kernels.structured import block_rules
    from ..._kernels.structured.block_rules import AWAY, FW, PAIRWISE

    counts, p = blocks.counts, blocks.weight[i]
    slope_fw, slope_away, alpha_away, away, n_active = p * (value - current), 0.0, 0.0, None, 1
    if corners is not None:
        away, n_active = block_rules.away_corner(corners.alpha, values, corners.size)
        slope_away, alpha_away = p * (current - values[away]), corners.alpha[away]
    ends = {FW: (head, None), PAIRWISE: (head, away), AWAY: (None, away)}
    chosen, gamma, maximum, best_gain, best = -1, 0.0, 0.0, 0.0, None
    for kind, (plus, minus) in ends.items():
        if not block_rules.considers(rules.step, kind, slope_fw, slope_away, n_active):
            continue
        slope, limit = block_rules.slope_and_limit(kind, slope_fw, slope_away, alpha_away)
        if slope <= 0.0:
            continue
        direction = blocks.direction(i, plus, minus)
        curvature = p * p / rules.lam * direction.square
        candidate = block_rules.step_length(
            rules, slope, curvature, limit, counts[block_rules.VISITS], blocks.n_blocks
        )
        gain = candidate * slope - 0.5 * candidate * candidate * curvature
        if chosen < 0 or gain > best_gain:
            chosen, gamma, maximum, best_gain, best = kind, candidate, limit, gain, direction
    if chosen < 0 or gamma == 0.0:
        return
    counts[block_rules.STEPS + chosen] += 1
    blocks.move(i, best, gamma)
    if corners is None:
        return
    counts[block_rules.DROPS] += block_rules.move_mass(
        corners.alpha, corners.size, chosen, head, away, gamma, maximum
    )
    slot = 0
    while not rules.use_cache and slot < corners.size:  # without a cache, active corners only
        if corners.alpha[slot] > 0.0:
            slot += 1
        else:
            corners.remove(slot)


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
        from ..._kernels.structured.block_rules import VISITS

        # The step counts as one more iterate of the average.
        blocks.counts[VISITS] += 1
        visit = float(blocks.counts[VISITS])
        blocks.moments += 0.5 * visit * (visit - 1.0) * (blocks.v - before)
        blocks.loss_moment += 0.5 * visit * (visit - 1.0) * (blocks.loss.sum() - loss_before)
    return gamma
