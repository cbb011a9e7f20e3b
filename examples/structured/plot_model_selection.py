"""
======================================
Pipelines and grid search on sequences
======================================

scikit-learn's model selection tunes a sequence model. Nonlinear features of digits enter a chain,
and the width of the kernel is selected together with C.
"""

# %%
# Pipeline
# --------
# ``NodeTransformer`` applies a transformer of rows to sequences: it is fitted on the digits of all
# words at once, and transforms each word. The inner transformer keeps its parameters, so
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
# Grid search
# -----------
# Any splitter works, since a sequence is one sample. Here two training words can contain the same
# image of a digit, so cross-validation folds would not be independent: the search validates on
# words that share no image with the training words. Scorers are objects, because the scorer names
# of scikit-learn are for single labels. The default ``tol`` is accurate enough to compare
# parameters.

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
# Scores of the grid, with the best value in bold. Plain pixels need a smaller C than the kernel,
# and are less accurate.

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
    ax.set(title=f"correct {name}", xlabel="C", xticks=range(len(Cs)), xticklabels=Cs)
    ax.set(yticks=range(len(features)), yticklabels=features)

# %%
# Selected model
# --------------
# It is refitted on the training words with a smaller ``tol``, and evaluated on words that had no
# part in the selection.

chosen = results["params"][results["mean_test_digits"].argmax()]
pipeline.set_params(**chosen, svm__tol=0.01).fit(words.X_train, words.y_train)
X_new, y_new = words.X_test[200:], words.y_test[200:]
print(chosen)
print(f"correct digits: {SCORERS['node_accuracy'](pipeline, X_new, y_new):.3f}")
print(f"correct words: {SCORERS['sequence_accuracy'](pipeline, X_new, y_new):.3f}")
print(f"duality gap: {pipeline[-1].dual_gap_:.2g} of {pipeline[-1].objective_:.2g}")
