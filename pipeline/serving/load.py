"""`load`: read a model from its folder, for any device."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from pipeline.backends.base import Background
from pipeline.compile.lower import LoweringOptions, lower
from pipeline.compile.plan import run_as_given
from pipeline.compile.rules import needs_order
from pipeline.compile.spec import RowSpec
from pipeline.errors import DataError, PipelineError, Reason, Unsupported
from pipeline.model.accelerated import Accelerated
from pipeline.model.as_given import GivenInput
from pipeline.model.inputs import Input
from pipeline.serving import manifest, state, steps
from pipeline.serving.manifest import AGAIN
from pipeline.system.devices import Choice, choose, prepare_memory
from pipeline.table.output import framed


def load(path: str | Path, device: str = "auto") -> Accelerated:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The folder.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where it runs, wherever it was fitted. With ``"auto"``, a step that the GPU cannot
        run runs on the host, and ``plan_.placements`` says so.

    Returns
    -------
    Accelerated

    Raises
    ------
    DataError
        The folder is not a model, or is damaged or changed.
    ConfigError
        A part holds types that are not trusted.
    DeviceUnavailable
        `device` is ``"cuda"``, but there is no usable GPU.
    """
    folder = Path(path)
    if not manifest.is_model(folder):
        said = (
            "not a model folder written by `pipeline.save`; pickles, skops files and boosters "
            "cannot be loaded: fit the model again and save it with `pipeline.save`"
        )
        if not folder.exists():
            said = "no such model; create one with `pipeline.save(model, path)`"
        elif models := sorted(folder.glob(f"*/{manifest.MANIFEST}")):
            said = f"a folder of models; pass one of them, such as {models[0].parent}"
        raise DataError(f"{folder}: {said}")
    described, files = manifest.read_manifest(folder)
    _warn_of_versions(described.versions, folder)
    model = unpack(files, device)
    model.table_format_, model.target_names_ = described.table_format, described.targets
    return model


def _warn_of_versions(saved: Mapping[str, str], folder: Path) -> None:
    """Warn where the estimators were saved by another minor version of their package."""
    here = manifest.versions()
    for name in ("scikit-learn", "xgboost"):
        was, now = saved.get(name, ""), here.get(name, "")
        if was and now and was.split(".")[:2] != now.split(".")[:2]:
            warnings.warn(
                f"{folder}: saved with {name} {was}, but {now} is installed; "
                "check some predictions, or fit and save the model again",
                UserWarning,
                stacklevel=3,
            )


def unpack(files: Mapping[str, bytes], device: str) -> Accelerated:
    """Return the model that the parts of a folder make on a device."""
    broken = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
    try:
        return _model(*state.decode(files), files, device)
    except PipelineError:
        raise
    except broken as error:
        raise DataError(
            f"{state.STATE}: not the state of a model that this version can read: "
            f"{type(error).__name__}: {error}; load it with the version that saved it, or {AGAIN}"
        ) from error


def _model(
    saved: state.SavedState, objects: state.SavedObjects, files: Mapping[str, bytes], device: str
) -> Accelerated:
    model = Accelerated(objects.estimator, device, **msgspec.structs.asdict(saved.settings))
    if saved.output is not None:
        model.set_output(transform=saved.output)
    packed = state.packed_steps(saved, objects, files)
    if saved.inputs.kind == "given":  # scikit-learn runs it as it is
        why = "it was saved that way"
        plan = run_as_given(framed(model, model.estimator), why)
        choice = Choice("cpu", f"run by scikit-learn: {why}")
        if device == "cuda":
            instead = "use device='auto' or 'cpu'"
            raise Unsupported(Reason(plan.steps[0].name, f"scikit-learn runs it: {why}", instead))
        steps.unpack_steps(plan, packed, fallback=True)
        takes: Input = GivenInput(plan.to_sklearn())
    else:
        choice = choose(device)
        prepare_memory(choice.name)
        fallback = device == "auto" if model.fallback is None else model.fallback
        names = [name for name, _ in packed]
        spec = RowSpec(choice.name, "sparse" if saved.inputs.sparse else "dense")
        for apart in (False, True):  # as fits of shared rows have them
            options = LoweringOptions(fallback, model.dtype, apart)
            plan = lower(framed(model, model.estimator), choice.name, options, spec=spec)
            if names == [step.name for step in plan.steps]:
                break
        steps.unpack_steps(plan, packed, fallback=fallback)
        in_order = needs_order(plan.ops[0].estimator)
        takes = state.unpack_inputs(saved.inputs, objects.names, objects.used, in_order=in_order)
    if objects.background is not None:
        n_rows, means = objects.background
        worker = plan.steps[-1].worker
        worker.background = Background(n_rows, np.asarray(means, "float64"))  # type: ignore[union-attr]
    return model.resume(plan, takes, choice, classes=objects.classes, profile=saved.profile)
