"""Build hook of the wheel: type stubs, made from signatures and the types in docstrings.

The environment variable SKLEARN_FW_KERNELS names a folder of compiled kernels that goes in, too.
Such a wheel is for one version of Python and one kind of machine; pip takes it there alone.

The source of types is the docstring, which the tests compare with signatures and fitted attributes.
Only modules are parsed: an isolated build has neither numpy nor numba. What a docstring describes
in words ("estimator", "various") becomes `Any`.
"""

import ast
import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # the tests make stubs without hatchling
    BuildHookInterface = object

HEAD = """\
# mypy: disable-error-code="override, assignment"
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
"""
ARRAYS = r"(ndarray|object array|array)( of (int|str|objects|lists|shapes?).*)?"
# Expression of a documented type, and its annotation as a parameter and as a result.
KINDS = [
    (r"(float|int|bool|str|None|bytes|slice)", r"\1", r"\1"),
    (r'"[^"]*"', r"Literal[\g<0>]", r"Literal[\g<0>]"),
    (r'\{((?:"[^"]*"|None|, )+)\}', r"Literal[\1]", r"Literal[\1]"),
    (r"(integer|float64|int64|int32|int8|dtype=object)", "", ""),  # kind of numbers of an array
    (ARRAYS, "ArrayLike", "NDArray[Any]"),
    (r"array-like( of .*)?", "ArrayLike", "NDArray[Any]"),
    (r"(path-like|path|Path)", "PathLike[str]", "PathLike[str]"),
    (r"list of (str|int|float|bool)", r"Sequence[\1]", r"list[\1]"),
    (r"list of .*|list", "Sequence[Any]", "list[Any]"),
    (r"tuple( of .*)?", "tuple[Any, ...]", "tuple[Any, ...]"),
    (r"iterable of .*", "Iterable[Any]", "Iterable[Any]"),
    (r"dict of str to ndarray", "Mapping[str, ArrayLike]", "dict[str, NDArray[Any]]"),
    (r"dict of str to (str|int|float)", r"Mapping[str, \1]", r"dict[str, \1]"),
    (r"dict( of .*)?", "Mapping[Any, Any]", "dict[Any, Any]"),
    (r"callable", "Callable[..., Any]", "Callable[..., Any]"),
    (r"RandomState( instance)?", "np.random.RandomState", "np.random.RandomState"),
]
# Results that scikit-learn defines, where a docstring has no section for them.
RESULTS = {
    "fit": "Self", "partial_fit": "Self", "score": "float", "predict": "NDArray[Any]",
    "predict_proba": "NDArray[Any]", "decision_function": "NDArray[Any]", "__len__": "int",
    "__init__": "None", "plot": "Self",
}  # fmt: skip
SPECIAL = {"__init__", "__call__", "__len__", "__getitem__", "__iter__", "__enter__", "__exit__"}


def parts_of(text):
    """Alternatives of a documented type, which commas and "or" separate outside of brackets."""
    depth, parts = 0, [""]
    for token in re.split(r"(\bor\b|,|[({\[\])}])", text):
        depth += token in ("(", "{", "[")
        depth -= token in (")", "}", "]")
        if depth == 0 and token in ("or", ","):
            parts.append("")
        else:
            parts[-1] += token
    return [" ".join(part.split()) for part in parts if part.strip()]


def annotation(text, classes, result=False):
    """The annotation of a documented type, or `Any`."""
    text = re.sub(r",?\s*(default=.*|optional|keyword-only)$", "", text, flags=re.S)
    text = re.sub(r"\{array-like, [^}\"]*\}", "sparse", text)
    found = []
    for part in parts_of(text):
        if found and re.fullmatch(r"(of shape )?\(.*\)( of .*)?", part):
            continue  # another shape of the array before
        part = re.sub(r" of (the )?(shape|length|n_\w+|size)\b.*", "", part).removeprefix("a ")
        for pattern, given, returned in KINDS:
            if match := re.fullmatch(pattern, part):
                found.append(match.expand(returned if result else given))
                break
        else:
            found.append(part if part in classes else "Any")
    found = list(dict.fromkeys(kind for kind in found if kind))
    return " | ".join(found) if found and "Any" not in found else "Any"


def documented(node):
    """{section: {name: type}} of a docstring; a result without a name has the name ""."""
    lines, sections, section = (ast.get_docstring(node) or "").splitlines(), {}, {}
    for line, below in zip(lines, [*lines[1:], ""]):
        if re.fullmatch(r"-{3,}", below):
            section = sections.setdefault(line, {})
        elif line and not re.match(r"[\s-]|\.\. ", line):
            names, _, kind = line.partition(" : ")
            if not kind and section is sections.get("Returns"):
                names, kind = "", line
            names = [name.strip(" *") for name in names.split(",")]
            kinds = [kind] * len(names)
            if len(names) > 1 and "array-like" not in kind:
                split = re.split(r", and |, | and ", re.sub(r",? ?default=.*", "", kind))
                kinds = split if len(split) == len(names) else kinds if "," not in kind else [""]
            section.update(zip(names, kinds))
    return sections


