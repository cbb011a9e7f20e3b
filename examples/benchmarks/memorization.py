"""Memorization in networks: real and random labels, and label errors compared with cleanlab.

The parts ``usps`` and ``labels`` read USPS and covtype from the folder that SKLEARN_FW_DATA names;
the latter needs cleanlab (extra ``bench``).
"""

import numpy as np
from _report import Clock, Repeats, Skip, data_path, in_child, main, medians, quietly
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_fw.inspection import (
    corrupt_inputs,
    corrupt_labels,
    example_difficulty,
    loss_sensitivity,
    memorization_curve,
)

ABOUT = """
Experiments similar to those of Arpit et al. (ICML 2017), with data and networks of moderate size:
networks trained on real, partly random and random labels; sensitivity of the loss; and detection of
label errors by the difficulty of samples, compared with confident learning (cleanlab) on
cross-validated probabilities of the same classifiers.
"""
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def usps_rows(n):
    """The first rows of the training part, and rows of the test part, from 0 to 1."""
    with np.load(data_path("usps/usps.npz")) as file:
        X, X_test = (file[name].astype(np.float64) for name in ("X_train", "X_test"))
        y, y_test = (file[name].ravel().astype(int) for name in ("y_train", "y_test"))
    low, high = X.min(), X.max()
    return (X[:n] - low) / (high - low), y[:n], (X_test[:1000] - low) / (high - low), y_test[:1000]


def measure_noise(X, y, X_valid, y_valid, radius, seeds, max_epochs):
    """For each seed and share: accuracies, epochs and the ratio of critical samples."""
    found = []
    for seed in range(seeds):
        curve = memorization_curve(
            MLPClassifier((256,), learning_rate_init=0.003), X, y, X_valid, y_valid,
            fractions=SHARES, max_epochs=max_epochs, radius=radius, random_state=seed,
        )  # fmt: skip
        columns = {
            "train": curve.train_accuracy, "valid": curve.valid_accuracy,
            "best": curve.best_valid_accuracy, "epochs": curve.epochs_to_fit,
            "critical": curve.critical_ratio,
        }  # fmt: skip
        found.append({name: values[:, 0].tolist() for name, values in columns.items()})
    return found


def noise_table(report, title, found, max_epochs):
    def column(name, k):
        return Repeats(run[name][k] for run in found)

    def epochs_of(k):
        epochs = column("epochs", k)
        return epochs if np.all(np.isfinite(epochs.values)) else None

    report.section(title)
    report.records(
        "labels",
        {f"{share:.0%} random": k for k, share in enumerate(SHARES)},
        ("training accuracy", lambda k: column("train", k), ".3f"),
        ("validation accuracy", lambda k: column("valid", k), ".3f"),
        ("best validation accuracy", lambda k: column("best", k), ".3f"),
        ("epochs to fit all rows", epochs_of, ".0f"),
        ("critical samples of validation rows", lambda k: column("critical", k), ".3f"),
    )
    report.text(f""""--" means that some run does not fit all rows within {max_epochs} epochs.""")
    middle = [float(column("critical", k)) for k in range(len(SHARES))]
    epochs = [float(column("epochs", k)) for k in range(len(SHARES))]
    drop = [
        float(np.median([run["best"][k] - run["valid"][k] for run in found]))
        for k in range(1, len(SHARES) - 1)
    ]
    report.goals(
        ("increases of critical samples with the fraction of random labels",
         float(np.sum(np.diff(middle) > 0)), 4.0, ">="),
        ("critical samples, random / real labels", middle[-1] / max(middle[0], 1e-3), 1.5, ">="),
        ("epochs to fit, random / real labels", epochs[-1] / epochs[0], 1.5, ">="),
        ("smallest drop of validation accuracy after its best, 20 to 80 % random", min(drop),
         0.0, ">="),
    )  # fmt: skip


def digits_part(report, options):
    X, y = digits()
    seeds, most = (1, 60) if options.quick else (3, 400)
    n = 500 if options.quick else 1000
    found = in_child(measure_noise, X[:n], y[:n], X[1000:], y[1000:], 0.05, seeds, most)
    noise_table(report, f"Digits: {n:,} training rows, 256 hidden units", found, most)


def usps_part(report, options):
    seeds, most = (1, 40) if options.quick else (3, 200)
    n = 500 if options.quick else 2000
    X, y, X_test, y_test = usps_rows(n)
    found = in_child(measure_noise, X, y, X_test, y_test, 0.05, seeds, most)
    noise_table(report, f"USPS: {n:,} training rows, 256 hidden units", found, most)


# ---- sensitivity ---------------------------------------------------------------------------------


