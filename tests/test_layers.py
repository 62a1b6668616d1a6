"""The order of the packages, held: each imports only from those that stand to its right."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINE = (
    "cli → accel → benchmark → task → serving → tuning → model → compile → backends → twins → "
    "blocks → files → table → distributed → system → {records, optional, trace, typing} → "
    "{errors, notebook}"
)
PACKAGES = [set(part.strip(" {}").split(", ")) for part in LINE.split("→")]
"""From the left to the right; what is in braces stands side by side."""

ABOVE_ALL = {"__init__", "__main__"}
STANDARD_LIBRARY_ONLY = [ROOT / "pipeline/system/gpu.py", ROOT / "pipeline/errors.py"]
"""`gpu.py` runs before anything is installed."""

GPU_PACKAGES = {"cudf", "cuml", "cupy", "dask", "dask_cudf", "dask_cuda", "rmm"}


def modules(folder: str = "pipeline") -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text("utf-8"))))


def imported(file: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, at the top or inside a function."""
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A wheel holds the datasets under another name.
            assert node.level == 0 or file.is_relative_to(ROOT / "datasets"), file
            above = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
            home = ".".join(filter(None, [*above, node.module]))
            yield from (f"{home}.{alias.name}" for alias in node.names)


def loaded(file: Path) -> Iterator[str]:
    """Yield the names that a file passes to `load` or `import_module` as text."""
    for node in nodes(file):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in {"load", "load_name", "import_module"}:
                yield str(node.args[0].value)


def place(name: str) -> int:
    return next(i for i, names in enumerate(PACKAGES) if name in names)


def leftward(file: Path, own: str) -> list[str]:
    """Return what a module of the package `own` imports from the left of it, or from beside it."""
    names = [n for n in imported(file) if n.startswith("pipeline.") and n.count(".")]
    parts = {name: name.split(".")[1] for name in names}
    known = {name: part for name, part in parts.items() if part != "__version__" and part != own}
    return [name for name, part in known.items() if place(part) <= place(own)]


def test_no_two_modules_have_one_name() -> None:
    names = [file.stem for file in modules() if not file.stem.startswith("__")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_the_documentation_starts_with_the_line() -> None:
    assert LINE in (ROOT / "docs/architecture.md").read_text("utf-8")


def test_every_package_has_its_place() -> None:
    files = (file.relative_to(ROOT / "pipeline") for file in modules())
    there = {file.parts[0].removesuffix(".py") for file in files}
    assert there - ABOVE_ALL == set().union(*PACKAGES)


def test_imports_go_to_the_right() -> None:
    own = {f: f.relative_to(ROOT / "pipeline").parts[0].removesuffix(".py") for f in modules()}
    wrong = {str(f): leftward(f, part) for f, part in own.items() if part not in ABOVE_ALL}
    assert {file: names for file, names in wrong.items() if names} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not for types nor within a function either; `pipeline` itself offers what is below it."""
    files = [f for folder in ("pipeline", "datasets", "tasks", "tools") for f in modules(folder)]
    known = {".".join(f.relative_to(ROOT).with_suffix("").parts): f for f in files}
    known = {name.removesuffix(".__init__"): f for name, f in known.items()}
    edges = {
        name: {n if n in known else n.rpartition(".")[0] for n in imported(file)} & known.keys()
        for name, file in known.items()
    }
    TopologicalSorter({name: every - {name, "pipeline"} for name, every in edges.items()}).prepare()


def test_the_ground_imports_nothing_of_ours() -> None:
    names = [name for file in STANDARD_LIBRARY_ONLY for name in imported(file)]
    assert [name for name in names if name.startswith("pipeline")] == []


@pytest.mark.parametrize(
    ("folder", "strangers"),
    [("pipeline", {"tasks", "datasets", "tests", "tools"}), ("datasets", {"pipeline", "tasks"})],
)
def test_packages_do_not_know_their_users(folder: str, strangers: set[str]) -> None:
    found = {
        file: strangers & {n.partition(".")[0] for n in imported(file)} for file in modules(folder)
    }
    assert not {file: names for file, names in found.items() if names}


def test_datasets_import_each_other_under_any_name() -> None:
    found = {f: {n.partition(".")[0] for n in imported(f)} for f in modules("datasets")}
    absolute = [
        node for f in found for node in nodes(f)
        if isinstance(node, ast.ImportFrom | ast.Import) and not getattr(node, "level", 0)
    ]  # fmt: skip
    assert not [n for n in absolute if "datasets" in ast.unparse(n).replace("sklearn.datasets", "")]


def test_packages_of_the_gpu_are_loaded_where_something_computes_and_never_imported() -> None:
    """On first use, through `pipeline.optional`."""
    for file in modules():
        own = file.relative_to(ROOT / "pipeline").parts[0]
        imports, loads = (
            {n.partition(".")[0] for n in names(file)} for names in (imported, loaded)
        )
        assert not GPU_PACKAGES & imports, file
        assert not GPU_PACKAGES & loads or place(own) >= place("backends"), file
