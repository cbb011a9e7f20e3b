"""What the documentation makes out of other files."""

import importlib.util
import sys

import pytest

from _package import ROOT


@pytest.fixture(scope="module")
def news():
    spec = importlib.util.spec_from_file_location("_news", ROOT / "docs" / "_news.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["_news"] = module
    spec.loader.exec_module(module)
    return module


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
