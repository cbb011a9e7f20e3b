"""A child that runs calls and may die of them; its parent says of which."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

# Verdicts that are no violations.
GOOD = {"answer", "refused", "unreached", "no such corruption"}
TESTS = Path(__file__).resolve().parents[1]
CPU_SECONDS = 20  # of one call
WALL_SECONDS = 240  # of a call that sleeps, or of a machine that is busy
MEMORY = 8 * 2**30  # what a call may ask for
START_SECONDS = 300
_LIMIT = []  # of one call; in children only


class Worker:
    """Runs tasks one after the other in a child, and starts another child when it dies.

    A task is a dict with a key "kind" that names a function of ``runners``, a module with
    a dict `RUNNERS` of functions from a task to something that JSON can hold.
    """

    def __init__(self, runners, cpu_seconds=CPU_SECONDS, memory=MEMORY):
        self.runners, self.cpu_seconds, self.memory = runners, cpu_seconds, memory
        self.child = None
        self.n_started = 0

    def run(self, task):
        """The answer to a task, or ``{"died": why}``."""
        if self.child is None:
            self._start()
        try:
            self.child.stdin.write((json.dumps(task) + "\n").encode())
            self.child.stdin.flush()
        except BrokenPipeError:
            return {"died": self._end("before the call")}
        answer = self._line(WALL_SECONDS)
        return {"died": self._end("")} if answer is None else json.loads(answer)

    def _start(self):
        self.n_started += 1
        path = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"}
        env.setdefault("OMP_NUM_THREADS", "1")
        env.pop("SKLEARN_FW_DATA", None)
        self.log = tempfile.TemporaryFile()  # noqa: SIM115, closed with the child
        self.child = subprocess.Popen(
            [sys.executable, "-m", "fuzz.workers", self.runners, str(self.cpu_seconds),
             str(self.memory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=env, bufsize=0,
        )  # fmt: skip
        if self._line(START_SECONDS) is None:
            why = self._end("at its start")
            raise RuntimeError(f"the child ended {why}")

    def _line(self, seconds):
        end, line = time.monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                self.child.kill()
                return None
            read = os.read(self.child.stdout.fileno(), 1 << 16)
            if not read:
                return None
            line += read
        return line

    def _end(self, when):
        """How the child ended; its last words are kept."""
        code = self.child.wait()
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - 3000))
        words = self.log.read().decode(errors="replace")
        self._forget()
        if code == -signal.SIGPROF:
            return f"hang: more than {self.cpu_seconds} s of CPU"
        if code == -signal.SIGKILL:
            return "hang: killed after no answer"
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return f"crash: {name} {when} {words[-600:].strip()}".strip()

    def _forget(self):
        for stream in (self.child.stdin, self.child.stdout, self.log):
            with contextlib.suppress(OSError):
                stream.close()
        self.child = None

    def close(self):
        """End the child."""
        if self.child is not None:
            self.child.stdin.close()
            self.child.wait()
            self._forget()


def limit(seconds):
    """End this process by a signal after so much CPU time from now, compiled code included."""
    if _LIMIT:
        signal.setitimer(signal.ITIMER_PROF, seconds or _LIMIT[0])


def serve(runners, cpu_seconds, memory):
    """The loop of a child: a line with a task in, a line with the answer out."""
    import faulthandler
    import importlib
    import resource

    faulthandler.enable()
    _LIMIT.append(cpu_seconds)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what calls print is no answer
    module = importlib.import_module(runners)
    # Runners that limit each call themselves may take longer before it, to compile kernels.
    patience = getattr(module, "PATIENCE", 1)
    warnings.simplefilter("always")
    os.chdir(tempfile.mkdtemp(prefix="sklearn_fw-calls-"))  # see `files.WORKPLACE`
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        limit(patience * cpu_seconds)
        answer = module.RUNNERS[task.pop("kind")](**task)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    from fuzz import workers  # not the copy that is called __main__

    workers.serve(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
