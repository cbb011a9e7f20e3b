"""The greedy aligner against one that rescans all pairs, and what must hold of every run."""

import numpy as np
import pytest

from sklearn_fw.alignment import KnowledgeBase, KnowledgeBaseAligner
from sklearn_fw.datasets import make_kb_pair

WORDS = [
    "ash", "birch", "cedar", "date", "elm", "fir", "gum", "hazel", "ivy", "juniper", "kapok",
    "larch",
]  # fmt: skip


def random_pair(seed, n=7):
    """Two small knowledge bases whose words, values and links nearly all differ in rarity."""
    rng = np.random.default_rng(seed)
    sides = []
    for side in "ab":
        names = [f"{side}{i}" for i in range(n)]
        labels = {e: " ".join(rng.choice(WORDS, size=rng.integers(1, 4))) for e in names}
        ends = rng.integers(n, size=(3 * n, 2))
        links = [(names[i], f"r{rng.integers(3)}", names[k]) for i, k in ends]
        values = [
            (e, p, " ".join(rng.choice(WORDS, size=2))) for e in names for p in ("job", "town")
        ]
        sides.append(KnowledgeBase(links, values, labels, names))
    return sides


def bags(kb):
    words = [set(label.split()) for label in kb.labels]
    count = {w: sum(w in bag for bag in words) for bag in words for w in bag}
    return words, {w: np.log10(len(kb) / c) for w, c in count.items()}


def string_term(kb1, kb2, i, j, smoothing):
    (words1, w1), (words2, w2) = bags(kb1), bags(kb2)
    top = sum(w1[v] + w2[v] for v in words1[i] & words2[j])
    bottom = smoothing + sum(w1[v] for v in words1[i]) + sum(w2[v] for v in words2[j])
    return top / bottom


def property_term(kb1, kb2, i, j):
    facts, top, bottom = [], 0.0, 2.0
    for kb, e in ((kb1, i), (kb2, j)):
        rows = list(zip(kb.properties.tolist(), kb.values, strict=True))
        found = []
        for (entity, p), value in rows:
            if entity != e:
                continue
            known = [(o, frozenset(v.split())) for (o, q), v in rows if q == p]
            n_holders = len({o for o, _ in known})
            bag = frozenset(value.split())
            holders = len({o for o, other in known if other == bag})
            idf = {w: np.log10(n_holders / len({o for o, b in known if w in b})) for w in bag}
            found.append((kb.property_names[p], bag, np.log10(n_holders / holders), idf))
            bottom += found[-1][2]
        facts.append(found)
    for p, bag, w, idf in facts[0]:
        for q, other, x, idf2 in facts[1]:
            total = sum(idf.values()) + sum(idf2.values())
            if p == q and total > 0.0:
                top += (w + x) * sum(idf[v] + idf2[v] for v in bag & other) / total
    return min(top / bottom, 1.0)


def links_of(kb):
    named = {(i, kb.relation_names[r], k) for i, r, k in kb.relations.tolist()}
    return named | {(k, "-" + r, i) for i, r, k in named}


def graph_weights(kb, weighting):
    links = links_of(kb)
    weights = {}
    for i, r, k in links:
        size = len({a for a, s, b in links if s == r and b == k})
        w = 1.0 if weighting == "uniform" else 1.0 / size
        weights[i, k] = max(weights.get((i, k), 0.0), w)
    total = np.zeros(len(kb))
    for (i, _), w in weights.items():
        total[i] += w
    return weights, 0.5 / (1.0 + total)


class Reference:
    """All terms of all pairs, by their definitions."""

    def __init__(self, kb1, kb2, model):
        smoothing = np.log10(len(kb1)) + np.log10(len(kb2))
        everything = [(i, j) for i in range(len(kb1)) for j in range(len(kb2))]
        self.static = {
            (i, j): (1 - model.beta) * string_term(kb1, kb2, i, j, smoothing)
            + model.beta * property_term(kb1, kb2, i, j)
            for i, j in everything
        }
        (w1, g1), (w2, g2) = (graph_weights(kb, model.graph_weights) for kb in (kb1, kb2))
        links1, links2 = links_of(kb1), links_of(kb2)
        self.near = {pair: set() for pair in everything}
        for i, r, k in links1:
            for j, s, m in links2:
                if r == s:
                    self.near[i, j].add((k, m))
        self.w = {
            ((i, j), (k, m)): g1[i] * w1[i, k] + g2[j] * w2[j, m]
            for (i, j), near in self.near.items() for k, m in near
        }  # fmt: skip
        self.alpha = model.alpha

    def objective(self, y):
        graph = sum(self.w[p, q] for p in y for q in self.near[p] if q in y)
        return (1 - self.alpha) * sum(self.static[p] for p in y) + self.alpha * graph

    def greedy(self, threshold, reachable):
        """Rescan all reachable pairs after each match."""
        y, scores = [], []
        while True:
            best = None
            for p in self.static:
                touched = p in reachable or any(q in self.near[p] for q in y)
                if not touched or any(p[0] == q[0] or p[1] == q[1] for q in y):
                    continue
                score = self.objective([*y, p]) - self.objective(y)
                if best is None or score > best[0] + 1e-12:
                    best = score, p
            if best is None or best[0] <= threshold:
                return y, scores
            scores.append(best[0])
            y.append(best[1])


