"""The rules of the code base that a program can check. CONTRIBUTING.md says them in words."""

import ast
import functools
import io
import re
import subprocess
import sys
import tokenize
import tomllib

import networkx
import pytest

from _package import PACKAGE, ROOT, families, nodes, sources

# A module imports from its own subpackage and from subpackages that stand before it.
SUBPACKAGES = [
    "_kernels",
    "_core",
    "losses",
    "task_losses",
    "penalties",
    "projections",
    "inference",
    "optim",
    "model_selection",
    "random_fields",
    "structured",
    "surrogates",
    "linear_model",
    "density",
    "gaussian_probability",
    "pac_bayes",
    "decomposition",
    "cluster",
    "alignment",
    "inspection",
    "seq2seq",
    "metrics",
    "preprocessing",
    "datasets",
    "displays",
    "utils",
    "_demo",
    "_precompile",
    "__main__",
]

# Kinds of kernels; a kernel imports from its own kind and from kinds that stand before it.
KERNEL_KINDS = ["common", "moments", "incremental", "graphs", "frank_wolfe", "structured"]

# Imports against the arrows, allowed inside functions only: {(file, subpackage): why}.
LAZY_EXCEPTIONS = {
    ("sklearn_fw/model_selection/_path.py", "metrics"): "scoring takes the names of SCORERS"
}

# Private names of scikit-learn that its own documentation tells developers to use.
PRIVATE_SKLEARN = {"_safe_indexing"}
PRIVATE_METHODS = {"_validate_params", "_parameter_constraints", "_validate_data"}

# Lines of code of each subpackage, which may only fall: a commit that raises one says why.
LINES_OF_CODE = {
    "sklearn_fw": 212,
    "_kernels": 7014,
    "_core": 2019,
    "losses": 390,
    "task_losses": 658,
    "penalties": 434,
    "projections": 120,
    "inference": 1953,
    "optim": 6349,
    "model_selection": 442,
    "random_fields": 3228,
    "structured": 9151,
    "surrogates": 877,
    "linear_model": 1683,
    "density": 1332,
    "gaussian_probability": 1445,
    "pac_bayes": 546,
    "decomposition": 1342,
    "cluster": 1026,
    "alignment": 814,
    "inspection": 1895,
    "seq2seq": 1522,
    "metrics": 248,
    "preprocessing": 642,
    "datasets": 1171,
    "displays": 229,
    "utils": 271,
}
SLACK = 40  # lines below the budget at which the budget is lowered

# Imports of another subpackage's private modules, which may only become fewer.
PRIVATE_IMPORTS = 8

MAX_LINES = 700
FUNCTION_LINES = 60  # without the docstring
# Kernels that are longer, and why; what they would pass on to parts is more than ten arguments.
LONG_KERNELS = {
    "min_fill": "a greedy loop over one set of buckets, marks and counts that every part changes",
    "_newton_direction": "a dense solve by blocks that share all their intermediate sums",
    "trws_sweep": "one node at a time: its sum, its bound and its messages read the same scratch",
}


@functools.cache
def imports(tree, path):
    """(absolute module, imported name or None, line, inside a function) of every import."""
    return list(_imports(tree, path))


