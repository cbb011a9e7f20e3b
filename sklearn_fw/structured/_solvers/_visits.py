"""The plain pass of block-coordinate Frank-Wolfe, by the rules of `block_rules`."""

import numpy as np

from ..._kernels import lazy
from ..._kernels.common.step_rules import short_step
from ._compiled import accelerated, asks_for_labels, visit_parts

block_rules = lazy("structured.block_rules")

# Exact visits: when the gap of a block counts as closed, as a share of what it was and of the
# largest loss, and how many answers, and steps in all, there are at most.
CLOSED, ROUNDING = 1e-3, 1e-14
MOST_ANSWERS, MOST_STEPS = 50, 200


@accelerated(visit_parts, asks_for_labels)
def visit_blocks(blocks, order, uniforms, rules):
    """Visit blocks and step towards their answers; returns how many, fewer where no gap is left.

    ``order`` holds numbers of blocks, or codes for a draw by the gaps with ``uniforms``.
    """
    visit = _visit_exactly if rules.variant == block_rules.EXACT else _visit
    for k in range(len(order)):
        i = block_rules.pick_block(blocks.gaps, order[k], uniforms[k])
        if i < 0:
            blocks.counts[block_rules.REASON] = block_rules.NO_GAP
            return k
        if rules.shrink and blocks.gaps.value[i] == 0.0:
            continue  # every entry of such an order had a gap when it was made
        visit(blocks, i, rules)
    blocks.counts[block_rules.REASON] = block_rules.DONE
    return len(order)


def visit_repeatedly(blocks, chosen, repeats, rng, rules):
    """Visit some blocks several times, in a fresh order each time."""
    order = np.concatenate([rng.permutation(chosen) for _ in range(repeats)])
    visit_blocks(blocks, order, np.zeros(len(order)), rules)


def _vertices_of(blocks, i, rules):
    """The vertices of a block, with room for one more, or None."""
    if not blocks.explicit:
        return None
    vertices = blocks.vertices(i)
    if rules.variant != block_rules.FW and (vertices.alpha > 0.0).all():
        blocks.grow()  # all slots are taken by active vertices
        vertices = blocks.vertices(i)
    return vertices


def take_in(blocks, i, answer, rules):
    """Make an answer at ``w`` a vertex of block i, and its gap the last known one."""
    vertices = _vertices_of(blocks, i, rules)
    current, values = blocks.values(i)
    gap = max(blocks.weight[i] * (answer.value - current), 0.0)
    block_rules.set_gap(blocks.gaps, i, gap, rules.gap_degree)
    _slot_of(vertices, answer, values, rules, blocks.counts)


def _visit_exactly(blocks, i, rules):
    """The best distribution of a block, by pairwise steps and new answers until none helps."""
    counts, p, gaps = blocks.counts, blocks.weight[i], blocks.gaps
    pairwise = rules._replace(variant=block_rules.PAIRWISE)
    closed, steps = None, iter(range(MOST_STEPS))
    counts[block_rules.VISITS] += 1
    for _ in range(MOST_ANSWERS):
        vertices = _vertices_of(blocks, i, rules)
        current, values = blocks.values(i)
        head = blocks.answer(i, blocks.w)
        gap, zero = max(p * (head.value - current), 0.0), ROUNDING * p * blocks.max_loss
        if closed is None:
            gap = gap if gap > zero else 0.0
            block_rules.set_gap(gaps, i, gap, rules.gap_degree)
            counts[block_rules.EXACT_STEPS] += gap > 0.0
            closed = max(CLOSED * gap, zero)
        if gap <= closed:
            return
        slot = _slot_of(vertices, head, values, pairwise, counts)
        _step(blocks, i, pairwise, vertices, values, slot, head.value, current)
        for _ in steps:
            current, values = blocks.values(i)
            best = int(values[: vertices.size].argmax())
            away, _ = block_rules.away_vertex(vertices.alpha, values, vertices.size)
            if p * (values[best] - values[away]) <= closed:
                break
            _step(blocks, i, pairwise, vertices, values, best, values[best], current)
        else:
            return


