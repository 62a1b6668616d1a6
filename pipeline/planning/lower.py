"""From a scikit-learn estimator to a plan for a device, or the reasons why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from pipeline.backends import cuda
from pipeline.backends.base import Model, find_last_dtype
from pipeline.backends.meta import MetaBackend
from pipeline.errors import Reason, Unsupported
from pipeline.planning.classify import Kind, Node, Rows, classify, classify_step
from pipeline.planning.plan import Plan, Step, make_host_step
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.engine.tree import makes_sparse, must_come_first
from pipeline.preprocessing.engine.workers import HostWorker


@dataclass(frozen=True)
class LoweringOptions:
    """How an estimator is lowered.

    Parameters
    ----------
    fallback : bool
        Run what the device cannot on the host, instead of raising.
    dtype : {"auto", "float32", "float64"}
        Type of the matrix that the last estimator learns from; on the CPU, of the one that
        preprocessing hands to it. "auto" is the type that scikit-learn would hand on, and float32
        for trees, which make it of any other, and on a GPU, but for what is unsafe in it there.
    apart : bool
        Steps of preprocessing are programs of their own, which other fits may share.
    """

    fallback: bool = False
    dtype: str = "auto"
    apart: bool = False


DEFAULTS = LoweringOptions()


def lower(
    estimator: BaseEstimator,
    device: str,
    options: LoweringOptions = DEFAULTS,
    name: str = "",
    *,
    rows: Rows = "dense",
) -> Plan:
    """Return the unfitted plan that is equivalent to an estimator on a device.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn or XGBoost estimator, or a `Pipeline`; it is not changed.
    device : {"cpu", "cuda"}
    options : LoweringOptions
    name : str
        Of the only step; by default that of its class.
    rows : {"dense", "sparse"}
        What the first step is given.

    Raises
    ------
    Unsupported
        Some steps have no equivalent and `fallback` is off; all reasons are in it.
    ConfigError
        A parameter of the estimator is invalid.
    """
    nodes = classify(estimator, device, name, rows)
    reasons = [reason for node in nodes for reason in node.reasons]
    if reasons and device != "cpu" and not options.fallback:
        raise Unsupported(*reasons)
    final = find_last_dtype(options.dtype, device, nodes[-1].estimator, nodes[-1].rule)
    steps = _make_steps(_group(nodes, apart=options.apart), device, replace(options, dtype=final))
    if isinstance(last := steps[-1].worker, Model):
        last.asked_for(final)
    return Plan(estimator, steps, nodes)


def _group(nodes: Sequence[Node], *, apart: bool) -> list[list[Node]]:
    """Return the steps in order, those that run on blocks one after the other together.

    They are one program, so that a block goes through all of them before anything is rounded to
    the type of a matrix. A `ColumnTransformer` begins a new one: it selects from a table. Where
    they are to stand `apart`, each does that can read what the one before it makes.
    """
    groups: list[list[Node]] = []
    for node in nodes:
        joins = groups and groups[-1][0].runs_on_blocks and node.runs_on_blocks
        splits = apart and joins and not makes_sparse(groups[-1][-1].estimator)
        if joins and not splits and not must_come_first(node.estimator):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _make_steps(
    groups: Sequence[Sequence[Node]], device: str, options: LoweringOptions
) -> list[Step]:
    # What is between the steps keeps the type that scikit-learn gives it.
    last = len(groups) - (2 if len(groups) > 1 and not groups[-1][0].runs_on_blocks else 1)
    steps = []
    for i, group in enumerate(groups):
        if group[0].runs_on_blocks:
            after = groups[i + 1][0] if i + 1 < len(groups) else None
            between = options if i == last else replace(options, dtype="auto")
            steps.append(_make_program(group, after, device, between))
        else:
            within = options if i == len(groups) - 1 else replace(options, dtype="float64")
            steps.append(_make_model(group[0], device, options, within, first=i == 0))
    return steps


def _make_program(
    group: Sequence[Node], after: Node | None, device: str, options: LoweringOptions
) -> Step:
    """Return the step of a group, which hands its rows on as the node after it takes them."""
    alone = len(group) == 1
    whole = group[0].estimator if alone else Pipeline([(n.path, n.estimator) for n in group])
    rule = None if after is None or after.reasons else after.rule
    program = Program(
        whole,
        options.dtype,
        group[0].path if alone else "",
        order=rule.order if rule else "C",
        make_worker=cuda.make_worker if device == "cuda" else HostWorker,
        why_dense=""
        if after is None or device == "cpu" or _takes_sparse(after)
        else f"{type(after.estimator).__name__} takes no sparse rows on the GPU",
        ends=after is None,
        exact_zeros=after is not None and after.kind is Kind.XGBOOST,
    )
    places = [place for node in group for place in node.placements]
    name = " + ".join(node.path for node in group)
    host = partial(_make_host_program, group, after, options)
    may_fall = options.fallback and device == "cuda"
    return Step(name, program, device, places, host if may_fall else None)


def _takes_sparse(after: Node) -> bool:
    """Return whether what follows preprocessing on a GPU takes sparse rows, as the host does.

    Or whether it refuses them, as scikit-learn's does.
    """
    if after.reasons:
        return True
    if not after.inside and not get_tags(after.estimator).input_tags.sparse:
        return True
    parts = (after, *after.inside)
    return all(part.rule is not None and part.rule.sparse for part in parts)


def _make_host_program(
    group: Sequence[Node], after: Node | None, options: LoweringOptions, reasons: Sequence[Reason]
) -> Step:
    """Return the step of a group that continues on the host, and says why."""
    step = _make_program(group, after, "cpu", options)
    note = f"on the host: {'; '.join(reason.why for reason in reasons)}"
    step.placements = [
        replace(place, note=note, reasons=tuple(reasons))
        for node in group
        for place in classify_step(node.estimator, node.path, "cpu").placements
    ]
    return step


def _make_model(
    node: Node, device: str, options: LoweringOptions, within: LoweringOptions, *, first: bool
) -> Step:
    """Return the step of a model; `within` is how what is inside it is lowered."""
    if node.reasons or node.rule is None:
        return make_host_step(node.path, node.estimator, node.reasons, asked=device)
    rule, place = node.rule, node.placements[0]
    if isinstance(rule, MetaBackend):
        inner = partial(lower, device=device, options=replace(within, fallback=False))
        rule = replace(rule, lower=inner)
    model = rule.place(node.estimator, node.path, options.dtype)
    model.first = first
    if node.inside:  # which learn from rows of one type, be it the last step or not
        model.asked_for(within.dtype)
    # No function of its own: a model may be pickled.
    host = partial(make_host_step, node.path, node.estimator, asked=device)
    may_fall = options.fallback and (place.device != "cpu" or node.inside)
    return Step(node.path, model, place.device, node.placements, host if may_fall else None)
