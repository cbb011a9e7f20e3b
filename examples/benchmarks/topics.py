"""Topics of documents by moments, beside variational inference and factorizations.

    python3 dev.py bench topics [--quick] [--write]

The corpora are those of the folders ``20news`` and ``topics`` in the folder that SKLEARN_FW_DATA
names.
"""

import gzip
import json
import os
import warnings
from pathlib import Path

import numpy as np
from _report import Clock, Repeats, Skip, in_child, main, peak_memory, shown

ABOUT = """
What do topics found by moments explain, how well do their words go together, and what do they cost?

All methods have their defaults and the same counts. "Coherence" is the mean normalised pointwise
mutual information of the ten first words of a topic, in the documents learned from. "Bits" is the
mean log probability of the tokens of 100 documents held out, by Chib's estimator for everybody who
has a prior, with one hundredth of the frequencies of words in each topic; larger is better. Seconds
are those of CPU of one fit, compilation excluded.
"""
SIZES = 10, 50
N_HELD_OUT, N_SAMPLES = 100, 300
SHARE = 0.01  # of the frequencies of words in a topic
OURS, REFINED = "DiscreteICA", "DiscreteICA, refined"


def folder(name):
    """A folder of the data sets."""
    path = Path(os.environ.get("SKLEARN_FW_DATA", ""), name)
    if not path.is_dir():
        raise Skip(f"no {name}: set SKLEARN_FW_DATA to the folder that holds the data sets")
    return path


