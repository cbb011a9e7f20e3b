"""Latent variables by moments: joint diagonalization, and documents under given topics."""
