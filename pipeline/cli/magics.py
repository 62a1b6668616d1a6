"""``%load_ext pipeline`` accelerates a notebook, and ``%%pipeline`` shows the calls of a cell."""

from __future__ import annotations

import shlex
from typing import Any

import click

from pipeline.accel.call_table import Calls, calls
from pipeline.accel.patches import install, is_installed
from pipeline.accel.sites import forget
from pipeline.cli.options import accel_options
from pipeline.errors import ConfigError


class CellFailed(Exception):  # noqa: N818
    """The code below the magic failed; its traceback has been shown."""

    def _render_traceback_(self) -> list[str]:
        return []  # which is what IPython shows of this one


def load(shell: Any) -> None:
    """Accelerate what follows in a notebook, and add the magic to IPython's shell."""
    install()

    def pipeline(line: str, cell: str) -> Calls:
        """Run a cell accelerated, and show its calls: ``%%pipeline --device cpu --verify``."""
        if line or not is_installed():
            install(**_parse(line))
        forget()
        done = shell.run_cell(cell)
        if not done.success:
            raise CellFailed("the code failed") from None
        return calls()

    shell.register_magic_function(pipeline, "cell")


@click.command(add_help_option=False)
@accel_options
def _settings(**given: Any) -> dict[str, Any]:
    return given


def _parse(line: str) -> dict[str, Any]:
    """Return the options of a line.

    >>> _parse("--device cpu --verify")["verify"]
    True
    """
    try:
        return dict(_settings.main(shlex.split(line), standalone_mode=False))
    except click.ClickException as error:
        raise ConfigError(f"%%pipeline: {error.format_message()}") from None
