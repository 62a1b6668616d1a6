"""A plain scikit-learn pipeline for tables, run on the CPU or on an NVIDIA GPU.

The public names are listed in ``__init__.pyi`` and imported on first use, so ``import pipeline``
loads nothing heavy.
"""

from __future__ import annotations

import ast
import logging
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

logging.getLogger("pipeline").addHandler(logging.NullHandler())

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
_HOME = {
    alias.name: str(node.module)
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "accel":
        return import_module("pipeline.accel")
    if name in _HOME:
        try:
            return getattr(import_module(_HOME[name]), name)
        except ModuleNotFoundError as error:
            from pipeline.optional import why_not_here

            raise ModuleNotFoundError(why_not_here(error), name=error.name) from None
    raise AttributeError(f"module 'pipeline' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Accelerate a notebook: called by ``%load_ext pipeline``."""
    import_module("pipeline.cli.magics").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """End that: called by ``%unload_ext pipeline``."""
    import_module("pipeline.accel").uninstall()


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
