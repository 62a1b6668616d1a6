"""The trials of a study as records."""

from __future__ import annotations

from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.benchmark.record.tuning_record import ParameterRecord, TrialRecord
from pipeline.compile import source_code
from pipeline.tuning.default_spaces import is_limit, unset
from pipeline.tuning.space import Listed, Space
from pipeline.tuning.study import recall
from pipeline.tuning.tuned import COMPLETE

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

PREFIX = "estimator__"
"""Prefix of the parameters of a pipeline in an `Accelerated`."""
EDGE = 0.05
"""The share of a range that counts as its end."""


def records_of_trials(study: Study, space: Space, sign: int) -> list[TrialRecord]:
    """Return the trials that have ended; `sign` is -1 where their values are negative losses."""
    return [
        TrialRecord(
            number=each.number,
            params={name.removeprefix(PREFIX): plain(value) for name, value in each.params.items()},
            state=each.state,
            reason=each.reason,
            score=sign * each.score if each.state == COMPLETE else None,
            folds=[
                sign * one.score for _, one in sorted(each.folds.items()) if isfinite(one.score)
            ],
            seconds=each.seconds,
            duration=sum(one.fit_time + one.score_time for one in each.folds.values()),
        )
        for each in recall(study, space)
    ]


def records_of_space(space: Space) -> list[ParameterRecord]:
    """Return the range or the choices of each parameter, by its name in the pipeline."""
    own = space.estimator.get_params()
    own |= unset(space.estimator, own)
    records = []
    for name, each in space.parameters.items():
        if isinstance(each, Listed):
            choices = [plain(value) for value in each.values.values()]
            more: dict[str, Any] = {"kind": "choice", "choices": choices}
        else:
            more = {key: getattr(each.distribution, key) for key in ("low", "high", "log", "step")}
            more["kind"] = "int" if each.whole else "float"
        default = own.get(name)
        with suppress(LookupError):  # 10 is drawn as 10.0.
            default = each.value(each.hold(default))
        short = name.removeprefix(PREFIX)
        records.append(ParameterRecord(name=short, default=plain(default), **more))
    return records


def edges_of(space: Space, trial: FrozenTrial) -> list[str]:
    """Return sentences that say which numbers of a trial lie at an end of their range.

    The ends that no valid value is beyond are left out, as is the estimator's own value.
    """
    own = space.estimator.get_params()
    values, edges = space.read(trial.params), []
    for here in records_of_space(space):
        if here.low is None or here.high is None:
            continue
        value = values[PREFIX + here.name]
        if value == here.default:
            continue
        place_of_step, _, name = (PREFIX + here.name).rpartition("__")
        step = values.get(place_of_step, own.get(place_of_step))
        ends = np.array([here.low, here.high], float)
        at = value, *ends
        place, low, high = np.log(at) if here.log else at
        near = 0.0 if here.kind == "int" else EDGE * (high - low)
        for end, gap, limit in (("low", place - low, ends[0]), ("high", high - place, ends[1])):
            sides = {"whole": here.kind == "int", "high": end == "high"}
            if low < high and gap <= near and not is_limit(step, name, limit, **sides):
                edges.append(
                    f"The best {here.name}, {value:.6g}, lies at the {end} end of its "
                    f"range, {limit:.6g}. Widen the range: a better value may be beyond it."
                )
    return edges


def plain(value: Any) -> Any:
    """Return the value of a parameter as JSON holds it; anything else as code.

    >>> from sklearn.linear_model import Ridge
    >>> plain(np.int64(3)), plain("sqrt"), plain(None), plain(Ridge(2.0)), plain(float("nan"))
    (3, 'sqrt', None, 'Ridge(alpha=2.0)', 'nan')
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    known = value is None or isinstance(value, bool | int | float | str)
    return value if known else source_code.code(value)
