"""Valid calls of loaders, generators, metrics, preprocessing, task losses and utilities."""

import functools
import gzip
import hashlib
import io
import json
import zipfile
from unittest import mock

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from sklearn_fw import datasets, metrics, preprocessing, random_fields, task_losses
from sklearn_fw.datasets import _conll, _files
from sklearn_fw.datasets._files import Remote
from sklearn_fw.structured import EnumeratedModel, StructuredSVM
from sklearn_fw.utils import Packed, check_structured_estimator

from . import corrupted_files as files
from .calls import Later, estimator, fitting, function, functions, generator, methods

# ---- files ---------------------------------------------------------------------------------------

COLUMNS = "He PRP B-NP\nruns VBZ B-VP\n\nStop VB B-VP\n. . O\n\n" * 3
NETWORK = """network n { }
variable a { type discrete [ 2 ] { x, y }; }
variable b { type discrete [ 2 ] { x, y }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b | a ) { (x) 0.1, 0.9; (y) 0.6, 0.4; }
"""
FIELD = """MARKOV
3
2 2 2
5
1 0
1 1
1 2
2 0 1
2 1 2

2
1.0 2.0
2
0.5 1.5
2
1.0 1.0
4
2.0 1.0 1.0 2.0
4
1.5 0.5 0.5 1.5
"""
PAIRS = [
    {"src_words": ["hear", "!"], "tgt_words": ["bravo", "!"], "alignment": [[1, 1], [0, 0]]},
    {
        "src_words": ["the", "potato"], "tgt_words": ["la", "pomme", "de", "terre"],
        "alignment": [[0, 0]], "possible": [[1, 3], [1, 1], [0, 0]],
    },
]  # fmt: skip
EXACT = {
    "clique_1": {"log_partition": 3.0, "node_marginals": [0.5, 0.5, 0.25, 0.75, 0.5, 0.5]}
}  # fmt: skip
WRITTEN = {"path text code": "a file of that name is written"}


@functools.cache
def folder():
    """A folder with all that the loaders read."""
    home, zipped = files.kept_folder(), gzip.compress(COLUMNS.encode())
    pixels = generator().integers(0, 2, (6, 128), dtype=np.uint8)
    lines = [json.dumps(pair) + "\n" for pair in PAIRS]
    for name, content in {
        "train.txt": COLUMNS, "columns.txt.gz": zipped, "field.uai": FIELD, "net.bif": NETWORK,
        "field.uai.evid": "1 1 1\n", "field.uai.MAR": "MAR\n3 2 0.5 0.5 2 0.25 0.75 2 0.5 0.5\n",
        "conll/train.txt.gz": zipped, "conll/test.txt.gz": zipped,
        "fetched/conll2000/train.txt.gz": zipped, "fetched/conll2000/test.txt.gz": zipped,
        "pairs/en-fr_hansards_train.jsonl": "".join(lines),
        "pairs/en-fr_hansards_valid.jsonl": "".join(lines),
        "letters/letter.data": letters(), "fields/cliques/exact.json": json.dumps(EXACT),
        "fields/cliques/clique_1.uai": FIELD, "compact/ocr/letters.npz": b"",
    }.items():  # fmt: skip
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with zipfile.ZipFile(home / "columns.zip", "w") as archive:
        archive.writestr("columns.txt", COLUMNS)
    np.savez(
        home / "compact" / "ocr" / "letters.npz",
        pixels=np.packbits(pixels, axis=1), labels=np.array([0, 1, 2, 3, 4, 5], np.uint8),
        word=np.array([1, 1, 1, 2, 2, 3], np.int32), test=np.array([0, 0, 0, 1, 1, 0], bool),
    )  # fmt: skip
    return home


def letters():
    pixels, lines, k = generator().integers(0, 2, (5, 128)), [], 0
    for word, text in enumerate(("abc", "no"), start=1):
        for position, letter in enumerate(text, start=1):
            following = -1 if position == len(text) else k + 2
            head = [k + 1, letter, following, word, position, word % 2]
            lines.append("\t".join(map(str, [*head, *pixels[k]])) + "\t\n")
            k += 1
    return "".join(lines)


