"""Oracles in workers: threads, processes or machines, as joblib is told."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from uuid import uuid4

from sklearn.utils.parallel import delayed

from ..._core.threads import chunks, n_workers, parallel, shares_memory

PIECES = 4  # jobs for each worker: none waits long for the slowest
MOST_SHIPPED = 4  # training sets that a process keeps
_shipped = {}  # of a worker process: a model and samples for each training set


class Workers:
    """What asks an oracle many questions at once; there may be more threads than processors."""

    def __init__(self, n_jobs, oracle):
        self.n_jobs = n_jobs
        self.prefer = "threads" if getattr(oracle, "releases_gil", False) else None
        n_workers(n_jobs)  # refuses other values than a number of workers
        self._threads, self._n_threads = None, 0

    @property
    def size(self):
        return n_workers(self.n_jobs)

    @property
    def share_memory(self):
        return self.size == 1 or shares_memory(self.prefer)

    def run(self, function, calls):
        """Results of a function for each tuple of arguments, in order, as they come.

        Threads begin with the first call while others are still made.
        """
        if self.size == 1:
            return [function(*args) for args in calls]
        if not self.share_memory:
            pool = parallel(self.n_jobs, self.prefer)
            return pool([delayed(function)(*args) for args in calls])
        # joblib starts threads for every call and looks for what they found every 10 ms.
        if self._n_threads != self.size:
            self._n_threads = self.size
            self._threads = ThreadPoolExecutor(self._n_threads)
        jobs = [self._threads.submit(copy_context().run, function, *args) for args in calls]
        return (job.result() for job in jobs)

    def ranges(self, starts):
        """Ranges of items, one for each call, given the sums of sizes before each and after all."""
        return chunks(starts, self.n_jobs, 1 if self.size == 1 else PIECES)


class Shipment:
    """A model and its samples, which every worker of another process gets once."""

    def __init__(self, model, samples):
        self.model, self.samples = model, samples
        self.token, self.sent = uuid4().hex, set()

    def ask(self, workers, parts, *args):
        """Answers for the samples of lists of numbers: ``model.ask(sample, *args)`` for each."""
        if workers.share_memory:
            calls = [(self.model, [self.samples[i] for i in part], args) for part in parts]
            found = workers.run(_ask_many, calls)
        else:
            found = workers.run(_ask_shipped, [self._call(part, args) for part in parts])
            # A worker that was not there when others got these samples asks for them.
            lost = [k for k, answers in enumerate(found) if answers is None]
            if lost:
                again = [self._call(parts[k], args, True) for k in lost]
                for k, answers in zip(lost, workers.run(_ask_shipped, again), strict=True):
                    found[k] = answers
            self.sent.update(*parts)
        return [answer for answers in found for answer in answers]

    def _call(self, part, args, ship=False):
        if not ship and self.sent.issuperset(part):
            return self.token, None, part, args
        return self.token, (self.model, [self.samples[i] for i in part]), part, args


def _ask_many(model, samples, args):
    return [model.ask(sample, *args) for sample in samples]


def _ask_shipped(token, shipped, part, args):
    """In a worker: answers for samples that are here, None if one is not."""
    if shipped is not None:
        model, samples = shipped
        _, kept = _shipped.setdefault(token, (model, {}))
        kept.update((sample.i, sample) for sample in samples)
        while len(_shipped) > MOST_SHIPPED:
            _shipped.pop(next(iter(_shipped)), None)
    model, kept = _shipped.get(token, (None, {}))
    samples = [kept.get(i) for i in part]
    return None if None in samples else _ask_many(model, samples, args)
