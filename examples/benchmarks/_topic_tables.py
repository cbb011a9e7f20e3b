"""Documents of known topics: errors by moments, algorithm, length of documents and misfit."""

import warnings

import numpy as np
from _report import in_child, shown

from sklearn_fw.datasets import make_topic_corpus
from sklearn_fw.decomposition import DiscreteICA
from sklearn_fw.metrics import topic_l1_error

N_SEEDS, TOLERANCE = 5, 0.15
SIZES = (500, 1000, 5000, 20_000)
# Rows of the tables: moments and algorithm, documents with equal weights as in the paper.
METHODS = {
    "cumulants, jd": {"moments": "gp"},
    "cumulants, jd of random": {"moments": "gp", "projections": 10},
    "cumulants, spectral": {"moments": "gp", "algorithm": "spectral"},
    "cumulants, tpm": {"moments": "gp", "algorithm": "tpm"},
    "generalized, jd": {"moments": "generalized"},
    "LDA, jd": {"moments": "lda"},
    "LDA, spectral": {"moments": "lda", "algorithm": "spectral"},
    "LDA, tpm": {"moments": "lda", "algorithm": "tpm"},
}
METHODS = {name: settings | {"weighting": "equal"} for name, settings in METHODS.items()}
METHODS |= {
    "cumulants": {"moments": "gp"},
    "LDA moments": {"moments": "lda"},
    "default": {"c0": None},
}
# Mean errors of a prototype, written in NumPy after the paper, on three other draws.
EXPECTED = {
    "cumulants, jd": (0.119, 0.090, 0.042, 0.020),
    "cumulants, spectral": (0.173, 0.158, 0.074, 0.072),
    "cumulants, tpm": (0.134, 0.102, 0.052, 0.027),
    "generalized, jd": (None, 0.090, 0.042, 0.020),
    "LDA, jd": (0.236, 0.133, 0.061, 0.032),
    "LDA, spectral": (0.337, 0.163, 0.102, 0.045),
    "LDA, tpm": (0.234, 0.136, 0.063, 0.033),
}


def errors_of(n_documents, methods, n_seeds):
    """{method: mean error of topics} of fits that are given the sum of concentrations."""
    warnings.simplefilter("ignore")
    found = {name: [] for name in methods}
    for seed in range(n_seeds):
        data = make_topic_corpus(
            n_documents, 500, 10, prior=0.1, topic_prior=0.1, random_state=seed
        )
        for name, settings in methods.items():
            settings = {"c0": float(data.doc_topic_prior.sum())} | settings
            topics = DiscreteICA(10, random_state=0, **settings).fit(data.X)
            found[name].append(topic_l1_error(data.topics, topics.components_))
    return {name: float(np.mean(errors)) for name, errors in found.items()}


def moments(report, options):
    report.section("Moments and algorithms")
    n_seeds, sizes = (2, SIZES[:2]) if options.quick else (N_SEEDS, SIZES)
    report.text(f"""Error of topics on generated documents of about 200 tokens, with 500 words and
        10 topics; means of {n_seeds} draws. LDA moments are given the true sum of concentrations.
        Rows with an algorithm give all documents equal weights, as in the paper. Rows without use
        joint diagonalization and the default weights of the package. Goals are the errors of a
        prototype plus {TOLERANCE:.0%}.""")
    found = {n: in_child(errors_of, n, METHODS, n_seeds) for n in sizes}
    report.table(
        ["method", *(f"{n} documents" for n in sizes)],
        [[name, *(shown(found[n][name], ".3f") for n in sizes)] for name in METHODS],
    )
    for i, n in enumerate(sizes):
        report.goals(*(
            (f"{name}, {n} documents", found[n][name], (1.0 + TOLERANCE) * expected[i], "<=")
            for name, expected in EXPECTED.items() if expected[i] is not None
        ))  # fmt: skip
    last = sizes[-1]
    ours = found[last]["cumulants, jd"]
    report.goals(*(
        (f"cumulants, jd / {other}, {last} documents", ours / found[last][other], 1.0, "<=")
        for other in EXPECTED if not other.endswith("jd") or other == "LDA, jd"
    ))  # fmt: skip
