"""Tables of benchmarks inside other pages: ``.. measured:: NAME PART [NUMBER]``."""

import _pages
import _results
from sphinx.util.docutils import SphinxDirective

__all__ = ["Measured"]


class Measured(SphinxDirective):
    """A table of a result, the first one of the part unless a number is given."""

    required_arguments = 2
    optional_arguments = 1

    def run(self):
        name, part, *number = self.arguments
        record = _results.read_result(name)
        if record is None or part not in record["parts"]:
            raise self.error(f"there is no result {name!r} with a part {part!r}")
        found = _pages.tables(record, part)
        place = int(number[0]) if number else 1
        if not 1 <= place <= len(found):
            raise self.error(f"{name}, {part}: there are {len(found)} tables, not {place}")
        self.env.note_dependency(str(_results.RESULTS / f"{name}.json"))
        note = _pages.run_note(record["parts"][part]["measured"])
        lines = [
            *_pages.table_lines(found[place - 1]), "",
            f"{note} More on the page :doc:`/benchmarks/{name}`.", "",
        ]  # fmt: skip
        return self.parse_text_to_nodes("\n".join(lines))
