"""Downloads: checked, then moved to their place, so that nothing half-written is ever seen."""

import hashlib
import http.client
import logging
import os
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

from .._core.files import gzip_chunks

logger = logging.getLogger("sklearn_fw")

CHUNK = 1 << 16
TIMEOUT = 30.0  # seconds without any answer


class Remote(NamedTuple):
    """A gzip file that can be downloaded; size and SHA-256 are those of what is inside."""

    address: str
    size: int
    sha256: str


class _Broken(Exception):
    """The connection failed or ended too early: trying again may help."""


def fetch(remote, folder, *, download_if_missing=True, n_retries=3, delay=1.0):
    """Return the path of a file in the folder, downloaded first if it is not there or damaged.

    It is stored under the last part of its address; ``n_retries`` further tries, ``delay`` seconds
    apart, follow a connection that failed. An OSError where ``download_if_missing`` is false.
    """
    path = folder / remote.address.rpartition("/")[2]
    if path.is_file():
        fault = _fault(path, remote)
        if fault is None:
            return path
        if not download_if_missing:
            raise OSError(f"{path} {fault}; delete it, or let download_if_missing=True replace it")
        logger.warning("%s %s: it is downloaded again", path, fault)
    elif not download_if_missing:
        raise FileNotFoundError(
            f"{path} is not there and download_if_missing is False; it comes from {remote.address}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="download-") as temporary:
        fresh = Path(temporary) / path.name
        _download_patiently(remote.address, fresh, remote.size, n_retries, delay)
        fault = _fault(fresh, remote)
        if fault is not None:
            raise OSError(f"what {remote.address} sent {fault}; nothing was stored")
        os.replace(fresh, path)
    return path


def _download_patiently(address, path, limit, n_retries, delay):
    for left in range(n_retries, -1, -1):
        try:
            return _download(address, path, limit)
        except _Broken as error:
            if not left:
                raise OSError(
                    f"could not download {address}: {error}; get it in another way and put it into "
                    f"{path.parent.parent}"
                ) from error
            logger.warning("%s: %s; trying again in %g s", address, error, delay)
            time.sleep(delay)


def _download(address, path, limit):
    """Write what the address sends, at most ``limit`` bytes, and report every quarter."""
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer, path.open("wb") as file:
            length = answer.headers.get("Content-Length")
            length = int(length) if length and length.isdigit() else None
            logger.info("downloading %s (%s bytes)", address, length or "?")
            received, reported = 0, 0
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                received += len(chunk)
                if received > limit:
                    raise OSError(f"{address} sends more than the {limit} bytes that were expected")
                if length and (quarter := 4 * received // length) > reported:
                    reported = quarter
                    logger.info("%s: %d %%", path.name, 25 * quarter)
    except urllib.error.HTTPError as error:
        error.close()  # it is the answer, too
        if error.code >= 500:
            raise _Broken(str(error)) from error
        raise OSError(f"could not download {address}: {error}") from error
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        ConnectionError,
        TimeoutError,
    ) as error:
        raise _Broken(str(error) or repr(error)) from error
    if length is not None and received < length:
        raise _Broken(f"the connection ended after {received} of {length} bytes")


def _fault(path, remote):
    """What is wrong with a file, or None."""
    digest, size = hashlib.sha256(), 0
    try:
        # A damaged or hostile file may unpack to anything: read no more than is needed to tell.
        for chunk in gzip_chunks(path):
            digest.update(chunk)
            size += len(chunk)
            if size > remote.size:
                break
    except ValueError as error:
        return str(error).removeprefix(f"{path}: ")
    if size > remote.size:
        return f"holds more than the {remote.size} bytes that were expected"
    if digest.hexdigest() != remote.sha256:
        return f"holds text with SHA-256 {digest.hexdigest()}, expected {remote.sha256}"
    return None
