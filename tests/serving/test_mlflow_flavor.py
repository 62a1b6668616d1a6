"""Models in MLflow's format: what `mlflow.pyfunc` and MLflow's server predict."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import pipeline
from pipeline import Accelerated, CalendarFeatures
from pipeline.errors import ConfigError
from pipeline.serving import mlflow_flavor
from pipeline.serving.manifest import versions
from tasks.flights import TASK
from tests.commands import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own types
    mlflow = pytest.importorskip("mlflow")
    scoring = pytest.importorskip("mlflow.pyfunc.scoring_server")
MlflowException = mlflow.exceptions.MlflowException

pytestmark = pytest.mark.mlflow
CHANCES = ["probability_late", "probability_ok"]
ROWS = 1_000


def table(rows: int, seed: int) -> pd.DataFrame:
    """Return rows of all kinds of columns, with missing values in some."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "distance": rng.normal(size=rows),
            "wide": rng.integers(2**60, 2**62, rows),
            "narrow": rng.normal(size=rows).astype("float32"),
            "seats": pd.array(rng.integers(0, 9, rows), "Int64"),
            "full": rng.random(rows) < 0.5,
            "carrier": rng.choice(["AA", "no", "12", "text"], rows),
            "origin": pd.Categorical(rng.choice(["EWR", "JFK", "LGA"], rows)),
            "day": pd.Timestamp("2020-01-31") + pd.to_timedelta(rng.integers(0, 10**9, rows), "s"),
            "zoned": pd.date_range("2020-03-01", periods=rows, freq="7h", tz="Europe/Berlin"),
            "unused": rng.choice(["q", "r"], rows),
        }
    )
    for name in ("distance", "seats", "carrier", "origin", "day"):
        X.loc[rng.random(rows) < 0.1, name] = None
    return X