class Stubs:
    """Stubs of all modules of a package, which is parsed once."""

    def __init__(self, package):
        self.root = Path(package)
        self.trees = {
            path: ast.parse(path.read_text(encoding="utf-8"))
            for path in sorted(self.root.rglob("*.py"))
            if path.name[:2] != "__" and "_kernels" not in path.parts
        }
        self.classes, self.homes = {}, {}
        for path, tree in self.trees.items():
            module = ".".join(path.relative_to(self.root.parent).with_suffix("").parts)
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name], self.homes[node.name] = node, module

    def texts(self):
        """{path of a stub, relative to the parent of the package: its text}."""
        texts = {
            path.relative_to(self.root.parent).with_suffix(".pyi").as_posix(): self.module(tree)
            for path, tree in self.trees.items()
        }
        return texts | {f"{self.root.name}/__init__.pyi": self.front()}

    def front(self):
        """The stub of the package, which imports its names at their first use."""
        tree = ast.parse((self.root / "__init__.py").read_text(encoding="utf-8"))
        (families,) = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_FAMILIES"
        ]
        lines = ["__version__: str"]
        for family, names in families.items():
            lines.append(f"from . import {family} as {family}")
            lines += [f"from .{family} import {name} as {name}" for name in names.split()]
        return "\n".join([*lines, ""])

    def module(self, tree):
        body = []
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                body += self.class_(node)
            elif isinstance(node, ast.FunctionDef) and node.name[0] != "_":
                body += self.function(node)
            elif isinstance(node, ast.Assign) and "namedtuple" in ast.unparse(node.value):
                body.append(ast.unparse(node))
            elif isinstance(node, ast.Assign | ast.Try | ast.If):
                names = bound(node)
                body += [f"{name}: Any" for name in sorted(names) if name[0] != "_"]
                body += [ast.unparse(node)] if "__all__" in names else []
        used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(body)))
        own = {*bound(tree), "np"}
        imports = []
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [a for a in node.names if (a.asname or a.name) in used - {"np"}]
                if names:
                    node = type(node)(**{**vars(node), "names": names})
                    imports.append(ast.unparse(node))
        imports += [
            f"from {self.homes[name]} import {name}"
            for name in sorted(used & self.homes.keys() - own)
        ]
        return "\n".join([HEAD, *imports, *body, ""])

    def lineage(self, node):
        """The class and the classes of this package above it, in the order of inheritance."""
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        rest = [self.lineage(self.classes[name]) for name in bases if name in self.classes]
        line, rest = [node], [list(above) for above in rest]
        while rest := [above for above in rest if above]:
            heads = [a[0] for a in rest if not any(a[0] in other[1:] for other in rest)]
            line.append(heads[0])
            rest = [[c for c in above if c is not heads[0]] for above in rest]
        return line

    def class_(self, node):
        lineage = self.lineage(node)
        params, attributes = {}, {}
        for above in reversed(lineage):
            sections = documented(above)
            params |= sections.get("Parameters", {})
            attributes |= sections.get("Attributes", {}) if above is node else {}
        body, names = [], set()
        is_enum = any("Enum" in ast.unparse(base) for base in node.bases)
        for item in node.body:
            if is_enum and isinstance(item, ast.Assign):
                body.append(f"    {ast.unparse(item)}")
            if isinstance(item, ast.FunctionDef) and (item.name[0] != "_" or item.name in SPECIAL):
                names.add(item.name)
                body += [f"    {line}" for line in self.function(item, lineage, params)]
        decorators = [ast.unparse(item) for item in node.decorator_list]
        plain = any("NamedTuple" in ast.unparse(base) for base in node.bases) or any(
            "dataclass" in text for text in decorators
        )
        fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
        if fields and not plain and "__init__" not in names:
            body.append(f"    {self.declared(lineage, params)}")
        known = attributes | {name: kind for name, kind in params.items() if not plain}
        for field in fields:
            known.setdefault(field.target.id, params.get(field.target.id, ""))
        inherited = {
            item.name for c in lineage for item in c.body if isinstance(item, ast.FunctionDef)
        }
        for name, kind in known.items():
            if name.isidentifier() and name not in inherited and name[0] != "_":
                kind = self.kind(kind, default=params.get(name, ""), result=name in attributes)
                default = " = ..." if plain and has_default(fields, name) else ""
                body.append(f"    {name}: {kind}{default}")
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        head = [f"@{text}" for text in decorators if "dataclass" in text]
        return [*head, f"class {node.name}({bases}):", *(body or ["    ..."])]

    def kind(self, text, default="", result=False):
        kind = annotation(text, self.homes, result)
        if "default=None" in (text + default).replace(" ", "") and kind != "Any":
            kind += "" if "None" in kind else " | None"
        return kind

    def declared(self, lineage, params):
        """Constructor of a class with declared parameters, as a data class makes it."""
        order = {}
        for above in reversed(lineage):
            kw_only = False
            for item in above.body:
                if isinstance(item, ast.AnnAssign):
                    name, text = item.target.id, ast.unparse(item.annotation)
                    kw_only |= text.endswith("KW_ONLY")
                    value = ast.unparse(item.value) if item.value else None
                    if "init=False" in (value or ""):
                        order.pop(name, None)
                    elif not text.endswith("KW_ONLY"):
                        order[name] = kw_only or "kw_only=True" in (value or ""), value
        words = []
        for only in (False, True):
            found = [(name, value) for name, (is_only, value) in order.items() if is_only == only]
            words += ["*"] if only and found else []
            for name, value in found:
                kind = self.kind(params.get(name, ""), f"default={value}")
                words.append(f"{name}: {kind}{' = ...' if value else ''}")
        return f"def __init__({', '.join(['self', *words])}) -> None: ..."

    def function(self, node, lineage=(), params=()):
        """Lines of a function or method; what it does not document is that of a class above."""
        kinds, returns = {}, None
        for above in [node] + [
            item
            for c in lineage[1:]
            for item in c.body
            if isinstance(item, ast.FunctionDef) and item.name == node.name
        ]:
            sections = documented(above)
            kinds = sections.get("Parameters", {}) | kinds
            returns = returns or sections.get("Returns")
        if node.name == "__init__":
            kinds = params
        decorators = [ast.unparse(item) for item in node.decorator_list]
        kept = [d for d in decorators if d in ("property", "classmethod", "staticmethod")]
        kept += ["property"] if any("cached_property" in d for d in decorators) else []
        kept += [d for d in decorators if d.endswith(".setter")]
        result = RESULTS.get(node.name, "Any") if lineage else "Any"
        if returns and len(returns) == 1:
            ((name, text),) = returns.items()
            result = "Self" if name == "self" else self.kind(text, result=True)
        if any("contextmanager" in d for d in decorators):
            result = "Any"
        words = self.arguments(node.args, kinds, bool(lineage) and "staticmethod" not in kept)
        return [*(f"@{d}" for d in kept), f"def {node.name}({words}) -> {result}: ..."]

    def arguments(self, args, kinds, is_method):
        plain = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
        words = []
        for k, (arg, default) in enumerate(zip(plain, defaults)):
            is_self = is_method and k == 0
            words.append(arg.arg if is_self else self.argument(arg, default, kinds))
            words += ["/"] if k + 1 == len(args.posonlyargs) else []
        if args.vararg:
            words.append(f"*{args.vararg.arg}: Any")
        elif args.kwonlyargs:
            words.append("*")
        words += [self.argument(*pair, kinds) for pair in zip(args.kwonlyargs, args.kw_defaults)]
        return ", ".join(words + ([f"**{args.kwarg.arg}: Any"] if args.kwarg else []))

    def argument(self, arg, default, kinds):
        text = kinds.get(arg.arg, "") if kinds else ""
        is_none = isinstance(default, ast.Constant) and default.value is None
        kind = self.kind(text, default="default=None" if is_none else "")
        return f"{arg.arg}: {kind}{'' if default is None else ' = ...'}"


