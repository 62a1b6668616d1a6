"""The verdict on single calls, and the frozen contract."""

from __future__ import annotations

import json

import pytest

from tests.contract.recorder import Call
from tests.contract.snapshot import FILE, render
from tests.contract.verify import Contract, faults, frozen

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
