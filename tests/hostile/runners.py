"""What a worker can be asked to do."""

from . import cases

__all__ = ["PATIENCE", "RUNNERS"]

PATIENCE = 20  # limits of CPU time; each call has one of its own


def drawn(seed, index, only=""):
    """A case of the fuzzer."""
    case = cases.draw(seed, index, only)
    verdict = cases.run(case)
    return [str(case), verdict.word, verdict.detail]


def each(name):
    """One case of every kind of damage of a callable: those that are judged as violations."""
    found, n = [], 0
    for damage in cases.kinds(name):
        case = cases.one_of_each(name, damage)
        verdict = cases.run(case)
        n += 1
        if not verdict.good:
            found.append([str(case), verdict.word, verdict.detail])
    return [n, found]


def single(name, damage):
    """One case of `each`."""
    case = cases.one_of_each(name, damage)
    verdict = cases.run(case)
    return [str(case), verdict.word, verdict.detail]


def usual(name):
    """The valid call of an entry, which has to succeed: what went wrong, or nothing."""
    import warnings

    from .calls import table
    from .verdicts import describe

    call = table()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call.run(call.make())
        except Exception as error:
            return describe(error)
    return ""


def damages_of_call(name):
    """Names of the damages that fit somewhere into a call."""
    return list(cases.kinds(name))


RUNNERS = {
    "drawn": drawn, "each": each, "single": single, "usual": usual, "damages": damages_of_call,
}  # fmt: skip
