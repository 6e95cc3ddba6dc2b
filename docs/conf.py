"""The site: these pages, the notebooks, the gallery and the docstrings, built by `make site`.

Its source is the folder above, so that links between pages hold here and in the repository alike.
"""

import logging
import re
import tomllib
from pathlib import Path

project = "dpmarket"
copyright = "The dpmarket developers"
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "notebooks/*.ipynb"]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.apidoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
html_theme = "furo"
html_title = "dpmarket"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
highlight_language = "none"  # a block without a language is what a terminal prints

CONTENTS = """
```{toctree}
:hidden:
:glob:
:caption: Use
tutorial
how_to/*
gallery/index
../notebooks/*
results
```
```{toctree}
:hidden:
:glob:
:caption: Understand
explanation/*
reproduction
```
```{toctree}
:hidden:
:glob:
:caption: Look up
reference/*
api/learning/learning
api/market/market
api/agents/agents
```
```{toctree}
:hidden:
:caption: The project
../README
../CONTRIBUTING
../SECURITY
../CODE_OF_CONDUCT
../paper
../CHANGELOG
style
```
"""
suppress_warnings = [
    "myst.header",  # a page of a code host may skip a level of headings
    "ref.python",  # a type in a docstring is a word, of which several classes may have one
]
myst_heading_anchors = 4
exclude_patterns = ["docs/gallery/*.ipynb", "docs/api/*/modules.rst"]  # made beside others
nb_execution_mode = "off"  # notebooks keep their outputs, and `make notebooks` runs them

PACKAGES = "learning", "market", "agents"
apidoc_modules = [{"path": f"../{one}", "destination": f"docs/api/{one}"} for one in PACKAGES]
apidoc_separate_modules = True
apidoc_module_first = True
apidoc_max_depth = 2
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": True}
autodoc_default_options["ignore-module-all"] = True  # each class on the page of its own module
autodoc_member_order = "bysource"
napoleon_use_ivar = True
napoleon_use_param = False
default_role = "literal"

sphinx_gallery_conf = {
    "examples_dirs": "notebooks/gallery",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": ".*",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 60,
    "show_signature": False,
}

FIELD = re.compile(r"(?P<names>\*{0,2}\w[\w, *]*?) ?: (?P<text>.+)")
MARKS = re.compile(r"(`+[^`]*`+|^\* )|([|*\\]|_\b)")


def escape(line: str) -> str:
    """Escape the signs of reStructuredText, as docstrings are plain text but for `code`."""
    return MARKS.sub(lambda found: found[1] or f"\\{found[2]}", line)


def rewrite_docstring(app, what, name, item, options, lines):
    """Put the descriptions of parameters, which stand beside their names, below them."""
    section = ""
    written = []
    ahead = [*lines[1:], "", ""]
    for line, below, next_but_one in zip(lines, ahead, ahead[1:], strict=False):
        if below.startswith("---"):
            section = line
        if line.startswith(">>>") and section not in ("", "Examples"):
            section = "Examples"
            written += [section, "-" * len(section)]
        field = FIELD.fullmatch(line)
        if section in ("Parameters", "Attributes") and field and not line.startswith(" "):
            written += [field["names"], f"    {escape(field['text'])}"]
        elif line.endswith(":") and not below and next_but_one.startswith(" "):
            written.append(f"{escape(line)}:")  # what follows, indented, stands as it is
        elif line.lstrip().startswith((">>>", "...", "---")):
            written.append(line)
        else:
            written.append(escape(line))
    lines[:] = written


logging.getLogger("MESA").setLevel(logging.WARNING)  # or each step of an example is a line here

TERMS = tomllib.loads(Path(__file__).with_name("terms.toml").read_text(encoding="utf-8"))


def add_terms(app, name, content):
    """Add the terms that lead to a place of a page, below its heading."""
    for place, terms in TERMS.items():
        page, _, heading = place.partition("#")
        if page == name:
            line = f"## {heading}\n" if heading else content[0].partition("\n")[0] + "\n"
            before, found, after = content[0].partition(line)
            if not found:
                raise ValueError(f"docs/terms.toml: {page} has no heading {heading!r}")
            entries = ", ".join(f"! {term}" for term in terms)
            content[0] = f"{before}{line}\n```{{index}} {entries}\n```\n{after}"


def add_contents(app, name, content):
    """Add the table of contents, which only the site has, to its first page."""
    if name == root_doc:
        content[0] += CONTENTS


def setup(app):
    """Register all; docstrings are rewritten before napoleon reads them."""
    app.connect("source-read", add_contents)
    app.connect("source-read", add_terms)
    app.connect("autodoc-process-docstring", rewrite_docstring, priority=100)
