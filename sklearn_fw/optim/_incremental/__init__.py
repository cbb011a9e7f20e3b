"""Sums over rows: incremental methods, dual coordinates, Newton, and their certificates."""
