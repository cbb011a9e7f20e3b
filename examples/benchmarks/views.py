"""Shared factors of two views: loadings found, beside classical methods and stacked views.

    python3 dev.py bench views [--quick] [--write]

The sentence pairs are those of the folder ``word_alignment`` in the folder that SKLEARN_FW_DATA
names; the code corpus is made of the Python packages that are installed.
"""

import warnings
from functools import partial

import numpy as np
from _report import Clock, Repeats, in_child, load_or_skip, main, shown

ABOUT = """
How well do moment estimators find the loadings of factors that two views share, and what do they
cost, beside canonical correlation, partial least squares and factorizations of stacked views?

The error of loadings is the mean l1 distance of true and found columns in the best order, from 0 to
1; smaller is better. Seconds are those of CPU of one fit, compilation excluded. All methods have
their defaults, with the true number of shared factors; stacked methods get as many as the views
have together, up to the number of columns, and their best columns count.
"""
SIZES = (500, 1000, 2000, 5000, 10_000)
N_SEEDS = 5
# Table, kind of views, and settings of its generator.
PROBLEMS = {
    "counts, 20 features": ("counts", {}),
    "counts, 2 features": ("counts", {
        "n_features": 2, "n_components": 1, "n_private": 2, "shape": 0.1,
        "scale": 100.0, "private_scale": 100.0}),
    "counts, under-complete": ("counts", {"n_components": 5, "n_private": 5}),
    "counts, 100 features": ("counts", {
        "n_features": 100, "n_components": 20, "n_private": 100}),
    "numbers, one factor": ("numbers", {"n_components": 1, "n_private": 1}),
    "numbers, ten factors": ("numbers", {}),
    "numbers, 100 features": ("numbers", {
        "n_features": 100, "n_components": 20, "n_private": 50}),
    "numbers and counts": ("mixed", {}),
}  # fmt: skip
KINDS = {"counts": "discrete", "numbers": "nongaussian", "mixed": "mixed"}
OURS = "ours"
# Mean errors of a prototype, written in NumPy after the paper, on other draws of the same recipes.
EXPECTED = {
    "counts, 20 features": {
        OURS: dict(zip(SIZES, (0.240, 0.173, 0.125, 0.081, 0.051))),
        "ours, jdtm": dict(zip(SIZES, (0.241, 0.172, 0.124, 0.080, 0.050))),
        "ours, generalized": dict(zip(SIZES, (0.241, 0.172, 0.124, 0.079, 0.050))),
        "ours, spectral": dict(zip(SIZES, (0.421, 0.370, 0.326, 0.271, 0.223))),
        "stacked DiscreteICA": dict(zip(SIZES, (0.221, 0.190, 0.195, 0.186, 0.152))),
    },
    "counts, 2 features": {
        OURS: {500: 0.004, 2000: 0.007, 10_000: 0.001},
        "stacked DiscreteICA": {500: 0.085, 2000: 0.215, 10_000: 0.254},
    },
    "counts, under-complete": {
        OURS: {1000: 0.107, 10_000: 0.030},
        "stacked DiscreteICA": {1000: 0.047, 10_000: 0.018},
    },
    "numbers, one factor": {OURS: {500: 0.018, 10_000: 0.005}},
    "numbers, ten factors": {
        OURS: {1000: 0.102, 5000: 0.052, 10_000: 0.027},
        "ours, one-sided": {1000: 0.190, 5000: 0.095, 10_000: 0.068},
        "ours, both": {5000: 0.086, 10_000: 0.058},
        "ours, spectral": {1000: 0.388, 10_000: 0.362},
    },
    "numbers and counts": {OURS: {1000: 0.134, 5000: 0.054, 20_000: 0.030}},
}
TOLERANCE = 0.15  # of means of five draws
DELTAS = 0.01, 0.1, 1.0


