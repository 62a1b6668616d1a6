"""A batch of searches: the parameters of a task's pipelines, by all devices, for equal seconds.

No search sees the rows that a task is judged on. What is best by cross-validation of the training
rows is fitted on all of them, and judged on the test rows beside the pipeline as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from msgspec import structs
from rich.console import Console

from pipeline.benchmark.compare import describe_pipeline, describe_task
from pipeline.benchmark.judge.statistics import differences
from pipeline.benchmark.publish import kept
from pipeline.benchmark.record import provenance
from pipeline.benchmark.record.results import Variant, dumps
from pipeline.benchmark.record.trials import (
    PREFIX,
    edges_of,
    importances_of,
    records_of_space,
    records_of_trials,
    trial_as_it_is,
)
from pipeline.benchmark.record.tuning_record import (
    TUNING_FILE,
    TUNING_SCHEMA,
    JudgedModel,
    SearchRecord,
    TuningProtocol,
    TuningRecord,
)
from pipeline.benchmark.report.tuning_page import render_tuning
from pipeline.benchmark.run import measure
from pipeline.benchmark.run.beforehand import before_runs
from pipeline.benchmark.run.measure import Outcome
from pipeline.benchmark.run.variants import variants
from pipeline.benchmark.single import save_model
from pipeline.distributed.cluster import optional_cluster
from pipeline.errors import ConfigError, DataError
from pipeline.estimator.accelerated import Accelerated
from pipeline.planning import source_code
from pipeline.system import environment
from pipeline.system.atomic import publishing
from pipeline.system.progress import Say
from pipeline.task import metrics
from pipeline.task.faults import explained
from pipeline.task.folds import FoldPlan, plan_folds
from pipeline.task.learnt_rows import first_metric_of, read_learnt_rows
from pipeline.task.task import Job, Task
from pipeline.tuning import early_stopping
from pipeline.tuning.search import Search
from pipeline.tuning.space import Space
from pipeline.tuning.study import seconds_in

INTERRUPTED = "Ctrl-C"
TUNED = ("cpu", "cuda")
"""The variants whose parameters are tuned."""
_WHOLE = {"ranking": "the rows of a query cannot be parted", "clusters": "nothing is learnt"}


class _Found(NamedTuple):
    record: SearchRecord
    params: Mapping[str, Any] | None
    """The best ones, by the pipeline's names; None where no trial was completed."""


class _Judged(NamedTuple):
    outcome: Outcome
    record: JudgedModel


