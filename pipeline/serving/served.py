"""The process of an `Isolated` model: reads the file under limits, then answers calls.

Started as ``python -m pipeline.serving.served FD KIND MEMORY PATH``.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from pipeline.errors import ConfigError, DataError
from pipeline.optional import load as load_name
from pipeline.serving import allowlist, load, messages
from pipeline.typing import Estimator

METHODS = frozenset(
    ["decision_function", "predict", "predict_log_proba", "predict_proba", "score_samples"]
) | {"transform"}


def limit(memory_bytes: int) -> None:
    """Allow so much more memory, no files, no traces of a crash.

    Parameters
    ----------
    memory_bytes : int
        Beyond the address space that the process has already.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _folder(path: Path) -> Any:
    return load.load(path, "cpu")


def _skops(path: Path) -> Any:
    """Return the estimator of a skops file of anybody's, if all its types are on our list."""
    skops = load_name("skops.io")
    data = path.read_bytes()
    strangers = sorted(set(skops.get_untrusted_types(data=data)) - set(allowlist.ALL))
    if strangers:
        raise ConfigError(f"holds types that are not trusted: {strangers}")
    return skops.loads(data, trusted=allowlist.ALL)


def _booster(path: Path) -> Any:
    """Return the estimator of XGBoost that a file of trees belongs to."""
    xgboost = load_name("xgboost")
    data = bytearray(path.read_bytes())
    booster = xgboost.Booster()
    booster.load_model(data)
    learner = json.loads(booster.save_config())["learner"]
    objective = str(learner["learner_train_param"]["objective"])
    classifies = objective.startswith(("binary:", "multi:"))
    estimator = (xgboost.XGBClassifier if classifies else xgboost.XGBRegressor)(n_jobs=1)
    estimator.load_model(data)
    return estimator


READERS: Mapping[str, Callable[[Path], Any]] = {
    "booster": _booster,
    "folder": _folder,
    "skops": _skops,
}


PARSERS: Mapping[str, Sequence[str]] = {
    "booster": ["xgboost"],
    "folder": ["skops.io", "xgboost", "sklearn.ensemble"],
    "skops": ["skops.io", "xgboost", "sklearn.ensemble"],
}
"""Kind of a file -> what reads it."""


def answered(model: Estimator, header: bytes, data: bytes) -> tuple[bytes, bytes]:
    """Return the messages that answer a call."""
    call = msgspec.json.decode(header, type=messages.Call)
    if call.method not in METHODS or not hasattr(model, call.method):
        return messages.failure(f"{type(model).__name__} has no {call.method}")
    try:
        return messages.answer(getattr(model, call.method)(messages.rows(call, data)))
    except Exception as error:  # whatever a model of unknown origin raises is its answer
        return messages.failure(_told(error))


def _told(error: Exception) -> str:
    ours = isinstance(error, DataError | ConfigError)
    return str(error) if ours else f"not a model: {type(error).__name__}: {error}"


def serve(connection: Connection[Any, Any], kind: str, path: Path) -> None:
    """Read the model, say how it went, then answer calls until the other end is closed."""
    try:
        model = READERS[kind](path)
        reply = messages.answer(True)
    except Exception as error:  # whatever a broken file leads a parser to
        model, reply = None, messages.failure(_told(error))
    while True:
        for message in reply:
            connection.send_bytes(message)
        if model is None:
            return
        try:
            header, data = connection.recv_bytes(), connection.recv_bytes()
        except EOFError:
            return
        reply = answered(model, header, data)


def main(arguments: list[str]) -> None:
    """Run the process."""
    handle, kind, memory_bytes, path = arguments
    warnings.simplefilter("ignore")
    for name in PARSERS[kind]:
        load_name(name)  # before the limits
    limit(int(memory_bytes))
    with Connection(int(handle)) as connection:
        serve(connection, kind, Path(path))


if __name__ == "__main__":
    main(sys.argv[1:])
