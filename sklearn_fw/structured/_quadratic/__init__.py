"""Quadratic surrogates of task losses: spaces of scores, calibration, embeddings, descent."""
