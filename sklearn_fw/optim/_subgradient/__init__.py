"""Projected subgradient steps with running averages of the iterates."""
