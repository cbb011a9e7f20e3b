"""The one place that opens files of a user: damage becomes a ValueError with file and reason."""

import codecs
import gzip
import io
import os
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

# Names of the encodings in which the mark of UTF-8 is not text; numbers are read as Latin-1.
MARKED = {"utf-8", "utf-8-sig", "iso8859-1"}
# What no text in a superset of ASCII begins with.
WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def check_path(path, name="path"):
    """A path of the user as a Path; ``name`` is the parameter it came in by."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a path (str or pathlib.Path), got {_kind(path)}")
    if not text or "\0" in text:
        raise ValueError(f"{name} must be the path of a file, got {text!r}")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # there is no such user
        raise ValueError(f"{name}={text!r} names no folder: {error}") from None


def _kind(value):
    return "None" if value is None else f"{type(value).__name__} {value!r:.60}"


def damage(file, reason, *, line=None, array=None):
    """The ValueError about a damaged file: where in which file, and what is wrong there."""
    place = f", line {line}" if line is not None else ""
    place += f", array {array!r}" if array is not None else ""
    return ValueError(f"{file}{place}: {reason}")


def name_of(source):
    if not hasattr(source, "read"):
        return str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"the open {type(source).__name__}"


def read_bytes(source, member=None):
    """Content of a file, of a gzip file, of a member of a zip archive, or of an open file."""
    if member is not None and not isinstance(member, str):
        raise TypeError(f"member must be the name of a file in a zip archive, got {_kind(member)}")
    if hasattr(source, "read") and not isinstance(source, type):
        if member is not None:
            raise ValueError(f"member={member!r} goes with the path of a zip archive")
        return _read_open(source)
    path = check_path(source, "source")
    # All bytes first: then what the system refuses stays an OSError, and the rest is damage.
    content = path.read_bytes()
    suffix = path.suffix.lower()
    if member is not None or suffix == ".zip":
        return _read_member(path, content, member)
    return gunzip(path, content) if suffix == ".gz" else content


def _read_open(source):
    try:
        content = source.read()
    except UnicodeDecodeError as error:
        raise damage(
            name_of(source), f"is not in the encoding it was opened with: {error}"
        ) from None
    if isinstance(content, str):
        # What a lenient decoder could not read is not text in any encoding.
        return content.encode("utf-8", errors="surrogatepass")
    if not isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(
            f"source must be a path or an open file whose read() gives text or bytes, got "
            f"{_kind(content)} from {type(source).__name__}"
        )
    return bytes(content)


def gunzip(path, content, most=-1):
    """What is inside a gzip file, its first ``most`` bytes; ValueError where it is damaged."""
    with _intact(path, "is not an intact gzip file"):
        return gzip.GzipFile(fileobj=io.BytesIO(content)).read(most)


@contextmanager
def _intact(file, fault, array=None):
    """Damage is what raises here, for it leads to errors of many kinds, zlib.error among them."""
    try:
        yield
    except Exception as error:
        reason = f"{fault} ({str(error) or type(error).__name__})"
        raise damage(file, reason, array=array) from None


def _open_archive(path, content):
    with _intact(path, "is not an intact zip archive"):
        return zipfile.ZipFile(io.BytesIO(content))


def _unpack(path, archive, member):
    with _intact(path, f"member {member!r} cannot be unpacked"):
        return archive.read(member)


def _read_member(path, content, member):
    with _open_archive(path, content) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if member is None and len(names) == 1:
            member = names[0]
        if member not in names:
            raise ValueError(f"member must be a file in {path}, one of {names}; got {member!r}")
        return _unpack(path, archive, member)


def read_text(path, encoding="utf-8"):
    """Text of a file, unpacked if need be; ValueError with the line that is not in the encoding."""
    path = check_path(path)
    return to_text(read_bytes(path), path, encoding)


def to_text(content, file, encoding="utf-8"):
    """Text of the bytes of a file, without a byte order mark and without NUL."""
    if codecs.lookup(encoding).name in MARKED:
        content = content.removeprefix(codecs.BOM_UTF8)
    zero = content.find(b"\0")
    if zero >= 0:
        wide = content.startswith(WIDE_MARKS)
        remedy = f"is it in UTF-16 or UTF-32? Write it in {encoding}" if wide else "is it binary?"
        line = content.count(b"\n", 0, zero) + 1
        raise damage(file, f"holds a NUL byte, which no text has: {remedy}", line=line)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise damage(file, f"is not in {encoding}: {error.reason}", line=line) from None


def read_arrays(path, needed):
    """The named arrays of a ``.npz`` file, in order; nothing in it is ever unpickled."""
    with _open_archive(path, path.read_bytes()) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        missing = sorted(set(needed) - members.keys())
        if missing:
            raise ValueError(f"{path} has no array named {missing}: it holds {sorted(members)}")
        return [_array(path, key, _unpack(path, archive, members[key])) for key in needed]


def _array(path, key, content):
    with _intact(path, "is not a NumPy array", array=key):
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
