"""Freeze what the RAPIDS packages offer: ``python -m tests.contract.snapshot``.

Runs where the real packages are installed; a GPU is not needed.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.contract import estimators
from tests.contract.guards import guards
from tests.contract.signatures import describe

FILE = Path(__file__).with_name("snapshot.json")

TEXT = [
    f"cuml.feature_extraction.text.{name}"
    for name in ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer")
]

OWNERS = {
    "cudf": "cudf",
    "cudf.DataFrame": "cudf.DataFrame",
    "cudf.Index": "cudf.Index",
    "cudf.Series": "cudf.Series",
    "cudf.Series.cat": "cudf.core.accessors.categorical.CategoricalAccessor",
    "cudf.Series.dt": "cudf.core.series.DatetimeProperties",
    "cudf.Series.str": "cudf.core.accessors.string.StringMethods",
    "cuml": "cuml",
    **{path: path for path in [*TEXT, *estimators.TWINS]},
    "cupy": "cupy",
    "cupy.cuda": "cupy.cuda",
    "cupy.cuda.Stream": "cupy.cuda.Stream",
    "cupy.ndarray": "cupy.ndarray",
    "cupyx.scipy.sparse": "cupyx.scipy.sparse",
    "cupyx.scipy.sparse.csr_matrix": "cupyx.scipy.sparse.csr_matrix",
    "cupyx.scipy.special": "cupyx.scipy.special",
}
"""Name of the owner in a recorded call -> where the real one is."""

OPERATORS = (
    "abs add and array bool contains eq float floordiv ge getitem gt iadd iand imul int invert "
    "ior isub iter itruediv le len lt matmul mod mul ne neg or pos pow radd rand rfloordiv "
    "rmod rmul ror rpow rsub rtruediv rxor setitem sub truediv xor"
)
PRIVATE = frozenset(f"__{name}__" for name in OPERATORS.split())
"""Names with an underscore that are kept: the operators."""
OF_ESTIMATORS = {
    "_params_from_cpu",
    "_sync_attrs_from_cpu",
    "as_sklearn",
    "set_params",
    *estimators.LEARNING,
    *estimators.ASKING,
}
"""What our rules use of an estimator."""
PACKAGES = ("cudf", "cuml", "cupy")

Event = dict[str, Any]


def take() -> dict[str, Any]:
    """Return the contract of the installed packages, ready for JSON."""
    return {
        "versions": {package: import_module(package).__version__ for package in PACKAGES},
        "owners": {owner: dict(members(find(path), owner)) for owner, path in OWNERS.items()},
    }


def find(path: str) -> Any:
    """Return the module or the object of a dotted name."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(import_module(module), name)


def members(owner: Any, path: str) -> Iterator[tuple[str, Event]]:
    """Return the names of a module or class that matter: `OF_ESTIMATORS`, or the public ones."""
    for name in sorted(dir(owner)):
        if name not in OF_ESTIMATORS if path in estimators.TWINS else _hidden(name):
            continue
        member = getattr(owner, name, None)
        if not inspect.ismodule(member):
            yield name, _entry(owner, name, member)
    if inspect.isclass(owner):
        yield "__init__", _entry(owner, "__init__", owner.__init__)


def _hidden(name: str) -> bool:
    return name.startswith("_") and name not in PRIVATE


def _entry(owner: Any, name: str, member: Any) -> Event:
    """Return ``{}`` for an attribute, else the signature and the guards."""
    if not callable(member):
        return {}
    entry: Event = {"signature": describe(member)}
    if inspect.isclass(owner) and _bound(owner, name):
        entry["bound"] = True
    if not inspect.isclass(member):
        found = guards(member)
        entry |= {"guards": [list(guard) for guard in found]} if found else {}
    return entry


def _bound(owner: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(owner, name), classmethod | staticmethod)


def render(contract: dict[str, Any]) -> str:
    """Return JSON with one line a name, so that a change of the packages reads as a diff."""
    lines = ["{", f' "versions": {json.dumps(contract["versions"])},', ' "owners": {']
    owners = list(contract["owners"].items())
    for number, (owner, entries) in enumerate(owners):
        lines.append(f"  {json.dumps(owner)}: {{")
        rows = [f"   {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
        lines.append(",\n".join(rows))
        lines.append("  }" + ("," if number < len(owners) - 1 else ""))
    return "\n".join([*lines, " }", "}", ""])


if __name__ == "__main__":
    FILE.write_text(render(take()), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
