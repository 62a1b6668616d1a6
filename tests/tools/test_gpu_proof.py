"""The proof on a GPU without one: commands are replaced, and verdicts follow from the records."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from pipeline.backends.gpu_rules import rule
from pipeline.benchmark.record.results import load
from pipeline.task import task
from tasks import synthetic
from tests.contract import standins
from tools import docs
from tools.gpu_proof import __main__ as proof
from tools.gpu_proof import hand, sizes, tables
from tools.gpu_proof.sizes import Family

XML = """<testsuites><testsuite>
<testcase classname="tests.gpu.test_a" name="test_1"/>
<testcase classname="tests.gpu.test_a" name="test_2"><failure message="no"/></testcase>
<testcase classname="tests.gpu.test_a" name="test_3"><skipped message="two GPUs"/></testcase>
<testcase classname="tests.gpu.test_b" name="test_4"><error message="no"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    monkeypatch.setattr(proof, "about", lambda device: {"of": "now", "packages": {"cudf": "26.10"}})
    options = {"rows": 20_000, "minutes": 9.0, "processes": 3, "stages": ["import"]}
    return Namespace(out=tmp_path / "proof", device="cpu", **options)


def test_a_call_goes_on_where_the_last_one_ended(given, monkeypatch) -> None:
    made = [proof.Command(f"import-{n}", [n], 60.0, 90.0) for n in ("good", "over", "bad", "dead")]
    codes = {"good": 0, "over": proof.OVER, "bad": 1, "dead": -11}
    ran: list[str] = []

    def run(words: list[str], log: Any, seconds: float) -> int:
        assert 60 <= seconds <= 90
        ran.extend(words)
        return codes[words[0]]

    monkeypatch.setattr(proof, "commands", lambda given: made)
    monkeypatch.setattr(proof, "run", run)

    def names(code: int = 1, **asked: Any) -> list[str]:
        ran.clear()
        assert proof.prove(Namespace(**{**vars(given), **asked})) == code
        return ran[:]

    assert names(minutes=0.9) == [], "less than the floor of a command is left"
    assert names() == ["good", "over", "bad", "dead"]
    assert names() == ["over"]
    (given.out / "import-dead.json").unlink()
    assert names() == ["dead", "over"], "what ran out of time comes last"
    assert names(stages=["tests"], code=0) == []
    record = json.loads((given.out / "import-bad.json").read_text())
    assert (record["code"], record["of"], record["packages"]) == (1, "now", {"cudf": "26.10"})
    monkeypatch.setattr(proof, "about", lambda device: {"of": "other code"})
    assert names() == ["good", "over", "bad", "dead"]
    codes |= dict.fromkeys(codes, 0)
    monkeypatch.setattr(proof, "about", lambda device: {"of": "mended code"})
    assert names(code=0) == ["good", "over", "bad", "dead"]
    assert names(code=0) == []


def test_every_test_of_a_gpu_is_run_once_and_what_matters_most_first(given) -> None:
    made = {each.name: each for each in proof.commands(given)}
    assert list(made) == [
        "import", "tests-first", "tests-rest", "memory", "copies", "clusters", "hand", "sizes",
        "report-flights", "report-synthetic-boosting",
        "plain", "report-synthetic-logistic", "strict", "examples",
    ]  # fmt: skip
    assert {each.stage for each in made.values()} == {*proof.STAGES.split(",")}
    files = {n: [w for w in each.words if w.startswith("tests/")] for n, each in made.items()}
    strict = files.pop("strict")
    assert strict == files["tests-first"] + files["tests-rest"]
    everywhere = set(map(str, Path("tests/gpu").glob("test_*.py"))) | marked_in_contract()
    assert sorted(sum(files.values(), [])) == sorted(everywhere)
    for name, each in made.items():
        assert ("--numprocesses" in each.words) == (name in {"tests-first", "tests-rest", "strict"})
        assert str(given.out.parent) in " ".join(each.words)
        assert 0 < each.floor < each.ceiling


def marked_in_contract() -> set[str]:
    """Return the files of contract tests that have tests marked `gpu`, as pytest finds them."""
    words = ["-m", "pytest", "-p", "no:xdist", "-q", "-m", "gpu", "--collect-only"]
    run = subprocess.run(
        [sys.executable, *words, "tests/contract"], capture_output=True, text=True, check=True
    )
    return {line.partition("::")[0] for line in run.stdout.splitlines() if "::" in line}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_rehearsal_writes_no_report_of_a_gpu(device, given) -> None:
    made = proof.commands(Namespace(**{**vars(given), "device": device}))
    folders = [each.words[each.words.index("--out") + 1] for each in made if "report" in each.words]
    ends = [folder.removeprefix(f"{given.out.parent}/") for folder in folders]
    kind = "gpu" if device == "cuda" else "rehearsal"
    names = ("flights", "synthetic-boosting", "synthetic-logistic")
    assert ends == [f"{name}-{kind}" for name in names]


