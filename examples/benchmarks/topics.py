"""Topics of documents by moments, compared with variational inference, sampling, factorizations.

The corpora are those of the folders ``20news`` and ``topics`` in the folder that SKLEARN_FW_DATA
names. Parts of drawn documents stand in ``_topic_tables.py``.
"""

import contextlib
import gzip
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _report import Clock, Repeats, data_path, in_child, main, peak_memory, quietly, shown
from _topic_tables import moments
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from sklearn_fw.datasets import make_topic_corpus
from sklearn_fw.decomposition import DiscreteICA, chib_log_likelihood
from sklearn_fw.decomposition._posterior import bounds, infer
from sklearn_fw.metrics import topic_l1_error

N_HELD_OUT, N_SAMPLES = 100, 300
SHARE = 0.01  # of the frequencies of words in a topic
FIRST_WORDS = 10
OURS, REFINED = "DiscreteICA", "DiscreteICA, refined"


def newsgroups():
    """Counts of the words of 20 newsgroups, but for rare, very frequent and stop words."""
    with gzip.open(data_path("20news") / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    count = CountVectorizer(
        stop_words="english", min_df=10, max_df=0.3, token_pattern=r"(?u)\b[a-zA-Z]{3,}\b"
    )
    return sp.csr_array(count.fit_transform(texts)).astype(float)


def stored(name):
    return sp.csr_array(sp.load_npz(data_path("topics") / f"{name}.npz")).astype(float)


CORPORA = {"20 newsgroups": newsgroups, "AP": lambda: stored("ap"), "KOS": lambda: stored("kos")}


def parted(X, n_documents=None):
    """Training documents and held-out documents."""
    order = np.random.default_rng(0).permutation(X.shape[0])[:n_documents]
    return X[order[N_HELD_OUT:]], X[order[:N_HELD_OUT]]


class GensimLDA:
    def __init__(self, n_components):
        self.n_components = n_components

    def fit(self, X):
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        model = LdaModel(
            Sparse2Corpus(sp.csr_matrix(X).astype(int), documents_columns=False),
            id2word={m: str(m) for m in range(X.shape[1])}, num_topics=self.n_components,
            random_state=0,
        )  # fmt: skip
        self.components_ = model.get_topics().astype(float)
        self.doc_topic_prior_ = model.alpha.astype(float)
        return self


class TomotopyLDA:
    """Collapsed Gibbs sampling of tomotopy, as many iterations as are given or its default."""

    def __init__(self, n_components, **settings):
        self.n_components, self.settings = n_components, settings

    def fit(self, X):
        import tomotopy

        model = tomotopy.LDAModel(k=self.n_components, seed=0)
        for start, stop in zip(X.indptr, X.indptr[1:]):
            words = np.repeat(X.indices[start:stop], X.data[start:stop].astype(int))
            if len(words):
                model.add_doc([str(m) for m in words])
        model.train(workers=1, **self.settings)
        found = np.array([model.get_topic_word_dist(k) for k in range(self.n_components)])
        self.components_ = np.zeros((self.n_components, X.shape[1]))
        self.components_[:, [int(word) for word in model.used_vocabs]] = found
        self.doc_topic_prior_ = np.asarray(model.alpha, dtype=float)
        return self


def contenders(n_topics):
    """Estimators by name; those of packages that are absent are left out."""
    found = {
        OURS: DiscreteICA(n_topics, random_state=0),
        REFINED: DiscreteICA(n_topics, refine="vi", random_state=0),
        "LDA, batch": LatentDirichletAllocation(n_topics, random_state=0),
        "LDA, online": LatentDirichletAllocation(
            n_topics, learning_method="online", random_state=0
        ),
        "KL-NMF": NMF(n_topics, beta_loss="kullback-leibler", solver="mu", random_state=0),
    }
    if find_spec("gensim"):
        found["gensim"] = GensimLDA(n_topics)
    if find_spec("tomotopy"):
        found["tomotopy"] = TomotopyLDA(n_topics)
        found["tomotopy, 1,000 rounds"] = TomotopyLDA(n_topics, iterations=1000)
    return found


def compile_all(name, X):
    """Fit one contender to a few documents, so that nothing is compiled or loaded later."""
    model = contenders(3)[name]
    if name.startswith("tomotopy"):
        model = TomotopyLDA(3)
    fitted(model, X)


def fitted(model, X):
    """The model, the CPU seconds of its fit, and the MB by which its peak of memory rose."""
    before = reset_peak()
    with Clock() as clock:
        quietly(model.fit, X)
    return model, clock.cpu, peak_memory() - before


def reset_peak():
    """Memory of this process in MB; resets its peak where the system supports it."""
    with contextlib.suppress(OSError):  # else what rises may have been hidden by what was higher
        Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def coherence(X, topics, n_words=FIRST_WORDS):
    """Mean normalized pointwise mutual information of pairs of first words."""
    present = (X > 0).astype(float).tocsc()
    values = []
    for topic in topics:
        words = present[:, np.argsort(-topic)[:n_words]]
        shares = (words.T @ words).toarray() / X.shape[0]
        alone = shares.diagonal()
        pairs = np.triu_indices(n_words, 1)
        together, apart = shares[pairs], np.outer(alone, alone)[pairs]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(together / apart) / -np.log(together)
        values.append(np.where(together > 0.0, found, -1.0).mean())
    return float(np.mean(values))


def topics_of(model):
    return model.components_ / model.components_.sum(axis=1, keepdims=True)


def bits(model, X, held_out):
    """Bits per token of documents held out: by Chib's estimator, and by the evidence bound.

    Words have the same small share of the frequencies of the corpus in all topics.
    """
    topics, prior = topics_of(model), np.asarray(model.doc_topic_prior_, dtype=float)
    prior = np.array(np.broadcast_to(prior, len(topics)))
    frequencies = np.asarray(X.sum(axis=0)).ravel() + 1.0
    topics = (1.0 - SHARE) * topics + SHARE * frequencies / frequencies.sum()
    chib = chib_log_likelihood(held_out, topics, prior, n_samples=N_SAMPLES, random_state=0)
    columns = np.ascontiguousarray(topics.T)
    bound = bounds(held_out, columns, prior, infer(held_out, columns, prior))
    scale = 1.0 / (held_out.sum() * np.log(2.0))
    return float(chib.sum() * scale), float(bound.sum() * scale)


ABOUT = f"""
Coherence, held-out likelihood and cost of topics estimated from moments, compared with variational
inference, sampling and factorizations.

All methods use defaults and the same counts; tomotopy, whose default is ten rounds of sampling,
also runs with a thousand. "Coherence" is the mean normalized pointwise mutual information of the
{FIRST_WORDS} most probable words of a topic in the training documents. "Bits" is the mean log
probability of a token of {N_HELD_OUT} held-out documents, by Chib's estimator ("Chib") and by the
variational bound; larger is better. It is computed for methods with a prior, after every topic is
mixed with one hundredth of the word frequencies. Seconds are CPU seconds of one fit, without
compilation; memory is the increase during the fit.
"""
SIZES = 10, 50
GOAL_PEERS = "LDA, batch", "LDA, online", "KL-NMF"


def measure(corpus, n_topics, name, n_documents):
    """Coherence, bits (None without a prior), seconds and MB of one contender."""
    X, held_out = parted(CORPORA[corpus](), n_documents)
    compile_all(name, X[:50])
    model, seconds, memory = fitted(contenders(n_topics)[name], X)
    has_prior = hasattr(model, "doc_topic_prior_")
    chib, bound = bits(model, X, held_out) if has_prior else (None, None)
    return {
        "coherence": coherence(X, model.components_), "chib": chib, "bound": bound,
        "seconds": seconds, "memory": memory,
    }  # fmt: skip


def corpora(report, options):
    report.section("Real documents")
    data_path("topics"), data_path("20news")
    n_documents = 600 if options.quick else None
    for corpus in CORPORA:
        for n_topics in SIZES[:1] if options.quick else SIZES:
            found = {
                name: in_child(measure, corpus, n_topics, name, n_documents)
                for name in contenders(n_topics)
            }
            report.text(f"{corpus}, {n_topics} topics:")
            report.records(
                "method", found, ("coherence", "coherence", ".3f"), ("bits, Chib", "chib", ".3f"),
                ("bits, bound", "bound", ".3f"), ("CPU seconds", "seconds", ".1f"),
                ("MB", "memory", ".0f"),
            )  # fmt: skip
            judge_corpus(report, corpus, n_topics, found)


def judge_corpus(report, corpus, n_topics, found):
    if corpus == "20 newsgroups":
        best = max(found[name]["coherence"] for name in GOAL_PEERS)
        report.goals((
            f"{corpus}, {n_topics} topics: coherence, {OURS} minus best of LDA, KL-NMF",
            found[OURS]["coherence"] - best, 0.0, ">=",
        ))  # fmt: skip
    for key, of in (("coherence", "coherence"), ("chib", "bits by Chib")):
        ours = max(found[OURS][key], found[REFINED][key])
        ahead = [
            name for name, row in found.items()
            if name not in (OURS, REFINED) and row[key] is not None and row[key] > ours
        ]  # fmt: skip
        if ahead:
            report.loses(f"{corpus}, {n_topics} topics: {', '.join(ahead)} have better {of}.")


def measure_start(corpus, n_topics, seed, n_documents):
    """Bits and seconds of variational inference from moments (no seed) or from random topics."""
    X, held_out = parted(CORPORA[corpus](), n_documents)
    compile_all(REFINED, X[:50])
    model = contenders(n_topics)[REFINED]
    if seed is not None:
        model = LatentDirichletAllocation(n_topics, random_state=seed)
    model, seconds, _ = fitted(model, X)
    return *bits(model, X, held_out), seconds


def starts(report, options):
    report.section("Variational inference from moments and from random topics")
    data_path("topics")
    n_starts, n_documents = (2, 600) if options.quick else (10, None)
    report.text(f"""``DiscreteICA(refine='vi')`` and scikit-learn's variational LDA from {n_starts}
        random starts.""")
    for corpus in ("AP", "KOS"):
        for n_topics in (20,) if options.quick else (10, 20, 50):
            ours = in_child(measure_start, corpus, n_topics, None, n_documents)
            others = [
                in_child(measure_start, corpus, n_topics, seed, n_documents)
                for seed in range(n_starts)
            ]
            chib, bound, seconds = (Repeats(values) for values in zip(*others))
            report.text(f"{corpus}, {n_topics} topics:")
            report.table(
                ["start", "bits, Chib", "bits, bound", "CPU seconds"],
                [["moments", *(shown(v, style) for v, style in zip(ours, (".3f", ".3f", ".1f")))],
                 ["random, best", shown(max(chib.values), ".3f"),
                  shown(max(bound.values), ".3f"), shown(seconds, ".1f")],
                 ["random, worst", shown(min(chib.values), ".3f"),
                  shown(min(bound.values), ".3f"), None]],
            )  # fmt: skip
            where = f"{corpus}, {n_topics} topics"
            report.goals(
                (f"{where}: bits minus best random start", ours[0] - max(chib.values),
                 0.0, ">="),
                (f"{where}: seconds / one random start", ours[2] / float(seconds), 1.0, "<="),
            )  # fmt: skip


def measure_drawn(name, seed, n_documents):
    """Error of topics and seconds on documents of known topics."""
    data = make_topic_corpus(n_documents, 2000, 20, kind="lda", length=100, random_state=seed)
    compile_all(name, data.X[:50])
    model, seconds, _ = fitted(contenders(20)[name], data.X)
    return topic_l1_error(data.topics, topics_of(model)), seconds


def drawn(report, options):
    report.section("Generated documents with known topics")
    n_documents, n_seeds = (1000, 1) if options.quick else (5000, options.repeat)
    report.text(f"""{n_documents} documents of 100 tokens, 2,000 words, 20 topics; medians of
        {n_seeds} draws. The error is the mean l1 distance of topics.""")
    found = {}
    for name in contenders(20):
        runs = [in_child(measure_drawn, name, seed, n_documents) for seed in range(n_seeds)]
        found[name] = [Repeats(values) for values in zip(*runs)]
    report.table(
        ["method", "error", "CPU seconds"],
        [[name, shown(error, ".3f"), shown(seconds, ".2f")]
         for name, (error, seconds) in found.items()],
    )  # fmt: skip
    report.goals(
        ("seconds from moments", found[OURS][1], 0.3, "<="),
        ("error of the refined topics", found[REFINED][0], 0.08, "<="),
        ("seconds of the refined topics", found[REFINED][1], 3.0, "<="),
    )
    ahead = [name for name, (error, _) in found.items() if error < found[REFINED][0]]
    if ahead:
        report.loses(f"Generated documents: smaller error of {', '.join(ahead)}.")


def measure_large(n_documents):
    """Seconds, gigabytes that the fit adds, and peak of the process."""
    data = make_topic_corpus(n_documents, 10_000, 50, random_state=0)
    compile_all(OURS, data.X[:200])
    _, seconds, more = fitted(contenders(50)[OURS], data.X)
    return seconds, more / 1e3, peak_memory() / 1e3


def large(report, options):
    report.section("Large corpus")
    n_documents = 2000 if options.quick else 50_000
    seconds, more, peak = in_child(measure_large, n_documents)
    report.text(f"{n_documents} documents of about 200 tokens, 10,000 words, 50 topics.")
    report.table(
        ["method", "CPU seconds", "memory of the fit, GB", "peak of the process, GB"],
        [[OURS, shown(seconds, ".1f"), shown(more, ".2f"), shown(peak, ".2f")]],
    )
    report.goals(
        ("seconds for 50,000 documents", seconds, 30.0, "<="), ("peak memory, GB", peak, 2.0, "<=")
    )


if __name__ == "__main__":
    parts = {
        "corpora": corpora, "starts": starts, "drawn": drawn, "large": large, "moments": moments,
    }  # fmt: skip
    peers = "gensim", "tomotopy"
    raise SystemExit(main("topics", "Topics of documents", ABOUT, parts, peers=peers))
