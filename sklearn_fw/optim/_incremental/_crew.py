"""Threads that share one epoch."""

from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

# Rows after which a worker looks whether it should stop: some milliseconds.
CHUNK = 1 << 15


class Crew:
    """``size`` workers; one alone is the calling thread itself."""

    def __init__(self, size):
        self.size = size
        self._pool = None
        self._stop = Event()

    def run(self, work, order):
        """Sum of ``work(part of order, worker)`` over equal parts of ``order``.

        Whatever interrupts the calling thread (KeyboardInterrupt too) leaves no thread at work.
        """
        self._stop.clear()
        if self.size == 1:
            return self._part(work, order, 0)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.size, thread_name_prefix="sklearn_fw")
        bounds = [order.size * worker // self.size for worker in range(self.size + 1)]
        futures = [
            self._pool.submit(self._part, work, order[bounds[worker] : bounds[worker + 1]], worker)
            for worker in range(self.size)
        ]
        try:
            return sum(future.result() for future in futures)
        except BaseException:
            self._stop.set()
            wait(futures)
            raise

    def _part(self, work, order, worker):
        done = 0.0
        try:
            for start in range(0, order.size, CHUNK):
                if self._stop.is_set():
                    break
                done += work(order[start : start + CHUNK], worker)
        except BaseException:
            self._stop.set()  # the others need not finish
            raise
        return done

    def close(self):
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
