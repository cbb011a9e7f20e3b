"""Where the files of the user are, and how to open them."""

import gzip
import os
import zipfile
from pathlib import Path

VARIABLE = "SKLEARN_FW_DATA"


def find_file(data_home, names, *, what):
    """Return the path of the first of ``names`` that exists.

    Parameters
    ----------
    data_home : str, path-like or None
        Folder; ``None`` means the one named by ``SKLEARN_FW_DATA``.
    names : list of str
        File names relative to the folder, in order of preference.
    what : str
        What the file holds, for the error.
    """
    wanted = ", ".join(names)
    if data_home is None:
        data_home = os.environ.get(VARIABLE)
        if not data_home:
            raise FileNotFoundError(
                f"no folder to look for {what} in: pass data_home= or set the environment "
                f"variable {VARIABLE} to a folder that holds one of {wanted}; nothing is downloaded"
            )
    home = Path(data_home).expanduser()
    for name in names:
        if (home / name).is_file():
            return home / name
    raise FileNotFoundError(
        f"{home} holds no file of {what}: looked for {wanted}; put one of them there or pass "
        "another data_home=; nothing is downloaded"
    )


def read_bytes(source, member=None):
    """Content of a file, of a gzip file, of a member of a zip archive, or of an open file."""
    if hasattr(source, "read"):
        content = source.read()
        return content.encode("utf-8") if isinstance(content, str) else content
    path = Path(source).expanduser()
    if member is not None or path.suffix == ".zip":
        return _read_member(path, member)
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return file.read()
    return path.read_bytes()


def _read_member(path, member):
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if member is None and len(names) == 1:
            member = names[0]
        if member not in names:
            raise ValueError(f"member must be a file in {path}, one of {names}; got {member!r}")
        return archive.read(member)