def contenders(kind, n_components, n_private, n_features):
    """Name: estimator, or a function from both views to loadings."""
    from sklearn.cross_decomposition import CCA, PLSCanonical

    from sklearn_fw.decomposition import MultiViewCCA

    cls = partial(MultiViewCCA, kind=KINDS[kind])
    found = {OURS: cls(n_components), "ours, spectral": cls(n_components, algorithm="spectral")}
    if kind == "counts":
        found["ours, jdtm"] = cls(n_components, shear="jdtm")
        found["ours, generalized"] = cls(n_components, moments="generalized")
    if kind == "numbers":
        found["ours, one-sided"] = cls(n_components, points="one_sided")
        found["ours, both"] = cls(n_components, points="both")
    found["CCA"] = CCA(n_components)
    found["PLSCanonical"] = PLSCanonical(n_components)
    if kind == "counts":
        size = min(n_components + 2 * n_private, 2 * n_features)
        found["stacked NMF"] = lambda X, y: stacked_nmf(X, y, size)
        found["stacked DiscreteICA"] = lambda X, y: stacked_topics(X, y, size)
    if kind == "numbers":
        size = min(n_components + 2 * n_private, 2 * n_features)
        found["stacked JADE"] = lambda X, y: stacked_jade(X, y, size)
    return found


def stacked_nmf(X, y, size):
    from sklearn.decomposition import NMF

    model = NMF(size, solver="mu", beta_loss="kullback-leibler", init="random", random_state=0)
    return split(model.fit(np.hstack([X, y])).components_, X.shape[1])


def stacked_topics(X, y, size):
    from sklearn_fw.decomposition import DiscreteICA

    return split(DiscreteICA(size, moments="gp").fit(np.hstack([X, y])).components_, X.shape[1])


def stacked_jade(X, y, size):
    """Fourth cumulants of whitened data, diagonalised together (Cardoso, Souloumiac, 1993)."""
    from sklearn_fw.decomposition import joint_diagonalize

    Z = np.hstack([X, y])
    left, values, right = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    size = min(size, int(np.sum(values > 1e-10 * values[0])))
    H, back = left[:, :size] * np.sqrt(len(Z)), (right[:size].T * values[:size]) / np.sqrt(len(Z))
    matrices, identity = [], np.eye(size)
    for i in range(size):
        for j in range(i + 1):
            pair = np.outer(identity[i], identity[j])
            Q = (H * (H[:, i] * H[:, j])[:, None]).T @ H / len(H) - pair - pair.T
            matrices.append((Q - (i == j) * identity) * (1.0 if i == j else np.sqrt(2.0)))
    basis = joint_diagonalize(matrices, tol=1e-4).basis
    return split((back @ basis).T, X.shape[1])


def split(components, size):
    """Columns of both views, those without a word of one of them left out."""
    views = components.T[:size], components.T[size:]
    used = np.all([np.any(view != 0.0, axis=0) for view in views], axis=0)
    return views[0][:, used], views[1][:, used]


def make(kind, n_samples, seed, settings):
    from sklearn_fw.datasets import make_two_views

    settings = {"n_private": 10, "shape": 0.1} | settings if kind == "numbers" else settings
    return make_two_views(n_samples, kind=KINDS[kind], random_state=seed, **settings)


def errors_of(kind, n_samples, settings, n_seeds):
    """{contender: (errors, seconds)}; None where it found too few factors."""
    from sklearn_fw.metrics import multiview_l1_error

    warnings.simplefilter("ignore")
    found = {}
    for seed in range(-1, n_seeds):  # the first one compiles
        data = make(kind, n_samples if seed >= 0 else 200, max(seed, 0), settings)
        shape = data.x_loadings.shape
        n_private = settings.get("n_private", 10 if kind == "numbers" else 20)
        for name, method in contenders(kind, shape[1], n_private, shape[0]).items():
            with Clock() as clock:
                try:
                    if callable(method):
                        loadings = method(data.X, data.y)
                    else:
                        method.fit(data.X, data.y)
                        loadings = method.x_loadings_, method.y_loadings_
                except ValueError:  # more factors than the moments show
                    loadings = None
            if seed < 0:
                continue
            error = None
            if loadings is not None and loadings[0].shape[1] >= shape[1]:
                error = multiview_l1_error(
                    data.x_loadings, data.y_loadings, *loadings, signed=kind != "counts"
                )
            errors, seconds = found.setdefault(name, ([], []))
            errors.append(error)
            seconds.append(clock.cpu)
    return found


