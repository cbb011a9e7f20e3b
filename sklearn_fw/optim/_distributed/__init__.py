"""Objectives whose rows stay where they are: sums over parts, in this process or on a cluster."""
