"""A batch of searches: the parameters of a task's pipelines, by all devices, for equal seconds.

No search sees the rows that a task is judged on. What is best by cross-validation of the training
rows is fitted on all of them, and judged on the test rows beside the pipeline as it is.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any

from msgspec import structs

from pipeline.benchmark.compare import describe
from pipeline.benchmark.record.results import Variant, dumps
from pipeline.benchmark.record.trials import (
    PREFIX,
    edges_of,
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
from pipeline.benchmark.run.rounds import differences_of
from pipeline.benchmark.run.variants import variants
from pipeline.benchmark.single import save_model
from pipeline.compile import source_code
from pipeline.distributed.cluster import optional_cluster
from pipeline.errors import ConfigError
from pipeline.model.accelerated import Accelerated
from pipeline.system import environment
from pipeline.system.atomic import publishing
from pipeline.system.progress import Say
from pipeline.task.faults import explained
from pipeline.task.folds import FoldPlan, plan_folds, read_learnt_rows
from pipeline.task.metrics import first_metric_of
from pipeline.task.task import Job, Task
from pipeline.tuning import early_stopping
from pipeline.tuning.search import Search
from pipeline.tuning.space import Space
from pipeline.tuning.study import seconds_in

INTERRUPTED = "Ctrl-C"
_WHOLE = {"ranking": "the rows of a query cannot be parted", "clusters": "nothing is learnt"}


_Found = tuple[SearchRecord, Mapping[str, Any], float]
"""A search, the best parameters by the pipeline's names, and their score: more is better."""


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
            A search has completed no trial.
        """
        if why := _WHOLE.get(self.task.kind):
            raise ConfigError(f"{self.task.name}: a task of kind {self.task.kind!r}: {why}")
        spaces = {name: self._space(name) for name in self.pipelines}
        measure.check(self.task, self.job, self.pipelines)
        entries = tuned_variants(self.device)
        load = environment.load_average()
        noted, baseline, scoring, _ = before_runs(self.task, self.job)
        names = [each.name for each in entries if each.status == "ok"]
        found, searches = self._search_all(names, studies, say), len(names) * len(self.pipelines)
        records, outcome = self._judge_all(found, folder, say)
        (metric, sign), plan = first_metric_of(self.task), self._plan
        return TuningRecord(
            schema=TUNING_SCHEMA,
            machine=environment.machine(environment.threads(), load),
            protocol=TuningProtocol(
                seed=self.job.seed,
                trials=self.trials,
                timeout=self.timeout,
                metric=metric,
                smaller_is_better=sign < 0,
                folds=self.folds,
                splitter=repr(plan.splitter),
                time=[*plan.time],
                groups=plan.groups,
                prune=self.prune,
                cluster=self.cluster or "",
                workers=self.workers or 1,
                interrupted=records[-1].ended == INTERRUPTED or len(records) < searches,
            ),
            variants=entries,
            spaces={name: records_of_space(space) for name, space in spaces.items()},
            searches=records,
            cautions=[*plan.cautions, *noted],
            baseline=baseline,
            scoring=scoring,
            **describe(self, outcome),
        )

    def _space(self, name: str) -> Space:
        where, stops = f"{self.task.name}: the pipeline {name!r}", early_stopping.NAME
        try:
            space = Space.of(space_of(self.task, name), self._accelerated(name))
        except ConfigError as error:
            way = f"spaces={{{name!r}: {{'step__parameter': [1, 10, 100]}}}}"
            raise ConfigError(
                f"{where} has no space to search: {error}; write {way} into "
                f"tasks/{self.task.name}.py"
            ) from error
        drawn = {each.rpartition("__")[2] for each in space.parameters}
        if stops in drawn or early_stopping.stops_early(space.estimator):
            raise ConfigError(
                f"{where} has {stops}, and a pipeline that is fitted as it is has no rows to stop "
                "by; set it to None and let n_estimators be drawn, or call Search in a script, "
                "which holds such rows out"
            )
        return space

    def _accelerated(self, name: str, variant: str = "cpu") -> Accelerated:
        pipeline = self.task.pipeline(name, self.job.seed, self.job.changes)
        return Accelerated(pipeline, device=variant)

    @property
    def _plan(self) -> FoldPlan:
        return plan_folds(self.task, self.job, self.folds)

    def _search_all(self, names: Sequence[str], studies: Path, say: Say) -> list[_Found]:
        """Search pipeline by pipeline, each by all variants; Ctrl-C leaves out the rest."""
        found: list[_Found] = []
        with optional_cluster(self.cluster, workers=self.workers):
            for pipeline, name in product(self.pipelines, names):
                try:
                    found.append(self._search(pipeline, name, studies, say))
                except KeyboardInterrupt:
                    if not found:
                        raise
                    break
                if found[-1][0].ended == INTERRUPTED:
                    break
        return found

    def _search(self, name: str, variant: str, studies: Path, say: Say) -> _Found:
        """Search in the space of a pipeline by one variant."""
        time = "" if self.timeout is None else f", at most {self.timeout:g} s"
        say(f"{name}  {variant}: {self.trials} trials of {self.folds} folds{time}")
        model = self._accelerated(name, variant)
        rows = read_learnt_rows(self.task, self.job, model.estimator, variant, self._plan)
        journal = studies / f"study-{name}-{variant}.journal"
        goes_on, before, start = journal.exists(), seconds_in(journal), perf_counter()
        left = None if self.timeout is None else max(self.timeout - before, 0.001)
        search = Search(
            model, space_of(self.task, name), trials=self.trials, timeout=left,
            cv=self._plan.splitter, scoring=rows.scorer, prune=self.prune, refit=False,
            storage=journal, random_state=self.job.seed, verbose=1,
        )  # fmt: skip
        try:
            with explained(f"{self.task.name}: the search over {name!r}"):
                search.fit(rows.X, rows.y, **rows.params)
        except ConfigError as error:
            way = "; --no-resume begins anew" if goes_on else ""
            raise ConfigError(f"{error}{way}") from error
        best = {key.removeprefix(PREFIX): value for key, value in search.best_params_.items()}
        seconds = before + perf_counter() - start
        space = Space.of(search.space, search.estimator)
        trials = records_of_trials(search.study_, space, first_metric_of(self.task)[1])
        number = int(search.cv_results_["trial"][search.best_index_])
        late = self.timeout is not None and seconds >= self.timeout
        ended = "all trials" if len(trials) >= self.trials else "the time" if late else INTERRUPTED
        record = SearchRecord(
            pipeline=name,
            variant=variant,
            ended=ended,
            seconds=seconds,
            trials=trials,
            default=trial_as_it_is(search.study_, space),
            best=number,
            edges=edges_of(space, search.study_.get_trials()[number]),
        )
        return record, best, search.best_score_

    def _judge_all(
        self, found: Sequence[_Found], folder: Path, say: Say
    ) -> tuple[list[SearchRecord], Outcome]:
        """Judge what was found on the test rows, and save the best model of each pipeline."""
        records = []
        for record, params, _ in found:
            say(f"{record.pipeline}  {record.variant}: judging on the test rows")
            (before, untuned), (last, tuned) = (self._judge(record, each) for each in ({}, params))
            rivals = [each for each in found if each[0].pipeline == record.pipeline]
            model = None
            if record is max(rivals, key=itemgetter(2))[0]:
                where = folder / f"{record.pipeline}.model"
                model = save_model(self.task, self.job, last, tuned.metrics, where)
            apart = differences_of(self.task, tuned.metrics, last, before)
            judged = {"untuned": untuned, "tuned": tuned, "model": model, "differences": apart}
            records.append(structs.replace(record, **judged))
        return records, last

    def _judge(
        self, record: SearchRecord, params: Mapping[str, Any]
    ) -> tuple[Outcome, JudgedModel]:
        pipeline = self.task.pipeline(record.pipeline, self.job.seed, self.job.changes)
        pipeline.set_params(**params)
        job = replace(self.job, pipeline=record.pipeline, variant=record.variant)
        with explained(f"{self.task.name}: the pipeline {record.pipeline!r}"):
            outcome = measure.measure_once(self.task, pipeline, job)
        return outcome, JudgedModel(
            metrics=measure.judge_outcome(self.task, outcome),
            seconds=outcome.total,
            device=outcome.model.device_,
            code=source_code.code(pipeline),
        )


def space_of(task: Task, pipeline: str) -> Any:
    """Return the space of a pipeline as `Search` takes it, within an `Accelerated`."""
    given = task.spaces.get(pipeline, "default")
    if isinstance(given, str):
        return given
    return {f"{PREFIX}{name}": each for name, each in given.items()}


def tuned_variants(device: str) -> list[Variant]:
    """Return the CPU and the GPU, with the reason where one is left out."""
    cpu, cuda = (each for each in variants(device) if each.name in ("cpu", "cuda"))
    if device == "cuda":
        cpu = structs.replace(cpu, status="skipped", why="device='cuda' was asked for")
    return [cpu, cuda]


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
        studies = folder.resolve().with_name(f".{folder.resolve().name}.runs")
        if not resume:
            shutil.rmtree(studies, ignore_errors=True)
        studies.mkdir(exist_ok=True)
        if resume:
            _copy_studies(folder, studies)
        try:
            record = batch.run(draft, studies, say)
        except BaseException as error:
            if not any(studies.iterdir()):
                studies.rmdir()
            elif not isinstance(error, ConfigError):
                said = "the trials that have ended are kept; the same command goes on after them"
                print(said, file=sys.stderr)
            raise
        (draft / TUNING_FILE).write_bytes(dumps(record))
        render_tuning(record, draft)
        _copy_studies(studies, draft)
    shutil.rmtree(studies, ignore_errors=True)
    return record


def _copy_studies(source: Path, target: Path) -> None:
    """Copy the studies that are not there yet, with the times of their last changes."""
    for path in sorted(source.glob("study-*")):
        if not (target / path.name).exists():
            shutil.copy2(path, target / path.name)