@pytest.mark.slow
@pytest.mark.parametrize("weighting", ["uniform", "inverse_degree"])
@pytest.mark.parametrize("seed", range(6))
def test_heap_equals_rescanning(seed, weighting):
    kb1, kb2 = random_pair(seed)
    model = KnowledgeBaseAligner(
        threshold=0.02, seed=None, min_shared_words=1, suggestion_threshold=0.0,
        graph_weights=weighting,
    ).fit(kb1, kb2)  # fmt: skip
    reference = Reference(kb1, kb2, model)
    sharing = {p for p, s in reference.static.items() if s > 0.0}
    expected, scores = reference.greedy(0.02, sharing)
    names = [(kb1.entities[i], kb2.entities[j]) for i, j in expected]
    assert [(m["entity1"], m["entity2"]) for m in model.matches_] == names
    np.testing.assert_allclose(model.matches_["score"], scores, rtol=0, atol=1e-12)
    assert model.objective_ == pytest.approx(reference.objective(expected), rel=0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_increments_of_the_objective(seed):
    kb1, kb2 = random_pair(seed)
    seed = {"a0": "b3", "a1": "b1"}
    model = KnowledgeBaseAligner(threshold=0.05, seed=seed, tokenizer="words").fit(kb1, kb2)
    reference, y = Reference(kb1, kb2, model), []
    assert model.n_seed_ == 2
    assert model.n_matches_ > 2
    for match in model.matches_:
        pair = kb1.entities.index(match["entity1"]), kb2.entities.index(match["entity2"])
        gain = reference.objective([*y, pair]) - reference.objective(y)
        assert match["score"] == pytest.approx(gain, rel=0, abs=1e-12)
        y.append(pair)
    # With the final mapping, the graph term counts the matches that came later, too.
    pairs = [(m["entity1"], m["entity2"]) for m in model.matches_]
    for score, p in zip(model.score_samples(pairs), y, strict=True):
        both = sum(reference.w[p, q] + reference.w[q, p] for q in reference.near[p] if q in y)
        expected = 2 / 3 * reference.static[p] + both / 3
        assert score == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.fixture(scope="module")
def films():
    data = make_kb_pair(400, random_state=3)
    sides = [
        KnowledgeBase(data[f"relations{s}"], data[f"properties{s}"], data[f"labels{s}"])
        for s in "12"
    ]
    return *sides, data.truth


def test_matches_are_one_to_one_and_a_threshold_gives_a_prefix(films):
    kb1, kb2, truth = films
    low = KnowledgeBaseAligner(threshold=0.1).fit(kb1, kb2)
    assert len(set(low.mapping_.values())) == low.n_matches_ == len(low.inverse_mapping_)
    assert np.all(low.matches_["score"][low.n_seed_ :] > 0.1)
    curve = low.curve(truth)
    for threshold in (0.2, 0.3, 0.5, np.inf):
        high = KnowledgeBaseAligner(threshold=threshold).fit(kb1, kb2)
        np.testing.assert_array_equal(
            high.matches_["entity2"], low.matches_["entity2"][: high.n_matches_]
        )
        at = high.n_matches_ - high.n_seed_
        assert high.evaluate(truth).f1 == curve.f1[at]
        assert at == len(low.matches_) - low.n_seed_ or curve.threshold[at + 1] <= threshold
    assert low.n_matches_ > high.n_matches_ == high.n_seed_


@pytest.mark.slow
def test_a_graph_alone_is_recovered_from_one_pair():
    path = [(i, "next", i + 1) for i in range(30)]
    one, two = KnowledgeBase(path), KnowledgeBase([(f"n{i}", r, f"n{k}") for i, r, k in path])
    model = KnowledgeBaseAligner(alpha=1.0, threshold=0.0, seed={4: "n4"}).fit(one, two)
    assert model.mapping_ == {i: f"n{i}" for i in range(31)}
    assert model.stop_reason_ == "exhausted"


@pytest.mark.parametrize(
    "changed",
    [
        {"alpha": 1.0}, {"beta": 0.0}, {"beta": 1.0}, {"seed": "random_exact", "random_state": 0},
        {"seed_fraction": 0.05, "suggestions": None}, {"string_weights": "uniform"},
        {"property_weights": "uniform"}, {"graph_weights": "inverse_degree"}, {"max_matches": 50},
    ],
    ids=str,
)  # fmt: skip
def test_variants_find_matches(films, changed):
    kb1, kb2, truth = films
    model = KnowledgeBaseAligner(**changed).fit(kb1, kb2)
    floor = 0.1 if "max_matches" in changed else 0.4
    assert model.evaluate(truth).precision > 0.75
    assert 2 * model.n_matches_ / len(truth) > floor
    assert model.n_matches_ == 50 or "max_matches" not in changed


@pytest.mark.slow
def test_candidates_explain_the_match(films):
    kb1, kb2, _ = films
    model = KnowledgeBaseAligner().fit(kb1, kb2)
    match = model.matches_[-1]
    found = model.candidates(match["entity1"], n=50)
    mine = next(c for c in found if c.matched)
    assert mine.entity2 == match["entity2"] == model.predict([match["entity1"]])[0]
    assert mine.score == model.score_samples([(match["entity1"], match["entity2"])])[0]
    assert mine.taken_by == match["entity1"]
    assert (mine.graph > 0.0) == bool(mine.neighbors)
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)


