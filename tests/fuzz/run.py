"""Corrupted calls at random: python3 dev.py fuzz [N] [--seed S] [--only NAME] [--case SEED:INDEX]

Every call runs in a child with a limit of CPU time, so that a crash or an endless loop is one line
of the report. It ends with the number of calls by verdict and, for every violation, a command that
repeats it; the exit status is 1 if there are any.
"""

import argparse
import collections
import functools
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).resolve()
    sys.path[:0] = [str(here.parents[1]), str(here.parents[2])]

from fuzz.workers import GOOD, Worker

print = functools.partial(print, flush=True)
PATIENCE = 20  # limits of CPU time; each call has one of its own


# ---- what a child can be asked to do -------------------------------------------------------------


def drawn(seed, index, only=""):
    """A case of the fuzzer."""
    from fuzz import cases, verdicts

    try:
        case = cases.draw(seed, index, only)
    except Exception as error:
        # The valid call fails.
        return [f"case {seed}:{index}", "broken table", verdicts.describe(error)]
    verdict = cases.run(case)
    return [str(case), verdict.word, verdict.detail]


def name(seed, index, only=""):
    """A case in words; it is made, but not run."""
    from fuzz import cases

    return str(cases.draw(seed, index, only))


def names():
    """Names of the table, which also tells what it lacks."""
    from fuzz import calls

    return {"names": sorted(calls.table()), "uncovered": calls.uncovered()}


def each(name):
    """One case of every kind of corruption of a callable: those that are violations."""
    from fuzz import cases

    kinds = list(cases.kinds(name))
    answers = [[kind, *single(name, kind)] for kind in kinds]
    return [len(kinds), [answer for answer in answers if answer[2] not in GOOD]]


def single(name, corruption):
    """One case of `each`."""
    from fuzz import cases

    case = cases.one_of_each(name, corruption)
    verdict = cases.run(case)
    return [str(case), verdict.word, verdict.detail]


def usual(name):
    """The valid call of an entry, which has to succeed: what went wrong, or nothing."""
    from fuzz import calls, verdicts

    call = calls.table()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call.run(call.make())
        except Exception as error:
            return verdicts.describe(error)
    return ""


def kinds(name):
    """Names of the corruptions that fit somewhere into a call."""
    from fuzz import cases

    return list(cases.kinds(name))


RUNNERS = {f.__name__: f for f in (drawn, name, names, each, single, usual, kinds)}


def every_kind(name, worker):
    """(number of calls, violations) of the table of one callable, whatever dies of it."""
    answer = worker.run({"kind": "each", "name": name})
    if isinstance(answer, list):
        return answer
    found, kinds = [], worker.run({"kind": "kinds", "name": name})
    for corruption in kinds:
        answer = worker.run({"kind": "single", "name": name, "corruption": corruption})
        if isinstance(answer, dict):
            answer = [f"{name}({corruption})", "died", answer["died"]]
        if answer[1] not in GOOD:
            found.append([corruption, *answer])
    return len(kinds), found or [["all", name, "died", "of several calls, of none alone"]]


# ---- the command ---------------------------------------------------------------------------------


def fuzz(n_calls, seed=0, only="", n_workers=1):
    """Run the cases 0 to n_calls - 1; return [(index, case, word, detail)] of violations."""
    numbers, counts, violations = count(), collections.Counter(), []
    started, more = time.monotonic(), f" --only {only}" if only else ""

    def work(_):
        worker = Worker("fuzz.run")
        while (index := next(numbers)) < n_calls:
            task = {"seed": seed, "index": index, "only": only}
            answer = worker.run({"kind": "drawn", **task})
            if isinstance(answer, dict):
                word, _, detail = answer["died"].partition(": ")
                answer = [str(worker.run({"kind": "name", **task})), word, detail]
            case, word, detail = answer
            counts[word] += 1
            if word not in GOOD:
                violations.append((index, *answer))
                print(f"{word}: {case}: {detail}")
                print(f"    python3 dev.py fuzz --case {seed}:{index}{more}")
            if (index + 1) % 1000 == 0:
                seconds = time.monotonic() - started
                print(f"{index + 1} calls, {len(violations)} violations, {seconds:.0f} s")
        worker.close()

    with ThreadPoolExecutor(n_workers) as pool:
        list(pool.map(work, range(n_workers)))
    print(", ".join(f"{word}: {n}" for word, n in counts.most_common()))
    return sorted(violations)


def one(seed, index, only):
    """Run a single case in this process, and show all there is to see."""
    from fuzz import cases

    case = cases.draw(seed, index, only)
    print(case)
    for name, value in case.arguments.items():
        print(f"  {name} = {' '.join(repr(value).split())[:300]}")
    verdict = cases.run(case)
    print(f"{verdict.word}: {verdict.detail}")
    case = cases.draw(seed, index, only)
    try:
        print("answer:", " ".join(repr(case.call.run(case.arguments)).split())[:500])
    except Exception:
        traceback.print_exc()
    return 0 if verdict.good else 1


def main(arguments):
    """Run and report, by callable and verdict, the most frequent ones first."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("n_calls", nargs="?", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the names of the callables")
    parser.add_argument("--case", help="run one call here, with its traceback: SEED:INDEX")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.case:
        seed, _, index = options.case.partition(":")
        return one(int(seed), int(index), options.only)
    violations = fuzz(options.n_calls, options.seed, options.only, options.workers)
    counts = collections.Counter((case.partition("(")[0], word) for _, case, word, _ in violations)
    for (name, word), n in counts.most_common():
        print(f"{n:5} x {word}: {name}")
    print(f"{len(violations)} violations in {options.n_calls} calls")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
