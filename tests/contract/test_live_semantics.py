"""The facts that the stand-ins imitate, in the source of the installed packages.

A release of RAPIDS that changes one of them fails here: then a stand-in lies differently, and
what our code does about it may be mended or dropped.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name

import pytest

from pipeline.optional import available
from tests.contract import snapshot

MISSING = [package for package in snapshot.PACKAGES if not available(package)]

pytestmark = [
    pytest.mark.contract_live,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def source(name: str) -> str:
    """Return the source of an object, white space made one."""
    return _plain(inspect.getsource(inspect.unwrap(resolve_name(name))))


def shipped(name: str) -> str:
    """Return a file that CuPy brings along."""
    folder = Path(str(resolve_name("cupy").__file__)).parent
    return _plain((folder / name).read_text(encoding="utf-8"))


def _plain(text: str) -> str:
    return " ".join(text.split())


FACTS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "no foreign index is equal": (
        source,
        "cudf.core.index:Index.equals",
        "if not isinstance(other, Index) or len(self) != len(other): return False",
    ),
    "vectors of floats are sorted by their bits": (
        shipped,
        "cuda/cupy_thrust.cu",
        "std::conditional_t<std::is_floating_point<T>::value, thrust::less<T>,",
    ),
    "of which those of a NaN with its sign set are the least": (
        shipped,
        "_core/include/cupy/_cccl/cub/cub/util_type.cuh",
        "UnsignedBits mask = (key & HIGH_BIT) ? UnsignedBits(-1) : HIGH_BIT; return key ^ mask;",
    ),
    "what comes after a NaN is not distinct": (
        source,
        "cupy._manipulation.add_remove:_unique_1d",
        "_unique_update_mask_equal_nan(mask[1:], aux[:-1])",
    ),
}
"""What it says -> how to read it, where, and the lines."""


@pytest.mark.parametrize("fact", FACTS)
def test_the_source_says_so(fact: str) -> None:
    read, where, lines = FACTS[fact]
    assert lines in read(where)
