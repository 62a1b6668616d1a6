"""The checks of pages find what is planted, and nothing on our own pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.benchmark.publish import render
from pipeline.benchmark.report.tuning_page import render_tuning
from tests.benchmark import fixtures, fuller, tunings
from tools import pages

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(pages.CHROMIUM is None, reason="not installed: chromium"),
]
FIGURE = '<svg role="img" width="200" height="40" style="width: {width}px"><title>figure</title>{}'
PLANTED = {
    "'one' meets 'two'": '<text x="10" y="20">one</text><text x="16" y="22">two</text>',
    "'far' leaves the window": '<text x="4000" y="20">far</text>',
    "'low' lies on a line": '<text x="10" y="20">low</text><line x1="20" x2="20" y1="0" y2="40"/>',
}


def page(folder: Path, body: str) -> Path:
    allowed = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-0'"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
    path = folder / "page.html"
    path.write_text(f"<!DOCTYPE html><html><head>{policy}</head><body>{body}</body></html>")
    return path


@pytest.mark.parametrize("said", PLANTED)
def test_a_label_in_the_way_is_found(said: str, tmp_path: Path) -> None:
    planted = FIGURE.format(PLANTED[said], width=200)
    found = pages.findings(page(tmp_path, f"<details>{planted}</svg></details>"), 500)
    assert [line for line in found if line.startswith("figure")] == [f"figure: {said}"]


def test_a_box_that_overflows_and_what_axe_says_are_found(tmp_path: Path) -> None:
    wide = page(tmp_path, '<section><div style="width: 900px">wide</div></section>')
    axe = "window.axe = {run: async () => ({violations: [{id: 'rule', nodes: [{html: '<b>'}]}]})}"
    found = pages.findings(wide, 600, axe=axe)
    assert "SECTION  overflows: wide" in found
    assert found[-1] == "axe rule: <b>"


@pytest.mark.parametrize("width", [1440, 320])
@pytest.mark.parametrize(
    "make", [fuller.everything, fuller.hostile, fixtures.of_classes, fixtures.of_numbers]
)
def test_labels_of_a_report_never_meet(make: object, width: int, tmp_path: Path) -> None:
    render(make(), tmp_path)  # type: ignore[operator]
    assert pages.findings(tmp_path / "index.html", width) == []


@pytest.mark.parametrize("width", [1440, 320])
@pytest.mark.parametrize("make", tunings.EVERY)
def test_labels_of_a_tuning_page_never_meet(make: object, width: int, tmp_path: Path) -> None:
    render_tuning(make(), tmp_path)  # type: ignore[operator]
    assert pages.findings(tmp_path / "index.html", width) == []
