"""Compiled passes on several threads, each of which visits blocks of its own.

Asynchronous block-coordinate Frank-Wolfe (Wang et al., ICML 2016). Each thread has a copy of a
small v, and copies meet after every batch of visits. A large v is shared without locks: what one
thread adds while another one writes may be lost until the next `Problem.refresh`, after which
certificates are exact. Moments of the average are summed by each thread, so that none are lost.
"""

from contextlib import closing
from copy import copy
from threading import Lock

import numpy as np

from ..._core.threads import ThreadPool, count_workers
from ..._kernels import lazy

block_rules = lazy("structured.block_rules")

# Multiplications, of about a nanosecond each, of a batch; and batches of a thread in a pass at
# least, as a copy of v lacks what the other threads did during a batch.
BATCH, BATCHES = 1 << 20, 16
LOSSY = 20  # passes without locks after which v is computed again, even without a certificate
LARGEST_COPY = 1 << 15  # weights: copies meet within some percent of the time of a batch


def threads_of_pass(blocks, order):
    """Number of threads, which is one where passes are short or each step depends on the last."""
    n_threads = count_workers(blocks._n_jobs)
    if n_threads == 1 or order.min(initial=0) == block_rules.BY_MAX_GAP:
        return 1
    if blocks.single and blocks.n_weights > LARGEST_COPY:
        return 1  # visits take few microseconds: threads would wait for lines of shared memory
    everyone = order.min(initial=0) < 0
    n_visited = blocks.n_blocks if everyone else np.count_nonzero(np.bincount(order))
    return max(1, min(n_threads, n_visited // (BATCHES * _batch_size(blocks))))


def _batch_size(blocks):
    parts = blocks._parts
    n_pairs = int((parts.edge_stop - parts.edge_start).sum()) * parts.cost.shape[1] ** 2
    work = len(parts.data) * parts.n_columns + 2 * n_pairs
    return max(1, BATCH * blocks.n_blocks // max(work, 1))


def visit_in_threads(blocks, run, rules, order, uniforms, n_threads):
    """A pass by ``run(view, rules, order, uniforms, 0)`` on views of the problem."""
    # At random, as samples may be sorted.
    owner = np.random.default_rng(0).permutation(blocks.n_blocks) % n_threads
    of_visit = np.where(order < 0, np.arange(len(order)) % n_threads, owner[order])
    left, n_idle = [np.flatnonzero(of_visit == k) for k in range(n_threads)], 0
    with closing(ThreadPool(n_threads, _batch_size(blocks))) as pool:
        while any(map(len, left)):
            team = _Team(blocks, [owner == k for k in range(n_threads)])

            def work(places, k, team=team):
                return team.visit(k, run, rules, order[places], uniforms[places])

            try:
                pool.run_parts(work, left)
            finally:
                reasons = team.merge()
            n_idle += reasons.count(block_rules.NO_GAP)
            if block_rules.TABLE_FULL in reasons:
                blocks.grow()
            left = [
                part[n:] if reason == block_rules.TABLE_FULL else part[:0]
                for part, n, reason in zip(left, team.n_done, reasons)
            ]
    has_gap = n_idle < n_threads
    blocks.counts[block_rules.REASON] = block_rules.DONE if has_gap else block_rules.NO_GAP
    return len(order) if has_gap else 0


class _Team:
    """A problem as its threads see it, with gap trees, counts and working memory of their own."""

    def __init__(self, blocks, owned):
        self.blocks, self.lock = blocks, Lock()
        self.copies = blocks.n_weights <= LARGEST_COPY
        self.first = int(blocks.counts[block_rules.VISITS])
        self.views = [self._view(own) for own in owned]
        self.n_done, self.n_visits = [0] * len(owned), [0] * len(owned)

    def _view(self, own):
        blocks, view = self.blocks, copy(self.blocks)
        view.counts = np.zeros_like(blocks.counts)
        view.gaps = blocks.gaps._replace(tree=np.zeros_like(blocks.gaps.tree))
        first = len(view.gaps.tree) // 2
        known = blocks.gaps.tree[first : first + blocks.n_blocks]
        block_rules.fill_tree(view.gaps.tree, np.where(own, known, 0.0))
        view.moments, view.loss_moment = np.zeros_like(blocks.moments), np.zeros(1)
        if self.copies:
            view.v = blocks.v.copy()
            view.w = view.clip(view.v)
            view.base = view.v.copy()
        view._bind()
        return view

    def visit(self, k, run, rules, order, uniforms):
        view = self.views[k]
        if view.counts[block_rules.REASON] != block_rules.DONE:
            return 0.0
        # Numbers of visits grow for every block, so that averages are means of its iterates.
        view.counts[block_rules.VISITS] = before = self.first + sum(self.n_visits)
        self.n_done[k] += run(view, rules, order, uniforms, 0)
        self.n_visits[k] += int(view.counts[block_rules.VISITS]) - before
        if self.copies:
            self._meet(view)
        return 0.0

    def _meet(self, view):
        with self.lock:
            self.blocks.v += view.v - view.base
            view.v[:] = self.blocks.v
        view.base[:] = view.v
        view.follow()

    def merge(self):
        """Hand over to the problem; returns why each thread stopped."""
        blocks, reasons = self.blocks, [int(v.counts[block_rules.REASON]) for v in self.views]
        blocks.gaps.tree[:] = sum(view.gaps.tree for view in self.views)
        for view in self.views:
            view.counts[[block_rules.VISITS, block_rules.REASON]] = 0
            blocks.counts += view.counts
            blocks.moments += view.moments
            blocks.loss_moment += view.loss_moment
        blocks.counts[block_rules.VISITS] = self.first + sum(self.n_visits)
        blocks.n_unlocked += not self.copies
        if not self.copies and blocks.n_unlocked % LOSSY == 0:
            blocks.refresh()
        else:
            blocks.follow()
        return reasons