def _imports(tree, path):
    package = path.removesuffix(".py").split("/")[:-1]
    lazy = {
        id(node)
        for function in nodes(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None, node.lineno, id(node) in lazy
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            for alias in node.names:
                yield module, alias.name, node.lineno, id(node) in lazy


def arrow_faults(files, exceptions=None):
    """Return a sentence for every import against the arrows, and for every unused exception."""
    exceptions = LAZY_EXCEPTIONS if exceptions is None else exceptions
    faults, used = [], set()
    for path, tree in files.items():
        own = path.split("/")[1].removesuffix(".py")
        if own == "__init__":  # the front door gathers names from every subpackage
            continue
        if own not in SUBPACKAGES:
            faults.append(f"{path}: {own} has no place in SUBPACKAGES")
            continue
        for module, name, line, lazy in imports(tree, path):
            parts = [*module.split("."), *([name] if name else [])]
            if parts[0] != "sklearn_fw":
                continue
            target = parts[1] if len(parts) > 1 else None
            if target == "__version__":  # the one source of the version is the front door
                continue
            if target not in SUBPACKAGES:
                faults.append(
                    f"{path}:{line} imports {target} of sklearn_fw, which is not a subpackage"
                )
            elif SUBPACKAGES.index(target) > SUBPACKAGES.index(own):
                if lazy and (path, target) in exceptions:
                    used.add((path, target))
                else:
                    faults.append(f"{path}:{line} imports {target}, which stands below {own}")
    faults += [f"LAZY_EXCEPTIONS: {entry} is not needed" for entry in set(exceptions) - used]
    return faults


def test_imports_follow_the_arrows():
    assert not arrow_faults(sources())


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("from ..structured import StructuredSVM", "stands below"),
        ("def f():\n    from .. import structured", "stands below"),
        ("import sklearn_fw.structured", "stands below"),
        ("from sklearn_fw import StructuredSVM", "not a subpackage"),
        ("from .._kernels import chain", None),
        ("from ._map import MAP", None),
    ],
)
def test_arrow_faults_are_found(line, fault):
    faults = arrow_faults({"sklearn_fw/inference/_chain.py": ast.parse(line)}, exceptions={})
    assert [fault in f for f in faults] == ([] if fault is None else [True])


def import_graph(files):
    """Directed graph of the modules, from each to those that it imports at any time."""
    modules = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in files
    }
    graph = networkx.DiGraph()
    for path, tree in files.items():
        own = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for module, name, *_ in imports(tree, path):
            target = f"{module}.{name}" if f"{module}.{name}" in modules else module
            if target in modules and target != own:
                graph.add_edge(own, target)
    return graph


def test_no_modules_import_each_other():
    parts = networkx.strongly_connected_components(import_graph(sources()))
    circles = [sorted(part) for part in parts if len(part) > 1]
    assert not circles, circles


def private_imports(files):
    """Yield the imports of another subpackage's private modules."""
    for path, tree in files.items():
        own = path.split("/")[1]
        for module, _, line, _ in imports(tree, path):
            top, *inner = module.split(".")[1:] or [""]
            shared = own == top or top.startswith("_") or own.endswith(".py")
            if not shared and any(part.startswith("_") for part in inner):
                yield f"{path}:{line} imports {module}"


def test_private_modules_stay_private():
    found = sorted(set(private_imports(sources())))
    assert len(found) <= PRIVATE_IMPORTS, "\n".join(found)
    assert len(found) == PRIVATE_IMPORTS, "lower PRIVATE_IMPORTS"


def lines_of_code(path):
    """Number of lines that hold something other than a comment, a docstring or blanks."""
    source = path.read_text(encoding="utf-8")
    used = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            used.update(range(token.start[0], token.end[0] + 1))
    for node in nodes(sources()[path.relative_to(ROOT).as_posix()]):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            used -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(used)


NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def test_subpackages_keep_their_budget():
    size = dict.fromkeys(LINES_OF_CODE, 0)
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        size[parts[0] if len(parts) > 1 else "sklearn_fw"] += lines_of_code(path)
    over = {name: n for name, n in size.items() if n > LINES_OF_CODE[name]}
    assert not over, f"over budget: {over}; simplify, or edit LINES_OF_CODE and say why"
    slack = {name: n for name, n in size.items() if n < LINES_OF_CODE[name] - SLACK}
    assert not slack, f"lower LINES_OF_CODE: {slack}"


def test_numba_stays_in_kernels():
    for path, tree in sources().items():
        if not path.startswith("sklearn_fw/_kernels/"):
            found = [line for module, _, line, _ in imports(tree, path) if is_in(module, "numba")]
            assert not found, f"{path}:{found}: compiled code belongs into _kernels"


