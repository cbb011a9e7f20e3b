"""How kernels are compiled: alone, kept where that is safe, and not broken by an interrupt."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from _package import PACKAGE
from sklearn_fw._kernels import _cache
from sklearn_fw._kernels._jit import intrinsic, njit
from sklearn_fw._kernels.common import atomics

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here")

KERNEL = """
from ._jit import njit

@njit
def double(x):
    return x + x

@njit
def triple(x):
    return 3 * x
"""
CALLS = "from sklearn_fw._kernels.small import double, triple; print(double(21), triple(14))"

# ---- where compiled code is kept -----------------------------------------------------------------


class Installation:
    """The compiling part of the package, copied, with a small kernel, and nowhere to write."""

    def __init__(self, folder, writable=False):
        self.folder = folder
        self.kernels = folder / "sklearn_fw" / "_kernels"
        self.kernels.mkdir(parents=True)
        for name in ("_jit.py", "_cache.py"):
            shutil.copy(PACKAGE / "_kernels" / name, self.kernels)
        (self.kernels / "small.py").write_text(KERNEL)
        for package in (self.kernels, self.kernels.parent):
            (package / "__init__.py").touch()
        self.cache = self.kernels / "__pycache__"
        # A file where a folder is wanted keeps everybody out, the administrator too.
        home = folder / "home"
        home.touch()
        if not writable:
            self.cache.touch()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.env = {
            name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")
        } | {
            "HOME": str(home), "XDG_CACHE_HOME": str(home),
            "LOCALAPPDATA": str(home), "TMPDIR": str(self.temporary),
        }  # fmt: skip

    @property
    def own(self):
        """Folder in the temporary folder that compiled kernels go to."""
        return self.temporary / f"sklearn_fw-kernels-{os.getuid()}"

    def run(self, code=CALLS, **env):
        """Output and what was written to stderr."""
        run = subprocess.run(
            [sys.executable, "-c", code],  # what lies in the current folder is found first
            cwd=self.folder, env=self.env | env, capture_output=True, text=True,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return run.stdout.split(), run.stderr


@pytest.fixture
def installation(tmp_path):
    if not hasattr(os, "getuid"):
        pytest.skip("this machine lacks owners of files")
    return Installation(tmp_path)


@pytest.mark.slow
def test_temporary_folder_serves_where_nothing_else_can_be_written(installation):
    assert installation.run("import sklearn_fw._kernels.small") == ([], "")
    out, err = installation.run()
    assert out == ["42", "42"]
    assert err.count("UserWarning") == 1
    assert f"are kept in the temporary folder {installation.own} " in err
    assert "Set the environment variable NUMBA_CACHE_DIR to a folder that stays" in err
    assert installation.own.stat().st_mode & 0o777 == 0o700
    assert len(list(installation.own.rglob("*.nbc"))) == 2
    assert installation.run() == (out, "")  # nothing is compiled, so nothing is said


def open_to_others(own):
    own.mkdir()
    own.chmod(0o770)


def replaceable(own):
    own.mkdir(mode=0o700)
    own.parent.chmod(0o777)


def link(own):
    (own.parent / "elsewhere").mkdir(mode=0o700)
    own.symlink_to("elsewhere")


def file(own):
    own.touch()


def of_another_user(own):
    own.mkdir(mode=0o700)
    if os.getuid() != 0:
        pytest.skip("this machine lacks the right to give a folder to another user")
    os.chown(own, 12345, -1)


@pytest.mark.parametrize("trap", [open_to_others, replaceable, link, file, of_another_user])
def test_folders_that_others_can_change_are_not_used(installation, trap, monkeypatch):
    trap(installation.own)
    monkeypatch.setattr("tempfile.tempdir", str(installation.temporary))
    assert _cache.temporary_folder.__wrapped__() is None


@pytest.mark.slow
def test_nothing_is_kept_where_no_folder_is_safe(installation):
    open_to_others(installation.own)
    out, err = installation.run()
    assert out == ["42", "42"]
    assert err.count("UserWarning") == 1
    assert "kernels are compiled again in each process" in err
    assert "Set the environment variable NUMBA_CACHE_DIR to a folder that can be written" in err
    assert not list(installation.temporary.rglob("*.nbc"))


@pytest.mark.slow
@pytest.mark.parametrize("kind, damage", [("nbi", b""), ("nbc", b"\x80\x05nonsense")])
def test_damaged_files_are_made_anew(tmp_path, kind, damage):
    installation = Installation(tmp_path, writable=True)
    expected = installation.run()
    files = list(installation.cache.glob(f"*.{kind}"))
    assert len(files) == 2
    sizes = {path: path.stat().st_size for path in files}
    for path in files:
        path.write_bytes(damage)
    assert installation.run() == expected
    assert {path: path.stat().st_size for path in files} == sizes


@pytest.mark.slow
@pytest.mark.parametrize("change", ["", "another kernel", "another processor"])
def test_kernels_of_a_release_are_loaded_where_they_fit(tmp_path, change):
    installation = Installation(tmp_path, writable=True)
    carried = installation.kernels / "compiled"
    expected, err = installation.run(SKLEARN_FW_COLLECT_KERNELS=str(carried))
    assert err.strip() == _cache.ANNOUNCEMENT
    assert len(list(carried.glob("*.nbc"))) == 2
    assert not installation.cache.exists() or not list(installation.cache.glob("*.nbc"))
    if change == "another kernel":  # a kernel that others call may stand in any file
        (installation.kernels / "other.py").write_text("# changed")
    code = "from sklearn_fw._kernels import _cache\n"
    if change == "another processor":
        code += "_cache.FEATURES = ['vector units of 2048 bits']\n"
    out, err = installation.run(code + CALLS)
    assert out == expected
    assert err.strip() == (_cache.ANNOUNCEMENT if change else "")
    assert len(list(installation.cache.glob("*.nbc"))) == (2 if change else 0)


@pytest.mark.slow
def test_damaged_kernels_of_a_release_are_compiled(tmp_path):
    installation = Installation(tmp_path, writable=True)
    carried = installation.kernels / "compiled"
    expected, _ = installation.run(SKLEARN_FW_COLLECT_KERNELS=str(carried))
    for path in carried.glob("*.nbc"):
        path.write_bytes(b"\x80\x05nonsense")
    assert installation.run() == (expected, _cache.ANNOUNCEMENT + "\n")


def test_full_disk_ends_no_fit(monkeypatch):
    @njit
    def add(x, y):
        return x + y

    def save(signature, compiled):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(add._cache, "_cache", Stub(save_overload=save))
    monkeypatch.setattr(_cache, "_said", set())
    with pytest.warns(UserWarning, match=r"No space left .* NUMBA_CACHE_DIR") as said:
        assert [add(1, 2), add(1.0, 2)] == [3, 3.0]
    assert len(said) == 1


class Stub:
    """A cache that holds nothing."""

    def __init__(self, **methods):
        vars(self).update(methods)

    def load_overload(self, signature, context):
        pass

    def save_overload(self, signature, compiled):
        pass


def test_compilation_is_announced_once(caplog, monkeypatch):
    @njit
    def add(x, y):
        return x + y

    monkeypatch.setattr(add._cache, "_cache", Stub())
    monkeypatch.setattr(_cache, "_said", set())
    add(1, 2)
    add(1.0, 2)
    found = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert found == [(logging.WARNING, _cache.ANNOUNCEMENT)]


# ---- interrupts ----------------------------------------------------------------------------------

INTERRUPTED = """
import signal
from numba.core.codegen import CPUCodeLibrary

