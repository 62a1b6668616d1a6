"""A lowered pipeline: steps on their devices, run in order, each call and copy in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from traceback import clear_frames
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from pipeline import notebook, records
from pipeline.backends.base import HostModel, Model, Placement, keep_means, reads_float32
from pipeline.backends.cpu import HOST
from pipeline.compile.compile import named_steps
from pipeline.compile.program import Program
from pipeline.compile.rules import place_on_host
from pipeline.compile.spec import Op
from pipeline.compile.workers import HostWorker
from pipeline.errors import OutOfMemory, PipelineError, Reason, Refused, in_both_words
from pipeline.system import cache
from pipeline.system.devices import release_memory
from pipeline.system.memory import raise_if_exhausted
from pipeline.system.threads import halved
from pipeline.table import frames, partitioned
from pipeline.table.borrowed import in_place
from pipeline.table.convert import as_passed
from pipeline.table.target import check_rows
from pipeline.trace import record
from pipeline.typing import Estimator, Params, Table, Target

T = TypeVar("T")
StepWorker: TypeAlias = Program | Model
"""What runs a step."""


def describe_places(placements: Sequence[Placement]) -> list[str]:
    """Return aligned lines: step, device, what runs it, and remarks."""
    width = max((len(p.step) for p in placements), default=0)
    return [
        f"{p.step:{width}}  {p.device or '-':4}  {p.implementation or 'no equivalent'}"
        + (f"  ({p.remarks})" if p.remarks else "")
        for p in placements
    ]


def render_places(title: str, placements: Sequence[Placement]) -> str:
    """Return a table of where steps run, for a notebook."""
    rows = [(p.step, p.device, p.implementation or "no equivalent", p.remarks) for p in placements]
    table = notebook.HtmlTable(("Step", "Device", "Runs as", "Remarks"), rows)
    return notebook.render_parts(title, table)


def run(work: Callable[[], T], step: str, call: str, device: str, why: str = "") -> T:
    """Return the result of work on a device, as an event of the log that has all of its time.

    `OutOfMemory` says that the memory of the device ran out.
    """
    try:
        with record(step, call, device, why):
            result = work()
            if device == "cuda" and call != "copy":  # which waits by itself
                frames.synchronize(device)
            return result
    except Exception as error:
        raise_if_exhausted(error, step, call, device)
        if not isinstance(error, PipelineError) and not hasattr(error, "__notes__"):
            error.add_note(f"in the step {step}")
        raise


def copy(X: Table, device: str, step: str, why: str) -> Any:
    """Return X on a device that it is not on."""
    return run(partial(frames.to_device, X, device), step, "copy", device, why)


@dataclass(repr=False)
class Step:
    """One step of the pipeline on its device."""

    name: str
    worker: StepWorker
    device: str
    placements: Sequence[Placement] = field(default_factory=list)
    on_host: Callable[[Sequence[Reason]], Step] | None = None
    """Returns the step that runs on the host, given the reasons. Without it, data that the worker
    cannot learn from are an error."""

    def __repr__(self) -> str:
        """Return where it runs, and what is inside it."""
        return "\n".join(describe_places(self.placements)) or f"{self.name}  {self.device}"

    def bring(self, X: Table) -> Any:
        """Return X on this step's device."""
        if frames.device_of(X) == self.device:
            return X
        why = "; ".join(filter(None, (place.remarks for place in self.placements)))
        return copy(X, self.device, self.name, why)

    def learn(self, call: str, X: Table, y: Target, **params: Any) -> Any:
        """Call a method that learns; on the host if the data require it and it may."""
        if frames.is_partitioned(X):
            X = self._gather_if_needed(call, X, y, params)
        worker = self.worker
        rows = as_passed(X, worker.native) if type(worker) is HostModel else X
        learn = getattr(worker, call)
        if isinstance(worker, Model):
            learn = partial(keep_means, worker, learn, more=call == "partial_fit")
        work = partial(learn, rows, y, **params)
        attempt = partial(run, work, self.name, call, self.device, "what is fitted")

        def again() -> Any:
            return self.learn(call, self.bring(X), y, **params)

        try:
            result = attempt()
        except Refused as refused:
            found = getattr(refused, "reasons", (Reason(self.name, str(refused)),))
            self._to_host(refused, found)
            with in_both_words(refused):
                return again()
        except OutOfMemory as full:
            if self.device != "cuda":
                raise
            result = self._learn_with_less(full, attempt, again)
        if call == "partial_fit":
            self.on_host = None  # where nothing of these rows would be known
        if isinstance(self.worker, Program):
            self._place_workers(self.worker)
        return result

    def _place_workers(self, program: Program) -> None:
        """Note what no twin runs, which the types of the columns may have decided."""
        workers, own = program.workers, program.own
        if not workers and not own:
            return
        found = {
            leaf.path: replace(HOST.describe(shown, leaf.path), note=own[op.path])
            for op in (program.op.tree if own and program.op else ())
            if op.path in own
            for leaf in op.leaves
            for shown in (op.estimator if isinstance(leaf.estimator, str) else leaf.estimator,)
        }
        found |= {
            each.path: place_on_host(
                each.path, each.estimator, [Reason(each.path, each.why)], asked=self.device
            )
            for each in workers
            if isinstance(each.worker, HostWorker) and each.path not in own
        }
        self.placements = [
            place if place.reasons else found.get(place.step, place) for place in self.placements
        ]

    def _learn_with_less(
        self, full: OutOfMemory, attempt: Callable[[], Any], again: Callable[[], Any]
    ) -> Any:
        """Learn once more, from halves of the rows in turn where blocks are; then on the host."""
        _let_go(full)
        try:
            with halved():
                result = attempt()
        except OutOfMemory as still_full:
            _let_go(still_full)
            self._to_host(full, [Reason(self.name, str(full), "see above")])
            return again()
        self.note("the GPU ran out of memory once; memory was freed, and blocks were halved")
        return result

    def _to_host(self, error: Exception, reasons: Sequence[Reason]) -> None:
        """Continue on the host, where that is allowed."""
        if self.on_host is None or getattr(error, "final", False):
            raise error
        self.continue_as(self.on_host(reasons))

    def continue_as(self, other: Step) -> None:
        """Run what another step of the same name runs, where it runs it."""
        self.worker, self.device = other.worker, other.device
        self.placements, self.on_host = other.placements, other.on_host

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Call a method of what was fitted."""
        if type(self.worker) is HostModel and type(X) is not np.ndarray:
            X = as_passed(X, self.worker.native)
        work = partial(self.worker.call, method, X, **params)
        return run(work, self.name, method, self.device, "what was fitted")

    def note(self, remark: str) -> None:
        """Add a remark to where this step runs."""
        self.placements = [place.noted(remark) for place in self.placements]

    def _gather_if_needed(self, call: str, X: Table, y: Target, params: Params) -> Any:
        """Return partitions, as one table if the worker learns from all rows at once."""
        remark = self.worker.trains_distributed(call, X, y, params)
        if not remark:
            why = self.worker.why_gathered(call, X, y, params)
            with record(self.name, "gather", self.device):
                X, sizes = partitioned.gather(X, self.name)
            remark = "; ".join(filter(None, (sizes, why)))
            check_rows(y, X.shape[0])
        self.note(remark)
        return X

    def to_sklearn(self) -> dict[str, Any]:
        """Return the fitted steps of the estimator that it runs, by name."""
        fitted = self.worker.to_sklearn()
        whole = isinstance(self.worker, Program) and not self.worker.step
        return dict(fitted.steps) if whole else {self.name: fitted}


def _let_go(error: BaseException) -> None:
    """Free the GPU's memory of what an error still holds, and of what is kept for other fits."""
    behind: BaseException | None = error
    while behind is not None:
        clear_frames(behind.__traceback__)
        behind = behind.__cause__
    cache.empty("cuda")
    release_memory("cuda")


