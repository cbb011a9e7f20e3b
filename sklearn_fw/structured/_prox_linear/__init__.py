"""Scores that are not linear in the weights: models, their linearisation, and the outer loop."""
