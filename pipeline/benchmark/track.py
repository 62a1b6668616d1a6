"""Published results in an MLflow store: ``--track URI``.

Another process checks the store before anything is measured, so that MLflow takes neither memory
nor time from the measurement. The results are logged once they are published.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from pathlib import Path
from shlex import quote
from typing import Any, Final

from pipeline import optional
from pipeline.benchmark.judge.verdict import verdict
from pipeline.benchmark.record import results
from pipeline.benchmark.record.tuning_record import TUNING_FILE, load_tuning
from pipeline.benchmark.report.runs_csv import values_of
from pipeline.errors import ConfigError, OutputError, clean
from pipeline.serving import mlflow_flavor
from pipeline.system.environment import without_password

FILES: Final = ("results.json", TUNING_FILE, "index.html", "report.md", "runs.csv")
PATIENCE: Final = 120
"""Seconds that the check of a store may take."""
_CHECK: Final = (
    "import sys, mlflow; mlflow.set_tracking_uri(sys.argv[1]); mlflow.set_experiment(sys.argv[2])"
)
_QUIET: Final = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}


@contextmanager
def tracking(uri: str | None, task: str, folder: Path) -> Iterator[None]:
    """Check an MLflow store, if there is one, and log the folder that the block publishes.

    Raises
    ------
    ConfigError
        MLflow is not installed, or the store cannot be used.
    OutputError
        The store failed after the results were published.
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
    record: Any = load_tuning(folder / TUNING_FILE) if tuned else results.load(folder / FILES[0])
    about = record.task
    shared = {"seed": record.protocol.seed, "split": about.split, "columns": about.columns}
    shared |= {"rows_train": about.rows_train, "rows_test": about.rows_test}
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment(task)
    with mlflow.start_run(run_name=folder.resolve().name):
        mlflow.set_tags(_tags(record) | ({} if tuned else _verdict(record)))
        mlflow.log_params(shared)
        for path in filter(Path.exists, map(folder.joinpath, FILES)):
            mlflow.log_artifact(str(path))
        for part in record.searches if tuned else record.cells:
            with mlflow.start_run(run_name=f"{part.pipeline} {part.variant}", nested=True):
                (device,) = (v.device for v in record.variants if v.name == part.variant)
                names = {"pipeline": part.pipeline, "variant": part.variant, "device": device}
                mlflow.log_params({**names, **shared})
                for name, ends in part.differences.items():
                    pair = {
                        f"{name}_difference_low": ends.low,
                        f"{name}_difference_high": ends.high,
                    }
                    mlflow.log_metrics(_named(pair))
                (_log_search if tuned else _log_cell)(mlflow, record, part)
                if part.model is not None:
                    model = (folder / part.model.file).parent
                    mlflow_flavor.log_model(model, name=part.pipeline)
                if getattr(part, "status", "") == "failed":
                    mlflow.end_run("FAILED")


def _tags(record: Any) -> dict[str, str]:
    commit, command = record.source.commit, record.source.command
    return {"commit": commit, "command": command, "data_sha256": record.data.sha256}


def _verdict(record: results.Results) -> dict[str, str]:
    found = verdict(record)
    cautions = "\n".join(found.cautions)
    return {"verdict": found.badge, "quality": found.parity, "cautions": cautions}


def _log_cell(mlflow: Any, record: Any, cell: results.Cell) -> None:
    code = next(each.code for each in record.pipelines if each.name == cell.pipeline)
    mlflow.log_param("estimator", code)
    values = values_of(record, cell.pipeline, cell.variant)
    numbers = {name: value for name, value in values.items() if isinstance(value, Number)}
    mlflow.set_tags({n: v for n, v in values.items() if isinstance(v, str)} | {"why": cell.why})
    mlflow.log_metrics(_named(numbers))
    for step, run in enumerate(cell.runs):
        taken = {f"run_{stage}_seconds": seconds for stage, seconds in run.stages.items()}
        mlflow.log_metrics({"run_seconds": run.total, **taken}, step=step)


def _log_search(mlflow: Any, record: Any, search: Any) -> None:
    best = search.trial(search.best)
    mlflow.log_params({"folds": record.protocol.folds, **(best.params if best else {})})
    mlflow.set_tags({"ended": search.ended, "edges": "\n".join(search.edges)})
    mlflow.log_metric("search_seconds", search.seconds)
    for side, model in (("default", search.untuned), ("tuned", search.tuned)):
        values = {"seconds": model.seconds, **model.metrics} if model else {}
        mlflow.log_metrics(_named({f"{side}_{name}": value for name, value in values.items()}))
    for trial in search.trials:
        if trial.score is not None:
            mlflow.log_metric("trial_score", trial.score, step=trial.number)


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """Return metrics by names that MLflow takes.

    >>> _named({"metric_ndcg@10": 0.5})
    {'ndcg_10': 0.5}
    """
    names = [re.sub(r"[^\w./ -]", "_", name.removeprefix("metric_")) for name in values]
    return dict(zip(names, values.values(), strict=True))
