"""
======================================
Word alignment of translated sentences
======================================

Word alignment links the words of a sentence with those of its translation. Words that often occur
together are candidates, but most words of a small collection are rare. Positions, spelling and the
alignment of neighbors add evidence. Their weights are learned from sentences that were aligned by
hand. The output is a matching: every word has one partner or none.
"""

# %%
# Sentences
# ---------
# English and French sentences of the Canadian parliament where ``SKLEARN_FW_DATA`` names a folder
# that has them; else sentences of two invented languages. Links are pairs ``(j, k)``: word ``j`` of
# the first sentence belongs to word ``k`` of the second. The last 48 pairs are for the test.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import load_word_alignment
from sklearn_fw.inference import Assignment
from sklearn_fw.metrics import alignment_error_rate
from sklearn_fw.structured import MatchingModel


def invent_sentences(n_pairs=484, n_words=3000, seed=0):
    """Translations change places, get lost or are free; one of four has a similar spelling."""
    rng = np.random.default_rng(seed)
    syllables = [a + b for a in "bdfglmnprstv" for b in "aeiou"]
    one, other = (["".join(rng.choice(syllables, 3)) for _ in range(n_words)] for _ in range(2))
    other = [a[:4] + b[4:] if rng.random() < 0.25 else b for a, b in zip(one, other)]
    frequency = 1.0 / np.arange(3.0, n_words + 3.0)  # as in languages
    source, target, links = [], [], []
    for _ in range(n_pairs):
        ids = rng.choice(n_words, size=rng.integers(4, 20), p=frequency / frequency.sum())
        places = np.argsort(np.arange(len(ids)) + rng.normal(scale=1.2, size=len(ids)))
        places = [int(j) for j in places if rng.random() < 0.8]
        source.append([one[a] for a in ids])
        target.append([other[ids[j]] if rng.random() < 0.7 else rng.choice(other) for j in places])
        links.append([(j, k) for k, j in enumerate(places)])
    return source, target, links


try:
    data = load_word_alignment()
    source, target = data.source_train + data.source_test, data.target_train + data.target_test
    links = data.sure_train + data.sure_test
except FileNotFoundError:
    source, target, links = invent_sentences()
source, target = ([[word.lower() for word in s] for s in side] for side in (source, target))
n_train = len(source) - 48
print(*source[n_train + 38], "|", *target[n_train + 38])

# %%
# Counting
# --------
# Dice's coefficient: in how many pairs of sentences two words occur together, relative to how often
# they occur at all. It needs no links, so all sentences count, but for the one at hand: else a word
# that occurs nowhere else would belong to all words of its sentence.


def as_numbers(sentences):
    """The vocabulary, and the words of all sentences as numbers."""
    vocabulary, flat = np.unique(np.concatenate(sentences), return_inverse=True)
    return vocabulary, np.split(flat, np.cumsum([len(words) for words in sentences])[:-1])


def occurrences(sentences):
    """Words as numbers, and a 0/1 matrix of the words in each sentence."""
    vocabulary, ids = as_numbers(sentences)
    has = np.zeros((len(sentences), len(vocabulary)))
    for row, numbers in zip(has, ids):
        row[numbers] = 1.0
    return ids, has


def dice_of(source, target):
    """One matrix of Dice coefficients for every pair of sentences."""
    (rows, has), (columns, has_too) = occurrences(source), occurrences(target)
    together, n, n_too = has.T @ has_too, has.sum(axis=0), has_too.sum(axis=0)
    return [
        2.0 * (together[np.ix_(j, k)] - 1.0) / np.maximum(np.add.outer(n[j], n_too[k]) - 2.0, 1.0)
        for j, k in zip(rows, columns)
    ]


dice = dice_of(source, target)

# %%
# Two aligners that only count. One takes pairs in the order of Dice, down to the threshold that is
# best for the training sentences.


def greedy(dice, threshold):
    """Links of largest Dice while both words are free, near the diagonal where these are equal."""
    place, place_too = (np.linspace(0.0, 1.0, size) for size in dice.shape)
    found, dice = [], dice - 1e-6 * np.abs(np.subtract.outer(place, place_too))
    while dice.max(initial=0.0) >= threshold:
        j, k = np.unravel_index(dice.argmax(), dice.shape)
        found.append((int(j), int(k)))
        dice[j], dice[:, k] = -1.0, -1.0
    return found


thresholds = np.arange(0.05, 0.6, 0.05)
errors = [
    alignment_error_rate(links[:n_train], None, [greedy(matrix, t) for matrix in dice[:n_train]])
    for t in thresholds
]
by_dice = [greedy(matrix, thresholds[np.argmin(errors)]) for matrix in dice]