def without_network(a):
    """`load_conll2000`, with an address where nobody answers."""
    digest = hashlib.sha256(COLUMNS.encode()).hexdigest()
    address = "http://127.0.0.1:9/{}.txt.gz"
    remotes = {p: Remote(address.format(p), 10_000, digest) for p in ("train", "test")}
    no_retries = mock.patch.object(_files, "N_RETRIES", 0)
    with mock.patch.object(_conll, "_REMOTE", remotes), no_retries:
        return datasets.load_conll2000(**a)


def of_files():
    def home(name):
        return lambda: folder() / name

    def of(name):
        return Later(home(name))

    def out(name):
        return Later(lambda: str(files.fresh_folder() / name))

    data = {
        datasets.load_mrf_instances: "fields", datasets.load_word_alignment: "pairs",
    }  # fmt: skip
    read = {
        random_fields.load_bif: "net.bif", random_fields.load_uai: "field.uai",
    }  # fmt: skip
    mrf = Later(lambda: random_fields.load_uai(folder() / "field.uai"))
    graph = random_fields.FactorGraph([1, 1])
    solution = np.array([[0.5, 0.5], [0.25, 0.75]])
    return [
        *function(
            datasets.load_conll,
            {"source": of("train.txt"), "columns": (0, 1), "separator": " ", "comment": "#"},
            variants={
                "source": [home("columns.txt.gz"), home("columns.zip"),
                           lambda: io.StringIO(COLUMNS)],
                "columns": [None], "separator": [None],
            },
        ),
        *functions({}, {load: {"data_home": of(name)} for load, name in data.items()}),
        *functions({}, {load: {"path": of(name)} for load, name in read.items()}),
        *function(
            datasets.load_conll2000, {"data_home": of("fetched")}, run=without_network,
        ),
        *function(
            datasets.load_ocr_letters, {"data_home": of("letters"), "split": "small"},
            variants={"data_home": [home("compact")], "split": [None, "large"]},
        ),
        *functions(
            {},
            {
                random_fields.save_bif: {"graph": graph, "path": out("out.bif")},
            },
            allows=WRITTEN,
        ),
        *function(
            random_fields.save_uai, {"data": solution, "path": out("out.MAR")},
            variants={"kind": ["MAR"], "data": [1.5, np.array([0, 1]), lambda: {0: 1}, mrf.make]},
            allows={**WRITTEN, "data no_axis": "a number is log Z"},
        ),
    ]  # fmt: skip


# ---- generators ----------------------------------------------------------------------------------

SIZES = {
    "n_samples": 5, "n_features": 4, "n_components": 2, "n_private": 2, "n_sequences": 2,
    "n_steps": 2, "n_rows": 20, "n_tokens": 6, "n_train": 3, "n_test": 2, "n_valid": 1,
    "n_variables": 3, "n_visible": 2, "n_hidden": 2, "n_movies": 10, "n_clips": 2, "patch": 2,
    "shape": 0.3, "private_shape": 0.2, "mean_length": 10.0, "private_length": 10.0,
    "scale": 10.0, "private_scale": 10.0, "prior": 0.5, "topic_prior": 0.5, "length": 10,
    "min_length": 2, "max_length": 3, "margin": 1, "topics": None, "noise": 0.3,
    "n_distractors": 1,
}  # fmt: skip


def of_generators():
    given = {
        datasets.make_ising: {"graph": "grid", "size": (2, 3)},
        datasets.make_label_grids: {"shape": (4, 5)},
        datasets.make_stick_figures: {"n_rows": 32, "n_columns": 33, "n_samples": 2},
        datasets.make_snakes: {"n_samples": 2, "length": 3, "n_test": 1},
        datasets.make_digit_inpainting: {"n_test": 5},
    }  # fmt: skip
    topics, found = generator(7).dirichlet(np.ones(4), size=2), []
    for name in datasets.__all__:
        if name.startswith("make_"):
            make = getattr(datasets, name)
            found += function(
                make, given.get(make), SIZES, slow=name == "make_digit_inpainting",
                variants={"topics": [topics], "edge_features": [False],
                          "prior": [np.array([0.5, 0.2])] if "corpus" in name else [0.5],
                          "length": [np.arange(5)] if "corpus" in name else [4]},
                allows={"prior pair": "one for each topic"} if "corpus" in name else {},
            )  # fmt: skip
    return found


