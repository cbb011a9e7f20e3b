"""Prior and smoothing of topics by the likelihood of documents that are set aside."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import digamma

from ._posterior import bounds, infer

FIRST_SHARE = 0.01
SHARES = (FIRST_SHARE, 0.1, 0.3, 0.6, 0.9, 0.99, 0.999)
STEP = 5  # one document of this many is set aside
MOST_DOCUMENTS, MOST_ENTRIES = 1000, 10_000
FEWEST = 30  # documents set aside that can speak against a refinement
FEW_TOPICS, ALL_TOPICS = 0.1, 1e4  # concentrations from which the search starts
LEAST, MOST = 1e-3, 1e5
MAX_EVALUATIONS, INFERENCE = 25, {"tol": 1e-3, "max_iter": 30}
# Share of the optimism of documents seen that is left when their moments are taken out alone:
# -0.3 to 0.21 on eleven corpora with up to 50 topics.
OPTIMISM = 0.25


def smoothed(topics, unigram, share):
    return np.ascontiguousarray((1.0 - share) * topics + share * unigram[:, None])


class HeldOut:
    """Every fifth document, and topics that the moments of the others give.

    The third moments are not diagonalized again: ``S W' U`` with S of the other documents gives the
    topics. Words of no other document thus have no influence: the likelihood is that of new ones.

    ``plain`` are unweighted moments of the corpus, ``moments`` those that the topics came from,
    ``directions`` (n_features, K) is ``W' U``, and ``all_topics`` are from all documents.
    """

    def __init__(self, plain, moments, directions, all_topics):
        self.all_topics = all_topics
        self.rest = _without_fifth(plain.rows)
        rest = moments.of(_without_fifth(moments.rows))
        raw = np.maximum(rest.apply(directions), 0.0) if rest.n > 2.0 else 0.0 * directions
        sums = raw.sum(axis=0)
        self.unigram = plain.of(self.rest).unigram()
        self.topics = np.where(sums > 0.0, raw / np.where(sums > 0.0, sums, 1.0),
                               self.unigram[:, None])  # fmt: skip
        self.X, self.weight = _fifth(plain.rows)
        self.n_tokens = float(self.weight @ self.X.sum(axis=1))
        self.unigram_value = float(self.weight @ (self.X @ np.log(self.unigram)))

    def smoothed(self, share):
        return smoothed(self.topics, self.unigram, share)

    def value(self, topics, prior):
        gamma = infer(self.X, topics, prior, **INFERENCE)
        return float(self.weight @ bounds(self.X, topics, prior, gamma))

    def choose(self, shares):
        """Return (share, prior) of the largest likelihood, smallest shares first.

        Where that stays below the frequencies of words, topics add noise alone: then the largest
        share, and concentrations under which documents hardly differ.
        """
        best, prior = (-np.inf, None, None), FEW_TOPICS
        for share in shares:
            value, prior = self.fit(share, prior)
            seen = smoothed(self.all_topics, self.unigram, share)
            value -= OPTIMISM * max(0.0, self.value(seen, prior) - value)
            if value <= best[0]:
                break
            best = value, share, prior
        self.is_informative = best[0] >= self.unigram_value
        if not self.is_informative:
            return shares[-1], self.fit(shares[-1], ALL_TOPICS)[1]
        return best[1:]

    def fit(self, share, prior=FEW_TOPICS):
        """Return (value, prior): the concentrations of largest bound, from those of a start.

        A normal prior of their logarithms around their mean keeps those of topics that no document
        set aside has near the others.
        """
        X, weight, topics, gamma = self.X, self.weight, self.smoothed(share), None
        last = prior = np.broadcast_to(prior, topics.shape[1])
        n = max(weight.sum(), 1.0)

        def objective(logs):
            nonlocal gamma, last
            prior = np.exp(logs)
            gamma = None if gamma is None else gamma - last + prior
            gamma = infer(X, topics, prior, gamma=gamma, **INFERENCE)
            last = prior
            value = weight @ bounds(X, topics, prior, gamma)
            expected = weight @ (digamma(gamma) - digamma(gamma.sum(axis=1))[:, None])
            slope = prior * (weight.sum() * (digamma(prior.sum()) - digamma(prior)) + expected)
            away = logs - logs.mean()
            return (0.5 * away @ away - value) / n, (away - slope) / n

        found = minimize(
            objective, np.log(prior), jac=True, method="L-BFGS-B",
            bounds=[(np.log(LEAST), np.log(MOST))] * len(prior),
            options={"maxfun": MAX_EVALUATIONS, "ftol": 1e-5},
        )  # fmt: skip
        away = found.x - found.x.mean()
        return 0.5 * away @ away - n * found.fun, np.exp(found.x)


def _without_fifth(rows):
    return rows.weighted(lambda lengths: (np.arange(len(lengths)) % STEP > 0).astype(float))


def _fifth(rows):
    """Return (documents, weights) of those set aside, few where they are long."""
    parts, n_rows, n_entries = [], 0, 0
    for X, weight in rows:
        X, weight = X[::STEP], weight[::STEP]
        last = int(np.searchsorted(X.indptr, MOST_ENTRIES - n_entries))
        last = max(1, min(last, MOST_DOCUMENTS - n_rows))
        parts.append((X[:last], weight[:last]))
        n_rows, n_entries = n_rows + last, n_entries + X[:last].nnz
        if n_rows >= MOST_DOCUMENTS or n_entries >= MOST_ENTRIES:
            break
    return sp.csr_array(sp.vstack([X for X, _ in parts])), np.concatenate([w for _, w in parts])
