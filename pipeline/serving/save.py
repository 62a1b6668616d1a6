"""`save`: write a fitted model as a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from pipeline.compile import source_code
from pipeline.compile.plan import placement_records
from pipeline.errors import ConfigError
from pipeline.files.table_format import TableFormat
from pipeline.model.accelerated import Accelerated
from pipeline.serving import manifest, state, steps
from pipeline.serving.manifest import Manifest
from pipeline.system.atomic import publishing
from pipeline.table import frames


@dataclass(frozen=True)
class About:
    """What the manifest says about a model in addition to the model itself."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    data_sha256: str | None = None
    """SHA-256 of the file of the training rows."""
    format: TableFormat | None = None
    """How the file of the training rows was written; files to predict are read in the same way. By
    default, `table_format_` of the model."""


def save(model: Accelerated, path: str | Path, about: About | None = None) -> Path:
    """Write a fitted model into a folder, completely or not at all.

    No file is a pickle: estimators are stored as skops, XGBoost boosters as UBJSON, and
    everything else as JSON.

    Parameters
    ----------
    model : Accelerated
        A fitted model.
    path : str or Path
        The folder; an existing model is replaced in one step.
    about : About, optional
        Metrics and hash of the data for the manifest.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ConfigError
        A part of the model, such as a function of your own, cannot be saved without pickle.
    OutputError
        The folder cannot be written, or contains something else.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from sklearn.linear_model import LogisticRegression
    >>> from pipeline import load
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = Accelerated(LogisticRegression(), device="cpu").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     load(save(model, pathlib.Path(home, "model")), device="cpu").predict(X).tolist()
    [0, 0, 1, 1]
    """
    if not isinstance(model, Accelerated):
        best = isinstance(getattr(model, "best_estimator_", None), Accelerated)
        raise ConfigError(
            f"save needs an Accelerated, not {type(model).__name__}; "
            + ("pass its best_estimator_" if best else "fit Accelerated(estimator)")
        )
    check_is_fitted(model, "plan_")
    model._check_unchanged()
    folder = Path(path)
    files, text = pack(model, about or About())
    with publishing(folder) as draft:
        manifest.write_manifest(draft, files, text)
    return folder


def pack(model: Accelerated, about: About) -> tuple[dict[str, bytes], Manifest]:
    """Return the parts of a fitted model, and the manifest that describes them."""
    plan = model.plan_
    packed = [steps.pack_steps(step.worker, number) for number, step in enumerate(plan.steps)]
    settings = {name: getattr(model, name) for name in state.Settings.__struct_fields__}
    saved = state.SavedState(
        settings=state.Settings(**settings),
        inputs=state.pack_inputs(model.inputs_),
        steps=[(step.name, each.state) for step, each in zip(plan.steps, packed, strict=True)],
        profile=model.profile_,
        output=vars(model).get("_sklearn_output_config", {}).get("transform"),
    )
    used = getattr(model.inputs_, "used", None)
    known = getattr(plan.steps[-1].worker, "background", None)
    objects = state.SavedObjects(
        estimator=without_memory(model.estimator),
        classes=getattr(model, "classes_", None),
        names=model.inputs_.names,
        used=used and list(used),
        steps=[(each.names, each.fitted) for each in packed],
        background=known and (known.n_rows, frames.to_host(known.means)),
    )
    estimators = [objects.estimator, *(each.fitted for each in packed if each.fitted is not None)]
    for each in estimators:
        check_keys(each)
    if replaced := {id(each): [*each.tolist()] for each in held_by_pandas(estimators)}:
        objects = deepcopy(objects, replaced)
    files = state.encode(saved, objects)
    for each in packed:
        files |= each.files
    return files, Manifest(
        format=manifest.FORMAT,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=manifest.versions(),
        estimator=source_code.code(model.estimator),
        device=model.device_,
        device_why=model.device_why_,
        plan=placement_records(plan.placements),
        metrics={name: float(value) for name, value in about.metrics.items()},
        data_sha256=about.data_sha256,
        certificate=msgspec.to_builtins(getattr(model, "certificate_", None)),
        table_format=about.format or model.table_format_,
        targets=model.target_names_,
    )


def without_memory(estimator: BaseEstimator) -> BaseEstimator:
    """Return an estimator without the folder of its `memory`, which is of this machine alone."""
    params = estimator.get_params(deep=True)
    folders = [name for name in params if name.rpartition("__")[2] == "memory"]
    if all(params[name] is None for name in folders):
        return estimator
    return clone(estimator).set_params(**dict.fromkeys(folders))


def check_keys(estimator: BaseEstimator) -> None:
    """Reject parameters that are mappings of which skops would not keep the keys.

    These are neither text nor numbers, or truth values, or two are the same as text.
    """
    for path, value in estimator.get_params(deep=True).items():
        keys = [*value] if isinstance(value, dict) else []
        known = all(isinstance(key, str | int | float | np.generic) for key in keys)
        bools = any(isinstance(key, bool | np.bool_) for key in keys)
        if not known or bools or len({str(key) for key in keys}) < len(keys):
            raise ConfigError(
                f"estimator.{path.replace('__', '.')}: a mapping with the keys {keys} cannot be "
                "saved; use only text or only numbers as keys, such as 1 instead of True"
            )


def held_by_pandas(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield indexes, series and arrays of pandas among parameters and what was fitted of them.

    Such are the keys of a `ColumnTransformer` that were taken from a table.

    >>> from sklearn.compose import make_column_transformer
    >>> X = pd.DataFrame({"a": [1], "b": [2]})
    >>> [list(each) for each in held_by_pandas(make_column_transformer(("drop", X.columns)))]
    [['a', 'b']]
    """
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, pd.Index | pd.Series | pd.api.extensions.ExtensionArray):
        yield value
        return
    held: Iterable[Any] = value if isinstance(value, list | tuple) else ()
    if isinstance(value, BaseEstimator | Mapping):
        held = value.values() if isinstance(value, Mapping) else vars(value).values()
    for each in held:  # which lives, so that no other gets its id
        yield from held_by_pandas(each, seen)
