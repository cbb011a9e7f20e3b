"""What the documentation makes out of other files."""

import importlib.util
import inspect
import json
import re
from collections import namedtuple

import pytest

from _package import ROOT, public_objects


def module_of_the_docs(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def news():
    return module_of_the_docs("_news")


@pytest.fixture(scope="module")
def formulas():
    return module_of_the_docs("_formulas")


def test_every_formula_stands_in_a_docstring(formulas):
    """Who changes an objective changes its formula in docs/_formulas.py, too."""
    used = set()
    for _, obj in public_objects():
        lines = inspect.getdoc(obj).splitlines()
        shown = formulas.with_formulas(lines)
        assert len(shown) >= len(lines)
        used |= {line.strip() for line in shown}
    unused = [text for text, formula in formulas.FORMULAS.items() if formula not in used]
    assert not unused, f"no docstring has these blocks: {unused}"


def test_blocks_become_formulas(formulas):
    text = ["Solves::", "", "    min over x in X of max over y in Y", "    of x'My", "", "by play."]
    shown = formulas.with_formulas(text)
    assert shown[:3] == ["Solves:", "", ".. math::"]
    assert shown[4].strip() == formulas.FORMULAS["min over x in X of max over y in Y of x'My"]
    assert shown[-1] == "by play."
    program = ["Write::", "", "    import this", "", "and read."]
    assert formulas.with_formulas(program) == program


def test_every_fragment_is_of_a_known_kind(news):
    for path in (ROOT / "docs" / "changes").glob("*.md"):
        if path.name != "README.md":
            slug, kind, _ = path.name.split(".")
            assert slug
            assert kind in news.kinds(), path.name


def test_fragments_stand_in_the_changes(news):
    page = " ".join(news.changes().split())
    fragments = [p for p in (ROOT / "docs" / "changes").glob("*.md") if p.name != "README.md"]
    for path in fragments:
        assert " ".join(path.read_text(encoding="utf-8").split()) in page, path.name
    assert ("## Not released yet" in page) == bool(fragments)


def test_fragments_become_lists(news, tmp_path):
    assert news.unreleased(tmp_path) == ""
    (tmp_path / "README.md").write_text("no news")
    (tmp_path / "b.fix.md").write_text("`fit` is\nmended.\n")
    (tmp_path / "c.feature.md").write_text("More.\n")
    (tmp_path / "a.feature.md").write_text("New.\n")
    assert news.unreleased(tmp_path).splitlines() == [
        "## Not released yet", "", "### New", "", "- New.", "- More.", "", "### Fixed", "",
        "- `fit` is", "  mended.",
    ]  # fmt: skip


def test_names_become_links(extra):
    nodes, addnodes = extra("docs", "docutils.nodes"), extra("docs", "sphinx.addnodes")
    links = module_of_the_docs("_links")
    entry = namedtuple("entry", "docname node_id objtype")
    names = links.short_names(
        [
            ("a.b.Model", entry("model", "a.b.Model", "class")),
            ("a.b.Model.fit", entry("model", "a.b.Model.fit", "method")),
            ("a.b.fit", entry("fit", "a.b.fit", "function")),
            ("a.c.Twin", entry("one", "a.c.Twin", "class")),
            ("a.d.Twin", entry("two", "a.d.Twin", "class")),
            ("a.b", entry("b", "module-a.b", "module")),
        ]
    )
    assert names["Model"] == names["a.b.Model"] == ("model", "a.b.Model")
    assert names["Model.fit"] == ("model", "a.b.Model.fit")
    assert names["fit"] == ("fit", "a.b.fit")
    assert "Twin" not in names
    assert names["a.d.Twin"] == ("two", "a.d.Twin")
    assert "a.b" not in names
    literal = nodes.literal("", "Model")
    addnodes.desc_content("", nodes.paragraph("", "", literal))
    assert not links.is_inside(literal)
    inner = nodes.literal("", "Model")
    nodes.title("", "", inner)
    assert links.is_inside(inner)


def test_files_that_contributors_read_of_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w.]+/[\w./*]+)`", text)
    assert len(named) > 20
    assert [name for name in named if not any(ROOT.glob(name))] == []


PAGE = """<script src="_static/a.js"></script><a href="https://example.org">elsewhere</a>
<a href="sub/other.html#here"></a><img src="b.png" alt="b">"""
OTHER = """<p id="here"><link href="https://example.org/a.css"><img src="//example.org/b" alt="b">
<a href="../page.html#there"></a><img src="../b.png"><img src="../_thumb.png"><a href="../c">"""


def test_faults_of_pages(extra, tmp_path, monkeypatch):
    extra("docs", "sphinx.search.en")
    monkeypatch.syspath_prepend(ROOT / "docs")
    checks = module_of_the_docs("_checks")
    monkeypatch.setattr(checks._searches, "SEARCHES", {"a": ["deep sea"], "b": ["sky"]})
    index = {
        "docnames": ["a", "b"], "titles": ["Sea", "Air"], "alltitles": {"Sea": [[0, None]]},
        "indexentries": {"deep sea": [[0, "i", True]]}, "titleterms": {"air": 1, "sea": 0},
        "objects": {"m": [[0, 0, 1, "", "Sky"]]}, "terms": {"deep": 1, "sky": [0, 1]},
    }  # fmt: skip
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    (tmp_path / "sub").mkdir()
    for name, text in (("page.html", PAGE), ("sub/other.html", OTHER), ("b.png", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert checks.faults(tmp_path) == [
        "sub/other.html loads https://example.org/a.css",
        "sub/other.html loads //example.org/b",
        "sub/other.html: image ../b.png has no alt text",
        "sub/other.html: link to ../_thumb.png does not resolve",
        "sub/other.html: link to ../c does not resolve",
        "sub/other.html: link to ../page.html#there does not resolve",
        "the search for 'sky' finds a first, instead of b",
    ]
