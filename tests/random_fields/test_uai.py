"""The UAI format against products of factors taken straight from the text, and damaged files."""

import math
import re

import numpy as np
import pytest

from _mrf_references import brute_force, labelings
from sklearn_fw.random_fields import PairwiseMRF, TRWMarginals, load_uai, save_uai

# Scopes in both directions, repeated ones, a constant, a zero, and line breaks anywhere.
MIXED = """MARKOV
3
2 3
2
7
1 1
2 1 0   2 0 1
0
1 2
2 2 1
1 1

3
0.5 2.0 1e-3
6
1 2 3
4 5 6
6 0.5 0.25 0.125
  3 0 7
1 2.5
2
0.1 0.9
6
1 2 3 4 5 6
3
1 2 1
"""


def mixed_value(x):
    """The product of the factors of `MIXED`, read by eye."""
    a, b, c = x
    value = [0.5, 2.0, 1e-3][b]
    value *= [[1, 2], [3, 4], [5, 6]][b][a]
    value *= [[0.5, 0.25, 0.125], [3, 0, 7]][a][b]
    value *= 2.5
    value *= [0.1, 0.9][c]
    value *= [[1, 2, 3], [4, 5, 6]][c][b]
    return value * [1, 2, 1][b]


@pytest.fixture
def write(tmp_path):
    """Function from a text to the path of a file with it."""

    def write(text):
        path = tmp_path / "model.uai"
        path.write_text(text)
        return path

    return write


class TestLoad:
    @pytest.mark.parametrize("preamble", ["MARKOV", "BAYES"])
    def test_product_of_factors(self, preamble, write):
        mrf = load_uai(write(MIXED.replace("MARKOV", preamble)))
        assert mrf.n_states.tolist() == [2, 3, 2]
        assert mrf.edges.tolist() == [[0, 1], [1, 2]]
        X = labelings(mrf.n_states)
        np.testing.assert_allclose(np.exp(mrf.score(X)), [mixed_value(x) for x in X], rtol=1e-13)
        assert (mrf.score(X) == -np.inf).sum() == 2  # a hard constraint stays one
        assert mrf.constant == pytest.approx(math.log(2.5), rel=1e-15)

    def test_any_white_space(self, write):
        one_line = load_uai(write(" ".join(MIXED.split())))
        windows = load_uai(write(MIXED.replace("\n", "\r\n")))
        for other in (one_line, windows):
            np.testing.assert_array_equal(other.theta, load_uai(write(MIXED)).theta)

    def test_bayesian_network_sums_to_one(self, write):
        text = "BAYES 2  2 2  2  1 1  2 1 0  2 0.3 0.7  4 0.2 0.8 0.6 0.4"
        mrf = load_uai(write(text))
        assert brute_force(mrf)[0] == pytest.approx(0.0, abs=1e-15)
        assert np.exp(mrf.score([[1, 0]])) == pytest.approx(0.3 * 0.8, rel=1e-15)

    def test_field_with_evidence(self, write, tmp_path):
        path = write(MIXED)
        evidence = tmp_path / "model.uai.evid"
        evidence.write_text("1 1 2")
        X = [[0, 0], [0, 1], [1, 0], [1, 1]]
        expected = [mixed_value((a, 2, c)) for a, c in X]
        for observed in (evidence, {1: 2}):
            if not isinstance(observed, dict):
                observed = load_uai(observed, "evidence")
            mrf = load_uai(path).condition(observed)
            np.testing.assert_allclose(np.exp(mrf.score(X)), expected, rtol=1e-13)


def assert_refused(path, kind, message):
    with pytest.raises(ValueError, match=message) as error:
        load_uai(path, kind)
    assert str(error.value).startswith(f"{path}, line ")


