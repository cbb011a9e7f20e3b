"""The index of the reference, made from its pages: ``.. public-names::`` with pages in order."""

import importlib
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

__all__ = ["PublicNames"]

PAGES = Path(__file__).resolve().parent / "api"


class PublicNames(SphinxDirective):
    """A line for every module, and tables of all their public names with their first sentences."""

    has_content = True

    def run(self):
        modules = {page: self.module_of(page) for page in self.content}
        summaries = [
            f"- :doc:`{module.__name__} <{page}>`: {module.__doc__.strip().splitlines()[0]}"
            for page, module in modules.items()
        ]
        lines = [".. toctree::", "   :hidden:", "", *(f"   {page}" for page in modules), ""]
        lines += [*summaries, ""]
        for module in modules.values():
            lines += [
                f".. rubric:: {module.__name__}",
                "",
                ".. autosummary::",
                "   :nosignatures:",
                "",
            ]
            lines += [*(f"   ~{module.__name__}.{name}" for name in module.__all__), ""]
        return self.parse_text_to_nodes("\n".join(lines))

    def module_of(self, page):
        """The module that the title of a page names."""
        path = PAGES / f"{page}.rst"
        self.env.note_dependency(str(path))
        return importlib.import_module(path.read_text(encoding="utf-8").split("\n", 1)[0])
