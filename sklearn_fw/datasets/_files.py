"""Files of the user: where they are, where they come from, and downloads of them.

A download is checked, then moved to its place, so that nothing half-written is ever seen.
"""

import hashlib
import http.client
import logging
import os
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sklearn.utils import Bunch

from .._core.files import check_path, gunzip

logger = logging.getLogger("sklearn_fw")

VARIABLE = "SKLEARN_FW_DATA"
TIMEOUT = 30.0  # seconds without any answer
N_RETRIES, DELAY = 3, 1.0  # further tries after a connection that failed, and seconds between them
BROKEN = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)


class Origin(NamedTuple):
    """Source, terms and checksums of the files of a data set, for errors and descriptions."""

    source: str
    terms: str
    checksums: dict  # SHA-256 of the files that the loader was tested with, by name
    help: str = "nothing is downloaded"

    def __str__(self):
        digests = "".join(f"  {digest}  {name}\n" for name, digest in self.checksums.items())
        return (
            f"Source: {self.source}\nTerms: {self.terms}\n"
            f"SHA-256 of the files that the loader was tested with:\n{digests}"
        )

    @contextmanager
    def explains(self):
        """Add all this to errors about damaged files; those about absent ones have it."""
        try:
            yield
        except ValueError as error:
            error.add_note(str(self))
            raise


def find_file(data_home, names, *, what, origin):
    """Return the path of the first of ``names`` that exists in a folder.

    None for ``data_home`` means the folder named by ``SKLEARN_FW_DATA``; ``what`` the file holds
    and its `Origin` are for the error.
    """
    wanted = ", ".join(names)
    advice = f"{origin.help}\n{origin}"
    if data_home is None:
        data_home = os.environ.get(VARIABLE)
        if not data_home:
            raise FileNotFoundError(
                f"no folder to look for {what} in: pass data_home= or set the environment "
                f"variable {VARIABLE} to a folder that holds one of {wanted}; {advice}"
            )
    home = check_path(data_home, "data_home")
    for name in names:
        if (home / name).is_file():
            return home / name
    raise FileNotFoundError(
        f"{home} holds no file of {what}: looked for {wanted}; put one of them there or pass "
        f"another data_home=; {advice}"
    )


def bundle(parts, return_X_y, **about):
    """The samples and targets of a data set by name: a Bunch, or a tuple of these alone."""
    return tuple(parts.values()) if return_X_y else Bunch(**parts, **about)


class Remote(NamedTuple):
    """A gzip file that can be downloaded; size and SHA-256 are those of what is inside."""

    address: str
    size: int
    sha256: str


def fetch(remote, folder):
    """The path of a file in the folder, downloaded first if it is not there or damaged."""
    path = folder / remote.address.rpartition("/")[2]
    if path.is_file():
        fault = _fault(path, path.read_bytes(), remote)
        if fault is None:
            return path
        logger.warning("%s %s: it is downloaded again", path, fault)
    folder.mkdir(parents=True, exist_ok=True)
    content = _download(remote, folder)
    fault = _fault(path, content, remote)
    if fault is not None:
        raise OSError(f"what {remote.address} sent {fault}; nothing was stored")
    with tempfile.TemporaryDirectory(dir=folder, prefix="download-") as temporary:
        fresh = Path(temporary) / path.name
        fresh.write_bytes(content)
        os.replace(fresh, path)
    return path


def _download(remote, folder):
    """What the address sends, after a few tries if need be."""
    for left in range(N_RETRIES, -1, -1):
        try:
            return _read(remote)
        except BROKEN as error:
            if not left:
                raise OSError(
                    f"could not download {remote.address}: {error}; get it in another way and put "
                    f"it into {folder}"
                ) from error
            logger.warning("%s: %s; trying again in %g s", remote.address, error, DELAY)
            time.sleep(DELAY)


def _read(remote):
    address = remote.address
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length") or ""
            logger.info("downloading %s (%s bytes)", address, length or "?")
            content = answer.read(remote.size + 1)
    except urllib.error.HTTPError as error:
        error.close()  # it is the answer, too
        if error.code >= 500:
            raise
        raise OSError(f"could not download {address}: {error}") from error
    if len(content) > remote.size:
        raise OSError(f"{address} sends more than the {remote.size} bytes that were expected")
    if length.isdigit() and len(content) < int(length):
        raise ConnectionError(f"the connection ended after {len(content)} of {length} bytes")
    logger.info("%s: 100 %%", address.rpartition("/")[2])
    return content


def _fault(path, content, remote):
    """What is wrong with the content of a file, or None."""
    try:
        # A damaged or crafted file may unpack to anything: one byte more than expected will do.
        text = gunzip(path, content, remote.size + 1)
    except ValueError as error:
        return str(error).removeprefix(f"{path}: ")
    if len(text) > remote.size:
        return f"holds more than the {remote.size} bytes that were expected"
    digest = hashlib.sha256(text).hexdigest()
    if digest != remote.sha256:
        return f"holds text with SHA-256 {digest}, expected {remote.sha256}"
    return None
