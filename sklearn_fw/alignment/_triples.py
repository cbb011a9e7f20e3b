"""Lines of N-Triples files."""

import gzip
import re

from .._core.files import check_path, damage

LINE = re.compile(
    r'\s*(<[^<>"\s]*>|_:\S+)\s+<([^<>"\s]*)>\s+'
    r'(<[^<>"\s]*>|_:[^\s.]+|"(?:[^"\\]|\\.)*"(?:\^\^<[^<>\s]*>|@[\w-]+)?)\s*\.\s*(?:#.*)?$'
)
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[tbnrf\"'\\])")
PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def read_triples(path):
    """Yield (subject, predicate, object, "U" or "L") of the lines of a file."""
    path = check_path(path)
    is_packed = path.suffix.lower() == ".gz"
    with path.open("rb") as file:
        lines = iter(gzip.GzipFile(fileobj=file) if is_packed else file)
        number = 0
        while True:
            number += 1
            try:
                raw = next(lines)
            except StopIteration:
                return
            except Exception as error:  # of the kinds EOFError, zlib.error, BadGzipFile
                raise damage(path, f"is no intact gzip file ({error})", line=number) from None
            try:
                line = raw.decode("utf-8")
                triple = _parsed(line)
            except (UnicodeDecodeError, ValueError, OverflowError) as error:
                raise damage(path, f"is no N-Triple in UTF-8 ({error})", line=number) from None
            if triple is not None:
                yield triple


def _parsed(line):
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    match = LINE.match(line)
    if match is None:
        raise ValueError(f"got {line.strip()!r:.80}")
    subject, predicate, target = match.groups()
    if target.startswith('"'):
        text = target[1 : target.rindex('"')]
        return _name(subject), predicate, ESCAPE.sub(_unescaped, text), "L"
    return _name(subject), predicate, _name(target), "U"


def _name(node):
    return node[1:-1] if node.startswith("<") else node


def _unescaped(match):
    code = match.group(1)
    return chr(int(code[1:], 16)) if code[0] in "uU" else PLAIN.get(code, code)
