"""Documents of known topics: errors by moments, algorithm, length of documents and misfit."""

import numpy as np
from _report import Clock, Repeats, in_child, shown

__all__ = ["concentrations", "lengths", "many", "moments"]
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
MANY_EXPECTED = {
    "cumulants, jd": 0.049, "cumulants, spectral": 0.161, "cumulants, tpm": 0.065,
    "LDA, jd": 0.093, "LDA, spectral": 0.290,
}  # fmt: skip
# Length of half of the documents, of the others, and what the prototype had: cumulants and LDA
# moments, for 1,000 and 20,000 documents.
LENGTHS = {
    "all of 200": (200, 200, (0.205, 0.208), (0.059, 0.013)),
    "half 20, half 200": (20, 200, (0.071, 0.026), (0.136, 0.033)),
}
GIVEN_C0 = 0.01, 0.1, 0.5, 1.0, 2.0, 10.0
C0_EXPECTED = {
    "all of 200": (0.202, 0.181, 0.094, 0.013, 0.037, 0.089),
    "lengths that vary": (0.204, 0.182, 0.097, 0.032, 0.042, 0.091),
}


def draw(kind, n_documents, seed, n_topics=10):
    """A corpus of the recipe: 500 words, 200 tokens, concentrations that sum to one, or .5."""
    from sklearn_fw.datasets import make_topic_corpus

    shared = {"random_state": seed, "prior": 0.1, "topic_prior": 0.1}
    if n_topics == 50:
        shared |= {"prior": 0.01, "topic_prior": 0.05}
    if kind == "gp":
        return make_topic_corpus(n_documents, 500, n_topics, **shared)
    short, long = LENGTHS[kind][:2]
    length = np.where(np.arange(n_documents) % 2 == 0, short, long)
    return make_topic_corpus(n_documents, 500, n_topics, kind="lda", length=length, **shared)


def errors_of(kind, n_documents, n_topics, methods, n_seeds):
    """{method: (errors, seconds)} of fits whose moments know the sum of concentrations."""
    import warnings

    from sklearn_fw.decomposition import DiscreteICA
    from sklearn_fw.metrics import topic_l1_error

    warnings.simplefilter("ignore")
    found = {name: ([], []) for name in methods}
    for seed in range(-1, n_seeds):  # the first one compiles
        data = draw(kind, n_documents if seed >= 0 else 300, max(seed, 0), n_topics)
        for name, settings in methods.items():
            settings = {"c0": float(data.doc_topic_prior.sum())} | settings
            with Clock() as clock:
                try:
                    topics = DiscreteICA(n_topics, random_state=0, **settings).fit(data.X)
                except ValueError:
                    if seed >= 0:  # a small corpus may have too few eigenvalues above zero
                        raise
                    continue
            if seed >= 0:
                found[name][0].append(topic_l1_error(data.topics, topics.components_))
                found[name][1].append(clock.cpu)
    return found


def mean(values):
    return float(np.mean(values))


def cell_goals(label, pairs):
    """Goals of cells ``(name, measured, expected)``; cells without a figure have none."""
    return [
        (f"{label}{name}", value, (1.0 + TOLERANCE) * expected, "<=")
        for name, value, expected in pairs
        if expected is not None
    ]


def n_seeds_of(options):
    return 2 if options.quick else N_SEEDS


def moments(report, options):
    """Every pair of moments and algorithms."""
    report.section("Moments and algorithms")
    n_seeds, sizes = n_seeds_of(options), SIZES[:2] if options.quick else SIZES
    report.text(
        f"""Documents whose lengths vary as topics do, 500 words, 10 topics, about 200 tokens; means
        of {n_seeds} draws. LDA moments know the sum of concentrations. Rows with an algorithm weigh
        documents equally, as the paper does; those without are by joint diagonalization with the
        weights of the package. Goals are the errors of a prototype and {TOLERANCE:.0%}."""
    )
    found = {n: in_child(errors_of, "gp", n, 10, METHODS, n_seeds) for n in sizes}
    report.table(
        ["method", *(f"{n} documents" for n in sizes)],
        [[name, *(shown(mean(found[n][name][0]), ".3f") for n in sizes)] for name in METHODS],
    )
    for i, n in enumerate(sizes):
        goals = cell_goals("", (
            (f"{name}, {n} documents", mean(found[n][name][0]), EXPECTED[name][i])
            for name in EXPECTED
        ))  # fmt: skip
        report.goals(*goals)
    last = sizes[-1]
    ours = mean(found[last]["cumulants, jd"][0])
    report.goals(*(
        (f"jd of cumulants over {other}, {last} documents", ours / mean(found[last][other][0]),
         1.0, "<=")
        for other in EXPECTED if not other.endswith("jd") or other == "LDA, jd"
    ))  # fmt: skip


