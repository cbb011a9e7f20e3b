"""Scripts, steps in time, states and actions: accuracy without labels, and speed."""

import gzip
import json

import numpy as np
from _report import Clock, Repeats, data_path, main, shown, timed

from sklearn_fw._kernels.graphs.orderings import realign
from sklearn_fw.cluster import (
    JointStateActionClustering,
    OrderedDiscriminativeClustering,
    SequenceAligner,
)
from sklearn_fw.cluster._aligner import Alignment
from sklearn_fw.datasets import make_ordered_videos, make_scripts, make_state_action_clips
from sklearn_fw.metrics import localization_f1

N_PROGRESSIVE = 5  # random orders of the progressive baseline
RECIPES = "msa/ara_recipes.json.gz"
ABOUT = """
Unsupervised methods for common scripts of token sequences, steps of a task in feature series, and
states of an object with the action that changes them. All data are generated except the recipes,
which have manual links between the actions of two recipes.

Progressive alignment adds one sequence after the other to the template by exact alignment, in
random order; shown is the best of several orders. Pairwise alignment is that of Needleman and
Wunsch: it maximizes the number of equal tokens, without gap costs.
"""


def seeds(options):
    return range(1 if options.quick else max(options.repeat, 3))


def progressive(aligner, tokens, starts):
    """The best objective of sequences that are added one after the other."""
    problem, best = Alignment(tokens, starts, aligner.cost_matrix_, aligner.n_slots_), np.inf
    rng = np.random.RandomState(0)
    for _ in range(N_PROGRESSIVE):
        order, slots = rng.permutation(len(starts) - 1), np.zeros(len(tokens), np.int64)
        first = slice(*starts[order[0] : order[0] + 2])
        # Evenly over the template, so that there is room for others
        slots[first] = np.linspace(0, aligner.n_slots_ - 1, first.stop - first.start).astype(int)
        counts = np.zeros(problem.shape)
        counts[tokens[first], slots[first]] = 1.0
        absent, sums = np.zeros(len(order), bool), problem.costs @ counts
        realign(order[1:], absent, tokens, starts, problem.costs, counts, sums, slots)
        best = min(best, problem.value(slots))
    return best


def alignment(report, options):
    report.section("Sequence alignment on generated scripts")
    report.text("""Objective on 30 sequences with a hidden script of ten tokens; smaller is better.
        "Planted" is the objective of the true script with all other tokens in slots of their own.
        CPU seconds of one fit.""")
    rows, excess, seconds = [], [], []
    for seed in seeds(options):
        data = make_scripts(random_state=seed)
        with Clock() as clock:
            aligner = SequenceAligner(10, random_state=0).fit(data.sequences)
        seconds.append(clock.cpu)
        place = {token: k for k, token in enumerate(aligner.vocabulary_)}
        tokens = np.array([place[t] for s in data.sequences for t in s])
        starts = np.cumsum([0] + [len(s) for s in data.sequences])
        counts = np.bincount(np.concatenate(data.sequences), minlength=45)
        planted = -(np.sum(counts[:10] ** 2) + counts[10:].sum()) / len(tokens)
        excess.append(aligner.objective_ - planted)
        found = sum(name in data.script for name in aligner.step_names_)
        rows.append([
            f"seed {seed}", shown(planted, ".2f"), shown(aligner.objective_, ".2f"),
            shown(progressive(aligner, tokens, starts), ".2f"), found,
            shown(seconds[-1], ".2f"),
        ])  # fmt: skip
    report.table(["", "planted", "SequenceAligner", "progressive", "correct steps", "s"], rows)
    report.goals(
        ("objective minus planted, largest", shown(max(excess), ".2f"), 0.2, "<="),
        ("seconds of a fit, median", shown(Repeats(seconds), ".2f"), 2.0, "<="),
    )


def lcs(a, b):
    best = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            match = best[i + 1, j + 1] + 1 if a[i] == b[j] else 0
            best[i, j] = max(match, best[i + 1, j], best[i, j + 1])
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j] and best[i, j] == best[i + 1, j + 1] + 1:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i + 1, j] >= best[i, j + 1]:
            i += 1
        else:
            j += 1


def in_slots(aligner):
    def pairs(m, n):
        at = {int(slot): j for j, slot in enumerate(aligner.slots_[n]) if slot >= 0}
        return [(i, at[int(s)]) for i, s in enumerate(aligner.slots_[m]) if int(s) in at]

    return pairs


