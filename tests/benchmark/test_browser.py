"""The page in a browser, where there is one: no request, no error, nothing cut off."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.benchmark.publish import render
from pipeline.benchmark.report.panels import PANELS
from pipeline.benchmark.results import Results
from tests.benchmark import fixtures, fuller

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="not installed: chromium"),
]
MEASURE = """
<script>
const wide = document.documentElement.scrollWidth - innerWidth;
document.body.dataset.overflow = String(wide);
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


@pytest.mark.parametrize("make", [fixtures.normal, fuller.everything, fuller.hostile])
def test_the_page_opens_without_an_error_or_a_request(
    make: Callable[[], Results], tmp_path: Path
) -> None:
    render(make(), tmp_path)
    done = browse(tmp_path, 1280)
    assert "CONSOLE" not in done.stderr
    for anchor, panel in PANELS.items():
        assert f'id="{anchor}"' in done.stdout
        assert panel.title in done.stdout
    assert "<script" not in done.stdout
    assert 'src="' not in done.stdout
    assert "http" not in done.stdout.replace("http-equiv", "")


def test_an_error_would_be_seen(tmp_path: Path) -> None:
    render(fixtures.normal(), tmp_path)
    page = tmp_path / "index.html"
    page.write_text(page.read_text().replace("</body>", "<script>no()</script></body>"))
    assert "CONSOLE" in browse(tmp_path, 1280).stderr, "the page's own policy forbids scripts"


@pytest.mark.parametrize("width", [1280, 500])
def test_nothing_is_wider_than_the_window(width: int, tmp_path: Path) -> None:
    """A headless window is not narrower than 500; tables scroll in their own boxes."""
    render(fuller.hostile(), tmp_path)
    page = tmp_path / "index.html"
    text = page.read_text().replace("default-src 'none'", "script-src 'unsafe-inline'")
    page.write_text(text.replace("</body>", f"{MEASURE}</body>"))
    assert 'data-overflow="0"' in browse(tmp_path, width).stdout
