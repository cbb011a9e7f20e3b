"""Joint clustering of states and actions: formulas, roundings, invariances, the generator."""

import itertools

import numpy as np
import pytest

from sklearn_fw.cluster import JointStateActionClustering
from sklearn_fw.cluster._state_problem import Clips
from sklearn_fw.datasets import make_state_action_clips


def small_clips(rng, n=3, T=4, m=4):
    return [
        {
            "X_action": rng.normal(size=(T, 2)), "t_action": np.arange(T) + rng.normal(),
            "X_state": rng.normal(size=(m, 3)), "start": np.arange(m) + 0.2,
            "end": np.arange(m) + rng.uniform(0.3, 1.6, size=m),
        }
        for _ in range(n)
    ]  # fmt: skip


def labelings(clip):
    m = len(clip["start"])
    for labels in itertools.product((-1, 0, 1), repeat=m):
        used = [i for i in range(m) if labels[i] >= 0]
        fits = 0 in labels and 1 in labels
        for i, j in itertools.combinations(used, 2):
            apart = clip["end"][i] < clip["start"][j] or clip["end"][j] < clip["start"][i]
            fits &= bool(apart)
        for i, j in itertools.product(used, used):
            if labels[i] == 0 and labels[j] == 1:
                fits &= bool(clip["end"][i] < clip["start"][j])
        if fits:
            yield np.array(labels)


def problem_of(clips, **options):
    data = Clips(clips)
    problem = JointStateActionClustering(**options)._problem(data)
    problem.learn(data, 1e-2, 1e-4, True)
    return problem


def test_distortion_is_that_of_the_sets(rng):
    clips = small_clips(rng)
    problem = problem_of(clips, coupling=0.7)
    for _ in range(30):
        rows = rng.integers(4, size=3)
        states = rng.integers(-1, 2, size=12)
        total = 0.0
        for n, clip in enumerate(clips):
            t, middle = clip["t_action"][rows[n]], (clip["start"] + clip["end"]) / 2
            own = states[4 * n : 4 * n + 4]
            total += np.maximum(middle[own == 0] - t, 0).sum()
            total += np.maximum(t - middle[own == 1], 0).sum()
        x = problem.point(rows + 4 * np.arange(3), states)
        parts = problem.parts(x)
        assert parts[2] == pytest.approx(0.7 / 12 * total, rel=1e-12, abs=1e-15)
        assert parts.sum() == pytest.approx(problem.objective.value(x), rel=1e-12)


def test_gradient_and_curvature_equal_differences(rng):
    objective = problem_of(small_clips(rng)).objective
    x, v = rng.random(objective.size), rng.normal(size=objective.size)
    value, gradient = objective(x)
    ahead, behind = objective.value(x + 1e-4 * v), objective.value(x - 1e-4 * v)
    assert gradient @ v == pytest.approx((ahead - behind) / 2e-4, rel=1e-8)
    assert objective.curvature(v) == pytest.approx((ahead + behind - 2 * value) / 1e-8, rel=1e-4)


def test_joint_rounding_equals_enumeration(rng):
    for _ in range(15):
        clips = small_clips(rng, n=2)
        problem = problem_of(clips, candidate_scores_weight=0.3)
        actions, states = rng.normal(size=8), rng.normal(size=(8, 2))
        rows, labels, value = problem.rounded(actions, states)
        best = 0.0
        for n, clip in enumerate(clips):
            middle, found = (clip["start"] + clip["end"]) / 2, []
            for t, own in itertools.product(range(4), list(labelings(clip))):
                late = middle - clip["t_action"][t]
                cost = (1 - 2 * actions[4 * n + t]) / 16
                for s, sign in ((0, 1), (1, -1)):
                    fit = (1 - 2 * states[4 * n : 4 * n + 4, s]) / 16
                    cost += np.sum((fit + np.maximum(sign * late, 0) / 8)[own == s])
                found.append(cost)
            best += min(found)
        assert value == pytest.approx(best, rel=0, abs=1e-12)
        apart = problem.rounded_apart(actions, states)
        x, y = problem.point(rows, labels), problem.point(*apart)
        linear = np.concatenate([
            (1 - 2 * actions) / 16, ((1 - 2 * states) / 16).ravel() + problem.linear
        ])  # fmt: skip
        costs = [linear @ z + problem.parts(z)[2] for z in (x, y)]
        assert costs[0] == pytest.approx(value, rel=0, abs=1e-12)
        assert costs[0] <= costs[1] + 1e-12


