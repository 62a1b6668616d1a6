"""The commands that measure: compare, report, tune and gallery."""

from __future__ import annotations

import re
import sys
from math import inf
from pathlib import Path
from typing import Any

import click

from pipeline.cli.options import (
    INTERRUPTED,
    common_options,
    complain,
    echo,
    on_cluster,
    path,
    several,
    switch,
    whole,
)
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
            f"--sizes {text}: not a list of shares above 0 and up to 1; pass shares such as "
            "0.1,0.3 (--rows sets the number of rows of generated data)"
        )
    return shares


def _price(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Return a price from its amount and currency."""
    from pipeline.benchmark.record.results import Price

    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([^\W\d_]+|[€$£¥])\s*", text)
    if match is None or not 0 < float(match[1]) < inf:
        raise ConfigError(
            f"--price {text!r}: not a price above 0 with a currency; pass the price of an hour, "
            "such as '1.20 EUR'"
        )
    return Price(per_hour=float(match[1]), currency=match[2])


_measuring = several(
    whole("--repeats", default=5, least=3, about="Timed runs per variant."),
    click.option("--sizes", default="", metavar="SHARES", callback=_shares,
                 help="Also time these shares of the rows, such as 0.1,0.3."),
    click.option("--price", metavar="'1.20 EUR'", callback=_price,
                 help="Price of an hour on this machine."),
    switch("resume", about="Continue after an interrupted command."),
)  # fmt: skip


@click.command()
@common_options
@_measuring
def compare(task: str, out: Path | None, track: str | None, **options: Any) -> None:
    """Measure TASK in plain scikit-learn, on the CPU and on the GPU.

    The record is results.json.
    """
    _compare(task, out or Path("reports") / task, track, **options)


@click.command("report")
@common_options
@_measuring
@click.option("--from-results", is_flag=True, help="Only write the pages again, from results.json.")
def report_(
    task: str, out: Path | None, track: str | None, from_results: bool, **options: Any
) -> None:
    """Compare, then write the report as HTML and Markdown."""
    from pipeline.benchmark.publish import write_again
    from pipeline.benchmark.track import tracking

    folder = out or Path("reports") / task
    if from_results:
        with tracking(track, task, folder):
            write_again(folder, options["price"])
    else:
        _compare(task, folder, track, pages=True, **options)
    echo(f"report: {(folder / 'index.html').resolve().as_uri()}")


@click.command()
@common_options
@whole("--trials", default=50, least=1, about="Candidates per search, earlier runs included.")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
    help="Time per search, earlier runs included.",
)  # fmt: skip
@whole("--cv", "folds", default=5, least=2, about="Folds of the cross-validation.")
@switch("prune", about="Stop candidates that are unlikely to become the best.")
@switch("resume", about="Continue from the trials of an earlier run.")
@click.option("--from-results", is_flag=True, help="Only write the page again, from tuning.json.")
@on_cluster
def tune(
    task: str, out: Path | None, track: str | None, resume: bool, from_results: bool, **options: Any
) -> None:
    """Tune TASK's pipelines, and compare the best with the defaults.

    The best parameters are searched on folds of the training rows.
    """
    from pipeline.benchmark.record.tuning_record import TUNING_FILE, load_tuning
    from pipeline.benchmark.report.tuning_page import render_tuning, tuning_lines
    from pipeline.benchmark.track import tracking
    from pipeline.benchmark.tune import TunedBatch, publish_tuning

    folder = out or Path("reports") / f"{task}-tuning"
    if from_results:
        with tracking(track, task, folder):
            render_tuning(load_tuning(folder / TUNING_FILE), folder)
        echo(f"tuning: {(folder / 'index.html').resolve().as_uri()}")
        return
    names = "trials", "timeout", "folds", "prune", "cluster", "workers"
    searched = {name: options.pop(name) for name in names}
    what, job, pipelines = prepare(task, **options)
    device, command = options["device"], sys.argv[1:]
    batch = TunedBatch(what, job, pipelines, device, command=command, **searched)
    with tracking(track, task, folder):
        record = publish_tuning(batch, folder, echo, resume=resume)
        for line in tuning_lines(record, folder):
            echo(line)
    if record.protocol.interrupted:
        complain("interrupted; the finished searches are published")
        sys.exit(INTERRUPTED)


@click.command()
@click.option("--out", type=path, default="reports", show_default=True)
def gallery(out: Path) -> None:
    """Write an overview of the reports of all tasks."""
    from pipeline.benchmark.report.gallery_page import build_gallery

    echo(f"gallery: {build_gallery(out).resolve().as_uri()}")


def _compare(
    task: str, folder: Path, track: str | None, *, repeats: int, sizes: list[float], price: Any,
    resume: bool, pages: bool = False, **options: Any,
) -> None:  # fmt: skip
    from pipeline.benchmark.compare import Comparison
    from pipeline.benchmark.publish import publish
    from pipeline.benchmark.track import tracking

    what, job, pipelines = prepare(task, **options)
    comparison = Comparison(
        what, job, pipelines, options["device"], repeats, sizes=sizes, command=sys.argv[1:],
    )  # fmt: skip
    with tracking(track, task, folder):
        publish(comparison, folder, pages=pages, resume=resume, price=price)
