"""Saddle points and games."""
