"""What a call may answer: errors that name something, or numbers that are finite.

Verdicts: ``"answer"`` and ``"refused"`` are right, all others are violations.
"""

import linecache
import re
import traceback
import warnings
from dataclasses import dataclass
from numbers import Number
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import NotFittedError

import sklearn_fw

from . import corrupted_code
from .workers import GOOD

OURS = str(Path(sklearn_fw.__file__).parent)
THEIRS = str(Path(sklearn.__file__).parent)
HERE = str(Path(__file__).parent)
# Of scikit-learn, the parts that check what users give.
CHECKS = ("utils", "base.py", "model_selection", "metrics", "_config.py", "exceptions.py")
# Files that cannot be read are reported by the operating system.
SYSTEM = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
# Numbers that no two runs share.
CLOCKS = re.compile(r"time|seconds|history|n_iter|n_oracle|status|message", re.I)
MANY_PARTS = 4000
KINDS = (
    ValueError, TypeError, NotFittedError, AssertionError, OSError, FloatingPointError,
    NotImplementedError,
)  # fmt: skip
NUMPYS = re.compile(r"encountered in|empty slice|Degrees of freedom|All-NaN|never awaited")


@dataclass(frozen=True)
class Verdict:
    """What happened, in a word and in a line."""

    word: str
    detail: str = ""

    @property
    def good(self):
        """Whether the call may answer this."""
        return self.word in GOOD


def judge(call, *, level, names, usual=None, user_code=False, raises=(), infinite=False):
    """Run a call without arguments and say whether what it did is right.

    ``names`` are the words of which an error has to hold one, ``usual`` is the answer of the same
    call with nothing corrupted, ``raises`` are errors that the callable documents, and ``infinite``
    says that it documents infinity.
    """
    corrupted_code.CALLS["n"] = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            return _of_error(error, names, user_code, raises)
    raw = [w for w in caught if _is_raw(w, infinite)]
    if user_code and not corrupted_code.CALLS["n"]:
        return Verdict("unreached")
    if raw and level != "free":
        place = f"{Path(raw[0].filename).name}:{raw[0].lineno}"
        return Verdict("raw warning", f"{raw[0].category.__name__}: {raw[0].message} ({place})")
    if level == "free":
        return Verdict("answer")
    if level == "invalid":
        return Verdict("accepted", short(result))
    told = any(issubclass(w.category, UserWarning) for w in caught)
    if not told and (place := _not_finite(result, usual, infinite)):
        return Verdict("not finite", place)
    if level == "harmless" and usual is not None and (place := _differs(result, usual)):
        return Verdict("other answer", place)
    return Verdict("answer")


# ---- errors --------------------------------------------------------------------------------------


def _of_error(error, names, user_code, raises):
    if isinstance(error, raises):
        return Verdict("refused")
    if isinstance(error, corrupted_code.UserCodeError):
        return Verdict("refused" if user_code else "raw error", str(error))
    if _has_cause(error, corrupted_code.UserCodeError):
        return Verdict("user error changed", describe(error))
    if any(_mentions(note, name) for note in getattr(error, "__notes__", ()) for name in names):
        return Verdict("refused")  # by user code, as it is, and a note says where
    if not isinstance(error, KINDS) or isinstance(error, UnicodeError):
        return Verdict("raw error", describe(error))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if HERE not in f.filename]
    if not frames or (isinstance(error, SYSTEM) and error.args) or _is_sklearns(frames):
        return Verdict("refused")  # without frames the call does not fit: Python names the argument
    last = frames[-1]
    is_raised = linecache.getline(last.filename, last.lineno).strip().startswith("raise")
    is_ours = last.name == "check_scalar" or (
        OURS in last.filename and str(Path(OURS, "_kernels")) not in last.filename
    )
    if isinstance(error, SYSTEM) or not (is_ours and is_raised):
        return Verdict("raw error", describe(error))
    if isinstance(error, NotFittedError) or any(_mentions(str(error), name) for name in names):
        return Verdict("refused")
    return Verdict("names nothing", describe(error))


def _is_sklearns(frames):
    """Whether scikit-learn refuses: one of its checks, its scores or its own methods."""
    files = [f.filename for f in frames]
    ours = [i for i, file in enumerate(files) if OURS in file]
    if not ours and any(THEIRS in file for file in files):
        return True  # a method that scikit-learn wrote
    beyond = files[ours[-1] + 1 :] if ours else files
    if any(file.startswith(str(Path(THEIRS, "metrics"))) for file in beyond):
        return True  # a score, which compares labels
    validation = str(Path("utils", "validation.py"))
    if any(f.filename.endswith(validation) and f.name == "check_array" for f in frames):
        return True  # in scikit-learn's words, whoever found it
    if THEIRS not in files[-1] or frames[-1].name == "check_scalar":
        return False
    return Path(files[-1]).relative_to(THEIRS).parts[0] in CHECKS