HEAD = "MARKOV\n2\n2 2\n"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "line 1: the file ends too early"),
        ("LIMID\n2", "line 1: the preamble must be MARKOV or BAYES, got 'LIMID'"),
        ("MARKOV\ntwo", "line 2: the number of variables must be an integer from 1 to"),
        ("MARKOV\n2\n2", "line 3: the file ends too early"),
        ("MARKOV\n2\n2 0\n0", "line 3: a number of states must be an integer from 1 to"),
        (HEAD + "-1", "line 4: the number of factors must be an integer from 0 to"),
        (HEAD + "2\n1 0\n3 0 1 0", "line 6: factor 1 names variable 0 twice"),
        (HEAD + "1\n1 2\n", r"line 5: a variable of factor 0 must be .* from 0 to 1, got '2'"),
        (HEAD + "1\n2 1 1\n", "line 5: factor 0 names variable 1 twice"),
        (HEAD + "1\n1 1\n", "line 5: the file ends within the table of factor 0"),
        (HEAD + "1\n1 1\n\n2\n1.0", "line 8: the file ends within the table of factor 0"),
        (
            HEAD + "2\n1 1\n2 0 1\n2\n1 1\n3\n1 1 1 1",
            r"line 9: the table of factor 1 on variables \[0, 1\] must have 4 entries, got '3'",
        ),
        (HEAD + "1\n1 1\n2\n1 1\n\n1 1", "line 9: the file should end here, but goes on with '1'"),
        (HEAD + "1\n1 1\n2\n1\nx", "line 8: a potential must be a number >= 0, got 'x'"),
        (HEAD + "1\n1 1\n2\ninf 1", "line 7: a potential must be a number >= 0, got 'inf'"),
        (
            HEAD + "2\n1 1\n1 1\n2\n1 0\n2\n0 1",
            "line 9: the factors on variable 1 are zero everywhere",
        ),
        (HEAD + "1\n0\n1\n0.0", "line 6: the factors on no variable are zero everywhere"),
    ],
)
def test_malformed_files_are_refused(text, message, write):
    assert_refused(write(text), "field", message)


@pytest.mark.parametrize(
    "kind, text, message",
    [
        ("evidence", "", "line 1: the file ends too early"),
        ("evidence", "2 0 1\n3", "line 2: the file ends too early"),
        ("evidence", "1 0 1\n3", "line 2: the file should end here, but goes on with '3'"),
        ("evidence", "2\n0 1\n0 2", "line 3: variable 0 is observed in states 1 and 2"),
        ("solution", "BEL 1 0", "line 1: the file must start with MAR, PR, MAP or MPE, got 'BEL'"),
        ("solution", "PR", "line 1: the file ends too early"),
        ("solution", "PR\nhigh", "line 2: a decimal logarithm must be a number, got 'high'"),
        ("solution", "PR 2.0 3.0", "line 1: the file should end here, but goes on with '3.0'"),
        ("solution", "MAR 1 2\n0.5", "line 2: the file ends too early"),
        ("solution", "MAR 1 2\n0.5 -0.1", "line 2: a probability must be a number >= 0, got"),
    ],
)
def test_malformed_answers_are_refused(kind, text, message, write):
    assert_refused(write(text), kind, message)


def test_binary_files_are_refused(tmp_path):
    path = tmp_path / "model.uai"
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match="the preamble must be MARKOV or BAYES"):
        load_uai(path)


class TestSave:
    def assert_round_trip(self, mrf, path):
        save_uai(mrf, path)
        again = load_uai(path)
        np.testing.assert_array_equal(again.n_states, mrf.n_states)
        np.testing.assert_array_equal(again.edges, mrf.edges)
        np.testing.assert_allclose(again.theta, mrf.theta, rtol=1e-15, atol=1e-15)
        assert again.constant == pytest.approx(mrf.constant, rel=1e-15, abs=1e-15)

    def test_too_large_for_exponentials(self, tmp_path):
        with pytest.raises(ValueError, match=r"log-potential of 1e\+12, .* 7e\+06: scale it"):
            save_uai(PairwiseMRF([[0.0, -1e12]]), tmp_path / "large.uai")

    def test_round_trip(self, tmp_path, rng):
        edges = [(2, 0), (1, 3), (0, 1)]
        sizes = [2, 3, 1, 4]
        tables = [rng.normal(scale=5, size=(sizes[i], sizes[j])) for i, j in edges]
        tables[1][1, 2] = -np.inf
        unary = [rng.normal(scale=5, size=k) for k in sizes]
        unary[3][0] = -np.inf
        for constant in (0.0, -3.25):
            mrf = PairwiseMRF(unary, edges, tables, constant=constant)
            self.assert_round_trip(mrf, tmp_path / "model.uai")

    def test_potentials_that_no_float_can_hold(self, tmp_path):
        unary = [[0.0, -1e4, -np.inf], [750.0, -750.0]]
        table = [[1e3, 0.0], [-1.0, -720.0], [-np.inf, 2.0]]
        mrf = PairwiseMRF(unary, [(0, 1)], [table], constant=2000.0)
        self.assert_round_trip(mrf, tmp_path / "model.uai")
        numbers = [float(word) for word in (tmp_path / "model.uai").read_text().split()[1:]]
        assert max(numbers) < np.inf