def many(report, options):
    """Fifty topics."""
    report.section("Fifty topics")
    n_seeds, n = n_seeds_of(options), 1000 if options.quick else 20_000
    methods = {name: METHODS[name] for name in (*MANY_EXPECTED, "LDA, tpm", "default")}
    report.text(f"{n} documents of about 200 tokens, 500 words; means of {n_seeds} draws.")
    found = in_child(errors_of, "gp", n, 50, methods, n_seeds)
    report.table(
        ["method", "error", "CPU seconds"],
        [[name, shown(mean(errors), ".3f"), shown(Repeats(seconds), ".2f")]
         for name, (errors, seconds) in found.items()],
    )  # fmt: skip
    errors = {name: mean(values) for name, (values, _) in found.items()}
    report.goals(
        *cell_goals("", ((f"{name}, 50 topics", errors[name], MANY_EXPECTED[name])
                         for name in MANY_EXPECTED)),
        *((f"{kind}, 50 topics: cumulants over LDA moments",
           errors[f"cumulants, {kind}"] / errors[f"LDA, {kind}"], 1.0, "<=")
          for kind in ("jd", "spectral", "tpm")),
    )  # fmt: skip


def lengths(report, options):
    """Lengths that do not vary as topics do."""
    report.section("Lengths of documents")
    n_seeds, sizes = n_seeds_of(options), (500,) if options.quick else (1000, 20_000)
    report.text(
        f"""Latent Dirichlet allocation with given lengths, else as before; means of {n_seeds}
        draws. Cumulants take lengths to vary as sums of intensities do; they and LDA moments weigh
        documents equally. "Default" chooses moments, weights and the sum of concentrations."""
    )
    methods = {"cumulants": METHODS["cumulants, jd"], "LDA moments": METHODS["LDA, jd"],
               "default": METHODS["default"]}  # fmt: skip
    for kind, (*_, of_cumulants, of_lda) in LENGTHS.items():
        found = {n: in_child(errors_of, kind, n, 10, methods, n_seeds) for n in sizes}
        report.text(f"{kind[0].upper()}{kind[1:]}:")
        errors = {name: [mean(found[n][name][0]) for n in sizes] for name in methods}
        report.table(
            ["method", *(f"{n} documents" for n in sizes)],
            [[name, *(shown(value, ".3f") for value in errors[name])] for name in methods],
        )
        expected = {"cumulants": of_cumulants, "LDA moments": of_lda}
        report.goals(*cell_goals(f"{kind}: ", (
            (f"{name}, {n} documents", errors[name][i], expected[name][i])
            for name in expected for i, n in enumerate(sizes)
        )))  # fmt: skip
        best = min(errors["cumulants"][-1], errors["LDA moments"][-1])
        report.goals((f"{kind}: default over the better moments", errors["default"][-1] / best,
                      1.0 + TOLERANCE, "<="))  # fmt: skip


def concentrations(report, options):
    """A wrong sum of concentrations."""
    report.section("A wrong sum of concentrations")
    n_seeds, n = n_seeds_of(options), 1000 if options.quick else 20_000
    methods = {f"c0={c0:g}": {"moments": "lda", "c0": c0, "weighting": "equal"} for c0 in GIVEN_C0}
    methods |= {"c0=None": {"moments": "lda", "c0": None, "weighting": "equal"}}
    methods |= {name: METHODS[name] for name in ("cumulants", "LDA moments")}
    report.text(
        f"""LDA moments need the sum of concentrations, which is 1 here: errors where another is
        given, where it is found from the corpus (None), and of cumulants, which need none. {n}
        documents, means of {n_seeds} draws."""
    )
    kinds = {"all of 200": "all of 200", "lengths that vary": "gp"}
    errors = {
        label: {name: mean(values) for name, (values, _) in in_child(
            errors_of, kind, n, 10, methods, n_seeds).items()}
        for label, kind in kinds.items()
    }  # fmt: skip
    report.table(
        ["moments", *kinds],
        [[name, *(shown(errors[label][name], ".3f") for label in kinds)] for name in methods],
    )
    for label in kinds:
        report.goals(*cell_goals(f"{label}: ", (
            (name, errors[label][name], expected)
            for name, expected in zip(methods, C0_EXPECTED[label])
        )))  # fmt: skip
        report.goals((f"{label}: c0 found over c0 given", errors[label]["c0=None"]
                      / errors[label]["c0=1"], 1.0 + TOLERANCE, "<="))  # fmt: skip
