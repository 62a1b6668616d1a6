"""The checker itself: what it reads of RAPIDS, which faults it catches, what it lets pass."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract import snippets
from tests.contract.guards import Guard, guards, holds
from tests.contract.recorder import Call, Recorder
from tests.contract.signatures import UNKNOWN, describe, parse
from tests.contract.snapshot import FILE, render
from tests.contract.snippets import BAD, GOOD, UNSEEN, Bench, Snippet
from tests.contract.verify import Contract, faults, frozen

DOCUMENT = Path(__file__).parents[2] / "docs" / "gpu.md"
FAULTS = [
    pytest.param(says, code, id=f"{kind}: {name}")
    for kind, (says, group) in BAD.items()
    for name, code in group.items()
]


@pytest.fixture
def bench(recorder: Recorder) -> Bench:
    cupy, cudf = sys.modules["cupy"], sys.modules["cudf"]
    host = np.arange(12.0).reshape(6, 2)
    made = Bench(
        xp=cupy,
        df=cudf,
        X=cudf.from_pandas(snippets.frame()),
        v=cupy.asarray(host),
        i=cupy.asarray(np.array([0, 1, 2, 0, 1, 2])),
        h=host,
    )
    recorder.clear()
    return made


def objections(code: Snippet, bench: Bench, recorder: Recorder) -> list[str]:
    """Return what running a snippet, and then checking its calls, brings up."""
    try:
        code(bench)
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        return [f"{type(error).__name__}: {error}"]
    return faults(recorder.calls)


@pytest.mark.parametrize(("says", "code"), FAULTS)
def test_fault_is_caught(says: str, code: Snippet, bench: Bench, recorder: Recorder) -> None:
    assert re.search(says, "\n".join(objections(code, bench, recorder)))


@pytest.mark.parametrize("name", [*GOOD, *UNSEEN])
def test_good_code_passes_and_a_difference_of_values_is_not_seen(
    name: str, bench: Bench, recorder: Recorder
) -> None:
    assert objections((GOOD | UNSEEN)[name], bench, recorder) == []


def test_numbers_in_the_documentation_are_those_of_the_snippets_and_the_snapshot() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    faults, good = len(FAULTS), len(GOOD)
    assert f"catches {faults} of {faults} with seeded faults and passes {good} of {good}" in text
    assert "cuDF {cudf}, cuML {cuml}, CuPy {cupy}".format(**frozen().versions) in text


def plain(x: Any, how: str = "left", inplace: bool = False) -> Any:
    if inplace:
        raise NotImplementedError("inplace")
    if how not in {"left", "right"}:
        raise ValueError(f"how={how}")
    return x


def chained(x: Any, axis: int = 0) -> Any:
    if axis == 0:
        return x
    if axis < 0:
        x = -x
    elif axis == 1:
        raise NotImplementedError("rows only")
    return x


def undecided(x: Any, axis: int = 0) -> Any:
    if x._columns:
        return x
    if axis:
        raise ValueError("reached only by some")
    return x


def reassigned(x: Any, axis: Any = 0) -> Any:
    axis = float(x)
    if axis != 0:
        raise ValueError("not what the caller passed")
    return x


def always(x: Any) -> Any:
    raise TypeError("never")


@pytest.mark.parametrize(
    ("function", "given", "raised"),
    [
        (plain, {"how": "left", "inplace": False}, []),
        (plain, {"how": "left", "inplace": True}, ["NotImplementedError"]),
        (plain, {"how": "outer", "inplace": False}, ["ValueError"]),
        (chained, {"axis": 0}, []),
        (chained, {"axis": 1}, ["NotImplementedError"]),
        (chained, {"axis": 2}, []),
        (undecided, {"axis": 1}, []),
        (reassigned, {"axis": 1}, []),
        (always, {}, ["TypeError"]),
        (len, {}, []),
    ],
)
def test_what_a_function_refuses_is_read_from_its_source(
    function: Any, given: dict[str, Any], raised: list[str]
) -> None:
    found = [guard.raises for guard in guards(function) if holds(guard, {"x": 1, **given})]
    assert found == raised


def test_a_condition_that_cannot_be_evaluated_does_not_hold() -> None:
    assert not holds(Guard("(x.shape > 1)", "ValueError", ""), {"x": object()})


class Compiled:
    """Callable without a signature, as compiled methods are."""

    def __init__(self, docstring: str) -> None:
        self.__doc__ = docstring
        self.__signature__ = ...

    def __call__(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("docstring", "text"),
    [
        ("isnan(x, /, out=None, \\*, dtype=None)\n\nMore.", "(x, /, out=None, *, dtype=None)"),
        ("_base.astype(self, dtype, order='K') -> _base", "(self, dtype, order='K')"),
        ("f(self, /, a, *args, c=1, **kwargs)", "(self, /, a, *args, c=1, **kwargs)"),
        ("Says nothing.", UNKNOWN),
        ("broken(a, =1)", UNKNOWN),
    ],
)
def test_a_compiled_function_is_read_from_its_docstring(docstring: str, text: str) -> None:
    assert describe(Compiled(docstring)) == text
    assert text == UNKNOWN or str(parse(text)) == text


def test_annotations_and_sentinels_are_left_out() -> None:
    sentinel = object()

    def function(a: int, b: Any = sentinel, c: str = "x") -> float:
        return 0.0

    assert describe(function) == "(a, b=..., c='x')"
    assert parse(describe(function)).parameters["b"].default is ...


SORT = {
    "signature": "(self, by, axis=0, key=None)",
    "guards": [["(key is not None)", "NotImplementedError", "no key"]],
}
METHODS = {"columns": {}, "sort_values": SORT, "apply": {"signature": "(self, func, axis=1)"}}
CONTRACT = Contract(
    {"versions": {}, "owners": {"cudf.DataFrame": {**METHODS, "mystery": {"signature": "?"}}}}
)


def call(name: str, *args: object, **kwargs: object) -> Call:
    return Call("cudf.DataFrame", name, args, kwargs)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (call("sort_values", "a"), []),
        (call("sort_values"), ["missing a required argument: 'by'"]),
        (call("sort_values", "a", how=1), ["unexpected keyword argument 'how'"]),
        (call("sort_values", "a", key=len), ["would raise NotImplementedError: no key"]),
        (call("apply", len), ["axis=1 is the default, 0 on the CPU"]),
        (call("apply", len, axis=1), []),
        (call("pop", "a"), ["cudf.DataFrame has no pop"]),
        (call("mystery", 1, 2, 3), []),
        (Call("cudf.DataFrame", "columns"), []),
    ],
)
def test_a_call_is_judged_once(made: Call, said: list[str]) -> None:
    found = faults([made, made], CONTRACT)
    assert len(found) == len(said)
    assert all(part in fault for part, fault in zip(said, found, strict=True))


def test_the_frozen_contract_is_rendered_as_kept_and_holds_what_the_gpu_path_stands_on() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert render(json.loads(text)) == text
    assert set(frozen().versions) == {"cudf", "cuml", "cupy"}
    assert frozen().has("cudf.Series", "to_cupy")
    assert not frozen().has("cudf.Series", "nbytes")