def _visit(blocks, i, rules):
    counts, p, vertices = blocks.counts, blocks.weight[i], _vertices_of(blocks, i, rules)
    current, values = blocks.values(i)
    slot = -1
    if rules.use_cache:
        slot = block_rules.cache_candidate(
            values, vertices.size, current, p, blocks.gaps.value[i], blocks.gaps.total[0],
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
        if vertices is not None:
            head = slot = _slot_of(vertices, head, values, rules, counts)
    counts[block_rules.VISITS] += 1
    _step(blocks, i, rules, vertices, values, head, value, current)


def _slot_of(vertices, answer, values, rules, counts):
    """Slot of the oracle's answer among the vertices, made if it is new."""
    slot = vertices.find(answer)
    if slot < 0:
        alpha, may_evict = vertices.alpha, rules.variant == block_rules.FW
        slot = block_rules.free_slot(alpha, values, vertices.size, len(alpha), may_evict)
        # From an eviction on the alphas no longer describe the iterate.
        counts[block_rules.EVICTED] += vertices.alpha[slot] > 0.0
        vertices.put(slot, answer)
        values[slot] = answer.value
    return slot


def _step(blocks, i, rules, vertices, values, head, value, current):
    """The step of block i towards ``head``, whose H_i is ``value``, or from its worst vertex."""
    counts, p = blocks.counts, blocks.weight[i]
    slope_fw, slope_away, alpha_away, away, n_active = p * (value - current), 0.0, 0.0, None, 1
    if vertices is not None:
        away, n_active = block_rules.away_vertex(vertices.alpha, values, vertices.size)
        slope_away, alpha_away = p * (current - values[away]), vertices.alpha[away]
    ends = {
        block_rules.FW: (head, None),
        block_rules.PAIRWISE: (head, away),
        block_rules.AWAY: (None, away),
    }
    chosen, gamma, maximum, best_gain, best = -1, 0.0, 0.0, 0.0, None
    for kind, (plus, minus) in ends.items():
        if not block_rules.considers(rules.variant, kind, slope_fw, slope_away, n_active):
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
    if vertices is None:
        return
    counts[block_rules.DROPS] += block_rules.move_mass(
        vertices.alpha, vertices.size, chosen, head, away, gamma, maximum
    )
    slot = 0
    while not rules.use_cache and slot < vertices.size:  # without a cache, active vertices only
        if vertices.alpha[slot] > 0.0:
            slot += 1
        else:
            vertices.remove(slot)


def revisit_rules(lam):
    """Settings of `visit_blocks`: pairwise steps, for which what is kept is always good enough."""
    return block_rules.Rules(lam, block_rules.PAIRWISE, use_cache=True)


# ---- steps of all blocks at once -----------------------------------------------------------------


def batch_step(blocks, certificate, gamma=None):
    """A step of all blocks towards the answers of a certificate, by the best length if None."""
    answers, v, w = certificate.sweep.answers, blocks.v, blocks.w
    before, loss_before = v.copy(), blocks.loss.sum()
    if gamma is None:
        v_s, l_s = blocks.vertex_of(answers)
        slope = blocks.lam * ((v - v_s) @ w) - loss_before + l_s
        gamma = short_step(slope, blocks.lam * ((v - v_s) @ (v - v_s)), 1.0)
    if gamma == 0.0:
        return 0.0
    blocks.step_towards(answers, gamma)
    blocks.refresh()
    if blocks.moments.size:
        # The step counts as one more iterate of the average.
        blocks.counts[block_rules.VISITS] += 1
        visit = float(blocks.counts[block_rules.VISITS])
        blocks.moments += 0.5 * visit * (visit - 1.0) * (blocks.v - before)
        blocks.loss_moment += 0.5 * visit * (visit - 1.0) * (blocks.loss.sum() - loss_before)
    return gamma