@dataclass(frozen=True)
class TunedBatch:
    """What to search for.

    Parameters
    ----------
    task : Task
    job : Job
        Data, seed, split and changed parameters; its pipeline and variant are replaced.
    pipelines : sequence of str
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` takes the CPU and, where there is one, the GPU.
    trials : int
        Of each search, with those of a study that goes on.
    timeout : float, optional
        Seconds of each search, with those of a study that goes on.
    folds : int
        That the training rows are cut into.
    prune : bool
        Whether candidates are stopped that are unlikely to become the best.
    cluster : str, optional
        Whose workers run the trials, as `pipeline.cluster` takes it.
    workers : int, optional
    command : sequence of str
        The words of the command line that does the same.
    """

    task: Task
    job: Job
    pipelines: Sequence[str]
    device: str = "auto"
    trials: int = 50
    timeout: float | None = None
    folds: int = 5
    prune: bool = True
    cluster: str | None = None
    workers: int | None = None
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        # What is searched for in all folds would be judged on rows that it was chosen by.
        splits = {name: replace(split, folds="") for name, split in self.task.splits.items()}
        object.__setattr__(self, "task", replace(self.task, splits=splits))

    def run(self, folder: Path, studies: Path, say: Say) -> TuningRecord:
        """Search, refit and judge; write the best model of each pipeline into a folder.

        Parameters
        ----------
        folder : Path
            Exists and is empty.
        studies : Path
            A folder with the studies, from which searches that were killed go on.
        say : callable
            Gets a line of text for every step.

        Raises
        ------
        ConfigError
            A pipeline has no space, or the task is of a kind that is not tuned.
        DataError
            No search has completed a trial.
        """
        spaces, entries = self.check(), tuned_variants(self.device)
        load = environment.load_average()
        noted, baseline, scoring = before_runs(self.task, self.job)
        found = self._search_all([e.name for e in entries if e.status == "ok"], studies, say)
        if all(each.params is None for each in found):
            if found[-1].record.ended == INTERRUPTED:
                raise KeyboardInterrupt
            raise DataError("; ".join(each.record.why for each in found))
        records, outcome = self._judge_all(found, folder, say)
        return TuningRecord(
            schema=TUNING_SCHEMA,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            task=describe_task(self.task, self.job, outcome),
            data=provenance.describe_data(self.task, self.job.path),
            machine=environment.machine(environment.threads(), load),
            source=environment.source(self.command),
            protocol=self._protocol(records),
            variants=entries,
            pipelines=[describe_pipeline(self.task, self.job, name) for name in self.pipelines],
            spaces={name: records_of_space(space) for name, space in spaces.items()},
            searches=records,
            cautions=[*self._plan().cautions, *noted],
            baseline=baseline,
            scoring=scoring,
        )

    def check(self) -> dict[str, Space]:
        """Return the spaces of the pipelines; refuse what no search could use.

        Raises
        ------
        ConfigError, DataError
            See `run` and `pipeline.task.truth`.
        """
        if why := _WHOLE.get(self.task.kind):
            raise ConfigError(f"{self.task.name}: a task of kind {self.task.kind!r}: {why}")
        spaces = {name: self._space(name) for name in self.pipelines}
        for name, space in spaces.items():
            self._refuse_early_stopping(name, space)
        measure.check(self.task, self.job, self.pipelines)
        return spaces

    def _refuse_early_stopping(self, name: str, space: Space) -> None:
        """Refuse what could be searched, and not be fitted to be judged by the test rows."""
        stops = early_stopping.NAME
        drawn = {each.rpartition("__")[2] for each in space.parameters}
        if stops in drawn or early_stopping.stops_early(space.estimator):
            raise ConfigError(
                f"{self.task.name}: the pipeline {name!r} has {stops}, and a pipeline that is "
                "fitted as it is has no rows to stop by; set it to None and let n_estimators be "
                "drawn, or call Search in a script, which holds such rows out"
            )

    def _space(self, name: str) -> Space:
        given = space_of(self.task, name)
        try:
            return Space.of(given, self._accelerated(name))
        except ConfigError as error:
            if name in self.task.spaces:
                raise ConfigError(f"{self.task.name}: the space of {name!r}: {error}") from error
            way = f"spaces={{{name!r}: {{'step__parameter': [1, 10, 100]}}}}"
            raise ConfigError(
                f"{self.task.name}: the task declares no space for {name!r}, and there is no "
                f"default: {error}; write {way} into tasks/{self.task.name}.py"
            ) from error

    def _accelerated(self, name: str, variant: str = "cpu") -> Accelerated:
        pipeline = self.task.pipeline(name, self.job.seed, self.job.changes)
        return Accelerated(pipeline, device=variant)

    def _protocol(self, records: Sequence[SearchRecord]) -> TuningProtocol:
        (name, sign), plan = first_metric_of(self.task), self._plan()
        return TuningProtocol(
            seed=self.job.seed,
            trials=self.trials,
            timeout=self.timeout,
            metric=name,
            smaller_is_better=sign < 0,
            folds=self.folds,
            splitter=repr(plan.splitter),
            time=[*plan.time],
            groups=plan.groups,
            prune=self.prune,
            cluster=self.cluster or "",
            workers=self.workers or 1,
            interrupted=any(each.ended == INTERRUPTED for each in records),
        )

    def _plan(self) -> FoldPlan:
        return plan_folds(self.task, self.job, self.folds)

    def _search_all(self, names: Sequence[str], studies: Path, say: Say) -> list[_Found]:
        """Search pipeline by pipeline, each by all variants; Ctrl-C leaves out the rest."""
        found: list[_Found] = []
        with optional_cluster(self.cluster, workers=self.workers):
            for pipeline in self.pipelines:
                for name in names:
                    if found and found[-1].record.ended == INTERRUPTED:
                        return found
                    found.append(self._search(pipeline, name, studies, say))
        return found

    def _search(self, name: str, variant: str, studies: Path, say: Say) -> _Found:
        """Search in the space of a pipeline by one variant."""
        time = "" if self.timeout is None else f", at most {self.timeout:g} s"
        say(f"{name}  {variant}: {self.trials} trials of {self.folds} folds{time}")
        model = self._accelerated(name, variant)
        plan = self._plan()
        rows = read_learnt_rows(self.task, self.job, model.estimator, variant, plan.columns)
        with explained(f"{self.task.name}: the {self.folds} folds"):
            rows, groups = plan.arrange(rows)
        params = rows.params if groups is None else {**rows.params, "groups": groups}
        journal = studies / f"study-{name}-{variant}.journal"
        goes_on, before, start = journal.exists(), seconds_in(journal), perf_counter()
        left = None if self.timeout is None else max(self.timeout - before, 0.001)
        search = Search(
            model, space_of(self.task, name), trials=self.trials, timeout=left,
            cv=plan.splitter, scoring=rows.scorer, prune=self.prune, refit=False,
            storage=journal, random_state=self.job.seed, verbose=1,
        )  # fmt: skip
        why = ""
        try:
            with explained(f"{self.task.name}: the search over {name!r}"):
                search.fit(rows.X, rows.y, **params)
        except ConfigError as error:
            way = "; --no-resume begins anew" if goes_on else ""
            raise ConfigError(f"{error}{way}") from error
        except (DataError, KeyboardInterrupt) as error:
            if not hasattr(search, "study_"):
                raise
            why = str(error) or "Ctrl-C before a trial was complete"
        seconds = before + perf_counter() - start
        record = self._record(search, seconds, (name, variant), why)
        if why:
            return _Found(record, None)
        best = search.best_params_.items()
        return _Found(record, {key.removeprefix(PREFIX): value for key, value in best})

    def _record(
        self, search: Search, seconds: float, names: tuple[str, str], why: str
    ) -> SearchRecord:
        _, sign = first_metric_of(self.task)
        space = Space.of(search.space, search.estimator)
        trials = records_of_trials(search.study_, space, sign)
        best = None if why else int(search.cv_results_["trial"][search.best_index_])
        shares, lacking = importances_of(search.study_)
        return SearchRecord(
            pipeline=names[0],
            variant=names[1],
            status="failed" if why else "ok",
            why=why,
            ended=self._ended(len(trials), seconds),
            seconds=seconds,
            trials=trials,
            default=trial_as_it_is(search.study_, space),
            best=best,
            edges=[] if best is None else edges_of(space, search.study_.get_trials()[best]),
            importances=shares,
            importances_why=lacking,
            untuned=None,
            tuned=None,
            differences={},
            model=None,
        )

    def _ended(self, trials: int, seconds: float) -> str:
        """Return what ended a search; it ends early for no other reason."""
        if trials >= self.trials:
            return "all trials"
        if self.timeout is not None and seconds >= self.timeout:
            return "the time"
        return INTERRUPTED

    def _judge_all(
        self, found: Sequence[_Found], folder: Path, say: Say
    ) -> tuple[list[SearchRecord], Outcome]:
        """Judge what was found on the test rows, and save the best model of each pipeline."""
        best = {name: self._best_variant(found, name) for name in self.pipelines}
        records: list[SearchRecord] = []
        last = None
        for record, params in found:
            if params is None:
                records.append(record)
                continue
            say(f"{record.pipeline}  {record.variant}: judging on the test rows")
            untuned, tuned = (self._judge(record, each) for each in ({}, params))
            model, last = None, tuned.outcome
            if best[record.pipeline] == record.variant:
                where = folder / f"{record.pipeline}.model"
                values = tuned.record.metrics
                model = save_model(self.task, self.job, tuned.outcome, values, where)
            records.append(
                structs.replace(
                    record,
                    untuned=untuned.record,
                    tuned=tuned.record,
                    model=model,
                    differences=self._differences(tuned, untuned),
                )  # fmt: skip
            )
        assert last is not None
        return records, last

    def _best_variant(self, found: Sequence[_Found], pipeline: str) -> str:
        """Return by what the best parameters of a pipeline were found; the first of equal ones."""
        sign = first_metric_of(self.task)[1]
        scores = {
            each.variant: sign * (trial.score or 0.0)
            for each, _ in found
            for trial in each.trials
            if each.pipeline == pipeline and trial.number == each.best
        }
        return max(scores, key=scores.__getitem__, default="")

    def _judge(self, record: SearchRecord, params: Mapping[str, Any]) -> _Judged:
        pipeline = self.task.pipeline(record.pipeline, self.job.seed, self.job.changes)
        pipeline.set_params(**params)
        job = replace(self.job, pipeline=record.pipeline, variant=record.variant)
        with explained(f"{self.task.name}: the pipeline {record.pipeline!r}"):
            outcome = measure.measure_once(self.task, pipeline, job)
        judged = JudgedModel(
            metrics=measure.judge_outcome(self.task, outcome),
            seconds=outcome.total,
            device=outcome.model.device_,
            code=source_code.code(pipeline),
        )
        return _Judged(outcome, judged)

    def _differences(self, tuned: _Judged, untuned: _Judged) -> Any:
        every = metrics.judges(self.task, tuned.outcome.classes).items()
        judges = {name: metric for name, metric in every if name in tuned.record.metrics}
        said = tuned.outcome.predicted, untuned.outcome.predicted
        return differences(judges, tuned.outcome.y_true, *said)


