"""The page in a browser, where there is one: no request, no error, nothing cut off."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from html import unescape
from pathlib import Path

import pytest

from pipeline.benchmark.publish import render
from pipeline.benchmark.report import html
from pipeline.benchmark.report import html_table as table
from pipeline.benchmark.report.panels import Page, Panel, Piece
from pipeline.benchmark.report.tuning_page import render_tuning
from tests.benchmark import fixtures, fuller, tunings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="not installed: chromium"),
]
PAGES: dict[str, Callable[[Path], None]] = {
    **{m.__name__: partial(lambda m, folder: render(m(), folder), m)
       for m in (fixtures.normal, fixtures.of_numbers, fuller.everything, fuller.hostile)},
    **{f"tuning {m.__name__}": partial(lambda m, folder: render_tuning(m(), folder), m)
       for m in (tunings.failing, tunings.hostile)},
}  # fmt: skip


def browse(folder: Path) -> subprocess.CompletedProcess[str]:
    """Open a page and return what the browser made of it, and said."""
    return subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--enable-logging=stderr", "--v=0", "--window-size=1280,900",
            f"--user-data-dir={folder / 'profile'}", "--dump-dom",
            (folder / "index.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_the_page_opens_without_an_error_or_a_request(name: str, tmp_path: Path) -> None:
    PAGES[name](tmp_path)
    done = browse(tmp_path)
    assert "CONSOLE" not in done.stderr
    assert "</footer>" in done.stdout
    assert done.stdout.count("<script") == 1
    assert 'src="' not in done.stdout
    assert "http" not in done.stdout.replace("http-equiv", "").replace("www.w3.org", "")


WORTH = ["2.50× faster", "–", "no difference shown", "1.30× slower", "12.7× faster", "1,024", "9"]
SIZES = ["1.50 KiB", "96.0 MiB", "0 B", "–", "3.00 GiB", "8", "512 B"]
CLICKS = """
for (const button of document.querySelectorAll("th button")) {
  const head = button.closest("th"), read = () => [...document.querySelectorAll("tbody tr")]
    .map(row => row.cells[head.cellIndex].textContent.trim());
  button.click();
  const up = read();
  button.click();
  head.dataset.found = JSON.stringify([up, read(), head.ariaSort]);
}
"""


def test_a_click_sorts_a_table_without_groups(tmp_path: Path) -> None:
    rows = tuple(table.row(f"r{i}", *each) for i, each in enumerate(zip(WORTH, SIZES, strict=True)))
    plain = table.ReportTable("plain", ("Name", "Speed", "Size"), "lrr", rows)
    page = Page("t", "", {"p": Panel("P", [Piece("table", plain, "a")])}, {})
    source = html.page_html(page).replace("script-src 'sha256", "script-src 'unsafe-inline' 'x")
    source = source.replace("</body>", f"<script>{CLICKS}</script></body>")
    (tmp_path / "index.html").write_text(source)
    found = re.findall(r'data-found="([^"]*)"', browse(tmp_path).stdout)
    _, speed, size = (json.loads(unescape(each)) for each in found)
    least = ["1.30× slower", "2.50× faster", "9", "12.7× faster", "1,024", "no difference shown"]
    assert speed[0] == [*least, "–"]
    assert size[0] == ["0 B", "8", "512 B", "1.50 KiB", "96.0 MiB", "3.00 GiB", "–"]
    assert size[1] == ["3.00 GiB", "96.0 MiB", "1.50 KiB", "512 B", "8", "0 B", "–"]
    assert size[2] == "descending"


def test_rows_of_a_group_stay_together(tmp_path: Path) -> None:
    rows = tuple(table.row(*each) for each in ("a1", "a2", "b3"))
    grouped = table.ReportTable("grouped", ("Name", "Size"), "lr", rows)
    page = Page("t", "", {"p": Panel("P", [Piece("table", grouped, "a")])}, {})
    (tmp_path / "index.html").write_text(html.page_html(page))
    assert "<button" not in browse(tmp_path).stdout.partition("<script")[0]
