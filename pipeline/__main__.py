"""``.venv/bin/python -m pipeline``."""

import sys

from pipeline.optional import why_not_here

if __name__ == "__main__":
    try:
        from pipeline.cli.main import main
    except (ImportError, SyntaxError) as error:
        sys.stderr.write(f"error: {why_not_here(error)}\n")
        sys.exit(2)
    main()