def recipes(report, options):
    with gzip.open(data_path(RECIPES), "rt", encoding="utf-8") as file:
        dishes = json.load(file)[: 2 if options.quick else None]
    report.section("Alignment of recipes")
    report.text("""Ten dishes of eleven recipes; the targets are crowdsourced links. A token is the
        text of an action in lower case. A predicted link is a pair of actions in one slot of the
        template, or a matched pair. Actions with different words cannot be linked.""")
    counts = {"SequenceAligner": np.zeros(2), "pairwise": np.zeros(2)}
    n_true = 0
    for dish in dishes:
        names = list(dish["recipes"])
        actions = [dish["recipes"][name]["actions"] for name in names]
        lines = [[text.lower() for _, text in own] for own in actions]
        aligner = SequenceAligner(10, keep="all", max_vocabulary=None, random_state=0).fit(lines)
        truth = {(a, i, b, j) for a, i, b, j in dish["alignments"] if i > 0 and j > 0}
        compared = {(names.index(a), names.index(b)) for a, _, b, _ in truth}
        n_true += len(truth)
        for method, pairs in (
            ("SequenceAligner", in_slots(aligner)),
            ("pairwise", lambda m, n, lines=lines: lcs(lines[m], lines[n])),
        ):
            for m, n in compared:
                for i, j in pairs(m, n):
                    link = names[m], actions[m][i][0], names[n], actions[n][j][0]
                    counts[method] += [link in truth, 1]
    rows, scores = [], {}
    for method, (right, given) in counts.items():
        precision, recall = right / given, right / n_true
        scores[method] = 2 * precision * recall / (precision + recall)
        rows.append([method, shown(precision, ".3f"), shown(recall, ".3f"),
                     shown(scores[method], ".3f")])  # fmt: skip
    report.table(["", "precision", "recall", "F1"], rows)
    if scores["pairwise"] > scores["SequenceAligner"]:
        report.loses("""On recipes, pairwise alignment has a higher F1; its alignments need not be
            consistent with each other.""")


def videos(report, options):
    report.section("Localization of ordered steps")
    report.text("""F1 of the locations of seven steps in 30 series, without labels. "Uniform"
        distributes the steps evenly. CPU seconds of one fit with windows.""")
    rows, least, seconds = [], [], []
    for seed in seeds(options):
        data = make_ordered_videos(random_state=seed)
        uniform = np.tile(((np.arange(7) + 0.5) / 7 * 150).astype(int), (30, 1))
        f1 = [localization_f1(data.truth, uniform, matching="identity").f1]
        for windows in (None, data.windows):
            model = OrderedDiscriminativeClustering(7, random_state=0)
            with Clock() as clock:
                model.fit(data.X, windows=windows)
            f1.append(localization_f1(data.truth, model.locations_).f1)
        seconds.append(clock.cpu)
        least.append(f1[2])
        rows.append([f"seed {seed}", *(shown(v, ".2f") for v in f1), shown(seconds[-1], ".2f")])
    report.table(["", "uniform", "features only", "with windows", "s"], rows)
    report.goals(
        ("F1 with windows, smallest", shown(min(least), ".2f"), 0.8, ">="),
        ("seconds of a fit, median", shown(Repeats(seconds), ".2f"), 2.0, "<="),
    )


def states(report, options):
    report.section("Object states and actions")
    report.text("""Precision of actions and of states in 30 clips, mean over clips. "Separate" fits
        have no coupling. CPU seconds of one joint fit.""")
    rows, actions, ahead = [], [], []
    for seed in seeds(options):
        data, found, seconds = make_state_action_clips(random_state=seed), [], []
        for coupling in (1.0, 0.0):
            model = JointStateActionClustering(coupling=coupling, random_state=0)
            seconds.append(timed(lambda model=model, X=data.clips: model.fit(X))[1])
            places = zip(model.action_locations_, data.actions)
            found.append(np.mean([first <= row <= last for row, (first, last) in places]))
            found.append(np.mean([
                [np.mean(truth[own == s] == s) for s in (0, 1)]
                for own, truth in zip(model.state_labels_, data.states)
            ]))  # fmt: skip
        actions.append(found[0])
        ahead += [found[0] - found[2], found[1] - found[3]]
        rows.append([f"seed {seed}", *(shown(v, ".2f") for v in found), shown(seconds[0], ".2f")])
    report.table(
        ["", "action, joint", "states, joint", "action, separate", "states, separate", "s"], rows
    )
    report.goals(
        ("precision of actions, smallest", shown(min(actions), ".2f"), 0.8, ">="),
        ("precision, joint minus separate, smallest", shown(min(ahead), ".2f"), 0.0, ">="),
    )


if __name__ == "__main__":
    parts = {"alignment": alignment, "recipes": recipes, "videos": videos, "states": states}
    raise SystemExit(main("scripts", "Scripts, steps, states and actions", ABOUT, parts))
