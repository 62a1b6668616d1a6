"""The harness of scikit-learn's examples: how runs are compared, and what is complained of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from pipeline.accel.sites import Site
from tools.examples import __main__ as examples
from tools.examples.__main__ import Row, complaints, difference, on_gpu, summary, too_slow
from tools.examples.once import Run, run

FIGURE = np.zeros((4, 5, 4), "uint8")
OTHER = FIGURE.copy()
OTHER[0, 0] = 9


@pytest.mark.parametrize(
    ("ours", "plain", "says"),
    [
        (Run(printed="at 0x7f1, 1.2 s"), Run(printed="at 0x8e2, 30 s"), ""),
        (Run(printed="took 1.2"), Run(printed="took 1.3"), "line 1: 'took 1.2' instead of"),
        (Run(printed="a"), Run(printed="a\nb"), "line 2: '' instead of 'b'"),
        (Run("ValueError: no"), Run(), "ValueError: no"),
        (Run(figures=[FIGURE]), Run(figures=[FIGURE]), ""),
        (Run(figures=[OTHER]), Run(figures=[FIGURE]), "figure 1: 5.00% of the pixels by up to 9"),
        (Run(figures=[]), Run(figures=[FIGURE]), "figure 1: (0,) pixels instead of (4, 5, 4)"),
    ],
)
def test_text_and_pixels_are_compared_but_not_addresses_and_seconds(ours, plain, says) -> None:
    found = difference(ours, plain)
    assert found.startswith(says)
    assert bool(found) == bool(says)


def test_what_differs_is_listed_and_what_is_listed_differs() -> None:
    rows = [
        Row("same", calls=3, engine=2),
        Row("differs", "line 1"),
        Row("chance", "line 2", repeats=False),
        Row("verified", wrong=["fit: coef_"]),
    ]
    found = ["differs: line 1", "verified: verify: fit: coef_"]
    assert list(complaints(rows, {})) == found
    known = {"same": "?", "differs": "rounding", "verified": "rounding"}
    assert list(complaints(rows, known)) == ["same: is the same, so it must leave the list"]
    assert summary(rows).splitlines() == [
        "chance does not repeat: line 2",
        "same output: 2 of 3 that repeat in plain",
        "calls through the engine: 2 of 3",
        "verify: 1 calls differ",
    ]
    assert summary(rows[:2], "cuda").splitlines() == [
        "ended: 1 of 2",
        "calls on the GPU alone: 2 of 3",
        "calls in which the engine failed: 0",
    ]


def test_on_a_gpu_an_example_must_end_and_no_call_may_fail(tmp_path, monkeypatch) -> None:
    sites = [Site("a.py:1", "PCA.fit", n=2), Site("a.py:2", "SVC.fit", n=3)]
    sites[0].ran, sites[1].ran, sites[1].why = "cuda", "plain", "the engine failed: no memory"
    ran: list[Any] = []
    monkeypatch.setattr(examples, "run", lambda *args: ran.append(args) or Run(sites=sites))
    row = on_gpu("a", {"a": tmp_path})
    assert ran == [(tmp_path, "accel", examples.HOME / "runs" / "a", "cuda")]
    assert (row.calls, row.engine, row.differs) == (5, 2, "")
    assert row.wrong == ["SVC.fit: the engine failed: no memory"]
    late = [Row("a", "takes longer than 60 s"), Row("b", "takes longer than 60 s", wrong=["fit"])]
    assert [too_slow(each) for each in [*late, Row("c", "ended with 3"), Row("d")]] == [
        *(True, False, False, False)
    ]


def test_a_run_has_what_the_example_prints_draws_and_calls(tmp_path: Path) -> None:
    example = tmp_path / "plot_a.py"
    example.write_text(
        "from matplotlib import pyplot\nfrom sklearn.preprocessing import MaxAbsScaler\n"
        "print(MaxAbsScaler().fit([[1.0], [2.0]]).scale_)\npyplot.plot([1])\n"
    )
    runs = [run(example, way, tmp_path / "runs") for way in ("plain", "accel")]
    assert [each.printed for each in runs] == ["[2.]\n", "[2.]\n"]
    assert [len(each.figures) for each in runs] == [1, 1]
    assert [site.what for each in runs for site in each.sites] == ["MaxAbsScaler.fit"]
    example.write_text("import os\nos._exit(3)\n")
    assert run(example, "plain", tmp_path / "runs").error == "ended with 3"


def test_what_is_known_to_differ_is_among_the_examples() -> None:
    file = Path(__file__).parents[2] / "tools" / "examples" / "examples.yaml"
    listed = yaml.safe_load(file.read_text("utf-8"))
    assert len({*listed["examples"]}) == len(listed["examples"]) == 100
    assert {*listed["differ"], *listed["slow on a GPU"]} <= {*listed["examples"]}