# %%
# The other is IBM's first model. Each word comes from a word of the other sentence or from nowhere:
# where from, and how likely a word makes another, are estimated in turns. A link is where the
# likeliest answers of both directions agree.


def origins(source, target, n_steps=10):
    """For every word of the target sentences, the place of the likeliest source, or -1."""
    vocabulary, rows = as_numbers([["", *words] for words in source])
    other_vocabulary, columns = as_numbers(target)
    size = len(vocabulary), len(other_vocabulary)
    pairs = [np.add.outer(j * size[1], k) for j, k in zip(rows, columns)]
    probability = np.ones(size)
    for _ in range(n_steps):
        shares = [probability.take(p) / probability.take(p).sum(axis=0) for p in pairs]
        flat, weights = (np.concatenate([x.ravel() for x in part]) for part in (pairs, shares))
        count = np.bincount(flat, weights, minlength=size[0] * size[1]).reshape(size)
        probability = count / count.sum(axis=1, keepdims=True)
    return [probability.take(p).argmax(axis=0) - 1 for p in pairs]


by_ibm_1 = [
    [(int(j), k) for k, j in enumerate(forward) if j >= 0 and backward[j] == k]
    for forward, backward in zip(origins(source, target), origins(target, source))
]

# %%
# Features
# --------
# Sixteen numbers describe a pair of words. All but the first are *joint*: features of one word
# alone would make no difference to who is whose partner. The *leads* compare a pair with all other
# partners of its two words, and two features look at the words before and those after. These four
# take words for the same that begin with the same four letters, like *province* and *provincial*.

stem_dice = dice_of(*([[w[:4] for w in words] for words in side] for side in (source, target)))


def most_frequent(sentences, n=50):
    words, counts = np.unique(np.concatenate(sentences), return_counts=True)
    return words[np.argsort(-counts, kind="stable")[:n]]


frequent, frequent_too = most_frequent(source), most_frequent(target)


