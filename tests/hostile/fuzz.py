"""Hostile calls at random: python3 dev.py fuzz [N] [--seed S] [--only NAME] [--case SEED:INDEX]

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
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [
        str(Path(__file__).resolve().parents[1]),
        str(Path(__file__).resolve().parents[2]),
    ]

from hostile.verdicts import GOOD
from hostile.workers import Worker

print = functools.partial(print, flush=True)
N_CALLS = 20_000
SHOWN = 400


def parse(arguments):
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("n_calls", nargs="?", type=int, default=N_CALLS, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the names of the callables")
    parser.add_argument("--case", help="run one call here, with its traceback: SEED:INDEX")
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args(arguments)


def fuzz(n_calls, seed=0, only="", n_workers=1, say=print):
    """Run the cases 0 to n_calls - 1; return [(index, case, word, detail)] of violations."""
    numbers, counts, violations = count(), collections.Counter(), []
    started = time.monotonic()

    def work(_):
        worker = Worker()
        while (index := next(numbers)) < n_calls:
            answer = worker.run({"kind": "drawn", "seed": seed, "index": index, "only": only})
            if isinstance(answer, dict):
                word, _, detail = answer["died"].partition(": ")
                answer = [name_of(seed, index, only), word, detail]
            counts[answer[1]] += 1
            if answer[1] not in GOOD:
                violations.append((index, *answer))
            if (index + 1) % 1000 == 0:
                bad = len(violations)
                say(f"{index + 1} calls, {bad} violations, {time.monotonic() - started:.0f} s")
        worker.close()

    with ThreadPoolExecutor(n_workers) as pool:
        list(pool.map(work, range(n_workers)))
    say(", ".join(f"{word}: {n}" for word, n in counts.most_common()))
    return sorted(violations)


def name_of(seed, index, only):
    """What a call was that killed its child."""
    worker = Worker("hostile.names")
    try:
        answer = worker.run({"kind": "name", "seed": seed, "index": index, "only": only})
        return answer if isinstance(answer, str) else "unknown call"
    finally:
        worker.close()


def report(violations, seed, only, say=print):
    """A line for each violation, those of one place together, and how to repeat it."""
    groups = collections.defaultdict(list)
    for index, case, word, detail in violations:
        groups[case.partition("(")[0], word, detail[-60:]].append((index, case, detail))
    more = f" --only {only}" if only else ""
    for (_, word, _), found in sorted(groups.items())[:SHOWN]:
        index, case, detail = found[0]
        say(f"{word} ({len(found)}x): {case}: {detail}")
        say(f"    python3 dev.py fuzz --case {seed}:{index}{more}")


def one(seed, index, only):
    """Run a single case in this process, and show all there is to see."""
    from hostile import cases

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
    """Run and report."""
    options = parse(arguments)
    if options.case:
        seed, _, index = options.case.partition(":")
        return one(int(seed), int(index), options.only)
    violations = fuzz(options.n_calls, options.seed, options.only, options.workers)
    report(violations, options.seed, options.only)
    print(f"{len(violations)} violations in {options.n_calls} calls")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
