"""Greedy one-to-one alignment of two knowledge bases (SiGMa)."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY
from functools import partial

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.labels import as_mapping, mapping_counts, precision_recall_f1
from .._core.packed import objects, starts_of
from .._core.parameters import check_parameters
from .._core.warnings import warn
from .._kernels import lazy
from . import _encoding as enc
from ._knowledge_base import check_knowledge_base

kernels = lazy("graphs.greedy_alignment")

MOST_LABELS = 100_000  # of both sides, for which trigrams are tried
SEEDS = "exact_string", "random_exact"

MATCH = [
    ("entity1", object), ("entity2", object), ("score", float), ("iteration", int),
    ("static", float), ("string", float), ("prop", float), ("graph", float),
]  # fmt: skip


def _check_threshold(value, name):
    if not (isinstance(value, float) and value == np.inf):
        check.not_negative(value, name)


def _check_similarity(value, name):
    if isinstance(value, Mapping):
        for key, kind in value.items():
            check.choice(kind, f"{name}[{key!r}]", enc.SIMILARITIES)
    else:
        check.choice(value, name, ("auto",))


class KnowledgeBaseAligner(Estimator):
    """Greedy one-to-one entity alignment of two knowledge bases (SiGMa).

    Maximizes ``obj(y) = sum_ij y_ij [(1 - alpha) s_ij + alpha g_ij(y)]`` over one-to-one partial
    mappings y greedily: s is the similarity of labels and properties, g the weighted number of
    neighbors that are matched to one another. Each match is the best pair at that time, until no
    score, its increase of the objective, is above the threshold; a match is never undone.

    Parameters
    ----------
    alpha : float, default=1/3
        Weight of the graph, between 0 and 1; it counts as 0 where no relation links entities on
        both sides, as in tables.
    beta : float, default=0.25
        Weight of properties beside labels, between 0 and 1.
    threshold : float, default=0.25
        Pairs with a score that is not above it are not matched; infinity leaves the seed alone.
    string_weights, property_weights : {"idf", "uniform"}, default="idf"
        Weights of the words of labels, and of values.
    string_smoothing : float or "auto", default="auto"
        Added to the sum of the weights of both labels; "auto" is the sum of the decimal logarithms
        of the numbers of entities.
    property_smoothing : float, default=2.0
        Added to the sum of the weights of the values of both entities.
    graph_weights : {"uniform", "inverse_degree"}, default="uniform"
        Weights of neighbors; "inverse_degree" divides by the number of entities with the neighbor.
    graph_smoothing : float, default=1.0
        Added to the sum of the weights of neighbors.
    seed : {"exact_string", "random_exact"}, dict, list of pairs or None, default="exact_string"
        Initial matches: equal labels (in any case), and labels of equal words, that are unique on
        both sides; one of them drawn at random; or given ones.
    seed_fraction : float, default=1.0
        Fraction of the seed that is kept, with the best static scores.
    suggestions : {"inverted_index", None}, default="inverted_index"
        Whether pairs with similar labels are tried without a matched neighbor.
    min_shared_words : int, default=2
        Words that suggested pairs share, or all words of the shorter label.
    suggestion_threshold : float or "auto", default="auto"
        Least weighted fraction of common words, without smoothing, of suggested pairs; "auto" is
        0.5, and 0.3 for trigrams.
    n_stop_words : int, default=0
        The most frequent words of each side that the index leaves out, beside those that
        ``max_block`` leaves out.
    max_block : int, default=1000
        The index leaves out words of more entities, too.
    relation_map, property_map : dict, list of pairs or None, default=None
        Relations, or properties, of both sides that mean the same; None takes equal names (after
        the last # or /).
    property_similarity : "auto" or dict of property to str, default="auto"
        How values are compared: "exact", "numeric" (equal numbers), "year" (equal years) or
        "jaccard" (weighted fraction of common words); "auto", and properties not named, depend on
        their values.
    max_neighbor_pairs : int, default=1000000
        A match with more pairs of neighbors in one relation leaves these out, with a warning.
    tokenizer : {"auto", "words", "trigrams"} or callable, default="auto"
        Tokens of labels: "words" in lower case without punctuation and accents, or the "trigrams"
        of characters of these words with the spaces around them, for names with typing errors.
        "auto" decides by a sample of labels, and takes words above 100,000 entities. A callable
        takes a text and returns a list of words, for labels and for values.
    max_matches : int or None, default=None
        Most matches, with those of the seed.
    random_state : int, RandomState instance or None, default=None
        Draws the seed "random_exact".

    Attributes
    ----------
    mapping_, inverse_mapping_ : dict
        Entity of the second side for each matched one of the first, and the inverse.
    matches_ : structured ndarray of shape (n_matches,)
        Matches in their order: "entity1", "entity2", "score", "iteration" (0 for the seed), and
        the terms "static", "string", "prop" and "graph" at that time.
    n_matches_, n_seed_ : int
        Number of matches, and of those in the seed.
    objective_ : float
        Value of the objective: the sum of all scores.
    n_candidates_, n_skipped_blocks_ : int
        Pairs that were scored, and blocks of neighbors that were left out.
    stop_reason_ : str
        "threshold", "exhausted" or "max_matches".
    kb1_, kb2_ : KnowledgeBase
        Both sides.
    alpha_ : float
        Weight of the graph that was used.
    tokenizer_ : str or callable
        Tokens of labels that were used.

    Warns
    -----
    UserWarning
        When blocks of neighbors are larger than ``max_neighbor_pairs``, and when both sides have
        relations, or properties, but none in common.

    Notes
    -----
    Cost is the sum over matches of the pairs of their neighbors in each relation, times the
    logarithm of the heap; memory some 60 bytes per scored pair.

    The threshold of suggestions is lower than the paper's (0.75), at which catalogs with typing
    errors and no links lose a quarter of their matches. Trigrams are taken where the fraction of
    labels that are the nearest of their nearest label is higher by more than 0.01 than with words.

    More than 13 parameters: the weights of three terms and the limits of two searches.

    References
    ----------
    .. [1] S. Lacoste-Julien, K. Palla, A. Davies, G. Kasneci, T. Graepel, Z. Ghahramani, "SiGMa:
       simple greedy matching for aligning large knowledge bases", KDD 2013: table 2, eqs. (2)-(12).

    Examples
    --------
    >>> from sklearn_fw.alignment import KnowledgeBase, KnowledgeBaseAligner
    >>> one = KnowledgeBase([("m", "actor", "p")], labels={"m": "Blue Night", "p": "Ann Lee"})
    >>> two = KnowledgeBase([("f", "actor", "q")], labels={"f": "Blue Night", "q": "A. Lee"})
    >>> KnowledgeBaseAligner(threshold=0.1).fit(one, two).mapping_
    {'m': 'f', 'p': 'q'}
    """

    alpha: check.fraction = 1 / 3
    beta: check.fraction = 0.25
    threshold: _check_threshold = 0.25
    _: KW_ONLY
    string_weights: check.options("idf", "uniform") = "idf"
    string_smoothing: check.auto_or(check.not_negative) = "auto"
    property_weights: check.options("idf", "uniform") = "idf"
    property_smoothing: check.not_negative = 2.0
    graph_weights: check.options("uniform", "inverse_degree") = "uniform"
    graph_smoothing: check.not_negative = 1.0
    seed: check.auto_or(check.optional(enc.as_pairs), "pairs", SEEDS) = "exact_string"
    seed_fraction: check.fraction = 1.0
    suggestions: check.optional(check.options("inverted_index")) = "inverted_index"
    min_shared_words: check.at_least(1) = 2
    suggestion_threshold: check.auto_or(check.fraction) = "auto"
    n_stop_words: check.at_least(0) = 0
    max_block: check.at_least(1) = 1000
    relation_map: check.optional(enc.as_pairs) = None
    property_map: check.optional(enc.as_pairs) = None
    property_similarity: _check_similarity = "auto"
    max_neighbor_pairs: check.at_least(1) = 1_000_000
    tokenizer: check.options("auto", "words", "trigrams", kind=Callable) = "auto"
    max_matches: check.optional(check.at_least(0)) = None
    random_state: object = None

    def fit(self, kb1, kb2):
        """Align two knowledge bases.

        Parameters
        ----------
        kb1, kb2 : KnowledgeBase, DataFrame or networkx graph
            Both sides. Rows of a DataFrame are entities, named by its index.
        """
        return self._fit(check_knowledge_base(kb1, "kb1"), check_knowledge_base(kb2, "kb2"), None)

    def partial_fit(self, kb1, kb2):
        """Add facts to both sides and go on from the matches there are, which stay.

        Parameters
        ----------
        kb1, kb2 : KnowledgeBase, DataFrame or networkx graph
            More facts of both sides.
        """
        kb1, kb2 = check_knowledge_base(kb1, "kb1"), check_knowledge_base(kb2, "kb2")
        if not hasattr(self, "mapping_"):
            return self._fit(kb1, kb2, None)
        return self._fit(self.kb1_.merge(kb1), self.kb2_.merge(kb2), self.mapping_)

    def fit_predict(self, kb1, kb2):
        """Return the ``mapping_`` after `fit`.

        Parameters
        ----------
        kb1, kb2 : KnowledgeBase, DataFrame or networkx graph
            Both sides.
        """
        return self.fit(kb1, kb2).mapping_

    def _fit(self, kb1, kb2, kept):
        for kb, name in ((kb1, "kb1"), (kb2, "kb2")):
            if len(kb) == 0:
                raise ValueError(f"{name} has no entities: give it facts or entities")
        own = self.tokenizer
        tokenizer = partial(_words_of, own) if callable(own) else enc.simple_words
        sides, smoothing = (kb1, kb2), self.string_smoothing
        if check.is_auto(smoothing):
            smoothing = np.log10(len(kb1)) + np.log10(len(kb2))
        texts = [[tokenizer(text) if text else () for text in kb.labels] for kb in sides]
        labels, counts, least = self._encoded_labels(texts)
        similarity = {} if check.is_auto(self.property_similarity) else self.property_similarity
        ties = enc.tie_names(*(kb.property_names for kb in sides), self.property_map, "property")
        values, words = enc.encode_values(sides, ties, tokenizer, self.property_weights, similarity)
        ties = enc.tie_names(*(kb.relation_names for kb in sides), self.relation_map, "relation")
        weights = self.graph_weights, self.graph_smoothing
        self._graphs = tuple(enc.encode_graph(kb, tie, *weights) for kb, tie in zip(sides, ties))
        linked = all(len(graph.neighbors) for graph in self._graphs)
        self.alpha_ = float(self.alpha) if linked else 0.0
        self._text = (*labels, *values, *words)
        self._smoothing = (float(smoothing), float(self.property_smoothing))
        self.kb1_, self.kb2_ = kb1, kb2
        seeds = self._seed_pairs(sides, texts, kept)
        del texts  # of a million entities, a quarter of all memory
        suggested = np.empty((0, 2), dtype=np.int64)
        if self.suggestions is not None and self.threshold < np.inf:
            suggested = enc.pairs_of_labels(labels, counts, self, least)[0]
            if self.beta > 0.0:
                suggested = np.concatenate([suggested, enc.pairs_of_rare_values(values, words)])
        limit = min(len(kb1), len(kb2)) if self.max_matches is None else self.max_matches
        found = kernels.align(
            seeds[:limit], suggested, self._graphs, self._text, self._smoothing,
            (self.alpha_, float(self.beta), float(self.threshold)),
            (int(limit), int(self.max_neighbor_pairs)),
        )  # fmt: skip
        return self._store(found, min(len(seeds), limit), limit)

    def _encoded_labels(self, texts):
        """Tokens of labels, those that find more mutual nearest neighbors with "auto"."""
        kinds = [self.tokenizer]
        if check.is_auto(self.tokenizer):
            kinds = ["words", "trigrams"][: 1 + (sum(map(len, texts)) <= MOST_LABELS)]
        best = -np.inf
        for kind in kinds:
            least = self.suggestion_threshold
            if check.is_auto(least):
                least = 0.3 if kind == "trigrams" else 0.5
            found = *enc.encode_labels(texts, self.string_weights, kind == "trigrams"), least
            fraction = enc.mutual_fraction(*found[:2], self, least) if len(kinds) > 1 else 0.0
            if fraction > best + 0.01:
                best, chosen, self.tokenizer_ = fraction, found, kind
        return chosen

    def _seed_pairs(self, sides, texts, kept):
        if kept is not None or not isinstance(self.seed, str | None):
            pairs = enc.as_pairs(self.seed if kept is None else kept, "seed")
            codes = [self._codes([p[side] for p in pairs], side, "seed") for side in (0, 1)]
            if any(len(set(found)) < len(found) for found in codes):
                raise ValueError("seed must be one to one: it has an entity twice")
            pairs = list(zip(*codes))
        elif self.seed is None:
            pairs = []
        else:
            words = [list(map(" ".join, lists)) for lists in texts]
            labels = [[label.strip().casefold() for label in kb.labels] for kb in sides]
            # Words may lack what tells labels apart, as in C and C++.
            exact = [list(zip(*both)) for both in zip(labels, words)]
            pairs = sorted({*_equal_pairs(*exact), *_equal_pairs(*words)})
            if self.seed == "random_exact" and pairs:
                rng = check.random_state(self.random_state)
                pairs = [pairs[rng.randint(len(pairs))]]
        pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        if kept is None and self.seed_fraction < 1.0:
            terms = kernels.pair_terms(pairs, self._text, self._smoothing)
            order = np.argsort(-(terms @ [1.0 - self.beta, self.beta]), kind="stable")
            pairs = pairs[order[: int(np.ceil(self.seed_fraction * len(pairs)))]]
        return pairs

    def _store(self, found, n_seed, limit):
        pairs, scores, (n_candidates, n_skipped) = found
        names1, names2 = self.kb1_.entities, self.kb2_.entities
        terms = kernels.pair_terms(pairs, self._text, self._smoothing)
        self.matches_ = matches = np.empty(len(pairs), dtype=MATCH)
        matches["entity1"] = objects([names1[code] for code in pairs[:, 0].tolist()])
        matches["entity2"] = objects([names2[code] for code in pairs[:, 1].tolist()])
        matches["score"], matches["graph"] = scores.T
        matches["string"], matches["prop"] = terms.T
        matches["static"] = terms @ [1.0 - self.beta, self.beta]
        matches["iteration"] = np.maximum(np.arange(len(pairs)) - n_seed + 1, 0)
        self.mapping_ = dict(zip(matches["entity1"], matches["entity2"], strict=True))
        self.inverse_mapping_ = {b: a for a, b in self.mapping_.items()}
        self._mapped = np.full(len(names1), -1, dtype=np.int64)
        self._mapped[pairs[:, 0]] = pairs[:, 1]
        self.n_matches_, self.n_seed_ = len(pairs), n_seed
        self.objective_ = float(scores[:, 0].sum())
        self.n_candidates_, self.n_skipped_blocks_ = int(n_candidates), int(n_skipped)
        full = len(pairs) == min(len(names1), len(names2))
        self.stop_reason_ = "exhausted" if full else (
            "max_matches" if len(pairs) >= limit else "threshold")  # fmt: skip
        if n_skipped:
            warn(f"{n_skipped} blocks of neighbors were left out: raise max_neighbor_pairs")
        return self

    def predict(self, entities1):
        """Return the matches of entities of the first side.

        Parameters
        ----------
        entities1 : list of entities
            Names on the first side.

        Returns
        -------
        list
            Names on the second side, None for what is not matched.
        """
        check_is_fitted(self)
        names = self.kb1_.entities
        return [self.mapping_.get(names[c]) for c in self._codes(entities1, 0, "entities1")]

    def _codes(self, entities, side, name):
        kb, codes = (self.kb1_, self.kb2_)[side], []
        for e in check.items(entities, name, "entities"):
            try:
                codes.append(kb._codes[e])
            except (KeyError, TypeError):
                raise ValueError(f"{name}: {e!r:.60} is not an entity of side {side + 1}") from None
        return codes

    def score_samples(self, pairs):
        """Compute scores of pairs given the final mapping.

        Parameters
        ----------
        pairs : list of (entity1, entity2)
            Pairs to score.

        Returns
        -------
        ndarray of shape (n_pairs,)
            ``(1 - alpha) static + alpha graph``, all matches but that of the pair itself counted.
        """
        check_is_fitted(self)
        pairs = enc.as_pairs(pairs, "pairs")
        codes = [self._codes([p[side] for p in pairs], side, "pairs") for side in (0, 1)]
        return self._terms(np.array(codes, dtype=np.int64).T.reshape(-1, 2))[:, 0]

    def _terms(self, pairs):
        """Score, string, property and graph term of pairs of numbers."""
        check_parameters(self)  # they may be others than at the fit
        terms = kernels.pair_terms(pairs, self._text, self._smoothing)
        graph = kernels.graph_terms(pairs, self._mapped, *self._graphs)
        static = terms @ [1.0 - self.beta, self.beta]
        return np.column_stack([(1.0 - self.alpha_) * static + self.alpha_ * graph, terms, graph])

    def candidates(self, entity1, n=10):
        """Explain a match: the best pairs of an entity, with the terms of their scores.

        Parameters
        ----------
        entity1 : entity
            Name on the first side.
        n : int, default=10
            Most pairs to return.

        Returns
        -------
        list of Bunch
            Best first: ``entity2``, ``score``, ``string``, ``prop``, ``graph``, ``matched``
            (whether it is the match), ``taken_by`` (the entity it is matched to, or None) and
            ``neighbors`` (list of matched neighbors (relation, entity1, entity2)).
        """
        check_is_fitted(self)
        check.integer(n, "n", 1)
        code = self._codes([entity1], 0, "entity1")[0]
        pairs, neighbors = self._candidate_pairs(code)
        terms = self._terms(pairs)
        made = []
        for t in np.argsort(-terms[:, 0], kind="stable")[:n].tolist():
            entity2 = self.kb2_.entities[pairs[t, 1]]
            made.append(Bunch(
                entity2=entity2,
                **dict(zip(("score", "string", "prop", "graph"), terms[t].tolist())),
                matched=self.mapping_.get(entity1) == entity2,
                taken_by=self.inverse_mapping_.get(entity2),
                neighbors=neighbors.get(int(pairs[t, 1]), []),
            ))  # fmt: skip
        return made

    def _candidate_pairs(self, i):
        """Pairs of an entity that share a word or a matched neighbor, and these neighbors."""
        graph1, graph2 = self._graphs
        labels1, labels2 = self._text[:2]
        found, neighbors = set(), {}
        for e in range(graph1.indptr[i], graph1.indptr[i + 1]):
            relation, k = int(graph1.relations[e]), int(graph1.neighbors[e])
            other = int(self._mapped[k])
            if other < 0:
                continue
            name = self._link_name(i, relation, k)
            link = name, self.kb1_.entities[k], self.kb2_.entities[other]
            row = slice(graph2.indptr[other], graph2.indptr[other + 1])
            for back, j in zip(graph2.relations[row], graph2.neighbors[row], strict=True):
                if back == relation ^ 1:  # the other end sees the relation from its side
                    found.add(int(j))
                    if link not in neighbors.setdefault(int(j), []):
                        neighbors[int(j)].append(link)
        words = labels1.words[labels1.indptr[i] : labels1.indptr[i + 1]]
        places = np.flatnonzero(np.isin(labels2.words, words))
        sharing = np.searchsorted(labels2.indptr, places, side="right") - 1
        most, counts = np.unique(sharing, return_counts=True)
        found.update(most[np.argsort(-counts, kind="stable")][:1000].tolist())
        if self._mapped[i] >= 0:
            found.add(int(self._mapped[i]))
        seconds = np.array(sorted(found), dtype=np.int64)
        return np.column_stack([np.full(len(seconds), i), seconds]).astype(np.int64), neighbors

    def _link_name(self, i, relation, k):
        """Name of the relation of the first fact that links i to k over one class of relations."""
        facts, names = self.kb1_.relations, self.kb1_.relation_names
        ties, _ = enc.tie_names(names, self.kb2_.relation_names, self.relation_map, "relation")
        first, second = (k, i) if relation % 2 else (i, k)
        linking = facts[(facts[:, 0] == first) & (facts[:, 2] == second), 1]
        return names[linking[np.argmax(ties[linking] == relation // 2)]]

    def _check_truth(self, truth):
        """Truth as a dict, of which at least one pair is of entities that both sides have."""
        kb1, kb2, truth = self.kb1_, self.kb2_, as_mapping(truth, "truth")
        if truth and not any(a in kb1._codes and b in kb2._codes for a, b in truth.items()):
            pair = next(iter(truth.items()))
            raise ValueError(f"truth holds no pair of entities of both sides: it has {pair!r:.60}")
        return truth

    def evaluate(self, truth):
        """Return precision, recall and F1 of the mapping.

        Parameters
        ----------
        truth : dict or list of pairs
            True matches.

        Returns
        -------
        Bunch
            ``precision``, ``recall`` and ``f1``, which do not count matched entities without a true
            match; ``strict_precision`` and ``strict_f1`` count these as errors.
        """
        check_is_fitted(self)
        truth = self._check_truth(truth)
        n_right, n_judged, n_true = mapping_counts(truth, self.mapping_)
        precision, recall, f1 = precision_recall_f1(n_right, n_judged, n_true)
        strict, _, strict_f1 = precision_recall_f1(n_right, self.n_matches_, n_true)
        return Bunch(
            precision=precision, recall=recall, f1=f1, strict_precision=strict, strict_f1=strict_f1
        )

    def score(self, truth):
        """Return the F1 score of the mapping, ``evaluate(truth).f1``.

        Parameters
        ----------
        truth : dict or list of pairs
            True matches.
        """
        return self.evaluate(truth).f1

    def curve(self, truth):
        """Precision and recall after each match: what a higher threshold would have given.

        Parameters
        ----------
        truth : dict or list of pairs
            True matches.

        Returns
        -------
        Bunch
            Arrays of shape (n_matches + 1 - n_seed,): ``precision``, ``recall``, ``f1`` and
            ``threshold``, the largest threshold that reaches so far, infinity for the seed alone.
        """
        check_is_fitted(self)
        truth = self._check_truth(truth)
        judged = [a in truth for a in self.mapping_]
        right = [a in truth and truth[a] == b for a, b in self.mapping_.items()]
        counts = [starts_of(x)[self.n_seed_ :].tolist() for x in (right, judged)]
        rows = [precision_recall_f1(r, k, len(truth)) for r, k in zip(*counts, strict=True)]
        lowest = np.minimum.accumulate(self.matches_["score"][self.n_seed_ :])
        precision, recall, f1 = np.array(rows).T
        threshold = np.concatenate([[np.inf], lowest])
        return Bunch(precision=precision, recall=recall, f1=f1, threshold=threshold)


def _words_of(tokenizer, text):
    words = tokenizer(text)
    is_list = isinstance(words, Collection) and not isinstance(words, str)
    if not is_list or not all(isinstance(word, str) for word in words):
        raise TypeError(f"tokenizer must return a list of words (str), got {words!r:.60}")
    return words


def _equal_pairs(*sides):
    """Entities of both sides with equal keys, which are not empty and of no other entity."""
    alone = [{key for key, n in Counter(side).items() if n == 1 and any(key)} for side in sides]
    first, second = ({key: i for i, key in enumerate(side)} for side in sides)
    return [(first[key], second[key]) for key in alone[0] & alone[1]]
