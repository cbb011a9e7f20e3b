"""
======================================
Entity alignment of two film databases
======================================

Two film databases overlap in part, and their names contain spelling errors. Exact names align fewer
than half of the common entities. Links, such as the cast of a film, align most of the others.
"""

# %%
# Data
# ----
# Films have a title and a year, people have two names, and relations give actors and directors.
# Each side contains 85 % of the links, and about one name in six has an error.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw.alignment import (
    AlignmentCurveDisplay,
    KnowledgeBase,
    KnowledgeBaseAligner,
    MatchEvidenceDisplay,
)
from sklearn_fw.datasets import make_kb_pair

data = make_kb_pair(2000, random_state=0)
sides = [
    KnowledgeBase(data[f"relations{s}"], data[f"properties{s}"], data[f"labels{s}"]) for s in "12"
]

# %%
# Contribution of each kind of evidence
# -------------------------------------
# Exact names give the first matches. Similar names and years add some, links add the most.

ways = {
    "exact names": {"threshold": np.inf},
    "names, years": {"alpha": 0.0, "seed": None},
    "names, years, links": {},
}
found = {name: KnowledgeBaseAligner(**way).fit(*sides) for name, way in ways.items()}
fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for k, measure in enumerate(("precision", "recall", "f1")):
    values = [aligner.evaluate(data.truth)[measure] for aligner in found.values()]
    places = np.arange(len(ways)) + 0.25 * (k - 1)
    ax.bar_label(ax.bar(places, values, width=0.25, label=measure), fmt="%.2f", fontsize=8)
ax.set_xticks(np.arange(len(ways)), list(ways))
ax.set_ylim(0, 1.12)
ax.legend(ncols=3, fontsize=8, loc="upper center")
_ = ax.set_title("Precision, recall and F1 by evidence")

# %%
# Precision and recall by threshold
# ---------------------------------
# The aligner makes the best matches first. So one fit with a low threshold gives the scores at
# every higher threshold.

low = KnowledgeBaseAligner(threshold=0.08).fit(*sides)
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for ax, against in zip(axes, ("matches", "threshold"), strict=True):
    AlignmentCurveDisplay.from_estimator(low, data.truth, against=against, ax=ax)
axes[1].axvline(0.25, color="0.3", linestyle="--")
_ = axes[1].set_title("dashed: default threshold", fontsize=10)

# %%
# Evidence of one match
# ---------------------
# The title of this film shares no word with that of its match: links are the only evidence.

aligner = found["names, years, links"]
matches = aligner.matches_[aligner.n_seed_ :]
right = [data.truth.get(a) == b for a, b in zip(matches["entity1"], matches["entity2"])]
nameless = matches[np.array(right) & (matches["string"] == 0.0)]
entity = nameless["entity1"][np.argmax(nameless["graph"])]
fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
MatchEvidenceDisplay.from_estimator(aligner, entity, n=4, ax=ax)
labels = [dict(zip(kb.entities, kb.labels, strict=True)) for kb in sides]
for relation, a, b in aligner.candidates(entity)[0].neighbors:
    print(f"{relation}: {labels[0][a]} = {labels[1][b]}")