def test_neighbors_are_listed_by_each_relation_that_both_sides_have():
    labels = {"m": "Blue Night", "p": "Ann Lee"}
    facts = [("m", "actor", "p"), ("m", "director", "p"), ("p", "author", "m")]
    one = KnowledgeBase(facts, labels=labels)
    for kept in ([facts[1]], facts[1:], facts):
        model = KnowledgeBaseAligner().fit(one, KnowledgeBase(kept, labels=labels))
        links = model.candidates("m")[0].neighbors
        assert sorted(links) == sorted((name, "p", "p") for _, name, _ in kept)


def test_partial_fit_keeps_matches_and_finds_more():
    one = KnowledgeBase([("m", "actor", "p")], labels={"m": "Blue Night", "p": "Ann Lee"})
    two = KnowledgeBase([("f", "actor", "q")], labels={"f": "Blue Night", "q": "Ann Li"})
    model = KnowledgeBaseAligner().fit(one, two)
    before = dict(model.mapping_)
    more = KnowledgeBase([("n", "actor", "p")], labels={"n": "Red Day"})
    model.partial_fit(more, KnowledgeBase([("g", "actor", "q")], labels={"g": "Red Days"}))
    assert before.items() <= model.mapping_.items()
    assert model.mapping_["n"] == "g"
    assert model.n_seed_ == len(before)


def test_blocks_that_blow_up_are_counted():
    star = [("hub", "has", f"leaf{i}") for i in range(20)]
    kb = KnowledgeBase(star)
    model = KnowledgeBaseAligner(seed={"hub": "hub"}, max_neighbor_pairs=100, alpha=1.0)
    with pytest.warns(UserWarning, match="1 blocks of neighbors .* raise max_neighbor_pairs"):
        model.fit(kb, kb)
    assert model.n_skipped_blocks_ == 1
    assert model.mapping_ == {"hub": "hub"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"relation_map": {"actor": "plays"}}, "relation_map names 'plays', which the second"),
        ({"relation_map": {"stars": "actor"}}, "relation_map names 'stars', which the first"),
        ({"property_similarity": {"place": "exact"}}, "names 'place', which both sides lack"),
        ({"seed": {"nobody": "p"}}, "seed: 'nobody' is not an entity of side 1"),
        ({"seed": [("m", "m"), ("p", "m")]}, "one to one"),
        ({"relation_map": iter([("a", "b")])}, "relation_map must be a dict or a list of pairs"),
        ({"seed": np.array(1)}, "seed must be a dict or a list of pairs"),
    ],
)
def test_bad_settings(changed, message):
    kb = KnowledgeBase([("m", "actor", "p")])
    with pytest.raises(ValueError, match=message):
        KnowledgeBaseAligner(**changed).fit(kb, kb)


