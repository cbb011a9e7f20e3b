"""Training sets of structured outputs: passes over blocks and what they decide."""
