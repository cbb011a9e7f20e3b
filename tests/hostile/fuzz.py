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

from hostile.workers import GOOD, Worker, every_kind

print = functools.partial(print, flush=True)
N_CALLS = 20_000


def parse(arguments):
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("n_calls", nargs="?", type=int, default=N_CALLS, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the names of the callables")
    parser.add_argument("--case", help="run one call here, with its traceback: SEED:INDEX")
    parser.add_argument(
        "--write-known", action="store_true", help="run the table, write tests/hostile/known.json"
    )
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
                show(index, answer, seed, only, say)
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


def show(index, answer, seed, only, say):
    """A violation as soon as it is found, and how to repeat it."""
    case, word, detail = answer
    more = f" --only {only}" if only else ""
    say(f"{word}: {case}: {detail}\n    python3 dev.py fuzz --case {seed}:{index}{more}")


def report(violations, say=print):
    """Violations by callable and verdict, the most frequent ones first."""
    counts = collections.Counter(
        (case.partition("(")[0].strip(), word) for _, case, word, _ in violations
    )
    for (name, word), n in counts.most_common():
        say(f"{n:5} x {word}: {name}")


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


def write_known(only):
    """Run the table of the tests and store its violations; those of other names stay."""
    from hostile import known
    from hostile.calls import table

    worker, stored = Worker(), known.known_violations
    violations = {name: stored(name) for name in table() if known.PATH.exists()}
    for name in sorted(table()):
        if only in name:
            n_calls, found = every_kind(name, worker)
            violations[name] = {damage: word for damage, _, word, _ in found}
            known.write(violations)  # at once: a run that is ended has done something
            print(f"{name}: {len(found)} of {n_calls}")
            for _, case, word, detail in found:
                print(f"   {word}: {case}: {detail}")
    worker.close()
    return 0


def main(arguments):
    """Run and report."""
    options = parse(arguments)
    if options.case:
        seed, _, index = options.case.partition(":")
        return one(int(seed), int(index), options.only)
    if options.write_known:
        return write_known(options.only)
    violations = fuzz(options.n_calls, options.seed, options.only, options.workers)
    report(violations)
    print(f"{len(violations)} violations in {options.n_calls} calls")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
