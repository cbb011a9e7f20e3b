"""Compiled loops: arrays in, arrays out, nothing but numpy and numba."""

import importlib


class lazy:
    """A module of kernels, imported together with numba at the first use of one of its names."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        found = getattr(importlib.import_module(f"{__name__}.{self._name}"), name)
        setattr(self, name, found)
        return found