def _has_cause(error, kind):
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, kind):
            return True
        seen.add(id(error))
        error = error.__cause__
    return False


def _mentions(message, name):
    forms = "|".join(re.escape(form) for form in (name, name.replace("_", " ")))
    return re.search(rf"(?<![A-Za-z0-9])({forms})s?(?![A-Za-z0-9])", message, re.I) is not None


def describe(error):
    """The error and the line of the package that it came from."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(OURS)]
    place = ""
    if ours:
        file = Path(ours[-1].filename).relative_to(OURS).as_posix()
        place = f" [{file}:{ours[-1].lineno}]"
    return f"{type(error).__name__}: {str(error)[:160]!r}{place}"


# ---- answers -------------------------------------------------------------------------------------


def _is_raw(warning, infinite):
    kind = warning.category
    if infinite and "overflow encountered" in str(warning.message):
        return False  # which is what infinity says
    if issubclass(kind, RuntimeWarning):  # of which the package has some of its own
        return NUMPYS.search(str(warning.message)) is not None
    return issubclass(kind, DeprecationWarning) or "ComplexWarning" in kind.__name__


def parts(value, name="", depth=0, seen=None):
    """Yield (name, array or number) of everything in an answer."""
    seen = set() if seen is None else seen
    if id(value) in seen or depth > 6 or len(seen) > MANY_PARTS:
        return
    if isinstance(value, bool | str | bytes | type | np.bool_ | None | Path):
        return
    if isinstance(value, Number | np.ndarray):
        if isinstance(value, np.ndarray) and value.dtype == object:
            seen.add(id(value))
            for i, item in enumerate(value.ravel()):
                yield from parts(item, f"{name}[{i}]", depth + 1, seen)
        elif not isinstance(value, np.ndarray) or value.dtype.kind in "fciub":
            yield name, value
        return
    seen.add(id(value))
    if sp.issparse(value):
        yield f"{name}.data", value.data
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from parts(item, f"{name}[{key!r}]", depth + 1, seen)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from parts(item, f"{name}[{i}]", depth + 1, seen)
    elif type(value).__module__.split(".")[0] in ("sklearn_fw", "fuzz"):
        # Of estimators what fit has learnt, of other objects what they show.
        fitted = hasattr(value, "get_params")
        for key, item in getattr(value, "__dict__", {}).items():
            if not key.startswith("_") and (key.endswith("_") or not fitted):
                yield from parts(item, f"{name}.{key}", depth + 1, seen)
        for key in getattr(type(value), "__slots__", ()):
            if not key.startswith("_") and hasattr(value, key):
                yield from parts(getattr(value, key), f"{name}.{key}", depth + 1, seen)


def _bad(value):
    array = np.asarray(value)
    if array.dtype.kind not in "fc":
        return None
    if np.isnan(array).any():
        return "nan"
    if np.isinf(array).any():
        return "inf"
    return None


def _not_finite(result, usual, infinite=False):
    """Where an answer holds what the usual one does not hold there: NaN or infinity."""
    allowed = {(name, _bad(value)) for name, value in parts(usual)}
    for name, value in parts(result):
        bad = _bad(value)
        if bad == "inf" and infinite:
            continue
        if bad and (name, bad) not in allowed and not CLOCKS.search(name):
            return f"{bad} in {name or 'the result'}"
    return None


def _differs(result, usual):
    """Where an answer is another one than usual, beyond rounding."""
    if type(result) is not type(usual):
        return f"a {type(result).__name__}, not a {type(usual).__name__}"
    ours = dict(parts(result))
    for name, value in parts(usual):
        if CLOCKS.search(name) or name not in ours:
            continue
        a, b = np.asarray(ours[name]), np.asarray(value)
        if a.shape != b.shape:
            return f"{name or 'the result'} has shape {a.shape}, not {b.shape}"
        if not np.allclose(
            a.astype(complex), b.astype(complex), rtol=1e-3, atol=1e-5, equal_nan=True
        ):
            return f"{name or 'the result'} is {short(a)}, not {short(b)}"
    return None


def short(value):
    """A value in a few words."""
    try:
        return " ".join(repr(value).split())[:80]
    except Exception as error:  # a repr that fails is worth a line as well
        return f"repr fails: {type(error).__name__}"
