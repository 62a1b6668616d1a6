"""Between the steps of a fitted plan and the parts of a model folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pandas as pd

from pipeline.errors import DataError, Reason, Unsupported
from pipeline.lowering import on_host, parts
from pipeline.plan import Plan, Step
from pipeline.preprocessing.program import Program
from pipeline.rules.boosting import Boosting
from pipeline.rules.cuml import Cuml
from pipeline.rules.labels import Labels
from pipeline.rules.model import Plain
from pipeline.saving import trust
from pipeline.saving.codec import Decoder, Document, Encoder
from pipeline.saving.programs import Blocks, fitted_form, pack, resume


class Learnt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From which matrix an estimator has learnt, where its rows were made one."""

    dtype: Literal["float32", "float64"]
    given: Annotated[str, msgspec.Meta(pattern="^(bool|u?int(8|16|32|64)|float(16|32|64))$")]
    """Type of the rows."""
    columns: int | list[str]
    """How many there were, or their names."""


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="file"):
    """An estimator in a file of its own."""

    file: str
    kind: Literal["booster", "sklearn"]
    learnt: Learnt | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="kept"):
    """An estimator as a document."""

    fitted: Document


State = Blocks | File | Kept


class Packer:
    """Takes fitted plans apart.

    Attributes
    ----------
    encoder : Encoder
    files : dict of str to bytes
        Parts of the folder.
    """

    def __init__(self) -> None:
        self.encoder = Encoder()
        self.files: dict[str, bytes] = {}

    def plan(self, plan: Plan) -> list[tuple[str, State]]:
        """Return name and state of every step, and keep the parts."""
        specs = dict(parts(plan.spec))
        return [(step.name, self._step(step, specs.get(step.name))) for step in plan.steps]

    def _step(self, step: Step, spec: Any) -> State:
        worker = step.worker
        if isinstance(worker, Program):
            return pack(worker, self.encoder)
        if isinstance(worker, Labels):
            return Kept(fitted=self.encoder.encode(worker.to_sklearn(), step.name))
        if isinstance(worker, Boosting):
            booster = worker.estimator.get_booster()
            return self._file("ubj", bytes(booster.save_raw("ubj")), "booster")
        made = self._file("skops", trust.dumps(worker.to_sklearn(), spec, step.name), "sklearn")
        return msgspec.structs.replace(made, learnt=_learnt(worker))

    def _file(self, suffix: str, data: bytes, kind: Literal["booster", "sklearn"]) -> File:
        # Names of steps may be anything; those of files may not.
        name = f"step-{len(self.files)}.{suffix}"
        self.files[name] = data
        return File(file=name, kind=kind)


def _learnt(worker: Any) -> Learnt | None:
    if worker.row is None:
        return None
    named = hasattr(worker.row, "columns")
    columns = list(worker.row.columns) if named else worker.row.shape[1]
    given = str(np.asarray(worker.row).dtype)
    return Learnt(dtype=worker.dtype, given=given, columns=columns)


def _recall(worker: Any, learnt: Learnt | None, fitted: Any) -> None:
    """Make a model learn and answer from the type of matrix that the saved one did."""
    worker.dtype, worker.row = "auto", None
    if learnt is None:
        return
    columns = learnt.columns
    width = columns if isinstance(columns, int) else len(columns)
    if width != fitted.n_features_in_:
        raise DataError(
            f"{type(fitted).__name__} knows {fitted.n_features_in_} columns, and the state says "
            f"that it learnt from {width}"
        )
    row = np.zeros((1, width), learnt.given)
    worker.dtype = learnt.dtype
    worker.row = row if isinstance(columns, int) else pd.DataFrame(row, columns=columns)


class Unpacker:
    """Puts states back into lowered plans.

    Parameters
    ----------
    decoder : Decoder
    files : mapping of str to bytes
        The parts of the folder.
    fallback : bool
        What the device cannot take over may run on the host.
    """

    def __init__(self, decoder: Decoder, files: Mapping[str, bytes], *, fallback: bool) -> None:
        self.decoder, self.files, self.fallback = decoder, files, fallback

    def plan(self, plan: Plan, states: list[tuple[str, State]]) -> None:
        """Make a lowered plan the fitted one.

        Raises
        ------
        DataError
            The states are not those of the plan's steps.
        Unsupported
            A step cannot be taken over by the device, and `fallback` is off.
        """
        saved = [name for name, _ in states]
        if [step.name for step in plan.steps] != saved:
            raise DataError(_other_steps(saved, plan))
        specs = dict(parts(plan.spec))
        for step, (_, state) in zip(plan.steps, states, strict=True):
            self._step(step, state, specs.get(step.name))

    def _step(self, step: Step, state: State, spec: Any) -> None:
        worker = step.worker
        if isinstance(state, Blocks):
            if not isinstance(worker, Program):
                raise DataError(f"{step.name}: this is no preprocessing")
            resume(worker, state, self.decoder)
        elif isinstance(state, File) and state.kind == "booster":
            if not isinstance(worker, Boosting):
                raise DataError(f"{step.name}: {type(spec).__name__} is not XGBoost's")
            worker.resume(self._bytes(state.file))
        elif isinstance(state, File):
            fitted = trust.loads(self._bytes(state.file), spec, state.file)
            self._model(step, fitted, spec)
            _recall(step.worker, state.learnt, fitted)
        else:
            fitted = fitted_form(spec, state.fitted, self.decoder, step.name)
            self._model(step, fitted, spec)

    def _bytes(self, name: str) -> bytes:
        if name not in self.files:
            raise DataError(f"there is no part {name!r}")
        return self.files[name]

    def _model(self, step: Step, fitted: Any, spec: Any) -> None:
        worker = step.worker
        if isinstance(worker, Plain | Labels):
            worker.estimator = fitted
            return
        try:
            self._upload(step, fitted, spec)
        except Unsupported as refused:
            if not self.fallback and step.device != "cpu":
                raise
            host = on_host(step.name, spec, refused.reasons, asked=step.device)
            vars(step).update(vars(host))
            step.worker.estimator = fitted  # type: ignore[attr-defined]

    def _upload(self, step: Step, fitted: Any, spec: Any) -> None:
        if not isinstance(step.worker, Cuml):
            why = f"a saved {type(spec).__name__} has no way onto the GPU"
            raise Unsupported(Reason(step.name, why, "use device='auto', or fit it there"))
        step.worker.resume(fitted)


def _other_steps(saved: Sequence[str], plan: Plan) -> str:
    """Return what is the matter where the steps that were saved are not those of a plan."""
    here = [step.name for step in plan.steps]
    if saved != [name for name, _ in parts(plan.spec)]:
        return f"the steps of the state, {saved}, are not those of the spec, {here}"
    (together, *_) = (name for name in here if name not in saved)
    return (
        f"an older version of this package saved {saved}, and this one fits {together!r} as one "
        "program; fit the model again, or load the scikit-learn pipeline that "
        "`python -m pipeline run` wrote beside it, whose name ends in .skops"
    )
