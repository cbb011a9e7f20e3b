"""
=============================
Topics without a random start
=============================

Latent Dirichlet allocation is commonly fitted by variational inference from a random start.
``DiscreteICA`` takes the topics from the second and third moments of the counts: there is no start,
and more documents bring the topics as near to the true ones as wanted. That is the faster way, and
variational inference that starts from there ends as near as from a good random start. Here the true
topics are known, since the corpus is generated.
"""

# %%
# How near topics come to the truth
# ---------------------------------
# Corpora of the same model, larger and larger.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from sklearn_fw.datasets import make_topic_corpus
from sklearn_fw.decomposition import DiscreteICA
from sklearn_fw.displays import ScreeDisplay, TopicDisplay
from sklearn_fw.metrics import topic_l1_error

SIZES = [250, 500, 1000, 2000]
corpus = make_topic_corpus(max(SIZES), 200, 6, random_state=0)
models = {
    "moments": DiscreteICA(6),
    "moments, then variational": DiscreteICA(6, refine="vi"),
    "variational, random start": LatentDirichletAllocation(6, random_state=0),
}
errors = {name: [] for name in models}
for size in SIZES:
    for name, model in models.items():
        found = model.fit(corpus.X[:size]).components_
        errors[name].append(topic_l1_error(corpus.topics, found))

fig, ax = plt.subplots(layout="constrained")
for name, values in errors.items():
    ax.semilogx(SIZES, values, "o-", label=name)
ax.set(xlabel="documents", ylabel="l1 error of topics", ylim=0)
ax.set_xticks(SIZES, SIZES)
ax.minorticks_off()
ax.legend()

# %%
# The topics
# ----------
# Words with the largest shares of each topic. On text, ``names`` are the words of the vectorizer.

words = np.array([f"word {m}" for m in range(200)])
TopicDisplay.from_estimator(models["moments"], names=words)

# %%
# How many topics
# ---------------
# The eigenvalues of the second moment fall to those of noise after the sixth, where there are six
# topics; ``n_components="auto"`` keeps those that are larger than any of shuffled words.

ScreeDisplay.from_estimator(DiscreteICA("auto", moments="gp", random_state=0).fit(corpus.X))
plt.show()
