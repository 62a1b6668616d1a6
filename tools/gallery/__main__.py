"""Count the steps that a GPU runs: ``.venv/bin/python -m tools.gallery [FOLDER]``.

FOLDER holds the sources of scikit-learn, of which `examples` and `doc` are read; what they make
goes to `programs.json`. Without it, what is there is explained once more.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

from tools.gallery.count import PROGRAMS, RECORD, count, read_programs, summary

PARSER = argparse.ArgumentParser(prog=".venv/bin/python -m tools.gallery", description=__doc__)
PARSER.add_argument("folder", nargs="?", type=Path)


def main() -> int:
    """Read the programs where there is a folder, explain all, and write what was counted."""
    folder = PARSER.parse_args().folder
    if folder is not None:
        PROGRAMS.write_text(json.dumps(read_programs(folder), indent=1) + "\n", "utf-8")
    with warnings.catch_warnings(action="ignore"):
        counted = count(json.loads(PROGRAMS.read_text("utf-8")))
    RECORD.write_text(json.dumps(counted, indent=1) + "\n", "utf-8")
    sys.stdout.write(summary(counted) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
