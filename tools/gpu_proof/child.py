"""What the programs of the stages are asked on their command lines, and the files they write."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec


def write(measure: Callable[[argparse.Namespace], Any], about: str | None) -> Any:
    """Write what is measured, as JSON, and return it."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pipeline", default="")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=0)
    given = parser.parse_args()
    found = measure(given)
    given.out.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))
    return found