def space_of(task: Task, pipeline: str) -> Any:
    """Return the space of a pipeline as `Search` takes it, within an `Accelerated`."""
    given = task.spaces.get(pipeline, "default")
    if isinstance(given, str):
        return given
    return {f"{PREFIX}{name}": each for name, each in given.items()}


def tuned_variants(device: str) -> list[Variant]:
    """Return the CPU and the GPU, with the reason where one is left out."""
    found = [each for each in variants(device) if each.name in TUNED]
    if device != "cuda":
        return found
    why = "device='cuda' was asked for"
    return [
        structs.replace(each, status="skipped", why=why) if each.device == "cpu" else each
        for each in found
    ]


def publish_tuning(
    batch: TunedBatch, folder: Path, say: Say, *, resume: bool = True
) -> TuningRecord:
    """Search, and keep ``tuning.json``, the models and the studies as a whole or not at all.

    The studies go on from those of a command that was killed, and from those in the folder.

    Parameters
    ----------
    batch : TunedBatch
    folder : Path
        Takes the results; what was there is replaced once all is written.
    say : callable
        Gets a line of text for every step.
    resume : bool, default=True
        Whether to go on from studies that are there.
    """
    with publishing(folder) as draft:
        studies = _bring_studies(folder.resolve(), resume=resume)
        with _telling_kept(studies):
            record = batch.run(draft, studies, say)
        (draft / TUNING_FILE).write_bytes(dumps(record))
        render_tuning(record, draft)
        _copy_studies(studies, draft)
    shutil.rmtree(studies, ignore_errors=True)
    return record


def _bring_studies(folder: Path, *, resume: bool) -> Path:
    """Return the folder that studies are written to until they are published."""
    studies = kept(folder)
    if not resume:
        shutil.rmtree(studies, ignore_errors=True)
    studies.mkdir(parents=True, exist_ok=True)
    if resume and folder.is_dir():
        _copy_studies(folder, studies)
    return studies


@contextmanager
def _telling_kept(studies: Path) -> Iterator[None]:
    """Say that studies are kept, if there are any, in a block that does not end well."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError):
            studies.rmdir()
        if studies.exists() and not isinstance(error, ConfigError):
            said = "the trials that have ended are kept; the same command goes on after them"
            Console(stderr=True, soft_wrap=True).print(said, markup=False, highlight=False)
        raise


def _copy_studies(source: Path, target: Path) -> None:
    """Copy the studies that are not there yet, with the times of their last changes."""
    for path in sorted(source.glob("study-*")):
        if not (target / path.name).exists():
            shutil.copy2(path, target / path.name)