def as_json(X: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as a client sends them: dates as ISO 8601, null where a value is missing."""
    dates = {
        name: X[name].map(lambda day: day.isoformat(), na_action="ignore")
        for name in ("day", "zoned")
    }
    plain = X.assign(**dates).astype(object)
    return plain.where(X.notna(), None).to_dict("records")


@pytest.fixture(scope="module")
def model() -> Accelerated:
    """Return a model whose prediction of a row does not depend on the other rows."""
    X = table(2_000, 0)
    late = (X["distance"].fillna(1) + (X["carrier"] == "AA") + X["full"]) > 0.8
    numbers = ["distance", "wide", "narrow", "seats", "full"]
    steps = make_column_transformer(
        (SimpleImputer(), numbers),
        (OneHotEncoder(handle_unknown="ignore"), ["carrier", "origin"]),
        (make_pipeline(CalendarFeatures(["hour", "month"]), SimpleImputer()), ["day", "zoned"]),
    )
    forest = RandomForestClassifier(5, max_depth=6, random_state=0)
    estimator = make_pipeline(steps, forest)
    return Accelerated(estimator, "cpu", profile=True).fit(X, np.where(late, "late", "ok"))


@pytest.fixture(scope="module")
def saved(model: Accelerated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlflow") / "late"
    mlflow_flavor.save_model(model, folder)
    return folder


@pytest.fixture(scope="module")
def served(saved: Path) -> Any:
    return mlflow.pyfunc.load_model(str(saved), model_config={"device": "cpu"})


@pytest.fixture(scope="module", name="X")
def rows() -> pd.DataFrame:
    return table(ROWS, 1)


def ask(served: Any, **body: Any) -> pd.DataFrame:
    """Return what MLflow's server replies, without a process."""
    schema = served.metadata.get_input_schema()
    done = scoring.invocations(json.dumps(body).encode(), "application/json", served, schema)
    assert done.status == 200
    return pd.DataFrame(json.loads(done.response)["predictions"])


def test_a_round_trip_keeps_every_bit(
    model: Accelerated, saved: Path, served: Any, X: pd.DataFrame
) -> None:
    chances, classes = model.predict_proba(X), model.predict(X)
    back = mlflow_flavor.load_model(saved, "cpu")
    np.testing.assert_array_equal(back.predict_proba(X), chances)
    np.testing.assert_array_equal(back.predict(X), classes)
    found = served.predict(X)
    np.testing.assert_array_equal(found[CHANCES], chances)
    np.testing.assert_array_equal(found["prediction"], classes)
    assert list(served.predict(X, params={"method": "predict_proba"})) == CHANCES


def test_pyfunc_returns_the_columns_of_a_predicted_file(
    saved: Path, served: Any, X: pd.DataFrame, tmp_path: Path
) -> None:
    X.to_parquet(tmp_path / "X.parquet", index=False)
    pipeline.predict_file(
        saved / mlflow_flavor.DATA, tmp_path / "X.parquet", tmp_path / "y.parquet", device="cpu"
    )
    written = pd.read_parquet(tmp_path / "y.parquet").drop(columns="row")
    pd.testing.assert_frame_equal(served.predict(X), written)


@pytest.mark.parametrize(
    "body",
    [
        ("dataframe_records", lambda rows: rows),
        (
            "dataframe_split",
            lambda rows: {"columns": [*rows[0]], "data": [[*row.values()] for row in rows]},
        ),
        ("inputs", lambda rows: {name: [row[name] for row in rows] for name in rows[0]}),
        ("instances", lambda rows: rows),
    ],
    ids=["records", "split", "inputs", "instances"],
)
def test_each_form_of_json_predicts_as_the_batch(
    model: Accelerated, served: Any, X: pd.DataFrame, body: tuple[str, Callable[[Any], Any]]
) -> None:
    found = ask(served, **{body[0]: body[1](as_json(X))})
    np.testing.assert_array_equal(found[CHANCES], model.predict_proba(X))


@pytest.mark.parametrize("name", ["distance", "seats", "carrier", "origin", "day"])
def test_a_null_in_a_single_row_predicts_as_the_batch(
    model: Accelerated, served: Any, X: pd.DataFrame, name: str
) -> None:
    rows = X.assign(**{name: None})[:50]
    chances = model.predict_proba(rows.astype({name: X[name].dtype}))
    found = [ask(served, dataframe_records=[row]) for row in as_json(rows)]
    np.testing.assert_array_equal(pd.concat(found)[CHANCES], chances)


def test_an_unseen_category_and_an_unused_column_predict_as_the_batch(
    model: Accelerated, served: Any, X: pd.DataFrame
) -> None:
    rows = X[:50].assign(carrier="ZZ")
    for unused in ({}, {"unused": [1]}, {"unused": 5}):
        sent = [row | unused for row in as_json(rows.drop(columns="unused"))]
        found = ask(served, dataframe_records=sent)
        np.testing.assert_array_equal(found[CHANCES], model.predict_proba(rows))


BAD = [
    ("distance", "12"), ("distance", [1]), ("seats", "x"), ("full", "no"), ("carrier", 5),
    ("carrier", True), ("origin", 5), ("day", 5), ("day", "soon"), ("day", "2026-01-31T00:00:00Z"),
    ("zoned", "2026-01-31T00:00:00"), ("day", "now"), ("day", "today"), ("day", ""), ("day", "NaT"),
    ("full", 5), ("full", 0.5),
]  # fmt: skip


@pytest.mark.parametrize("beside", [0, 1], ids=["alone", "beside a good row"])
@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_value_of_another_type_is_an_error_that_names_the_column(
    served: Any, X: pd.DataFrame, name: str, value: Any, beside: int
) -> None:
    rows = as_json(X.dropna()[: 1 + beside])
    rows[-1][name] = value
    with pytest.raises(MlflowException, match=f"^column '{name}'") as caught:
        ask(served, dataframe_records=rows)
    assert caught.value.get_http_status_code() == 400


def test_other_bad_requests_are_the_clients_errors(served: Any, X: pd.DataFrame) -> None:
    rows = as_json(X[:1])
    with pytest.raises(MlflowException, match="no method 'guess'; choose from: pre") as caught:
        ask(served, dataframe_records=rows, params={"method": "guess"})
    assert caught.value.get_http_status_code() == 400
    del rows[0]["seats"]
    with pytest.raises(MlflowException, match=r"missing inputs \['seats'\]") as caught:
        ask(served, dataframe_records=rows)
    assert caught.value.get_http_status_code() == 400


def test_a_model_that_cannot_be_saved_leaves_no_folder(tmp_path: Path) -> None:
    steps = FunctionTransformer(lambda rows: rows)
    with pytest.raises(ConfigError):
        mlflow_flavor.save_model(Accelerated(steps, device="cpu").fit([[1.0]]), tmp_path / "late")
    assert not (tmp_path / "late").exists()


def test_the_folder_has_no_pickle_and_no_training_row(saved: Path) -> None:
    about = yaml.safe_load((saved / "MLmodel").read_text())
    assert about["flavors"]["python_function"]["loader_module"] == mlflow_flavor.__name__
    columns = json.loads(about["signature"]["inputs"])
    assert {each["type"] for each in columns} == {"any"}
    assert [each["name"] for each in columns if not each["required"]] == ["unused"]
    (row,) = json.loads((saved / "input_example.json").read_text())["data"]
    day = "2026-01-31T12:00:00"
    assert row == [0.0, 0.0, 0.0, 0.0, True, "text", "text", day, f"{day}+00:00", None]
    files = {path.name for path in saved.rglob("*") if path.is_file()}
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".joblib"))]
    assert pipeline.load(saved / mlflow_flavor.DATA, "cpu")
    pins = (saved / "requirements.txt").read_text().splitlines()
    assert pins[0] == f"gpu-tabular-pipeline[cpu,serve]=={pipeline.__version__}"
    assert f"scikit-learn=={versions()['scikit-learn']}" in pins
    assert yaml.safe_load((saved / "python_env.yaml").read_text())["dependencies"] == [
        "-r requirements.txt"
    ]


