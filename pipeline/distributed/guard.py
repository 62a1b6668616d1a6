"""Whether a script can be imported by the processes that it starts."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import FrameType

from pipeline.errors import ConfigError


def check_main_guard(what: str) -> None:
    """Refuse a call that the running script would repeat in each process that it starts.

    Parameters
    ----------
    what : str
        What is called, for the message.

    Raises
    ------
    ConfigError
        The call stands outside of ``if __name__ == "__main__":``.
    """
    frame = _frame_of_main()
    if frame is None:
        return
    file = Path(frame.f_globals["__file__"])
    if not _guarded(file.read_text("utf-8"), frame.f_lineno):
        raise ConfigError(
            f"{file.name}, line {frame.f_lineno}: {what} starts processes, which import this "
            'script; write the line below `if __name__ == "__main__":`'
        )


def _frame_of_main() -> FrameType | None:
    """Return where the script is, for code that is called from the file of a script."""
    main = vars(sys.modules["__main__"])
    frame: FrameType | None = sys._getframe()
    while frame and (frame.f_globals is not main or frame.f_code.co_name != "<module>"):
        frame = frame.f_back
    return frame if Path(str(main.get("__file__"))).is_file() else None


def _guarded(source: str, line: int) -> bool:
    """Return whether a line stands below a condition on the module's name."""
    return any(
        node.lineno <= line <= (node.end_lineno or 0)
        and any(
            isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
        )
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.If)
    )
