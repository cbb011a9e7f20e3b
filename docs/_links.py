"""Names of public objects in text become links to their pages, wherever they are written."""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

# Inside these a link would break the layout, or there is one already.
OUTSIDE = (nodes.reference, nodes.title, nodes.literal_block)
KINDS = {"class", "exception", "function", "method", "property"}


def short_names(objects):
    """Map `Name` and `Name.method` to (page, anchor), without what several objects are called."""
    found = {}
    for full_name, entry in objects:
        if entry.objtype not in KINDS:
            continue
        parts = full_name.split(".")
        size = 2 if entry.objtype in {"method", "property"} else 1
        for name in (".".join(parts[-size:]), full_name):
            found.setdefault(name, set()).add((entry.docname, entry.node_id))
    return {name: places.pop() for name, places in found.items() if len(places) == 1}


class LinkNames(SphinxPostTransform):
    """Wrap literals that are the name of a public object in a reference to it."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs):
        names = short_names(self.env.domains.python_domain.objects.items())
        here = self.env.docname
        for node in list(self.document.findall(nodes.literal)):
            place = names.get(node.astext().removesuffix("()"))
            if place is None or place[0] == here or is_inside(node):
                continue
            page, anchor = place
            uri = self.app.builder.get_relative_uri(here, page) + f"#{anchor}"
            link = nodes.reference("", "", internal=True, refuri=uri)
            node.replace_self(link)
            link += node


def is_inside(node):
    """Whether a name must not become a link where it stands."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, OUTSIDE):
            return True
        parent = parent.parent
    return False
