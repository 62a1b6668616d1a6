"""The order of the modules, held: imports go down only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = [
    {"deprecated", "errors", "gpu", "machine", "progress", "ranges"},
    {"certificate", "memory", "optional", "placement", "publish", "records", "residency"},
    {"checkpoints", "clusters"},
    {"faults"},
    {"dispatch"},
    {"diagram", "monitor", "profiling"},
    {"devices", "dictionaries", "persistence", "sparse", "task", "thresholds", "values", "zones"},
    {"cells", "instants", "judging"},
    {"delimited", "frames", "parquet"},
    {"containers", "gathering"},
    {"ingest", "io", "loading", "schema"},
    {"reading"},
    {"preprocessing"},
    {"drift", "targets"},
    {"rules"},
    {"intake", "plan"},
    {"lowering", "provenance"},
    {"advice", "outlook"},
    {"explaining"},
    {"estimator"},
    {"batches", "parts", "saving"},
    {"measure", "prediction"},
    {"compare", "doctor", "predict", "runner"},
]
"""From the ground up; a module that is not named stands above all of them."""

TWINS = {"scaling", "imputing", "encoding", "target_encoding"}
INSIDE_PREPROCESSING = [
    {"blocks", "civil", "distinct", "extent", "handover", "parallel"},
    {"moments", "summary", "table"},
    {"f_tests", "quantiles"},
    {"twin"},
    TWINS,
    {"nodes"},
    {"output", "union"},
    {"partitions", "twins"},
    {"refusals"},
    {"selecting"},
    {"build"},
    {"program"},
]
"""As above; a module that is not named is a twin, and twins may use each other."""

GPU_PACKAGES = {"cudf", "cuml", "cupy", "dask", "dask_cudf", "dask_cuda", "rmm"}
MAY_LOAD = {
    "clusters.py",
    "devices.py",
    "dispatch.py",
    "frames.py",
    "gathering.py",
    "loading.py",
    "parquet.py",
    "partitions.py",
    "spread.py",
}
"""What reads tables, and what works on them, loads cuDF and CuPy when it needs them."""

MAX_LINES = 500


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    """Return the dotted names that a file imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def loaded(file: Path) -> Iterator[str]:
    """Return the names that a file passes to `load` or `import_module` as text."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("load", "load_name", "import_module") and isinstance(
                node.args[0].value, str
            ):
                yield node.args[0].value


def level(name: str, layers: list[set[str]]) -> int:
    return next((i for i, names in enumerate(layers) if name in names), len(layers))


def upward(file: Path, prefix: str, layers: list[set[str]], *, own: str) -> list[str]:
    """Return what a module imports from its own layer or from above, but for its own package."""
    if level(own, layers) == len(layers):
        return []
    names = [name for name in imported(file) if name.startswith(prefix)]
    parts = {name: name.removeprefix(prefix).partition(".")[0] for name in names}
    floor = level(own, layers)
    return [n for n, part in parts.items() if part != own and level(part, layers) >= floor]


@pytest.mark.parametrize("file", modules("pipeline"), ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_down_only(file: Path) -> None:
    own = file.relative_to(ROOT / "pipeline").parts[0].removesuffix(".py")
    assert upward(file, "pipeline.", LAYERS, own=own) == []


@pytest.mark.parametrize("file", modules("pipeline/preprocessing"), ids=lambda file: file.stem)
def test_imports_go_down_only_in_preprocessing(file: Path) -> None:
    everything = {module.stem for module in modules("pipeline/preprocessing")}
    twins = everything - set().union(*INSIDE_PREPROCESSING) | TWINS
    layers = [twins if names is TWINS else names for names in INSIDE_PREPROCESSING]
    found = upward(file, "pipeline.preprocessing.", layers, own=file.stem)
    between_twins = twins if file.stem in twins else set()
    assert [name for name in found if name.split(".")[2] not in between_twins] == []


def test_every_named_module_is_there() -> None:
    for name in set().union(*LAYERS):
        assert (ROOT / "pipeline" / name).is_dir() or (ROOT / "pipeline" / f"{name}.py").is_file()
    for name in set().union(*INSIDE_PREPROCESSING):
        assert (ROOT / "pipeline" / "preprocessing" / f"{name}.py").is_file()


def test_a_wrong_import_is_found(tmp_path: Path) -> None:
    file = tmp_path / "frames.py"
    file.write_text(
        "def f():\n    from pipeline.planning.plan import Plan\n    import pipeline.errors\n"
    )
    assert upward(file, "pipeline.", LAYERS, own="frames") == [
        "pipeline.planning.plan",
        "pipeline.planning.plan.Plan",
    ]


def test_the_ground_knows_the_standard_library_only() -> None:
    """`gpu.py` runs before anything is installed."""
    assert [
        name for name in imported(ROOT / "pipeline/system/gpu.py") if name.startswith("pipeline")
    ] == []


@pytest.mark.parametrize(
    ("folder", "strangers"),
    [("pipeline", {"tasks", "datasets", "tests"}), ("datasets", {"pipeline", "tasks", "tests"})],
)
def test_packages_do_not_know_their_users(folder: str, strangers: set[str]) -> None:
    for file in modules(folder):
        names = [*imported(file), *loaded(file)]
        assert not strangers & {name.partition(".")[0] for name in names}, file


def test_packages_of_the_gpu_are_never_imported_by_name() -> None:
    for file in modules("pipeline"):
        assert not GPU_PACKAGES & {name.partition(".")[0] for name in imported(file)}, file


def test_packages_of_the_gpu_are_loaded_in_one_place() -> None:
    tables = GPU_PACKAGES - {"cuml"}
    found = {
        file.name
        for file in modules("pipeline")
        if tables & {name.partition(".")[0] for name in loaded(file)}
    }
    assert "frames.py" in found
    assert found <= MAY_LOAD


@pytest.mark.parametrize("folder", ["pipeline", "datasets", "tasks"])
def test_files_can_be_read_in_one_go(folder: str) -> None:
    lengths = {file: len(file.read_text("utf-8").splitlines()) for file in modules(folder)}
    assert {file: n for file, n in lengths.items() if n > MAX_LINES} == {}
