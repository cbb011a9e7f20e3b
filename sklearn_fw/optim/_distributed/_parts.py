"""Parts of the data, which stay where they are and return terms of sums.

An answer of a part is a function of the data and the arguments: whatever a part keeps besides is a
cache. Dask can therefore make a part that was lost with its worker again from the graph of the
collection, and ask it again, and no result depends on which worker held it. It can also move a part
to disk: the part is the only object that holds its rows.
"""

import sys
import time
from concurrent.futures import CancelledError
from copy import copy
from functools import partial, reduce
from itertools import chain
from operator import add

import numpy as np

from ..._core.warnings import warn

# Arrays from this number of bytes on go to every worker once, instead of into every task.
LARGE = 1 << 14
# Bytes of parts that one task may ask, as a worker loads these from disk; and of all answers that
# are added here.
TOGETHER, HERE = 1 << 23, 1 << 22
# Seconds before a question is asked again whose arguments a lost worker had, or should get.
WAITS = 0.1, 0.5, 2.0, 5.0, 10.0
# Seconds without an answer after which a fit without any worker ends; others may come meanwhile.
PATIENCE = 30.0
FULL = "all Dask workers have paused, as their memory is full: start more, or use smaller blocks"


def make_parts(delayed):
    """Parts from delayed objects: on the cluster of the current client, if any, or here."""
    try:
        client = sys.modules["distributed"].get_client()
    except (KeyError, ValueError):  # not imported, or no client
        client = None
    if client is not None:
        return ClusterParts(client.compute(delayed), client)
    import dask

    return LocalParts(dask.compute(*delayed))


class Pieces(list):
    """An argument of which each part gets an item of its own, in the order of the parts."""


class Traffic:
    """Rounds, bytes that went to and from parts, and seconds of the slowest part."""

    def __init__(self):
        self.n_rounds = self.n_bytes = 0
        self.seconds = 0.0

    def row(self):
        return {"n_rounds": self.n_rounds, "n_bytes": self.n_bytes, "part_time": self.seconds}


class LocalParts:
    """Parts in this process."""

    def __init__(self, parts):
        self.parts, self.traffic = list(parts), Traffic()

    def __len__(self):
        return len(self.parts)

    def each(self, method, *args):
        """What the method of every part returns, in their order."""
        return _each(_answer, self.parts, method, *args)

    def sum(self, method, *args):
        """Sum of what the method of every part returns: numbers, arrays, or tuples of these."""
        self.traffic.n_rounds += 1
        return reduce(_plus, self.each(method, *args))

    def chosen(self, method, *args):
        """Parts that the method of every part returns."""
        return LocalParts(self.each(method, *args))


