"""Writing files of the UAI inference competitions: random fields, evidence and solutions."""

import math

import numpy as np

from .._core.files import check_path
from .._core.scores import as_array, integers
from .._core.validation import check_array_of_numbers, check_choice, check_list, is_auto
from ._factor_graph import FactorGraph

LARGEST_EXPONENT = 700.0  # exp of it and of its negative are normal numbers of float64
MOST_PARTS = 10_000  # factors written for one table


def save_uai(mrf, path):
    """Write a random field to a file of the UAI format.

    Parameters
    ----------
    mrf : FactorGraph or PairwiseMRF
        Random field. Names of variables and states have no place in the format and are left out.
    path : str or path
        Text file to write; an existing one is overwritten.

    See Also
    --------
    load_uai : Reads the same potentials, up to rounding of 1e-13.

    Notes
    -----
    Each variable, edge and larger factor gets a factor, and ``constant`` one without variables if
    it is not zero. Where ``exp`` of a potential would leave the range of floating point numbers,
    equal parts of it go to several factors on the same variables, which readers multiply.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_fw.random_fields import PairwiseMRF, save_uai
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.uai")
    ...     save_uai(PairwiseMRF([[0.0, float("-inf")]]), file)
    ...     print(file.read_text())
    MARKOV
    1
    2
    1
    1 0
    <BLANKLINE>
    2
    1.0 0.0
    <BLANKLINE>
    """
    if not isinstance(mrf, FactorGraph):
        raise TypeError(f"mrf must be a FactorGraph or PairwiseMRF, got {type(mrf).__name__}")
    path, mrf = check_path(path), mrf._plain()  # as the class has it, whatever a subclass says
    blocks = [(f"1 {i}", block) for i, block in enumerate(mrf.unary)]
    for scope, table in zip(mrf.scopes, mrf.tables):
        name = " ".join(map(str, (len(scope), *scope)))
        blocks.append((name, table.reshape(len(table), -1)))
    if mrf.constant:
        blocks.append(("0", np.array([mrf.constant])))
    scopes, tables = [], []
    for scope, block in blocks:
        finite = block[block > -np.inf]
        n_parts = max(1, int(np.ceil(np.abs(finite).max(initial=0.0) / LARGEST_EXPONENT)))
        if n_parts > MOST_PARTS:
            raise ValueError(
                f"mrf has a log-potential of {np.abs(finite).max():.6g}, beyond what files of "
                f"exponentials can hold, {MOST_PARTS * LARGEST_EXPONENT:g}: scale it"
            )
        rows = np.exp(np.atleast_2d(block) / n_parts).tolist()
        table = "\n".join(" ".join(map(repr, row)) for row in rows)
        scopes += [scope] * n_parts
        tables += [f"\n{block.size}\n{table}"] * n_parts
    n_states = " ".join(map(str, mrf.n_states))
    lines = ["MARKOV", str(mrf.n_variables), n_states, str(len(scopes)), *scopes, *tables, ""]
    path.write_text("\n".join(lines), encoding="ascii")


def save_uai_evidence(observed, path):
    """Write observed states to an evidence file of the UAI format.

    Parameters
    ----------
    observed : dict of int to int
        State of each observed variable, such as ``evidence`` of a field.
    path : str or path
        Text file to write; an existing one is overwritten.

    See Also
    --------
    read_uai_evidence : Reads the same.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_fw.random_fields import save_uai_evidence
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.uai.evid")
    ...     save_uai_evidence({0: 1, 3: 0}, file)
    ...     file.read_text().split()
    ['2', '0', '1', '3', '0']
    """
    if not isinstance(observed, dict):
        raise TypeError(f"observed must be a dict, got {type(observed).__name__}")
    pairs = integers(list(observed.items()), "observed", 2)
    if pairs.min(initial=0) < 0:
        raise ValueError("observed must hold numbers >= 0 of variables and states")
    words = [len(pairs), *pairs.ravel().tolist()]
    check_path(path).write_text(" ".join(map(str, words)) + "\n", encoding="ascii")


def save_uai_solution(solution, path, kind="auto"):
    """Write marginals, the partition function or a labelling in the UAI format of solutions.

    Parameters
    ----------
    solution : float, list of arrays of shape (n_states_i,), or array of integers
        The natural logarithm of the partition function; or the marginals of all variables, see
        `FactorGraph.complete_marginals`; or a labelling, see `FactorGraph.complete`.
    path : str or path
        Text file to write; an existing one is overwritten.
    kind : {"auto", "PR", "MAR", "MAP", "MPE"}, default="auto"
        First word of the file. "auto" is PR for a number, MAP for a labelling and else MAR.

    See Also
    --------
    read_uai_solution : Reads the same, up to rounding of 1e-15.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_fw.random_fields import save_uai_solution
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.uai.MAR")
    ...     save_uai_solution([[0.5, 0.5], [0.25, 0.75]], file)
    ...     print(file.read_text())
    MAR
    2 2 0.5 0.5 2 0.25 0.75
    <BLANKLINE>
    """
    check_choice(kind, "kind", {"auto", "PR", "MAR", "MAP", "MPE"})
    path = check_path(path)
    if is_auto(kind):
        array = None if isinstance(solution, list | tuple) else as_array(solution, "solution")
        is_number = array is not None and array.ndim == 0
        is_labelling = not is_number and all(np.ndim(row) == 0 for row in solution)
        kind = "PR" if is_number else "MAP" if is_labelling else "MAR"
    if kind == "PR":
        number = check_array_of_numbers(solution, "solution", finite=True)
        if number.ndim:
            raise ValueError(f"solution must be a number for PR, got shape {number.shape}")
        words = [repr(float(number) / math.log(10.0))]
    elif kind == "MAR":
        rows = [
            check_array_of_numbers(row, f"solution[{i}]")
            for i, row in enumerate(check_list(solution, "solution", "marginals"))
        ]
        for i, row in enumerate(rows):
            if row.ndim != 1 or not row.size or row.min() < 0 or abs(row.sum() - 1.0) > 1e-6:
                raise ValueError(f"solution[{i}] must hold probabilities that sum to one")
        words = [len(rows)]
        for row in rows:
            words += [len(row), *map(repr, row.tolist())]
    else:
        labels = integers(solution, "solution", None)
        if labels.ndim != 1 or not labels.size or labels.min() < 0:
            raise ValueError(f"solution must hold one state >= 0 for each variable for {kind}")
        words = [len(labels), *labels.tolist()]
    path.write_text(f"{kind}\n{' '.join(map(str, words))}\n", encoding="ascii")
