"""A batch of searches: the parameters of a task's pipelines, on each device, for equal seconds.

No search uses the test rows. The candidate with the best cross-validation score is fitted on all
training rows, then scored on the test rows and compared with the default parameters.
"""

from __future__ import annotations

import shutil
import sys
import warnings
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
from pipeline.benchmark.record.trials import PREFIX, edges_of, records_of_space, records_of_trials
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
from pipeline.optional import available
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
from pipeline.tuning.study import seconds_of, trials_in

INTERRUPTED = "Ctrl-C"
_Found = tuple[SearchRecord, Mapping[str, Any], float]
"""A search, the best parameters by the pipeline's names, and their score: more is better."""


@dataclass(frozen=True)
class TunedBatch:
    """Searches for the parameters of a task's pipelines.

    The pipeline and the variant of the job are replaced. `trials` and `timeout`, in seconds, are
    of each search, and count what a study that is resumed has taken. The cluster, if there is one,
    runs the trials.
    """

    task: Task
    job: Job
    pipelines: Sequence[str]
    device: str = "auto"
    """``"auto"`` takes the CPU and, where there is one, the GPU."""
    trials: int = 50
    timeout: float | None = None
    folds: int = 5
    prune: bool = True
    cluster: str | None = None
    workers: int | None = None
    command: Sequence[str] = ()

    def run(self, folder: Path, studies: Path, say: Say) -> TuningRecord:
        """Search, refit and score; write the best model of each pipeline into an empty folder.

        The searches continue from what `studies`, a folder, holds. `say` gets a line of text for
        every step. `ConfigError` says that a pipeline or the task cannot be tuned, `DataError` that
        no trial of a search was completed.
        """
        if self.task.kind in ("ranking", "clusters"):
            raise ConfigError(
                f"{self.task.name}: a task of kind {self.task.kind!r} cannot be tuned; set its "
                "parameters in the pipeline"
            )
        spaces = {name: self._space(name) for name in self.pipelines}
        measure.check(self.task, self.job, self.pipelines)
        entries = tuned_variants(self.device)
        load = environment.load_average()
        noted, baseline, scoring, _ = before_runs(self.task, self.job)
        names = [each.name for each in entries if each.status == "ok"]
        found, searches = self._search_all(names, studies, say), len(names) * len(self.pipelines)
        records, outcome = self._score_all(found, folder, say)
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
            if not available("optuna"):
                raise
            way = f"spaces={{{name!r}: {{'step__parameter': [1, 10, 100]}}}}"
            raise ConfigError(
                f"{where} has no space to search: {error}; add {way} to the task in "
                f"tasks/{self.task.name}.py"
            ) from error
        drawn = {each.rpartition("__")[2] for each in space.parameters}
        if stops in drawn or early_stopping.stops_early(space.estimator):
            raise ConfigError(
                f"{where} has {stops}, but the fit on all training rows holds out no rows for "
                "early stopping; set it to None and search over n_estimators, or call Search in a "
                "script, which holds out such rows"
            )
        return space

    def _accelerated(self, name: str, variant: str = "cpu") -> Accelerated:
        pipeline = self.task.pipeline(name, self.job.seed, self.job.changes)
        return Accelerated(pipeline, device=variant)

    @property
    def _plan(self) -> FoldPlan:
        return plan_folds(self.task, self.job, self.folds)

    def _search_all(self, names: Sequence[str], studies: Path, say: Say) -> list[_Found]:
        """Search for each pipeline in each variant; Ctrl-C leaves out the rest."""
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
        time = "" if self.timeout is None else f", {self.timeout:g} s"
        say(f"{name}  {variant}: at most {self.trials} trials of {self.folds} folds{time}")
        model = self._accelerated(name, variant)
        rows = read_learnt_rows(self.task, self.job, model.estimator, variant, self._plan)
        journal = studies / f"study-{name}-{variant}.journal"
        resumed, before, start = journal.exists(), seconds_of(trials_in(journal)), perf_counter()
        left = None if self.timeout is None else max(self.timeout - before, 0.001)
        search = Search(
            model, space_of(self.task, name), trials=self.trials, timeout=left,
            cv=self._plan.splitter, scoring=rows.scorer, prune=self.prune, refit=False,
            storage=journal, random_state=self.job.seed, verbose=1,
        )  # fmt: skip
        try:
            with (
                explained(f"{self.task.name}: the search over {name!r}"),
                warnings.catch_warnings(),
            ):
                warnings.filterwarnings("ignore", "timeout=", UserWarning)  # On the page.
                search.fit(rows.X, rows.y, **rows.params)
        except ConfigError as error:
            way = "; --no-resume starts again" if resumed else ""
            raise ConfigError(f"{error}{way}") from error
        seconds = before + perf_counter() - start
        space = Space.of(search.space, search.estimator)
        trials = records_of_trials(search.study_, space, first_metric_of(self.task)[1])
        number = int(search.cv_results_["trial"][search.best_index_])
        ended = INTERRUPTED
        if len(trials) >= self.trials:
            ended = "all trials ran"
        elif self.timeout is not None and seconds >= self.timeout:
            ended = "timeout"
        # A search begins with the pipeline as it is, if its space has that.
        default = None if space.place(model.get_params()) is None else 0
        best = {key.removeprefix(PREFIX): value for key, value in search.best_params_.items()}
        record = SearchRecord(
            pipeline=name,
            variant=variant,
            ended=ended,
            seconds=seconds,
            trials=trials,
            default=default,
            best=number,
            edges=edges_of(space, search.study_.get_trials()[number]),
        )
        return record, {} if number == default else best, search.best_score_

    def _score_all(
        self, found: Sequence[_Found], folder: Path, say: Say
    ) -> tuple[list[SearchRecord], Outcome]:
        """Score default and tuned pipelines on the test rows; save each pipeline's best model."""
        records = []
        for record, params, _ in found:
            say(f"{record.pipeline}  {record.variant}: scoring on the test rows")
            before, untuned = self._score(record, {})
            last, tuned = self._score(record, params) if params else (before, untuned)
            rivals = [each for each in found if each[0].pipeline == record.pipeline]
            model = None
            if record is max(rivals, key=itemgetter(2))[0]:
                where = folder / f"{record.pipeline}.model"
                model = save_model(self.task, self.job, last, tuned.metrics, where)
            apart = differences_of(self.task, tuned.metrics, last, before) if params else {}
            scored = {"untuned": untuned, "tuned": tuned, "model": model, "differences": apart}
            records.append(structs.replace(record, **scored))
        return records, last

    def _score(
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
    """Return the `space` of a `Search` over a pipeline in an `Accelerated`."""
    given = task.spaces.get(pipeline, "default")
    if isinstance(given, str):
        return given
    return {f"{PREFIX}{name}": each for name, each in given.items()}


def tuned_variants(device: str) -> list[Variant]:
    """Return the CPU and the GPU, with the reason where one is left out."""
    cpu, cuda = (each for each in variants(device) if each.name in ("cpu", "cuda"))
    if device == "cuda":
        cpu = structs.replace(cpu, status="skipped", why="--device is cuda")
    return [cpu, cuda]


def publish_tuning(
    batch: TunedBatch, folder: Path, say: Say, *, resume: bool = True
) -> TuningRecord:
    """Search, then publish ``tuning.json``, the models and the studies, or nothing on an error.

    With `resume`, the searches continue from the studies of a command that was killed, and from
    those in the folder.
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
            elif not isinstance(error, ConfigError) and any(
                each.state.name == "COMPLETE"
                for path in studies.glob("study-*.journal")
                for each in trials_in(path)
            ):
                said = "finished trials are kept; run the same command again to continue"
                print(said, file=sys.stderr)
            raise
        (draft / TUNING_FILE).write_bytes(dumps(record))
        render_tuning(record, draft, folder)
        _copy_studies(studies, draft)
    shutil.rmtree(studies, ignore_errors=True)
    return record


def _copy_studies(source: Path, target: Path) -> None:
    """Copy the studies that are not there yet, with the times of their last changes."""
    for path in sorted(source.glob("study-*")):
        if not (target / path.name).exists():
            shutil.copy2(path, target / path.name)
