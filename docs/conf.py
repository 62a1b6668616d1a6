"""The documentation site: the Markdown of `docs/`, the API from the docstrings, the examples."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import copy
from typing import Any

import pipeline
from pipeline.benchmark.publish import render
from pipeline.benchmark.record import results

# For `conf.start_anew`; and "", as in a notebook, since each part of an example gets a new list.
sys.path[:0] = ["", str(Path(__file__).parent)]
project = html_title = "gpu-tabular-pipeline"
version = release = pipeline.__version__
extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
extensions += [f"sphinx.ext.{name}" for name in ("autodoc", "autosummary", "napoleon")]
exclude_patterns = ["examples/**"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
# The path of a checkout may have spaces; the names of the examples have none.
suppress_warnings = ["sphinx_gallery.space_in_filename"]

# The anchors of GitHub, so that the same links work there and here.
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator",
    "exclude-members": "resume",
}
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
default_role = "py:obj"
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": False, "show_toc_level": 2}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_" if find_spec("skore") else r"/plot_(?!skore)",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "conf.start_anew"),
    "abort_on_example_error": True,
    "write_computation_times": False,
    "doc_module": ("pipeline",),
}


def start_anew(_: object, __: object) -> None:
    """Forget the tasks that another example created in its folder."""
    for name in [name for name in sys.modules if name.split(".")[0] == "tasks"]:
        del sys.modules[name]


def plain_roles(app: Any, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    """Show links of scikit-learn's docstrings into its own documentation as text."""
    text = re.sub(r":(?:ref|term):`([^`<]*?)\s*(?:<[^`]*>)?`", r"*\1*", "\n".join(lines))
    lines[:] = text.split("\n")


def follow(app: Any, docname: str, source: list[str]) -> None:
    """Let links lead to pages where GitHub shows a folder or a file, and name pages, not files."""
    source[0] = re.sub(r"\]\(results/[\w-]+\)", "](results/README.md)", source[0])
    source[0] = re.sub(r"\[([\w-]+)\.md\]\(", r"[\1](", source[0])
    source[0] = source[0].replace("](../CONTRIBUTING.md", "](contributing.md")
    if docname.endswith("/report"):
        link = '\n\n```{raw} html\n<p><a href="index.html">The same with figures</a></p>\n```\n'
        source[0] = source[0].replace("\n", link, 1)


def write_reports(app: Any, exception: Exception | None) -> None:
    """Write the page of each committed report beside its Markdown."""
    for report in () if exception else Path(app.srcdir).glob("results/*/report.md"):
        record = report.with_name("results.json")
        folder = Path(app.outdir, "results", report.parent.name)
        render(results.load(record), folder)
        copy(record, folder)


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("source-read", follow)
    app.connect("build-finished", write_reports)
    app.connect("autodoc-process-docstring", plain_roles)
