"""The numbers of README and of the first page of the docs, taken from what the benchmarks wrote."""

import argparse

from _results import DOCS, read_result

ROOT = DOCS.parents[1]
TITLE = "Headlines of README.md and docs/index.rst"
PAGES = {
    ROOT / "README.md": ("<!-- headlines -->\n", "<!-- end of headlines -->\n"),
    ROOT / "docs" / "index.rst": (".. headlines\n", ".. end of headlines\n"),
}
ASAGA, SAGA = "AsagaClassifier", "scikit-learn saga"


def kept(name, part):
    """Data that a part of a benchmark keeps for others; None if it has not been measured."""
    found = (read_result(name) or {"parts": {}})["parts"].get(part)
    return found and found["data"]


def digit_words():
    result = kept("digit_words", "sets")
    if not result:
        return None
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
    result = kept("chunking", "contenders")
    if not result:
        return None
    ours, peers = result["ours"], result["peers"]
    best = sorted(peers, key=lambda name: -peers[name]["f1"])[:2]
    beside = ", ".join(
        f"`{name}` {peers[name]['f1']:.2f} in {peers[name]['cpu']:.1f} s" for name in best
    )
    return "chunking", (
        f"**{ours['f1']:.2f}** is the phrase F1 on CoNLL-2000 after {ours['cpu']:.1f} s of "
        f"training on one thread; CRFsuite reaches by {beside}"
    )


def linear():
    """Time to a millionth beside the best of the peers."""
    result = kept("linear", "generator-l2")
    if not result:
        return None
    seconds = {name: s for name, s in result["seconds_to_1e-6"].items() if s is not None}
    peers = {name: value for name, value in seconds.items() if not name.startswith("Asaga")}
    runner = min(peers, key=peers.get)
    return "linear", (
        f"**{seconds[ASAGA]:.1f} s** on one thread bring logistic regression on 200,000 sparse "
        "rows to within a millionth of its optimum; the best of "
        f"{len(peers)} others, {runner}, needs {peers[runner]:.1f} s, scikit-learn's saga "
        f"{peers[SAGA]:.1f} s; the page also shows where others are ahead"
    )


def bullets(path):
    """The headlines that have been measured, in the language of a file."""
    lines = []
    for page, sentence in filter(None, (digit_words(), chunking(), linear())):
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