def hand_record(ours: float) -> dict[str, Any]:
    """Return a record of two sizes; on the small one ours is as fast as by hand."""

    def size(rows: int, seconds: float) -> dict[str, Any]:
        phases = {"read": 0.2, "preprocess": 0.3, "predict": 0.1}
        runs = {
            way: [{**phases, "fit": whole - 0.6}] * 3
            for way, whole in {"ours": seconds, "hand": 1.0}.items()
        }
        return {
            "rows": rows, "rows_test": rows // 4, "parquet_bytes": 10**8, "table_bytes": 3 * 10**8,
            "auc": {"ours": 0.8, "hand": 0.8}, "runs": runs,
        }  # fmt: skip

    return {"bandwidth": {"within the device": 3000.0}, "sizes": [size(100, 1.0), size(900, ours)]}


@pytest.mark.parametrize(
    ("code", "tests", "ours", "said", "met"),
    [
        (0, (7, 0, 2), 1.1, ["exit code 0", "7 of 9", "100 rows: 1.00", "1.10"], [True] * 4),
        (
            1,
            (9, 1, 0),
            1.2,
            ["code 1", "9 of 9 tests ran, 1 f", "1", "1.2"],
            [False] * 2 + [True, False],
        ),
        (0, (0, 0, 9), 1.0, ["exit code 0", "all", "1.00", "1.00"], [True, False, True, True]),
        (proof.OVER, None, None, ["its time was over"], [False]),
        (None, None, None, ["not run"], [False]),
    ],
)
def test_what_was_not_shown_is_not_met(given, code, tests, ours, said, met) -> None:
    given.out.mkdir()
    record = {"code": code, "seconds": 1}
    if tests:
        ran, failed, skipped = tests
        record |= {"ran": ran, "failed": ["test"] * failed, "skipped": {"no such GPU": skipped}}
        proof.write(given.out, "hand-found", hand_record(ours))
    if code is not None:
        proof.write(given.out, "tests", record)
    found = list(proof.verdicts(given, [proof.Command("tests", [])]))
    assert [each for _, each in found] == met
    assert all(part in text for part, (text, _) in zip(said, found, strict=True))


def test_the_record_names_the_tests_that_failed(given, monkeypatch) -> None:
    def run(words: list[str], log: Any, seconds: float) -> int:
        (given.out / "tests.xml").write_text(XML)
        return 1

    monkeypatch.setattr(proof, "commands", lambda given: [proof.Command("tests", [])])
    monkeypatch.setattr(proof, "run", run)
    assert proof.prove(Namespace(**{**vars(given), "stages": ["tests"]})) == 1
    record = proof.read(given.out, "tests")
    failed = ["tests.gpu.test_a::test_2", "tests.gpu.test_b::test_4"]
    assert (record["ran"], record["failed"]) == (3, failed)
    assert record["skipped"] == {"two GPUs": 1}


@pytest.mark.parametrize("left", ["", XML[:80]])
def test_a_process_that_was_killed_has_a_record_too(left, given, monkeypatch) -> None:
    def run(words: list[str], log: Any, seconds: float) -> int:
        if left:
            (given.out / "tests.xml").write_text(left)
        return proof.OVER

    monkeypatch.setattr(proof, "commands", lambda given: [proof.Command("tests", [])])
    monkeypatch.setattr(proof, "run", run)
    assert proof.prove(Namespace(**{**vars(given), "stages": ["tests"]})) == 1
    record = proof.read(given.out, "tests")
    assert (record["code"], "ran" in record) == (proof.OVER, False)
    proof.write(given.out, "tests", {"of": "now"})  # as of a run without an exit code
    assert proof.prove(Namespace(**{**vars(given), "stages": ["tests"]})) == 1


@pytest.mark.slow
# Mixtures make as many steps on either side.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("work", proof.WORK)
def test_the_programs_run_on_a_cpu(work, tmp_path, monkeypatch) -> None:
    words = f"--device cpu --rows 4096 --work {work} --out {tmp_path}"
    monkeypatch.setattr(sys, "argv", ["gpu-proof", *words.split()])
    monkeypatch.setattr(sizes, "SECONDS", 10.0)
    assert proof.main() == 0
    found = proof.read(tmp_path, f"{work}-found")
    if work == "hand":
        (size,) = found["sizes"]
        assert size["auc"]["hand"] == pytest.approx(size["auc"]["ours"], abs=0.02)
        for runs in size["runs"].values():
            assert [{*run} for run in runs] == [{*tables.PHASES}] * hand.RUNS
            assert all(seconds > 0 for run in runs for seconds in run.values())
    elif work == "sizes":
        assert list(found["families"]) == list(sizes.FAMILIES)
        for each in found["families"].values():
            assert not each["error"]
            assert len(each["sizes"]) > 0
    elif work == "plain":
        assert found["auc"] > 0.6
        assert all(found["seconds"][phase] > 0 for phase in ("read", "fit", "predict"))
    else:
        assert {"import xgboost", "first fit", "second fit"} <= set(found)


def test_each_family_has_a_rule_for_the_gpu() -> None:
    for name, family in sizes.FAMILIES.items():
        known = name == "preprocessing" or rule(family.estimator)
        assert known, name


