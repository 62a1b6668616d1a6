"""The index of reports: what was measured, what failed, what has no data."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipeline.benchmark.report.gallery_page import build_gallery
from pipeline.benchmark.report.html import Entry, gallery_page
from pipeline.benchmark.results import dumps
from tests.benchmark import fixtures
from tests.commands import ROOT


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
    assert Links(text).found == ["breast_cancer/index.html"]
    assert (workspace / "reports" / "breast_cancer" / "index.html").exists()
    assert "1 of 2 tasks have a report" in text
    assert "make data TASK=higgs, 2.8 GB to download" in text


@pytest.mark.parametrize(
    ("record", "code", "links", "said"),
    [
        (dumps(fixtures.with_gpu()), 2, [], "The comparison ended with exit code 2."),
        (dumps(fixtures.with_gpu()), None, ["breast_cancer/index.html"], "1 of 2 tasks have a"),
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


def test_foreign_text_is_no_markup() -> None:
    text = gallery_page([Entry("odd", "<script>alert(1)</script>", fixtures.hostile()),
                 Entry("gone", "<b>bold</b>", None, "<i>why</i>")])  # fmt: skip
    assert "<script>" not in text
    assert "<b>bold" not in text
    assert "<i>why" not in text
