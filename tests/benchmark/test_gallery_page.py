"""The index of reports: what was measured, what failed, what has no data."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from pipeline.benchmark import task
from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.prices import parse_price
from pipeline.benchmark.publish import PublishOptions, publish, render
from pipeline.benchmark.report.gallery_page import build_gallery
from pipeline.benchmark.report.html import Entry, Tuning, gallery_page, overview
from pipeline.benchmark.results import dumps, load
from pipeline.benchmark.task import Job
from pipeline.cli import main
from tests.benchmark import fixtures, tunings
from tests.commands import ROOT

LINKS = ["#breast_cancer", "breast_cancer/index.html"]


class Links(HTMLParser):
    """Collects where a page points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name == "href"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two tasks, of which one downloads its data."""
    (tmp_path / "tasks").mkdir()
    for name in ("__init__", "breast_cancer", "higgs"):
        shutil.copy(ROOT / "tasks" / f"{name}.py", tmp_path / "tasks")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    return tmp_path


@pytest.mark.slow
def test_every_task_with_data_is_measured_and_the_others_say_what_they_lack(workspace) -> None:
    options = ["--device", "cpu", "--repeats", "3", "--pipelines", "logistic"]
    index = build_gallery(workspace / "reports", workspace / "data", options, from_results=False)
    text = index.read_text(encoding="utf-8")
    assert Links(text).found == LINKS
    assert (workspace / "reports" / "breast_cancer" / "index.html").exists()
    assert "1 of 2 tasks have a report" in text
    assert "make data TASK=higgs, 2.8 GB to download" in text


@pytest.mark.parametrize(
    ("record", "code", "links", "said"),
    [
        (dumps(fixtures.with_gpu()), 2, [], "The comparison ended with exit code 2."),
        (
            dumps(fixtures.with_gpu()),
            None,
            ["#breast_cancer", "breast_cancer/index.html"],
            "1 of 2 tasks have a",
        ),
        (b"{}", None, [], "not a pipeline.results/2 file"),
    ],
    ids=["a run fails", "nothing is measured", "a record is none"],
)
def test_a_report_is_shown_where_it_is_of_the_last_run(
    workspace, monkeypatch, record: bytes, code: int | None, links: list[str], said: str
) -> None:
    old = workspace / "reports" / "breast_cancer"
    old.mkdir(parents=True)
    (old / "results.json").write_bytes(record)
    done = subprocess.CompletedProcess("", code, stderr="")
    monkeypatch.setattr(subprocess, "run", lambda command, **options: done if code else 1 / 0)
    index = build_gallery(workspace / "reports", workspace / "data", [], from_results=code is None)
    text = index.read_text(encoding="utf-8")
    assert Links(text).found == links
    assert said in text


def test_what_was_tuned_is_linked_with_its_scores(workspace) -> None:
    reports = workspace / "reports"
    made = {"flights-tuning": dumps(tunings.both()), "a b": dumps(tunings.failing()), "c": b"{}"}
    for name, record in made.items():
        (reports / name).mkdir(parents=True)
        (reports / name / "tuning.json").write_bytes(record)
    index = build_gallery(reports, workspace / "data", [], from_results=True)
    text = index.read_text(encoding="utf-8")
    assert Links(text).found == [f"{name}/index.html" for name in ("a%20b", "c", "flights-tuning")]
    for variant in ("cpu", "cuda"):
        said = f"<dd>boosting, {variant}: roc_auc 0.730 → 0.739 on the test rows, better</dd>"
        assert said in text
    assert "forest, cpu: failed, DataError: none of 5 trials was completed" in text
    assert "not a pipeline.tuning/1 file" in text


def test_foreign_text_is_no_markup() -> None:
    odd = Tuning("<u>", "<em>title</em>", ["<em>line</em>"])
    text = gallery_page([Entry("odd", "<script>alert(1)</script>", fixtures.hostile()),
                 Entry("gone", "<b>bold</b>", None, "<i>why</i>")], [odd])  # fmt: skip
    assert "<em>" not in text
    assert "<u>" not in text
    assert "<script>" not in text
    assert "<b>bold" not in text
    assert "<i>why" not in text


def test_the_overview_tells_how_good_and_how_fast_the_best_pipeline_is() -> None:
    results = fixtures.with_cell(
        fixtures.with_gpu(), "forest", "reference", metrics={"roc_auc": 0.9}
    )
    row = overview(Entry("flights", "", results), results)
    assert (row.pipeline, row.metric, row.dummy) == ("forest", "roc_auc 0.900", "0.500")
    assert [cell.text for cell in row.ratios] == [
        "cpu 0.415, faster, but quality FAILS",
        "cuda 0.079, faster, but quality FAILS",
    ]
    assert len(row.verdict.cautions) == 1


def test_of_an_old_record_or_one_without_a_run_the_overview_says_no_more_than_there_is() -> None:
    old = replace(fixtures.normal(), baseline={}, cautions=[])
    assert overview(Entry("flights", "", old), old).dummy == "–"
    bare = replace(old, cells=[])
    row = overview(Entry("flights", "", bare), bare)
    assert (row.pipeline, row.metric, row.ratios) == ("–", "–", [])
    assert "–" in gallery_page([Entry("flights", "", bare)])


@pytest.mark.parametrize("again", [False, True])
def test_what_has_not_changed_is_measured_again_only_if_asked(
    workspace, monkeypatch, again: bool
) -> None:
    commands: list[list[str]] = []
    done = subprocess.CompletedProcess("", 0, stderr="")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command) or done)
    CliRunner().invoke(main.commands, ["gallery", *["--again"] * again], catch_exceptions=False)
    assert [("--if-changed" in command) for command in commands] == [not again]


@pytest.fixture
def reported(tmp_path: Path) -> tuple[Comparison, Path]:
    """A comparison, and the folder with its report."""
    job = Job("breast_cancer", "logistic", "cpu", tmp_path / "rows.parquet")
    job.path.write_bytes(b"rows")
    comparison = Comparison(task.load("breast_cancer"), job, ["logistic"], "cpu", 3)
    measured = replace(fixtures.normal(), fingerprint=comparison.key)
    render(measured, tmp_path / "out")
    (tmp_path / "out" / "results.json").write_bytes(dumps(measured))
    return comparison, tmp_path / "out"


@pytest.mark.parametrize("change", ["nothing", "the record", "no page", "not asked for"])
def test_a_report_of_the_same_work_is_kept(
    change: str,
    reported: tuple[Comparison, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    comparison, folder = reported
    if change == "the record":
        (folder / "results.json").write_bytes(dumps(fixtures.normal()))
    elif change == "no page":
        (folder / "index.html").unlink()
    runs: list[object] = []
    fresh = fixtures.normal()
    monkeypatch.setattr(Comparison, "measure", lambda *given: runs.append(given) or fresh)
    publish(comparison, folder, PublishOptions(if_changed=change != "not asked for"))
    assert bool(runs) == (change != "nothing")
    assert ("not measured again" in capsys.readouterr().out) == (change == "nothing")


def test_a_report_of_the_same_work_takes_another_price(
    reported: tuple[Comparison, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparison, "measure", None)
    comparison, folder = reported
    before = load(folder / "results.json")
    mine = parse_price("77.25 EUR")
    publish(comparison, folder, PublishOptions(if_changed=True, price=mine))
    made = load(folder / "results.json")
    assert made.price == mine != before.price
    assert replace(made, price=before.price, other_prices=before.other_prices) == before
    for page in ("index.html", "report.md"):
        assert "77.25 EUR" in (folder / page).read_text()
    publish(comparison, folder, PublishOptions(if_changed=True))
    assert load(folder / "results.json").price == mine, "no price asked for: the last one stays"