@pytest.mark.parametrize("algorithm", ["fw", "bcfw", "alternating"])
def test_ends_near_a_stationary_point_and_never_climbs(algorithm, rng):
    model = JointStateActionClustering(
        algorithm=algorithm, state_reg=0.01, max_iter=5000, tol=1e-2, random_state=0
    ).fit(small_clips(rng))
    assert 0.0 <= model.gap_ <= 0.05 * abs(model.relaxed_objective_)
    history = model.history_
    assert np.all(np.diff(history["objective"]) <= 1e-12)
    assert history["n_iter"][-1] == model.n_iter_
    assert history["objective"][-1] == pytest.approx(model.relaxed_objective_, rel=1e-9)
    assert model.objective_ == pytest.approx(model.objective_parts_.sum(), rel=1e-12)


def test_clocks_do_not_matter(rng):
    clips = small_clips(rng)
    times = {"t_action", "start", "end"}

    def told(f):
        return [{k: f(v) if k in times else v for k, v in clip.items()} for clip in clips]

    model = JointStateActionClustering(max_iter=30, random_state=0).fit(clips)
    later = JointStateActionClustering(max_iter=30, random_state=0).fit(told(lambda t: t + 8.0))
    slower = JointStateActionClustering(coupling=0.25, max_iter=30, random_state=0).fit(
        told(lambda t: 4.0 * t)
    )
    for other in (later, slower):
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-9)
        assert np.array_equal(other.labels_, model.labels_)


@pytest.mark.slow
def test_joint_is_better_than_apart_on_the_generator():
    for seed in range(3):
        data, scores = make_state_action_clips(random_state=seed), []
        for coupling in (1.0, 0.0):
            model = JointStateActionClustering(coupling=coupling, max_iter=200, random_state=0).fit(
                data.clips
            )
            found = zip(model.action_locations_, data.actions)
            action = np.mean([first <= row <= last for row, (first, last) in found])
            state = np.mean([
                [np.mean(truth[own == s] == s) for s in (0, 1)]
                for own, truth in zip(model.state_labels_, data.states)
            ])  # fmt: skip
            scores.append((action, state))
            if coupling:
                predicted = model.predict(data.clips)
                rows = predicted.action_locations == model.action_locations_
                assert np.mean(rows) > 0.9
        assert scores[0][0] > 0.8
        assert scores[0][0] >= scores[1][0]
        assert scores[0][1] >= scores[1][1]


def test_actions_stay_within_candidates(rng):
    clips = small_clips(rng)
    for clip in clips:
        clip["t_action"] = np.array([-50.0, 1.5, 2.5, 60.0])
    model = JointStateActionClustering(
        restrict_action_to_candidates=True, max_iter=20, random_state=0
    ).fit(clips)
    assert set(model.action_locations_) <= {1, 2}


@pytest.mark.parametrize("entries, message", [
    ({"X_action": np.ones((4, 3))}, r"X_action of clips\[1\] must have shape \(n_rows, 2\)"),
    ({"X_state": np.ones((0, 3))}, r"X_state of clips\[1\] must have shape"),
    ({"t_action": np.ones(3)}, r"t_action of clips\[1\] must have shape \(4,\)"),
    ({"start": np.zeros(4), "end": np.ones(4)}, "clip 1 has no candidate in the first state"),
    ({"end": np.full(4, -1.0)}, "end of candidate 0 of clip 1 is before its start"),
    ({"score": np.full(4, 2.0)}, r"score of clips\[1\] must be from 0 to 1"),
    ({"more": 1}, r"clips\[1\] must have"),
])  # fmt: skip
def test_refusals_name_the_clip(entries, message, rng):
    clips = small_clips(rng, n=2)
    clips[1] |= entries
    with pytest.raises(ValueError, match=message):
        JointStateActionClustering().fit(clips)
