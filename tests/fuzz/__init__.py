"""Fuzz tests: every public callable with every kind of corrupted argument.

`calls` makes one valid call of each public name, with the data of `calls_*`; `corruptions` are what
can be wrong with a value, `verdicts` what a call may answer. `workers` runs calls in a child that
may die, `test_fuzz` one call of each kind and `run` calls at random: ``python3 dev.py fuzz``.
"""
