"""The index of reports: what was measured, what failed, what has no data."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from pipeline.benchmark import task
from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.publish import PublishOptions, publish, render
from pipeline.benchmark.report.costs import parse_price
from pipeline.benchmark.report.gallery_html import Entry, Gallery, Tuning
from pipeline.benchmark.report.gallery_page import build_gallery
from pipeline.benchmark.results import Results, dumps, load
from pipeline.benchmark.task import Job
from pipeline.cli import main
from pipeline.errors import ConfigError
from tests.benchmark import fixtures, fuller, tunings
from tests.commands import ROOT

LINKS = ["gallery.csv", "breast_cancer/index.html"]


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
            LINKS,
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


def test_a_report_is_shown_where_its_data_is_not(workspace) -> None:
    made = workspace / "reports" / "higgs"
    made.mkdir(parents=True)
    (made / "results.json").write_bytes(dumps(fixtures.with_gpu()))
    index = build_gallery(workspace / "reports", workspace / "data", [], from_results=True)
    text = index.read_text(encoding="utf-8")
    assert Links(text).found == ["gallery.csv", "higgs/index.html"]
    assert "1 of 2 tasks have a" in text
    assert "to download" not in text


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
    bad, other = fixtures.hostile(), fuller.hostile()
    other = replace(other, machine=replace(other.machine, cores=3))
    entries = [Entry("odd", "<script>alert(1)</script>", bad), Entry("gone", "<b>bold</b>", None,
               "<i>why</i>")]  # fmt: skip
    text = Gallery(entries, [odd], [[other]]).render()
    assert "<em>" not in text
    assert "<u>" not in text
    assert "<script>" not in text
    assert "<b>bold" not in text
    assert "<i>why" not in text


def test_the_tasks_tell_how_good_the_best_pipeline_is() -> None:
    results = fixtures.with_cell(
        fixtures.with_gpu(), "forest", "reference", metrics={"roc_auc": 0.9}
    )
    [row] = Gallery([Entry("flights", "", results)]).tasks().rows
    told = [cell.text for cell in row]
    assert told == ["flights", "binary", "327,346", "forest", "roc_auc 0.900", "0.500", "1"]


def test_of_an_old_record_or_one_without_a_run_no_more_is_said_than_there_is() -> None:
    old = replace(fixtures.normal(), baseline={}, cautions=[])
    assert Gallery([Entry("flights", "", old)]).tasks().rows[0][5].text == "–"
    bare = Gallery([Entry("flights", "", replace(old, cells=[]))])
    assert [cell.text for cell in bare.tasks().rows[0]][3:6] == ["–"] * 3
    assert bare.columns == []
    assert "Each pipeline" not in bare.render()
    assert "0 of 0 tasks have a report" in Gallery([]).render()


def elsewhere(results: Results, **changes: object) -> Results:
    return replace(results, machine=replace(results.machine, cpu="Other CPU", **changes))


def test_machines_stand_side_by_side_with_what_differs() -> None:
    here = fixtures.normal()
    packages = {**here.machine.packages, "numpy": "2.5.0"}
    there = elsewhere(fixtures.with_gpu(), packages=packages)
    gallery = Gallery([Entry("flights", "", here)], others=[[there]])
    assert list(gallery.machines) == ["A", "B"]
    assert gallery.columns == [("cpu", "A"), ("cpu", "B"), ("cuda", "B")]
    [row] = [row for row in gallery.heat() if row.pipeline == "forest"]
    assert [each.text for each in row.squares] == ["0.415", "0.415", "0.0788"]
    machines, times, differs = gallery.beside()
    assert [cell.text for cell in machines.value.rows[1]][0::2] == ["B", "1"]
    assert len(times.value.rows) == 6, "cuda has times on one of them alone"
    assert {row[-1].text for row in times.value.rows} == {"1.00×"}
    told = {row[0].text: [cell.text for cell in row[1:]] for row in differs.value[0].value.rows}
    assert told["numpy"] == ["2.4.6", "2.5.0"]
    assert told["GPU"] == ["none", "Synthetic GPU 1"]
    assert "pandas" not in told
    page = gallery.render()
    assert "cuda on B" in page
    assert "Other CPU, 8 logical processors" in page


def test_two_folders_are_two_machines_even_where_they_are_alike() -> None:
    here = fixtures.normal()
    old = replace(here, created="2020-01-01T00:00:00+00:00")
    packages = {**here.machine.packages, "numpy": "2.5.0"}
    there = replace(here, machine=replace(here.machine, packages=packages))
    gallery = Gallery([Entry("flights", "", here)], others=[[there, old]])
    assert list(gallery.machines) == ["A", "B"]
    assert len(set(gallery.machines.values())) == 1
    assert gallery.of_machine["B"] == {"flights": there}, "the newest of a folder"
    *_, differs = gallery.beside()
    [row] = differs.value[0].value.rows
    assert [cell.text for cell in row] == ["numpy", "2.4.6", "2.5.0"]


def test_other_data_are_not_compared() -> None:
    here = fixtures.normal()
    there = elsewhere(replace(here, data=replace(here.data, sha256="cd" * 32)))
    _, said, _ = Gallery([Entry("flights", "", here)], others=[[there]]).beside()
    assert said.kind == "text"
    assert "not compared, data (SHA-256): 'abab" in said.value
    assert said.value.endswith("on B")


def test_another_folder_of_reports_is_read(workspace) -> None:
    for place, record in (("reports/breast_cancer", fixtures.normal()),
                          ("other/flights", elsewhere(fixtures.normal()))):  # fmt: skip
        (workspace / place).mkdir(parents=True)
        (workspace / place / "results.json").write_bytes(dumps(record))
    command = ["gallery", "--from-results", "--also", "other"]
    CliRunner().invoke(main.commands, command, catch_exceptions=False)
    table = pd.read_csv(workspace / "reports" / "gallery.csv")
    assert set(table["machine"]) == {"A", "B"}
    assert len(table) == 2 * 3 * 2
    with pytest.raises(ConfigError, match=r"--also tasks: there is no results\.json"):
        build_gallery(workspace / "reports", workspace, [], from_results=True, also=[Path("tasks")])


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
    assert replace(made, price=before.price) == before
    for page in ("index.html", "report.md"):
        assert "77.25 EUR" in (folder / page).read_text()
    publish(comparison, folder, PublishOptions(if_changed=True))
    assert load(folder / "results.json").price == mine, "no price asked for: the last one stays"
