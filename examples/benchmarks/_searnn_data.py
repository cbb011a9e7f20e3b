"""Data of the page on learning to search: letters, text to be corrected, chunks."""

import gzip
import json
import re
from collections import Counter
from importlib.util import find_spec

import numpy as np
from _report import Skip, data_path

from sklearn_fw.datasets import load_conll2000, load_ocr_letters

SYMBOLS = "abcdefghijklmnopqrstuvwxyz0123456789 .,;:'!"  # 43, as many as in the paper
LENGTH = 10  # characters of a text
ENOUGH = 40  # characters by which sentences are told apart
QUOTED = re.compile(r"\s*\S{0,4}[>|:]")
SENTENCES = re.compile(r"(?<=[.!?] )\s*[A-Z][^.!?]*[.!?]")
OTHER = re.compile(f"[^{re.escape(SYMBOLS)}]")


def need_torch():
    if find_spec("torch") is None:
        raise Skip("needs PyTorch: the extra torch")


def texts(part, n, seed):
    """Beginnings of sentences of the news, of ten characters; no sentence comes twice."""
    found = {}
    with gzip.open(data_path(f"20news/{part}.jsonl.gz"), "rt") as file:
        for line in file:
            text = json.loads(line)["text"]
            # One of the two files has tabs for the ends of lines.
            text = text.replace("\t", "\n") if text.count("\n") < 2 else text
            # Headers end at the first empty line; they are similar, and quotations are repeats.
            lines = text.partition("\n\n")[2].splitlines()
            body = " ".join(line for line in lines if not QUOTED.match(line))
            for sentence in SENTENCES.findall(body):
                begun = OTHER.sub(" ", sentence[:ENOUGH].lower())
                found[re.sub(r"\s+", " ", begun).strip()] = None
    made = [sentence[:LENGTH] for sentence in found if len(sentence) >= LENGTH]
    order = np.random.RandomState(seed).permutation(len(made))[:n]
    return [made[i] for i in order]


def corrupted(lines, p, seed):
    """The same with each character replaced by a random one with probability p."""
    rng, symbols = np.random.RandomState(seed), np.array(list(SYMBOLS))
    made = []
    for line in lines:
        is_new = rng.random_sample(len(line)) < p
        drawn = symbols[rng.randint(len(symbols), size=len(line))]
        made.append("".join(np.where(is_new, drawn, list(line))))
    return made


def spelling(p, seed, quick):
    """Corrupted and true lines, to train with and to judge by."""
    n_train, n_test = (4000, 400) if quick else (40_000, 2000)
    train, test = texts("train", n_train, 0), texts("test", n_test, 0)
    return (
        corrupted(train, p, 2 * seed), train, corrupted(test, p, 2 * seed + 1), test,
    )  # fmt: skip


def letters(seed, quick):
    """Words of letters: nine tenths to train with, and the rest."""
    data = load_ocr_letters()
    order = np.random.RandomState(seed).permutation(len(data.X))
    X, y = [data.X[i] for i in order], [data.y[i] for i in order]
    n_test = len(X) // 10
    n_train = 800 if quick else len(X) - n_test
    return X[n_test : n_test + n_train], y[n_test : n_test + n_train], X[:n_test], y[:n_test]


def chunks(quick):
    """Sentences as words with their tags, and tags of chunks; rare words are '?'."""
    X_train, y_train, X_test, y_test = load_conll2000(return_X_y=True)
    if quick:
        X_train, y_train, X_test, y_test = (p[:300] for p in (X_train, y_train, X_test, y_test))

    def plain(word):
        return re.sub(r"\d", "0", word.lower())

    counts = Counter(plain(row[0]) for sentence in X_train for row in sentence)
    tags = {row[1] for sentence in X_train for row in sentence}
    labels = {tag for sentence in y_train for tag in sentence}

    def read(sentences):
        return [
            [
                (w if counts[w := plain(row[0])] > 1 else "?", row[1] if row[1] in tags else "?")
                for row in sentence
            ]
            for sentence in sentences
        ]

    # So that '?' is a tag and a word of the training set, too.
    train, test = read(X_train), read(X_test)
    train.append([("?", "?")])
    y_train = [list(own) for own in y_train] + [["O"]]
    keep = [i for i, own in enumerate(y_test) if set(own) <= labels]
    return train, y_train, [test[i] for i in keep], [list(y_test[i]) for i in keep]
