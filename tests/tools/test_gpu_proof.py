"""The proof on a GPU without one: commands are replaced, and verdicts follow from the records."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.task import task
from tasks import synthetic
from tests.contract import standins
from tools import gpu_proof as proof

XML = '<testsuites><testsuite tests="{}" skipped="{}"/></testsuites>'


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    monkeypatch.setattr(proof, "about", lambda device: {"of": "now", "packages": {"cudf": "26.10"}})
    return Namespace(out=tmp_path, device="cpu", rows=20_000, minutes=9.0, stages=["import"])


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
    made = proof.commands(given)
    assert [each.name for each in made] == [
        "import", "tests-first", "tests-rest", "tests-clusters", "copies", "hand",
        "report-flights", "report-synthetic",
    ]  # fmt: skip
    files = [word for each in made for word in each.words if word.startswith("tests/")]
    everywhere = ["tests/contract"]
    assert sorted(files) == sorted([*everywhere, *map(str, Path("tests/gpu").glob("test_*.py"))])
    assert all(str(given.out) in " ".join(each.words) for each in made)
    assert all(0 < each.floor < each.ceiling for each in made)


HAND = {"auc": {"ours": 0.8, "hand": 0.8}, "seconds": {"ours": [1.1] * 3, "hand": [1.0] * 3}}


@pytest.mark.parametrize(
    ("code", "xml", "ours", "said", "met"),
    [
        (0, (9, 2), 1.1, ["exit code 0", "7 of 9", "1.10"], [True, True, True]),
        (1, (9, 0), 1.2, ["exit code 1", "9 of 9", "1.20"], [False, True, False]),
        (0, (9, 9), 1.0, ["exit code 0", "0 of 9", "1.00"], [True, False, True]),
        (proof.OVER, None, None, ["its time was over"], [False]),
        (None, None, None, ["not run"], [False]),
    ],
)
def test_what_was_not_shown_is_not_met(given, code, xml, ours, said, met) -> None:
    if code is not None:
        proof.write(given.out, "tests", {"code": code, "seconds": 1})
    if xml:
        (given.out / "tests.xml").write_text(XML.format(*xml))
        seconds = {**HAND["seconds"], "ours": [ours] * 3}
        proof.write(given.out, "hand-found", {**HAND, "seconds": seconds})
    found = list(proof.verdicts(given, [proof.Command("tests", [])]))
    assert [each for _, each in found] == met
    assert all(part in text for part, (text, _) in zip(said, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("work", proof.WORK)
def test_the_programs_run_on_a_cpu(work, tmp_path, monkeypatch) -> None:
    words = f"--device cpu --rows 20000 --work {work} --out {tmp_path}"
    monkeypatch.setattr(sys, "argv", ["gpu-proof", *words.split()])
    assert proof.main() == 0
    found = proof.read(tmp_path, f"{work}-found")
    if work == "hand":
        assert found["auc"]["hand"] == pytest.approx(found["auc"]["ours"], abs=0.01)
        assert [len(each) for each in found["seconds"].values()] == [3, 3]
    else:
        assert {"import xgboost", "first fit", "second fit"} <= set(found)


def test_the_program_by_hand_makes_the_same_matrices_on_a_gpu(tmp_path, monkeypatch) -> None:
    path = task.load("synthetic").prepare(tmp_path, rows=20_000)
    here = pd.read_parquet(path, columns=[*synthetic.TASK.features, synthetic.TASK.target])[:900]
    # As cuDF reads it: dictionaries of Parquet as text.
    here = here.astype(dict.fromkeys(synthetic.FEW + synthetic.MANY, "str"))
    assert here[synthetic.FEW].isna().any(axis=None), "no missing text"

    def made(put: Any, device: str) -> list[Any]:
        # Two tables, as they are read: text of a slice is another matter in cuDF.
        train, test = put(here[:600]), put(here[600:])
        y = proof._values(train[synthetic.TASK.target], "int32")
        return proof.matrices(train, test, y, device)

    wanted = made(lambda X: X, "cpu")
    standins.install(monkeypatch)
    import cudf

    for found, expected in zip(made(cudf.from_pandas, "cuda"), wanted, strict=True):
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6, atol=1e-6)
