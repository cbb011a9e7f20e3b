"""Projections onto convex sets: Euclidean ones, and one in relative entropy."""

from ._matchings import project_matching
from ._vectors import project_box, project_l1_ball, project_l2_ball, project_simplex

__all__ = [
    "project_box",
    "project_l1_ball",
    "project_l2_ball",
    "project_matching",
    "project_simplex",
]