def mean(values):
    return None if None in values else float(np.mean(values))


def one_table(report, name, sizes, n_seeds):
    kind, settings = PROBLEMS[name]
    results = {n: in_child(errors_of, kind, n, settings, n_seeds) for n in sizes}
    names = list(results[sizes[0]])
    report.text(f"{name[0].upper()}{name[1:]}, mean errors by number of samples:")
    rows = [[n, *(shown(mean(results[n][c][0]), ".3f") for c in names)] for n in sizes]
    report.table(["samples", *names], rows)
    last = sizes[-1]
    report.text(f"CPU seconds of a fit to {last} samples:")
    seconds = [shown(Repeats(results[last][c][1]), ".3f") for c in names]
    report.table(["samples", *names], [[last, *seconds]])
    goals = [
        (f"{name}, {of}, {n} samples", mean(results[n][of][0]), (1.0 + TOLERANCE) * value, "<=")
        for of, cells in EXPECTED.get(name, {}).items()
        for n, value in cells.items()
        if n in results
    ]
    if goals:
        report.goals(*goals)
    ahead = [
        c for c in names
        if not c.startswith("ours") and (other := mean(results[last][c][0])) is not None
        and other < mean(results[last][OURS][0])
    ]  # fmt: skip
    if ahead:
        report.loses(f"{name}, {last} samples: {', '.join(ahead)} found better loadings.")


def synthetic(kind):
    def part(report, options):
        report.section({"counts": "Counts", "numbers": "Numbers", "mixed": "Mixed"}[kind])
        report.text(
            f"{N_SEEDS} draws of loadings and samples; goals are the errors of a prototype and "
            f"{TOLERANCE:.0%}."
        )
        for name, (of, _) in PROBLEMS.items():
            if of == kind:
                sizes = SIZES + (20_000,) * (kind == "mixed")
                one_table(report, name, (500,) if options.quick else sizes,
                          2 if options.quick else N_SEEDS)  # fmt: skip

    return part


def counts(report, options):
    """Loadings of generated counts."""
    synthetic("counts")(report, options)


def numbers(report, options):
    """Loadings of generated numbers with signs."""
    synthetic("numbers")(report, options)


def mixed(report, options):
    """Loadings of one view of each kind."""
    synthetic("mixed")(report, options)


# ---- settings ------------------------------------------------------------------------------------


def errors_of_settings(name, n_samples, key, values, n_seeds):
    """Mean error and mean held-out R^2 of a model of views for each value of one parameter."""
    from sklearn_fw.decomposition import MultiViewCCA
    from sklearn_fw.metrics import multiview_l1_error

    warnings.simplefilter("ignore")
    kind, settings = PROBLEMS[name]
    cls = partial(MultiViewCCA, kind=KINDS[kind])
    errors, scores = np.zeros(len(values)), np.zeros(len(values))
    for seed in range(n_seeds):
        data = make(kind, 2 * n_samples, seed, settings)
        given = dict(zip(("X", "y"), (data.X[:n_samples], data.y[:n_samples])))
        for i, value in enumerate(values):
            model = cls(data.x_loadings.shape[1], **value if key is None else {key: value})
            model.fit(**given)
            errors[i] += multiview_l1_error(
                data.x_loadings, data.y_loadings, model.x_loadings_, model.y_loadings_,
                signed=kind != "counts",
            ) / n_seeds  # fmt: skip
            scores[i] += model.score(data.X[n_samples:], data.y[n_samples:]) / n_seeds
    return errors.tolist(), scores.tolist()