# ---- metrics and preprocessing -------------------------------------------------------------------


def true():
    return [np.array([0, 1, 2]), np.array([1, 0])]


def predicted():
    return [np.array([0, 1, 1]), np.array([1, 0])]


def chunks():
    return [["B-NP", "I-NP", "O"], ["B-VP", "O"]]


def chunked():
    return [["B-NP", "I-NP", "B-NP"], ["B-VP", "O"]]


class Reader(BaseEstimator):
    """Predicts the chunks that are right, nearly."""

    def predict(self, X):
        return chunked()


def distance(y_true, y_pred):
    """A loss of the user."""
    return float(repr(y_true) != repr(y_pred))


@functools.cache
def chain():
    X = [np.eye(3)[y] for y in true()]
    return StructuredSVM("chain", C=1.0, max_iter=20, random_state=0).fit(X, true())


def sentences():
    return [[["He", "PRP"], ["runs", "VBZ"]], [["Stop", "VB"]]]


ANY_LABELS = {
    **{f"{y} complex_entries object_text object_thing half kind thing dates":
       "labels are compared, whatever they are" for y in ("y_true", "y_pred")},
    "zero_division nan": "as in scikit-learn", "sample_weight none": "no weights",
    **{f"{y}.#.# capitals": "another type" for y in ("y_true", "y_pred")},
}  # fmt: skip
SCORER = {
    "raises": (AttributeError,),  # of scikit-learn, for what is no estimator
    "aliases": {"estimator": ("y_pred",)},
}
OTHER_NAMES = {
    f"{argument} capitals code code_of_it date kind number text thing":
    "another name, of somebody whom the other mapping lacks"
    for argument in ("truth.m", "mapping.m")
}  # fmt: skip
COSTS = np.array([[0.0, 1.0, 3.0], [0.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


def of_metrics():
    weight, X = np.array([1.0, 2.0]), [np.eye(3)[y] for y in true()]
    labels = {"y_true": true(), "y_pred": predicted(), "sample_weight": weight}
    tags = {**labels, "y_true": chunks(), "y_pred": chunked(), "average": "micro"}
    scored = {"estimator": Later(chain), "X": X, "y_true": true(), "sample_weight": weight}
    of_tags = (
        metrics.phrase_classification_report, metrics.phrase_counts,
        metrics.phrase_precision_recall_f1,
    )  # fmt: skip
    of_labels = (metrics.mean_hamming_loss, metrics.node_accuracy, metrics.sequence_accuracy)
    topics = [generator(7).dirichlet(np.ones(5), size=k) for k in (2, 3)]
    views = [generator(8).normal(size=(n, k)) for n, k in ((4, 2), (3, 2), (4, 3), (3, 3))]
    sides = ("x_loadings_true", "y_loadings_true", "x_loadings_pred", "y_loadings_pred")
    scorer, links = metrics.make_loss_scorer("hamming"), [[(0, 0), (1, 1)], [(0, 0)]]
    return [
        *functions(labels, dict.fromkeys(of_labels), allows=ANY_LABELS),
        *functions(tags, dict.fromkeys(of_tags), allows=ANY_LABELS),
        *function(
            metrics.phrase_f1_score, None, {**tags, "zero_division": 0.0},
            variants={"average": ["macro", None]}, allows=ANY_LABELS,
        ),
        *function(
            metrics.mean_task_loss, {"task_loss": COSTS}, labels,
            variants={"task_loss": ["hamming", "zero_one", task_losses.HammingLoss, distance]},
            allows=ANY_LABELS, aliases={"task_loss": ("costs",)},
        ),
        *function(
            metrics.make_loss_scorer, {"task_loss": COSTS},
            allows={"task_loss *": "a matrix is looked at when it is used"},
        ),
        *function(
            scorer, None, scored, "metrics.make_loss_scorer scorer", allows=ANY_LABELS, **SCORER
        ),
        *[
            e for name in ("node_accuracy", "sequence_accuracy")
            for e in function(metrics.SCORERS[name], None, scored, f"metrics.SCORERS {name}",
                              allows=ANY_LABELS, **SCORER)
        ],
        *function(
            metrics.SCORERS["phrase_f1"], {"estimator": Reader(), "X": X, "y_true": chunks()},
            name="metrics.SCORERS phrase_f1", **SCORER,
            allows={"X *": "the estimator takes anything", **ANY_LABELS},
        ),
        *functions({}, {
            metrics.alignment_error_rate: {
                "y_sure": links, "y_possible": [[*links[0], (0, 1)], links[1]],
                "y_pred": [[(0, 0), (0, 1)], [(0, 0)]],
            },
            metrics.localization_f1: {
                "intervals_true": np.array([[[0, 1], [2, 3]], [[1, 1], [-1, -1]]]),
                "locations_pred": np.array([[0, 2], [1, 3]]),
            },
            metrics.topic_l1_error: dict(zip(("topics_true", "topics_pred"), topics)),
            metrics.multiview_l1_error: dict(zip(sides, views)) | {"signed": True},
        }),
        *function(
            metrics.alignment_prf, {"truth": {"m": "m"}, "mapping": {"m": "m"}, "complete": True},
            allows=OTHER_NAMES,
        ),
    ]  # fmt: skip


def of_preprocessing():
    nodes = [generator(1).normal(size=(n, 2)) for n in (3, 2, 4)]
    tokens = {
        "X": sentences(), "fields": ("w", "pos"), "functions": {"low": str.lower},
        "input_features": None,
    }  # fmt: skip
    allows = {
        "input_features *": "not used; the custom of scikit-learn has it",
        "X.#.#.# text capitals": "any word",
    }
    inner = {
        "X nan object_none object_nan all_nan huge huge_entry missing":
        "StandardScaler takes what it can use of it",
        "part *": "used for samples that are tuples", "input_features *": "not used",
    }  # fmt: skip
    said = {"X": ("token", "field")}
    own = {name: tokens[name] for name in ("fields", "functions")}
    found = estimator(
        preprocessing.TokenFeatures, own, {"X": sentences()}, tokens, allows=allows, aliases=said
    )
    found += estimator(
        preprocessing.NodeTransformer, {"transformer": StandardScaler()}, {"X": nodes},
        {"X": nodes, "input_features": None}, aliases={"X": ("samples", "nodes")}, allows=inner,
    )  # fmt: skip
    return [
        *found,
        *function(
            preprocessing.crfsuite_chunking_attributes, {"sentence": sentences()[0]},
            aliases={"sentence": said["X"]},
        ),
        *function(preprocessing.tagging_templates),
    ]  # fmt: skip


# ---- task losses and utilities -------------------------------------------------------------------


def links():
    return {
        "y_true": [np.array([[1, 0, 0], [0, 1, 0]]), np.array([[0, 1]])],
        "y_pred": [np.array([[0, 0, 1], [0, 1, 0]]), np.array([[1, 0]])],
    }


def poses():
    found = [np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[1.0, 1.0], [2.0, 2.0]])]
    return {"y_true": found, "y_pred": found[::-1]}


LABELS = {"y_true": true(), "y_pred": predicted()}
TEXTS = {f"{y}.# text": "a text is a list of characters" for y in LABELS}
LOSSES = {
    task_losses.HammingLoss: (
        {"class_weight": {0: 1.0, 1: 2.0}, "node_weight": np.array([1.0, 2.0, 0.5])}, LABELS, {},
    ),
    task_losses.MatrixLoss: (
        {"costs": COSTS, "classes": np.array([0, 1, 2])}, LABELS, {"classes none": "row numbers"},
    ),
    task_losses.BlockLoss: (
        {"blocks": {0: "x", 1: "x", 2: "y"}, "within": 0.5}, LABELS,
        {"blocks.# *": "a block has any name"},
    ),
    task_losses.ZeroOneLoss: ({}, LABELS, {}),
    task_losses.OverlapLoss: ({"positive": [1]}, LABELS, {"positive *": "labels of any kind"}),
    task_losses.FunctionLoss: (
        {"function": distance}, LABELS, {f"{y} *": "the user's function takes it" for y in LABELS},
    ),
    task_losses.EditLoss: ({}, LABELS, TEXTS),
    task_losses.BleuLoss: ({"max_n": 2}, LABELS, TEXTS),
    task_losses.PhraseLoss: (
        {}, {"y_true": [["B-X", "I-X", "O"]], "y_pred": [["B-X", "B-X"]]}, {},
    ),
    task_losses.LinkLoss: ({}, links(), {}),
    task_losses.DistanceLoss: ({"unit": (0, 1)}, poses(), {}),
    task_losses.BoxLoss: (
        {}, {"y_true": [np.array([0, 0, 2, 3])], "y_pred": [np.array([1, 1, 3, 2])]}, {},
    ),
}  # fmt: skip


def of_task_losses():
    found = []
    why = "outputs are what the loss takes; `losses` has the same checks"
    aliases = {
        "outputs": ("y_true", "y_pred"), "classes": ("costs",), "function": ("task_loss",)
    }  # fmt: skip
    for cls, (params, outputs, allows) in LOSSES.items():
        allows = {**(ANY_LABELS if outputs is LABELS else {}), **allows}
        options = {"aliases": aliases, "allows": allows}
        single = {name: y[0] for name, y in outputs.items()}
        found += fitting(cls, params, outputs, "losses", variants={"unit": ["box"]}, **options)
        made, many = functools.partial(cls, **params), {"outputs": list(single.values())}
        found += methods(cls, made, None, single, ["value"], **options)
        free = {f"outputs{deeper} *": why for deeper in ("", ".#", ".#.#")}
        found += methods(cls, made, None, many, ["matrix"], allows=free, aliases=aliases)
    given = {"y_true": poses()["y_true"][0], "shape": (3, 4)}
    made = task_losses.DistanceLoss(2.0)
    found += methods(task_losses.DistanceLoss, lambda: made, None, given, ["position_costs"])
    names = {"task_loss": "hamming", "names": ("hamming", "links")}
    return found + function(task_losses.resolve_task_loss, names)


def of_utilities():
    why = "a container: it keeps what it is given, and estimators look into it"
    kept = {"values *": why, "blocks *": why}
    blocks = {"blocks": [np.zeros((2, 2)), np.ones((1, 2))]}
    return [
        *function(
            check_structured_estimator,
            {
                "estimator": StructuredSVM(EnumeratedModel(), C=1.0, max_iter=20, random_state=0),
                "X": [generator(i).normal(size=(3, 2)) for i in range(6)],
                "y": [0, 1, 2, 0, 1, 2], "sample_weight_tol": 0.1,
                "skip": ("grid_search", "sample_weight", "string_labels", "skops", "containers"),
            },
            raises=(AssertionError,), slow=True,
            allows={"estimator.random_state *": "the checks set it"},
        ),
        *function(
            Packed,
            {
                "values": np.arange(12.0).reshape(6, 2), "offsets": np.array([0, 3, 4, 6]),
                "index": np.array([2, 0]),
            },
            raises=(IndexError,), allows=kept,
        ),
        *methods(
            Packed, lambda: Packed(np.arange(6.0), [0, 2, 6]), None, blocks,
            aliases={"blocks": ("sample", "samples")}, allows=kept, infinite=True,
        ),
    ]  # fmt: skip


def entries():
    return [
        *of_files(), *of_generators(), *of_metrics(), *of_preprocessing(), *of_task_losses(),
        *of_utilities(),
    ]  # fmt: skip
