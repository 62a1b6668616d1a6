"""What `--track` logs to a real MLflow store, and what a store that fails does to a command."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec import structs
from sklearn.datasets import load_breast_cancer

import pipeline
from pipeline.benchmark import track
from pipeline.benchmark.record import results
from pipeline.benchmark.record.tuning_record import load_tuning
from pipeline.errors import OutputError
from pipeline.serving import mlflow_flavor
from pipeline.system.environment import source
from tests.commands import ROOT, assert_one_message, call

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own types
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.pyfunc")

pytestmark = [
    pytest.mark.mlflow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader:DeprecationWarning"),  # MLflow's own
]
TASK = "breast_cancer"
MEASURED = ROOT / "docs/results/flights-cpu/results.json"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URI of a store that keeps its files beside it."""
    home = tmp_path_factory.mktemp("store")
    uri = f"sqlite:///{home / 'mlruns.db'}"
    for task in (TASK, "flights"):
        mlflow.MlflowClient(uri).create_experiment(task, artifact_location=str(home))
    return uri


def logged(store: str, task: str, name: str) -> tuple[Any, dict[str, Any], set[str]]:
    """Return the run of a command, those below it by their names, and its files."""
    client = mlflow.MlflowClient(store)
    runs = client.search_runs([client.get_experiment_by_name(task).experiment_id])
    (run,) = (each for each in runs if each.info.run_name == name)
    below = [r for r in runs if r.data.tags.get("mlflow.parentRunId") == run.info.run_id]
    files = {each.path for each in client.list_artifacts(run.info.run_id)}
    return run, {each.info.run_name: each for each in below}, files


def model_of(run: Any) -> str:
    (output,) = run.outputs.model_outputs
    return f"models:/{output.model_id}"


@pytest.mark.slow
def test_a_run_is_logged_with_its_models(store: str, tmp_path: Path) -> None:
    out = tmp_path / "one"
    given = ["--device", "cpu", "--seed", 5, "--data-home", tmp_path / "data", "--out", out]
    done = call("run", TASK, *given, "--track", store)
    assert (done.code, done.out.splitlines()[-1]) == (0, f"tracked: experiment {TASK} in {store}")
    record = results.load(out / "results.json")
    run, below, files = logged(store, TASK, "one")
    assert files == {"results.json"}
    about = record.source
    tags = {"commit": about.commit, "command": about.command, "data_sha256": record.data.sha256}
    assert run.data.tags.items() >= tags.items()
    assert list(below) == [f"{name} cpu" for name in ("boosting", "logistic")]
    rows = load_breast_cancer(as_frame=True).data
    rows.columns = pipeline.load(out / "logistic.model").inputs_.names
    for cell in record.cells:
        each = below[f"{cell.pipeline} cpu"]
        found = {"run_total": cell.runs[0].total, "peak_rss_bytes": cell.peak_rss_bytes}
        assert each.data.metrics.items() >= {**found, **cell.metrics}.items()
        named = {"pipeline": cell.pipeline, "device": "cpu", "seed": "5", "rows_train": "399"}
        assert each.data.params.items() >= {**named, "split": record.task.split}.items()
        assert "Pipeline(" in each.data.params["estimator"]
        kept = pipeline.load(out / f"{cell.pipeline}.model", "cpu")
        loaded = mlflow_flavor.load_model(model_of(each), "cpu")
        assert (loaded.predict_proba(rows) == kept.predict_proba(rows)).all()


@pytest.mark.slow
def test_a_report_is_logged_with_intervals_verdict_and_pages(store: str, tmp_path: Path) -> None:
    out = tmp_path / "again"
    out.mkdir()
    record = results.load(MEASURED)
    lost = {"status": "failed", "why": "killed", "runs": [], "metrics": {}, "differences": {}}
    failed = record.cell("forest", "cpu")
    cells = [structs.replace(each, **lost) if each is failed else each for each in record.cells]
    record = structs.replace(record, cells=cells)
    (out / "results.json").write_bytes(results.dumps(record))
    done = call("report", "flights", "--from-results", "--out", out, "--track", store)
    assert done.code == 0, done.err
    run, below, files = logged(store, "flights", "again")
    assert files == {"results.json", "index.html", "report.md", "runs.csv"}
    assert run.data.tags["verdict"].startswith("CPU only")
    quality = run.data.tags["quality"]
    assert quality.startswith("Quality parity: ")
    assert quality.endswith("; 1 did not run.")
    assert below.keys() == {f"{cell.pipeline} {cell.variant}" for cell in record.cells}
    assert (below["forest cpu"].info.status, below["logistic cpu"].info.status) == (
        "FAILED", "FINISHED",
    )  # fmt: skip
    assert below["forest cpu"].data.tags["why"] == "killed"
    each, cell = below["logistic cpu"], record.cell("logistic", "cpu")
    history = mlflow.MlflowClient(store).get_metric_history(each.info.run_id, "run_total")
    assert [(h.step, h.value) for h in history] == [*enumerate(r.total for r in cell.runs)]
    found, ends = each.data.metrics, cell.differences["roc_auc"]
    assert [found[f"roc_auc_difference_{end}"] for end in ("low", "high")] == [ends.low, ends.high]
    assert found["time_ratio_low"] <= found["time_ratio"] <= found["time_ratio_high"]