@dataclass(eq=False, repr=False)
class Plan:
    """The steps of a lowered estimator."""

    estimator: Estimator
    """What was lowered."""
    steps: Sequence[Step]
    ops: Sequence[Op] = ()
    """What runs each step of the estimator."""
    as_given: bool = False
    """Its only step is the estimator itself, which reads the user's own rows."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the ops: their rules hold functions that cannot be pickled."""
        return {**vars(self), "ops": ()}

    def __repr__(self) -> str:
        """Return where every step runs, one per line."""
        return "\n".join(describe_places(self.placements))

    def _repr_html_(self) -> str:
        return render_places("Where each step runs", self.placements)

    def bring(self, X: Table) -> Any:
        """Return X on the device of the first step."""
        device = self.steps[0].device
        return X if frames.device_of(X) == device else copy(X, device, "input", "the table")

    @property
    def placements(self) -> list[Placement]:
        """Where every step runs, inner ones included."""
        return [placement for step in self.steps for placement in step.placements]

    @property
    def programs(self) -> list[Program]:
        """What runs preprocessing."""
        return [step.worker for step in self.steps if isinstance(step.worker, Program)]

    def fitted(self) -> Iterator[tuple[Any, Any]]:
        """Yield the user's estimators, and what scikit-learn has fitted in their place."""
        for step in self.steps:
            runs = step.worker
            for worker in [w.worker for w in runs.workers] if isinstance(runs, Program) else [runs]:
                if isinstance(worker, HostModel | HostWorker):
                    yield from in_place(worker.estimator, worker.native)

    def fit(
        self,
        X: Table,
        y: Target,
        method: str = "fit",
        /,
        *,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        prepare: Callable[[Table], Any] | None = None,
        done: int = 0,
        keep: Callable[[int, Any], None] | None = None,
        **params: Any,
    ) -> Any:
        """Fit step by step, and return what a method of the last one does; `params` go to it.

        "partial_fit" needs a single step. The tables of XGBoost's `eval_set` are transformed by the
        steps fitted on X; `prepare` returns one as the last step takes it. X is the output of the
        steps that are `done`. `keep` is called with the number of fitted steps and their output.
        """
        X = self.steps[done].bring(X) if done else self.bring(X)
        for i, (step, after) in enumerate(pairwise(self.steps), 1):
            if i > done:
                X = after.bring(step.learn("fit_transform", X, y))
                if keep is not None:
                    keep(i, X)
        if eval_set:
            params["eval_set"] = [((prepare or self.transform)(Z), z) for Z, z in eval_set]
        return self.steps[-1].learn(method, X, y, **params)

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Transform step by step, and return the last one's `method`; `params` go to it."""
        return self.steps[-1].call(method, self.transform(X), **params)

    def transform(self, X: Table) -> Any:
        """Return rows as the last step takes them, on its device."""
        X = self.bring(X)
        for step, after in pairwise(self.steps):
            X = after.bring(step.call("transform", X))
        return X

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn estimator."""
        if self.as_given or type(self.estimator) is not Pipeline:
            # Its only step, after the one that casts its rows.
            (step,) = self.steps
            cast, alone = self._cast(), step.worker.to_sklearn()
            return Pipeline([cast, (step.name, alone)]) if cast else alone
        fitted: dict[str, Any] = {}
        for step in self.steps:
            fitted |= step.to_sklearn()
        steps = [(name, fitted.get(name, how)) for name, how in self.estimator.steps]
        if cast := self._cast():
            steps.insert([name for name, _ in steps].index(self.steps[-1].name), cast)
        return Pipeline(steps, memory=self.estimator.memory, verbose=self.estimator.verbose)

    def _cast(self) -> tuple[str, Any] | None:
        """Return the step that casts rows to the type that the last estimator was fitted on."""
        taker = self.steps[-1].worker
        # Trees make float32 of their rows themselves.
        if not isinstance(taker, Model) or reads_float32(taker.estimator):
            return None
        maker = self.steps[-2].worker if len(self.steps) > 1 else None
        return taker.cast() or (maker.cast() if isinstance(maker, Program) else None)


def placement_records(placements: Sequence[Placement]) -> list[records.PlacementRecord]:
    """Return where the steps ran, as records."""
    return [
        records.PlacementRecord(
            step=p.step, implementation=p.implementation, device=p.device, note=p.note
        )
        for p in placements
    ]


def run_as_given(estimator: BaseEstimator, why: str) -> Plan:
    """Return the plan of one step: the estimator, as scikit-learn runs it, on the user's rows.

    `why` is why there is no other plan.
    """
    places = [
        replace(HOST.describe(part, path), note=f"run by scikit-learn: {why}")
        for path, part in named_steps(estimator)
    ]
    name = type(estimator).__name__.lower()
    return Plan(estimator, [Step(name, HostModel(estimator), "cpu", places)], as_given=True)


def make_host_step(path: str, part: Estimator, reasons: Sequence[Reason], *, asked: str) -> Step:
    """Return a step that runs on the host, as the user wrote it, and says why."""
    place = place_on_host(path, part, reasons, asked=asked)
    return Step(path, HostModel(part), "cpu", [place])
