"""Kernel Student-t densities: novelty scores, label reconstruction and relative novelty."""

from ._student_t import KernelStudentTDensity

__all__ = ["KernelStudentTDensity"]
