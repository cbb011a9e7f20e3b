"""Parts of the data, which stay where they are and return terms of sums.

An answer of a part is a function of the data and the arguments: whatever a part keeps besides is a
cache. Dask can therefore make a part that was lost with its worker again from the graph of the
collection, and ask it again, and no result depends on which worker held it. It can also move a part
to disk: the part is the only object that holds its rows.
"""

import sys
import time
from copy import copy
from functools import reduce
from operator import add

import numpy as np

# Arrays from this number of bytes on go to every worker once, instead of into every task.
LARGE = 1 << 14
# Seconds without an answer after which a fit without any worker ends; others may come meanwhile.
PATIENCE = 30.0


def make_parts(delayed):
    """Parts from delayed objects: on the cluster of the current client, if any, or here."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            client = distributed.get_client()
            return ClusterParts(client.compute(delayed), client)
        except ValueError:  # no client
            pass
    import dask

    return LocalParts(dask.compute(*delayed))


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
        return [_answer(part, method, *args) for part in self.parts]

    def sum(self, method, *args):
        """Sum of what the method of every part returns: numbers, arrays, or tuples of these."""
        self.traffic.n_rounds += 1
        return reduce(_plus, self.each(method, *args))

    def chosen(self, method, *args):
        """Parts that the method of every part returns."""
        return LocalParts(self.each(method, *args))


class ClusterParts:
    """Parts on the workers of a Dask cluster, each on the one that made it.

    Workers hold their parts, at most three arrays as large as the largest argument, and what they
    send to each other on the way to a sum; this process holds one of each.
    """

    def __init__(self, futures, client):
        self.futures, self.client, self.traffic = futures, client, Traffic()
        self.path = ()  # methods and arguments that lead from a part to what answers
        self._way = None  # its future
        self._sent = []  # arrays that every worker has, and their futures
        self._wait(futures)
        homes = client.who_has(self.futures)
        self._home = [list(homes.get(future.key, ())) or None for future in self.futures]

    def __len__(self):
        return len(self.futures)

    def each(self, method, *args):
        return self._results(self._asked(_answer, method, args))

    def sum(self, method, *args):
        terms = self._asked(_timed, method, args)
        while len(terms) > 1:  # a tree, so that nobody holds all terms
            pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
            terms = [
                self.client.submit(_plus_timed, *pair, pure=False) if len(pair) > 1 else pair[0]
                for pair in pairs
            ]
        total, seconds = self._results(terms)[0]
        self.traffic.n_rounds += 1
        self.traffic.seconds += seconds
        self.traffic.n_bytes += len(self) * _size(total)
        return total

    def chosen(self, method, *args):
        """The same with what the method of every part returns, which the part keeps or makes."""
        other = copy(self)
        other.path, other._way = (*self.path, (method, args)), None
        return other

    def _asked(self, ask, method, args):
        args = [self._on_workers(argument) for argument in args]
        if self.path and (self._way is None or self._way.status != "finished"):
            self._way = self._send(self.path)
        return [
            self.client.submit(
                ask, future, method, *args, path=self._way or (), pure=False, **self._at(k)
            )
            for k, future in enumerate(self.futures)
        ]

    def _at(self, k):
        # Others may step in where this worker is gone.
        return {"workers": self._home[k], "allow_other_workers": True} if self._home[k] else {}

    def _on_workers(self, argument):
        """The argument, or what stands for an array that workers get once."""
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
                if not self.client.scheduler_info(n_workers=-1)["workers"]:
                    raise RuntimeError(
                        "the Dask cluster has no workers left: start workers and fit again, with "
                        "warm_start=True to go on from the last fit"
                    ) from None
        for future in futures:  # of several errors that of the first part
            if future.status == "error":
                future.result()


def _answer(part, method, *args, path=()):
    for step, values in path:
        part = getattr(part, step)(*values)
    return getattr(part, method)(*args)


def _timed(part, method, *args, path=()):
    start = time.perf_counter()
    answer = _answer(part, method, *args, path=path)
    return answer, time.perf_counter() - start


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
