"""`load`: a model from its folder, onto any device."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from pipeline.errors import DataError, PipelineError
from pipeline.estimator.accelerated import Accelerated
from pipeline.planning.lower import LoweringOptions, lower
from pipeline.serving import manifest, state
from pipeline.serving.codec import Decoder
from pipeline.serving.save import ATTRIBUTES
from pipeline.serving.steps import Unpacker
from pipeline.system.devices import choose, prepare
from pipeline.trace import ExecutionLog
from pipeline.typing import Array


def load(path: str | Path, device: str = "auto") -> Accelerated:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The folder.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where it will run, wherever it was fitted. With ``"auto"`` a step that the GPU
        cannot take over runs on the host, and ``plan_.placements`` says so.

    Returns
    -------
    Accelerated

    Raises
    ------
    DataError
        The folder is no model, is damaged, or is not as it was saved.
    ConfigError
        A part holds types that the model's estimator is not made of.
    DeviceUnavailable
        ``device="cuda"`` and there is no usable GPU.
    """
    folder = Path(path)
    if not manifest.is_model(folder):
        raise DataError(_no_model(folder))
    described, files = manifest.read(folder)
    _tell_versions(described.versions, folder)
    return unpack(files, device)


def _no_model(folder: Path) -> str:
    if not folder.exists():
        return f"{folder}: no such model; make one with `pipeline.save(model, path)`"
    return (
        f"{folder}: not a folder that `pipeline.save` made; pickles, skops files and boosters are "
        "not read: fit the model again and save it"
    )


def _tell_versions(saved: Mapping[str, str], folder: Path) -> None:
    """Warn where the estimators were saved by another minor version of their package."""
    here = manifest.versions()
    for name in ("scikit-learn", "xgboost"):
        was, now = saved.get(name, ""), here.get(name, "")
        if was and now and was.split(".")[:2] != now.split(".")[:2]:
            warnings.warn(
                f"{folder}: saved with {name} {was}, and this is {now}; "
                "compare some predictions, or save the model anew",
                UserWarning,
                stacklevel=3,
            )


def unpack(files: Mapping[str, bytes], device: str) -> Accelerated:
    """Return the model that the parts of a folder make on a device."""
    held, decoder = state.read(files)
    try:
        return _model(held, decoder, files, device)
    except PipelineError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        raise DataError(f"{state.STATE}: not the state of a model: {why}") from error
    except RecursionError as error:
        raise DataError(f"{state.STATE}: nested too deeply") from error


def _model(
    held: state.ModelState, decoder: Decoder, files: Mapping[str, bytes], device: str
) -> Accelerated:
    model = Accelerated(
        _estimator(decoder.decode(held.estimator)), device, **_settings(held, decoder)
    )
    choice = choose(device)
    prepare(choice.name)
    fallback = device == "auto" if model.fallback is None else model.fallback
    plan = lower(
        model.estimator,
        choice.name,
        LoweringOptions(fallback, model.dtype, model.rank_error),
    )
    Unpacker(decoder, files, fallback=fallback).plan(plan, held.steps)
    model.device_, model.device_why_ = choice.name, choice.why
    model.plan_, model.execution_log_ = plan, ExecutionLog([])
    model.profile_ = held.profile
    model.inputs_ = state.unpack_inputs(held.inputs, decoder)
    for name, value in _mapping(decoder.decode(held.attributes), ATTRIBUTES).items():
        setattr(model, name, value)
    return model


def _estimator(value: Array) -> BaseEstimator:
    if not isinstance(value, BaseEstimator):
        raise DataError(f"{state.STATE}: the estimator is no estimator")
    return value


_KINDS: Mapping[str, Any] = {
    "dtype": str,
    "fallback": bool | None,
    "host_bytes": int | None,
    "profile": bool,
    "rank_error": float | int,
}
_LATER = {"host_bytes"}
"""Settings that came after the first files of the format, which do without them."""


def _settings(held: state.ModelState, decoder: Decoder) -> dict[str, Any]:
    settings = decoder.decode(held.settings)
    if not isinstance(settings, dict):
        raise DataError(f"{state.STATE}: the settings are damaged")
    if unknown := sorted(map(str, set(settings) - set(_KINDS))):
        raise DataError(
            f"{state.STATE}: holds the settings {unknown}, which this version does not know; "
            "load it with the version that saved it, or a later one"
        )
    damaged = [name for name, value in settings.items() if not isinstance(value, _KINDS[name])]
    if damaged or not set(_KINDS) - _LATER <= set(settings):
        raise DataError(f"{state.STATE}: the settings are damaged")
    return settings


def _mapping(value: Array, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict) or not set(value) <= set(known):
        raise DataError(f"{state.STATE}: not a mapping of {', '.join(known)}")
    return value