def test_models_of_matrices_and_of_texts_and_saved_folders(tmp_path: Path) -> None:
    matrix, y = np.arange(8, dtype="float32").reshape(4, 2), np.array([0.0, 1.0, 2.0, 3.0])
    linear = Accelerated(LinearRegression(), "cpu").fit(matrix, y)
    mlflow_flavor.save_model(pipeline.save(linear, tmp_path / "m"), tmp_path / "linear")
    served = mlflow.pyfunc.load_model(str(tmp_path / "linear"))
    np.testing.assert_array_equal(served.predict(matrix)["prediction"], linear.predict(matrix))
    found = ask(served, inputs=matrix.tolist())
    np.testing.assert_array_equal(found["prediction"], linear.predict(matrix.astype("float64")))
    with pytest.raises(MlflowException, match="column 'b' holds '1'"):
        ask(served, dataframe_records=[{"a": 1, "b": "1"}])
    words = pd.Series(["late again", "on time", "late", "time"], name="note")
    texts = make_pipeline(TfidfVectorizer(), LogisticRegression())
    fitted = Accelerated(texts, "cpu").fit(words, [1, 0, 1, 0])
    mlflow_flavor.save_model(fitted, tmp_path / "texts")
    served = mlflow.pyfunc.load_model(str(tmp_path / "texts"))
    found = ask(served, dataframe_records=[{"note": each} for each in words])
    np.testing.assert_array_equal(found["probability"], fitted.predict_proba(words)[:, 1])
    with pytest.raises(MlflowException, match="X holds integer values, not text"):
        ask(served, dataframe_records=[{"note": 5}])


# The server.


class Server:
    """MLflow's server of a model in a process group of its own, and replies of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self) -> None:
        words = ["-m", "mlflow", "models", "serve", "-m", self.folder, "--env-manager", "local"]
        where = ["--host", "127.0.0.1", "--port", self.port]
        scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.process = subprocess.Popen(
            list(map(str, [sys.executable, *words, *where])), cwd=ROOT, start_new_session=True,
            env=os.environ | {"PATH": scripts, "MLFLOW_DISABLE_TELEMETRY": "true"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 90
        while True:
            try:
                return self.call("GET", "/ping") and None
            except OSError:
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.2)

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # killed already
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def call(self, verb: str, path: str, body: Any = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            head = {"Content-Type": "application/json"}
            connection.request(verb, path, json.dumps(body), head)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()

    def predict(self, row: dict[str, Any]) -> list[float] | None:
        """Return the probabilities of a row; None where the server is gone."""
        try:
            status, text = self.call("POST", "/invocations", {"dataframe_records": [row]})
        except (OSError, http.client.HTTPException):
            return None
        assert status == 200, text
        (found,) = json.loads(text)["predictions"]
        return [found[name] for name in CHANCES]


@pytest.fixture(scope="module")
def server(saved: Path) -> Iterator[Server]:
    served = Server(saved)
    try:
        served.start()
        yield served
    finally:
        served.kill()


@pytest.mark.slow
def test_the_server_predicts_each_row_as_the_batch(
    server: Server, model: Accelerated, X: pd.DataFrame
) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(server.predict, as_json(X))]
    np.testing.assert_array_equal(found, model.predict_proba(X))
    for name, value in BAD:
        row = as_json(X.dropna()[:1])[0] | {name: value}
        status, text = server.call("POST", "/invocations", {"dataframe_records": [row]})
        assert (status, f"column '{name}'" in text) == (400, True)


@pytest.mark.slow
def test_a_killed_server_gives_no_wrong_prediction(
    server: Server, model: Accelerated, X: pd.DataFrame
) -> None:
    chances, rows = model.predict_proba(X), as_json(X)
    with ThreadPoolExecutor(5) as threads:
        asked = [threads.submit(server.predict, row) for row in rows]
        asked[100].result()
        server.kill()
    found = [each.result() for each in asked]
    replied = [i for i, each in enumerate(found) if each is not None]
    assert 97 <= len(replied) < len(rows)  # four of the first may have been under way
    np.testing.assert_array_equal([found[i] for i in replied], chances[replied])
    server.start()
    np.testing.assert_array_equal([server.predict(row) for row in rows[:50]], chances[:50])


@pytest.mark.slow
def test_a_model_of_the_flights(small_home: Path, tmp_path: Path) -> None:
    rows = pd.read_parquet(next((small_home / "flights").glob("*.parquet")))
    X, y = rows[[*TASK.features]], rows[TASK.target]
    fitted = Accelerated(TASK.pipeline("boosting", 0), "cpu").fit(X, y)
    mlflow_flavor.save_model(fitted, tmp_path / "flights")
    served = mlflow.pyfunc.load_model(str(tmp_path / "flights"))
    np.testing.assert_array_equal(served.predict(X)["probability"], fitted.predict_proba(X)[:, 1])
