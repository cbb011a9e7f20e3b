"""How Sphinx builds this documentation: `python3 dev.py docs`, without any network."""

import os
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import sklearn_fw

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "benchmarks"))
import _formulas
import _links
import _measured
import _news
import _pages
import _reference
import _results
import _searches

os.environ.setdefault("MPLBACKEND", "Agg")

project = "sklearn_fw"
author = "The sklearn_fw developers"
copyright = author
release = sklearn_fw.__version__
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
exclude_patterns = ["_build", "changes/*"]
templates_path = ["_templates"]
default_role = "code"
html_theme = "pydata_sphinx_theme"
html_title = "sklearn_fw"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"  # defined at the end of this file
html_favicon = "_static/logo.svg"
html_theme_options = {
    "logo": {
        "text": "sklearn_fw",
        "alt_text": "sklearn_fw: home",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "show_prev_next": False,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    # Programs have lines of 100 columns: they get the room of the table of contents.
    "secondary_sidebar_items": {
        page: ["page-toc"]
        for page in ("*", "api/*", "api/generated/*", "benchmarks/*", "gallery/index", "guide/*")
    },
}
html_sidebars = {"index": [], "contributing": [], "changes": []}

# Links into other projects' pages need their inventories from the network, so they are opt-in.
if os.environ.get("SKLEARN_FW_DOCS_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

autosummary_generate = True
autodoc_typehints = "none"  # the numpydoc sections carry the types
numpydoc_show_class_members = False  # the class template lists the members

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "subsection_order": [
        f"../examples/{family}"
        for family in (
            "structured",
            "inference",
            "linear_model",
            "optim",
            "density",
            "decomposition",
            "alignment",
            "cluster",
            "pac_bayes",
            "seq2seq",
            "inspection",
            "gaussian_probability",
        )
    ],
    "filename_pattern": r"plot_",
    "ignore_pattern": r"benchmarks|__init__\.py",
    "within_subsection_order": "_gallery.place",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("sklearn_fw",),
    "reference_url": {"sklearn_fw": None},
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_",),  # not what matplotlib calls happen to return
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # these tables would load scripts from elsewhere
}


def skip_request_setters(app, what, name, obj, skip, options):
    """Leave out `set_fit_request` and its kin: scikit-learn makes and documents them."""
    return True if re.fullmatch(r"set_\w+_request", name) else skip


def write_mathml(translator, node):
    """Write a formula as MathML, which browsers show without a script from elsewhere."""
    block = isinstance(node, nodes.math_block)
    try:
        formula = tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula: %s", error, location=node)
        formula = translator.encode(node.astext())
    if block:  # the start tag carries the label's target
        number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
        formula = f"{translator.starttag(node, 'div', CLASS='math')}{number}{formula}</div>"
    translator.body.append(formula)
    raise nodes.SkipNode


def keep_initials(text):
    """Escape the initial of a first author, which would begin a list with letters."""
    return re.sub(r"^( *(?:\.\. \[[\w#-]+\] )?)(?=[A-Z]\. \w)", r"\1\\", text, flags=re.MULTILINE)


def keep_initials_of_pages(app, docname, source):
    source[0] = keep_initials(source[0])


def keep_initials_of_docstrings(app, what, name, obj, options, lines):
    lines[:] = map(keep_initials, lines)


def write_changes(app, docname, source):
    """Show what is not released yet between the head of the changelog and the releases."""
    if docname == "changes":
        source[0] = _news.changes()


def make_benchmark_pages(app, config):
    """Make the pages of benchmarks from their results, and draw their figures."""
    for name in _results.names():
        _pages.write_page(name)
    _pages.write_figures()


def setup(app):
    app.connect("config-inited", make_benchmark_pages)
    app.add_directive("measured", _measured.Measured)
    app.add_directive("public-names", _reference.PublicNames)
    app.connect("source-read", write_changes)
    app.connect("source-read", _searches.add_entries)
    app.connect("source-read", keep_initials_of_pages)
    app.connect("autodoc-process-docstring", _formulas.show_formulas)
    app.connect("autodoc-process-docstring", keep_initials_of_docstrings)  # after numpydoc
    app.add_post_transform(_links.LinkNames)
    app.connect("autodoc-skip-member", skip_request_setters)
    app.add_html_math_renderer("mathml", (write_mathml, None), (write_mathml, None))
