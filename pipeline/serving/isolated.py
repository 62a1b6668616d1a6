"""Models of unknown origin: read and run in a process of their own, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.data import frames
from pipeline.errors import DataError
from pipeline.serving import manifest, messages
from pipeline.typing import Table

SECONDS = 300.0
"""Longest time that reading a file, or one call, may take."""


def kind_of(path: Path) -> str:
    """Return what a path holds by its first bytes; nothing is parsed.

    Returns
    -------
    {"folder", "skops", "booster"}

    Raises
    ------
    DataError
        It is in none of these forms. Pickles are never read.
    """
    if manifest.is_model(path):
        return "folder"
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    if start == b"PK\x03\x04":
        return "skops"
    if start[:1] == b"{":
        return "booster"
    if start[:1] == b"\x80":
        raise DataError(f"{path}: a pickle, which can run anything and is never read")
    raise DataError(
        f"{path}: neither a model folder, nor a skops file, nor a booster of XGBoost "
        "(UBJSON or JSON)"
    )


class Isolated:
    """A model in a process of its own, which answers calls.

    The process has no more memory than `memory_bytes`, writes no file, and is ended with
    this object. A file that crashes the parser, or fills the memory, is an error here.

    Parameters
    ----------
    path : Path
    memory_bytes : int
        What the model and its predictions may take beyond an empty process.

    Raises
    ------
    DataError
        The file holds no model, holds types that are not trusted, or ended the process.
    """

    def __init__(self, path: Path, memory_bytes: int = 4 * 1024**3) -> None:
        self.path, self.kind = path, kind_of(path)
        ours, theirs = Pipe()
        command = (sys.executable, "-m", "pipeline.serving.served")
        options = (str(theirs.fileno()), self.kind, str(memory_bytes), str(path.resolve()))
        with theirs:
            self._process = subprocess.Popen(
                [*command, *options],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=Path(__file__).parents[2],
                env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            )
        self._connection: Connection[Any, Any] = ours
        self._result(self._receive())

    def predict(self, X: Table) -> np.ndarray:
        """Return the predicted labels or values, shape (n_rows,)."""
        return self.call("predict", X)

    def predict_proba(self, X: Table) -> np.ndarray:
        """Return the class probabilities, shape (n_rows, n_classes)."""
        return self.call("predict_proba", X)

    def transform(self, X: Table) -> np.ndarray:
        """Return the transformed table, shape (n_rows, n_outputs)."""
        return self.call("transform", X)

    def call(self, method: str, X: Table) -> np.ndarray:
        """Return what a method makes of rows: numbers, or text.

        Raises
        ------
        DataError
            The model cannot do it, or its process ended; or X has partitions, for which it
            would have to go to the workers of a cluster.
        """
        if frames.is_partitioned(X):
            raise DataError(
                f"{self.path}: a model of unknown origin stays in a process of its own and goes "
                "to no workers; X has partitions: pass X.compute()"
            )
        try:
            for message in messages.call(method, X):
                self._connection.send_bytes(message)
        except (OSError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise self._ended() from error
        return self._result(self._receive())

    def _receive(self) -> tuple[bytes, bytes]:
        try:
            if not self._connection.poll(SECONDS):
                self.close()
                raise DataError(f"{self.path}: no answer within {SECONDS:.0f} s")
            header, data = (self._connection.recv_bytes(messages.LARGEST) for _ in range(2))
        except (EOFError, OSError) as error:
            raise self._ended() from error
        return header, data

    def _result(self, received: tuple[bytes, bytes]) -> np.ndarray:
        try:
            return messages.result(*received)
        except DataError as error:
            raise DataError(f"{self.path}: {error}") from error

    def _ended(self) -> DataError:
        self.close()
        code = self._process.returncode
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return DataError(f"{self.path}: the process that read it ended with {how}; not a model")

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection") and not self._connection.closed:
            self._process.kill()
            self.close()
