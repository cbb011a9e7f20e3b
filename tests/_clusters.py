"""Dask clusters of processes, and workers that end while they are needed."""

import logging
import os
import signal
from contextlib import contextmanager


@contextmanager
def processes(distributed, n_workers, **options):
    """Client of a cluster of processes, as only these can be killed."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", **options,
        ) as local,
        distributed.Client(local) as client,
    ):  # fmt: skip
        yield client


class KillLater(logging.Handler):
    """Ends a worker when the third line of a fit is logged."""

    def __init__(self, client):
        super().__init__()
        self.victim, self.n_lines = next(iter(client.run(os.getpid).values())), 0

    def __enter__(self):
        logging.getLogger("sklearn_fw").addHandler(self)
        return self

    def __exit__(self, *_):
        logging.getLogger("sklearn_fw").removeHandler(self)

    def emit(self, record):
        self.n_lines += 1
        if self.n_lines == 3:
            os.kill(self.victim, signal.SIGKILL)
