"""TokenFeatures against names written token by token, and against CountVectorizer on attributes."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import load_conll2000
from sklearn_fw.preprocessing import TokenFeatures, crfsuite_chunking_attributes, tagging_templates
from sklearn_fw.utils import Packed

# ---- the reference: functions and templates once more, in the plainest way -----------------------


def plain_shape(word):
    out = ""
    for c in word:
        if c.isalpha():
            out += "X" if c.isupper() else "x"
        else:
            out += "d" if c.isdigit() else c
    return out


def flag(holds):
    return "yes" if holds else None


PLAIN = {
    "lower": lambda w: w.lower(),
    "shape": plain_shape,
    "short_shape": lambda w: "".join(c for c, _ in itertools.groupby(plain_shape(w))),
    "is_capitalized": lambda w: flag(w[:1].isupper()),
    "is_upper": lambda w: flag(w.isupper()),
    "has_digit": lambda w: flag(any(c.isdigit() for c in w)),
    "has_hyphen": lambda w: flag("-" in w),
    "has_inner_capital": lambda w: flag(any(c != c.lower() for c in w[1:])),
    "is_punctuation": lambda w: flag(not any(c.isalnum() for c in w)),
    **{f"prefix{n}": lambda w, n=n: w[:n] if len(w) >= n else None for n in range(1, 5)},
    **{f"suffix{n}": lambda w, n=n: w[-n:] if len(w) >= n else None for n in range(1, 5)},
}


def plain_value(name, token, fields):
    if name in fields:
        return token[fields.index(name)]
    function, _, rest = name.partition("(")
    inner = plain_value(rest.removesuffix(")"), token, fields)
    return None if inner is None else PLAIN[function](inner)


def plain_attributes(sentence, templates, fields, boundaries=True, bias=True):
    rows = []
    for t in range(len(sentence)):
        row = []
        for template in templates:
            places = [t + o for _, o in template]
            if min(places) < 0 or max(places) >= len(sentence):
                continue
            values = [plain_value(n, sentence[t + o], fields) for n, o in template]
            if None not in values:
                name = "|".join(f"{n}[{o}]" for n, o in template)
                row.append(f"{name}={'|'.join(values)}")
        if bias:
            row.append("bias")
        if boundaries and t == 0:
            row.append("__BOS__")
        if boundaries and t == len(sentence) - 1:
            row.append("__EOS__")
        rows.append(row)
    return rows


words = st.text("aAbß1-.é", min_size=1, max_size=5)
names = st.sampled_from(
    ["w", "p", *(f"{f}(w)" for f in PLAIN), "suffix2(lower(w))", "short_shape(p)", "lower(p)"]
)
templates_ = st.lists(
    st.lists(st.tuples(names, st.integers(-2, 2)), min_size=1, max_size=3).map(tuple),
    min_size=1, max_size=5, unique=True,
)  # fmt: skip
sentences_ = st.lists(st.lists(st.tuples(words, st.sampled_from("XyZ")), max_size=5), max_size=5)


def as_sets(X, columns):
    table = X.compact().values
    starts = table.indptr
    return [
        sorted(columns[j] for j in table.indices[starts[i] : starts[i + 1]])
        for i in range(table.shape[0])
    ]


@settings(deadline=None)  # the first example waits for compiled kernels
@given(
    train=sentences_.filter(any), test=sentences_, templates=templates_, min_count=st.integers(1, 2)
)
def test_equal_to_names_written_token_by_token(train, test, templates, min_count):
    fields = ("w", "p")
    features = TokenFeatures(templates, fields=fields, min_count=min_count)
    X = features.fit_transform(train)
    plain = [r for s in train for r in plain_attributes(s, templates, fields)]
    seen = {}
    for row in plain:
        for name in row:
            seen[name] = seen.get(name, 0) + 1
    kept = {name for name, count in seen.items() if count >= min_count}
    columns = features.get_feature_names_out()
    assert sorted(columns) == sorted(kept)
    assert features.n_features_out_ == len(kept)
    assert X.values.has_sorted_indices
    assert as_sets(X, columns) == [sorted(set(row) & kept) for row in plain]
    assert (features.transform(train).values != X.values).nnz == 0
    plain = [r for s in test for r in plain_attributes(s, templates, fields)]
    found = features.transform(test)
    assert found.lengths.tolist() == [len(s) for s in test]
    assert as_sets(found, columns) == [sorted(set(row) & kept) for row in plain]


@settings(deadline=None)
@given(train=sentences_.filter(any), test=sentences_)
def test_the_default_templates(train, test):
    fields = ("w", "p")
    features = TokenFeatures(fields=fields).fit(train)
    columns = features.get_feature_names_out()
    plain = [r for s in test for r in plain_attributes(s, tagging_templates(*fields), fields)]
    known = set(columns)
    assert as_sets(features.transform(test), columns) == [sorted(set(r) & known) for r in plain]


def test_functions_of_words():
    word = "McDonald-2s"
    names = ["lower", "shape", "short_shape", "prefix4", "suffix2", "has_digit", "is_upper"]
    features = TokenFeatures([((f"{name}(w)", 0),) for name in names], boundaries=False, bias=False)
    assert features.fit([[word]]).get_feature_names_out().tolist() == [
        "lower(w)[0]=mcdonald-2s", "shape(w)[0]=XxXxxxxx-dx", "short_shape(w)[0]=XxXx-dx",
        "prefix4(w)[0]=McDo", "suffix2(w)[0]=2s", "has_digit(w)[0]=yes",
    ]  # fmt: skip


def test_an_unseen_word_is_known_by_its_parts():
    features = TokenFeatures().fit([["He", "is", "running"]])
    assert not hasattr(features, "set_output")  # a Packed cannot become a data frame
    names = features.get_feature_names_out()
    found = set(names[features.transform([["Stopping"]])[0].indices])
    assert "suffix4(lower(w))[0]=ning" not in found
    assert {"suffix3(lower(w))[0]=ing", "bias", "__BOS__", "__EOS__"} <= found
    assert {"is_capitalized(w)[0]=yes", "short_shape(w)[0]=Xx"} <= found


@pytest.mark.parametrize(
    "form",
    [
        lambda sentences: sentences,
        lambda sentences: [np.array(s) for s in sentences],
        lambda sentences: [[(w, "tag") for w in s] for s in sentences],
        lambda sentences: [np.array([(w, "tag") for w in s], dtype=object) for s in sentences],
        lambda sentences: Packed.from_list([np.array(s, dtype=object) for s in sentences]),
    ],
)
def test_forms_of_sentences(form):
    sentences = [["He", "runs"], ["Stop", "it", "now"]]
    expected = TokenFeatures().fit_transform(sentences).values
    assert (TokenFeatures().fit_transform(form(sentences)).values != expected).nnz == 0


def initial(word):
    return word[0] if word[0].isalpha() else None


def test_own_functions():
    clusters = {"Paris": "city", "Rome": "city", "eats": "verb"}
    features = TokenFeatures(
        [(("cluster(w)", 0),), (("initial(lower(w))", -1), ("cluster(w)", 0))],
        functions={"cluster": clusters.get, "initial": initial}, bias=False, boundaries=False,
    )  # fmt: skip
    X = features.fit_transform([["Rome", "eats"], ["the", "2", "Paris"]])
    names = ["cluster(w)[0]=city", "cluster(w)[0]=verb", "initial(lower(w))[-1]|cluster(w)[0]="]
    assert features.get_feature_names_out().tolist() == [*names[:2], names[2] + "r|verb"]
    np.testing.assert_array_equal(
        X.values.toarray(), [[1, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    )
    copy = pickle.loads(pickle.dumps(features))
    assert (copy.transform([["Roger", "eats"]]).values.toarray() == [[0, 0, 0], [0, 1, 1]]).all()


def test_stored_and_cloned():
    sentences = [[("He", "PRP"), ("runs", "VBZ")], [("Stop", "VB")]]
    features = TokenFeatures(fields=("w", "pos"), min_count=1).fit(sentences)
    expected = features.transform([*sentences, [("Running", "VBZ")]]).values
    copies = [pickle.loads(pickle.dumps(features))]
    sio = pytest.importorskip("skops.io")
    dumped = sio.dumps(features)
    copies.append(sio.loads(dumped, trusted=sio.get_untrusted_types(data=dumped)))
    for other in copies:
        found = other.transform([*sentences, [("Running", "VBZ")]]).values
        assert (found != expected).nnz == 0
        assert other.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
    assert clone(features).get_params() == features.get_params()
    with pytest.raises(NotFittedError):
        clone(features).transform(sentences)


def test_a_tagger_of_raw_sentences():
    X = [["Ann", "runs"], ["Bob", "sleeps"], ["a", "dog", "runs"], ["Carl", "talks"]] * 2
    y = [["N", "V"], ["N", "V"], ["D", "N", "V"], ["N", "V"]] * 2
    tagger = make_pipeline(TokenFeatures(), StructuredSVM("chain", random_state=0)).fit(X, y)
    assert [tags.tolist() for tags in tagger.predict([["Dora", "jumps"], []])] == [["N", "V"], []]


TEMPLATE = [(("w", 0),)]


@pytest.mark.parametrize(
    ("params", "X", "error", "message"),
    [
        ({"templates": [(("low(w)", 0),)]}, [["a"]], ValueError, "unknown function 'low': known"),
        ({"templates": [(("lower(x)", 0),)]}, [["a"]], ValueError, "a function of one such as"),
        ({"templates": [(("lower", 0),)]}, [["a"]], ValueError, r"such as 'lower\(w\)'"),
        ({"templates": [(("w", "x"),)]}, [["a"]], ValueError, "an integer offset"),
        ({"templates": "ner"}, [["a"]], ValueError, "templates must be 'tagging', 'chunking' or"),
        ({"templates": []}, [["a"]], ValueError, "templates is empty"),
        ({"fields": "w"}, [["a"]], TypeError, r"got the str 'w': \('w',\)"),
        ({"fields": ("w", "w")}, [["a"]], ValueError, "all different"),
        ({"fields": ()}, [["a"]], ValueError, "at least one name"),
        ({}, [[1, 2]], TypeError, "token 0 of sample 0 is 1 of type int: a token of X is a str"),
        ({}, [[b"a"]], TypeError, "token 0 of sample 0 is b.a. of type bytes: a token of X"),
        ({}, [[{"w": "a"}]], TypeError, "token 0 of sample 0 is a dict: use NodeTransformer"),
        ({}, [["a", None]], TypeError, "token 1 of sample 0 is None of type NoneType"),
        ({}, [np.array([1, 2])], TypeError, "field 'w' holds 1 of type int: fields must be text"),
        (
            {"templates": [(("len(w)", 0),)], "functions": {"len": len}}, [["a"]], TypeError,
            r"functions\['len'\] returned 1 of type int for 'a': it must return text or None",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused(params, X, error, message):
    with pytest.raises(error, match=message):
        TokenFeatures(**params).fit(X)


def test_bad_tokens_are_refused_after_fit():
    features = TokenFeatures().fit([["a"]])
    with pytest.raises(TypeError, match="field 'w' holds 3 of type int: fields must be text"):
        features.transform([np.array([3], dtype=object)])
    with pytest.raises(TypeError, match="sample 0 is a str, not a sentence"):
        features.transform(["a"])


# ---- the templates of CRFsuite's tutorial --------------------------------------------------------


def chunking(templates="chunking", **parameters):
    return TokenFeatures(templates, **{"fields": ("w", "pos"), "bias": False, **parameters})


def reference(sentences, min_count=1):
    """CountVectorizer over attribute strings, columns sorted by name."""
    lists = [row for s in sentences for row in crfsuite_chunking_attributes(s)]
    vectorizer = CountVectorizer(analyzer=list, min_df=min_count)
    table = vectorizer.fit_transform(lists)
    return vectorizer.get_feature_names_out(), table.toarray()


tokens = st.tuples(st.sampled_from("abcd"), st.sampled_from("XYZ"))
sentence_lists = st.lists(st.lists(tokens, max_size=6), min_size=1, max_size=6).filter(any)


@given(sentences=sentence_lists, min_count=st.integers(1, 3))
def test_chunking_features_equal_count_vectorizer(sentences, min_count):
    features = chunking(min_count=min_count)
    X = features.fit_transform(sentences)
    assert X.lengths.tolist() == [len(s) for s in sentences]
    assert X.values.has_sorted_indices
    assert (X.values != features.transform(sentences).values).nnz == 0
    try:
        names, table = reference(sentences, min_count=min_count)
    except ValueError:  # CountVectorizer refuses to drop every column
        assert features.n_features_out_ == 0
        return
    found = features.get_feature_names_out()
    order = np.argsort(found)
    assert found[order].tolist() == names.tolist()
    np.testing.assert_array_equal(X.compact().values.toarray()[:, order], table)


SENTENCES = [[("He", "PRP"), ("runs", "VBZ")], [("Stop", "VB")], [("He", "PRP"), ("He", "PRP")]]


def test_attribute_lists():
    first, last = crfsuite_chunking_attributes(SENTENCES[0])
    pairs = "w[0]|w[1]=He|runs pos[0]|pos[1]=PRP|VBZ __BOS__"
    assert set(first) == {*["w[0]=He", "w[1]=runs", "pos[0]=PRP", "pos[1]=VBZ"], *pairs.split()}
    pairs = "w[-1]|w[0]=He|runs pos[-1]|pos[0]=PRP|VBZ __EOS__"
    assert set(last) == {*["w[-1]=He", "w[0]=runs", "pos[-1]=PRP", "pos[0]=VBZ"], *pairs.split()}
    longest = crfsuite_chunking_attributes([("a", "B")] * 9)[4]
    assert len(longest) == len(set(longest)) == 19
    assert crfsuite_chunking_attributes([]) == []
    one = crfsuite_chunking_attributes(np.array([["a", "B", "tag"]]))
    assert one == [["w[0]=a", "pos[0]=B", "__BOS__", "__EOS__"]]


def test_columns_do_not_depend_on_the_order_of_sentences():
    a, b = chunking().fit(SENTENCES), chunking().fit(SENTENCES[::-1])
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    assert a.vocabularies_ == ({"He": 0, "Stop": 1, "runs": 2}, {"PRP": 0, "VB": 1, "VBZ": 2})


def test_ambiguous_text_is_kept_apart():
    sentences = [[("a|b", "X"), ("c", "X")], [("a", "X"), ("b|c", "X")]]
    features = chunking([(("w", 0), ("w", 1))], boundaries=False).fit(sentences)
    assert features.get_feature_names_out().tolist() == ["w[0]|w[1]=a|b|c"] * 2


def test_dtype_and_sparse_interface():
    assert chunking(dtype=np.float32).fit_transform(SENTENCES).values.dtype == np.float32
    values = chunking().fit_transform(SENTENCES).values
    assert values.indices.dtype == values.indptr.dtype == np.int32
    assert isinstance(values, sp.csr_matrix)
    if "sparse_interface" in get_config():  # since scikit-learn 1.9
        with config_context(sparse_interface="sparray"):
            values = chunking().fit_transform(SENTENCES).values
        assert isinstance(values, sp.csr_array)
        assert values.indices.dtype == np.int32


@pytest.mark.parametrize(
    ("params", "X", "error", "message"),
    [
        ({}, [[], []], ValueError, "X holds no token"),
        ({}, ["He runs"], TypeError, "sample 0 is a str, not a sentence"),
        ({}, [(("a", "X"),)], TypeError, "sample 0 is a tuple, not a sentence"),
        ({}, [[("a", "X")], [("a",)]], ValueError, r"token 0 of sample 1 is \('a',\): it needs 2"),
        ({}, [["ab"]], ValueError, "token 0 of sample 0 is 'ab': it needs 2 fields"),
        ({}, [[("a", 1)]], TypeError, "field 'pos' holds 1 of type int: fields must be text"),
        ({}, [np.array([["a"]])], ValueError, r"have shape \(1,\): they need at least 2 fields"),
        ({}, [np.array([["a", "X"]]), np.array([["a"]])], ValueError, "needs 2 fields"),
        ({"templates": [("w", 0)]}, SENTENCES, ValueError, r"templates holds \('w', 0\)"),
    ],
)  # fmt: skip
def test_wrong_sentences_are_refused(params, X, error, message):
    with pytest.raises(error, match=message):
        chunking(**params).fit(X)


@pytest.fixture(scope="module")
def conll(data_home):
    if not any((data_home / name).exists() for name in ("conll2000", "conll2000.zip")):
        pytest.skip("no CoNLL-2000 in the folder of real data: set SKLEARN_FW_DATA")
    return load_conll2000(data_home)


@pytest.mark.slow
def test_number_of_attributes_of_conll2000(conll):
    """CRFsuite 0.12 reports as many active attributes when it is given the attribute lists."""
    features = chunking()
    X = features.fit_transform(conll.X_train)
    assert X.values.shape == (211_727, 335_674)
    assert X.values.nnz == 3_808_439
    some = conll.X_train[::500]
    names = features.get_feature_names_out()
    rows = [row for s in some for row in crfsuite_chunking_attributes(s)]
    found = X[::500].compact().values
    for i, row in enumerate(rows):
        assert set(names[found.indices[found.indptr[i] : found.indptr[i + 1]]]) == set(row)
