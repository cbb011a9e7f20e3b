"""Small tasks from sequences to sequences, each of a kind that users meet."""

import re

import numpy as np
from _searnn_data import chunks, corrupted, letters, texts

N_TRAIN, N_TEST = 1000, 500
MOST_WORDS = 15
ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
]  # fmt: skip
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
]  # fmt: skip


def in_words(number):
    if number < 20:
        return [ONES[number]]
    if number < 100:
        return [TENS[number // 10 - 2], *(in_words(number % 10) if number % 10 else [])]
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = in_words(number % size) if number % size else []
            return [*in_words(number // size), name, *rest]
    raise ValueError(f"number must not be negative, got {number}")


def _words_of_news(seed):
    found = {word for line in texts("train", 20_000, 0) for word in re.findall("[a-z]{3,}", line)}
    words = np.array(sorted(found))
    return [str(word) for word in np.random.RandomState(seed).permutation(words)]


def numbers(seed):
    """Digits, and the words of the number that they write."""
    drawn = np.random.RandomState(seed).permutation(100_000)[: N_TRAIN + N_TEST]
    return [str(number) for number in drawn], [in_words(int(number)) for number in drawn]


def dates(seed):
    """Dates as people write them, and as machines do."""
    rng, X, y = np.random.RandomState(seed), [], []
    for _ in range(N_TRAIN + N_TEST):
        year, month, day = rng.randint(1900, 2100), rng.randint(1, 13), rng.randint(1, 29)
        name = MONTHS[month - 1]
        X.append((f"{day} {name} {year}", f"{name[:3]} {day}, {year}")[rng.randint(2)])
        y.append(f"{year}-{month:02d}-{day:02d}")
    return X, y


def pig_latin(seed):
    """Words, and the same with their first consonants behind, and "ay"."""
    X = _words_of_news(seed)[: N_TRAIN + N_TEST]
    return X, [re.sub("^([^aeiou]*)(.*)$", r"\2\1ay", word) for word in X]


def reversed_words(seed):
    """Words, and the same from the end to the beginning."""
    X = _words_of_news(seed)[: N_TRAIN + N_TEST]
    return X, [word[::-1] for word in X]


def spelling(seed):
    """Beginnings of sentences of which three in ten characters are wrong."""
    y = texts("train", N_TRAIN, seed) + texts("test", N_TEST, seed)
    return corrupted(y, 0.3, seed), y


def words_of_pixels(seed):
    X, y, X_test, y_test = letters(seed, False)
    return [*X[:N_TRAIN], *X_test[:N_TEST]], [*y[:N_TRAIN], *y_test[:N_TEST]]


def chunked(seed):
    X, y = chunks(False)[:2]
    short = [i for i, x in enumerate(X) if len(x) <= MOST_WORDS]
    order = np.random.RandomState(seed).permutation(short)[: N_TRAIN + N_TEST]
    # Words and tags that the training part has not are not known.
    known = [{row[c] for i in order[:N_TRAIN] for row in X[i]} for c in range(2)]
    seen = {tag for i in order[:N_TRAIN] for tag in y[i]}
    order = [i for k, i in enumerate(order) if k < N_TRAIN or set(y[i]) <= seen]
    some = [min(part) for part in known]
    read = [
        [tuple(w if w in known[c] else some[c] for c, w in enumerate(row)) for row in X[i]]
        for i in order
    ]
    return read, [y[i] for i in order]


TASKS = {
    "handwritten words": words_of_pixels, "reversed words": reversed_words, "spelling": spelling,
    "chunks": chunked, "pig Latin": pig_latin, "dates": dates, "numbers in words": numbers,
}  # fmt: skip


def pairs(name, seed):
    """Inputs and outputs to train with, and to judge by."""
    X, y = TASKS[name](seed)
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:]
