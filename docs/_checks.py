"""Checks of built pages: ``_checks.py HTML`` lists faults of links, images and searches."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

import _searches

LEAST = 2.0  # gray levels: the standard deviation of each half of a figure that is drawn


class Page(HTMLParser):
    """The anchors, links and images of a page, and what it loads from other sites."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.images, self.foreign = {""}, [], [], []
        self.lettered = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = {key: value or "" for key, value in attrs}
        self.anchors |= {found.get("id", ""), found.get("name", "")}
        self.lettered |= "upperalpha" in found.get("class", "")
        address = found.get("src") or found.get("href", "")
        if tag == "a":
            self.links.append(address)
        elif re.match(r"(https?:)?//", address):
            self.foreign.append(address)
        if tag == "img":
            self.images.append((address, found.get("alt", "")))


def faults(html):
    """One line for each fault of the pages in a folder."""
    files = {path.relative_to(html).as_posix(): path for path in html.rglob("*") if path.is_file()}
    pages = {
        name: Page(path.read_text(encoding="utf-8"))
        for name, path in sorted(files.items()) if name.endswith(".html")
    }  # fmt: skip
    found = []
    for here, page in pages.items():
        found += [f"{here} loads {address}" for address in page.foreign]
        if page.lettered:
            found.append(f"{here}: the initial of an author begins a list")
        # Thumbnails are decoration: their title stands below.
        found += [
            f"{here}: image {src} has no alt text"
            for src, alt in page.images if not alt and "_thumb" not in src
        ]  # fmt: skip
        for address in sorted({*page.links, *(src for src, _ in page.images)}):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            path, anchor = unquote(parts.path), unquote(parts.fragment)
            target = normpath(join(dirname(here), path)) if path else here
            anchors = pages[target].anchors if target in pages else {anchor}
            if target not in files or anchor not in anchors:
                found.append(f"{here}: link to {address} does not resolve")
    return found + empty_figures(html) + missed_searches(html)


def empty_figures(html):
    """Figures of the gallery with a half that is blank, but for its border of ticks."""
    import numpy as np
    from matplotlib.image import imread

    found = []
    for path in sorted((html / "_images").glob("sphx_glr_plot_*_[0-9]*.png")):
        pixels = 255 * imread(path)[:, :, :3].mean(axis=2)
        for axis in (0, 1):
            halves = np.array_split(pixels, 2, axis=axis)
            inner = [h[h.shape[0] // 6 : -h.shape[0] // 6, h.shape[1] // 6 : -h.shape[1] // 6]
                     for h in halves]  # fmt: skip
            if min(h.std() for h in inner) < LEAST:
                found.append(f"_images/{path.name}: half of the figure is empty")
    return found


def missed_searches(html):
    text = (html / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    return [
        f"the search for {query!r} finds {first} first, instead of {page}"
        for page, queries in _searches.SEARCHES.items()
        for query in queries
        if (first := _searches.first_page(index, query)) != page
    ]


if __name__ == "__main__":
    sys.exit("\n".join(faults(Path(sys.argv[1]))) or 0)
