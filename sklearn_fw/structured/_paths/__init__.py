"""Regularization paths over C and over radii."""
