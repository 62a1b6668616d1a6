"""The page in a browser, where there is one: no request, no error, nothing cut off."""

from __future__ import annotations

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
    assert "<script" not in done.stdout
    assert 'src="' not in done.stdout
    assert "http" not in done.stdout.replace("http-equiv", "").replace("www.w3.org", "")
