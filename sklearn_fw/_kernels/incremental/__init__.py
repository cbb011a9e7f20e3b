"""Epochs of incremental methods for sums over rows."""
