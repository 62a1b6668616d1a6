"""The command line: from the data of a task to reports, models and predictions.

Only `click` is imported at the top, so ``--help`` prints at once.
"""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import click

from pipeline import __version__
from pipeline.cli.benchmark import compare, gallery, report_, tune
from pipeline.cli.options import (
    INTERRUPTED,
    accel_options,
    common_options,
    complain,
    data_home,
    device,
    echo,
    generated,
    names_option,
    on_cluster,
    path,
    pipelines,
    whole,
)
from pipeline.errors import ConfigError, OutputError, clean, pick
from pipeline.optional import COMMAND, SCRIPT, why_not_here
from pipeline.system.threads import keep_freed_memory
from pipeline.task.prepare import choose_pipelines, prepare
from pipeline.typing import Table

TERMINATED = 143
HUNG_UP = 129
_INTERNAL = 70
_MANIFEST = "model.manifest.json"
_PYTHONS_FORMAT = warnings.formatwarning
_UNHEARD = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EDQUOT, errno.EFBIG)
"""What writing to the standard output fails with, where it is a file or a pipe."""


class _Commands(click.Group):
    """A group that lists commands in the order of their definition, and suggests close names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order."""
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return a command; one that does not exist is an error with the near names."""
        pick(args[0], self.commands, "command")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=SCRIPT)
def commands() -> None:
    """Run scikit-learn pipelines for tables on the CPU or on an NVIDIA GPU."""


@commands.command("run")
@common_options
@on_cluster
@click.option(
    "--checkpoint",
    type=path,
    metavar="FOLDER",
    help="Save XGBoost's trees there during training, and continue from them.",
)
def run_(
    task: str, out: Path | None, track: str | None, cluster: str | None, workers: int | None,
    checkpoint: Path | None, **options: Any,
) -> None:  # fmt: skip
    """Train and evaluate each pipeline of TASK once.

    Models and predictions are kept.
    """
    from pipeline.benchmark.judge.verdict import every_caution, in_terminal
    from pipeline.benchmark.single import PredictedBatch
    from pipeline.benchmark.track import tracking
    from pipeline.distributed.cluster import optional_cluster
    from pipeline.system.atomic import publishing
    from pipeline.system.progress import progress

    what, job, pipelines = prepare(task, **options)
    folder = out or Path("runs") / task
    batch = PredictedBatch(what, replace(job, checkpoint=checkpoint), pipelines, sys.argv[1:])
    with tracking(track, task, folder):
        with (
            publishing(folder) as draft,
            optional_cluster(cluster, workers=workers),
            progress(task, 2 * len(pipelines)) as line,
        ):
            record = batch.run(draft, line)
        for line_ in in_terminal(every_caution(record), folder / "results.json"):
            echo(line_)
        echo(f"results: {folder}")


for _command in (compare, report_, tune, gallery):
    commands.add_command(_command)


@commands.command()
@click.argument("model")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@device
@click.option("--method", help="Method to call: predict_proba, predict, transform, … By default, "
              "the first that the model has, with the class beside probabilities.")  # fmt: skip
@names_option(
    "--copy-columns",
    "keep",
    about="Columns of IN to copy to OUT, separated by commas; quote a name with a comma.",
)
@whole("--rows", default=131_072, least=1, about="Rows per batch.")
@on_cluster
def predict(
    model: str, source: str, target: str, cluster: str | None, workers: int | None, **options: Any
) -> None:
    """Predict the rows of IN with a saved MODEL, and write OUT.

    IN is CSV, Parquet, …, and OUT ends in .csv or .parquet.
    """
    from pipeline.distributed.cluster import optional_cluster
    from pipeline.serving.predict import PredictionJob, batches, run_job
    from pipeline.system.progress import progress

    job = PredictionJob(Path(model), Path(source), Path(target), **options)
    job.check()
    with (
        optional_cluster(cluster, workers=workers),
        progress("batches", batches(job)) as line,
    ):
        record = run_job(job, line)
    for caution in record.cautions:
        echo(f"caution: {caution}")
    rate = record.rows / record.seconds
    echo(f"predictions: {target} ({record.rows:,} rows, {rate:,.0f} a second)")


@commands.command()
@click.argument("task")
@data_home
@click.option(
    "--from",
    "given",
    type=click.Path(exists=True, path_type=Path),
    help="The file that you have downloaded, or the folder of the files.",
)
@generated
def data(task: str, home: Path, given: Path | None, **asked: Any) -> None:
    """Download, convert and verify the data of TASK."""
    import logging

    from pipeline.task.task import load

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    echo(f"data: {load(task).data(home, given, **asked)}")


@commands.command("new-task")
@click.argument("file", type=path)
@click.argument("target")
@click.option("--name", default="", help="Name of the task; by default, from the file name.")
@click.option("--kind", default="", help="binary, multiclass or regression; by default, guessed.")
@names_option("--ignore", about="Columns to leave out, separated by commas.")
@click.option("--split", default="random", show_default=True, help="random, time or groups.")
@click.option("--by", default="", help="Column of the time or of the groups.")
@click.option("--encoding", default="", help="Encoding of FILE, such as cp1252.")
@click.option("--delimiter", default="", help="Delimiter of FILE: a character, or tab.")
@click.option("--decimal", help="Decimal mark of numbers: . or ,")
@names_option("--missing", about="Words to read as missing values.")
@names_option("--keep", about="Words to keep as values, such as NA.")
@click.option("--dates", type=click.Choice(["day-first", "month-first"]),
              help="If dates can be read both ways.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a task of this name that new-task created.")
@data_home
def new_task_(file: Path, target: str, home: Path, dates: str | None, **options: Any) -> None:
    """Create a task for your own table.

    It predicts TARGET, a column of FILE.
    """
    from pipeline.benchmark.api import new_task

    day_first = None if dates is None else dates == "day-first"
    made = new_task(file, target, home=home, day_first=day_first, **options)
    echo("\n".join(made.lines()))


@commands.command("list")
def list_() -> None:
    """List the tasks."""
    from pipeline.task import task

    for name in task.task_names():
        try:
            facts = task.facts(name)
        except ConfigError as error:
            echo(f"{name:18} not listed: {error}")
            continue
        size = f"{facts.rows:,}" if facts.rows else "?"
        about = f"{facts.kind:10} {size:>10} rows  {facts.needs:29} {facts.summary}"
        echo(f"{name:18} {about}")


@commands.command()
@click.argument("folders", nargs=-1, type=path, metavar="[FOLDER]...")
def models(folders: tuple[Path, ...]) -> None:
    """List the saved models in each FOLDER.

    By default, these are runs and reports.
    """
    where = folders or (Path("runs"), Path("reports"))
    found = [(folder, path) for folder in where for path in sorted(folder.rglob(_MANIFEST))]
    # Drafts of commands that still run are hidden.
    rows = [_model(p) for f, p in found if not any(n[0] == "." for n in p.relative_to(f).parts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    said = f"no models in {', '.join(map(str, where))}; create one with `{COMMAND} run TASK`"
    echo("\n".join(lines or [said]))


def _model(path: Path) -> tuple[str, ...]:
    """Return what is listed of the model of a manifest: its folder, device, score and time."""
    try:
        read = dict(json.loads(path.read_bytes()))
    except (OSError, TypeError, ValueError):
        read = {}
    scores = [f"{name} {value:.4g}" for name, value in read.get("metrics", {}).items()]
    return (
        str(path.parent),
        f"trained on {read['device']}" if read else f"{_MANIFEST} cannot be read",
        scores[0] if scores else "no score",
        read.get("created", ""),
    )


@commands.command("explain")
@click.argument("task")
@device
@pipelines
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain_(task: str, device: str, pipelines: str, as_json: bool) -> None:
    """Show where each step of TASK's pipelines would run, and why.

    Nothing is run.
    """
    from pipeline.compile.explain import explain
    from pipeline.task.task import load

    what = load(task)
    explained = {
        name: explain(what.pipeline(name, 0), device)
        for name in choose_pipelines(pipelines, what.pipelines)
    }
    if as_json:
        echo(json.dumps({name: each.to_dict() for name, each in explained.items()}, indent=2))
    else:
        echo("\n".join(f"{name}\n{each}\n" for name, each in explained.items()))


@commands.command(context_settings={"allow_interspersed_args": False})
@click.option("-m", "as_module", is_flag=True, help="SCRIPT is the name of a module.")
@accel_options
@click.option(
    "--report",
    type=path,
    metavar="FILE",
    help="Also write the table to a file that ends in .html or .json.",
)
@click.option(
    "--traceback",
    "frames",
    default="short",
    show_default=True,
    type=click.Choice(["short", "full"]),
    help="full shows the frames of this package.",
)
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
def accel(script: str, args: tuple[str, ...], frames: str, **options: Any) -> None:
    """Run a scikit-learn SCRIPT unchanged, accelerated where that pays.

    At the end, a table shows what became of each call.
    """
    from pipeline.accel.script import run

    warnings.formatwarning = _PYTHONS_FORMAT
    sys.exit(run(script, args, full_traceback=frames == "full", **options))


@commands.command()
def doctor() -> None:
    """Show which device will be used, why, and what to fix."""
    from pipeline.system.doctor import diagnose

    found = diagnose()
    print(found)
    sys.exit(0 if found.usable else 1)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack like Ctrl-C, so that drafts and workers go away.

    A signal that is ignored, as SIGHUP is under `nohup`, stays so.
    """
    codes = {signal.SIGTERM: TERMINATED}
    if sys.platform != "win32":
        codes[signal.SIGHUP] = HUNG_UP
    before = {each: signal.getsignal(each) for each in codes}
    heard = {each: old for each, old in before.items() if old != signal.SIG_IGN}

    def stop(number: int, frame: Table) -> None:
        raise SystemExit(codes[signal.Signals(number)])

    for each in heard:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each, old in heard.items():
            signal.signal(each, old)


