"""Which entities of the second side speak for one of the first, and why."""

import numpy as np


def candidate_pairs(model, i):
    """Pairs of an entity that share a word or a matched neighbour, and these neighbours."""
    graph1, graph2 = model._graphs
    labels1, labels2 = model._text[:2]
    found, neighbors = set(), {}
    for e in range(graph1.indptr[i], graph1.indptr[i + 1]):
        relation, k = int(graph1.relations[e]), int(graph1.neighbors[e])
        other = int(model._mapped[k])
        if other < 0:
            continue
        row = slice(graph2.indptr[other], graph2.indptr[other + 1])
        for back, j in zip(graph2.relations[row], graph2.neighbors[row], strict=True):
            if back == relation ^ 1:  # the other end sees the relation from its side
                found.add(int(j))
                names = model.kb1_.entities[k], model.kb2_.entities[other]
                link = (_name(model, i, k), *names)
                if link not in neighbors.setdefault(int(j), []):
                    neighbors[int(j)].append(link)
    words = labels1.words[labels1.indptr[i] : labels1.indptr[i + 1]]
    places = np.flatnonzero(np.isin(labels2.words, words))
    sharing = np.searchsorted(labels2.indptr, places, side="right") - 1
    most, counts = np.unique(sharing, return_counts=True)
    found.update(most[np.argsort(-counts, kind="stable")][:1000].tolist())
    if model._mapped[i] >= 0:
        found.add(int(model._mapped[i]))
    seconds = np.array(sorted(found), dtype=np.int64)
    return np.column_stack([np.full(len(seconds), i), seconds]).astype(np.int64), neighbors


def _name(model, i, k):
    """Name of a relation that links two entities of the first side."""
    facts = model.kb1_.relations
    ends = ((facts[:, 0] == i) & (facts[:, 2] == k)) | ((facts[:, 0] == k) & (facts[:, 2] == i))
    return model.kb1_.relation_names[int(facts[np.argmax(ends), 1])]
