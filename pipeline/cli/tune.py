"""The command that searches for parameters: tune."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pipeline.cli.options import INTERRUPTED, common_options, echo, on_cluster
from pipeline.task.prepare import prepare


@click.command()
@common_options
@click.option(
    "--trials",
    default=50,
    type=click.IntRange(min=1),
    show_default=True,
    help="Candidates of each search, with those of a command before.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Of each search, with those of a command before.",
)
@click.option(
    "--cv",
    "folds",
    default=5,
    type=click.IntRange(min=2),
    show_default=True,
    help="Folds of the training rows.",
)
@click.option(
    "--prune/--no-prune",
    default=True,
    show_default=True,
    help="Stop candidates that are unlikely to become the best.",
)
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Go on from the trials of a command before.",
)
@click.option("--from-results", is_flag=True, help="Only write the page anew from tuning.json.")
@on_cluster
def tune(
    task: str, out: Path | None, cluster: str | None, workers: int | None, resume: bool,
    from_results: bool, trials: int, timeout: float | None, folds: int, prune: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Search for the parameters of TASK's pipelines; judge the best ones beside the untuned."""
    from pipeline.benchmark.record.tuning_record import TUNING_FILE, load_tuning
    from pipeline.benchmark.report.tuning_page import render_tuning, tuning_lines
    from pipeline.benchmark.tune import TunedBatch, publish_tuning

    folder = out or Path("reports") / f"{task}-tuning"
    if from_results:
        render_tuning(load_tuning(folder / TUNING_FILE), folder)
        echo(f"tuning: {(folder / 'index.html').resolve().as_uri()}")
        return
    what, job, pipelines = prepare(task, **options)
    batch = TunedBatch(
        what, job, pipelines, options["device"], trials=trials, timeout=timeout, folds=folds,
        prune=prune, cluster=cluster, workers=workers, command=sys.argv[1:],
    )  # fmt: skip
    record = publish_tuning(batch, folder, echo, resume=resume)
    for line in tuning_lines(record, folder):
        echo(line)
    if record.protocol.interrupted:
        echo("interrupted; what was found is published", err=True)
        sys.exit(INTERRUPTED)
