"""Valid calls of clusters in time, of their sets, generators and metrics."""

import functools

import numpy as np

from sklearn_fw import datasets, metrics
from sklearn_fw.cluster import (
    AlignedScriptDisplay,
    JointStateActionClustering,
    OrderedDiscriminativeClustering,
    ScriptDiscovery,
    SequenceAligner,
    StateActionDisplay,
    StepsDisplay,
)
from sklearn_fw.optim import domains

from .calls import build, fitting, function, generator, methods

# Damages of a token that leave another token
TOKENS = dict.fromkeys(
    [("vocabulary.#", kind) for kind in ("capitals", "code", "code_of_it", "date", "imaginary")]
    + [("vocabulary.#", kind) for kind in ("number", "text")],
    "any type that can be a key is a token, and not all of a vocabulary have to occur",
)
UNSAID = {
    ("windows", "none_inside"): "a sequence without windows",
    ("windows.#", "none"): "as well",
}
LINES = [["a", "b", "c"], ["a", "d", "b"], ["b", "c", "d"]]


def series():
    rng = generator(3)
    return [rng.normal(size=(6, 2)), rng.normal(size=(5, 2))]


def clips():
    rng, found = generator(4), []
    for _ in range(2):
        found.append({
            "X_action": rng.normal(size=(4, 2)), "t_action": np.arange(4.0),
            "X_state": rng.normal(size=(3, 2)), "start": np.arange(3.0),
            "end": np.arange(3.0) + 0.5,
        })  # fmt: skip
    return found


def narrated():
    return {
        "X": series(), "tokens": [["a", "b"], ["a", "c", "b"]],
        "token_rows": [np.array([[0, 0], [2, 3]]), np.array([[0, 1], [1, 1], [2, 3]])],
    }  # fmt: skip


def of_sets():
    placements = functools.partial(domains.OrderedPlacements, (1, 3))
    states = functools.partial(
        domains.StateChoices, np.array([0.0, 2.0, 4.0]), np.array([1.0, 3.0, 5.0])
    )
    g, pair = np.array([1.0, -2.0, 0.5]), np.array([1.0, -2.0, 0.5, 1.0, 0.0, -1.0])
    return [
        *build(
            domains.OrderedPlacements,
            lambda: {"shape": (1, 3), "allowed": np.array([[1.0, 0.0, 1.0]])},
        ),
        *methods(
            domains.OrderedPlacements, placements,
            {
                "start": {}, "split": {}, "lmo": {"gradient": g}, "place": {"cost": g},
                "vertex": {"slots": np.array([1])},
                "contains": {"x": np.array([0.2, 0.3, 0.5]), "tol": 1e-9},
            },
        ),
        *build(
            domains.StateChoices,
            lambda: {
                "start": np.array([0.0, 2.0, 4.0]), "end": np.array([1.0, 3.0, 5.0]),
                "constraint": "exactly_one", "allowed": np.ones((3, 2)),
            },
        ),
        *methods(
            domains.StateChoices, states,
            {
                "start": {}, "split": {}, "lmo": {"gradient": pair}, "choose": {"cost": pair},
                "vertex": {"states": np.array([0, -1, 1])},
            },
        ),
    ]  # fmt: skip


