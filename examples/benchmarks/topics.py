"""Topics of documents by moments, beside variational inference, sampling and factorizations.

    python3 dev.py bench topics [--quick] [--write]

The corpora are those of the folders ``20news`` and ``topics`` in the folder that SKLEARN_FW_DATA
names. Parts of drawn documents stand in ``_topic_tables.py``, corpora, contenders and judges in
``_topic_methods.py``.
"""

from _report import Repeats, in_child, main, peak_memory, shown
from _topic_methods import (
    CORPORA,
    FIRST_WORDS,
    N_HELD_OUT,
    OURS,
    REFINED,
    bits,
    coherence,
    compile_all,
    contenders,
    fitted,
    folder,
    parted,
    topics_of,
)
from _topic_tables import concentrations, lengths, many, moments

ABOUT = f"""
What do topics found by moments explain, how well do their words go together, and what do they cost?

All methods have their defaults and the same counts; tomotopy, whose default is ten rounds of
sampling, runs a thousand as well. "Coherence" is the mean normalised pointwise mutual information
of the {FIRST_WORDS} first words of a topic, in the documents learned from. "Bits" is the mean log
probability of the tokens of {N_HELD_OUT} documents held out, by Chib's estimator ("Chib") and by
the variational bound, for everybody who has a prior, with one hundredth of the frequencies of words
in each topic; larger is better. Seconds are those of CPU of one fit, compilation excluded, memory
what the fit adds to the process.
"""
SIZES = 10, 50
GOAL_PEERS = "LDA, batch", "LDA, online", "KL-NMF"


# ---- real documents ------------------------------------------------------------------------------


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
                ["method", "coherence", "bits, Chib", "bits, bound", "CPU seconds", "MB"],
                [[name, *(shown(row[key], style) for key, style in (
                    ("coherence", ".3f"), ("chib", ".3f"), ("bound", ".3f"), ("seconds", ".1f"),
                    ("memory", ".0f")))] for name, row in found.items()],
            )  # fmt: skip
            judge_corpus(report, corpus, n_topics, found)


def judge_corpus(report, corpus, n_topics, found):
    """Goals of one table, and who is ahead."""
    if corpus == "20 newsgroups":
        best = max(found[name]["coherence"] for name in GOAL_PEERS)
        report.goals((
            f"{corpus}, {n_topics} topics: coherence of {OURS} above LDA and KL-NMF",
            found[OURS]["coherence"] - best, 0.0, ">=",
        ))  # fmt: skip
    for key, of in (("coherence", "coherence"), ("chib", "bits by Chib")):
        ours = max(found[OURS][key], found[REFINED][key])
        ahead = [
            name for name, row in found.items()
            if name not in (OURS, REFINED) and row[key] is not None and row[key] > ours
        ]  # fmt: skip
        if ahead:
            report.loses(f"{corpus}, {n_topics} topics, {of}: {', '.join(ahead)} ahead.")


# ---- where to start ------------------------------------------------------------------------------


def measure_start(corpus, n_topics, seed, n_documents):
    """Bits and seconds of variational inference from moments (no seed) or from random topics."""
    from sklearn.decomposition import LatentDirichletAllocation

    X, held_out = parted(CORPORA[corpus](), n_documents)
    compile_all(REFINED, X[:50])
    model = contenders(n_topics)[REFINED]
    if seed is not None:
        model = LatentDirichletAllocation(n_topics, random_state=seed)
    model, seconds, _ = fitted(model, X)
    return *bits(model, X, held_out), seconds


def starts(report, options):
    """From moments, and ten times from random topics."""
    report.section("From moments, or from random topics")
    folder("topics")
    n_starts, n_documents = (2, 600) if options.quick else (10, None)
    report.text(
        f"``DiscreteICA(refine='vi')`` and scikit-learn's variational LDA from {n_starts} "
        f"random starts."
    )
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
                 ["random, the best", shown(max(chib.values), ".3f"),
                  shown(max(bound.values), ".3f"), shown(seconds, ".1f")],
                 ["random, the worst", shown(min(chib.values), ".3f"),
                  shown(min(bound.values), ".3f"), None]],
            )  # fmt: skip
            where = f"{corpus}, {n_topics} topics"
            report.goals(
                (f"{where}: bits above the best of random starts", ours[0] - max(chib.values),
                 0.0, ">="),
                (f"{where}: seconds over one random start", ours[2] / float(seconds), 1.0, "<="),
            )  # fmt: skip


# ---- drawn documents -----------------------------------------------------------------------------


def measure_drawn(name, seed, n_documents):
    """Error of topics and seconds on documents of known topics."""
    from sklearn_fw.datasets import make_topic_corpus
    from sklearn_fw.metrics import topic_l1_error

    data = make_topic_corpus(n_documents, 2000, 20, kind="lda", length=100, random_state=seed)
    compile_all(name, data.X[:50])
    model, seconds, _ = fitted(contenders(20)[name], data.X)
    return topic_l1_error(data.topics, topics_of(model)), seconds


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
    ahead = [name for name, (error, _) in found.items() if error < found[REFINED][0]]
    if ahead:
        report.loses(f"Documents of known topics: {', '.join(ahead)} nearer to them.")


def measure_large(n_documents):
    """Seconds, and gigabytes that the fit adds and that there are in all."""
    from sklearn_fw.datasets import make_topic_corpus

    data = make_topic_corpus(n_documents, 10_000, 50, random_state=0)
    compile_all(OURS, data.X[:200])
    _, seconds, more = fitted(contenders(50)[OURS], data.X)
    return seconds, more / 1e3, peak_memory() / 1e3


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
    parts = {
        "corpora": corpora, "starts": starts, "drawn": drawn, "large": large, "moments": moments,
        "many": many, "lengths": lengths, "concentrations": concentrations,
    }  # fmt: skip
    peers = "gensim", "tomotopy"
    raise SystemExit(main("topics", "Topics of documents", ABOUT, parts, peers=peers))
