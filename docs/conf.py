"""The documentation site: the Markdown of `docs/`, the API from the docstrings, the examples."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from typing import Any

import pipeline

sys.path.insert(0, "")  # as in a notebook: examples import from the folder they work in

project = html_title = "gpu-tabular-pipeline"
version = release = pipeline.__version__
extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
extensions += [f"sphinx.ext.{name}" for name in ("autodoc", "autosummary", "napoleon")]
exclude_patterns = ["examples/**"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = False

# The anchors of GitHub, so that the same links work there and here.
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": "BaseEstimator"}
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "py:obj"

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
    "abort_on_example_error": True,
    "write_computation_times": False,
    "doc_module": ("pipeline",),
    "reference_url": {"pipeline": None},
}


def follow(app: Any, docname: str, source: list[str]) -> None:
    """Let links to a folder of records and to CONTRIBUTING.md lead to pages."""
    source[0] = re.sub(r"\]\(results/[\w-]+\)", "](results/README.md)", source[0])
    source[0] = source[0].replace("](../CONTRIBUTING.md", "](contributing.md")


def setup(app: Any) -> None:
    """Connect."""
    app.connect("source-read", follow)
