"""Where compiled kernels are kept, and what a user hears when that does not go well."""

import functools
import hashlib
import logging
import os
import platform
import stat
import tempfile
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_features
from numba.core.caching import IndexDataCacheFile

KERNELS = Path(__file__).parent
# Intel and AMD have made processors of this level since 2015; for others there is one level.
LEVEL, FEATURES = "generic", ()
if platform.machine().lower() in ("x86_64", "amd64"):
    LEVEL = "x86-64-v3"
    FEATURES = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sse4.1 sse4.2 ssse3".split()
ANNOUNCEMENT = "compiling kernels for this call, once per installation: up to a minute"
NOT_KEPT = (
    "kernels are compiled again in each process, which takes up to half a minute: nothing can be "
    "kept in the folder of sklearn_fw, in the user's cache folder or in a temporary folder of the "
    "user's own. Set the environment variable NUMBA_CACHE_DIR to a folder that can be written"
)
TEMPORARY = (
    "compiled kernels are kept in the temporary folder {folder} and are lost with it, because "
    "nothing can be written into the folder of sklearn_fw or the user's cache folder. Set the "
    "environment variable NUMBA_CACHE_DIR to a folder that stays"
)
NOT_WRITTEN = (
    "a compiled kernel could not be kept and will be compiled again in the next process: {error}. "
    "The environment variable NUMBA_CACHE_DIR names another folder for compiled kernels"
)

_lock = threading.Lock()
_said = set()


def _once(text):
    """Whether this is the first time that a text is due in this process."""
    with _lock:
        new = text not in _said
        _said.add(text)
    return new


class Portable:
    """Compiled kernels of a release, for all processors of a level.

    numba's own cache is for one processor and trusts time stamps of files. Here the content of all
    kernels counts: a kernel of another version is never loaded.

    Parameters
    ----------
    collected : path or None
        Folder to which this process adds what it compiles. Without it kernels are loaded from the
        folder that a wheel has and a checkout lacks.
    """

    def __init__(self, collected=None):
        self.collects = bool(collected)
        self.folder = Path(collected) if collected else KERNELS / "compiled"
        if self.collects:
            self.folder.mkdir(parents=True, exist_ok=True)
            numba.config.CPU_NAME, numba.config.CPU_FEATURES = LEVEL, ""

    @functools.cached_property
    def _content(self):
        """Hash of all kernels, or None where no kernel can be loaded."""
        if not self.folder.is_dir() or not all(map(get_host_cpu_features().get, FEATURES)):
            return None
        digest = hashlib.sha256()
        for path in sorted(KERNELS.rglob("*.py")):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def _entry(self, cache, signature, codegen):
        """File of a kernel, and the key of its signature without the name of the processor."""
        name = f"{cache._py_func.__module__}.{cache._impl.filename_base}"
        signature, (triple, *_), code = cache._index_key(signature, codegen)
        return IndexDataCacheFile(str(self.folder), name, self._content), (signature, triple, code)

    def load(self, cache, signature, context):
        """Return a kernel, or None."""
        if self._content is None or not hasattr(cache, "_impl"):
            return None
        file, key = self._entry(cache, signature, context.codegen())
        found = file.load(key)
        return found and cache._impl.rebuild(context, found)

    def save(self, cache, signature, compiled):
        """Add a kernel."""
        if cache._impl.check_cachable(compiled):
            file, key = self._entry(cache, signature, compiled.codegen)
            file.save(key, cache._impl.reduce(compiled))


portable = Portable(os.environ.get("SKLEARN_FW_COLLECT_KERNELS"))


class WatchedCache:
    """The disk cache of one kernel; a miss is announced, and a fault of the disk ends no fit.

    numba asks the cache of a kernel before it compiles the kernel, so nothing has to listen to the
    compilation of other functions.

    Parameters
    ----------
    cache : cache of a dispatcher
        numba's own.
    warning : str or None
        What is to be said when a kernel is compiled.
    """

    def __init__(self, cache, warning):
        self._cache, self._warning = cache, warning

    def __getattr__(self, name):
        return getattr(self._cache, name)

    def load_overload(self, signature, context):
        """Return the kernel compiled for a signature, or None."""
        try:
            own = not portable.collects and self._cache.load_overload(signature, context)
            found = own or portable.load(self._cache, signature, context)
        except Exception:  # reading back a damaged file can raise almost anything
            found = None
            self._drop()
        if found is None:
            if _once(ANNOUNCEMENT):
                # A level that is shown where no logging was set up: nobody should wait in doubt.
                logging.getLogger("sklearn_fw").warning(ANNOUNCEMENT)
            if self._warning is not None:
                _warn(self._warning)
        return found

    def save_overload(self, signature, compiled):
        """Keep what was compiled."""
        try:
            if portable.collects:
                portable.save(self._cache, signature, compiled)
            else:
                self._cache.save_overload(signature, compiled)
        except OSError as error:  # a full disk, or a folder that is gone
            _warn(NOT_WRITTEN.format(error=error))

    def _drop(self):
        try:
            self._cache.flush()
        except OSError as error:
            _warn(NOT_WRITTEN.format(error=error))


def _warn(text):
    if _once(text):
        warnings.warn(text, UserWarning, stacklevel=3)


@functools.cache
def temporary_folder():
    """Folder for compiled kernels in the temporary folder, or None where it is not safe.

    Compiled kernels are programs: a folder that anybody else may write to is not used, nor one
    that somebody else has made in this one's place.
    """
    if not hasattr(os, "getuid"):  # Windows gives each user a temporary folder that is private
        return Path(tempfile.gettempdir()) / "sklearn_fw-kernels"
    user = os.getuid()
    try:
        parent = Path(tempfile.gettempdir())
        folder = parent / f"sklearn_fw-kernels-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder if _only_ours(folder, parent, user) else None
    except OSError:
        return None


def _only_ours(folder, parent, user):
    """Whether nobody but the user can write into the folder or put another in its place."""
    above, found = parent.stat(), folder.lstat()
    shared = above.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return (
        above.st_uid in (0, user)
        and (not shared or bool(above.st_mode & stat.S_ISVTX))
        and stat.S_ISDIR(found.st_mode)
        and found.st_uid == user
        and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    )


@contextmanager
def cache_in(folder):
    """Have numba keep in ``folder`` what is decorated meanwhile."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
