"""What to predict, and the record of it."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

import msgspec

from pipeline.data.csv import MISSING
from pipeline.data.drift import ColumnProfile, Difference
from pipeline.data.table_format import TableFormat
from pipeline.errors import ConfigError, DataError
from pipeline.serving import manifest, outputs
from pipeline.system.atomic import sha256

SCHEMA: Final = "pipeline.prediction/3"
ROWS: Final = 131_072
"""Rows of a batch: 20 columns of float64 are 20 MiB."""
CHANCE: Final = 1e-6
"""A column without a value is an error where chance makes it so less often than this."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """About the predictions: in the metadata of their file, and beside it."""

    schema: Literal["pipeline.prediction/3"]
    created: str
    model: str
    model_sha256: str
    """Of the model's list of sums, and so of all of it."""
    input: str
    input_bytes: int
    rows: int
    method: str
    classes: list[str] | None
    device: str
    seconds: float
    """Wall time."""
    batches: int
    not_read: list[str]
    """Columns of the input that the model was not fitted on."""
    casts: list[str]
    """Columns whose type was changed, which no value is."""
    columns: list[Difference]
    """Empty where the model was fitted without ``profile=True``."""
    empty: list[str] = []
    """Columns that the model reads and that hold no value in any row."""
    cluster: str = ""
    """Whose workers predicted; empty where it was this process."""
    output: str = ""
    """The file of the predictions."""
    output_columns: list[str] = []
    cautions: list[str] = []
    """How the rows are unlike those of the fit, as far as a profile knows them."""

    def _repr_html_(self) -> str:
        """Return a link to the file, and what it holds."""
        link = f'<a href="{quote(self.output)}">{escape(self.output)}</a>'
        columns = ", ".join(map(escape, self.output_columns))
        doubts = "".join(f"<p>caution: {escape(doubt)}</p>" for doubt in self.cautions)
        return (
            f"<p>{self.rows:,} rows predicted by <code>{escape(self.model)}</code> "
            f"({escape(self.method)}) in {self.seconds:.1f} s: {link}</p><p>{columns}</p>{doubts}"
        )


@dataclass(frozen=True)
class PredictionJob:
    """What to predict, and how.

    Parameters
    ----------
    model, source, target : Path
        The model's folder, a table, and the file to write: CSV or JSON lines where its name says
        so, and Parquet otherwise.
    device : {"auto", "cpu", "cuda"}
    method : str, optional
        By default ``"predict_proba"``, ``"predict"`` or ``"transform"``, the first that
        the model has; the first with the class beside the probabilities.
    keep : sequence of str
        Columns of the input to copy to the output; without any, the rows are numbered.
    rows : int
        Of a batch.
    allow_empty : sequence of str
        Columns that may be without any value, though the rows of the fit had some.
    quote_formulas : bool
        In CSV, put a ``'`` before text that a spreadsheet would run as a formula.
    """

    model: Path
    source: Path
    target: Path
    device: str = "auto"
    method: str | None = None
    keep: Sequence[str] = field(default_factory=tuple)
    rows: int = ROWS
    allow_empty: Sequence[str] = field(default_factory=tuple)
    quote_formulas: bool = False

    def check(self) -> None:
        """Check that the files are there, and that none would be written over.

        Raises
        ------
        DataError
            There is no input.
        ConfigError
            The output is the input, or lies in the model's folder.
        """
        if outputs.output_kind(self.target) != "csv" and self.quote_formulas:
            raise ConfigError(f"{self.target}: formulas are quoted in .csv files alone")
        if not self.source.exists():
            raise DataError(f"{self.source}: no such file")
        target = self.target.resolve()
        if target.exists() and target.samefile(self.source):
            raise ConfigError(f"{self.target}: is the input; choose another name for the output")
        for folder, whole in ((self.model, manifest.is_model), (self.source, Path.is_dir)):
            if folder.resolve() in target.parents and whole(folder):
                raise ConfigError(f"{self.target}: lies in {folder}; choose another folder")


def files_of(source: Path) -> list[Path]:
    """Return a file, or the files of a folder in order."""
    return sorted(path for path in [source, *source.rglob("*")] if path.is_file())


def sums(model: Path) -> str:
    """Return the hash of a model's list of sums, and so of all of it."""
    path = model / manifest.SUMS
    return sha256(path.read_bytes()) if path.is_file() else ""


def check_empty(record: Record, job: PredictionJob, profile: Mapping[str, ColumnProfile]) -> None:
    """Refuse columns without a value that chance does not explain; warn of the others.

    Raises
    ------
    DataError
        A column lacks any value, and at fit it had some.
    """
    for name in record.empty:
        if name in job.allow_empty:
            continue
        learnt = profile.get(name)
        # The share of missing values at fit, a little more than was seen.
        share = (learnt.without + 1) / (learnt.rows + 2) if learnt else 1.0
        what = f"{job.source}: the column {name!r} has no value in any of {record.rows:,} rows"
        if share**record.rows < CHANCE:
            raise DataError(
                f"{what}, and {learnt.missing if learnt else 0:.0%} were missing at fit; fix the "
                f"input, or pass --allow-empty {shlex.quote(name)}"
            )
        warnings.warn(f"{what}; all are predicted as missing", UserWarning, stacklevel=3)


def warn_of_names(job: PredictionJob, classes: Sequence[str] | None) -> None:
    """Warn of classes that readers of CSV take for a missing value."""
    lost = sorted({*(classes or ())} & {*MISSING})
    if lost and outputs.output_kind(job.target) == "csv":
        warnings.warn(
            f"{job.target}: the classes {lost} stand for missing values in CSV, as "
            "pandas.read_csv reads it; choose a .parquet or .jsonl file",
            UserWarning,
            stacklevel=2,
        )


def warn_of_marks(
    job: PredictionJob, profile: Mapping[str, ColumnProfile], format: TableFormat | None
) -> None:
    """Warn of texts at fit that are none in CSV, as far as a profile knows them."""
    formats = format.columns if format else {}
    known = {
        name: sorted(
            {*(learnt.values or [])} & {*MISSING} - {*getattr(formats.get(name), "values", ())}
        )
        for name, learnt in profile.items()
    }
    if lost := {name: texts for name, texts in known.items() if texts}:
        warnings.warn(
            f"{job.source}: the model knows the texts {lost}, which stand for missing values in "
            "CSV; give it Parquet",
            UserWarning,
            stacklevel=2,
        )
