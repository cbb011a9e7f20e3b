"""Random fields learned from tables of states, in the benchmark of marginals."""

import numpy as np
from _marginals_contenders import quietly
from _report import Clock, in_child, shown

PSEUDOCOUNTS = (0.1, 1.0, 10.0)
NO_EDGES = np.empty((0, 2), dtype=np.int64)
HIDDEN = 5  # columns of a row of the discretised table
NEIGHBOURS = (1, 15)


def cancer():
    """Three bins for each of 30 measurements; training rows, test rows, hidden entries."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import KBinsDiscretizer

    train, test = train_test_split(load_breast_cancer().data, test_size=0.25, random_state=0)
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="quantile").fit(train)
    train, test = (bins.transform(X).astype(np.int64) for X in (train, test))
    rng = np.random.default_rng(0)
    mask = rng.random(test.shape).argsort(axis=1) < HIDDEN
    return train, test, mask, 3, {}


def digits():
    """Ink or not for each of 64 pixels; a hidden square of 4 x 4."""
    from sklearn_fw.datasets import make_digit_inpainting

    found = make_digit_inpainting()
    return found.X_train, found.X_test, found.mask, 2, {"pixels nearby": found.edges}


TABLES = {"breast cancer": cancer, "digits": digits}


def measure_learned(name, quick):
    """Grid of held-out scores, and test scores and completions of models and rivals."""
    from sklearn.impute import KNNImputer
    from sklearn.model_selection import GridSearchCV

    from sklearn_fw import TRWMarginals
    from sklearn_fw.random_fields import MRFLearner

    train, test, mask, n_states, more = TABLES[name]()
    if quick:
        train, test, mask = train[:200], test[:20], mask[:20]
    holed = np.where(mask, -1, test)
    graphs = {"independent columns": NO_EDGES, "tree": "tree", "complete": "complete", **more}

    def completed(X):
        return float((test == X)[mask].mean())

    grid, rows = [], []
    for title, edges in graphs.items():
        search = GridSearchCV(
            TRWMarginals(learner=MRFLearner(edges, n_states=n_states)),
            {"learner__pseudocount": PSEUDOCOUNTS},
            cv=5,
        )
        with Clock() as clock:
            search.fit(train)
        grid.append([title, *search.cv_results_["mean_test_score"], clock.cpu])
        with Clock() as clock:
            answer = quietly(search.predict, holed)
        rows.append([title, search.score(test), completed(answer), clock.cpu])
    for n_neighbors in NEIGHBOURS:
        with Clock() as clock:
            neighbours = KNNImputer(n_neighbors=n_neighbors).fit(train.astype(float))
            answer = neighbours.transform(np.where(mask, np.nan, test)).round()
        title = f"KNNImputer(n_neighbors={n_neighbors}), rounded"
        rows.append([title, None, completed(answer), clock.cpu])

    # The two choices in one search, as one would do it.
    search = GridSearchCV(
        TRWMarginals(learner=MRFLearner(n_states=n_states)),
        {"learner__edges": ["complete", "tree"], "learner__pseudocount": PSEUDOCOUNTS}, cv=5,
    ).fit(train)  # fmt: skip
    facts = [*train.shape, len(test), n_states, int(mask.sum())]
    return facts, grid, rows, search.best_params_


def learned(report, options):
    """Fields learned from tables."""
    report.section("Learned from a table")
    report.text(
        """Potentials in closed form from training rows, chosen by five-fold cross-validation:
        nats per held-out row, larger is better; for "complete" they are a certified lower bound,
        for the others exact where there are no cycles. Then nats per test row and the share of
        hidden entries completed rightly. scikit-learn has no model of such tables; what completes
        entries there is the mean of nearest neighbours."""
    )
    for name in TABLES:
        facts, grid, rows, best = in_child(measure_learned, name, options.quick)
        n, d, n_test, n_states, n_hidden = facts
        report.text(
            f"""{name}: {n} training and {n_test} test rows of {d} columns with {n_states} states;
            {n_hidden} hidden entries. The search over both chose {best}."""
        )
        report.table(
            ["edges", *(f"pseudocount {c:g}" for c in PSEUDOCOUNTS), "CPU s"],
            [[title, *(shown(float(v), ".3f") for v in values[:-1]), shown(values[-1], ".2f")]
             for title, *values in grid],
        )  # fmt: skip
        report.table(
            ["model", "nats per test row", "completed", "CPU s"],
            [[title, shown(nats, ".3f"), shown(share, ".3f"), shown(seconds, ".2f")]
             for title, nats, share, seconds in rows],
        )  # fmt: skip
        shares = {title: share for title, _, share, _ in rows}
        nearest = max(share for title, share in shares.items() if title.startswith("KNN"))
        if nearest > shares["complete"]:
            report.loses(
                f"{name}: the mean of nearest neighbours completes {nearest:.1%} of the hidden "
                f"entries, the complete graph {shares['complete']:.1%}."
            )