class ClusterParts:
    """Parts on the workers of a Dask cluster, each on the one that made it.

    A task costs milliseconds: each thread of a worker asks its small parts in one, and short
    answers are added here, in the order in which workers add long ones.
    Workers hold their parts, at most three arrays as large as the largest argument, and what they
    send to each other on the way to a sum; this process holds one of each.
    """

    def __init__(self, futures, client):
        self.futures, self.client, self.traffic = futures, client, Traffic()
        self.path = ()  # the `Step` objects that lead from a part to what answers
        self._sent = []  # arrays that every worker has, and their futures
        self._wait(futures)
        homes = client.who_has(self.futures)
        self._home = [list(homes.get(future.key, ())) or None for future in self.futures]
        self._groups = self._of_threads()
        self._sizes = {}  # bytes of what parts answered last, by method

    def __len__(self):
        return len(self.futures)

    def _of_threads(self):
        sizes = self.client.nbytes([future.key for future in self.futures], summary=False)
        threads, at = self.client.nthreads(), {}
        for k, home in enumerate(self._home):
            at.setdefault(home[0] if home else k, []).append(k)
        groups = []
        for home, places in at.items():
            n_bytes = sum(sizes.get(self.futures[k].key, 0) for k in places)
            n = max(threads.get(home, 1), -(-n_bytes // TOGETHER))
            groups += [places[i::n] for i in range(min(n, len(places)))]
        return groups

    def each(self, method, *args):
        return self._until_answered(self._by_part, _answer, method, args)

    def _until_answered(self, ask, *question):
        from distributed.comm import CommClosedError

        for seconds in WAITS:
            try:
                return ask(*question)
            except (CancelledError, CommClosedError):
                time.sleep(seconds)
        return ask(*question)

    def _by_part(self, ask, method, args):
        """Answers of all parts, in their order."""
        found = self._results(self._asked(partial(_each, ask), method, args))
        answers = dict(zip(chain(*self._groups), chain(*found), strict=True))
        return [answers[k] for k in range(len(self))]

    def sum(self, method, *args):
        return self._until_answered(self._sum, method, args)

    def _sum(self, method, args):
        # A first answer may be a matrix of as many rows and columns as there are arguments.
        if len(self) * self._sizes.get(method, _size(args) ** 2 / 8) <= HERE:
            total, seconds = _tree(self._by_part(_timed, method, args), _plus_timed)
        else:  # a tree on the workers, so that nobody holds all terms
            terms = self._asked(_summed, method, args)
            tree = _tree(terms, lambda *pair: self.client.submit(_plus_timed, *pair, pure=False))
            total, seconds = self._results([tree])[0]
        self._sizes[method] = _size(total)
        self.traffic.n_rounds += 1
        self.traffic.seconds += seconds
        self.traffic.n_bytes += len(self) * _size(total)
        return total

    def chosen(self, method, *args):
        """The same with what the method of every part returns, which the part keeps or makes."""
        other = copy(self)
        other.path, other._sizes = (*self.path, Step(method, args)), {}
        return other

    def _asked(self, ask, method, args):
        """Futures of the answers of each group of parts."""
        args = [self._on_workers(argument) for argument in args]
        for step in self.path:
            if step.future is None or step.future.status != "finished":
                step.future = self._send(step.values)
        path = [step.future for step in self.path]
        return [
            self.client.submit(
                ask, [self.futures[k] for k in group], method,
                *_args_of(g, args), path=path, pure=False, **self._at(group[0]),
            )
            for g, group in enumerate(self._groups)
        ]  # fmt: skip

    def _at(self, k):
        # Others may step in where this worker is gone.
        return {"workers": self._home[k], "allow_other_workers": True} if self._home[k] else {}

    def _on_workers(self, argument):
        """The argument, or what stands for an array that workers get once, or in pieces."""
        if isinstance(argument, Pieces):
            alive = self.client.scheduler_info(n_workers=-1)["workers"]
            return Pieces(self._send_pieces(argument, group, alive) for group in self._groups)
        if not isinstance(argument, np.ndarray) or argument.nbytes < LARGE:
            return argument
        for known, future in self._sent:
            if known is argument and future.status == "finished":
                return future
        future = self._send(argument)
        self._sent = [*self._sent[-2:], (argument, future)]
        return future

    def _send(self, values):
        self.traffic.n_bytes += len(self) * _size(values)
        return self.client.scatter([values], broadcast=True, hash=False)[0]

    def _send_pieces(self, pieces, group, alive):
        own = Pieces(pieces[k] for k in group)
        if _size(own) < LARGE:
            return own
        self.traffic.n_bytes += _size(own)
        home = [worker for worker in self._home[group[0]] or () if worker in alive]
        return self.client.scatter([own], workers=home or None, hash=False)[0]

    def _results(self, futures):
        self._wait(futures)
        return self.client.gather(futures)

    def _wait(self, futures):
        from distributed import wait

        while True:
            try:
                wait(futures, timeout=PATIENCE)
                break
            except TimeoutError:
                workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
                if not workers:
                    raise RuntimeError(
                        "the Dask cluster has no workers left: start workers and fit again, with "
                        "warm_start=True to go on from the last fit"
                    ) from None
                if all(worker["status"] == "paused" for worker in workers):
                    warn(FULL, RuntimeWarning)
        for future in futures:  # of several errors that of the first part
            if future.status == "error":
                future.result()


class Step:
    """A method and its arguments, which every worker has once for all parts chosen after it."""

    def __init__(self, *values):
        self.values, self.future = values, None


def _answer(part, method, *args, path=()):
    for step, values in path:
        part = getattr(part, step)(*values)
    return getattr(part, method)(*args)


def _timed(part, method, *args, path=()):
    start = time.perf_counter()
    answer = _answer(part, method, *args, path=path)
    return answer, time.perf_counter() - start


def _each(ask, parts, method, *args, path=()):
    return [ask(part, method, *_args_of(k, args), path=path) for k, part in enumerate(parts)]


def _args_of(k, args):
    """Arguments of the part, or group of parts, with this number."""
    return [own[k] if isinstance(own, Pieces) else own for own in args]


def _summed(parts, method, *args, path):
    return reduce(_plus_timed, _each(_timed, parts, method, *args, path=path))


def _tree(terms, plus):
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [plus(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return terms[0]


def _plus(a, b):
    return tuple(map(add, a, b)) if isinstance(a, tuple) else a + b


def _plus_timed(a, b):
    return _plus(a[0], b[0]), max(a[1], b[1])


def _size(values):
    """Bytes of the arrays among numbers, arrays and objects that hold them."""
    if isinstance(values, np.ndarray):
        return values.nbytes
    if isinstance(values, tuple | list):
        return sum(map(_size, values))
    return sum(map(_size, vars(values).values())) if hasattr(values, "__dict__") else 8
