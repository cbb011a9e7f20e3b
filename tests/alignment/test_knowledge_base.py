"""Facts in, arrays out; and what is refused, with its place."""

import gzip

import numpy as np
import pytest

from sklearn_fw.alignment import KnowledgeBase, KnowledgeBaseAligner

LINES = (
    "# films\n"
    "<http://x/m1> <http://x/v#actor> <http://x/p1> .\n"
    '<http://x/m1> <http://x/v#title> "Blue \\"Night\\" \\u00e9t\\u00e9"@en .\n'
    "\n"
    '<http://x/m1> <http://x/v#year> "1999"^^<http://www.w3.org/2001/XMLSchema#gYear> .\n'
    "<http://x/m1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x/v#Film> .\n"
)


def facts(kb):
    relations = [(kb.entities[i], kb.relation_names[r], kb.entities[k]) for i, r, k in kb.relations]
    rows = zip(kb.properties, kb.values, strict=True)
    return relations, [(kb.entities[i], kb.property_names[p], v) for (i, p), v in rows]


@pytest.mark.parametrize("packed", [False, True])
def test_files_of_triples(tmp_path, packed):
    path = tmp_path / ("x.nt.gz" if packed else "x.nt")
    path.write_bytes(gzip.compress(LINES.encode()) if packed else LINES.encode())
    kb = KnowledgeBase.from_rdf_nt(path)
    relations, properties = facts(kb)
    assert relations == [("http://x/m1", "http://x/v#actor", "http://x/p1")]
    assert [v for _, _, v in properties] == ['Blue "Night" été', "1999", "Film"]
    assert kb.labels == ['Blue "Night" été', ""]


@pytest.mark.parametrize("line", [b"<a> <b> .\n", b"<a> <b> <\xff> .\n", b'<a> <b> "open .\n'])
def test_bad_lines_are_named(tmp_path, line):
    path = tmp_path / "x.nt"
    path.write_bytes(LINES.encode() + line)
    with pytest.raises(ValueError, match=r"x\.nt, line 7: is not an N-Triple in UTF-8"):
        KnowledgeBase.from_rdf_nt(path)


def test_torn_gzip_is_named(tmp_path):
    path = tmp_path / "x.nt.gz"
    path.write_bytes(gzip.compress(LINES.encode() * 50)[:-20])
    with pytest.raises(ValueError, match="is not an intact gzip file"):
        KnowledgeBase.from_rdf_nt(path)


def test_duplicates_and_loops_go():
    kb = KnowledgeBase([("a", "r", "b"), ("a", "r", "b"), ("a", "r", "a")], [("a", "p", 1)] * 2)
    assert facts(kb) == ([("a", "r", "b")], [("a", "p", "1")])


def test_triples_know_their_objects():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("b", "name", "Bee"), ("a", "age", 3)])
    assert facts(kb) == ([("a", "r", "b")], [("b", "name", "Bee"), ("a", "age", "3")])
    assert kb.labels[kb.entities.index("b")] == "Bee"


def test_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": ["a", "b"], "title": ["Tea", None], "maker": ["c", np.nan]})
    kb = KnowledgeBase.from_frame(frame, index="id", entity_columns=["maker"])
    assert facts(kb) == ([("a", "maker", "c")], [("a", "title", "Tea")])
    with pytest.raises(ValueError, match="index='no' is none of the columns"):
        KnowledgeBase.from_frame(frame, index="no")
    other = pd.DataFrame({"title": ["green tea", "Tea"]}, index=["x", "y"])
    assert KnowledgeBaseAligner().fit(frame.set_index("id"), other).mapping_ == {"a": "y"}
    with pytest.raises(TypeError, match="kb2 must be a KnowledgeBase, DataFrame or graph"):
        KnowledgeBaseAligner().fit(frame, [])


def test_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_node("a", label="Ann", age=3)
    graph.add_edge("a", "b", relation="knows")
    kb = KnowledgeBase.from_networkx(graph)
    assert sorted(facts(kb)[0]) == [("a", "knows", "b"), ("b", "knows", "a")]
    assert facts(kb)[1] == [("a", "age", "3")]
    assert kb.labels == ["Ann", ""] if kb.entities == ["a", "b"] else ["", "Ann"]


def test_nodes_with_missing_labels_have_none():
    nx = pytest.importorskip("networkx")
    graph = nx.DiGraph()
    graph.add_node("a", label=None)
    graph.add_node("b", label=float("nan"))
    graph.add_node("c", label=7)
    assert KnowledgeBase.from_networkx(graph).labels == ["", "", "7"]


def test_merge():
    one = KnowledgeBase([("a", "r", "b")], labels={"a": "Ann"})
    both = one.merge(KnowledgeBase([("b", "r", "c")], [("a", "p", 1)], {"a": "Anna", "c": "Cy"}))
    assert both.entities == ["a", "b", "c"]
    assert both.labels == ["Ann", "", "Cy"]
    assert len(both.relations) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([("a", "r")],), r"relations\[0\] must have three parts"),
        (([("a", "r", "b"), ("", "r", "b")],), r"relations\[1\]: the entity must be a name"),
        (([], [("a", "p", [1])]), r"properties\[0\]: the value must be one text"),
        (([], [], {"a": 3}), r"labels\['a'\] must be text"),
        (([], [], "title"), "labels must be a dict, None or a property such as"),
        (([], [], None, ["a", "a"]), r"entities\[1\]='a' is there twice"),
    ],
)
def test_bad_facts_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        KnowledgeBase(*arguments)


def test_arity_of_triples():
    with pytest.raises(ValueError, match=r"triples\[1\] must have 3 or 4 parts"):
        KnowledgeBase.from_triples([("a", "r", "b"), ("a", "r")])


@pytest.mark.parametrize("given", ["relations", "properties", "entities"])
def test_arrays_without_dimension_are_no_facts(given):
    with pytest.raises(TypeError, match=f"{given} must be an iterable, got ndarray"):
        KnowledgeBase(**{given: np.array(3)})
    if given != "entities":
        with pytest.raises(ValueError, match=rf"{given}\[0\] must have three parts"):
            KnowledgeBase(**{given: [np.array(3)]})


def test_missing_values_of_all_kinds_are_no_values():
    pd = pytest.importorskip("pandas")
    holes = [np.nan, np.float32("nan"), None, pd.NA, pd.NaT, ""]
    kb = KnowledgeBase(properties=[("a", f"p{n}", hole) for n, hole in enumerate(holes)])
    assert (kb.values, kb.property_names) == ([], [])
    frame = pd.DataFrame({
        "name": pd.array(["Ann Lee", pd.NA], dtype="string"), "age": np.float32([3, np.nan]),
    })  # fmt: skip
    assert KnowledgeBase.from_frame(frame).values == ["Ann Lee", "3"]
    with pytest.raises(ValueError, match="frame has a column twice"):
        KnowledgeBase.from_frame(pd.DataFrame([[1, 2]], columns=["age", "age"]))