class TestEvidence:
    @pytest.mark.parametrize(
        "text, expected",
        [
            ("0", {}),
            ("0\n", {}),
            ("2 5 1 0 3", {5: 1, 0: 3}),
            ("2\n5 1\n0 3\n", {5: 1, 0: 3}),
            ("2\n1 0\n0 0\n", {1: 0, 0: 0}),
            ("1\n2 5 1 0 3\n", {5: 1, 0: 3}),
            ("1\n0\n", {}),
            ("2\n1 5 1\n0\n", [{5: 1}, {}]),
            ("2\n1 0 0\n2 0 1 1 0", [{0: 0}, {0: 1, 1: 0}]),
            ("1 3 2  ", {3: 2}),
            ("2 3 1 3 1", {3: 1}),
        ],
    )
    def test_read(self, text, expected, write):
        assert load_uai(write(text), "evidence") == expected


class TestSolution:
    @pytest.mark.parametrize("kind", ["MAP", "MPE"])
    def test_labelings_are_read(self, kind, write):
        for text in (f"{kind}\n3 0 2 1", f"{kind}\n1\n3 0 2 1\n"):
            labels = load_uai(write(text), "solution")
            assert labels.tolist() == [0, 2, 1]
            assert labels.dtype == np.int64
        with pytest.raises(ValueError, match="line 2: a state must be an integer from 0 to"):
            load_uai(write(f"{kind}\n2 0 -1"), "solution")

    @pytest.mark.parametrize(
        "text", ["MAR 2 2 0.25 0.75 3 0.5 0.5 0", "MAR\n1\n2 2 0.25 0.75 3 0.5 0.5 0\n"]
    )
    def test_marginals(self, text, write):
        found = load_uai(write(text), "solution")
        assert [p.tolist() for p in found] == [[0.25, 0.75], [0.5, 0.5, 0.0]]

    @pytest.mark.parametrize("text", ["PR\n-2.5", "PR -2.5\n", "PR\n1\n-2.5\n"])
    def test_partition_function(self, text, write):
        assert load_uai(write(text), "solution") == pytest.approx(math.log(10**-2.5), rel=1e-14)


@pytest.mark.parametrize("number", ["1.2e308", "-9e307"])
def test_logarithms_that_no_float_holds(number, tmp_path):
    file = tmp_path / "huge.uai.PR"
    file.write_text(f"PR\n{number}")
    with pytest.raises(ValueError, match=r"line 2: the natural logarithm of .* is not a float64"):
        load_uai(file, "solution")


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
        with pytest.raises(ValueError, match=r"line 3: [0-9]* states in all, "):
            load_uai(path)
    path.write_text("MARKOV 1  1000000  0")  # free variables may have many
    assert load_uai(path).n_states.tolist() == [1_000_000]


@pytest.mark.parametrize("row", ["2 0.5 0.6", "2 0 0", "3 1 1 1", "2 1e300 1e300", "1 0.9"])
def test_marginals_that_do_not_sum_to_one(row, tmp_path):
    path = tmp_path / "a.MAR"
    path.write_text(f"MAR\n2\n2 0.25 0.75\n{row}\n")
    message = "line 4: probabilities of variable 1 must sum to one, not "
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


@pytest.mark.parametrize("data", [PairwiseMRF([[0.0, 1.0]]), {0: 1}])
def test_kinds_are_of_solutions(data, tmp_path):
    with pytest.raises(ValueError, match="kind='MAP' is for solutions: leave 'auto' for a random"):
        save_uai(data, tmp_path / "a", kind="MAP")
    assert not list(tmp_path.iterdir())