def is_in(module, package):
    return module == package or module.startswith(package + ".")


def test_kernels_need_numpy_and_numba_only():
    allowed = {"numpy", "numba", "llvmlite", "sklearn_fw", *sys.stdlib_module_names}
    for path, tree in sources(PACKAGE / "_kernels").items():
        found = {module for module, *_ in imports(tree, path)}
        assert {module.split(".")[0] for module in found} <= allowed, path


def kernel_faults(path, tree):
    """Return a sentence for everything in a kernel file that breaks the rules for kernels."""
    faults = []
    for module, name, line, _ in imports(tree, path):
        if is_in(module, "numba") and name in COMPILERS:
            faults.append(f"{path}:{line} takes {name} from numba, use what _jit.py has")
        if name == "njit" and module != "sklearn_fw._kernels._jit":
            faults.append(f"{path}:{line} takes njit from {module}, use `from ._jit import njit`")
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in COMPILERS:
            faults.append(f"{path}:{node.lineno} uses {node.attr}")
        elif isinstance(node, ast.keyword) and node.arg in {"fastmath", "parallel"}:
            faults.append(f"{path}:{node.lineno} sets {node.arg}")
    return faults


COMPILERS = {
    "njit", "jit", "prange", "jitclass", "vectorize", "guvectorize", "stencil", "cfunc",
    "intrinsic", "overload",
}  # fmt: skip


def test_kernels_are_compiled_one_way():
    files = sources(PACKAGE / "_kernels").items()
    wrapper = "sklearn_fw/_kernels/_jit.py"
    found = [kernel_faults(path, tree) for path, tree in files if path != wrapper]
    assert not any(found)


@pytest.mark.parametrize(
    ("code", "n_faults"),
    [
        ("from ._jit import njit", 0),
        ("from numba import njit", 2),
        ("import numba\nf = numba.njit(g)", 1),
        ("from numba.experimental import jitclass", 1),
        ("from ._jit import njit\n@njit(fastmath=True)\ndef f(): pass", 1),
        ("from numba import prange", 1),
        ("from numba.extending import intrinsic", 1),
        ("from ._jit import intrinsic", 0),
    ],
)
def test_kernel_faults_are_found(code, n_faults):
    assert len(kernel_faults("sklearn_fw/_kernels/x.py", ast.parse(code))) == n_faults


def test_kernels_stand_with_their_kind():
    for path, tree in sources(PACKAGE / "_kernels").items():
        kind = path.split("/")[2]
        if kind in ("__init__.py", "_jit.py", "_cache.py"):
            continue
        assert kind in KERNEL_KINDS, f"{path}: kernels stand in {', '.join(KERNEL_KINDS)}"
        for module, name, line, _ in imports(tree, path):
            parts = [*module.split("."), name]
            if parts[:2] == ["sklearn_fw", "_kernels"] and parts[2] in KERNEL_KINDS:
                later = KERNEL_KINDS.index(parts[2]) > KERNEL_KINDS.index(kind)
                assert not later, f"{path}:{line} imports {parts[2]}, which stands below {kind}"


def test_only_public_names_of_sklearn():
    for path, tree in sources().items():
        for module, name, line, _ in imports(tree, path):
            if is_in(module, "sklearn"):
                used = [*module.split("."), *([name] if name else [])]
                private = {part for part in used if part.startswith("_")} - PRIVATE_SKLEARN
                assert not private, f"{path}:{line} imports {private} of scikit-learn"
        for node in nodes(tree):
            used = getattr(node, "attr", None) or getattr(node, "id", None)
            assert used not in PRIVATE_METHODS, f"{path}:{node.lineno} uses {used} of scikit-learn"


