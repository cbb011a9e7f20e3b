"""Violations that are known, and why they stay: {pattern of a case: reason}."""

__all__ = ["KNOWN"]

KNOWN = {}
