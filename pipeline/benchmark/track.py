"""Published results in an MLflow store: ``--track URI``.

Another process checks the store before anything is measured, so that MLflow takes neither memory
nor time from the measurement. The results are logged once they are published.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Number
from pathlib import Path
from shlex import quote
from typing import Any, Final

from pipeline import optional
from pipeline.benchmark.judge.verdict import verdict
from pipeline.benchmark.record import results, tuning_record
from pipeline.benchmark.record.tuning_record import TUNING_FILE
from pipeline.benchmark.report.runs_csv import values_of
from pipeline.errors import ConfigError, OutputError, clean
from pipeline.serving import mlflow_flavor
from pipeline.system.environment import without_password

FILES: Final = ("results.json", TUNING_FILE, "index.html", "report.md", "runs.csv")
PATIENCE: Final = 120  # seconds
_CHECK: Final = (
    "import sys, mlflow; mlflow.set_tracking_uri(sys.argv[1]); mlflow.set_experiment(sys.argv[2])"
)
_QUIET: Final = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}


@contextmanager
def tracking(uri: str | None, task: str, folder: Path) -> Iterator[None]:
    """Check an MLflow store, if there is one, and log the folder that the block publishes.

    `ConfigError` says that MLflow is missing or the store unusable, `OutputError` that the store
    failed after the results were published.
    """
    if uri is None:
        yield
        return
    option = f"--track {without_password(uri)}"
    os.environ.update(_QUIET | os.environ)
    _check(uri, task, option)
    yield
    try:
        _log(uri, task, folder)
    except (Exception, KeyboardInterrupt) as error:
        verb = "tune" if (folder / TUNING_FILE).exists() else "report"
        again = f"{verb} {quote(task)} --from-results --out {quote(str(folder))} --track URI"
        raise OutputError(
            f"{option}: not logged: {_brief(str(error) or repr(error))}; the results are in "
            f"{folder}, log them with `{optional.COMMAND} {again}`"
        ) from error
    print(clean(f"tracked: experiment {task} in {without_password(uri)}"))


def _check(uri: str, task: str, option: str) -> None:
    install = optional.to_install("mlflow")
    if not optional.available("mlflow"):
        raise ConfigError(f"{option}: mlflow is not installed; {install}")
    if re.match("file:|[^:]*$", uri) and uri != "databricks":
        raise ConfigError(
            f"{option}: MLflow no longer writes to folders; pass a database, such as "
            "sqlite:///mlruns.db, or the address of a server"
        )
    words = [sys.executable, "-c", _CHECK, uri, task]
    try:
        subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{option}: no response in {PATIENCE} s; check the address") from error
    except subprocess.CalledProcessError as error:
        why = _brief(error.stderr.strip().rpartition("\n")[2])
        way = install if why.startswith("ModuleNotFoundError") else "check the address"
        raise ConfigError(f"{option}: cannot be used: {why}; {way}") from error


def _brief(text: str) -> str:
    return without_password(text.strip().partition("\n")[0]).rstrip(".;")


def _log(uri: str, task: str, folder: Path) -> None:
    """Log a run for the command, and one below it for each pipeline and variant."""
    mlflow, tuned = optional.load("mlflow"), (folder / TUNING_FILE).exists()
    load: Any = tuning_record.load_tuning if tuned else results.load
    record = load(folder / (TUNING_FILE if tuned else FILES[0]))
    source, names = record.source, ("split", "rows_train", "rows_test")
    shared = {"seed": record.protocol.seed, **{n: getattr(record.task, n) for n in names}}
    tags = {"commit": source.commit, "command": source.command, "data_sha256": record.data.sha256}
    if not tuned:
        found = verdict(record)
        tags |= {"verdict": found.badge, "quality": found.parity}
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment(task)
    with mlflow.start_run(run_name=folder.resolve().name, tags=tags):
        mlflow.log_params(shared)
        for path in filter(Path.exists, map(folder.joinpath, FILES)):
            mlflow.log_artifact(str(path))
        for part in record.searches if tuned else record.cells:
            with mlflow.start_run(run_name=f"{part.pipeline} {part.variant}", nested=True):
                (device,) = (v.device for v in record.variants if v.name == part.variant)
                own = {"pipeline": part.pipeline, "variant": part.variant, "device": device}
                mlflow.log_params({**shared, **own})
                (_log_search if tuned else _log_cell)(mlflow, record, part)
                for name, interval in part.differences.items():
                    ends = {"low": interval.low, "high": interval.high}
                    _log_metrics(mlflow, f"{name}_difference_", ends)
                if part.model is not None:
                    model = (folder / part.model.file).parent
                    mlflow_flavor.log_model(model, name=part.pipeline)
                if not tuned and part.status == "failed":
                    mlflow.end_run("FAILED")


def _log_cell(mlflow: Any, record: results.Results, cell: results.Cell) -> None:
    code = next(each.code for each in record.pipelines if each.name == cell.pipeline)
    mlflow.log_param("estimator", code)
    values = values_of(record, cell.pipeline, cell.variant)
    mlflow.set_tags({n: v for n, v in values.items() if isinstance(v, str)} | {"why": cell.why})
    _log_metrics(mlflow, "", {n: v for n, v in values.items() if isinstance(v, Number)})
    for step, run in enumerate(cell.runs):
        _log_metrics(mlflow, "run_", {"total": run.total, **run.stages}, step)


def _log_search(mlflow: Any, record: Any, search: tuning_record.SearchRecord) -> None:
    if best := search.trial(search.best):
        mlflow.log_params(best.params)
    mlflow.set_tag("ended", search.ended)
    for side, model in (("default_", search.untuned), ("tuned_", search.tuned)):
        if model:
            _log_metrics(mlflow, side, {"seconds": model.seconds, **model.metrics})
    for trial in search.trials:
        if trial.score is not None:
            _log_metrics(mlflow, "trial_", {"score": trial.score}, trial.number)


def _log_metrics(mlflow: Any, start: str, values: Mapping[str, Any], step: int = 0) -> None:
    """Log numbers under names that MLflow takes."""
    names = [re.sub("[^0-9A-Za-z_./ -]", "_", name.removeprefix("metric_")) for name in values]
    known = dict(zip(names, values.values(), strict=True))
    mlflow.log_metrics({f"{start}{name}": value for name, value in known.items()}, step=step)
