"""Saved models in MLflow's format: our folder inside MLflow's, without pickle.

MLflow's server and `mlflow.pyfunc` return the columns that `predict_file` writes. Rows of JSON are
given the types of the fit before a step reads them.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import partial
from numbers import Number
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline import optional
from pipeline.errors import DataError, PipelineError
from pipeline.model.accelerated import Accelerated
from pipeline.model.as_given import GivenInput
from pipeline.model.inputs import TextInput
from pipeline.serving import manifest
from pipeline.serving.answers import Question
from pipeline.serving.load import load
from pipeline.serving.save import save
from pipeline.table import frames, partitioned
from pipeline.table.schema import Schema

FLAVOR_NAME: Final = "gpu_tabular_pipeline"
DATA: Final = "pipeline.model"
"""The folder that `pipeline.save` writes, inside that of MLflow."""
TEXT: Final = "text"
"""The column of documents that had no name at fit."""
_SERVED: Final = "MLflow returns dense rows"
_XGBOOST: Final = {"cpu": "xgboost-cpu", "cu12": "xgboost-cu12", "cu13": "xgboost"}
_NUMBERS = Number, np.bool_
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "number": _NUMBERS, "boolean": _NUMBERS, "text": (str,),
    "date": (str, date), "duration": (str, timedelta),
}  # fmt: skip
_EXAMPLES: Final = {
    "number": 0.0,
    "boolean": True,
    "text": "text",
    "date": "2026-01-31T12:00:00",
    "duration": "01:30:00",
}
_WANTED: Final = {kind: f"{kind}s, such as {value!r}" for kind, value in _EXAMPLES.items()}


def save_model(
    model: Accelerated | str | Path,
    path: str | Path,
    mlflow_model: Any = None,
    *,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Iterable[str] | None = None,
) -> None:
    """Write a model as a folder that MLflow loads and serves.

    Parameters
    ----------
    model : Accelerated, str or Path
        A fitted model, or a folder that `pipeline.save` wrote.
    path : str or Path
        The folder; it must not exist.
    mlflow_model : mlflow.models.Model, optional
        MLflow's record of the model; `log_model` passes it.
    signature : mlflow.models.ModelSignature, optional
        By default, the names of the columns of the fit, and the method as a parameter.
    input_example : DataFrame, optional
        By default, a row that is made up from the types of the columns. MLflow shows it to
        everyone, so do not pass rows of people.
    pip_requirements : iterable of str, optional
        By default, this package and the versions of what the model depends on.

    Raises
    ------
    ConfigError
        MLflow is not installed, or the model cannot be saved without pickle.
    OutputError
        The folder cannot be written.
    """
    pyfunc, models = optional.load("mlflow.pyfunc"), optional.load("mlflow.models")
    folder, record = Path(path), mlflow_model or models.Model()
    folder.mkdir(parents=True)
    if isinstance(model, Accelerated):
        save(model, folder / DATA)
    else:
        shutil.copytree(model, folder / DATA)
        model = load(model)
    served = Served(model)
    if input_example is None:
        input_example = served.example()
    record.signature = signature or served.signature(input_example)
    optional.load("mlflow.models.utils._save_example")(record, input_example, str(folder))
    here = manifest.versions()
    pins = _pins(here) if pip_requirements is None else pip_requirements
    (folder / "requirements.txt").write_text("".join(f"{pin}\n" for pin in pins), "utf-8")
    python = optional.load("mlflow.utils.environment._PythonEnv")
    python(here["python"], None, ["-r requirements.txt"]).to_yaml(folder / "python_env.yaml")
    pyfunc.add_to_model(
        record, __name__, data=DATA, python_env="python_env.yaml", model_config={"device": "auto"}
    )
    record.add_flavor(FLAVOR_NAME, version=here["pipeline"], data=DATA)
    record.save(folder / models.model.MLMODEL_FILE_NAME)


def log_model(model: Accelerated | str | Path, name: str, **options: Any) -> Any:
    """Log a model to MLflow: to the active run, or to a new one.

    Parameters
    ----------
    model : Accelerated, str or Path
        A fitted model, or a folder that `pipeline.save` wrote.
    name : str
        The name of the logged model.
    **options
        Of `mlflow.models.Model.log`, such as ``registered_model_name``, and of `save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is what `load_model` and `mlflow models serve` take.

    Raises
    ------
    ConfigError
        MLflow is not installed, or the model cannot be saved without pickle.

    Examples
    --------
    >>> from pipeline.serving import mlflow_flavor
    >>> info = mlflow_flavor.log_model(model, name="late")  # doctest: +SKIP
    >>> mlflow_flavor.load_model(info.model_uri).predict(X)  # doctest: +SKIP
    """
    log, own = optional.load("mlflow.models.Model").log, sys.modules[__name__]
    return log(None, own, name=name, flavor_name=FLAVOR_NAME, model=model, **options)


def load_model(uri: str | Path, device: str = "auto") -> Accelerated:
    """Load a model from MLflow.

    Parameters
    ----------
    uri : str or Path
        A folder that `save_model` wrote, or a URI of MLflow, such as ``models:/late/1``.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where it runs.

    Returns
    -------
    Accelerated

    Raises
    ------
    ConfigError
        MLflow is not installed.
    DataError
        The folder is damaged, or of another flavor.
    """
    fetch = optional.load("mlflow.artifacts.download_artifacts")
    return load(Path(fetch(artifact_uri=str(uri))) / DATA, device)


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Served:
    return Served(load(path, (model_config or {}).get("device", "auto")))


def _pins(here: Mapping[str, str]) -> list[str]:
    """Return requirements that hold the versions of this environment."""
    extra = next((each for each in ("cu12", "cu13") if optional.version(f"cudf-{each}")), "cpu")
    names = {name: name for name in manifest.PACKAGES}
    names |= {"xgboost": _XGBOOST[extra], "mlflow": "mlflow-skinny"}
    found = {**here, "mlflow": optional.version("mlflow-skinny")}
    first = f"{optional.DISTRIBUTION}[{extra},serve]=={here['pipeline']}"
    return [first, *(f"{own}=={found[name]}" for name, own in names.items() if found.get(name))]


class Served:
    """A model that MLflow calls: rows of JSON in, the columns of the predictions out.

    Models that scikit-learn runs as they are get the rows as MLflow parsed them.
    """

    def __init__(self, model: Accelerated) -> None:
        self.model, inputs = model, model.inputs_
        self.names = {str(name): name for name in inputs.names or ()}
        self.kinds: Mapping[str, str] = getattr(inputs, "kinds", {})
        if isinstance(inputs, TextInput):
            self.kinds = {inputs.column or TEXT: "text"}

    def example(self) -> pd.DataFrame | None:
        """Return a made-up row; None if the model predicts no row of this kind."""
        row = pd.DataFrame([{name: _EXAMPLES.get(kind) for name, kind in self.kinds.items()}])
        try:
            self._predict(row, None)
        except ValueError:
            return None
        return row

    def signature(self, example: Any) -> Any:
        """Return the names of the columns, and the method as a parameter.

        Without types: MLflow would read the text "no" as True and the number 5 as a date.
        """
        types, anything = optional.load("mlflow.types"), optional.load("mlflow.types.schema")
        used = getattr(self.model.inputs_, "used", None)
        read = {*self.kinds} if used is None else {str(name) for name in used}
        columns = [
            types.ColSpec(anything.AnyType(), name, required=name in read) for name in self.kinds
        ]
        method = types.ParamSpec("method", types.DataType.string, "")
        named = () if example is None else self._predict(example, None)
        outputs = [types.ColSpec(anything.AnyType(), name) for name in named]
        schemas = [types.Schema(each) if each else None for each in (columns, outputs)]
        make = optional.load("mlflow.models.ModelSignature")
        return make(*schemas, types.ParamSchema([method]))

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return the columns that `predict_file` writes, without the numbers of the rows.

        Parameters
        ----------
        model_input : DataFrame or array
        params : mapping, optional
            ``{"method": "predict_proba"}`` calls this method only.

        Raises
        ------
        MlflowException
            The rows cannot be predicted: an error of the client. Other errors are the server's.
        """
        try:
            return self._predict(model_input, (params or {}).get("method") or None)
        except (PipelineError, ValueError) as error:
            kind = optional.load("mlflow.exceptions.MlflowException")
            codes = optional.load("mlflow.protos.databricks_pb2")
            ours = codes.BAD_REQUEST if isinstance(error, ValueError) else codes.INTERNAL_ERROR
            raise kind(str(error), error_code=ours) from error

    def _predict(self, given: Any, method: str | None) -> pd.DataFrame:
        question = Question.of(self.model, method)
        columns = question.columns(partial(self._call, self._rows(given)))
        return pa.table(columns).to_pandas()

    def _call(self, rows: Any, method: str) -> Any:
        values = getattr(self.model, method)(rows)
        return partitioned.densify(values, method, _SERVED) if frames.is_sparse(values) else values

    def _rows(self, given: Any) -> Any:
        """Return rows as the model was fitted on them.

        The schema is applied here, as on a CPU `predict` lets scikit-learn try rows that it
        rejects.
        """
        inputs = self.model.inputs_
        if isinstance(inputs, GivenInput) or frames.is_sparse(given):
            return given
        table = given if isinstance(given, pd.DataFrame) else pd.DataFrame(given)
        if not self.kinds:
            return inputs.take(frames.matrix(table.apply(_numbers)))
        columns = getattr(inputs, "columns", None) or {}
        read = {
            self.names.get(name, name): typed(
                table[name], kind, getattr(columns.get(self.names.get(name)), "zone", None)
            )
            for name, kind in self.kinds.items()
            if name in table
        }
        if not isinstance(inputs, TextInput):
            return inputs.take(pd.DataFrame(read, index=table.index))
        if not read:
            raise DataError(f"the column {[*self.kinds][0]!r} is missing; add it")
        return inputs.take(next(iter(read.values())))


def typed(cells: pd.Series, kind: str, zone: str | None = None) -> pd.Series:
    """Return a column of JSON with the type of the fit; dates are ISO 8601, null is missing.

    Examples
    --------
    >>> typed(pd.Series([None], name="carrier"), "text").tolist()
    [nan]
    >>> typed(pd.Series(["2026-01-31"], name="day"), "date").tolist()
    [Timestamp('2026-01-31 00:00:00')]
    >>> typed(pd.Series([5, "6"], name="distance"), "number")
    Traceback (most recent call last):
    pipeline.errors.DataError: column 'distance' holds '6', but the model was fitted on numbers, \
such as 0.0; pass these or null

    Raises
    ------
    DataError
        A value is of another type.
    """
    if not (cells.dtype == object or isinstance(cells.dtype, pd.StringDtype)) or kind == "other":
        return cells
    known = cells.dropna()
    other = [value for value in known if not isinstance(value, _TYPES[kind])]
    strings = [value for value in known if isinstance(value, str)]
    if kind == "duration":  # pandas would read a bare number as nanoseconds
        other += [value for value in strings if not re.search(r"[A-Za-z:]", value)]
    if zone:
        other += [value for value in strings if not _OFFSET.search(value)]
    if other:
        offset = f" with an offset, as its dates have the time zone {zone}" * bool(zone)
        raise DataError(
            f"column {cells.name!r} holds {other[0]!r}, but the model was fitted on "
            f"{_WANTED[kind]}{offset}; pass these or null"
        )
    if known.empty and kind != "text":
        return cells.astype("float64")
    if kind == "text":
        return cells.astype("str")
    if kind in ("number", "boolean"):
        missing = kind == "number" and len(known) < len(cells)
        return cells.where(cells.notna(), np.nan).astype("float64") if missing else cells
    try:
        if kind == "duration":
            return pd.to_timedelta(cells)
        dates = pd.to_datetime(cells, format="ISO8601", utc=bool(zone))
    except ValueError as error:
        said = str(error).partition(". ")[0]
        raise DataError(
            f"column {cells.name!r}: {said}; pass {_WANTED[kind]}, or null"
        ) from error
    return dates.dt.tz_convert(zone) if zone else dates


_OFFSET: Final = re.compile(r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$")


def _numbers(cells: pd.Series) -> pd.Series:
    """Return a column of a matrix, which holds numbers only."""
    if isinstance(cells.dtype, pd.StringDtype):
        cells = cells.astype(object)
    return typed(cells, "number")
