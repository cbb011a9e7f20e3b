"""Edit distances as a textbook has them: the referee of compiled ones."""

from functools import cache


def plain_distance(made, true):
    """By the recursion on the last tokens."""
    made, true = tuple(made), tuple(true)

    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        replaced = distance(i - 1, j - 1) + (made[i - 1] != true[j - 1])
        return min(replaced, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(made), len(true))