def spelling(a, b):
    """Letters at the beginning that are the same, and the share of letter pairs in common."""
    prefix = next((t for t, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    in_a, in_b = ({w[t : t + 2] for t in range(len(w) - 1)} for w in (f"<{a}>", f"<{b}>"))
    return min(prefix, 6) / 6.0, 2.0 * len(in_a & in_b) / (len(in_a) + len(in_b))


def lead(dice):
    """How far entries are above the largest other one of their row, or below it."""
    second, first = np.sort(np.pad(dice, ((0, 0), (0, 2))), axis=1)[:, -2:].T[:, :, None]
    return dice - np.where(dice == first, second, first)


def describe(i):
    """Features of all pairs of words of two sentences, by name."""
    a, b = np.array(source[i])[:, None], np.array(target[i])
    j, k = np.arange(len(a))[:, None], np.arange(len(b))
    spelled = np.array([[spelling(x, y) for y in target[i]] for x in source[i]])
    is_word, is_word_too = (np.char.isalnum(words.astype("U1")) for words in (a, b))
    often, often_too = np.isin(a, frequent), np.isin(b, frequent_too)
    stems = stem_dice[i]
    before, after = np.zeros((2, *stems.shape))
    before[1:, 1:], after[:-1, :-1] = stems[:-1, :-1], stems[1:, 1:]
    return {
        "constant": 1.0,
        "Dice": dice[i],
        "root of Dice": np.sqrt(dice[i]),
        "lead in row": lead(stems),
        "lead in column": lead(stems.T).T,
        "Dice of words before": before,
        "Dice of words after": after,
        "distance": np.minimum(np.abs(j - k), 10) / 10.0,
        "relative distance": np.abs((j + 0.5) / len(a) - (k + 0.5) / len(b)),
        "same word": a == b,
        "a word and a sign": is_word != is_word_too,
        "same beginning": spelled[:, :, 0],
        "same letters": spelled[:, :, 1],
        "difference of lengths": np.abs(np.char.str_len(a) - np.char.str_len(b)) / 10.0,
        "both frequent": often & often_too,
        "one of them frequent": often != often_too,
    }


names = list(describe(0))
X = [
    np.stack(np.broadcast_arrays(*describe(i).values()), axis=2).astype(float)
    for i in range(len(source))
]

# %%
# Learning
# --------
# Some words have several links, but a matching allows one: training takes the largest matching
# among the links. ``C`` is not given, so it is chosen on a hold-out set of sentences.


def one_partner(i):
    """The largest matching among the links, the one of largest Dice if there are several."""
    weight = np.zeros(dice[i].shape)
    for j, k in links[i]:
        weight[j, k] = 100.0 + dice[i][j, k]
    return Assignment().argmax(weight)[0]


y = [one_partner(i) for i in range(n_train)]
svm = StructuredSVM(MatchingModel(), random_state=0).fit(X[:n_train], y)
print(f"C {svm.C_:.2g}, duality gap {svm.dual_gap_:.2g} of an objective of {svm.objective_:.2g}")

# %%
# The alignment error rate of the test sentences counts links that are missed or wrong, among all.

learned = [list(zip(*np.nonzero(matching))) for matching in svm.predict(X)]
aligners = {"Dice": by_dice, "IBM model 1": by_ibm_1, "learned": learned}
for name, found in aligners.items():
    print(f"{name:12s} {alignment_error_rate(links[n_train:], None, found[n_train:]):.3f}")

# %%
# Links of the test sentences
# ---------------------------
# Three pairs of moderate length in which Dice and the learned aligner differ most. Red links are
# not among those made by hand, dotted ones are missed.


def draw_links(ax, i, found):
    """Both sentences, one above the other, with lines from word to word."""
    centers = []
    for words, height, align in ((source[i], 1.0, "bottom"), (target[i], 0.0, "top")):
        ends = np.cumsum([len(word) + 1.5 for word in words])
        left = ends - [len(word) + 1.5 for word in words] - ends[-1] / 2
        centers.append([x + len(word) / 2 for x, word in zip(left, words)])
        for x, word in zip(centers[-1], words):
            ax.text(x, height, word, ha="center", va=align, family="monospace", size=13)
    for j, k in set(found) | set(links[i]):
        style = {"color": "0.45"}
        if (j, k) not in links[i]:
            style = {"color": "tab:red", "linewidth": 2}
        elif (j, k) not in found:
            style = {"color": "0.45", "linestyle": ":"}
        ax.plot([centers[0][j], centers[1][k]], [0.95, 0.05], **style)
    half = max(map(abs, [*centers[0], *centers[1]])) + 4
    ax.set(xlim=(-half, half), ylim=(-0.35, 1.35))
    ax.axis("off")


short = [i for i in range(n_train, len(X)) if 40 < len(" ".join(source[i])) < 75]
short = [i for i in short if len(" ".join(target[i])) < 75]
shown = sorted(short, key=lambda i: len(set(by_dice[i]) ^ set(learned[i])))[-3:]
figure, axes = plt.subplots(6, 1, figsize=(10, 9), layout="constrained")
for pair, i in zip(axes.reshape(3, 2), shown):
    for ax, name in zip(pair, ("Dice", "learned")):
        draw_links(ax, i, aligners[name][i])
        ax.set_title(name, loc="left", size=11, color="0.3")

# %%
# Scores
# ------
# The longer pair in which the two differ most, as matrices: Dice coefficients at the left, learned
# scores at the right. Dots are the links found, squares those made by hand. Frequent words have
# positive Dice coefficients with all words. Learned scores are high near the diagonal.

longer = [i for i in range(n_train, len(X)) if 11 <= len(source[i]) <= 17]
i = max(longer, key=lambda i: len(set(by_dice[i]) ^ set(learned[i])))
scores = svm.model_.scores(X[i], svm.coef_)
top = np.abs(scores).max()
figure, axes = plt.subplots(1, 2, figsize=(13, 6.5), layout="constrained")
for ax, name, matrix, colors in (
    (axes[0], "Dice", dice[i], {"cmap": "Reds", "vmin": 0}),
    (axes[1], "learned", scores, {"cmap": "RdBu_r", "vmin": -top, "vmax": top}),
):
    image = ax.imshow(matrix, **colors)
    true, made = np.transpose(links[i]), np.transpose(aligners[name][i])
    ax.plot(true[1], true[0], "s", markersize=13, color="black", markerfacecolor="none")
    ax.plot(made[1], made[0], "o", markersize=6, color="black")
    ax.set_xticks(range(len(target[i])), target[i], rotation=90)
    ax.set_yticks(range(len(source[i])), source[i])
    ax.set_title(name)
    ax.tick_params(labelsize=11)
    figure.colorbar(image, ax=ax, shrink=0.7)

# %%
# Learned weights
# ---------------
# The weight of the constant is added to the scores of all pairs. Pairs with positive scores can
# become links.

order = np.argsort(svm.coef_)
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
colors = np.where(svm.coef_[order] > 0, "tab:red", "tab:blue")
ax.barh(np.array(names)[order], svm.coef_[order], color=colors)
ax.axvline(0, color="0.3", linewidth=0.8)
ax.set(title="weights of the features")
