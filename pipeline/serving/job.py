"""What to predict, and the record of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import msgspec

from pipeline.data.drift import Difference
from pipeline.errors import ConfigError, DataError
from pipeline.serving import manifest, outputs

SCHEMA: Final = "pipeline.prediction/4"
ROWS: Final = 131_072
"""Rows of a batch: 20 columns of float64 are 20 MiB."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """About the predictions: in the metadata of their file, and beside it."""

    schema: Literal["pipeline.prediction/4"]
    created: str
    model: str
    model_sha256: str
    """Of the model's list of sums, and so of all of it."""
    input: str
    rows: int
    method: str
    classes: list[str] | None
    device: str
    seconds: float
    """Wall time."""
    batches: int
    not_read: list[str]
    """Columns of the input that the model was not fitted on."""
    columns: list[Difference]
    """Empty where the model was fitted without ``profile=True``."""
    cluster: str
    """Whose workers predicted; empty where it was this process."""
    output: str
    """The file of the predictions."""
    output_columns: list[str]
    cautions: list[str]
    """How the rows are unlike those of the fit, as far as that is known."""


@dataclass(frozen=True)
class PredictionJob:
    """What to predict, and how.

    Parameters
    ----------
    model, source, target : Path
        The model's folder, a table, and the file to write: CSV where its name says so, and Parquet
        otherwise.
    device : {"auto", "cpu", "cuda"}
    method : str, optional
        By default ``"predict_proba"``, ``"predict"`` or ``"transform"``, the first that
        the model has; the first with the class beside the probabilities.
    keep : sequence of str
        Columns of the input to copy to the output; without any, the rows are numbered.
    rows : int
        Of a batch.
    """

    model: Path
    source: Path
    target: Path
    device: str = "auto"
    method: str | None = None
    keep: Sequence[str] = field(default_factory=tuple)
    rows: int = ROWS

    def check(self) -> None:
        """Check that the files are there, and that none would be written over.

        Raises
        ------
        DataError
            There is no input.
        ConfigError
            The output is the input, or lies in the model's folder, or has no name of a table.
        """
        outputs.is_csv(self.target)
        if not self.source.exists():
            raise DataError(f"{self.source}: no such file")
        target = self.target.resolve()
        if target.exists() and target.samefile(self.source):
            raise ConfigError(f"{self.target}: is the input; choose another name for the output")
        for folder, whole in ((self.model, manifest.is_model), (self.source, Path.is_dir)):
            if folder.resolve() in target.parents and whole(folder):
                raise ConfigError(f"{self.target}: lies in {folder}; choose another folder")
