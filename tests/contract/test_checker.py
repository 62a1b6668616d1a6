"""The checker itself: which faults it catches and which good code it lets pass."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract import snippets
from tests.contract.recorder import Recorder
from tests.contract.snippets import BAD, GOOD, UNSEEN, Bench, Snippet
from tests.contract.verify import faults, frozen

DOCUMENT = Path(__file__).parents[2] / "docs" / "gpu.md"
FAULTS = [
    pytest.param(says, code, id=f"{kind}: {name}")
    for kind, (says, group) in BAD.items()
    for name, code in group.items()
]


def named(group: dict[str, Snippet]) -> list[Any]:
    return [pytest.param(code, id=name) for name, code in group.items()]


@pytest.fixture
def bench(device: Recorder) -> Bench:
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
    device.clear()
    return made


def objections(code: Snippet, bench: Bench, device: Recorder) -> list[str]:
    """Return what running a snippet, and then checking its calls, brings up."""
    try:
        code(bench)
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        return [f"{type(error).__name__}: {error}"]
    return faults(device.calls)


@pytest.mark.parametrize(("says", "code"), FAULTS)
def test_fault_is_caught(says: str, code: Snippet, bench: Bench, device: Recorder) -> None:
    assert re.search(says, "\n".join(objections(code, bench, device)))


@pytest.mark.parametrize("code", named(GOOD))
def test_good_code_passes(code: Snippet, bench: Bench, device: Recorder) -> None:
    assert objections(code, bench, device) == []


@pytest.mark.parametrize("code", named(UNSEEN))
def test_difference_of_values_is_not_seen(code: Snippet, bench: Bench, device: Recorder) -> None:
    assert objections(code, bench, device) == []


def test_snippets_are_as_many_as_the_documentation_says() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    stated = f"| {len(FAULTS)} of {len(FAULTS)} | {len(GOOD)} of {len(GOOD)} |"
    assert stated in text


def test_versions_in_the_documentation_are_those_of_the_snapshot() -> None:
    stated = "cuDF {cudf}, cuML {cuml}, CuPy {cupy}".format(**frozen().versions)
    assert stated in DOCUMENT.read_text(encoding="utf-8")
