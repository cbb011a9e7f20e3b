"""Kernels of Frank-Wolfe methods."""
