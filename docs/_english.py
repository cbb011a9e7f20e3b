"""Phrases that texts avoid, and what to write instead; a step of ``python3 dev.py lint``."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ["sklearn_fw/*.py", "examples/*.py", "examples/*.rst", "docs/*.rst", "docs/*.md", "*.md"]
# Results keep the text of the programs that measured them.
KEPT = [":!examples/benchmarks", ":!docs/benchmarks"]

# "Is no longer", "is no better" and the like are right.
FINE = "longer|more|less|better|worse|larger|other|one|need|such|guarantee|effect|limit"
SPEECH = "(?:says?|tells?|asks?|knows?|speaks?)"
OBJECT = "(?:how|nothing|of|so|that|what|whether|which)"

# Regular expressions; a space also matches line breaks, as in comments and split messages.
SPACE = r"(?:\s|#|f?\")+"
INSTEAD = {
    "best labelings?": "MAP labeling, MAP inference",
    "outputs? with parts": "structured output",
    "linear oracles?": "linear minimization oracle",
    "learn(?:ed|s|t)? by heart": "memorize",
    "of the moment": "current",
    rf"(?<!there\s)(?:is|are|was|were) no (?!{FINE})\w+": "is not a",
    f"{SPEECH} {OBJECT}": "return, compute, raise, document",
    "(?:asked|told) (?:for|of)": "requested, computed, given",
    "so many": "n, as many, several",
    "that is what": "subject, verb, object",
    "beside (?:each|its?|others?|the)": "next to, compared with",
    "alike": "equal, similar",
    "anew": "again",
    r"(?<!dirty\s)pictures?": "figure, plot, image",
    "hostile|mended|referees?|twins?": "corrupted, fixed, reference, compiled implementation",
    r"(?<![:/])\.\d+": "a zero before the point",
}


def findings(text):
    """Yield line, phrase and remedy of everything that a text should not contain."""
    for phrase, instead in INSTEAD.items():
        pattern = rf"(?<![\w.])(?:{phrase})(?!\w)".replace(" ", SPACE)
        for found in re.finditer(pattern, text, re.IGNORECASE):
            line = text.count("\n", 0, found.start()) + 1
            yield line, " ".join(found[0].split()), instead


def main():
    command = ["git", "ls-files", *TEXTS, *KEPT]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return "\n".join(
        f"{name}:{line}: {phrase!r}, write: {instead}"
        for name in listed.stdout.splitlines()
        for line, phrase, instead in findings((ROOT / name).read_text(encoding="utf-8"))
    )


if __name__ == "__main__":
    sys.exit(main() or None)