def test_scores_need_pairs():
    kb = KnowledgeBase([("m", "actor", "p")])
    with pytest.raises(ValueError, match="pairs must be a dict or a list of pairs, got None"):
        KnowledgeBaseAligner().fit(kb, kb).score_samples(None)


def test_a_table_is_judged_by_names_and_values_alone():
    one = KnowledgeBase([], [("a", "year", 1999)], {"a": "blue night", "b": "red day"})
    two = KnowledgeBase([], [("x", "year", 1999)], {"x": "blue nights", "y": "red day"})
    model = KnowledgeBaseAligner(threshold=0.0).fit(one, two)
    assert model.alpha_ == 0.0
    assert model.mapping_ == {"b": "y", "a": "x"}
    np.testing.assert_allclose(
        model.matches_["score"], model.matches_["static"], rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("kind", ["relations", "properties"])
def test_nothing_in_common_is_said(kind):
    one, two = (KnowledgeBase(**{kind: [("m", name, "p")]}) for name in ("actor", "stars"))
    with pytest.warns(UserWarning, match="a name that both sides share, .*_map"):
        KnowledgeBaseAligner(seed={"m": "m"}).fit(one, two)


def test_a_truth_of_other_names_is_refused(films):
    kb1, kb2, truth = films
    model = KnowledgeBaseAligner().fit(kb1, kb2)
    with pytest.raises(ValueError, match="truth holds no pair of entities of both sides"):
        model.score({b: a for a, b in truth.items()})
    with pytest.raises(ValueError, match="leave out what has no partner"):
        model.score(dict.fromkeys(truth))


def test_a_seed_scores_what_it_adds_and_its_neighbours_gain():
    """Two seeds that are neighbors: the second alone has the graph term, once per pair."""
    links = [("a", "r", "b"), ("a", "s", "b"), ("b", "r", "c")]
    kb = KnowledgeBase(links, labels={"a": "one", "b": "two"})
    model = KnowledgeBaseAligner(alpha=1.0, threshold=0.0).fit(kb, kb)
    gamma = {"a": 0.5 / 2, "b": 0.5 / 3, "c": 0.5 / 2}
    expected = [0.0, 2 * (gamma["a"] + gamma["b"]), 2 * (gamma["b"] + gamma["c"])]
    np.testing.assert_allclose(model.matches_["graph"], expected, rtol=0, atol=1e-15)
    assert model.mapping_ == {e: e for e in "abc"}


@pytest.mark.parametrize(
    "labels",
    [
        ["C", "C++", "C#", "Java", "Python"], ["Müller", "Muller"], ["iPhone 12", "iPhone 12+"],
        ["!!!", "\N{GRINNING FACE}", "???"],
    ],
)  # fmt: skip
def test_equal_labels_are_matched_where_their_words_are_equal(labels):
    first = dict(enumerate(labels))
    second = {i: f" {label.upper()}" for i, label in reversed(first.items())}
    kb1, kb2 = KnowledgeBase(labels=first), KnowledgeBase(labels=second)
    model = KnowledgeBaseAligner().fit(kb1, kb2)
    assert model.mapping_ == {i: i for i in first}
    assert model.n_seed_ == len(labels)


def test_seeds_of_equal_words_are_unique_among_all_labels():
    first = {"m": "C", "n": "C#", "o": "Blue Night", "p": "?"}
    second = {"m": "C", "n": "C++", "o": "blue-night", "q": "!"}
    kb1, kb2 = KnowledgeBase(labels=first), KnowledgeBase(labels=second)
    model = KnowledgeBaseAligner(threshold=np.inf).fit(kb1, kb2)
    assert model.mapping_ == {"m": "m", "o": "o"}


@pytest.mark.parametrize("words", [None, 3, [3], "ash", [["ash"]]])
def test_what_tokenizers_return_is_checked(words):
    kb = KnowledgeBase(labels={"m": "ash"})
    with pytest.raises(TypeError, match=r"tokenizer must return a list of words \(str\), got "):
        KnowledgeBaseAligner(tokenizer=lambda text: words).fit(kb, kb)


def misspelt_names(rng, n=150):
    """Names of letters drawn at random, one of which is another one on the second side."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    first, second = {}, {}
    for i in range(n):
        words = rng.choice(letters, size=(2, 7))
        first[i] = " ".join(map("".join, words))
        words[np.arange(2), rng.integers(1, 6, size=2)] = rng.choice(letters, size=2)
        second[i] = "-".join(map("".join, words[::-1])).upper()
    return KnowledgeBase(labels=first), KnowledgeBase(labels=second), {i: i for i in range(n)}


def test_trigrams_are_chosen_where_no_words_are_equal(rng):
    *sides, truth = misspelt_names(rng)
    aligner = KnowledgeBaseAligner().fit(*sides)
    assert aligner.tokenizer_ == "trigrams"
    assert aligner.score(truth) > 0.9
    assert KnowledgeBaseAligner(tokenizer="words").fit(*sides).score(truth) < 0.3
    same = KnowledgeBaseAligner(tokenizer="trigrams").fit(*sides)
    assert same.mapping_ == aligner.mapping_


def test_misspelt_codes_among_other_words_are_found(rng):
    codes = ["".join(rng.choice(list("abcdefgh123"), size=12)) for _ in range(150)]
    words = ["".join(rng.choice(list("rstuvw"), size=5)) for _ in range(900)]
    others = [" ".join(words[i : i + 3]) for i in range(0, 900, 3)]
    first = {i: f"{code} {word}" for i, (code, word) in enumerate(zip(codes, others[:150]))}
    second = {i: f"{word} {c[:7]}x{c[8:]}" for i, (c, word) in enumerate(zip(codes, others[150:]))}
    aligner = KnowledgeBaseAligner().fit(KnowledgeBase(labels=first), KnowledgeBase(labels=second))
    assert aligner.tokenizer_ == "trigrams"
    assert aligner.score({i: i for i in first}) > 0.9


def test_words_are_chosen_where_they_tell_more(rng):
    words = ["".join(rng.choice(list("aeio"), size=4)) for _ in range(60)]
    labels = {i: " ".join(rng.choice(words, size=4)) for i in range(200)}
    turned = {i: " ".join(label.split()[::-1]) for i, label in labels.items()}
    aligner = KnowledgeBaseAligner().fit(KnowledgeBase(labels=labels), KnowledgeBase(labels=turned))
    assert aligner.tokenizer_ == "words"


def test_similarity_of_trigrams_is_that_of_their_definition(rng):
    *sides, _ = misspelt_names(rng, n=12)
    aligner = KnowledgeBaseAligner(
        tokenizer="trigrams", threshold=0.0, suggestion_threshold=0.0, min_shared_words=1, beta=0.0
    ).fit(*sides)
    tokens = []
    for kb in sides:
        texts = [f" {label.lower().replace('-', ' ')} " for label in kb.labels]
        tokens.append([{text[k : k + 3] for k in range(len(text) - 2)} for text in texts])
    weights = [
        {t: np.log10(12 / sum(t in other for other in side)) for row in side for t in row}
        for side in tokens
    ]
    for match in aligner.matches_:
        rows = [side[match[f"entity{s + 1}"]] for s, side in enumerate(tokens)]
        top = sum(w[t] for t in rows[0] & rows[1] for w in weights)
        bottom = sum(w[t] for w, row in zip(weights, rows, strict=True) for t in row)
        string = top / (bottom + 2 * np.log10(12))
        assert match["string"] == pytest.approx(string, rel=1e-12)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_suggestions_are_all_pairs_above_the_threshold(threshold, rng):
    sides = random_pair(int(rng.integers(1000)), n=60)
    aligner = KnowledgeBaseAligner(
        alpha=0.0, beta=0.0, threshold=0.0, seed=None, tokenizer="words", max_block=12,
        suggestion_threshold=threshold,
    ).fit(*sides)  # fmt: skip
    words, weights = zip(*map(bags, sides), strict=True)
    rare = {w for w in weights[1] if sum(w in bag for bag in words[1]) <= 12}
    wanted = 0
    for bag, other in ((a, b) for a in words[0] for b in words[1]):
        total = sum(weights[0][w] for w in bag) + sum(weights[1][w] for w in other)
        common = sum(weights[0][w] + weights[1][w] for w in bag & other)
        enough = len(bag & other & rare) >= min(2, len(bag), len(other))
        wanted += bool(bag & other & rare) and enough and common / total >= threshold
    assert aligner.n_candidates_ == wanted > 0


def test_strict_precision_judges_all_matches():
    names = {"a": "Ann Lee", "b": "Bo Dahl", "c": "Cy Mohn"}
    aligner = KnowledgeBaseAligner().fit(KnowledgeBase(labels=names), KnowledgeBase(labels=names))
    found = aligner.evaluate({"a": "a"})
    assert (found.precision, found.recall, found.f1) == (1.0, 1.0, 1.0)
    assert found.strict_precision == pytest.approx(1 / 3, rel=1e-12)
    assert found.strict_f1 == pytest.approx(0.5, rel=1e-12)
