"""Saved models in MLflow's format: our folder inside MLflow's, without pickle.

`mlflow.pyfunc` and MLflow's server return the columns that `predict_file` writes.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from numbers import Number
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline import __version__, optional
from pipeline.errors import DataError, PipelineError
from pipeline.model.accelerated import Accelerated
from pipeline.model.inputs import TextInput
from pipeline.serving import manifest
from pipeline.serving.answers import Question
from pipeline.serving.load import load
from pipeline.serving.save import save
from pipeline.table import frames, partitioned
from pipeline.table.schema import Schema

DATA: Final = "pipeline.model"
"""The folder that `pipeline.save` writes, inside MLflow's."""
_KINDS: Final[Mapping[str, tuple[Any, tuple[type, ...]]]] = {
    "number": (0.0, (Number, np.bool_)),
    "boolean": (True, (Number, np.bool_)),
    "text": ("text", (str,)),
    "date": ("2026-01-31T12:00:00", (str, date)),
    "duration": ("01:30:00", (str, timedelta)),
}
"""Kind of a column -> an example, and the types of its values in JSON and in frames."""
_OFFSET: Final = re.compile(r"[T ].*([Zz]|[+-]\d\d(:?\d\d)?)$")


def save_model(model: Accelerated | str | Path, path: str | Path, mlflow_model: Any = None) -> None:
    """Write a model as a folder that MLflow loads and serves.

    Parameters
    ----------
    model : Accelerated, str or Path
        A fitted model, or a folder that `pipeline.save` wrote.
    path : str or Path
        The folder; it must not exist.
    mlflow_model : mlflow.models.Model, optional
        MLflow's description of the model.
    """
    models, folder = optional.load("mlflow.models"), Path(path)
    folder.mkdir(parents=True)
    try:
        _write(model, folder, mlflow_model or models.Model())
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write(model: Accelerated | str | Path, folder: Path, described: Any) -> None:
    if isinstance(model, Accelerated):
        save(model, folder / DATA)
    else:
        shutil.copytree(model, folder / DATA)
    served = Served(model if isinstance(model, Accelerated) else load(model))
    described.signature = served.signature()
    optional.load("mlflow.models.utils._save_example")(described, served.example(), str(folder))
    (folder / "requirements.txt").write_text("\n".join([*_pins(), ""]), "utf-8")
    python = optional.load("mlflow.utils.environment._PythonEnv")
    python(dependencies=["-r requirements.txt"]).to_yaml(folder / "python_env.yaml")
    options = {"python_env": "python_env.yaml", "model_config": {"device": "auto"}}
    optional.load("mlflow.pyfunc").add_to_model(described, __name__, data=DATA, **options)
    described.add_flavor("gpu_tabular_pipeline", version=__version__, data=DATA)
    described.save(folder / "MLmodel")


def log_model(model: Accelerated | str | Path, name: str, **options: Any) -> Any:
    """Log a model, as `save_model` takes it, to MLflow; return MLflow's `ModelInfo`.

    The options are those of `mlflow.models.Model.log`, such as ``registered_model_name``.

    >>> from pipeline.serving import mlflow_flavor
    >>> info = mlflow_flavor.log_model(model, name="late")  # doctest: +SKIP
    >>> mlflow_flavor.load_model(info.model_uri).predict(X)  # doctest: +SKIP
    """
    log = optional.load("mlflow.models.Model").log
    return log(None, sys.modules[__name__], name=name, model=model, **options)


def load_model(uri: str | Path, device: str = "auto") -> Accelerated:
    """Load a model of this flavor from a folder or another URI, such as ``models:/late/1``."""
    fetch = optional.load("mlflow.artifacts.download_artifacts")
    return load(Path(fetch(artifact_uri=str(uri))) / DATA, device)


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Served:
    return Served(load(path, (model_config or {}).get("device", "auto")))


def _pins() -> list[str]:
    """Return requirements that hold the versions of this environment."""
    extra = next((each for each in ("cu12", "cu13") if optional.version(f"cudf-{each}")), "cpu")
    names = [*manifest.PACKAGES, *manifest.XGBOOSTS, "mlflow-skinny"]
    pins = [f"{name}=={known}" for name in names if (known := optional.version(name))]
    return [f"{optional.DISTRIBUTION}[{extra},serve]=={__version__}", *pins]