def test_a_family_that_fails_stops_no_other(given, monkeypatch) -> None:
    failing = Family(Ridge(solver="none of them"), 2**8)
    monkeypatch.setattr(sizes, "FAMILIES", {"failing": failing, "good": Family(Ridge(), 2**8)})
    (*_, last) = sizes.sizes(Namespace(**{**vars(given), "rows": 2**10}))
    failed, good = last["families"].values()
    assert "none of them" in failed["error"]
    assert failed["sizes"] == []
    assert [size["cells"] for size in good["sizes"]] == [2**8 * 50, 2**10 * 50]
    assert good["error"] == ""


@pytest.mark.parametrize(
    ("times", "worth", "second", "extrapolated"),
    [
        ([], None, None, False),
        ([(10, 0.1, 0.2)], None, None, False),
        ([(10, 0.1, 0.2), (20, 0.2, 0.1), (40, 0.4, 0.5)], None, 100, True),
        ([(10, 0.1, 0.1), (20, 0.2, 0.1)], 10, 100, True),
        ([(10, 2.0, 0.1), (20, 4.0, 0.1)], 10, 5, True),
        ([(10, 0.1, 0.2), (1000, 10.0, 0.2)], 1000, 100, False),
        ([(10, 0.010, 0.02), (20, 0.011, 0.02)], None, None, False),  # too far to say
        ([(10, 0.2, 0.3), (20, 0.1, 0.3)], None, None, False),  # falls
    ],
)
def test_what_follows_from_the_times_of_a_family(times, worth, second, extrapolated) -> None:
    found = [{"cells": cells, "cpu": cpu, "gpu": gpu} for cells, cpu, gpu in times]
    assert sizes.derived(found) == {
        "gpu_from_cells": worth, "cpu_second_cells": second, "extrapolated": extrapolated
    }  # fmt: skip


def test_the_docs_have_the_tables_of_what_was_measured_on_a_gpu_alone(tmp_path) -> None:
    folder = tmp_path / "gpu-proof"
    folder.mkdir()
    sized = {"cells": 640, "cpu": 2.0, "gpu": 0.5}
    family = {"estimator": "Ridge", "error": "", "sizes": [sized], **sizes.derived([sized])}
    proof.write(folder, "sizes-found", {"families": {"least squares": family}})
    proof.write(folder, "hand-found", hand_record(1.25))
    for device in ("cpu", "cuda"):
        on = {"machine": {"cpu": "Intel", "cores": 16}, "gpu": {"devices": [{"name": "H100"}]}}
        for work in ("hand", "sizes"):
            proof.write(folder, work, {"device": device, **on})
        parts = (tables.reports, tables.hand, tables.sizes)
        made = {make.__name__: make(tmp_path) for make in parts}
        told = [name for name, text in made.items() if "Not measured" in text]
        assert told == (["reports"] if device == "cuda" else [*made])
    assert "| 900 | ours | 0.200 | 0.300 | 0.650 | 0.100 | 1.250 | 0.8000 |" in made["hand"]
    # Twice 0.1 GB in 0.2 s; 0.3 GB in 0.3 s; a quarter of them in 0.1 s.
    assert "read 1.0, preprocess 1.0, predict 0.8, in bytes" in made["hand"]
    assert "| least squares | `Ridge` | 640 | – | 640 | 2.000 | 0.500 |" in made["sizes"]
    assert "Intel, 16 cores, H100" in made["sizes"]
    kept = docs.ROOT / "docs/results/flights-cpu"
    shutil.copytree(kept, tmp_path / "flights-gpu")
    text = tables.reports(tmp_path)
    cells = (load(kept / "results.json").cell("logistic", each) for each in ("reference", "cpu"))
    plain, ours = (median(run.total for run in cell.runs) for cell in cells)
    row = rf"\| flights, logistic \| `cpu` \| {ours:.2f} \| {plain / ours:.2f}× faster "
    assert re.search(row + r"\(\d\.\d\d–\d\.\d\d\) \| PASS \|", text)
    assert "reference" not in text


def test_the_program_by_hand_makes_the_same_matrices_on_a_gpu(tmp_path, monkeypatch) -> None:
    path = task.load("synthetic").prepare(tmp_path, rows=20_000)
    here = pd.read_parquet(path, columns=[*synthetic.TASK.features, synthetic.TASK.target])[:900]
    # As cuDF reads it: dictionaries of Parquet as text.
    here = here.astype(dict.fromkeys(synthetic.FEW + synthetic.MANY, "str"))
    assert here[synthetic.FEW].isna().any(axis=None), "no missing text"

    def made(put: Any, device: str) -> list[Any]:
        # Two tables, as they are read: text of a slice is another matter in cuDF.
        train, test = put(here[:600]), put(here[600:])
        y = hand._values(train[synthetic.TASK.target], "int32")
        return hand.matrices(train, test, y, device)

    wanted = made(lambda X: X, "cpu")
    standins.install(monkeypatch)
    import cudf

    for found, expected in zip(made(cudf.from_pandas, "cuda"), wanted, strict=True):
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6, atol=1e-6)
