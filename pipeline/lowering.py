"""From a scikit-learn spec to a plan for a device, or the reasons why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from pipeline.devices import choose
from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.plan import Placement, Plan, Step
from pipeline.preprocessing import build
from pipeline.preprocessing.program import Program
from pipeline.rules import cpu, cuda
from pipeline.rules.boosting import bad_parameters
from pipeline.rules.model import Plain

RULES = {"cpu": cpu, "cuda": cuda}
BLOCKS = {"cpu": "pipeline.preprocessing (NumPy)", "cuda": "pipeline.preprocessing (CuPy)"}


def lower(
    spec: BaseEstimator, device: str, *, fallback: bool = False, dtype: str = "float32"
) -> Plan:
    """Return the unfitted plan that is equivalent to a spec on a device.

    Parameters
    ----------
    spec : estimator
        A scikit-learn or XGBoost estimator, or a `Pipeline`; it is not changed.
    device : {"cpu", "cuda"}
    fallback : bool
        Run what the device cannot on the host, instead of raising.
    dtype : {"float32", "float64"}
        Type of the matrix that preprocessing hands to the estimator.

    Raises
    ------
    Unsupported
        Some steps have no equivalent and `fallback` is off; all reasons are in it.
    ConfigError
        A parameter of the spec is invalid.
    """
    validate(spec)
    steps: list[Step] = []
    reasons: list[Reason] = []
    for name, part in parts(spec):
        found = obstacles(part, name, device)
        if not found:
            steps.append(_place(name, part, device, dtype))
        elif device == "cpu" or fallback:
            steps.append(_on_host(name, part, found, asked=device))
        else:
            reasons += found
    if reasons:
        raise Unsupported(*reasons)
    return Plan(spec, steps)


def parts(spec: BaseEstimator) -> Iterator[tuple[str, Any]]:
    """Return the steps of a pipeline, or the estimator itself, with their names."""
    if type(spec) is Pipeline:
        for name, part in spec.steps:
            if part is not None and not (isinstance(part, str) and part == "passthrough"):
                yield name, part
    else:
        yield type(spec).__name__.lower(), spec


def is_transformer(part: Any) -> bool:
    """Return whether a step only transforms."""
    return hasattr(part, "transform") and not hasattr(part, "predict")


def obstacles(part: Any, name: str, device: str) -> list[Reason]:
    """Return why a step cannot run on a device; none when it can."""
    if is_transformer(part):
        return build.reasons(part, name)
    try:
        RULES[device].describe(part, name)
    except Unsupported as error:
        return list(error.reasons)
    return []


def _place(name: str, part: Any, device: str, dtype: str) -> Step:
    places = list(placements(name, part, device))
    if is_transformer(part):
        return Step(name, Program(part, dtype, name), device, places)
    return Step(name, RULES[device].place(part, name), device, places)


def _on_host(name: str, part: Any, found: list[Reason], *, asked: str) -> Step:
    why = "; ".join(f"{r.parameter}: {r.why}" if r.parameter else r.why for r in found)
    implementation, _ = cpu.describe(part, name)
    note = f"on the host: {why}" if asked != "cpu" else f"as it is: {why}"
    return Step(name, Plain(part), "cpu", [Placement(name, implementation, "cpu", note)])


def placements(name: str, part: Any, device: str) -> Iterator[Placement]:
    """Return where each inner step of a supported step runs."""
    if not is_transformer(part):
        implementation, note = RULES[device].describe(part, name)
        yield Placement(name, implementation, device, note)
        return
    for path, leaf in build.leaves(part, name):
        if not (isinstance(leaf, str) and leaf == "drop"):
            yield Placement(path, BLOCKS[device], device)


def validate(spec: BaseEstimator) -> None:
    """Let scikit-learn and XGBoost judge the parameters before any data is read.

    Raises
    ------
    ConfigError
        A value is out of range, or XGBoost does not know a keyword.
    """
    try:
        if type(spec) is Pipeline:
            build.check_names(spec, spec.steps, "pipeline")
        found = [(n, part, build.leaves(part, n)) for n, part in parts(spec)]
    except TypeError as error:
        raise ConfigError(f"the steps are not lists of names and estimators: {error}") from error
    if not found:
        raise ConfigError("the pipeline has no step left: all are 'passthrough'")
    for name, part, leaves in found:
        if not isinstance(part, BaseEstimator):
            raise ConfigError(f"{name}: {part!r} is not a scikit-learn estimator")
        for path, leaf in leaves:
            _validate(leaf, path)


def _validate(leaf: Any, path: str) -> None:
    if hasattr(leaf, "_parameter_constraints"):
        try:
            clone(leaf)._validate_params()
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from error
    bad = bad_parameters(leaf, path) if cpu.is_xgboost(leaf) else []
    if bad:
        raise Unsupported(*bad)


@dataclass(frozen=True)
class Explanation:
    """Where each step of a spec would run, and why; print it.

    Parameters
    ----------
    device : str
        The device that was explained.
    placements : tuple of Placement
        One a step; `implementation` is empty where there is none.
    """

    device: str
    placements: tuple[Placement, ...]

    def __str__(self) -> str:
        """Return a table."""
        width = max((len(p.step) for p in self.placements), default=0)
        lines = [
            f"{p.step:{width}}  {p.device or '-':4}  {p.implementation or 'no equivalent'}"
            + (f"  ({p.note})" if p.note else "")
            for p in self.placements
        ]
        return "\n".join(lines)


def explain(spec: BaseEstimator, device: str = "auto") -> Explanation:
    """Return where each step would run, without running anything and without a GPU.

    Parameters
    ----------
    spec : estimator
    device : {"auto", "cpu", "cuda"}
        ``"cuda"`` is explained on machines without a GPU as well.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> print(explain(LogisticRegression(C=0.5), device="cpu"))
    logisticregression  cpu   sklearn.LogisticRegression
    """
    validate(spec)
    name = device if device in RULES else choose(device).name
    rows: list[Placement] = []
    for step, part in parts(spec):
        found = obstacles(part, step, name)
        if not found:
            rows += placements(step, part, name)
        elif name == "cpu":
            rows += _on_host(step, part, found, asked="cpu").placements
        else:
            rows += [Placement(reason.step, "", "", f"{reason}") for reason in found]
    return Explanation(name, tuple(rows))
