"""Generate all pages of benchmarks from their result files; nothing is measured."""

import argparse

from _pages import page, write_figures, write_page
from _results import DOCS, names, outdated, read_result


def main():
    """List pages and parts that are not up to date; with --write make all pages."""
    parser = argparse.ArgumentParser(prog="dev.py bench pages", description=__doc__)
    parser.add_argument("--write", action="store_true", help="make all pages and their figures")
    options = parser.parse_args()
    if options.write:
        for name in names():
            print(f"wrote {write_page(name).relative_to(DOCS.parent)}")
        write_figures()
        return 0
    stale = []
    for name in names():
        for part, content in read_result(name)["parts"].items():
            if changed := outdated(content["measured"]):
                print(f"older than {', '.join(changed)}: "
                      f"python3 dev.py bench {name} --only {part} --write")  # fmt: skip
        path = DOCS / f"{name}.rst"
        if not path.is_file() or path.read_text(encoding="utf-8") != page(read_result(name)):
            stale.append(name)
    print(f"not as their results: {', '.join(stale)}" if stale else "all as their results")
    return bool(stale)


if __name__ == "__main__":
    raise SystemExit(main())