took = CPUCodeLibrary._object_compiled_hook.__func__

def interrupted(cls, *args):
    signal.raise_signal(signal.SIGINT)
    took(cls, *args)

# LLVM calls this, and loses what it raises.
CPUCodeLibrary._object_compiled_hook = classmethod(interrupted)
from sklearn_fw._kernels.small import double, triple

for _ in range(2):
    try:
        print(double(21))
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_interrupt_within_llvm_stays_one(tmp_path):
    out, err = Installation(tmp_path, writable=True).run(INTERRUPTED)
    assert out == ["interrupted", "42"]
    assert err.strip() == _cache.ANNOUNCEMENT


@intrinsic(None)
def interrupt(typingctx):
    """Interrupts the compilation of what calls it."""

    def codegen(context, builder, signature, args):
        signal.raise_signal(signal.SIGINT)
        return context.get_dummy_value()

    return numba.types.void(), codegen


def interrupted_kernels():
    @njit(cache=False, no_cpython_wrapper=True)
    def within(x):
        interrupt()
        return x + 1

    @njit(cache=False)
    def outer(x):
        return within(x)

    @njit(cache=False)
    def alone(x):
        interrupt()
        return x + 1

    return alone, outer, within


@pytest.mark.parametrize("nested", [False, True])
def test_interrupts_wait_for_the_kernel(nested):
    alone, outer, within = interrupted_kernels()
    kernel, finished = (outer, within) if nested else (alone, alone)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(finished.overloads) == 1  # what was compiled is not lost
    assert kernel(1) == 2


def test_interrupts_are_handled_as_the_program_wants():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *details: seen.append(details))
    try:
        assert interrupted_kernels()[0](1) == 2
        assert [number for number, _ in seen] == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert interrupted_kernels()[0](1) == 2
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(seen) == 1


def test_threads_compile_without_signals():
    @njit(cache=False)
    def add(x, y):
        return x + y

    found = []
    thread = threading.Thread(target=lambda: found.append(add(1, 2)))
    thread.start()
    thread.join()
    assert found == [3]


# ---- without the compiler ------------------------------------------------------------------------


@njit
def all_operations(array, memory):
    atomics.prefetch(array, (0, 1))
    atomics.add(array, (0, 1), 2.5)
    old = atomics.exchange(memory, (1,), 7.0)
    return old


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_twins_of_atomics_do_the_same(dtype, monkeypatch):
    start = np.arange(4.0, dtype=dtype).reshape(2, 2), np.arange(3.0, dtype=dtype)
    compiled = [a.copy() for a in start]
    expected = all_operations(*compiled)
    for name in ("add", "exchange", "prefetch"):
        monkeypatch.setattr(atomics, name, getattr(atomics, f"plain_{name}"))
    plain = [a.copy() for a in start]
    assert all_operations.py_func(*plain) == expected == 1.0
    for a, b in zip(plain, compiled):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == dtype


def test_switch_of_numba_leaves_plain_functions(tmp_path):
    """They give no warnings, as compiled ones do not: random numbers overflow on purpose."""
    code = f"{CALLS}; print(type(double).__name__)"
    code += "; import numpy; print(double(numpy.uint64(2**63)))"
    out, err = Installation(tmp_path, writable=True).run(code, NUMBA_DISABLE_JIT="1")
    assert (out, err) == (["42", "42", "function", "0"], "")
