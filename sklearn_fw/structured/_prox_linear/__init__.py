"""Scores that are not linear in the weights: models, their linearization, and the outer loop."""
