"""Corrupted copies of files."""

import re
import shutil
import tempfile
from pathlib import Path


class Skip(Exception):
    """The corruption makes no sense for this value."""


_FOLDERS, _KEPT = [], []
WORKPLACE = "sklearn_fw-calls-"  # where children run


def fresh_folder():
    """A folder of this process, deleted with it."""
    if not _FOLDERS:
        _FOLDERS.append(tempfile.TemporaryDirectory(prefix="sklearn_fw-fuzz-"))
    return Path(tempfile.mkdtemp(dir=_FOLDERS[0].name))


def kept_folder():
    """A folder for valid files."""
    if not _KEPT:
        _KEPT.append(tempfile.TemporaryDirectory(prefix="sklearn_fw-valid-"))
    return Path(_KEPT[0].name)


def clear():
    """Delete what was copied for corrupted calls, and what calls wrote."""
    if Path.cwd().name.startswith(WORKPLACE):
        for path in Path.cwd().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if _FOLDERS:
        for path in Path(_FOLDERS[0].name).iterdir():
            shutil.rmtree(path, ignore_errors=True)


def way(change):
    """A corruption of a file, or of one of the files of a folder."""

    def apply(path, rng):
        folder = fresh_folder()
        if path.is_dir():
            copied = folder / "data"
            shutil.copytree(path, copied)
            files = sorted(p for p in copied.rglob("*") if p.is_file())
            file = files[rng.integers(len(files))]
        else:
            copied = file = folder / path.name
            if path.exists():
                shutil.copy(path, copied)
            else:
                raise Skip
        content = change(file.read_bytes(), rng)
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        return copied

    return apply


def flipped(content, rng):
    out = bytearray(content)
    for _ in range(3):
        out[rng.integers(len(out))] ^= 1 << rng.integers(8)
    return bytes(out)


def replaced_number(new):
    def change(content, rng):
        places = list(re.finditer(rb"\d+(\.\d+)?", content))
        if not places:
            return content
        place = places[rng.integers(len(places))]
        return content[: place.start()] + new + content[place.end() :]

    return change


def without_a_word(content, rng):
    places = list(re.finditer(rb"\S+", content))
    place = places[rng.integers(len(places))]
    return content[: place.start()] + content[place.end() :]


def with_bytes(new):
    def change(content, rng):
        at = rng.integers(len(content))
        return content[:at] + new + content[at:]

    return change


WAYS = [
    ("absent", "invalid", way(lambda content, rng: None)),
    ("empty", "extreme", way(lambda content, rng: b"")),
    ("truncated", "extreme", way(lambda content, rng: content[: rng.integers(1, len(content))])),
    ("garbage", "invalid", way(lambda content, rng: rng.bytes(200))),
    ("flipped", "extreme", way(flipped)),
    ("not_utf8", "extreme", way(with_bytes(b"\xff\xfe\xc3\x28"))),
    ("nul", "extreme", way(with_bytes(b"\x00"))),
    ("huge_integer", "extreme", way(replaced_number(b"9" * 30))),
    ("very_long_integer", "extreme", way(replaced_number(b"9" * 5000))),
    ("negative_number", "extreme", way(replaced_number(b"-1"))),
    ("nan_number", "extreme", way(replaced_number(b"nan"))),
    ("large_number", "extreme", way(replaced_number(b"1000000"))),
    ("word_lost", "extreme", way(without_a_word)),
    ("lines_lost", "extreme", way(lambda c, rng: b"\n".join(c.split(b"\n")[::2]))),
    ("doubled", "extreme", way(lambda content, rng: content + content)),
]