def deltas(report, options):
    """Exponents of generalized covariances."""
    report.section("Size of exponents")
    n, n_seeds = (500, 2) if options.quick else (5000, N_SEEDS)
    report.text(
        f"""Errors of generalized covariances by the standard deviation of exponents, ``delta``;
        {n} samples, means of {n_seeds} draws."""
    )
    rows = []
    for name in ("counts, 20 features", "numbers, ten factors", "numbers and counts"):
        values = [{"moments": "generalized", "delta": delta} for delta in DELTAS]
        rows.append([name, *in_child(errors_of_settings, name, n, None, values, n_seeds)[0]])
    report.table(["views", *map(str, DELTAS)],
                 [[row[0], *(shown(v, ".4f") for v in row[1:])] for row in rows])  # fmt: skip
    for row in rows[:1]:
        report.goals((f"{row[0]}: largest error over the smallest", max(row[1:]) / min(row[1:]),
                      1.05, "<="))  # fmt: skip


RIDGES = 0.0, 1e-3, 1e-2, 1e-1, 0.3, 1.0, 3.0, "auto"


def ridges(report, options):
    """What is added to variances before a view is predicted."""
    report.section("Ridge")
    sizes, n_seeds = ((100,), 1) if options.quick else ((50, 200, 1000, 5000), 3)
    report.text(
        f"""R² of the second view on as many new samples as were learned from, less that of the
        best ridge of the row ("regret"); means of {n_seeds} draws."""
    )
    rows = []
    for name in PROBLEMS:
        for n in sizes:
            try:
                scores = in_child(errors_of_settings, name, n, "ridge", RIDGES, n_seeds)[1]
            except ValueError:  # more factors than so few samples show
                continue
            rows.append([f"{name}, {n} samples", max(scores), *(max(scores) - s for s in scores)])
    report.table(["views", "best R²", *map(str, RIDGES)],
                 [[row[0], *(shown(v, ".3f") for v in row[1:])] for row in rows])  # fmt: skip
    largest = [max(row[2 + i] for row in rows) for i in range(len(RIDGES))]
    report.table(["ridge", "largest regret"],
                 [[str(r), shown(v, ".3f")] for r, v in zip(RIDGES, largest)])  # fmt: skip
    report.goals(("largest regret of the default over that of the best fixed ridge",
                  largest[-1] / min(largest[:-1]), 1.0, "<="))  # fmt: skip


# ---- text ----------------------------------------------------------------------------------------


def rank_of_partners(x_scores, y_scores):
    """Mean reciprocal rank of the true partner by the cosine of scaled scores."""
    views = []
    for scores in (x_scores, y_scores):
        scores = scores - scores.mean(axis=0)
        scores = scores / np.maximum(scores.std(axis=0), 1e-12)
        views.append(scores / np.maximum(np.linalg.norm(scores, axis=1, keepdims=True), 1e-12))
    similar = views[0] @ views[1].T
    own = np.diag(similar)[:, None]
    # Ties, above all rows of zeros, count half.
    ranks = 1.0 + np.sum(similar > own, axis=1) + 0.5 * (np.sum(similar == own, axis=1) - 1)
    return float(np.mean(1.0 / ranks))


def frequent(counts, n_words):
    total = np.asarray(counts.sum(axis=0)).ravel()
    return np.argsort(-total, kind="stable")[:n_words]


