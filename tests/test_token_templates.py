"""ChunkingFeatures against CountVectorizer on attribute strings."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context, get_config
from sklearn.feature_extraction.text import CountVectorizer

from sklearn_fw.datasets import load_conll2000
from sklearn_fw.preprocessing import (
    ChunkingFeatures,
    crfsuite_chunking_attributes,
)
from sklearn_fw.utils import Packed


def reference(sentences, min_count=1):
    """CountVectorizer over attribute strings, columns sorted by name."""
    lists = [row for s in sentences for row in crfsuite_chunking_attributes(s)]
    vectorizer = CountVectorizer(analyzer=list, min_df=min_count)
    table = vectorizer.fit_transform(lists)
    return vectorizer.get_feature_names_out(), table.toarray()


def by_name(features, X):
    names = features.get_feature_names_out()
    order = np.argsort(names)
    return names[order], X.compact().values.toarray()[:, order]


tokens = st.tuples(st.sampled_from("abcd"), st.sampled_from("XYZ"))
sentence_lists = st.lists(st.lists(tokens, max_size=6), min_size=1, max_size=6).filter(any)


@given(sentences=sentence_lists, min_count=st.integers(1, 3))
def test_chunking_features_equal_count_vectorizer(sentences, min_count):
    features = ChunkingFeatures(min_count=min_count)
    X = features.fit_transform(sentences)
    assert X.lengths.tolist() == [len(s) for s in sentences]
    assert X.values.has_sorted_indices
    assert (X.values != features.transform(sentences).values).nnz == 0
    try:
        names, table = reference(sentences, min_count=min_count)
    except ValueError:  # CountVectorizer refuses to drop every column
        assert features.n_features_out_ == 0
        return
    found_names, found = by_name(features, X)
    assert found_names.tolist() == names.tolist()
    np.testing.assert_array_equal(found, table)


@given(train=sentence_lists, test=sentence_lists)
def test_unseen_features_are_left_out(train, test):
    features = ChunkingFeatures().fit(train)
    column = {name: j for j, name in enumerate(features.get_feature_names_out())}
    rows = [row for s in test for row in crfsuite_chunking_attributes(s)]
    expected = np.zeros((len(rows), len(column)))
    for i, row in enumerate(rows):
        expected[i, [column[a] for a in row if a in column]] = 1
    np.testing.assert_array_equal(features.transform(test).values.toarray(), expected)


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


def test_one_field():
    templates = [(("w", 0),), (("w", -1), ("w", 0))]
    features = ChunkingFeatures(templates, fields=("w",), boundaries=False)
    for X in ([["a", "b"], ["b"]], Packed.from_list([["a", "b"], ["b"]])):
        out = features.fit_transform(X)
        assert features.get_feature_names_out().tolist() == ["w[0]=a", "w[0]=b", "w[-1]|w[0]=a|b"]
        np.testing.assert_array_equal(out.values.toarray(), [[1, 0, 0], [0, 1, 1], [0, 1, 0]])


def test_columns_do_not_depend_on_the_order_of_sentences():
    a, b = ChunkingFeatures().fit(SENTENCES), ChunkingFeatures().fit(SENTENCES[::-1])
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    assert a.vocabularies_ == ({"He": 0, "Stop": 1, "runs": 2}, {"PRP": 0, "VB": 1, "VBZ": 2})


def test_ambiguous_text_is_kept_apart():
    sentences = [[("a|b", "X"), ("c", "X")], [("a", "X"), ("b|c", "X")]]
    features = ChunkingFeatures([(("w", 0), ("w", 1))], boundaries=False).fit(sentences)
    assert features.get_feature_names_out().tolist() == ["w[0]|w[1]=a|b|c"] * 2


def test_dtype_and_sparse_interface():
    assert ChunkingFeatures(dtype=np.float32).fit_transform(SENTENCES).values.dtype == np.float32
    values = ChunkingFeatures().fit_transform(SENTENCES).values
    assert values.indices.dtype == values.indptr.dtype == np.int32
    assert isinstance(values, sp.csr_matrix)
    if "sparse_interface" in get_config():  # since scikit-learn 1.9
        with config_context(sparse_interface="sparray"):
            values = ChunkingFeatures().fit_transform(SENTENCES).values
        assert isinstance(values, sp.csr_array)
        assert values.indices.dtype == np.int32


@pytest.mark.parametrize(
    ("params", "X", "error", "message"),
    [
        ({}, [[], []], ValueError, "X holds no token"),
        ({}, [], ValueError, "X holds no token"),
        ({}, ["He runs"], TypeError, "sample 0 is a str, not a sentence"),
        ({}, [(("a", "X"),)], TypeError, "sample 0 is a tuple, not a sentence"),
        ({}, [[("a", "X")], [("a",)]], ValueError, r"token 0 of sample 1 is \('a',\): it needs 2"),
        ({}, [["ab"]], ValueError, "token 0 of sample 0 is 'ab': it needs 2 fields"),
        ({}, [[("a", 1)]], TypeError, "field 'pos' holds 1 of type int: fields must be text"),
        ({}, [np.array([["a"]])], ValueError, r"have shape \(1,\): they need at least 2 fields"),
        ({}, [np.array([["a", "X"]]), np.array([["a"]])], ValueError, "sample 1 has tokens"),
        ({"templates": "ner"}, SENTENCES, ValueError, "templates must be 'tagging', 'chunking' or"),
        ({"templates": []}, SENTENCES, ValueError, "templates is empty"),
        ({"templates": [("w", 0)]}, SENTENCES, ValueError, r"templates holds \('w', 0\)"),
        ({"templates": [(("x", 0),)]}, SENTENCES, ValueError, "a field out of"),
        ({"min_count": 0}, SENTENCES, ValueError, "min_count == 0"),
    ],
)  # fmt: skip
def test_wrong_sentences_are_refused(params, X, error, message):
    with pytest.raises(error, match=message):
        ChunkingFeatures(**params).fit(X)


@pytest.fixture(scope="module")
def chunking(data_home):
    if not any((data_home / name).exists() for name in ("conll2000", "conll2000.zip")):
        pytest.skip("no CoNLL-2000 in the folder of real data: set SKLEARN_FW_DATA")
    return load_conll2000(data_home)


def test_number_of_attributes_of_conll2000(chunking):
    """CRFsuite 0.12 reports as many active attributes when it is given the attribute lists."""
    features = ChunkingFeatures()
    X = features.fit_transform(chunking.X_train)
    assert X.values.shape == (211_727, 335_674)
    assert X.values.nnz == 3_808_439
    some = chunking.X_train[::500]
    names = features.get_feature_names_out()
    rows = [row for s in some for row in crfsuite_chunking_attributes(s)]
    found = X[::500].compact().values
    for i, row in enumerate(rows):
        assert set(names[found.indices[found.indptr[i] : found.indptr[i + 1]]]) == set(row)
