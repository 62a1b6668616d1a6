"""From a scikit-learn estimator to a plan for a device, or the reasons why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from pipeline.backends.base import Model, find_last_dtype
from pipeline.backends.cpu import host_order, is_xgboost
from pipeline.backends.meta import MetaBackend
from pipeline.compile.compile import compile, compile_step
from pipeline.compile.plan import Plan, Step, make_host_step
from pipeline.compile.program import Program
from pipeline.compile.spec import Op, RowSpec
from pipeline.errors import Reason, Unsupported


@dataclass(frozen=True)
class LoweringOptions:
    """How an estimator is lowered."""

    fallback: bool = False
    """Run what the device cannot on the host, instead of raising."""
    dtype: str = "auto"
    """Type of the matrix that the last estimator learns from; on the CPU, of the one that
    preprocessing hands to it. "auto" is the type that scikit-learn would use, and float32 for
    trees, which convert to it anyway, and on a GPU, unless it is too inaccurate there."""
    apart: bool = False
    """Each step of preprocessing is a program of its own, which other fits may share."""


DEFAULTS = LoweringOptions()


def lower(
    estimator: BaseEstimator,
    device: str,
    options: LoweringOptions = DEFAULTS,
    name: str = "",
    *,
    spec: RowSpec | None = None,
) -> Plan:
    """Return the unfitted plan that is equivalent to an estimator on a device.

    `name` is that of the only step, by default that of its class; `spec` is what is known of the
    rows that the first step is given. See `compile` and `make_plan` for errors.
    """
    return make_plan(compile(estimator, RowSpec(device) if spec is None else spec, name), options)


def make_plan(whole: Op, options: LoweringOptions = DEFAULTS) -> Plan:
    """Return the unfitted plan that runs what was compiled.

    Without `fallback`, `Unsupported` has all reasons why some steps have no equivalent.
    """
    device, ops = whole.takes.device, whole.steps
    strict = device != "cpu" and not options.fallback
    if strict and (reasons := [reason for op in ops for reason in op.refused]):
        raise Unsupported(*reasons)
    final = find_last_dtype(options.dtype, device, ops[-1].estimator, ops[-1].rule)
    steps = _make_steps(_group(ops, options), device, replace(options, dtype=final))
    if isinstance(model := steps[-1].worker, Model):
        model.asked_for(final)
    return Plan(whole.estimator, steps, ops)


def _group(ops: Sequence[Op], options: LoweringOptions) -> list[list[Op]]:
    """Return the steps in order, those that run on blocks one after the other together.

    They are one program, so that a block goes through all of them before anything is rounded to
    the type of a matrix. A `ColumnTransformer` begins a new one: it selects from a table. Where
    they are to stand `apart`, each does that can read what the one before it makes.
    """
    groups: list[list[Op]] = []
    for op in ops:
        joins = groups and groups[-1][0].on_blocks and op.on_blocks
        splits = options.apart and joins and groups[-1][-1].out.form == "dense"
        if joins and not splits and ColumnTransformer not in [type(o.estimator) for o in op.tree]:
            groups[-1].append(op)
        else:
            groups.append([op])
    return groups


def _make_steps(
    groups: Sequence[Sequence[Op]], device: str, options: LoweringOptions
) -> list[Step]:
    # What is between the steps keeps the type that scikit-learn gives it.
    last = len(groups) - (2 if len(groups) > 1 and not groups[-1][0].on_blocks else 1)
    steps = []
    for i, group in enumerate(groups):
        if group[0].on_blocks:
            after = groups[i + 1][0] if i + 1 < len(groups) else None
            between = options if i == last else replace(options, dtype="auto")
            steps.append(_make_program(group, after, between))
        else:
            within = options if i == len(groups) - 1 else replace(options, dtype="float64")
            steps.append(_make_model(group[0], device, options, within))
            if isinstance(worker := steps[-1].worker, Model):
                worker.first = i == 0
    return steps


def _make_program(group: Sequence[Op], after: Op | None, options: LoweringOptions) -> Step:
    """Return the step of a group, which hands its rows on as the step after it takes them."""
    op, name, device = group[0], group[0].path, group[0].takes.device
    if len(group) > 1:
        name = " + ".join(op.path for op in group)
        whole = Pipeline([(op.path, op.estimator) for op in group])
        op = Op("", whole, "container", op.takes, group[-1].out, tuple(group))
    program = Program(
        op.estimator,
        options.dtype,
        op.path,
        op=op,
        order=_order_for(after),
        why_dense=""
        if after is None or device == "cpu" or _takes_sparse(after)
        else f"{type(after.estimator).__name__} does not support sparse rows on the GPU",
        ends=after is None,
        exact_zeros=after is not None and is_xgboost(after.estimator),
    )
    host = partial(_make_host_program, group, after, options)
    may_fall = options.fallback and device == "cuda"
    return Step(name, program, device, op.placements, host if may_fall else None)


def _order_for(after: Op | None) -> str:
    """Return the order of the matrix that the next step reads without a copy."""
    if after is None or after.takes.device == "cpu":
        return "A" if after is None else host_order(after.estimator)
    return "C" if after.refused or after.rule is None else after.rule.order


def _takes_sparse(after: Op) -> bool:
    """Return whether what follows preprocessing on a GPU takes sparse rows, as the host does.

    Or whether it refuses them, as scikit-learn's does.
    """
    if after.refused:
        return True
    inside = [step for op in after.children for step in op.steps] if after.runner == "meta" else []
    if not inside and not get_tags(after.estimator).input_tags.sparse:
        return True
    return all(op.rule is not None and op.rule.sparse for op in (after, *inside))


def _make_host_program(
    group: Sequence[Op], after: Op | None, options: LoweringOptions, reasons: Sequence[Reason]
) -> Step:
    """Return the step of a group that continues on the host, and says why."""
    host = [compile_step(op.estimator, op.path, replace(op.takes, device="cpu")) for op in group]
    step = _make_program(host, after, options)
    note = f"on the host: {'; '.join(reason.why for reason in reasons)}"
    step.placements = [
        replace(place, note=note, reasons=tuple(reasons)) for place in step.placements
    ]
    return step


def _make_model(op: Op, device: str, options: LoweringOptions, within: LoweringOptions) -> Step:
    """Return the step of a model; `within` is how what is inside it is lowered."""
    if op.refused or op.rule is None or op.place is None:
        return make_host_step(op.path, op.estimator, op.refused, asked=device)
    rule = op.rule
    if isinstance(rule, MetaBackend):
        inner = partial(lower, device=device, options=replace(within, fallback=False))
        rule = replace(rule, lower=inner)
    model = rule.place(op.estimator, op.path, options.dtype)
    inside = op.runner == "meta"
    if inside:  # which learn from rows of one type, be it the last step or not
        model.asked_for(within.dtype)
    # No function of its own: a model may be pickled.
    host = partial(make_host_step, op.path, op.estimator, asked=device)
    may_fall = options.fallback and (op.place.device != "cpu" or inside)
    return Step(op.path, model, op.place.device, op.placements, host if may_fall else None)
