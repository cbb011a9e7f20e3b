"""The table of valid calls: one of every public callable, from which damaged ones are made."""

import copy
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from _package import families, public_objects

__all__ = [
    "GENERAL", "Call", "build", "documented", "fitting", "function", "methods", "table",
    "uncovered", "wanted",
]  # fmt: skip

# Methods that come from scikit-learn and have no damage of ours.
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
    ``allows`` names damages that are fine although no docstring says so, as
    {(argument, damage): reason}; "*" stands for any, and "X.#.#" as an argument for any entry of an
    entry of X. ``raises`` are documented errors of other kinds, and ``infinite`` says that infinity
    is a documented answer.
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

    def __str__(self):
        return self.name

    @functools.cached_property
    def types(self):
        """Documented types of the arguments."""
        found = {}
        for doc in self.docs:
            found |= documented(doc)
        return found


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


def public_name(obj):
    """Name of a public class or function with its module, without the package."""
    return _names()[id(obj)]


@functools.cache
def _names():
    return {id(obj): name.removeprefix("sklearn_fw.") for name, obj in public_objects()}


def function(obj, make, name=None, **options):
    """The entry of a public function, or of a public object that can be called."""
    name = name or public_name(obj)
    return [Call(name, make, lambda a: obj(**a), docs=(obj,), **options)]


def build(cls, make, **options):
    """The entry of a class that does its work in the constructor."""
    return [Call(public_name(cls), make, lambda a: cls(**a), docs=(cls,), **options)]


def fitting(cls, params, data, method="fit", run=None, **options):
    """The entry of an estimator: parameters and data together, as `fit` checks both."""

    def call(arguments):
        given = dict(arguments)
        estimator = cls(**{name: given.pop(name) for name in params() if name in given})
        if run is not None:
            return run(estimator, given)
        return getattr(estimator, method)(**given)

    return [
        Call(
            f"{public_name(cls)}.{method}",
            lambda: {**params(), **data()},
            call,
            docs=(cls, getattr(cls, method)),
            **options,
        )
    ]


def methods(cls, make, arguments, suffix="", **options):
    """Entries of methods: ``make`` gives a valid object, ``arguments`` those of each method."""
    kept = functools.cache(make)

    def is_source(method, name):  # of a display documents the options of plot, too
        return name == "plot" and method.startswith("from_")

    def entry(name, given):
        def run(a):
            return getattr(copy.deepcopy(kept()), name)(**a)

        return Call(
            f"{public_name(cls)}.{name}{suffix}",
            given if callable(given) else lambda: copy.deepcopy(given),
            run,
            docs=tuple(getattr(cls, m) for m in arguments if m == name or is_source(m, name)),
            **options,
        )

    return [entry(name, given) for name, given in arguments.items()]


def wanted():
    """Names that the table must have: public functions, and public methods of public classes."""
    found = set()
    for module in families():
        for name in module.__all__:
            obj = getattr(module, name)
            if callable(obj) and not (inspect.isclass(obj) or inspect.isroutine(obj)):
                found.add(f"{module.__name__}.{name}".removeprefix("sklearn_fw."))
    for name, obj in public_objects():
        name = name.removeprefix("sklearn_fw.")
        if not inspect.isclass(obj):
            found.add(name)
            continue
        found.add(name)
        for method, value in inspect.getmembers(obj):
            if method.startswith("_") or method in GENERAL or method.endswith("_request"):
                continue
            if callable(value):
                found.add(f"{name}.{method}")
    return found


@functools.cache
def table():
    """All entries by name."""
    from . import (
        calls_alignment,
        calls_bounds,
        calls_cluster,
        calls_decomposition,
        calls_density,
        calls_files,
        calls_frank_wolfe,
        calls_gaussian_probability,
        calls_inference,
        calls_inspection,
        calls_latent,
        calls_linear,
        calls_metrics,
        calls_optim,
        calls_prox_linear,
        calls_seq2seq,
        calls_solvers,
        calls_steps,
        calls_structured,
        calls_submodular,
        calls_task_losses,
    )

    families = (
        calls_alignment, calls_bounds, calls_cluster, calls_decomposition, calls_density,
        calls_files, calls_frank_wolfe, calls_gaussian_probability, calls_inference,
        calls_inspection, calls_latent, calls_linear, calls_metrics, calls_optim,
        calls_prox_linear, calls_seq2seq, calls_solvers, calls_steps, calls_structured,
        calls_submodular, calls_task_losses,
    )  # fmt: skip
    entries = [entry for family in families for entry in family.entries()]
    named = {entry.name: entry for entry in entries}
    if len(named) != len(entries):
        raise ValueError("two entries have one name")
    return named


def generator(seed=0):
    return np.random.default_rng(seed)


# Public names without an entry: patterns of names, and why.
UNCALLED = {
    r"alignment\.KnowledgeBase\.from_(frame|networkx|rdf_nt)": (
        "readers of tables, graphs and files; alignment/test_knowledge_base.py damages these"
    ),
    r"optim\.(experimental\.)?\w+\.(check|make_engine|make_run|start)": (
        "called by the loop with objects of its own; the solver stands for them in minimize_saga"
    ),
    r"structured\.\w+\.start": (
        "called by the loop with objects of its own; the solver stands for it in StructuredSVM"
    ),
    r"structured\.ProxLinearStructuredSVM\.(decision_function|feature_weights)": (
        "scores that are not linear in the weights have neither"
    ),
    r"losses\.(AbsoluteError|(Squared)?Hinge|\w*LogLoss|ModifiedHuber|SquaredError)": (
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
    r"optim\.objectives\.(Composite|Logistic)\.curvature": (
        "called in every iteration, with arrays of methods that have checked them"
    ),
    r"optim\.objectives\.Objective(\.\w+)?": "abstract; `Tilted` stands for it",
    r"inference\.Oracle(\.\w+)?": "abstract; `Plain` stands for it in CheckedOracle",
    r"random_fields\.\w+\.infer": "called by fit and predict, with fields that these have checked",
    r"random_fields\.(MarginalsEstimator(\.\w+)?|Inference)": (
        "the user writes one and makes the other: tests/random_fields/test_own_method.py"
    ),
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
    r"metrics\.PhraseScores|decomposition\.JointDiagonalization": "a tuple that holds an answer",
    r"penalties\.GroupSeparable(\.\w+)?": "the user writes it; AsagaClassifier has one",
    r"structured\.(Structured|Radius)Path": "made by regularization_path",
    r"linear_model\.LinearPath": "made by regularization_path",
    r"model_selection\.RegularizationPath": "abstract",
    r"seq2seq\.(Minibatches|RecurrentNetwork|SeaRNNTransducer(\.\w+)?)": (
        "the table has them where PyTorch is installed"
    ),
    r"seq2seq\.StepPolicy(\.\w+)?": "abstract; `Walk` stands for it in roll_out_costs",
    r"inference\.Toulbar2(\.\w+)?": "the table of oracles has it where pytoulbar2 is installed",
}


def uncovered():
    """Public names that have no entry and no reason."""
    have = {name.partition(" ")[0] for name in table()}
    missing = []
    for name in sorted(wanted()):
        forms = {name, *(f"{name}.{m}" for m in ("fit", "argmax", "initialize", "losses"))}
        if not forms & have and not any(re.fullmatch(p, name) for p in UNCALLED):
            missing.append(name)
    return missing
