"""The checker itself: what it reads of RAPIDS, which faults it catches, what it lets pass."""

from __future__ import annotations

import inspect
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


def named(group: dict[str, Snippet]) -> list[Any]:
    return [pytest.param(code, id=name) for name, code in group.items()]


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


@pytest.mark.parametrize("code", named(GOOD))
def test_good_code_passes(code: Snippet, bench: Bench, recorder: Recorder) -> None:
    assert objections(code, bench, recorder) == []


@pytest.mark.parametrize("code", named(UNSEEN))
def test_difference_of_values_is_not_seen(code: Snippet, bench: Bench, recorder: Recorder) -> None:
    assert objections(code, bench, recorder) == []


def test_snippets_are_as_many_as_the_documentation_says() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    faults, good = len(FAULTS), len(GOOD)
    assert f"catches {faults} of {faults} with seeded faults and passes {good} of {good}" in text


def test_versions_in_the_documentation_are_those_of_the_snapshot() -> None:
    stated = "cuDF {cudf}, cuML {cuml}, CuPy {cupy}".format(**frozen().versions)
    assert stated in DOCUMENT.read_text(encoding="utf-8")


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
    if convert(x):
        return x
    if axis:
        raise ValueError("reached only by some")
    return x


def reassigned(x: Any, axis: Any = 0) -> Any:
    axis = convert(axis)
    if axis != 0:
        raise ValueError("not what the caller passed")
    return x


def always(x: Any) -> Any:
    raise TypeError("never")


def convert(x: Any) -> Any:
    return x


def raised(function: Any, **arguments: Any) -> list[str]:
    return [guard.raises for guard in guards(function) if holds(guard, arguments)]


def test_guards_are_read_in_order() -> None:
    assert guards(plain) == [
        Guard("(inplace)", "NotImplementedError", "inplace"),
        Guard("(how not in {'left', 'right'})", "ValueError", ""),
    ]


def test_guards_hold_for_the_arguments_they_refuse() -> None:
    assert raised(plain, x=1, how="left", inplace=False) == []
    assert raised(plain, x=1, how="left", inplace=True) == ["NotImplementedError"]
    assert raised(plain, x=1, how="outer", inplace=False) == ["ValueError"]


def test_what_returns_before_is_taken_into_account() -> None:
    assert raised(chained, x=1, axis=0) == []
    assert raised(chained, x=1, axis=1) == ["NotImplementedError"]
    assert raised(chained, x=1, axis=2) == []


def test_guard_behind_an_undecidable_return_is_left_out() -> None:
    assert guards(undecided) == []


def test_guard_on_a_name_that_was_set_anew_is_left_out() -> None:
    assert guards(reassigned) == []


def test_function_that_always_raises() -> None:
    assert raised(always, x=1) == ["TypeError"]


def test_function_without_source_has_no_guards() -> None:
    assert guards(len) == []


def test_condition_that_cannot_be_evaluated_does_not_hold() -> None:
    assert not holds(Guard("(x.shape > 1)", "ValueError", ""), {"x": object()})


TEXTS = [
    "()",
    "(self, /, a, b=None, *args, c=1, d=..., **kwargs)",
    "(x, /, out=None, *, casting='same_kind', dtype=None)",
    "(self, *, how=('left', 'right'))",
]


class Compiled:
    """Callable without a signature, as compiled methods are."""

    def __init__(self, docstring: str) -> None:
        self.__doc__ = docstring
        self.__signature__ = ...

    def __call__(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_signature_are_equivalent(text: str) -> None:
    assert str(parse(text)).replace("Ellipsis", "...") == text


def test_annotations_and_sentinels_are_left_out() -> None:
    sentinel = object()

    def function(a: int, b: Any = sentinel, c: str = "x") -> float:
        return 0.0

    assert describe(function) == "(a, b=..., c='x')"
    assert parse(describe(function)).parameters["b"].default is ...


@pytest.mark.parametrize(
    ("docstring", "text"),
    [
        ("isnan(x, /, out=None, \\*, dtype=None)\n\nMore.", "(x, /, out=None, *, dtype=None)"),
        ("_base.astype(self, dtype, order='K') -> _base", "(self, dtype, order='K')"),
        ("Says nothing.", UNKNOWN),
        ("broken(a, =1)", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_compiled_function_is_read_from_its_docstring(docstring: str, text: str) -> None:
    assert describe(Compiled(docstring)) == text


def test_parsed_signature_binds() -> None:
    signature = parse("(a, b=1, *, c=None)")
    assert signature.bind(0, c=2).arguments == {"a": 0, "c": 2}
    with pytest.raises(TypeError):
        signature.bind(0, d=1)
    assert signature.parameters["c"].kind is inspect.Parameter.KEYWORD_ONLY


CONTRACT = Contract(
    {
        "versions": {},
        "owners": {
            "cudf.DataFrame": {
                "columns": {},
                "sort_values": {
                    "signature": "(self, by, axis=0, key=None)",
                    "guards": [["(key is not None)", "NotImplementedError", "no key"]],
                },
                "apply": {"signature": "(self, func, axis=1)"},
                "mystery": {"signature": "?"},
            }
        },
    }
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
def test_call_is_judged(made: Call, said: list[str]) -> None:
    found = CONTRACT.faults(made)
    assert len(found) == len(said)
    assert all(part in fault for part, fault in zip(said, found, strict=True))


def test_same_fault_is_told_once() -> None:
    assert len(faults([call("pop"), call("pop")], CONTRACT)) == 1


def test_frozen_contract_is_small_and_rendered_as_kept() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert len(text.encode()) < 200_000
    assert render(json.loads(text)) == text


def test_frozen_contract_tells_its_versions() -> None:
    assert set(frozen().versions) == {"cudf", "cuml", "cupy"}
    assert frozen().versions["cudf"].startswith("26.10.")


def test_frozen_contract_holds_what_the_gpu_path_stands_on() -> None:
    assert frozen().has("cudf", "from_pandas")
    assert frozen().has("cudf.Series", "to_cupy")
    assert frozen().has("cupy.ndarray", "get")
    assert not frozen().has("cudf.Series", "nbytes")