def of_estimators():
    windows = [[(0, 0, 2)], [(1, 2, 4)]]
    return [
        *fitting(
            OrderedDiscriminativeClustering,
            lambda: {
                "n_steps": 2, "reg": 0.1, "fit_intercept": True, "algorithm": "fw",
                "rounding": "classifier", "window_constraint": "mask", "n_init": 1, "max_iter": 5,
                "tol": 1e-3, "random_state": 0,
            },
            lambda: {"X": series(), "windows": windows},
            variants={
                "algorithm": ["bcfw", "away"], "rounding": ["l2", "fw"], "reg": ["auto"],
                "window_constraint": ["hull"], "windows": [None],
            },
            allows=UNSAID,
        ),
        *methods(
            OrderedDiscriminativeClustering,
            lambda: OrderedDiscriminativeClustering(2, max_iter=5, random_state=0).fit(series()),
            {
                **{key: {"X": series()} for key in ("decision_function", "score")},
                "predict": {"X": series(), "windows": windows},
                "localize": {"X": series(), "windows": windows},
                "fit_predict": {"X": series()},
            },
            allows=UNSAID,
        ),
        *fitting(
            SequenceAligner,
            lambda: {
                "n_steps": 2, "n_slots": 6, "vocabulary": ["a", "b", "c", "d"],
                "cost_matrix": 9.0 - 10.0 * np.eye(4), "match_cost": -1.0, "mismatch_cost": 9.0,
                "keep": "last", "max_vocabulary": 5, "rounding": "both", "refine": True,
                "n_init": 1, "max_iter": 5, "tol": 1e-3, "random_state": 0,
            },
            lambda: {"sequences": [list(line) for line in LINES]},
            variants={"keep": ["first", "all"], "rounding": ["fw", "l2"], "n_slots": ["auto"]},
            allows=TOKENS,
        ),
        *methods(
            SequenceAligner,
            lambda: SequenceAligner(2, max_iter=5, n_init=1, random_state=0).fit(LINES),
            {key: {"sequences": LINES} for key in ("fit_predict", "predict", "transform", "score")},
        ),
        *fitting(
            ScriptDiscovery,
            lambda: {
                "n_steps": 2, "before": 0.0, "after": 2.0,
                "aligner": SequenceAligner(max_iter=5, n_init=1, random_state=0),
                "localizer": OrderedDiscriminativeClustering(max_iter=5, random_state=0),
                "random_state": 0,
            },
            narrated, variants={"localizer": [None], "aligner": [None]},
        ),
        *methods(
            ScriptDiscovery, lambda: ScriptDiscovery(2, random_state=0).fit(**narrated()),
            {key: {"X": series()} for key in ("predict", "localize")},
        ),
        *fitting(
            JointStateActionClustering,
            lambda: {
                "action_reg": 0.01, "state_reg": 0.01, "coupling": 1.0,
                "state_constraint": "at_least_one", "candidate_scores_weight": 0.1,
                "restrict_action_to_candidates": True, "fit_intercept": True, "algorithm": "fw",
                "rounding": "joint", "n_init": 1, "max_iter": 5, "tol": 1e-3, "random_state": 0,
            },
            lambda: {"clips": clips()},
            variants={
                "algorithm": ["bcfw", "alternating"], "rounding": ["independent"],
                "state_constraint": ["exactly_one"],
            },
        ),
        *methods(
            JointStateActionClustering,
            lambda: JointStateActionClustering(max_iter=5, random_state=0).fit(clips()),
            {key: {"clips": clips()} for key in ("predict", "decision_function", "score")},
        ),
    ]  # fmt: skip


def of_displays():
    stored = {("*", "*"): "stored; plot checks"}
    table = {"names": ["a"], "cells": [["a"], [""]], "support": [1]}
    clip = {
        "start": np.array([0.0, 2.0]), "end": np.array([1.0, 3.0]), "states": np.array([0, 1]),
        "times": np.arange(3.0), "scores": np.arange(3.0), "action": 1,
    }  # fmt: skip
    steps = {"locations": np.array([[0, 2]]), "intervals_true": None, "names": ["a", "b"]}
    aligner = SequenceAligner(2, max_iter=5, n_init=1, random_state=0).fit(LINES)
    ordered = OrderedDiscriminativeClustering(2, max_iter=5, random_state=0).fit(series())
    joint = JointStateActionClustering(max_iter=5, random_state=0).fit(clips())
    found = []
    for cls, made, drawn in (
        (AlignedScriptDisplay, table, {"estimator": aligner, "sequences": LINES}),
        (
            StepsDisplay, steps,
            {"estimator": ordered, "X": series(), "intervals_true": None, "names": ["a", "b"]},
        ),
        (StateActionDisplay, clip, {"estimator": joint, "clips": clips(), "index": 0}),
    ):  # fmt: skip
        found += build(cls, functools.partial(dict, made), allows=stored)
        pictures = {"plot": {"ax": None}, "from_estimator": {**drawn, "ax": None}}
        found += methods(cls, functools.partial(cls, **made), pictures)
    return found


def entries():
    intervals = np.array([[[0, 1], [2, 3]], [[1, 1], [-1, -1]]])
    return [
        *of_sets(),
        *of_displays(),
        *of_estimators(),
        *function(
            datasets.make_scripts,
            lambda: {
                "n_sequences": 2, "n_steps": 3, "n_tokens": 6, "p_missing": 0.2, "noise": 1.0,
                "random_state": 0,
            },
        ),
        *function(
            datasets.make_ordered_videos,
            lambda: {
                "n_sequences": 2, "n_steps": 2, "n_rows": 20, "n_features": 3, "p_missing": 0.1,
                "p_mention": 0.7, "random_state": 0,
            },
        ),
        *function(
            datasets.make_state_action_clips,
            lambda: {
                "n_clips": 2, "n_rows": 20, "n_features": 3, "interval": 0.4, "random_state": 0
            },
        ),
        *function(
            metrics.localization_f1,
            lambda: {
                "intervals_true": intervals, "locations_pred": np.array([[0, 2], [1, 3]]),
                "matching": "hungarian",
            },
        ),
    ]  # fmt: skip
