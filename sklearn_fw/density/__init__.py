"""Kernel Student-t densities: novelty scores, label reconstruction and relative novelty."""

from ._classifier import KernelStudentTClassifier
from ._kernels import PolynomialKernel
from ._relative_novelty import RelativeNoveltyDetector
from ._student_t import KernelStudentTDensity

__all__ = [
    "KernelStudentTClassifier",
    "KernelStudentTDensity",
    "PolynomialKernel",
    "RelativeNoveltyDetector",
]