def newsgroups():
    """Counts of the words of 20 newsgroups, but for rare, very frequent and stop words."""
    from sklearn.feature_extraction.text import CountVectorizer

    with gzip.open(folder("20news") / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    count = CountVectorizer(
        stop_words="english", min_df=10, max_df=0.3, token_pattern=r"(?u)\b[a-zA-Z]{3,}\b"
    )
    return count.fit_transform(texts).astype(float)


def stored(name):
    """Counts as they are stored."""
    import scipy.sparse as sp

    return sp.csr_array(sp.load_npz(folder("topics") / f"{name}.npz")).astype(float)


CORPORA = {
    "20 newsgroups": newsgroups,
    "AP": lambda: stored("ap"),
    "KOS": lambda: stored("kos"),
}


def contenders(n_topics):
    """Estimators by name."""
    from sklearn.decomposition import NMF, LatentDirichletAllocation

    from sklearn_fw.decomposition import DiscreteICA

    return {
        OURS: DiscreteICA(n_topics, random_state=0),
        REFINED: DiscreteICA(n_topics, refine="vi", random_state=0),
        "LDA, batch": LatentDirichletAllocation(n_topics, random_state=0),
        "LDA, online": LatentDirichletAllocation(
            n_topics, learning_method="online", random_state=0
        ),
        "KL-NMF": NMF(n_topics, beta_loss="kullback-leibler", solver="mu", random_state=0),
    }


def fitted(model, X):
    """The model and the CPU seconds of its fit."""
    with warnings.catch_warnings(), Clock() as clock:
        warnings.simplefilter("ignore")
        model.fit(X)
    return model, clock.cpu


def coherence(X, topics, n_words=10):
    """Mean normalised pointwise mutual information of pairs of first words."""
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


def bits(model, X, held_out):
    """Bits per token of documents held out, by Chib's estimator."""
    from sklearn_fw.decomposition import chib_log_likelihood

    prior = model.doc_topic_prior_
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    frequencies = np.asarray(X.sum(axis=0)).ravel() + 1.0
    topics = (1.0 - SHARE) * topics + SHARE * frequencies / frequencies.sum()
    values = chib_log_likelihood(
        held_out, topics, np.broadcast_to(prior, len(topics)), n_samples=N_SAMPLES, random_state=0
    )
    return float(values.sum() / held_out.sum() / np.log(2.0))


def parted(X, n_documents=None):
    """Documents to learn from, and some to judge by."""
    order = np.random.default_rng(0).permutation(X.shape[0])[:n_documents]
    return X[order[N_HELD_OUT:]], X[order[:N_HELD_OUT]]


# ---- real documents ------------------------------------------------------------------------------


def measure(corpus, n_topics, name, n_documents):
    """Coherence, bits (NaN without a prior) and seconds of one contender."""
    X, held_out = parted(CORPORA[corpus](), n_documents)
    model = contenders(n_topics)[name]
    fitted(contenders(3)[name], X[:50])  # compiles
    model, seconds = fitted(model, X)
    has_prior = hasattr(model, "doc_topic_prior_")
    return {
        "coherence": coherence(X, model.components_),
        "bits": bits(model, X, held_out) if has_prior else float("nan"),
        "seconds": seconds,
    }


def corpora(report, options):
    """Three corpora."""
    report.section("Real documents")
    folder("topics"), folder("20news")
    n_documents = 600 if options.quick else None
    for corpus in CORPORA:
        for n_topics in SIZES[:1] if options.quick else SIZES:
            found = {
                name: in_child(measure, corpus, n_topics, name, n_documents)
                for name in contenders(n_topics)
            }
            report.text(f"{corpus}, {n_topics} topics:")
            report.table(
                ["method", "coherence", "bits", "CPU seconds"],
                [[name, shown(row["coherence"], ".3f"),
                  shown(row["bits"], ".3f") if row["bits"] == row["bits"] else "--",
                  shown(row["seconds"], ".1f")] for name, row in found.items()],
            )  # fmt: skip
            if corpus == "20 newsgroups":
                best = max(row["coherence"] for name, row in found.items() if name not in (
                    OURS, REFINED))  # fmt: skip
                report.goals((
                    f"{corpus}, {n_topics} topics: coherence of {OURS} above the best other",
                    found[OURS]["coherence"] - best, 0.0, ">=",
                ))  # fmt: skip


# ---- where to start ------------------------------------------------------------------------------


def measure_start(corpus, n_topics, seed, n_documents):
    """Bits and seconds of variational inference from moments (no seed) or from random topics."""
    from sklearn.decomposition import LatentDirichletAllocation

    from sklearn_fw.decomposition import DiscreteICA

    X, held_out = parted(CORPORA[corpus](), n_documents)
    fitted(DiscreteICA(3, refine="vi"), X[:50])  # compiles
    model = DiscreteICA(n_topics, refine="vi", random_state=0)
    if seed is not None:
        model = LatentDirichletAllocation(n_topics, random_state=seed)
    model, seconds = fitted(model, X)
    return bits(model, X, held_out), seconds


def starts(report, options):
    """From moments, and ten times from random topics."""
    report.section("From moments, or from random topics")
    folder("topics")
    n_starts, n_documents = (2, 600) if options.quick else (10, None)
    report.text(
        f"``DiscreteICA(20, refine='vi')`` and scikit-learn's variational LDA from {n_starts} "
        f"random starts."
    )
    for corpus in ("AP", "KOS"):
        ours = in_child(measure_start, corpus, 20, None, n_documents)
        others = [
            in_child(measure_start, corpus, 20, seed, n_documents) for seed in range(n_starts)
        ]
        best, seconds = max(b for b, _ in others), Repeats([s for _, s in others])
        report.table(
            ["start", f"bits, {corpus}", "CPU seconds"],
            [["moments", shown(ours[0], ".3f"), shown(ours[1], ".1f")],
             ["random, the best", shown(best, ".3f"), shown(seconds, ".1f")],
             ["random, the worst", shown(min(b for b, _ in others), ".3f"), ""]],
        )  # fmt: skip
        report.goals(
            (f"{corpus}: bits above the best of random starts", ours[0] - best, 0.0, ">="),
            (f"{corpus}: seconds over one random start", ours[1] / float(seconds), 1.0, "<="),
        )


# ---- drawn documents -----------------------------------------------------------------------------


def measure_drawn(name, seed, n_documents):
    """Error of topics and seconds on documents of known topics."""
    from sklearn_fw.datasets import make_lda_corpus
    from sklearn_fw.metrics import topic_l1_error

    data = make_lda_corpus(n_documents, 2000, 20, length=100, random_state=seed)
    model = contenders(20)[name]
    fitted(contenders(3)[name], data.X[:50])  # compiles
    model, seconds = fitted(model, data.X)
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return topic_l1_error(data.topics, topics), seconds


def drawn(report, options):
    """Documents of latent Dirichlet allocation."""
    report.section("Documents of known topics")
    n_documents, n_seeds = (1000, 1) if options.quick else (5000, options.repeat)
    report.text(
        f"{n_documents} documents of 100 tokens, 2,000 words, 20 topics; medians of "
        f"{n_seeds} draws. The error is the mean l1 distance of topics."
    )
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
        ("seconds of the moments", found[OURS][1], 0.3, "<="),
        ("error of the refined topics", found[REFINED][0], 0.08, "<="),
        ("seconds of the refined topics", found[REFINED][1], 3.0, "<="),
    )


def measure_large(n_documents):
    """Seconds, and gigabytes that the fit adds and that there are in all."""
    from sklearn_fw.datasets import make_gp_corpus

    data = make_gp_corpus(n_documents, 10_000, 50, mean_length=200, random_state=0)
    before = peak_memory()
    model = contenders(50)[OURS]
    fitted(contenders(3)[OURS], data.X[:200])
    _, seconds = fitted(model, data.X)
    return seconds, (peak_memory() - before) / 1e3, peak_memory() / 1e3


def large(report, options):
    """50,000 documents."""
    report.section("A large corpus")
    n_documents = 2000 if options.quick else 50_000
    seconds, more, peak = in_child(measure_large, n_documents)
    report.text(f"{n_documents} documents of about 200 tokens, 10,000 words, 50 topics.")
    report.table(
        ["method", "CPU seconds", "memory of the fit, GB", "peak of the process, GB"],
        [[OURS, shown(seconds, ".1f"), shown(more, ".2f"), shown(peak, ".2f")]],
    )
    report.goals(
        ("seconds of 50,000 documents", seconds, 30.0, "<="),
        ("GB of the process", peak, 2.0, "<="),
    )


if __name__ == "__main__":
    parts = {"corpora": corpora, "starts": starts, "drawn": drawn, "large": large}
    raise SystemExit(main("topics", "Topics of documents", ABOUT, parts))
