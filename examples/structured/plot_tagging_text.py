"""
===============================
Named entity tagging of recipes
===============================

A line of a recipe names a quantity, a unit, an ingredient and a preparation. A tagger predicts one
tag per word, as in named entity recognition. The meaning of a word depends on its neighbors: cloves
can be a unit or a spice.
"""

# %%
# Data
# ----
# A small grammar generates the lines and their tags in BIO coding: ``B-`` begins a phrase, ``I-``
# continues it, and ``O`` is outside. Many ingredients of the test lines do not occur in training.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_fw import StructuredSVM
from sklearn_fw.metrics import phrase_classification_report
from sklearn_fw.preprocessing import NodeTransformer
from sklearn_fw.structured import ChainModel

FOODS = [
    "onion", "garlic", "olive oil", "butter", "sugar", "brown sugar", "flour", "ground cloves",
    "cinnamon stick", "orange juice", "chicken breast", "rice", "sour cream", "tomato paste",
    "red wine", "bay leaf", "cream", "parsley",
]  # fmt: skip
NEW_FOODS = [
    "shallot", "maple syrup", "coconut milk", "celery stick", "dill", "baking powder", "rye flour",
    "lemon juice", "beef stock", "white rice", "goat cheese", "peanut butter", "mustard seed",
    "vanilla", "leek",
]  # fmt: skip
QUANTITIES = ["1", "2", "3", "1/2", "1 1/2", "about 2", "250"]
UNITS = [
    "cup", "cups", "tablespoon", "teaspoons", "cloves", "stick", "pound", "pinch of", "can of",
    "slices",
]  # fmt: skip
ACTIONS = [
    "finely chopped", "minced", "melted", "at room temperature", "peeled and diced", "to taste",
    "drained",
]  # fmt: skip


def write_line(rng, foods):
    """Words of a line and their tags."""
    parts = []
    if rng.random() < 0.85:
        parts.append(("QTY", rng.choice(QUANTITIES)))
        if rng.random() < 0.8:
            parts.append(("UNIT", rng.choice(UNITS)))
    action = ("DO", rng.choice(ACTIONS))
    food = ("FOOD", rng.choice(foods))
    order = rng.integers(4)
    if order == 0:
        parts += [action, food]
    elif order == 1:
        parts += [food, ("", ","), action]
    elif order == 2:
        parts += [food, ("", "and"), ("FOOD", rng.choice(foods))]
    else:
        parts += [food]
    words, tags = [], []
    for tag, text in parts:
        for position, word in enumerate(text.split()):
            words.append(word)
            tags.append(f"{'I' if position else 'B'}-{tag}" if tag else "O")
    return words, tags


rng = np.random.default_rng(0)
train = [write_line(rng, FOODS) for _ in range(150)]
test = [write_line(rng, FOODS + NEW_FOODS) for _ in range(300)]
print(*zip(*train[0]))

# %%
# Features
# --------
# A token is a dict of features, as in other taggers. scikit-learn's ``DictVectorizer`` encodes
# dicts as columns, and ``NodeTransformer`` applies it to the tokens of all lines at once.


def describe(words):
    """One dict per word: the word, its shape and its neighbors."""
    padded = ["<", *words, ">"]
    return [
        {
            "word": word,
            "previous": padded[t],
            "next": padded[t + 2],
            "ending": word[-2:],
            "digit": word[0].isdigit(),
            "bias": 1.0,
        }
        for t, word in enumerate(words)
    ]


X_train, y_train = [describe(words) for words, _ in train], [tags for _, tags in train]
X_test, y_test = [describe(words) for words, _ in test], [tags for _, tags in test]

# %%
# Training
# --------
# If known words alone give a large enough margin, the model learns little about their neighbors,
# which are the evidence for unknown words. So each training line is repeated with half of its words
# hidden. The task loss is the zero-one loss of lines, since a phrase only counts if all of its
# words are correct.


def hide(line):
    """Copy of a line with words hidden at random."""
    return [
        {**token, "word": "?", "ending": "?"} if rng.random() < 0.5 else token for token in line
    ]


tagger = make_pipeline(
    NodeTransformer(DictVectorizer()),
    StructuredSVM(ChainModel(task_loss="zero_one"), random_state=0),
)
tagger.fit(X_train + [hide(line) for line in X_train], y_train + y_train)
predicted = tagger.predict(X_test)
print(phrase_classification_report(y_test, predicted))
print(f"duality gap {tagger[-1].dual_gap_:.2g} of an objective of {tagger[-1].objective_:.2g}")

# %%
# Predictions
# -----------
# The first test lines with a word that does not occur in training. A red frame marks a wrong tag.

COLORS = {"QTY": "#c6dbef", "UNIT": "#c7e9c0", "DO": "#fdd0a2", "FOOD": "#dadaeb", "O": "white"}

seen = {word for words, _ in train for word in words}
shown = [i for i, (words, _) in enumerate(test) if not seen.issuperset(words)][:16]
figure, ax = plt.subplots(figsize=(7.2, 5.4), layout="constrained")
for row, i in enumerate(shown):
    column = 0
    for word, truth, tag in zip(test[i][0], y_test[i], predicted[i]):
        ax.text(
            column, -row, word, family="monospace", size=10, va="center",
            bbox={
                "facecolor": COLORS[tag.rpartition("-")[2]], "pad": 2.5,
                "edgecolor": "none" if tag == truth else "red",
            },
        )  # fmt: skip
        column += len(word) + 1
for column, (name, color) in enumerate(COLORS.items()):
    ax.text(10 * column, 1.6, name, size=10, va="center", bbox={"facecolor": color, "pad": 3})
ax.set(xlim=(-1, 66), ylim=(-len(shown), 2.5))
ax.axis("off")

# %%
# Learned weights
# ---------------
# Left: the transition weights. ``I-FOOD`` follows ``B-FOOD``, and a unit follows a quantity. Right:
# the features with the largest positive and negative weights for a unit.

svm, names = tagger[-1], tagger[0].get_feature_names_out()
weights = svm.feature_weights()
for_unit = weights["features"][:, svm.classes_ == "B-UNIT"].ravel()
strongest = np.r_[np.argsort(for_unit)[:7], np.argsort(for_unit)[-7:]]

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
top = np.abs(weights["transitions"]).max()
image = axes[0].imshow(weights["transitions"], cmap="RdBu_r", vmin=-top, vmax=top)
ticks = range(len(svm.classes_))
axes[0].set_xticks(ticks, svm.classes_, rotation=60)
axes[0].set_yticks(ticks, svm.classes_)
axes[0].set(xlabel="next tag", ylabel="tag")
figure.colorbar(image, ax=axes[0], shrink=0.8)
colors = np.where(for_unit[strongest] > 0, "tab:red", "tab:blue")
axes[1].barh(names[strongest], for_unit[strongest], color=colors)
axes[1].set(title="weights of B-UNIT")