def corpus_results(views, n_components, n_words, names):
    """{method: (rank of partners, held-out R^2, seconds, tops)} on the most frequent words."""
    from sklearn.cross_decomposition import CCA, PLSCanonical

    from sklearn_fw.decomposition import MultiViewCCA

    warnings.simplefilter("ignore")
    X, x_words, y, y_words = views
    keep = [frequent(view, n_words) if n_words else np.arange(view.shape[1]) for view in (X, y)]
    X, y = X[:, keep[0]], y[:, keep[1]]
    order = np.random.RandomState(0).permutation(X.shape[0])
    test, train = order[: X.shape[0] // 5], order[X.shape[0] // 5 :]
    makers = {
        OURS: lambda: MultiViewCCA(n_components, kind="discrete", transform_method="lmmse"),
        "CCA": lambda: CCA(n_components),
        "PLSCanonical": lambda: PLSCanonical(n_components),
    }
    MultiViewCCA(1, kind="discrete").fit(X[train[:500]], y[train[:500]])  # compiles
    found = {}
    for name in names:
        model = makers[name]()
        data = [X[train], y[train], X[test], y[test]]
        if name != OURS:  # they take no sparse matrices
            data = [part.toarray() for part in data]
        with Clock() as clock:
            model.fit(*data[:2])
        rank = rank_of_partners(*model.transform(*data[2:]))
        words = [own[kept] for own, kept in zip((x_words, y_words), keep)]
        tops = top_words(model, words, n_components)
        found[name] = (rank, float(model.score(*data[2:])), clock.cpu, tops)
    return found


def top_words(model, words, n_components):
    """The five words of largest loadings of both views, for each component."""
    return [
        [" ".join(own[np.argsort(-D[:, k], kind="stable")[:5]]) for own, D in zip(words, (
            model.x_loadings_, model.y_loadings_))]
        for k in range(n_components)
    ]  # fmt: skip


def report_corpus(report, views, n_components, n_words):
    n, sizes = views[0].shape[0], (views[0].shape[1], views[2].shape[1])
    report.text(
        f"""{n} pairs, {sizes[0]} and {sizes[1]} words, {n_components} factors; a fifth of the pairs
        is held out. The rank is the mean reciprocal rank of the true partner of a held-out row
        among all by the cosine of scores; R² is the mean of all words of the second view. Peers
        take dense matrices, so they get the {n_words} most frequent words of each view."""
    )
    rows = []
    full = in_child(corpus_results, views, n_components, None, [OURS])
    few = in_child(corpus_results, views, n_components, n_words, [OURS, "CCA", "PLSCanonical"])
    for label, found in (("all words", full), (f"{n_words} words", few)):
        for name, (rank, r2, seconds, _) in found.items():
            rows.append([f"{name}, {label}", shown(rank, ".3f"), shown(r2, ".3f"),
                         shown(seconds, ".2f")])  # fmt: skip
    report.table(["method", "rank", "R²", "CPU seconds"], rows)
    ahead = [c for c in few if few[c][0] > few[OURS][0]]
    if ahead:
        report.loses(f"Ranks of partners, {n_words} words: {', '.join(ahead)} are ahead.")
    report.text("Words of the factors with the largest covariance:")
    report.table(["first view", "second view"], full[OURS][3])


def docstrings(report, options):
    """Docstrings and the code that they describe."""
    from _view_corpora import docstring_views

    report.section("Docstrings and identifiers")
    report.text(
        """Functions, classes and modules of the standard library, NumPy, SciPy and scikit-learn as
        installed: words of the docstring, and names and attributes in the code."""
    )
    report_corpus(report, docstring_views(1500 if options.quick else None), 10, 300)


def sentences(report, options):
    """Sentences of the Canadian Hansards in English and French."""
    from _view_corpora import sentence_views

    views = load_or_skip(sentence_views)
    report.section("English and French sentences")
    report.text("Words of more than three letters; few sentences for moments of third order.")
    report_corpus(report, views, 5, 100)


if __name__ == "__main__":
    parts = {
        "counts": counts, "numbers": numbers, "mixed": mixed, "docstrings": docstrings,
        "sentences": sentences, "deltas": deltas, "ridges": ridges,
    }  # fmt: skip
    raise SystemExit(main("views", "Two views", ABOUT, parts))