def measure_gini(seeds, n_steps):
    """Gini coefficients of the loss sensitivity on real data, random inputs and random labels."""
    X, y = digits()
    X, y = X[:1000], y[:1000]
    network = MLPClassifier((16, 16), solver="sgd", learning_rate_init=0.1, momentum=0.0)
    rows = []
    for seed in range(seeds):
        sets = {
            "real": (X, y),
            "random inputs": (corrupt_inputs(X, 1.0, random_state=seed).X, y),
            "random labels": (X, corrupt_labels(y, 1.0, random_state=seed).y),
        }
        given = {"n_steps": n_steps, "eval_every": n_steps // 20, "batch_size": 50}
        row = {
            name: loss_sensitivity(network, *pair, random_state=seed, **given).gini_mean
            for name, pair in sets.items()
        }
        given["eval_every"] = n_steps // 5
        for name in ("real", "random inputs"):
            matrix = loss_sensitivity(
                network, *sets[name], by_class=True, random_state=seed, **given
            ).matrix
            own = float(np.diag(matrix).mean())
            row[f"diagonal, {name}"] = own / float((matrix.sum() - np.trace(matrix)) / 90)
        rows.append(row)
    return rows


def sensitivity_part(report, options):
    seeds, n_steps = (1, 100) if options.quick else (3, 1000)
    rows = in_child(measure_gini, seeds, n_steps)
    report.section(f"Loss sensitivity: two layers of 16 units, {n_steps} steps")
    column = {key: Repeats(row[key] for row in rows) for key in rows[0]}
    report.records(
        "data",
        {kind: kind for kind in ("real", "random inputs", "random labels")},
        ("Gini coefficient", lambda kind: column[kind], ".3f"),
        ("own class / other classes", lambda kind: column.get(f"diagonal, {kind}"), ".2f"),
    )
    ratio = column["real"] / column["random inputs"]
    report.goals(("Gini coefficient, real data / random inputs", ratio, 1.0, ">="))


def classifiers():
    return {
        "MLPClassifier": make_pipeline(StandardScaler(), MLPClassifier()),
        "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "RandomForestClassifier": RandomForestClassifier(),
    }


def label_sets(n):
    """Name: rows and labels."""
    found = {"digits": digits(), "wine": load_wine(return_X_y=True)}
    found["breast cancer"] = load_breast_cancer(return_X_y=True)
    found["USPS"] = usps_rows(n)[:2]
    with np.load(data_path("covtype/covtype.npz")) as file:
        X, y = file["X"], file["y"]
    rows = np.random.RandomState(0).permutation(len(y))[:n]
    found["covtype"] = X[rows].astype(np.float64), y[rows].astype(int)
    return found


def find_labels(model, X, y, share, seed, n_runs):
    """Areas under the curve and CPU seconds of both ways."""
    from cleanlab.rank import get_label_quality_scores

    noisy = corrupt_labels(y, share, random_state=seed)
    with Clock() as ours:
        found = quietly(example_difficulty, model, X, noisy.y, n_runs=n_runs, random_state=seed)
    with Clock() as theirs:
        p = quietly(cross_val_predict, model, X, noisy.y, cv=5, method="predict_proba")
        codes = np.searchsorted(np.unique(noisy.y), noisy.y)
        quality = get_label_quality_scores(codes, p)
    scores = {"ours": found.score, "rate": found.error_rate, "theirs": -quality}
    areas = {who: float(roc_auc_score(noisy.changed, score)) for who, score in scores.items()}
    return areas | {"seconds": ours.cpu, "their seconds": theirs.cpu}


def labels_part(report, options):
    try:
        import cleanlab  # noqa: F401
    except ImportError:
        raise Skip("cleanlab is not installed: it is in the extra bench") from None
    seeds, n_runs, n = (1, 10, 500) if options.quick else (3, 50, 2000)
    sets, rows, ahead = label_sets(n), {}, []
    for name, (X, y) in sets.items():
        for kind, model in classifiers().items():
            found = [in_child(find_labels, model, X, y, 0.2, s, n_runs) for s in range(seeds)]
            row = rows[f"{name}, {kind}"] = medians(found)
            ahead.append((name, kind, float(row["ours"]), float(row["theirs"])))
    report.section("Label errors: area under the ROC curve, 20 % random labels")
    report.records(
        "data and classifier", rows, ("score", "ours", ".4f"), ("error rate", "rate", ".4f"),
        ("confident learning", "theirs", ".4f"), ("CPU s", "seconds", ".1f"),
        ("CPU s, confident learning", "their seconds", ".1f"),
    )  # fmt: skip
    on_digits = [ours - theirs for name, _, ours, theirs in ahead if name == "digits"]
    report.goals(
        ("AUC minus confident learning, digits, smallest", min(on_digits), 0.0, ">="),
        (
            "AUC minus confident learning, all data sets, smallest",
            min(o - t for _, _, o, t in ahead),
            -0.005,
            ">=",
        ),
    )
    lost = [f"{name} with {kind}" for name, kind, ours, theirs in ahead if ours < theirs]
    if lost:
        report.loses(f"Confident learning has a larger AUC on {', '.join(lost)}.")
    report.loses(f"Confident learning fits 5 models, ``example_difficulty`` {n_runs}.")


if __name__ == "__main__":
    parts = {
        "digits": digits_part, "usps": usps_part, "sensitivity": sensitivity_part,
        "labels": labels_part,
    }  # fmt: skip
    title = "Memorization and label errors"
    raise SystemExit(main("memorization", title, ABOUT, parts, peers=("cleanlab",)))
