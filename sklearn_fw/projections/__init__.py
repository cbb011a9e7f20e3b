"""Projections onto convex sets: Euclidean ones, and one in relative entropy."""

from ._projections import (
    project_box,
    project_l1_ball,
    project_l2_ball,
    project_matching,
    project_simplex,
)

__all__ = [
    "project_box",
    "project_l1_ball",
    "project_l2_ball",
    "project_matching",
    "project_simplex",
]
