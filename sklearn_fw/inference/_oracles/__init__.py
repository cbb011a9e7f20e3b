"""Oracles, one file each; what they have in common is told in `sklearn_fw.inference`."""
