"""The table of valid calls: one of every public callable, from which corrupted ones are made.

The arguments of a call come from its signature: for each parameter the value that its entry gives,
the value of that name among the kinds of data of its subpackage (`calls_*.py`), the one in
`COMMON`, or the default.
"""

import copy
import functools
import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from _package import families, public_objects

COMMON = {
    "max_iter": 20, "tol": 1e-3, "time_limit": 100.0, "n_jobs": 1, "warm_start": False,
    "random_state": 0, "verbose": 0, "ax": None,
}  # fmt: skip
STORED = {"* *": "stored; what uses it checks"}

# Methods that come from scikit-learn and have no corruption of ours.
GENERAL = {
    "get_params", "set_params", "get_metadata_routing", "set_callbacks", "set_output", "count",
    "index", "densify", "sparsify",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A public callable with valid arguments.

    ``make`` gives fresh arguments, ``run`` calls with them. ``variants`` are other valid values by
    argument, which the fuzzer mixes in. ``docs`` are the objects whose docstrings say what types
    arguments may have. ``aliases`` are words besides the argument's name that a message may use.
    ``allows`` names corruptions that are fine although no docstring says so, as
    {"argument corruption corruption ...": reason}; "*" stands for any, and "X.#.#" as an argument
    for any entry of an entry of X. ``raises`` are documented errors of other kinds, and
    ``infinite`` says that infinity is a documented answer.
    """

    name: str
    make: Callable
    run: Callable
    docs: tuple = ()
    variants: dict = field(default_factory=dict)
    aliases: dict = field(default_factory=dict)
    allows: dict = field(default_factory=dict)
    raises: tuple = ()
    infinite: bool = False
    slow: bool = False

    @functools.cached_property
    def types(self):
        """Documented types of the arguments."""
        return {name: kind for doc in self.docs for name, kind in documented(doc).items()}

    @functools.cached_property
    def allowed(self):
        """Pairs of an argument and a corruption that is fine there."""
        keys = [key.split() for key in self.allows]
        return {(argument, corruption) for argument, *those in keys for corruption in those}


def documented(obj):
    """{parameter: type} of a docstring in the format of numpydoc."""
    text = inspect.getdoc(obj) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.M | re.S)
    found = {}
    if section:
        body = section[1].replace("\\\n", " ")
        for names, kind in re.findall(r"^(\*{0,2}\w[\w, *]*) : (.*(?:\n {8,}\S.*)?)$", body, re.M):
            for name in names.split(","):
                found[name.strip().strip("*")] = kind
    return found


# ---- arguments -----------------------------------------------------------------------------------


class Later:
    """A value that is made anew for every call."""

    def __init__(self, make):
        self.make = make


def fresh(value):
    return value.make() if isinstance(value, Later) else copy.deepcopy(value)


def fill(obj, given=None, kinds=None):
    """Values of the parameters of a callable; a parameter without any, if optional, is left out."""
    given, known, found = given or {}, {**COMMON, **(kinds or {})}, {}
    parameters = dict(inspect.signature(obj).parameters)
    stars = {n for n, p in parameters.items() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    for name, parameter in parameters.items():
        if name == "self" or name in stars:
            continue
        if name in given or name in known:
            found[name] = given.get(name, known.get(name))
        elif parameter.default is parameter.empty:
            raise LookupError(f"{obj.__qualname__}: no value for {name}")
        elif parameter.default is not None:
            found[name] = parameter.default
    if set(given) - set(found) and not stars:
        raise LookupError(f"{obj.__qualname__} has no {set(given) - set(found)}")
    return {**found, **given}


def generator(seed=0):
    return np.random.default_rng(seed)


# ---- entries -------------------------------------------------------------------------------------


@functools.cache
def _names():
    return {id(obj): name.removeprefix("sklearn_fw.") for name, obj in public_objects()}


def entry(name, arguments, run, docs, **options):
    """One `Call`, as a list; ``arguments`` may hold `Later` values."""

    def make():
        return {key: fresh(value) for key, value in arguments.items()}

    return [Call(name, make, run, docs=docs, **options)]


def function(obj, given=None, kinds=None, name=None, run=None, **options):
    """The entry of a public callable, or of a class that does its work in the constructor."""
    run = run or (lambda a: obj(**a))
    return entry(name or _names()[id(obj)], fill(obj, given, kinds), run, (obj,), **options)


def functions(kinds, objects, **options):
    """Entries of several callables: {callable: what its call is given}."""
    return [e for obj, given in objects.items() for e in function(obj, given, kinds, **options)]


def fitting(cls, params=None, data=None, method="fit", kinds=None, run=None, suffix="", **options):
    """The entry of an estimator: parameters and data together, as `fit` checks both."""
    params, data = fill(cls, params), fill(getattr(cls, method), data, kinds)

    def call(arguments):
        given = dict(arguments)
        estimator = cls(**{name: given.pop(name) for name in params if name in given})
        return run(estimator, given) if run else getattr(estimator, method)(**given)

    name, docs = f"{_names()[id(cls)]}.{method}{suffix}", (cls, getattr(cls, method))
    return entry(name, {**params, **data}, call, docs, **options)


def methods(cls, make, given=None, kinds=None, only=None, suffix="", **options):
    """Entries of methods: of those in ``only``, or of all that no other entry has."""
    kept, given, name = functools.cache(make), given or {}, _names()[id(cls)]
    infinite = options.pop("infinite", False)

    def one(method):
        def run(a):
            return getattr(copy.deepcopy(kept()), method)(**a)

        function = getattr(cls, method)
        # `from_estimator` of a display documents the options of `plot`, too.
        docs = [getattr(cls, m) for m in dir(cls) if method == "plot" and m.startswith("from_")]
        is_infinite = infinite if isinstance(infinite, bool) else method in infinite
        return entry(
            f"{name}.{method}{suffix}", fill(function, given.get(method), kinds), run,
            (*docs, function), infinite=is_infinite, **options,
        )  # fmt: skip

    if only is None:
        only = [m for m in own_methods(cls) if m in given or not is_left_out(f"{name}.{m}")]
    return [e for method in only for e in one(method)]


def own_methods(cls):
    """Public methods of a class; `fit` has an entry with the parameters."""
    members = [m for m, value in inspect.getmembers(cls) if callable(value) and m[0] != "_"]
    others = GENERAL | {"fit"} | set(inspect.signature(cls).parameters)
    return [m for m in members if m not in others and not m.endswith("_request")]


def estimator(cls, params, data, few=None, fitted=None, given=None, **options):
    """Entries of `fit` and of the methods of what it fitted.

    Methods are given ``few``, or four samples.
    """
    infinite = options.pop("infinite", False)
    found = fitting(cls, params, data, infinite=infinite is True, **options)

    def fit():
        return cls(**fill(cls, params)).fit(**{name: fresh(value) for name, value in data.items()})

    few = {name: value[:4] for name, value in data.items()} | (few or {})
    kept = {name: options[name] for name in ("allows", "aliases") if name in options}
    return found + methods(cls, fitted or fit, given, few, infinite=infinite, **kept)


def display(cls, kinds, given=None, made=None, **options):
    """Entries of a display: its constructor, which stores, and what draws."""
    found = function(cls, made, kinds, allows=STORED)
    arguments = fill(cls, made, kinds)

    def make():
        return cls(**{name: fresh(value) for name, value in arguments.items()})

    return found + methods(cls, make, given, kinds, **options)


# ---- the table -----------------------------------------------------------------------------------

FAMILIES = ("data", "inference", "linear", "optim", "others", "structured")


@functools.cache
def table():
    """All entries by name."""
    modules = [importlib.import_module(f"fuzz.calls_{family}") for family in FAMILIES]
    entries = [entry for module in modules for entry in module.entries()]
    named = {entry.name: entry for entry in entries}
    if len(named) != len(entries):
        names = [entry.name for entry in entries]
        raise ValueError(f"two entries of {sorted({n for n in names if names.count(n) > 1})}")
    return named


def wanted():
    """Names that the table must have: public functions, classes and their public methods."""
    found = set()
    for module in families():
        for name in module.__all__:
            obj = getattr(module, name)
            if callable(obj):
                full = f"{module.__name__}.{name}".removeprefix("sklearn_fw.")
                found |= {full}
                if inspect.isclass(obj):
                    found |= {f"{full}.{m}" for m in own_methods(obj) if not hasattr(object, m)}
    return found


def is_left_out(name):
    return any(re.fullmatch(pattern, name) for pattern in UNCALLED)


def uncovered():
    """Public names that have no entry and no reason."""
    have = {name.partition(" ")[0] for name in table()}
    by_method = {name: {f"{name}.{m}" for m in ENOUGH} | {name} for name in wanted()}
    return sorted(n for n, forms in by_method.items() if not forms & have and not is_left_out(n))


ENOUGH = ("fit", "argmax", "initialize", "losses")  # which take the parameters of the class, too

# Public names without an entry: patterns of names, and why.
UNCALLED = {
    r"alignment\.KnowledgeBase\.from_(frame|networkx|rdf_nt)": (
        "readers of tables, graphs and files; alignment/test_knowledge_base.py damages these"
    ),
    r"optim\.\w+\.(check|make_engine|make_run|start)": (
        "called by the loop with objects of its own; the solver stands for them in minimize_saga"
    ),
    r"random_fields\.(MiniBucket|TRBP)Marginals\.sample": "a method of those that can draw",
    r"structured\.(LatentStructuredSVM\.(duality_gap|n_best)|StructuredSVMCV\.predict_proba)": (
        "methods of other kinds of structured SVM"
    ),
    r"structured\.\w+\.start": (
        "called by the loop with objects of its own; the solver stands for it in StructuredSVM"
    ),
    r"losses\.((Squared)?Hinge|\w*LogLoss|ModifiedHuber|SquaredError)": (
        "a constructor without parameters"
    ),
    r"optim\.domains\.\w+Atom\.\w+": (
        "called in every iteration, with vectors of methods that have checked them"
    ),
    r"(losses\.Loss|penalties\.Penalty|optim\.domains\.(Domain|Atom))(\.\w+)?": (
        "abstract; a class of the user stands for it in the solvers"
    ),
    r"optim\.set_functions\.SubmodularFunction(\.\w+)?": (
        "abstract; a class of the user stands for it in the solvers"
    ),
    r"optim\.objectives\.\w+\.(image|slopes|adjoint|adjoint_in|inner)": (
        "called in every iteration, with arrays of methods that have checked them"
    ),
    r"optim\.objectives\.Composite\.curvature": (
        "called in every iteration, with arrays of methods that have checked them"
    ),
    r"optim\.objectives\.Objective(\.\w+)?": "abstract; `Tilted` stands for it",
    r"inference\.Oracle(\.\w+)?": "abstract; `Plain` stands for it in CheckedOracle",
    r"structured\.Solver": "abstract; `Steps` of tests/structured stands for it",
    r"structured\.PartModel(\.\w+)?": "abstract; `Grid` of tests/structured stands for it",
    r"structured\.ScoreModel(\.\w+)?": "abstract; `Tags` stands for it in ProxLinearStructuredSVM",
    r"structured\.ScoredModel(\.\w+)?": "abstract; MatchingModel has its methods",
    r"structured\.StructuredModel(\.\w+)?": "abstract; `Ranking` stands for it in StructuredSVM",
    r"task_losses\.TaskLoss(\.\w+)?": "abstract; `distance` stands for it in FunctionLoss",
    r"task_losses\.\w+\.(node_costs|largest)": (
        "called with a `Truth` that models make; losses and values go through it"
    ),
    r"task_losses\.(Truth|NodeCosts)(\.\w+)?": "made by models and losses, read by the others",
    r"penalties\.\w+\.bind": "in the entry of the constructor, with what a bound penalty computes",
    r"decomposition\.JointDiagonalization": "a tuple that holds an answer",
    r"penalties\.GroupSeparable(\.\w+)?": "the user writes it; AsagaClassifier has one",
    r"structured\.StructuredPath": "made by regularization_path",
    r"linear_model\.LinearPath": "made by regularization_path",
    r"model_selection\.RegularizationPath": "abstract",
    r"seq2seq\.(Minibatches|RecurrentNetwork|SeaRNNTransducer(\.\w+)?)": (
        "the table has them where PyTorch is installed"
    ),
    r"seq2seq\.StepPolicy(\.\w+)?": "abstract; `Walk` stands for it in roll_out_costs",
    r"random_fields\.\w+\.infer": "called by fit, with a field that fit has checked",
    r"random_fields\.(Inference|MarginalsEstimator)(\.\w+)?": "abstract, and what it answers",
    r"inference\.Toulbar2(\.\w+)?": "needs pytoulbar2",
}