class Served:
    """A model that MLflow calls."""

    def __init__(self, model: Accelerated) -> None:
        self.model, inputs = model, model.inputs_
        kinds, columns = (getattr(inputs, each, None) or {} for each in ("kinds", "columns"))
        names, used = inputs.names or [], getattr(inputs, "used", None)
        self.required = {str(name) for name in (names if used is None else used)}
        self.columns = {
            name: (at_fit, kinds.get(name, "other") if name in self.required else "other", zone)
            for at_fit in names
            for name, zone in [(str(at_fit), getattr(columns.get(at_fit), "zone", ""))]
        }
        """Name in JSON -> name at fit, kind and time zone; empty for a matrix."""
        if isinstance(inputs, TextInput):
            self.columns = {inputs.column or "text": ("", "text", "")}
            self.required = {*self.columns}

    def example(self) -> pd.DataFrame | None:
        """Return a row made up from the types; None if the model cannot predict it."""
        made = {
            name: [None if kind == "other" else _example(kind, zone)]
            for name, (_, kind, zone) in self.columns.items()
        }
        try:
            return pd.DataFrame(made) if made and len(self._predict(made, None)) else None
        except (TypeError, ValueError):
            return None

    def signature(self) -> Any:
        """Return the columns and the parameter `method`.

        The columns have no types: MLflow would turn "no" into True and 5 into a date.
        """
        types, anything = (optional.load(f"mlflow.types{end}") for end in ("", ".schema.AnyType"))
        columns = [types.ColSpec(anything(), each, each in self.required) for each in self.columns]
        method = types.ParamSchema([types.ParamSpec("method", types.DataType.string, "")])
        inputs = types.Schema(columns) if columns else None
        output = types.Schema([types.ColSpec(anything())])
        return optional.load("mlflow.models.ModelSignature")(inputs, output, method)

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return the columns of `predict_file`, or those of ``params={"method": …}`` alone."""
        try:
            return self._predict(model_input, (params or {}).get("method") or None)
        except (PipelineError, ValueError) as error:
            raised = optional.load("mlflow.exceptions.MlflowException")
            codes = optional.load("mlflow.protos.databricks_pb2")
            rejected = isinstance(error, ValueError)  # such as DataError
            code = codes.BAD_REQUEST if rejected else codes.INTERNAL_ERROR
            raise raised(str(error), error_code=code) from error

    def _predict(self, given: Any, method: str | None) -> pd.DataFrame:
        question, rows = Question.of(self.model, method), self._rows(given)
        return pa.table(question.columns(partial(self._call, rows))).to_pandas()

    def _call(self, rows: Any, method: str) -> Any:
        values, why = getattr(self.model, method)(rows), "MLflow returns dense rows"
        return partitioned.densify(values, method, why) if frames.is_sparse(values) else values

    def _rows(self, given: Any) -> Any:
        """Return rows with the types of the fit.

        What the schema rejects is an error here; `predict` would let scikit-learn try it.
        """
        inputs = self.model.inputs_
        if frames.is_sparse(given) or not (self.columns or isinstance(inputs, Schema)):
            return given
        if not self.columns and getattr(given, "dtype", np.dtype(object)).kind in "biuf":
            return inputs.take(given)
        table = pd.DataFrame(given)
        if not self.columns:
            return inputs.take(frames.matrix(table.apply(partial(typed, kind="number"))))
        there = [(name, *column) for name, column in self.columns.items() if name in table]
        read = {at_fit: typed(table[name], kind, zone) for name, at_fit, kind, zone in there}
        if isinstance(inputs, TextInput) and not read:
            raise DataError(f"column {[*self.columns][0]!r} is missing; add it")
        rows = pd.DataFrame(read, index=table.index)
        return inputs.take(rows[""] if isinstance(inputs, TextInput) else rows)


def _example(kind: str, zone: str | None) -> Any:
    return f"{_KINDS[kind][0]}+00:00" if zone else _KINDS[kind][0]


def typed(values: pd.Series, kind: str, zone: str | None = None) -> pd.Series:
    """Return a column of JSON with the type of the fit; dates are ISO 8601, null is missing.

    >>> typed(pd.Series([None]), "text").tolist(), typed(pd.Series(["2026"]), "date").dtype.kind
    ([nan], 'M')
    >>> typed(pd.Series([5, "6"], name="distance"), "number")
    Traceback (most recent call last):
    pipeline.errors.DataError: column 'distance' holds '6', but the model was fitted on numbers; \
pass values such as 0.0, or null
    """
    mixed = values.dtype == object or isinstance(values.dtype, pd.StringDtype)
    if kind == "other" or not (mixed or kind == "boolean"):
        return values
    known, instead = values.dropna(), f"pass values such as {_example(kind, zone)!r}, or null"
    for value in known:
        text = value if isinstance(value, str) else ""
        bare = kind == "duration" and text and ":" not in text  # pandas would read nanoseconds
        vague = kind == "date" and isinstance(value, str) and not text[:4].isdecimal()  # "now"
        odd = kind == "boolean" and value not in (0, 1)
        naive = zone and not (_OFFSET.search(text) or getattr(value, "tzinfo", None))
        if bare or vague or odd or naive or not isinstance(value, _KINDS[kind][1]):
            held = f"holds {value!r}, but the model was fitted on {kind}s"
            raise DataError(f"column {values.name!r} {held}; {instead}")
    if kind == "text":
        return values.astype("str")
    if known.empty or (kind == "number" and len(known) < len(values)):
        return values.where(values.notna(), np.nan).astype("float64")
    try:
        if kind == "date":
            dates = pd.to_datetime(values, format="ISO8601", utc=bool(zone))
            return dates.dt.tz_convert(zone) if zone else dates
        return pd.to_timedelta(values) if kind == "duration" else values
    except ValueError as error:
        said = str(error).partition(". ")[0]
        raise DataError(f"column {values.name!r}: {said}; {instead}") from error
