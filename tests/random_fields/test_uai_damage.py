"""Files of the UAI format that are damaged in their numbers; tests/test_files.py has the bytes."""

import re

import numpy as np
import pytest

from sklearn_fw.random_fields import (
    TRWMarginals,
    load_uai,
)

UAI = "MARKOV\n2\n2 3\n2\n1 0\n2 1 0\n\n2\n0.5 1.5\n6\n1 2 3\n4 5e-1 6\n"
HUGE = [str(10**30), "9" * 5000, str(2**63), "-1", "1.5", "1e3", "nan", "0x10", "1_0", "²", "٣"]


# Each word of a field that counts something, and those of evidence and solutions, replaced.
PLACES = [
    *(("field", " ".join([*(w := UAI.split())[:i], "{}", *w[i + 1 :]])) for i in range(1, 9)),
    ("field", "MARKOV 1  2  1  1 0\n{}  1 1"),
    *(("evidence", t) for t in ("{} 0 1", "1 {} 1", "1 0 {}", "1\n{} 0 1", "2\n1 0 1\n1 0 {}")),
    *(("solution", t) for t in ("MAP {} 0", "MAP 2 0 {}", "MAR {} 2 0 1", "MAR 1 {} 0 1")),
]


@pytest.mark.parametrize("kind, text", PLACES)
def test_numbers_that_no_file_can_mean(kind, text, tmp_path):
    path = tmp_path / "a"
    for word in HUGE:
        path.write_text(text.format(word), encoding="utf-8")
        with pytest.raises(ValueError, match=re.escape(f"{path}, line ")):
            load_uai(path, kind)


@pytest.mark.parametrize("word", ["1e400", "inf", "nan", "1_0", "high"])
def test_partition_functions(word, tmp_path):
    path = tmp_path / "a.PR"
    path.write_text(f"PR\n{word}")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 2: a decimal logarithm")):
        load_uai(path, "solution")
    path.write_text("PR -inf")  # nothing is allowed
    assert load_uai(path, "solution") == -np.inf


def test_tables_that_no_memory_holds(tmp_path):
    path = tmp_path / "a.uai"
    for n, n_states in ((1, "1000000000000"), (2, "100000000 100000000")):
        path.write_text(f"MARKOV\n{n}\n{n_states}\n0\n")
        with pytest.raises(ValueError, match=r"line 3: the variables have [0-9]* states in all, b"):
            load_uai(path)
    path.write_text("MARKOV 1  1000000  0")  # free variables may have many
    assert load_uai(path).n_states.tolist() == [1_000_000]


@pytest.mark.parametrize("row", ["2 0.5 0.6", "2 0 0", "3 1 1 1", "2 1e300 1e300", "1 0.9"])
def test_marginals_that_do_not_sum_to_one(row, tmp_path):
    path = tmp_path / "a.MAR"
    path.write_text(f"MAR\n2\n2 0.25 0.75\n{row}\n")
    message = "line 4: the probabilities of variable 1 must sum to one, they sum to "
    with pytest.raises(ValueError, match=message):
        load_uai(path, "solution")


@pytest.mark.parametrize("row", ["3 0.333 0.333 0.333", "2 0.333333 0.666667", "1 1.0"])
def test_rounded_marginals_are_read(row, tmp_path):
    path = tmp_path / "a.MAR"
    path.write_text(f"MAR 1 {row}")
    assert load_uai(path, "solution")[0].tolist() == [float(word) for word in row.split()[1:]]


def test_estimators_name_the_file(tmp_path):
    path = tmp_path / "a.uai"
    path.write_text("MARKOV\n2\n2 x")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 3: ")):
        TRWMarginals().fit(path)
