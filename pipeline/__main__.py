"""``.venv/bin/python -m pipeline``, or ``gpu-pipeline`` where the package is installed."""

import sys

from pipeline.optional import why_not_here


def main() -> None:
    """Run a command. The tasks of the working directory can be imported, as with ``python -m``."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        from pipeline.cli.main import main as run
    except (ImportError, SyntaxError) as error:
        sys.stderr.write(f"error: {why_not_here(error)}\n")
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
