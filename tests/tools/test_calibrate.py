from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from pipeline.errors import ConfigError, Unsupported
from pipeline.planning import choose
from pipeline.planning.choose import Measured, Point
from pipeline.system import devices
from tests.contract import standins
from tools.calibrate import __main__ as command
from tools.calibrate import tables, timing, twins
from tools.calibrate.families import TRIALS, Trial
from tools.calibrate.timing import Limits

QUICK = Limits(cells=16_000 * 8, seconds=60.0, repeats=1)
TRIAL = Trial(LinearRegression(), tables.numbers)


def silent(line: str) -> None:
    pass


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "no NVIDIA driver")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the least squares be timed on small tables only."""
    monkeypatch.setattr(command, "TRIALS", {"least squares": TRIAL})


def renewed(names: list[str], *, forget_gpu: bool = False) -> choose.Thresholds:
    known = choose.cost_model()
    *_, found = command.calibrate(known, names, QUICK, forget_gpu=forget_gpu, say=silent)
    return found


@pytest.mark.parametrize("name", TRIALS)
def test_every_trial_can_be_run(name: str) -> None:
    trial = TRIALS[name]
    columns = trial.widths[0]
    assert timing.run(trial.pipeline, "cpu", *trial.table(200, columns)) > 0


@pytest.mark.parametrize("make", tables.TABLES.values(), ids=list(tables.TABLES))
def test_tables_have_the_size_asked_for_and_are_always_the_same(make) -> None:
    X, y = make(150, 6)
    assert len(X) == 150
    assert y is None or y.shape == (150,)
    if hasattr(X, "shape"):
        assert X.shape == (150, 6)
    again, _ = make(150, 6)
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(X))


def test_tables_grow_fourfold_up_to_the_limit_of_cells() -> None:
    points = timing.on_cpu(TRIAL, QUICK, silent)
    assert [(p.rows, p.columns) for p in points] == [
        (1_000, 8), (4_000, 8), (16_000, 8), (1_000, 64),
    ]  # fmt: skip


def test_tables_stop_growing_once_a_run_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {1_000: 0.1, 4_000: 0.2, 16_000: 1.5, 64_000: 9.0}
    monkeypatch.setattr(timing, "run", lambda pipeline, device, X, y: times[len(X)])
    points = timing.on_cpu(TRIAL, Limits(seconds=1.0), silent)
    assert [p.rows for p in points if p.columns == 8] == [1_000, 4_000, 16_000]
    monkeypatch.setitem(times, 4_000, 0.9)
    points = timing.on_cpu(TRIAL, Limits(seconds=1.0), silent)
    assert [p.rows for p in points if p.columns == 8] == [1_000, 4_000]


def test_the_shortest_run_counts_and_the_first_not_at_all(monkeypatch) -> None:
    times = iter([0.1, 9.0, 0.2, 0.5])
    monkeypatch.setattr(timing, "run", lambda pipeline, device, X, y: next(times))
    limits = Limits(cells=8_000, seconds=60.0, repeats=3)
    (point,) = timing.on_cpu(Trial(None, tables.numbers, (8,)), limits, silent)
    assert point.seconds == 0.2


@pytest.mark.usefixtures("no_gpu", "quick")
def test_without_a_gpu_what_it_is_worth_stays_assumed() -> None:
    found = renewed(["least squares"])
    before, after = (known.family("least squares") for known in (choose.cost_model(), found))
    assert before is not None
    assert after is not None
    assert after.gpu is None
    assert after.worth_source == "assumed"
    assert (after.assumed, after.memory) == (before.assumed, before.memory)
    assert after.pipeline == "LinearRegression()"
    assert [p.rows for p in after.cpu.points] == [1_000, 4_000, 16_000, 1_000]
    others = [family for family in found.families if family.name != "least squares"]
    assert others == [f for f in choose.cost_model().families if f.name != "least squares"]


@pytest.mark.usefixtures("quick")
def test_beside_a_gpu_both_are_timed_at_the_same_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    standins.install(monkeypatch)
    found = renewed(["least squares"]).family("least squares")
    assert found is not None
    assert found.gpu is not None
    sizes = [[(p.rows, p.columns) for p in times.points] for times in (found.cpu, found.gpu)]
    assert sizes[0] == sizes[1]
    assert found.gpu.machine.endswith("a stand-in")
    assert found.worth_source == found.gpu.source


@pytest.mark.usefixtures("quick")
def test_what_the_gpu_refuses_stays_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    standins.install(monkeypatch)

    def refuse(*given) -> None:
        raise Unsupported()

    monkeypatch.setattr(command, "on_gpu", refuse)
    found = renewed(["least squares"]).family("least squares")
    assert found is not None
    assert found.gpu is None


@pytest.mark.usefixtures("no_gpu", "quick")
def test_gpu_times_are_not_lost_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    known = choose.cost_model()
    points = [Point(rows=n, columns=8, seconds=1.0) for n in (1, 2, 3)]
    gpu = Measured(machine="a GPU", date="2026-11-21", points=points)
    families = [msgspec.structs.replace(each, gpu=gpu) for each in known.families]
    held = msgspec.structs.replace(known, families=families)
    monkeypatch.setattr(choose, "known", lambda: held)
    with pytest.raises(ConfigError, match="GPU times of least squares would be lost"):
        renewed(["least squares"])
    assert renewed(["least squares"], forget_gpu=True).families[2].gpu is None


@pytest.mark.usefixtures("no_gpu")
def test_unknown_families_are_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="least squares"):
        renewed(["least sqares"])


@pytest.mark.usefixtures("no_gpu", "quick")
def test_the_command_writes_a_file_that_can_be_read(monkeypatch, tmp_path: Path, capsys) -> None:
    out = tmp_path / "thresholds.json"
    out.write_bytes(choose.PATH.read_bytes())
    monkeypatch.setattr(command, "Limits", lambda seconds: QUICK)
    words = ["calibrate", "--out", f"{out}", "--families", "least squares", "--no-twins"]
    monkeypatch.setattr(sys, "argv", words)
    assert command.main() == 0
    found = choose.load(out).family("least squares")
    assert found is not None
    assert len(found.cpu.points) == 4
    assert "stays assumed" in capsys.readouterr().err


def test_a_missing_file_is_an_exit_code(monkeypatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["calibrate", "--out", f"{tmp_path / 'none.json'}"])
    assert command.main() == 65
    assert "make calibrate" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pair_of_equals_has_no_difference(monkeypatch, dtype: str) -> None:
    plain = twins.HostModel
    monkeypatch.setattr(twins, "models", lambda pair: (plain(pair.pipeline), plain(pair.pipeline)))
    pair = twins.Pair(Ridge(), tables.numbers, 500, 20, "predict")
    found = twins.measure(pair, dtype, repeats=1)
    assert (found.difference, found.dtype, found.rows) == (0.0, dtype, 500)
    assert found.stock > 0
    assert found.twin > 0
