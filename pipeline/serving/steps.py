"""Conversion between the steps of a fitted plan and the files of a model folder.

A step is saved as the fitted scikit-learn estimator that it lifts to; a booster of XGBoost has its
own file. What scikit-learn's objects do not hold is stored beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from msgspec import Meta, Struct

from pipeline.backends.base import HostModel, Model
from pipeline.backends.cuml.cuml_model import Cuml
from pipeline.backends.cuml.text import DocumentsModel, Vectorizer
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.blocks.block import Categories, Dates, Numbers
from pipeline.compile.nodes import check_type
from pipeline.compile.plan import Plan, Step, StepWorker, make_host_step
from pipeline.compile.program import Program, header
from pipeline.errors import DataError, Reason, Unsupported
from pipeline.serving.manifest import AGAIN
from pipeline.typing import Estimator

FORMS: Mapping[str, type] = {form.__name__: form for form in (Categories, Dates, Numbers)}


class ProgramState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="program"):
    """How preprocessing read the table that it was fitted on, and what it made of it."""

    dtypes: list[str]
    """Of the columns of the table."""
    framed: bool
    """Whether the columns had names."""
    forms: list[Literal["Categories", "Dates", "Numbers"]]
    """How each transformer that has a twin, in order, reads its columns."""
    workers: list[str] = []
    """Paths of the transformers that no twin runs."""
    own: list[str] = []
    """Paths of what scikit-learn's own steps ran on a host; their twins can."""
    width: int
    dtype: Literal["auto", "float32", "float64"]
    """Of its matrix, on which the estimator behind it was fitted."""


class BoosterState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="booster"):
    """A booster of XGBoost in a file of its own."""

    file: str


class ModelState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="model"):
    """The matrix that an estimator was fitted on, if its rows were converted to one."""

    dtype: Literal["auto", "float32", "float64"] = "auto"
    rows: Annotated[str, Meta(pattern="^(bool|u?int(8|16|32|64)|float(16|32|64))$")] = "float64"
    """Type of the rows."""
    width: int | None = None
    """How many columns the rows had."""


State = ProgramState | BoosterState | ModelState


@dataclass(frozen=True)
class Packed:
    """A fitted step; `fitted` is None of a booster."""

    state: State
    names: list[Any] | None
    """Of the columns of the rows that it was fitted on."""
    fitted: Estimator
    files: Mapping[str, bytes]


def pack_steps(worker: StepWorker, number: int) -> Packed:
    """Return what a model folder holds of the fitted step of a number."""
    if isinstance(worker, Program):
        return _pack_program(worker)
    if isinstance(worker, XGBoostModel):
        # Names of steps may be anything; those of files may not.
        file = f"step-{number}.ubj"
        trees = bytes(worker.native.get_booster().save_raw("ubj"))
        return Packed(BoosterState(file=file), None, None, {file: trees})
    state, names, row = ModelState(), None, worker.row
    if row is not None:
        known: Any = {"dtype": worker.dtype, "rows": str(np.asarray(row).dtype)}
        state = ModelState(width=row.shape[1], **known)
        names = list(row.columns) if hasattr(row, "columns") else None
    return Packed(state, names, worker.to_sklearn(), {})


def _pack_program(program: Program) -> Packed:
    assert program.node is not None
    assert program.head is not None
    state = ProgramState(
        dtypes=[str(dtype) for dtype in program.head.dtypes],
        framed=program.named,
        forms=[form.__name__ for form in program.node.forms()],  # type: ignore[misc]
        workers=[each.path for each in program.workers if each.path not in program.own],
        own=list(program.own),
        width=program.width,
        dtype=program.dtype,  # type: ignore[arg-type]
    )
    return Packed(state, list(program.head.columns), program.to_sklearn(), {})


def unpack_steps(plan: Plan, saved: Sequence[tuple[str, Packed]], *, fallback: bool) -> None:
    """Make a lowered plan the fitted one that was saved, as names of steps and their parts.

    With `fallback`, what the device cannot take over runs on the host; else it is `Unsupported`.
    """
    names, here = [name for name, _ in saved], [step.name for step in plan.steps]
    if names != here:
        raise DataError(
            f"the steps of the state, {names}, differ from those of the estimator, {here}; "
            "load the model with the version that saved it, or fit it again"
        )
    for step, (_, packed) in zip(plan.steps, saved, strict=True):
        _resume(step, packed, fallback=fallback)


def _resume(step: Step, packed: Packed, *, fallback: bool) -> None:
    """Make a step the fitted one that was saved."""
    worker, state = step.worker, packed.state
    if isinstance(state, ProgramState) and isinstance(worker, Program):
        worker.resume(
            packed.fitted,
            header(packed.names or [], state.dtypes),
            [FORMS[form] for form in state.forms],
            framed=state.framed,
            workers=state.workers,
            own=state.own if step.device == "cpu" else [],
        )
        worker.width, worker.dtype = state.width, state.dtype
    elif isinstance(state, BoosterState) and isinstance(worker, XGBoostModel):
        worker.resume(packed.files[state.file])
    elif isinstance(state, ModelState) and isinstance(worker, Model):
        _take_over(step, check_type(packed.fitted, worker.estimator), fallback=fallback)
        _recall(step.worker, state, packed)
    else:
        raise DataError(
            f"{step.name}: was saved as another kind of step; load the model with the version that "
            "saved it, or fit it again"
        )


def _take_over(step: Step, fitted: Estimator, *, fallback: bool) -> None:
    """Run a fitted estimator, on the host where the device of the step does not take it."""
    if isinstance(step.worker, HostModel):
        step.worker.native = fitted
        return
    try:
        if not isinstance(step.worker, Cuml | Vectorizer | DocumentsModel):
            why = f"a saved {type(fitted).__name__} cannot be loaded onto the GPU"
            raise Unsupported(Reason(step.name, why, "use device='auto', or fit it on the GPU"))
        step.worker.resume(fitted)
    except Unsupported as refused:
        if not fallback and step.device != "cpu":
            raise
        how, why_not = step.worker.estimator, refused.reasons
        step.continue_as(make_host_step(step.name, how, why_not, asked=step.device))
        _take_over(step, fitted, fallback=fallback)


def _recall(worker: StepWorker, state: ModelState, packed: Packed) -> None:
    """Make a model fit and predict from the type of matrix that the saved one used."""
    assert isinstance(worker, Model)
    worker.dtype, worker.row = "auto", None
    if state.width is None:
        return
    if state.width != packed.fitted.n_features_in_:
        raise DataError(
            f"{type(packed.fitted).__name__} was fitted on {packed.fitted.n_features_in_} columns, "
            f"but the state says {state.width}; {AGAIN}"
        )
    row = np.zeros((1, state.width), state.rows)
    worker.dtype = state.dtype
    worker.row = row if packed.names is None else pd.DataFrame(row, columns=packed.names)