@contextmanager
def _speaking() -> Iterator[None]:
    """Report in one sentence that standard output cannot be written; ignore a closed pipe.

    A character that its encoding lacks is written as a question mark.
    """
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:
        raise OutputError(
            "standard output: is closed; redirect it to /dev/null if you do not need it"
        )
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # what is lost must not end with the code of the command
    except OSError as error:
        if error.errno not in _UNHEARD or error.filename is not None:
            raise
        if error.errno != errno.EPIPE:
            raise OutputError(f"standard output: {error.strerror}") from error
        sys.exit(1)  # the reader of the pipe has closed it
    finally:
        _drop_unsaid(sys.stdout)


def _drop_unsaid(stream: TextIO) -> None:
    """Drop what a stream does not take, which would fail again when Python ends."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(text: str) -> None:
    """Print why a command ends; its exit code stays even if nobody can read this."""
    try:
        complain(text)
    except OSError:
        _drop_unsaid(sys.stderr)


@contextmanager
def _cautioning() -> Iterator[None]:
    """Print Python's warnings without the line of code that warns."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: clean(f"caution: {message}\n")
    try:
        yield
    finally:
        warnings.formatwarning = before


def _usage(error: click.ClickException) -> str:
    """Return an error of click in the form of all errors."""
    context = getattr(error, "ctx", None)
    wrong = error.format_message().rstrip(".")
    way = f"see `{context.command_path if context else COMMAND} --help`"
    if isinstance(error, click.NoSuchOption):
        wrong = f"unknown option {error.option_name!r}"
        way = f"did you mean {error.possibilities[0]!r}? Or {way}" if error.possibilities else way
    wrong = wrong[0].lower() + wrong[1:]
    return wrong if ";" in wrong else f"{wrong}; {way}"


def main() -> None:
    """Run a command; every deliberate error ends in one message and its exit code."""
    keep_freed_memory()
    try:
        with _terminable(), _speaking(), _cautioning():
            commands(prog_name=COMMAND, standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted; nothing was published")
        sys.exit(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _complain(f"error: {_usage(error)}")
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        _complain(f"error: {why_not_here(error)}")
        sys.exit(ConfigError.exit_code)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            _complain(traceback.format_exc().rstrip())
            sys.exit(_INTERNAL)
        _complain(f"error: {error}")
        sys.exit(code)
