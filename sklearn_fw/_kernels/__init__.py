"""Compiled loops: arrays in, arrays out, nothing but numpy and numba."""
