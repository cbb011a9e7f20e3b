"""Answers of all valid calls of the fuzz tests: `python -m _plain FILE` keeps them.

Compiled or as plain Python, the calls take the same steps and differ by rounding only.
"""

import re
import sys
import warnings

import numpy as np

from fuzz.calls import table
from fuzz.cases import with_variants
from fuzz.verdicts import parts

# Draws without a seed, clocks, and a search that ends elsewhere when ties are broken by rounding.
UNEQUAL = re.compile(
    r"time|seconds|Latent|(PerturbAndMAP|MeanField)\w+\.\w*(score|named)|compare|step_counts_"
    r"|calibrate"
)


def choices(call):
    """The call as it is, and with each other value of each argument."""
    yield ()
    for argument, values in call.variants.items():
        if argument != "n_jobs" and argument in call.make():
            yield from (((argument, k),) for k in range(len(values)))


def answer(call, chosen):
    """The answer after few passes: many may part ways where rounding decides between equals."""
    arguments = with_variants(call, dict(chosen))
    if isinstance(arguments.get("max_iter"), int) and "StructuredSVM.fit" in call.name:
        arguments["max_iter"] = 2
    return call.run(arguments)


def all_results():
    """Numbers under "name of the call | place in its answer"."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in table().items():
            for chosen in choices(call):
                try:
                    result = answer(call, chosen)
                except (ValueError, TypeError, OSError, NotImplementedError):
                    continue  # values of two arguments that do not go together
                label = " ".join([name, *map(str, chosen)])
                for place, value in parts(result):
                    if not UNEQUAL.search(f"{name}{place}"):
                        found[f"{label} | {place}"] = np.asarray(value)
    return found


if __name__ == "__main__":
    np.savez(sys.argv[1], **all_results())
