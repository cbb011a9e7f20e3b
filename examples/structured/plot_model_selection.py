"""
======================================
Pipelines and grid search on sequences
======================================

A sequence model is tuned by scikit-learn's model selection. Words are read from nonlinear features
of their digits, and the width of the kernel is selected together with C.
"""

# %%
# A pipeline
# ----------
# ``NodeTransformer`` lends a transformer of rows to sequences: it is fitted on the digits of all
# words at once, and each word gets its own rows back. Everything inside keeps its parameters, so
# ``nodes__transformer__gamma`` is a key of a grid.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import Pipeline

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.metrics import SCORERS
from sklearn_fw.preprocessing import NodeTransformer

words = make_digit_words(n_train=400, n_test=400, bias=False, random_state=0)
pipeline = Pipeline(
    [
        ("nodes", NodeTransformer(Nystroem(n_components=300, random_state=0))),
        ("svm", StructuredSVM("chain", solver="bcpfw", random_state=0)),
    ]
)

# %%
# The search
# ----------
# Any splitter works, since a sequence is one sample. Here two training words can hold the same
# image of a digit, so folds of them would not be independent: the search validates on words that
# share no image with the training words. Scorers come as objects, because the names that
# scikit-learn knows are for single labels. The coarse default of ``tol`` is enough to compare.

X = np.concatenate([words.X_train, words.X_test[:200]])
y = np.concatenate([words.y_train, words.y_test[:200]])
Cs, gammas = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0], [0.1, 0.3, 1.0]
search = GridSearchCV(
    pipeline,
    [{"nodes": ["passthrough"], "svm__C": Cs}, {"nodes__transformer__gamma": gammas, "svm__C": Cs}],
    cv=PredefinedSplit(np.repeat([-1, 0], [400, 200])),
    scoring={"digits": SCORERS["node_accuracy"], "words": SCORERS["sequence_accuracy"]},
    refit=False,
)
results = search.fit(X, y).cv_results_

# %%
# The whole grid at one look, best value in bold. Plain pixels need a smaller C than the kernel,
# and read fewer words.

features = ["plain pixels", *(f"kernel, gamma {gamma}" for gamma in gammas)]
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharey=True, layout="constrained")
for ax, name in zip(axes, ("digits", "words")):
    scores = results[f"mean_test_{name}"].reshape(len(features), len(Cs))
    image = ax.imshow(scores, cmap="viridis", aspect="auto")
    best = np.unravel_index(scores.argmax(), scores.shape)
    for (i, j), score in np.ndenumerate(scores):
        dark = score < scores.min() + 0.6 * np.ptp(scores)
        ax.text(
            j, i, f"{score:.2f}", ha="center", va="center", color="white" if dark else "black",
            weight="bold" if (i, j) == best else "normal",
        )  # fmt: skip
    ax.set(title=f"right {name}", xlabel="C", xticks=range(len(Cs)), xticklabels=Cs)
    ax.set(yticks=range(len(features)), yticklabels=features)

# %%
# The chosen model
# ----------------
# It is fitted on the training words, to a smaller gap, and reads words that had no part in the
# choice.

chosen = results["params"][results["mean_test_digits"].argmax()]
pipeline.set_params(**chosen, svm__tol=0.01).fit(words.X_train, words.y_train)
X_new, y_new = words.X_test[200:], words.y_test[200:]
print(chosen)
print(f"right digits: {SCORERS['node_accuracy'](pipeline, X_new, y_new):.3f}")
print(f"right words: {SCORERS['sequence_accuracy'](pipeline, X_new, y_new):.3f}")
print(f"duality gap: {pipeline[-1].dual_gap_:.2g} of {pipeline[-1].objective_:.2g}")
