"""The numbers of README and of the first page of the docs, taken from what the benchmarks wrote."""

import argparse
import re

from _report import DOCS
from _results import read_result

ROOT = DOCS.parents[1]
TITLE = "Headlines of README.md and docs/index.rst"
PAGES = {
    ROOT / "README.md": ("<!-- headlines -->\n", "<!-- end of headlines -->\n"),
    ROOT / "docs" / "index.rst": (".. headlines\n", ".. end of headlines\n"),
}
CHUNKER = "StructuredSVM, perm, averaged"
ASAGA, SAGA = "AsagaClassifier", "scikit-learn saga"


def digit_words():
    """Both sides tuned by the same grid."""
    result = read_result("digit_words")
    digits = dict(result["mean_digits"])
    ours = digits.pop("StructuredSVM")
    alone = {name: digits.pop(name) for name in ("LinearSVC", "LogisticRegression")}
    runner, best = max(alone.items(), key=lambda item: item[1])
    others = "".join(f"; {name} reads {value:.1f} %" for name, value in digits.items())
    return "digit_words", (
        f"**{ours:.1f} % instead of {best:.1f} %** of noisy digits are right when a chain reads "
        f"whole words instead of `{runner}` digit by digit, both tuned by the same grid on other "
        f"words, mean of {result['n_sets']} sets{others}"
    )


def chunking():
    """Time and quality beside CRFsuite."""
    table = read_table("chunking", "Results")
    ours = table[CHUNKER]
    peers = {name: row for name, row in table.items() if name.startswith("CRFsuite")}
    best = sorted(peers, key=lambda name: -float(peers[name]["F1"]))[:2]
    beside = ", ".join(
        f"`{name.split()[1]}` {peers[name]['F1']} in {float(peers[name]['training']):.1f} s"
        for name in best
    )
    return "chunking", (
        f"**{ours['F1']}** is the phrase F1 on CoNLL-2000 after {float(ours['training']):.1f} s of "
        f"training on one thread; CRFsuite reaches by {beside}"
    )


def linear():
    """Time to a millionth beside the best of the peers."""
    table = read_table("linear", "generator: ridge")
    seconds = {
        name: float(row["1e-6"])
        for name, row in table.items()
        if "threads" not in name and row["1e-6"] != "--"
    }
    peers = {name: value for name, value in seconds.items() if not name.startswith("Asaga")}
    runner = min(peers, key=peers.get)
    return "linear", (
        f"**{seconds[ASAGA]:.1f} s** on one thread bring logistic regression on 200,000 sparse "
        "rows to within a millionth of its optimum; the next best of "
        f"{len(peers)} others, {runner}, needs {peers[runner]:.1f} s, scikit-learn's saga "
        f"{peers[SAGA]:.1f} s; the page also shows where others are ahead"
    )


def read_table(page, section):
    """Rows of the first table after a heading that starts so, by their first column."""
    lines = (DOCS / f"{page}.rst").read_text(encoding="utf-8").splitlines()
    starts = [
        k for k, line in enumerate(lines[1:], 1)
        if re.fullmatch("-+", line) and lines[k - 1].startswith(section)
    ]  # fmt: skip
    rules = [k for k in range(starts[0], len(lines)) if re.fullmatch("=+( +=+)+", lines[k])][:3]
    spans = [match.span() for match in re.finditer("=+", lines[rules[0]])]
    header, *rows = (
        [line[start:end].strip() for start, end in spans]
        for line in (lines[rules[1] - 1], *lines[rules[1] + 1 : rules[2]])
    )
    return {row[0]: dict(zip(header, row)) for row in rows}


def bullets(path):
    """The three headlines in the language of a file."""
    lines = []
    for page, sentence in (digit_words(), chunking(), linear()):
        if path.suffix == ".md":
            lines.append(f"- {sentence} ([measured](docs/benchmarks/{page}.rst)).")
        else:
            lines.append(f"- {sentence.replace('`', '``')} (:doc:`measured <benchmarks/{page}>`).")
    return "\n".join(lines) + "\n"


def with_headlines(path):
    """The text of a file with the headlines at their place."""
    start, end = PAGES[path]
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(start)
    _, found, tail = rest.partition(end)
    if not found:
        raise ValueError(f"{path.name} must hold {start.strip()!r} and {end.strip()!r}")
    return f"{head}{start}\n{bullets(path)}\n{end}{tail}"


def main():
    """Show the headlines; with --write put them into the files."""
    parser = argparse.ArgumentParser(prog="dev.py bench headlines", description=TITLE)
    parser.add_argument("--write", action="store_true", help="put them into README and docs")
    options = parser.parse_args()
    for path in PAGES:
        print(bullets(path))
        if options.write:
            path.write_text(with_headlines(path), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
