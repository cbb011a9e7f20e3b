"""Edit distances and BLEU as a textbook has them: the references of compiled ones."""

from collections import Counter
from functools import cache
from math import exp, prod


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


def plain_bleu(true, made, max_n):
    """Counts of n-grams, clipped; one more of each for n above 1; the brevity penalty."""
    if not true or not made:
        return float(true == made)
    precisions = []
    for n in range(1, max_n + 1):
        ours, theirs = (
            Counter(tuple(y[i : i + n]) for i in range(len(y) - n + 1)) for y in (made, true)
        )
        more = n > 1
        precisions.append(((ours & theirs).total() + more) / (ours.total() + more))
    penalty = 1.0 if len(made) > len(true) else exp(1.0 - len(true) / len(made))
    return penalty * prod(precisions) ** (1.0 / max_n)
