from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.record import results
from pipeline.benchmark.run import rounds
from pipeline.benchmark.run.live import Watch
from pipeline.errors import ConfigError
from pipeline.system import profiler
from pipeline.task.task import Job
from tasks.flights import TASK
from tests.benchmark.test_compare import FakeWorker
from tests.commands import call


class Profiler:
    """Stands in for pyinstrument's."""

    def start(self) -> None:
        self.calls = ["start"]

    def stop(self) -> None:
        self.calls.append("stop")

    def output_text(self, *, unicode: bool, color: bool) -> str:
        return " ".join([*self.calls, "<module>"])


@pytest.fixture
def pyinstrument(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("pyinstrument")
    module.Profiler = Profiler  # type: ignore[attr-defined]
    module.__spec__ = SimpleNamespace()  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "pyinstrument", module)


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler, "available", lambda package: False)


@pytest.mark.usefixtures("pyinstrument")
def test_a_block_is_sampled_from_its_start_to_its_end(tmp_path: Path) -> None:
    with profiler.maybe(tmp_path, wanted=True, cluster=False):
        assert not any(tmp_path.iterdir())
    page = (tmp_path / "profile.html").read_text()
    assert "<pre>start stop &lt;module&gt;</pre>" in page
    assert "http" not in page
    with profiler.maybe(tmp_path / "nothing", wanted=False, cluster=False):
        pass


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize(("cluster", "package"), [(False, "pyinstrument"), (True, "bokeh")])
def test_what_is_missing_is_reported_with_a_suggestion(
    tmp_path: Path, *, cluster: bool, package: str
) -> None:
    with (
        pytest.raises(
            ConfigError, match=f"--profile: {package} is not installed .`.venv/bin/python"
        ),
        profiler.maybe(tmp_path, wanted=True, cluster=cluster),
    ):
        raise AssertionError("the block must not begin")


def test_dask_writes_its_own_report_of_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    @contextmanager
    def performance_report(filename: str) -> Iterator[None]:
        asked.append(filename)
        yield

    monkeypatch.setattr(profiler, "available", lambda package: True)
    monkeypatch.setattr(
        profiler, "load", {"distributed.performance_report": performance_report}.get
    )
    with profiler.maybe(tmp_path, wanted=True, cluster=True):
        pass
    assert asked == [str(tmp_path / "profile.html")]


@pytest.mark.usefixtures("nothing")
def test_run_tells_before_it_trains(small_home: Path, tmp_path: Path) -> None:
    done = call("run", "flights", "--data-home", small_home, "--out", tmp_path / "r", "--profile")
    assert done.code == 2
    assert "pyinstrument is not installed" in done.err


class Profiled(FakeWorker):
    """Writes a page where it is asked to."""

    def run(
        self, seed: int | None = None, profile: Path | None = None, *, explain: bool = False
    ) -> object:
        if profile:
            profile.write_text(self.name)
        return super().run(seed)


@pytest.mark.quick(1)
@pytest.mark.parametrize("why", ["", "not installed"])
def test_a_comparison_profiles_each_cell_once_more(
    why: str, tmp_path: Path, small_flights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(rounds, "WorkerProcess", Profiled)
    monkeypatch.setattr(rounds, "why_not_sampled", lambda: why)
    comparison = Comparison(
        TASK, Job("flights", "", "", small_flights), ["logistic", "forest"], repeats=3
    )
    found = comparison.measure(Watch(str), pages=tmp_path).profiles
    cells = [
        ("logistic", "reference"),
        ("logistic", "cpu"),
        ("forest", "reference"),
        ("forest", "cpu"),
    ]
    assert [(p.pipeline, p.variant) for p in found] == cells
    if why:
        assert {(p.file, p.why) for p in found} == {("", why)}
        return
    pages = {p.file: (tmp_path / p.file).read_text() for p in found}
    assert pages == {f"profile-{n}.html": f"{s}/{v}" for n, (s, v) in enumerate(cells, 1)}
    assert all(isinstance(p, results.Profile) for p in found)
