"""What the first minute costs: import, first compilation, first fit in a new process."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _report import THREADS, Repeats, main

ABOUT = """
All measurements use fresh processes, because imports happen once per process and compilation once
per installation. The data are some thirty rows or two sequences of three elements, so that start-up
dominates. Numbers are medians over processes.

"Import" is the time that ``from sklearn_fw import StructuredSVM`` takes after ``import sklearn``;
``import sklearn_fw`` alone imports no subpackage. "Cold" means an empty ``NUMBA_CACHE_DIR``:
kernels are compiled and stored, once per installation from sources. "Wheel" means the same empty
folder and the compiled kernels that wheels carry for one version of Python and numba. "Warm" means
that kernels are loaded from disk, once per process; this includes the import of numba where the
subpackage was imported without.
"""
IMPORT = """
from time import perf_counter, process_time
a = perf_counter(), process_time()
import sklearn
b = perf_counter(), process_time()
from sklearn_fw import StructuredSVM
c = perf_counter(), process_time()
print(b[0] - a[0], b[1] - a[1], c[0] - b[0], c[1] - b[1])
"""
FIT = '''
import warnings
from time import perf_counter, process_time
import numpy as np
from sklearn_fw.datasets import make_ordered_videos, make_state_action_clips
from sklearn_fw.{family} import *
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, z = rng.normal(size=(30, 3)), rng.normal(size=30)
y, table = (z > 0).astype(int), rng.integers(0, 2, size=(30, 3))
sequences, tags = [np.eye(3), np.eye(3)[::-1]], [[0, 1, 2], [2, 1, 0]]
counts = rng.poisson(rng.gamma(0.5, 20.0, size=(40, 2)) @ rng.dirichlet(np.ones(6), size=2))
videos, clips = make_ordered_videos(4, 3, n_rows=40, random_state=0), make_state_action_clips(4)
base = [("m", "actor", "p")], [("m", "year", 1999)], {"m": "Blue Night", "p": "Ann Lee"}

class Bounded:
    """Two labels of the nodes of a chain, with bounded scores."""

    def init(self, rng):
        return rng.normal(size=18)

    def value(self, x, w):
        return np.tanh(x @ w[:9].reshape(3, 3)), w[9:].reshape(3, 3)

    def jvp(self, x, w, d):
        slope = 1 - self.value(x, w)[0] ** 2
        return slope * (x @ d[:9].reshape(3, 3)), d[9:].reshape(3, 3)

    def vjp(self, x, w, v):
        slope = 1 - self.value(x, w)[0] ** 2
        return np.concatenate([(x.T @ (slope * v[0])).ravel(), v[1].ravel()])

a = perf_counter(), process_time()
{before}
{call}
b = perf_counter(), process_time()
print(b[0] - a[0], b[1] - a[1])
'''
FROM_WHEEL = """
from pathlib import Path
from sklearn_fw._kernels import _cache
_cache.portable.folder = Path({!r})
"""
REPEAT = 3  # empty folders, and processes after each
QUICK = "AsagaClassifier", "KernelStudentTDensity", "DiscreteICA"
# First fits by subpackage, with default parameters where nothing else is written.
FITS = {
    "linear_model": [
        "AsagaClassifier().fit(X, y)",
        "AsagaRegressor().fit(X, z)",
        "AveragedSubgradientClassifier().fit(X, y)",
        "AveragedSubgradientRegressor().fit(X, z)",
        "FrankWolfeClassifier().fit(X, y)",
        "FrankWolfeRegressor().fit(X, z)",
    ],
    "structured": [
        "StructuredSVM().fit(sequences, tags)",
        "StructuredSVM().fit(X, y)",
        "StructuredSVM().fit(X, table)",
        "StructuredSVM(surrogate='crf').fit(sequences, tags)",
        "StructuredSVM(solver='cached').fit(sequences, tags)",
        "StructuredSVM(solver='subgradient').fit(sequences, tags)",
        "StructuredSVMCV().fit(5 * sequences, 5 * tags)",
        "LatentStructuredSVM().fit(sequences, tags)",
        "ProxLinearStructuredSVM(Bounded()).fit(sequences, tags)",
    ],
    "random_fields": [
        "ExactMarginals().fit(table)",
        "MeanFieldMarginals().fit(table)",
        "MiniBucketMarginals().fit(table)",
        "PerturbAndMAPMarginals().fit(table)",
        "TRBPMarginals().fit(table)",
        "TRWMarginals().fit(table)",
    ],
    "density": [
        "KernelStudentTDensity().fit(X)",
        "KernelStudentTClassifier().fit(X, y)",
        "RelativeNoveltyDetector().fit(X, y)",
    ],
    "gaussian_probability": [
        "EPProbitClassifier().fit(X, y)",
        "EPOrdinalClassifier().fit(X, y)",
        "EPIntervalRegressor().fit(X, z)",
        "BayesPointMachine().fit(X, y)",
        "TruncatedGaussian().fit(X)",
    ],
    "decomposition": ["DiscreteICA(2).fit(counts)", "MultiViewCCA(1).fit(X[:, :2], X[:, 1:])"],
    "cluster": [
        "SequenceAligner(3).fit([list('abcd'), list('acd'), list('xabd')])",
        "OrderedDiscriminativeClustering(3).fit([X[:10], X[10:]])",
        "ScriptDiscovery(3).fit(videos.X, tokens=videos.tokens, token_rows=videos.token_rows)",
        "JointStateActionClustering().fit(clips.clips)",
    ],
    "pac_bayes": [
        "PACBayesLinearRegression().fit(X, z)",
        "PACBayesModelSelector(param_grid={'prior_variance': [0.1, 1.0]}).fit(X, z)",
    ],
    "surrogates": ["QuadraticSurrogateClassifier().fit(X, y)"],
    "alignment": ["KnowledgeBaseAligner().fit(KnowledgeBase(*base), KnowledgeBase(*base))"],
}


def seconds(program, cache, **variables):
    """Numbers that a program prints in a fresh interpreter."""
    env = {**os.environ, **dict.fromkeys(THREADS, "1"), "NUMBA_CACHE_DIR": str(cache), **variables}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"a measured program failed:\n{done.stderr}")
    return [float(number) for number in done.stdout.split()]


def repeats(rows):
    return [Repeats(column) for column in zip(*rows)]


def imports(report, options):
    with tempfile.TemporaryDirectory() as cache:
        seconds(IMPORT, cache)  # byte code is written and files come into the system's memory
        found = repeats(seconds(IMPORT, cache) for _ in range(options.repeat))
    report.section("Import")
    report.text(f"Medians of {options.repeat} processes, in seconds.")
    report.table(
        ["statement", "wall", "CPU"],
        [["import sklearn", *found[:2]], ["then from sklearn_fw import StructuredSVM", *found[2:]]],
    )
    report.goals(("import of StructuredSVM after sklearn, wall s", found[2], 0.25, "<="))


def fit_of(family, call, before=""):
    """Program that measures a call, and what comes before it."""
    program = FIT.replace("{family}", family).replace("{call}", call)
    return program.replace("{before}", before)


def from_wheel(family, call, repeat):
    with tempfile.TemporaryDirectory() as carried:
        seconds(fit_of(family, call), carried, SKLEARN_FW_COLLECT_KERNELS=carried)
        for _ in range(repeat):
            with tempfile.TemporaryDirectory() as empty:
                yield seconds(fit_of(family, call, FROM_WHEEL.format(carried)), empty)


def fits(report, options):
    pairs = [(family, call) for family, calls in FITS.items() for call in calls]
    cold, warm, wheel, n_kernels = {}, {}, {}, {}
    for family, call in pairs[: 1 if options.quick else None]:
        rows = []
        for _ in range(min(REPEAT, options.repeat)):
            with tempfile.TemporaryDirectory() as cache:
                program = fit_of(family, call)
                rows.append([seconds(program, cache), seconds(program, cache)])
                n_kernels[call] = sum(1 for _ in Path(cache).rglob("*.nbc"))
        cold[call], warm[call] = map(repeats, zip(*rows))
        wheel[call] = repeats(from_wheel(family, call, len(rows)))
    report.section("First fit of a process")
    report.text(f"""Seconds, medians of {min(REPEAT, options.repeat)} empty folders and of as many
        processes after them. Each row has folders of its own, so that it compiles all its
        kernels.""")
    report.table(
        [
            "first fit", "kernels", "cold, wall", "cold, CPU", "wheel, wall", "wheel, CPU",
            "warm, wall", "warm, CPU",
        ],
        [[f"``{c}``", n_kernels[c], *cold[c], *wheel[c], *warm[c]] for c in cold],
    )  # fmt: skip
    report.goals(
        ("slowest first fit with warm kernels, CPU s", max(w[1] for w in warm.values()), 1.5, "<="),
        ("slowest cold first fit, CPU s", max(c[1] for c in cold.values()), 5.0, "<="),
        ("slowest first fit of a wheel, CPU s", max(c[1] for c in wheel.values()), 5.0, "<="),
        *(
            (f"cold {name}, CPU s", cold[call][1], 2.0, "<=")
            for name in QUICK for call in cold if call.startswith(f"{name}(")
        ),
    )  # fmt: skip
    report.bars(
        "First fit of a process, first row of each subpackage", "wall seconds",
        {
            "kernels on disk": {f: warm[c[0]][0] for f, c in FITS.items() if c[0] in warm},
            "kernels of a wheel": {f: wheel[c[0]][0] for f, c in FITS.items() if c[0] in wheel},
            "nothing compiled": {f: cold[c[0]][0] for f, c in FITS.items() if c[0] in cold},
        },
        log=True,
    )  # fmt: skip


if __name__ == "__main__":
    parts = {"import": imports, "fits": fits}
    raise SystemExit(main("startup", "Import, compilation and first fit", ABOUT, parts, repeat=7))
