"""The page in a browser, where there is one: no request, no error, nothing cut off."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipeline.benchmark.publish import render
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
MEASURE = """
<script>
for (const each of document.querySelectorAll("details")) each.open = true;
const box = node => node.getBoundingClientRect();
const meet = (a, b) =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
let met = 0, count = 0;
for (const figure of document.querySelectorAll("figure")) {
  const labels = [...figure.querySelectorAll("svg text, .ticks span, .label, .said, .key")];
  const boxes = labels.map(box).filter(each => each.width > 0);
  boxes.forEach((one, i) => met += boxes.slice(i + 1).filter(other => meet(one, other)).length);
  count += boxes.length;
}
document.body.dataset.met = met;
document.body.dataset.count = count;
document.body.dataset.overflow = document.documentElement.scrollWidth - innerWidth;
</script>
"""


def browse(folder: Path, width: int) -> subprocess.CompletedProcess[str]:
    """Open a page and return what the browser made of it, and said."""
    return subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--enable-logging=stderr", "--v=0", f"--window-size={width},900",
            f"--user-data-dir={folder / 'profile'}", "--dump-dom",
            (folder / "index.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_the_page_opens_without_an_error_or_a_request(name: str, tmp_path: Path) -> None:
    PAGES[name](tmp_path)
    done = browse(tmp_path, 1280)
    assert "CONSOLE" not in done.stderr
    assert "</footer>" in done.stdout
    assert "<script" not in done.stdout
    assert 'src="' not in done.stdout
    assert "http" not in done.stdout.replace("http-equiv", "").replace("www.w3.org", "")


def test_an_error_would_be_seen(tmp_path: Path) -> None:
    render(fixtures.normal(), tmp_path)
    page = tmp_path / "index.html"
    page.write_text(page.read_text().replace("</body>", "<script>no()</script></body>"))
    assert "CONSOLE" in browse(tmp_path, 1280).stderr, "the page's own policy forbids scripts"


@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("name", PAGES)
def test_no_label_meets_another_and_nothing_is_wider_than_the_window(
    name: str, width: int, tmp_path: Path
) -> None:
    """A headless window is not narrower than 500; tables scroll in their own boxes."""
    PAGES[name](tmp_path)
    page = tmp_path / "index.html"
    text = page.read_text().replace("default-src 'none'", "script-src 'unsafe-inline'")
    page.write_text(text.replace("</body>", f"{MEASURE}</body>"))
    shown = browse(tmp_path, width).stdout
    assert 'data-overflow="0"' in shown
    assert 'data-met="0"' in shown
    assert int(re.findall(r'data-count="(\d+)"', shown)[0]) > 10
