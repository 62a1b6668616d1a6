from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer

from pipeline.backends.base import Placement
from pipeline.benchmark.record.results import STAGES
from pipeline.benchmark.run import measure
from pipeline.benchmark.run.measure import Outcome
from pipeline.errors import DataError
from pipeline.task.metrics import fields
from pipeline.task.task import Job
from tasks.flights import TASK

SPECS = list(TASK.pipelines)
NUMBERS = ["day", "weekday", "sched_dep", "distance"]


@cache
def outcome(path: Path, pipeline: str, variant: str) -> Outcome:
    return measure.measure_once(
        TASK, TASK.pipeline(pipeline, 0), Job("flights", pipeline, variant, path)
    )


@cache
def halves(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = pd.read_parquet(path)
    return frame[frame["month"] <= 9], frame[frame["month"] > 9]


@pytest.mark.quick(1)
@pytest.mark.parametrize("pipeline", SPECS)
def test_the_reference_is_the_plain_program(small_flights: Path, pipeline: str) -> None:
    train, test = halves(small_flights)
    features = list(TASK.features)
    plain = TASK.pipeline(pipeline, 0).fit(train[features], train["late"])
    measured = outcome(small_flights, pipeline, "reference")
    # The threads of the forest add up their trees in any order.
    rtol = 1e-12 if pipeline == "forest" else 0
    expected = plain.predict_proba(test[features])[:, 1]
    np.testing.assert_allclose(measured.predicted["prediction"], expected, rtol=rtol, atol=0)
    np.testing.assert_array_equal(measured.y_true, test["late"])
    assert measured.rows_train == len(train)


@pytest.mark.quick(5)
@pytest.mark.parametrize("variant", ["reference", "cpu"])
@pytest.mark.parametrize("pipeline", SPECS)
def test_stages_are_known_and_fit_into_the_total(
    small_flights: Path, pipeline: str, variant: str
) -> None:
    measured = outcome(small_flights, pipeline, variant)
    assert {"read", "preprocess", "fit", "predict"} <= set(measured.stages) <= set(STAGES)
    assert all(seconds > 0 for seconds in measured.stages.values())
    assert sum(measured.stages.values()) <= measured.total
    steps = [placement.step for placement in outcome(small_flights, pipeline, "cpu").placements]
    assert [placement.step for placement in measured.placements] == steps
    assert all(p.device == "cpu" and p.implementation for p in measured.placements)
    assert bool(measured.execution_log) == (variant == "cpu")


def test_an_estimator_without_a_pipeline_is_measured_too(small_flights: Path) -> None:
    bare = {"bare": lambda seed: LogisticRegression()}
    task = replace(TASK, features=NUMBERS, pipelines=bare, spaces={})
    job = Job("flights", "bare", "reference", small_flights)
    reference = measure.measure_once(task, task.pipeline("bare", 0), job)
    accelerated = measure.measure_once(task, task.pipeline("bare", 0), replace(job, variant="cpu"))
    train, test = halves(small_flights)
    plain = LogisticRegression().fit(train[NUMBERS], train["late"])
    said, ours = (each.predicted["prediction"] for each in (reference, accelerated))
    np.testing.assert_array_equal(said, plain.predict_proba(test[NUMBERS])[:, 1])
    np.testing.assert_allclose(ours, said, atol=1e-3)
    assert set(reference.stages) == {"read", "fit", "predict"}
    assert reference.placements == [
        Placement("logisticregression", "sklearn.LogisticRegression", "cpu")
    ]


@pytest.mark.parametrize(
    "metric",
    [make_scorer(lambda *_: math.nan), make_scorer(lambda *_: math.inf), "neg_log_loss"],
)
def test_a_metric_without_a_value_is_an_error_that_names_it(metric) -> None:
    task = replace(TASK, metrics={"a loss": metric})
    one_class = Outcome(
        y_true=np.zeros(3), predicted=fields(prediction=[0.5] * 3, decision=[0] * 3)
    )
    with pytest.raises(DataError, match="a loss of the 3 test rows"):
        measure.judge_outcome(task, one_class)
