"""Every variant does the same thing, and its process says what it took; on tables of a few rows."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

from pipeline.benchmark.worker import WorkerFailed, WorkerProcess
from tests.tools.bench_records import MIB, cell, results
from tools.bench import claim, preprocessing, report
from tools.bench.claim import Ask
from tools.bench.preprocessing import Job, apart_by, work
from tools.bench.rowset import Rowset
from tools.bench.variants import TRUTH, VARIANTS, WAYS, read_object, read_text

NEEDS = {"polars": "polars", "skrub": "skrub"}
pytestmark = pytest.mark.slow


def present(variant: str):
    missing = variant in NEEDS and find_spec(NEEDS[variant]) is None
    return pytest.param(variant, marks=pytest.mark.skipif(missing, reason="needs `make bench`"))


@pytest.fixture(scope="module")
def made(tmp_path_factory, small_home):
    """Return what makes a table of some of the flights, or of a few generated rows."""
    ask = Ask(settings={}, repeats=1, home=tmp_path_factory.mktemp("bench"), data=small_home)
    return lambda name, rows=3_000: preprocessing.tables(name, ask, rows)


@pytest.fixture(scope="module", params=["synthetic", "flights"])
def table(request, made) -> Rowset:
    return made(request.param)


@pytest.fixture(scope="module")
def true(table, tmp_path_factory) -> Job:
    """Return the job whose numbers the others are compared with, done."""
    job = Job(variant=TRUTH, table=table, folder=str(tmp_path_factory.mktemp("truth")))
    work(job)
    return job


@pytest.mark.parametrize("variant", [present(each.name) for each in VARIANTS])
def test_a_variant_gives_the_numbers_of_scikit_learn(true, variant) -> None:
    found = work(msgspec.structs.replace(true, variant=variant))
    for phase in preprocessing.PHASES:
        assert found.values[phase] <= preprocessing.SAME_NUMBERS
    assert found.values["columns"] == 30
    assert min(found.run.seconds.values()) > 0
    held = found.run.bytes
    # What is freed between the two may leave the process; Linux counts pages in batches.
    assert 0 < held["before"] <= held["fit_transform"] + MIB
    assert held["transform"] > 0
    rows = len(pd.read_parquet(true.table.text))
    assert 4 <= found.values["output bytes"] / (rows * found.values["width"]) <= 8


def test_other_numbers_and_other_shapes_are_found(true, made) -> None:
    folder = Path(true.folder)
    wanted = np.load(folder / "fit_transform.npy")
    X, y = read_text(true.table)
    program = true.table.pipeline()
    assert apart_by(program.fit(X, y).transform(X), wanted) > preprocessing.SAME_NUMBERS
    assert apart_by(wanted[1:], wanted) is None
    again = np.load(folder / "transform.npy")
    again[-1, -1] += 1
    np.save(folder / "transform.npy", again)
    found = work(msgspec.structs.replace(true, variant="ours"))
    assert found.values["transform"] == pytest.approx(1, abs=1e-5)
    again[-1, -1] -= 1
    np.save(folder / "transform.npy", again)


@pytest.mark.parametrize(
    ("variant", "kind"),
    [("sklearn-str", "str"), ("sklearn-object", "object"), ("sklearn-category", "category")],
)
def test_a_variant_gets_the_columns_that_it_is_named_for(made, variant, kind) -> None:
    X, _ = WAYS[variant].read(made("synthetic", 100))
    assert {str(X[name].dtype) for name in X if not name.startswith("number")} == {kind}


def test_objects_hold_the_texts_of_the_file(made) -> None:
    table = made("synthetic", 100)
    assert read_object(table)[0]["few_3"].tolist() == pd.read_parquet(table.coded)["few_3"].tolist()


def test_polars_treats_missing_and_unseen_values_as_scikit_learn_does(made, monkeypatch) -> None:
    pl = pytest.importorskip("polars")
    from tools.bench import rowset
    from tools.bench.by_hand import ByHand

    names = rowset.Columns(["number"], ["few"], ["many"], "target")
    monkeypatch.setitem(rowset.COLUMNS, "mixed", names)
    table = made("synthetic", 100)
    seen = {
        "number": [1.0, None, 3.0, 8.0] * 10,
        "few": ["b", None, "a", "b"] * 10,
        "many": ["x", "y", None, "y"] * 10,
    }
    new = {"number": [None, 2.0], "few": [None, "c"], "many": ["z", None]}
    y = np.array([0, 1, 1, 0, 1, 0, 0, 1] * 5)
    pipeline, hand = table.pipeline(), ByHand(table)
    assert hand.fit_transform(pl.DataFrame(seen), y) == pytest.approx(
        pipeline.fit_transform(pd.DataFrame(seen), y), abs=1e-6
    )
    assert hand.transform(pl.DataFrame(new)) == pytest.approx(
        pipeline.transform(pd.DataFrame(new)), abs=1e-6
    )


def test_a_worker_runs_again_and_again_until_it_is_killed(true) -> None:
    with WorkerProcess(msgspec.structs.replace(true, variant="ours"), work) as worker:
        assert worker.run().values["width"] == worker.run().values["width"]
        os.kill(worker._process.pid, signal.SIGKILL)
        with pytest.raises(WorkerFailed, match="killed"):
            worker.run()


def test_a_whole_measurement_is_recorded(tmp_path) -> None:
    settings = {"rows": (300,), "memory_rows": (2_000,)}
    ask = Ask(settings, 2, home=tmp_path, cases=["synthetic", "memory"], variants=["ours", TRUTH])
    found = claim.measure("preprocessing", preprocessing.CLAIM, ask)
    assert found.protocol.order == ["synthetic/ours"] * 2 + ["memory/ours"]
    timed, memory = found.cells
    assert (len(timed.runs), timed.warmup is not None) == (2, True)
    assert preprocessing.same(timed)
    assert found.case("synthetic").facts == {"rows": 300, "columns": 30, "width": 78}
    assert {file.path for file in found.case("synthetic").files} == {
        f"synthetic-300-{kind}.parquet" for kind in ("text", "coded")
    }
    values, held = memory.values, memory.runs[0].bytes
    assert (values["rows"], values["output bytes"]) == (2_000, 2_000 * 78 * 8)
    assert held["empty"] == 0 or 0 < held["before"] < held["peak"] + MIB
    text = preprocessing.details(found)
    assert "### Memory of a long `transform`" in text
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]


def steady(variant: str, fit_transform: float, transform: float, difference: float | None = 1e-7):
    times = {"fit_transform": [fit_transform] * 5, "transform": [transform] * 5, "read": [1.0] * 5}
    return cell(variant, times, fit_transform=difference, transform=difference)


def met(*cells) -> list[str]:
    lines = report.verdicts(results(*cells), preprocessing.TARGETS).splitlines()[2:]
    return [line.rpartition(" | ")[2].strip(" |*") for line in lines]


REFERENCES = steady("sklearn-str", 6.0, 8.0), steady("sklearn-object", 6.0, 8.0)


def test_a_speed_target_needs_its_factor_and_the_same_numbers() -> None:
    assert met(*REFERENCES, steady("ours", 1.0, 1.0)) == ["yes"] * 4
    assert met(*REFERENCES, steady("ours", 1.01, 1.01)) == ["no"] * 4
    both = met(*REFERENCES, steady("ours", 1.0, 1.0), steady("ours-str", 3.0, 1.0))
    assert both == ["no", "yes", "yes", "yes", "no", "yes", "yes", "yes"]
    for difference in (2e-5, None):
        assert met(*REFERENCES, steady("ours", 0.1, 0.1, difference)) == ["no"] * 4


@pytest.mark.parametrize(
    ("before", "peak", "taken"),
    [
        (900, 1_120, 220),  # The table is all that reading left.
        (950, 1_160, 260),  # Reading left 50 more, which may have been used again.
        (880, 1_120, 240),  # Some pages of the table were not resident yet.
        (0, 0, -800),  # The system does not tell.
    ],
)
def test_memory_that_reading_left_behind_is_no_saving(before, peak, taken) -> None:
    held = {"empty": 800 if peak else 0, "before": before, "peak": peak}
    sizes = {"input_bytes": 100 * MIB, "output_bytes": 200 * MIB}
    measured = cell("ours", case="memory", held=held, **sizes)
    if peak:
        assert preprocessing.taken(measured) == taken * MIB
    assert met(measured) == ["yes" if 0 < taken <= 225 else "no"]
