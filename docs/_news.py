"""Changes that are not released yet, as they will stand in the changelog."""

import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
MARK = "<!-- towncrier release notes start -->\n"


def kinds():
    """Names of the kinds of news by the word in their file names, in the changelog's order."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    return {kind["directory"]: kind["name"] for kind in project["tool"]["towncrier"]["type"]}


def unreleased(folder=DOCS / "changes"):
    """The news fragments of a folder as Markdown, or nothing."""
    lines = []
    for kind, name in kinds().items():
        fragments = sorted(folder.glob(f"*.{kind}.md"))
        if fragments:
            lines += [f"### {name}", ""]
            for fragment in fragments:
                text = fragment.read_text(encoding="utf-8").strip()
                lines += ["- " + text.replace("\n", "\n  ")]
            lines += [""]
    return "\n".join(["## Not released yet", "", *lines]) if lines else ""


def changes():
    """The changelog with what is not released yet at its place."""
    text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    if MARK not in text:
        raise ValueError(f"CHANGELOG.md has no line {MARK.strip()!r}")
    return text.replace(MARK, f"{MARK}\n{unreleased()}\n")
