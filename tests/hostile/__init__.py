"""Hostile calls: every kind of damage to every argument of every public callable.

`calls_*` list one valid call of each public name, `damages` what can be wrong with a value,
`verdicts` what a call may answer, `workers` runs calls in a child that may die, `test_table` is the
short run of the test suite and `fuzz` the long one, ``python3 dev.py fuzz``.
"""
