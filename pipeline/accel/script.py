"""A script or a module, run as ``python`` runs it, with its calls accelerated."""

from __future__ import annotations

import runpy
import sys
import types
from collections.abc import Collection, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from pipeline.accel.call_table import calls, render
from pipeline.accel.patches import install
from pipeline.errors import ConfigError

_OURS = str(Path(__file__).parents[1])
_INTERRUPTED = 130
_RUNNERS = (runpy.__file__, "<frozen runpy>")


def run(
    target: str,
    args: Sequence[str],
    *,
    as_module: bool,
    report: Path | None,
    full_traceback: bool,
    **settings: Any,
) -> int:
    """Run a script, print what became of its calls to standard error, and return its exit code.

    `args` are what the script finds in ``sys.argv[1:]``, `settings` those of `install`. The report
    is also written as HTML or JSON, by the ending of its name. With `full_traceback`, a traceback
    shows the frames of this package, too.
    """
    if not as_module:
        _check(target)
    if report is not None and report.suffix not in (".html", ".json"):
        raise ConfigError(f"--report {report}: choose a name that ends in .html or .json")
    if report is not None and not report.parent.is_dir():
        raise ConfigError(f"--report {report}: the folder does not exist; create it")
    report = report and report.absolute()
    install(**settings)
    try:
        return _run(target, args, as_module, full_traceback)
    finally:
        if sys.stdout is None or sys.stdout.closed:  # by the script
            sys.stdout = StringIO()
        sys.stdout.flush()
        sys.stderr.write(f"\n{calls()}\n")
        if report is not None:
            report.write_text(render(report.suffix, target), "utf-8")


def _check(target: str) -> None:
    if not Path(target).exists():
        raise ConfigError(f"{target}: no such file; pass the script to run, or -m and a module")
    beside = Path(target).with_name("pipeline")
    for other in (beside / "__init__.py", beside.with_suffix(".py")):
        if other.exists() and other.resolve().parent != Path(_OURS):
            raise ConfigError(f"{other}: has the name of this package; rename it, or move {target}")


def _run(target: str, args: Sequence[str], as_module: bool, full_traceback: bool) -> int:
    before = sys.argv[:], sys.path[:]
    sys.argv[:] = [target, *args]
    path = str(Path(target).absolute())
    sys.path[0] = "" if as_module else str(Path(path).resolve().parent)
    try:
        if as_module:
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")  # a text, as Python does
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if as_module and isinstance(error, ImportError) and _is_of_runner(error.__traceback__):
            sys.stderr.write(f"{error}\n")  # as Python does
            return 1
        if not full_traceback:
            _leave_out_ours(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.argv[:], sys.path[:] = before
    return 0


def _is_of_runner(frames: types.TracebackType | None) -> bool:
    return [*_each(frames)][-1].tb_frame.f_code.co_filename in _RUNNERS


def _leave_out_ours(error: BaseException | None, known: Collection[int] = ()) -> None:
    """Cut the frames of this package, and of what runs the script, from an error and its causes."""
    if error is None or id(error) in known:
        return
    kept = None
    for each in reversed([*_each(error.__traceback__)]):
        file = each.tb_frame.f_code.co_filename
        if not file.startswith(_OURS) and file not in _RUNNERS:
            kept = types.TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
    error.__traceback__ = kept
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        _leave_out_ours(other, {*known, id(error)})


def _each(frames: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while frames is not None:
        yield frames
        frames = frames.tb_next