@pytest.mark.slow
def test_a_search_is_logged_with_its_best_parameters_and_model(store: str, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    given = ["--device", "cpu", "--pipelines", "logistic", "--trials", 2, "--cv", 2]
    given += ["--data-home", tmp_path / "data", "--out", out]
    done = call("tune", TASK, *given, "--track", store)
    assert done.code == 0, done.err
    (search,) = load_tuning(out / "tuning.json").searches
    _, below, files = logged(store, TASK, "tuned")
    assert files == {"tuning.json", "index.html", "report.md"}
    each = below["logistic cpu"]
    best = {name: str(value) for name, value in search.trial(search.best).params.items()}
    assert each.data.params.items() >= best.items()
    scores = {f"tuned_{name}": value for name, value in search.tuned.metrics.items()}
    assert each.data.metrics.items() >= scores.items()
    assert mlflow_flavor.load_model(model_of(each), "cpu").plan_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("file:///tmp/mlruns", "pass a database, such as sqlite:///mlruns.db"),
        ("mlruns", "MLflow no longer writes to folders"),
        ("http://me:secret@127.0.0.1:9", "--track http://127.0.0.1:9: cannot be used: "),
        ("sqlite:////dev/null/x.db", "--track sqlite:////dev/null/x.db: cannot be used: "),
    ],
)
def test_a_store_that_cannot_be_used_is_an_error_before_anything_is_measured(
    uri: str, said: str, tmp_path: Path
) -> None:
    words = ["--device", "cpu", "--data-home", tmp_path / "data", "--out", tmp_path / "out"]
    done = call("run", TASK, *words, "--track", uri)
    assert_one_message(done, 2, said)
    assert "secret" not in done.err
    assert "training" not in done.err
    assert not (tmp_path / "out").exists()


def test_without_mlflow_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(track.optional, "available", lambda package: False)
    done = call("tune", TASK, "--data-home", tmp_path / "data", "--track", "sqlite:///x.db")
    assert_one_message(done, 2, "mlflow is not installed; run `make setup-mlflow`")


@pytest.mark.slow
def test_a_store_that_fails_at_the_end_loses_no_results(
    store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken, out = tmp_path / "broken.db", tmp_path / "late"
    monkeypatch.setattr(track, "_check", lambda *_: broken.write_text("not a database" * 99))
    given = ["--device", "cpu", "--pipelines", "logistic", "--data-home", tmp_path / "data"]
    done = call("run", TASK, *given, "--out", out, "--track", f"sqlite:///{broken}")
    again = f"report {TASK} --from-results --out {out} --track"
    assert done.code == 73
    assert f"--track sqlite:///{broken}: not logged: " in done.err
    assert f"{again} URI`" in done.err
    assert len(results.load(out / "results.json").cells) == 1
    monkeypatch.undo()
    assert call(*again.split(), store).code == 0
    assert model_of(logged(store, TASK, "late")[1]["logistic cpu"])


def test_an_interrupt_while_results_are_logged_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(track, "_check", lambda *_: None)
    monkeypatch.setattr(track, "_log", Mock(side_effect=KeyboardInterrupt))
    said = pytest.raises(OutputError, match="not logged: KeyboardInterrupt")
    with said, track.tracking("sqlite:///x.db", TASK, tmp_path):
        pass


def test_the_command_of_a_record_has_no_password() -> None:
    words = ["run", TASK, "--track", "https://me:secret@host:5000"]
    assert source(words).command.endswith(f"run {TASK} --track https://host:5000")
