"""Models as files, without pickle: scikit-learn's through skops, XGBoost's inside it.

And what a file, or a folder of Parquet files, is known by: its digest and its size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from pipeline.errors import ConfigError, DataError
from pipeline.optional import load as load_name
from pipeline.typing import Estimator

Filter = Sequence[tuple[str, str, Any]]
"""Conditions on columns that a Parquet reader pushes down: ``[("month", "<=", 9)]``."""

TRUSTED = [
    "datetime.date",
    "numpy.dtype",
    "pipeline.preprocessing.transformers.calendar.CalendarFeatures",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.tree._tree.Tree",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
]
"""Types beyond skops' own list that a model of ours may hold."""


def save(model: Estimator, path: Path) -> str:
    """Write a fitted scikit-learn model and return the sha256 of the file.

    Parameters
    ----------
    model : estimator
        What `Accelerated.to_sklearn` returns.
    path : Path
        Its parent exists.
    """
    load_name("skops.io").dump(model, path)
    return digest(path)


def load(path: Path, sha256: str) -> Any:
    """Read a model back, after its digest has been checked.

    Raises
    ------
    DataError
        The file is missing, is not the one that was saved, or holds no model.
    ConfigError
        The file holds types that are not trusted.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such model; make one with `make run`")
    found = digest(path)
    if found != sha256:
        raise DataError(f"{path}: damaged or replaced: sha256 {found}, recorded {sha256}")
    skops = load_name("skops.io")
    try:
        strangers = sorted(set(skops.get_untrusted_types(file=path)) - set(TRUSTED))
    except (BadZipFile, KeyError) as error:
        raise DataError(f"{path}: not a model: {error}") from error
    if strangers:
        raise ConfigError(f"{path}: holds types that are not trusted: {strangers}")
    return skops.load(path, trusted=TRUSTED)


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names, or the file itself."""
    if not path.is_dir():
        return [path]
    files = sorted(
        file
        for file in path.rglob("*.parquet")
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )
    if not files:
        raise DataError(f"{path}: holds no file whose name ends in .parquet")
    return files


def size(path: Path) -> int:
    """Return the bytes of a file, or of the Parquet files of a folder."""
    return sum(file.stat().st_size for file in parquet_files(path))


def digest(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal; of a folder, that of its files' digests."""
    if path.is_dir():
        lines = (f"{digest(file)}  {file.name}\n" for file in parquet_files(path))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
