"""Pairs of words as feature vectors, and the aligners that need no hand-made links."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sklearn_fw.inference import Assignment

N_STEM = 4  # letters of a word that count as its stem
N_FREQUENT = 50
N_LEXICON = 100
EM_STEPS = 10


class Language:
    """The words of one side: as numbers, and in which sentences they occur."""

    def __init__(self, sentences):
        self.words, flat = np.unique(np.concatenate(sentences), return_inverse=True)
        self.ids = np.split(flat, np.cumsum([len(words) for words in sentences])[:-1])
        self.presence = np.zeros((len(sentences), len(self.words)))
        for row, ids in zip(self.presence, self.ids):
            row[ids] = 1.0
        self.count = self.presence.sum(axis=0)
        self.frequent = self.count.argsort(kind="stable").argsort() >= len(self.words) - N_FREQUENT
        self.is_word = np.array([word[0].isalnum() for word in self.words])
        self.length = np.array([len(word) for word in self.words])


class Corpus:
    """Sentence pairs, and in how many of them two words occur together."""

    def __init__(self, source, target):
        self.source, self.target = Language(source), Language(target)
        self.both = self.source.presence.T @ self.target.presence

    def __len__(self):
        return len(self.source.ids)

    def words(self, i):
        """Numbers of the words of pair i, as a column and as a row."""
        return self.source.ids[i][:, None], self.target.ids[i]

    def dice(self, i, *, without_itself=False):
        """How often two words occur together, relative to how often they occur.

        A rare word occurs with all words of its sentence: ``without_itself`` counts on the other
        pairs only.
        """
        j, k = self.words(i)
        both, alone = self.both[j, k], self.source.count[j] + self.target.count[k]
        if without_itself:
            both, alone = both - 1.0, np.maximum(alone - 2.0, 1.0)
        return 2.0 * both / alone

    def lexicon(self, size):
        """The pairs of words that occur together most, beyond what chance would give."""
        probability = np.outer(self.source.count, self.target.count) / len(self)
        excess = self.both * np.log(np.maximum(self.both, 1e-300) / probability)
        best = np.argsort(-excess, axis=None, kind="stable")[:size]
        return list(zip(*np.unravel_index(best, self.both.shape)))


def pair_features(source, target):
    """One array of shape (J, K, n_features) for each pair of sentences, and the names.

    Counts are made on all these sentences, whose links are not needed.
    """
    corpus = Corpus(source, target)
    stems = Corpus(_stems(source), _stems(target))
    spelling = Spelling(corpus.source.words, corpus.target.words)
    lexicon = corpus.lexicon(N_LEXICON)
    X = []
    for i in range(len(corpus)):
        j, k = corpus.words(i)
        by_name = {
            "constant": 1.0,
            **_dice_features(corpus, i, "Dice"),
            **_dice_features(stems, i, "stems' Dice"),
            **_competition(stems.dice(i, without_itself=True)),
            **_position(len(j), len(k)),
            **spelling.features(corpus, j, k),
            **_frequency(corpus, j, k),
            **{
                f"{corpus.source.words[a]}-{corpus.target.words[b]}": (j == a) & (k == b)
                for a, b in lexicon
            },
        }
        X.append(np.stack(np.broadcast_arrays(*by_name.values()), axis=2).astype(np.float64))
    return X, list(by_name)


def _stems(sentences):
    return [[word[:N_STEM] for word in words] for words in sentences]


def _dice_features(corpus, i, name):
    dice = corpus.dice(i, without_itself=True)
    return {name: dice, f"root of {name}": np.sqrt(dice)}


def _competition(dice):
    """Beside the best other partner of either word, and of the words next to them."""
    row, column = best_other(dice), best_other(dice.T).T
    before, after = np.zeros((2, *dice.shape))
    before[1:, 1:], after[:-1, :-1] = dice[:-1, :-1], dice[1:, 1:]
    return {
        "lead in row": dice - row,
        "lead in column": dice - column,
        "best of both": (dice >= row) & (dice >= column) & (dice > 0.0),
        "Dice of words before": before,
        "Dice of words after": after,
    }


def best_other(matrix):
    """Of every entry, the largest other one of its row, at least 0."""
    second, first = np.sort(np.pad(matrix, ((0, 0), (0, 2))), axis=1)[:, -2:].T[:, :, None]
    return np.where(matrix == first, second, first)


def _position(n_rows, n_columns):
    j, k = np.arange(n_rows)[:, None], np.arange(n_columns)
    distance = np.abs((j + 0.5) / n_rows - (k + 0.5) / n_columns)
    return {
        "distance": distance,
        "distance squared": distance**2,
        "steps apart": np.minimum(np.abs(j - k), 10) / 10.0,
    }


def _frequency(corpus, j, k):
    source, target = corpus.source, corpus.target
    frequent, frequent_too = source.frequent[j], target.frequent[k]
    n_source, n_target = source.count[j], target.count[k]
    return {
        "both frequent": frequent & frequent_too,
        "one frequent": frequent != frequent_too,
        "both once": (n_source == 1) & (n_target == 1),
        "ratio of counts": np.abs(np.log(n_source / n_target)),
    }


class Spelling:
    N_LETTERS = 6

    def __init__(self, source, target):
        letter_pairs = CountVectorizer(analyzer="char", ngram_range=(2, 2), binary=True)
        padded = [[f"<{word}>" for word in words] for words in (source, target)]
        letter_pairs.fit(padded[0] + padded[1])
        a, b = (letter_pairs.transform(words) for words in padded)
        n_pairs = np.asarray(a.sum(axis=1)) + np.asarray(b.sum(axis=1)).T
        self._alike = 2.0 * (a @ b.T).toarray() / n_pairs
        self._beginnings = [self._letters(words) for words in (source, target)]

    def _letters(self, words):
        beginnings = np.array(words, dtype=f"U{self.N_LETTERS}")
        return beginnings.view(np.uint32).reshape(len(words), self.N_LETTERS)

    def features(self, corpus, j, k):
        """Features of the words j of one language beside the words k of the other."""
        source, target = corpus.source, corpus.target
        a, b = self._beginnings[0][j], self._beginnings[1][k]
        prefix = np.cumprod((a == b) & (a > 0), axis=2).sum(axis=2)  # 0 ends a short word
        alike = self._alike[j, k]
        same = source.words[j] == target.words[k]
        return {
            "same word": same,
            "same long word": same & (source.length[j] > 3),
            "same sign": same & ~source.is_word[j],
            "word and sign": source.is_word[j] != target.is_word[k],
            "prefix": prefix / self.N_LETTERS,
            "long prefix": prefix >= N_STEM,
            "letters": alike,
            "most letters": np.maximum(alike - 0.5, 0.0),
            "lengths differ": np.abs(source.length[j] - target.length[k]) / 10.0,
        }


def greedy_links(dice, threshold):
    """Pairs in the order of Dice, near the diagonal first, while both words have no partner."""
    n_rows, n_columns = dice.shape
    distance = _position(n_rows, n_columns)["distance"]
    links, rows, columns = [], set(), set()
    for entry in np.lexsort((distance.ravel(), -dice.ravel())):
        j, k = divmod(int(entry), n_columns)
        if dice[j, k] < threshold:
            break
        if j not in rows and k not in columns:
            links.append((j, k))
            rows.add(j)
            columns.add(k)
    return links


def ibm_model_1(source, target, n_steps=EM_STEPS):
    """Probability that a target word comes from each source word, by EM from equal ones.

    Returns one array of shape (J + 1, K) for each pair; row 0 is the empty word, which is in every
    source sentence.
    """
    n_words = len(target.words)
    entries, tokens, n_tokens = [], [], 0
    for j, k in zip(source.ids, target.ids):
        entries.append(np.add.outer(np.append(0, j + 1) * n_words, k))
        tokens.append(np.broadcast_to(n_tokens + np.arange(len(k)), entries[-1].shape))
        n_tokens += len(k)
    shapes = [entry.shape for entry in entries]
    pairs, place = np.unique(np.concatenate([e.ravel() for e in entries]), return_inverse=True)
    token = np.concatenate([t.ravel() for t in tokens])
    source_word = pairs // n_words
    probability = np.ones(len(pairs))
    for step in range(n_steps + 1):
        share = probability[place]
        share /= np.bincount(token, share)[token]
        if step < n_steps:
            count = np.bincount(place, share)
            probability = count / np.bincount(source_word, count)[source_word]
    parts = np.split(share, np.cumsum([rows * columns for rows, columns in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes)]


def intersected_links(corpus):
    """Links that IBM model 1 finds from either language, for each pair of sentences."""
    source, target = corpus.source, corpus.target
    links = []
    for forward, backward in zip(ibm_model_1(source, target), ibm_model_1(target, source)):
        partner_of_target = forward.argmax(axis=0) - 1
        partner_of_source = backward.argmax(axis=0) - 1
        links.append([
            (j, k) for k, j in enumerate(partner_of_target.tolist())
            if j >= 0 and partner_of_source[j] == k
        ])  # fmt: skip
    return links


def one_partner(links, corpus, i):
    """The largest matching among hand-made links, by Dice and nearness to the diagonal."""
    dice = corpus.dice(i, without_itself=True)
    weight = np.zeros(dice.shape)
    rows, columns = np.array(links, dtype=np.int64).reshape(-1, 2).T
    distance = _position(*dice.shape)["distance"]
    # A link more is worth more than any choice among links.
    weight[rows, columns] = (100.0 + dice - 0.1 * distance)[rows, columns]
    return Assignment().argmax(weight)[0]
