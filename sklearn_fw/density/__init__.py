"""Kernel Student-t densities: novelty scores, label reconstruction and relative novelty."""

from ._classifier import KernelStudentTClassifier
from ._fantasy import kernel_student_t_fantasy
from ._polynomial import PolynomialKernel
from ._relative_novelty import RelativeNoveltyDetector
from ._student_t import KernelStudentTDensity

__all__ = [
    "KernelStudentTClassifier",
    "KernelStudentTDensity",
    "PolynomialKernel",
    "RelativeNoveltyDetector",
    "kernel_student_t_fantasy",
]
