"""Builders of records of searches for the tests; every number is synthetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from pipeline.benchmark.record.results import Interval, PipelineInfo, Variant
from pipeline.benchmark.record.tuning_record import (
    JudgedModel,
    ParameterRecord,
    SearchRecord,
    TrialRecord,
    TuningProtocol,
    TuningRecord,
)
from tests.benchmark import fixtures

PREFIX = "histgradientboostingclassifier__"
FOLDS = 5
SPACE = [
    ParameterRecord(name=PREFIX + "learning_rate", kind="float", low=0.01, high=0.3, log=True,
                    default=0.1),
    ParameterRecord(name=PREFIX + "max_leaf_nodes", kind="int", low=4, high=256, log=True,
                    default=31),
    ParameterRecord(name=PREFIX + "min_samples_leaf", kind="int", low=5, high=100, default=20),
    ParameterRecord(name=PREFIX + "l2_regularization", kind="float", low=1e-6, high=10.0, log=True,
                    default=0.0),
    ParameterRecord(name=PREFIX + "categorical_features", kind="choice",
                    choices=["from_dtype", None], default="from_dtype"),
]  # fmt: skip


def draw(random: np.random.Generator, parameter: ParameterRecord) -> Any:
    """Return a value of a parameter."""
    if parameter.kind == "choice":
        return parameter.choices[random.integers(len(parameter.choices))]
    assert parameter.low is not None
    assert parameter.high is not None
    if parameter.log:
        value = float(np.exp(random.uniform(np.log(parameter.low), np.log(parameter.high))))
    else:
        value = float(random.uniform(parameter.low, parameter.high))
    return round(value) if parameter.kind == "int" else value


def trials(
    n: int, space: list[ParameterRecord], *, seed: int = 0, pace: float = 2.0, failing: int = 0
) -> list[TrialRecord]:
    """Return trials, of which a third is stopped; every `failing`-th fails."""
    random, now, made, best = np.random.default_rng(seed), 0.0, [], 0.0
    for number in range(n):
        params = {each.name: each.default if number == 0 else draw(random, each) for each in space}
        level = 0.73 + 0.012 * np.tanh(number / 12) - 0.02 * abs(random.normal())
        level = 0.731 if number == 0 else level
        folds = [float(level + 0.004 * random.normal()) for _ in range(FOLDS)]
        state, reason = "complete", ""
        if failing and number and number % failing == 0:
            state, folds = "failed", []
            reason = ("MemoryError: Unable to allocate 3.2 GiB" if number % 2 else
                      "ValueError: max_leaf_nodes=1 must be larger than 1")  # fmt: skip
        elif number and level < best - 0.008:
            done = int(random.integers(0, 4))
            state, folds = "pruned", folds[:done]
            reason = f"stopped after fold {done}" if done else "stopped before a fold"
        duration = float(pace * (0.2 + len(folds) / FOLDS) * random.uniform(0.5, 1.5))
        now += duration
        score = float(np.mean(folds)) if state == "complete" else None
        best = max(best, score or 0.0)
        made.append(
            TrialRecord(number=number, params=params, state=state, reason=reason, score=score,
                        folds=folds, seconds=now, duration=duration)
        )  # fmt: skip
    return made


def search(pipeline: str, variant: str, made: list[TrialRecord], **more: Any) -> SearchRecord:
    """Return the search that ran these trials."""
    scores = {each.number: each.score for each in made if each.score is not None}
    best = max(scores, key=scores.__getitem__, default=None)
    names = list(made[0].params)
    untuned = JudgedModel(
        metrics={"roc_auc": 0.7301, "log_loss": 0.4312},
        seconds=3.1,
        device="cpu",
        code="Boosting()",
    )
    tuned = JudgedModel(
        metrics={"roc_auc": 0.7389, "log_loss": 0.4255}, seconds=4.2, device="cpu",
        code="Boosting(learning_rate=0.037)",
    )  # fmt: skip
    own: dict[str, Any] = {
        "pipeline": pipeline, "variant": variant,
        "ended": "all trials ran", "seconds": made[-1].seconds, "trials": made, "default": 0,
        "best": best,
        "edges": [f"The best {names[0]}, 0.29, lies at the high end of its range, 0.3."],
        "untuned": untuned, "tuned": tuned,
        "differences": {"roc_auc": Interval(low=0.0041, high=0.0135),
                        "log_loss": Interval(low=-0.0071, high=0.0012)},
        "model": None,
    }  # fmt: skip
    return SearchRecord(**(own | more))


def record(
    *searches: SearchRecord, space: list[ParameterRecord] = SPACE, **more: Any
) -> TuningRecord:
    """Return the record of these searches."""
    base = fixtures.normal()
    names = list(dict.fromkeys(each.pipeline for each in searches))
    pipelines = [PipelineInfo(name=n, title=f"{n} of trees", code="Boosting()") for n in names]
    variants = [
        replace(v, status="ok", why="") if any(s.variant == v.name for s in searches) else v
        for v in base.variants
        if v.name != "reference"
    ]
    own: dict[str, Any] = {
        "schema": "pipeline.tuning/1", "created": base.created, "task": base.task,
        "data": base.data, "machine": base.machine,
        "source": replace(base.source, command="make tune TASK=flights PIPELINES=boosting"),
        "protocol": TuningProtocol(
            seed=0, trials=25, timeout=None, metric="roc_auc", smaller_is_better=False, folds=FOLDS,
            splitter="StratifiedKFold(n_splits=5, random_state=0, shuffle=True)", prune=True,
        ),
        "variants": variants, "pipelines": pipelines,
        "spaces": dict.fromkeys(names, space), "searches": list(searches), "cautions": [],
        "baseline": {"roc_auc": 0.5}, "scoring": base.scoring,
    }  # fmt: skip
    return TuningRecord(**(own | more))


def normal() -> TuningRecord:
    """One search of 25 trials, on the CPU; there is no GPU."""
    return record(search("boosting", "cpu", trials(25, SPACE)))


def failing() -> TuningRecord:
    """A search with failures of both kinds, one that lacks its default, and one without a trial."""
    some = search("boosting", "cpu", trials(40, SPACE, failing=3, seed=3), default=None)
    none = replace(
        search("forest", "cpu", trials(2, SPACE)), trials=[], best=None, default=None, edges=[],
        tuned=None, untuned=None,
        differences={}, seconds=1.5,
    )  # fmt: skip
    return record(some, none, cautions=["'carrier' is a copy of the target."])


def hostile() -> TuningRecord:
    """Foreign text wherever there can be some."""
    bad = fixtures.HOSTILE
    base = normal()
    space = [
        replace(each, name=each.name + bad, default=bad) if i == 0 else
        replace(each, choices=[bad, bad + "2"]) if each.kind == "choice" else each
        for i, each in enumerate(SPACE)
    ]  # fmt: skip
    made = [
        replace(each, params={p.name: bad if p.kind == "choice" or not i else each.params[p.name]
                              for i, p in enumerate(space)}, reason=each.reason and bad)
        for each in base.searches[0].trials
    ]  # fmt: skip
    first = base.searches[0]
    untuned = replace(first.untuned, code=bad + "```", metrics={"roc_auc": 0.7, bad: 0.5})
    changed = search(
        bad, "cpu", made, edges=[bad], ended=bad,
        tuned=replace(untuned), untuned=untuned, differences={bad: Interval(low=-1, high=1)},
    )  # fmt: skip
    return record(
        changed, space=space, cautions=[bad], created=bad,
        protocol=replace(base.protocol, time=[bad], splitter=bad),
        pipelines=[PipelineInfo(name=bad, title=bad, code=bad)],
        variants=[Variant(name="cpu", title=bad, device="cpu", status="skipped", why=bad)],
        task=fixtures.hostile().task, machine=fixtures.hostile().machine,
        source=fixtures.hostile().source,
    )  # fmt: skip


EVERY = [normal, failing, hostile]
