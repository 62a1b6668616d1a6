"""From a scikit-learn estimator to a plan for a device, or the reasons why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from pipeline.backends import cpu, cuda, label_encoder
from pipeline.backends.base import HostModel, Model, Placement, reads_float32
from pipeline.backends.cuml import text
from pipeline.backends.text_input import reads_text
from pipeline.backends.xgboost.estimator import bad_parameters
from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.planning.plan import Plan, Step
from pipeline.preprocessing.engine import build
from pipeline.preprocessing.engine import build as refusals
from pipeline.preprocessing.engine.program import Program
from pipeline.typing import Estimator, Params

RULES = {"cpu": cpu, "cuda": cuda}
BLOCKS = {"cpu": "pipeline.preprocessing (NumPy)", "cuda": "pipeline.preprocessing (CuPy)"}

Rows = Literal["dense", "sparse", "unknown"]
"""What a step hands to the next one; text vectorizers make sparse rows."""


def lower(
    estimator: BaseEstimator,
    device: str,
    *,
    fallback: bool = False,
    dtype: str = "auto",
    rank_error: float = 0.0,
) -> Plan:
    """Return the unfitted plan that is equivalent to an estimator on a device.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn or XGBoost estimator, or a `Pipeline`; it is not changed.
    device : {"cpu", "cuda"}
    fallback : bool
        Run what the device cannot on the host, instead of raising.
    dtype : {"auto", "float32", "float64"}
        Type of the matrix that the last estimator learns from; on the CPU, of the one that
        preprocessing hands to it. "auto" is the type that scikit-learn would hand on, and float32
        for trees, which make it of any other, and on a GPU.
    rank_error : float
        Largest error of medians and quantiles in rank, as a share of the rows; 0 is exact.

    Raises
    ------
    Unsupported
        Some steps have no equivalent and `fallback` is off; all reasons are in it.
    ConfigError
        A parameter of the estimator is invalid.
    """
    validate(estimator)
    entries = list(walk(estimator, device))
    reasons = [reason for *_, found in entries for reason in found]
    if reasons and device != "cpu" and not fallback:
        raise Unsupported(*reasons)
    final = last_type(dtype, device, entries[-1][1])
    runs = programs(entries)
    # What is between the steps keeps the type that scikit-learn gives it.
    last = len(runs) - (2 if len(runs) > 1 and not _is_program(runs[-1]) else 1)
    steps = []
    for i, run in enumerate(runs):
        if _is_program(run):
            kind = final if i == last else "auto"
            after = runs[i + 1][0] if i + 1 < len(runs) else None
            made = {"dtype": kind, "rank_error": rank_error, **_for_what_follows(after, device)}
            steps.append(_program(run, device, made))
        else:
            steps.append(_one(run[0], device, fallback=fallback, dtype=final))
    _tell_places(steps, final)
    return Plan(estimator, steps)


def _tell_places(steps: Sequence[Step], dtype: str) -> None:
    """Tell the models which of them is given the rows of the caller, and the last one its type."""
    for i, step in enumerate(steps):
        if isinstance(step.worker, Model):
            step.worker.first = i == 0
            if step is steps[-1]:
                step.worker.asked_for(dtype)


def last_type(dtype: str, device: str, last: Estimator) -> str:
    """Return the type of the matrix for the last estimator of an estimator, where it is float32.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> last_type("auto", "cpu", Ridge()), last_type("auto", "cpu", DecisionTreeRegressor())
    ('auto', 'float32')
    """
    narrow = device == "cuda" or reads_float32(last)
    return "float32" if dtype == "auto" and narrow else dtype


Event = tuple[str, Any, list[Reason]]
"""A step: its name, the estimator, and what stands in its way on a device."""


def programs(entries: Sequence[Event]) -> list[list[Event]]:
    """Return the steps in order, those that run on blocks one after the other together.

    They are one program, so that a block goes through all of them before anything is rounded to
    the type of a matrix. A `ColumnTransformer` begins a new one: it selects from a table.
    """
    runs: list[list[Event]] = []
    for entry in entries:
        joins = runs and _is_program(runs[-1]) and _is_program([entry])
        if joins and not refusals.must_come_first(entry[1]):
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return runs


def _is_program(run: Sequence[Event]) -> bool:
    _, part, found = run[0]
    return on_blocks(part) and not (label_encoder.handles(part) or found)


def _for_what_follows(after: Event | None, device: str) -> dict[str, Any]:
    """Return the form in which a program hands its rows to the step after it."""
    if after is None or _is_program([after]):
        return {"selected_from": after is not None}
    _, part, found = after
    return {"order": "C" if found or device == "cpu" else cuda.order(part)}


def _program(run: Sequence[Event], device: str, made: Params) -> Step:
    places = [place for name, part, _ in run for place in placements(name, part, device)]
    if len(run) == 1:
        name, estimator = run[0][0], run[0][1]
        return Step(name, Program(estimator, step=name, **made), device, places)
    estimator = Pipeline([(name, part) for name, part, _ in run])
    name = " + ".join(name for name, *_ in run)
    return Step(name, Program(estimator, step="", **made), device, places)


def parts(estimator: BaseEstimator) -> Iterator[tuple[str, Any]]:
    """Return the steps of a pipeline, or the estimator itself, with their names."""
    if type(estimator) is Pipeline:
        for name, part in estimator.steps:
            if part is not None and not (isinstance(part, str) and part == "passthrough"):
                yield name, part
    else:
        yield type(estimator).__name__.lower(), estimator


def walk(estimator: BaseEstimator, device: str) -> Iterator[tuple[str, Any, list[Reason]]]:
    """Return the steps with their names and what stands in their way on a device."""
    rows: Rows = "dense"
    for name, part in parts(estimator):
        found = obstacles(part, name, device, rows)
        yield name, part, found
        rows = _made(part, name, rows, as_it_is=bool(found))


def _made(part: Any, name: str, rows: Rows, *, as_it_is: bool) -> Rows:
    if text.handles(part):
        return "sparse"
    if cuda.knows(part) and not type(part).__name__.endswith("Projection"):
        return "dense"
    texts = any(text.handles(leaf) for _, leaf in refusals.leaves(part, name))
    return "unknown" if as_it_is and (texts or rows != "dense") else "dense"


def is_transformer(part: Any) -> bool:
    """Return whether a step only transforms."""
    return hasattr(part, "transform") and not hasattr(part, "predict")


def on_blocks(part: Any) -> bool:
    """Return whether a step is preprocessing of a table; text, PCA and FastICA are models."""
    return is_transformer(part) and not (text.handles(part) or cuda.knows(part))


def obstacles(part: Any, name: str, device: str, rows: Rows = "dense") -> list[Reason]:
    """Return why a step cannot run on a device; none when it can."""
    if label_encoder.handles(part):
        return []
    if on_blocks(part):
        return _off_blocks(part, name, rows)
    try:
        RULES[device].describe(part, name)
    except Unsupported as error:
        return list(error.reasons)
    dense_only = cuda.needs_dense(part, name) if (device, rows) == ("cuda", "sparse") else None
    return [dense_only] if dense_only else []


def _off_blocks(part: Any, name: str, rows: Rows) -> list[Reason]:
    if rows != "dense":
        way_out = "leave it out, or run it with scikit-learn: device='auto'"
        return [
            Reason(name, "it follows text, whose rows are sparse, and blocks are dense", way_out)
        ]
    texts = {path: leaf for path, leaf in refusals.leaves(part, name) if text.handles(leaf)}
    return [
        text.inside(texts[reason.step], reason.step) if reason.step in texts else reason
        for reason in refusals.reasons(part, name)
    ]


def _one(entry: Event, device: str, *, fallback: bool, **options: Any) -> Step:
    name, part, found = entry
    if label_encoder.handles(part):
        return Step(name, label_encoder.Labels(part), "cpu", list(placements(name, part, "cpu")))
    if found:
        return on_host(name, part, found, asked=device)
    return _model(name, part, device, fallback=fallback, **options)


def _model(name: str, part: Any, device: str, *, fallback: bool, dtype: str) -> Step:
    places = list(placements(name, part, device))
    model = RULES[device].place(part, name, dtype)
    # No function of its own: a model may be pickled.
    host = partial(on_host, name, part, asked=device) if fallback and device != "cpu" else None
    return Step(name, model, device, places, host)


def on_host(name: str, part: Any, found: Sequence[Reason], *, asked: str) -> Step:
    """Return a step that runs on the host, as the user wrote it, and says why."""
    why = "; ".join(f"{r.parameter}: {r.why}" if r.parameter else r.why for r in found)
    runs = cpu.describe(part, name)
    note = f"on the host: {why}" if asked != "cpu" else f"as it is: {why}"
    place = replace(runs, note=note, reasons=tuple(found))
    return Step(name, HostModel(part), "cpu", [place])


def placements(name: str, part: Any, device: str) -> Iterator[Placement]:
    """Return where each inner step of a supported step runs."""
    if label_encoder.handles(part):
        yield Placement(name, "pipeline.backends.labels", "cpu", "labels live on the host")
        return
    if not on_blocks(part):
        yield RULES[device].describe(part, name)
        return
    for path, leaf in refusals.leaves(part, name):
        if not (isinstance(leaf, str) and leaf == "drop"):
            yield Placement(path, BLOCKS[device], device)


def validate(estimator: BaseEstimator) -> None:
    """Let scikit-learn and XGBoost judge the parameters before any data is read.

    Raises
    ------
    ConfigError
        A value is out of range, or XGBoost does not know a keyword.
    """
    try:
        if type(estimator) is Pipeline:
            build.check_names(estimator, estimator.steps, "pipeline")
        found = [(n, part, refusals.leaves(part, n)) for n, part in parts(estimator)]
    except TypeError as error:
        raise ConfigError(f"the steps are not lists of names and estimators: {error}") from error
    if not found:
        raise ConfigError("the pipeline has no step left: all are 'passthrough'")
    for name, part, leaves in found:
        if not isinstance(part, BaseEstimator):
            raise ConfigError(f"{name}: {part!r} is not a scikit-learn estimator")
        for path, leaf in leaves:
            _validate(leaf, path)
    _validate_rows(estimator)


def _validate(leaf: Estimator, path: str) -> None:
    if hasattr(leaf, "_parameter_constraints"):
        try:
            clone(leaf)._validate_params()
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from error
    bad = bad_parameters(leaf, path) if cpu.is_xgboost(leaf) else []
    if bad:
        raise Unsupported(*bad)


def _validate_rows(estimator: BaseEstimator) -> None:
    """Refuse what scikit-learn would refuse only after it has read all texts."""
    for (before, maker), (name, taker) in pairwise(parts(estimator)):
        known = type(taker).__module__.startswith("sklearn.") and not reads_text(taker)
        if text.handles(maker) and known and not get_tags(taker).input_tags.sparse:
            why = f"{type(taker).__name__} takes no sparse rows, which {before} makes"
            way_out = "put a TruncatedSVD before it, or use one that does, as LogisticRegression"
            raise Unsupported(Reason(name, why, way_out))
