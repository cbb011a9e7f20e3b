"""A stand-in for what callbacks are told."""

from sklearn_fw._callbacks import FitTasks


class Tasks(FitTasks):
    """Counts passes, remembers their numbers, and asks to stop after some."""

    def __init__(self, n_passes):
        self.n_passes, self.n_begun, self.seen = n_passes, 0, []

    def begin(self):
        self.n_begun += 1

    def end(self, attributes):
        self.seen.append(attributes()["n_iter_"])
        return len(self.seen) == self.n_passes