def bound(node):
    """Names that a statement, or a module, binds; not those of inner blocks of functions."""
    names = set()
    for item in ast.iter_child_nodes(node):
        if isinstance(item, ast.ClassDef | ast.FunctionDef):
            names.add(item.name)
        elif isinstance(item, ast.Import | ast.ImportFrom):
            names |= {a.asname or a.name.split(".")[0] for a in item.names}
        elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            names.add(item.id)
        elif isinstance(item, ast.stmt | ast.Tuple | ast.ExceptHandler):
            names |= bound(item)
    return names


def has_default(fields, name):
    return any(field.target.id == name and field.value is not None for field in fields)


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":  # without stubs there is no `py.typed` either
            return
        self.folder = tempfile.TemporaryDirectory()
        texts = Stubs(Path(self.root) / "sklearn_fw").texts() | {"sklearn_fw/py.typed": ""}
        for name, text in texts.items():
            path = Path(self.folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            build_data["force_include"][str(path)] = name
        if folder := os.environ.get("SKLEARN_FW_KERNELS"):
            build_data["force_include"][folder] = "sklearn_fw/_kernels/compiled"
            # The oldest C library that wheels of numba are for.
            system = sysconfig.get_platform().replace("linux", "manylinux_2_28")
            python = "cp{}{}".format(*sys.version_info)
            build_data["tag"] = f"{python}-none-{re.sub('[-.]', '_', system)}"
            build_data["pure_python"] = False

    def finalize(self, version, build_data, artifact_path):
        if version != "editable":
            self.folder.cleanup()
