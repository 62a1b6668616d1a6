"""The commands that measure, compare, report and gallery."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pipeline.cli.options import common_options, echo
from pipeline.errors import ConfigError
from pipeline.task.prepare import prepare


def _shares(ctx: click.Context, param: click.Parameter, text: str) -> list[float]:
    """Return shares of the rows in ascending order, each once."""
    try:
        shares = sorted({float(word) for word in text.split(",") if word.strip()})
    except ValueError:
        shares = [0.0]
    if not all(0 < share <= 1 for share in shares):
        raise ConfigError(
            f"--sizes {text}: give shares of the rows up to 1, as 0.1,0.3; "
            "--rows says how many rows a generated table has"
        )
    return shares


def _price(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    if text is None:
        return None
    from pipeline.benchmark.report.costs import parse_price

    return parse_price(text)


def _measuring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of what is measured."""
    options = (
        click.option("--repeats", default=5, type=click.IntRange(min=3), show_default=True,
                     help="Timed runs of each variant."),
        click.option("--sizes", default="", metavar="SHARES", callback=_shares,
                     help="Shares of the rows to time besides, as 0.1,0.3."),
        click.option("--limit", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
                     help="Stop a variant of which a run takes longer."),
        click.option("--price", metavar="'1.20 EUR'", callback=_price,
                     help="Of an hour of this machine."),
        click.option("--resume/--no-resume", default=True, show_default=True,
                     help="Go on after an interrupted command."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@click.command()
@common_options
@_measuring
@click.option("--baseline", type=click.Path(path_type=Path), metavar="RESULTS.JSON",
              help="Set the results beside earlier ones.")  # fmt: skip
@click.option(
    "--from-results", is_flag=True, help="Measure nothing; take the results that are there."
)
def compare(
    task: str, out: Path | None, baseline: Path | None, from_results: bool, **options: Any
) -> None:
    """Measure TASK in plain scikit-learn, on the CPU and on the GPU; keep results.json."""
    from pipeline.benchmark.record import results
    from pipeline.benchmark.report.baseline import show

    then = results.load(baseline) if baseline else None
    if not from_results:
        _compare(task, out, **options)
    if then is not None:
        now = results.load((out or Path("reports") / task) / "results.json")
        show(now, then)
    elif from_results:
        raise ConfigError("--from-results measures nothing, so it needs --baseline")


@click.command("report")
@common_options
@_measuring
@click.option("--from-results", is_flag=True, help="Only write the pages anew from results.json.")
@click.option("--if-changed", is_flag=True,
              help="Measure nothing if code, data and versions are as before.")  # fmt: skip
def report_(task: str, out: Path | None, from_results: bool, **options: Any) -> None:
    """Compare, then write the report as HTML and Markdown."""
    from pipeline.benchmark.publish import write_again

    folder = out or Path("reports") / task
    if from_results:
        write_again(folder, options["price"])
    else:
        _compare(task, out, pages=True, **options)
    echo(f"report: {(folder / 'index.html').resolve().as_uri()}")


@click.command()
@click.option("--device", default="auto", help="auto, cpu or cuda.", show_default=True)
@click.option("--repeats", default=5, type=click.IntRange(min=3), show_default=True)
@click.option(
    "--data-home", "home", type=click.Path(path_type=Path), default=Path("data"), show_default=True
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("reports"), show_default=True)
@click.option(
    "--from-results", is_flag=True, help="Only write the index of the reports that are there."
)
@click.option("--again", is_flag=True, help="Measure also what is as it was at the last report.")
def gallery(
    device: str, repeats: int, home: Path, out: Path, from_results: bool, again: bool
) -> None:
    """Report on every task whose data is there, and write an index page."""
    from pipeline.benchmark.report.gallery_page import build_gallery

    options = ["--device", device, "--repeats", str(repeats), *([] if again else ["--if-changed"])]
    index = build_gallery(out, home, options, from_results=from_results)
    echo(f"gallery: {index.resolve().as_uri()}")


def _compare(
    task: str, out: Path | None, *, repeats: int, sizes: list[float], limit: float | None,
    price: Any, resume: bool, pages: bool = False, if_changed: bool = False, **options: Any,
) -> None:  # fmt: skip
    from pipeline.benchmark.compare import Comparison
    from pipeline.benchmark.publish import publish

    what, job, pipelines = prepare(task, **options)
    comparison = Comparison(
        what, job, pipelines, options["device"], repeats, sizes=sizes, command=sys.argv[1:],
        limit=limit,
    )  # fmt: skip
    folder = out or Path("reports") / task
    publish(comparison, folder, pages=pages, resume=resume, if_changed=if_changed, price=price)