def test_threads_are_counted_in_one_place():
    for path, tree in sources().items():
        if path != "sklearn_fw/_core/threads.py":
            found = [line for _, name, line, _ in imports(tree, path) if name == "Parallel"]
            assert not found, (
                f"{path}:{found}: take `parallel` of _core/threads.py, which caps threads"
            )


def test_extras_are_asked_for_by_the_fixture():
    """Only then a test carries the mark that `dev.py test-extras` runs it by."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    there = project["dependencies"] + extras["test"] + extras["plot"] + extras["progress"]
    installed = " ".join(there)
    for path, tree in sources(ROOT / "tests").items():
        for node in nodes(tree):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_call and node.func.attr == "importorskip" and path != "tests/conftest.py":
                name = getattr(node.args[0], "value", None)
                if name is not None and name not in sys.stdlib_module_names | {"cupy"}:
                    known = name.split(".")[0] in installed
                    assert known, f"{path}:{node.lineno}: take the fixture `extra` for {name}"


def test_nothing_is_printed():
    for path, tree in sources().items():
        if path != "sklearn_fw/__main__.py":
            found = [
                node.lineno
                for node in nodes(tree)
                if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print"
            ]
            assert not found, f"{path}:{found}: report through logging, `callback` or `history_`"


def project_files():
    """Return the text files that belong to the project, leaving out what programs made."""
    made = re.compile(r"/\.venv|/__pycache__/|^docs/(_build|gallery|api/generated)/")
    kinds = {".py", ".md", ".rst", ".toml", ".cff", ".yaml", ".css", ".jinja"}
    for top in ["sklearn_fw", "tests", "examples", "docs"]:
        for path in (ROOT / top).rglob("*"):
            if path.suffix in kinds and not made.search(path.relative_to(ROOT).as_posix()):
                yield path
    yield from (path for path in ROOT.glob("*") if path.suffix in kinds)


def test_files_are_short():
    long = {
        path.relative_to(ROOT).as_posix(): n
        for path in project_files()
        if path.suffix == ".py" and (n := len(path.read_bytes().splitlines())) > MAX_LINES
    }
    assert not long, f"split these: {long}"


def test_functions_are_short():
    long, used = {}, set()
    for path, tree in sources().items():
        for node in nodes(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                doc = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) else 0
                n = node.end_lineno - node.lineno + 1 - doc
                if n > FUNCTION_LINES:
                    is_excused = node.name in LONG_KERNELS and "/_kernels/" in path
                    used |= {node.name} if is_excused else set()
                    long |= {} if is_excused else {f"{path}: {node.name}": n}
    assert not long, f"split these: {long}"
    assert used == set(LONG_KERNELS), "remove what is short now"


def test_no_paths_of_one_machine():
    absolute = re.compile(r"(?<![\w./:~-])(/(home|root|work|Users|opt|mnt|data)/\w|[A-Z]:\\\w)")
    for path in project_files():
        text = path.read_text(encoding="utf-8")
        found = [match.group() for match in absolute.finditer(text)]
        assert not found, f"{path.relative_to(ROOT)} names a place on one machine: {found}"


def in_new_process(code):
    """Run code in a fresh Python and return the words that it prints."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_import_is_light():
    heavy = ["matplotlib", "networkx", "numba"]
    loaded = f"print(*(name for name in {heavy} if name in sys.modules))"
    assert not in_new_process(f"import sys, sklearn_fw; {loaded}")
    assert not in_new_process(f"import sys; from sklearn_fw import *; {loaded}")


def test_families_do_without_extras():
    extras = ["dask", "matplotlib", "pandas", "pytoulbar2", "rich", "torch"]
    names = ", ".join(["sklearn_fw", *(module.__name__ for module in families())])
    # None in sys.modules makes the import of that name fail, as if it were not installed. SciPy
    # looks into its values while it is imported, so it goes first.
    hide = f"import sys, scipy.stats; sys.modules.update(dict.fromkeys({extras}))"
    in_new_process(f"{hide}; import {names}")
