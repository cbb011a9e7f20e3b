"""What networks memorise: real and random labels, widths, and wrong labels beside cleanlab.

    python3 dev.py bench memorization [--quick] [--write]

The parts ``usps`` and ``labels`` read USPS and covtype from the folder that SKLEARN_FW_DATA names;
the latter needs cleanlab (extra ``bench``).
"""

import warnings

import numpy as np
from _report import Clock, Repeats, Skip, data_path, in_child, main, shown
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
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

NAME = "memorization"
TITLE = "What networks memorise"
ABOUT = """
The experiments of Arpit et al. (ICML 2017) in kind, on data and networks of scikit-learn's size:
networks trained on real, partly random and random labels; how wide they must be; and how well wrong
labels are found by the difficulty of rows, beside confident learning (cleanlab) with the
cross-validated probabilities of the same classifiers.
"""
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def usps_rows(n):
    """The first rows of the training part, and rows of the test part, from 0 to 1."""
    with np.load(data_path("usps/usps.npz")) as file:
        names = set(file.files)
        first, second = ("X_train", "y_train") if "X_train" in names else ("X", "y")
        X, y = file[first].astype(np.float64), file[second].ravel().astype(int)
        X_test, y_test = (
            (file["X_test"].astype(np.float64), file["y_test"].ravel().astype(int))
            if "X_test" in names else (X[n:], y[n:])
        )  # fmt: skip
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
        found.append(
            {
                "train": curve.train_accuracy[:, 0].tolist(),
                "valid": curve.valid_accuracy[:, 0].tolist(),
                "best": curve.best_valid_accuracy[:, 0].tolist(),
                "epochs": curve.epochs_to_fit[:, 0].tolist(),
                "critical": curve.critical_ratio[:, 0].tolist(),
            }
        )
    return found


def noise_table(report, title, found, max_epochs):
    def column(name, k):
        return Repeats(run[name][k] for run in found)

    report.section(title)
    report.table(
        [
            "labels", "training accuracy", "validation accuracy", "its best epoch",
            "epochs to fit all rows", "critical samples of validation rows",
        ],
        [
            [
                f"{share:.0%} random",
                shown(column("train", k), ".3f"), shown(column("valid", k), ".3f"),
                shown(column("best", k), ".3f"),
                shown(column("epochs", k), ".0f")
                if np.all(np.isfinite([run["epochs"][k] for run in found])) else None,
                shown(column("critical", k), ".3f"),
            ]
            for k, share in enumerate(SHARES)
        ],
    )  # fmt: skip
    report.text(f"""A dash says that not all rows were fitted within {max_epochs} epochs in every
        run.""")
    middle = [float(np.median([run["critical"][k] for run in found])) for k in range(len(SHARES))]
    epochs = [float(np.median([run["epochs"][k] for run in found])) for k in range(len(SHARES))]
    drop = [
        float(np.median([run["best"][k] - run["valid"][k] for run in found]))
        for k in range(1, len(SHARES) - 1)
    ]
    report.goals(
        ("steps of the share where critical samples get more",
         float(np.sum(np.diff(middle) > 0)), 4.0, ">="),
        ("critical samples of random labels over those of real ones",
         middle[-1] / max(middle[0], 1e-3), 1.5, ">="),
        ("epochs to fit random labels over those for real ones", epochs[-1] / epochs[0], 1.5,
         ">="),
        ("least fall of the validation accuracy after its best, 20 to 80 % random", min(drop),
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
    kinds = ("real", "random inputs", "random labels")
    report.table(
        ["data", "Gini coefficient", "own class over others"],
        [
            [
                kind, shown(Repeats(row[kind] for row in rows), ".3f"),
                shown(Repeats(row[f"diagonal, {kind}"] for row in rows), ".2f")
                if f"diagonal, {kind}" in rows[0] else None,
            ]
            for kind in kinds
        ],
    )  # fmt: skip
    middle = {kind: float(np.median([row[kind] for row in rows])) for kind in kinds}
    report.goals(
        ("Gini coefficient of real data over that of random inputs",
         middle["real"] / middle["random inputs"], 1.0, ">="),
    )  # fmt: skip


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
    folder = data_path("usps/usps.npz").parents[1] / "covtype"
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            X, y = (file[name] for name in ("X", "y"))
            rows = np.random.RandomState(0).permutation(len(y))[:n]
            found["covtype"] = X[rows].astype(np.float64), y[rows].astype(int)
        break
    return found


def find_labels(model, X, y, share, seed, n_runs):
    """Areas under the curve and CPU seconds of both ways."""
    from cleanlab.rank import get_label_quality_scores

    noisy = corrupt_labels(y, share, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # rare classes of covtype, in folds
        with Clock() as ours:
            found = example_difficulty(model, X, noisy.y, n_runs=n_runs, random_state=seed)
        with Clock() as theirs:
            p = cross_val_predict(model, X, noisy.y, cv=5, method="predict_proba")
            codes = np.searchsorted(np.unique(noisy.y), noisy.y)
            quality = get_label_quality_scores(codes, p)
    return {
        "ours": float(roc_auc_score(noisy.changed, found.score)),
        "rate": float(roc_auc_score(noisy.changed, found.error_rate)),
        "theirs": float(roc_auc_score(noisy.changed, -quality)),
        "seconds": ours.cpu,
        "their seconds": theirs.cpu,
    }


def labels_part(report, options):
    try:
        import cleanlab  # noqa: F401
    except ImportError:
        raise Skip("cleanlab is not installed: it is in the extra bench") from None
    seeds, n_runs, n = (1, 10, 500) if options.quick else (3, 50, 2000)
    sets, rows, ahead = label_sets(n), [], []
    for name, (X, y) in sets.items():
        for kind, model in classifiers().items():
            found = [in_child(find_labels, model, X, y, 0.2, s, n_runs) for s in range(seeds)]
            column = {key: Repeats(run[key] for run in found) for key in found[0]}
            rows.append(
                [
                    f"{name}, {kind}", shown(column["ours"], ".4f"), shown(column["rate"], ".4f"),
                    shown(column["theirs"], ".4f"), shown(column["seconds"], ".1f"),
                    shown(column["their seconds"], ".1f"),
                ]
            )  # fmt: skip
            pair = [float(np.median(column[key].values)) for key in ("ours", "theirs")]
            ahead.append((name, kind, *pair))
    report.section("Wrong labels: area under the curve, 20 % of the labels random")
    report.table(
        ["data and classifier", "score", "error rate", "confident learning", "CPU s",
         "CPU s, confident learning"],
        rows,
    )  # fmt: skip
    on_digits = [ours - theirs for name, _, ours, theirs in ahead if name == "digits"]
    report.goals(
        ("least lead over confident learning on digits", min(on_digits), 0.0, ">="),
        ("least lead on all data sets", min(o - t for _, _, o, t in ahead), -0.005, ">="),
    )
    lost = [f"{name} with {kind}" for name, kind, ours, theirs in ahead if ours < theirs]
    if lost:
        report.loses("confident learning ranks wrong labels better on " + ", ".join(lost))
    report.loses("confident learning fits 5 models, the difficulty of rows many more")


PARTS = {
    "digits": digits_part,
    "usps": usps_part,
    "sensitivity": sensitivity_part,
    "labels": labels_part,
}

if __name__ == "__main__":
    raise SystemExit(main(NAME, TITLE, ABOUT, PARTS, peers=("cleanlab",)))
