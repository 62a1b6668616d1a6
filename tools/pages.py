"""What a browser makes of the pages: labels that collide, boxes that overflow, accessibility.

Chromium opens a copy of each page, light and dark, wide and narrow, with everything unfolded and a
policy that lets the checks run. With `--axe`, axe-core's rules are checked as well.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = 1920, 1440, 1024, 768, 390, 320
"""Pixels."""
LEAST = 500
"""A headless window is not narrower; a narrower page is as narrow within it."""
_POLICY = re.compile(r"default-src 'none'; style-src 'unsafe-inline'[^\"]*")
_MEASURE = """
const found = [];
document.documentElement.style.width = limit + 'px';
for (const each of document.querySelectorAll('details')) each.open = true;
const box = each => each.getBoundingClientRect();
const shared = (a, b) => [
  Math.min(a.right, b.right) - Math.max(a.left, b.left),
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
];
for (const svg of document.querySelectorAll('svg[role=img]')) {
  const name = svg.querySelector('title').textContent;
  const texts = [...svg.querySelectorAll('text')].map(each => [each.textContent, box(each)]);
  const lines = [...svg.querySelectorAll('line')].map(box);
  texts.forEach(([said, a], place) => {
    const tell = what => found.push(`${name}: '${said}' ${what}`);
    if (a.left < -1 || a.right > limit + 1) tell('leaves the window');
    for (const [other, b] of texts.slice(place + 1)) {
      const [across, down] = shared(a, b);
      if (across > 0.5 && down > 2) tell(`meets '${other}'`);
    }
    // A line is thinner than a pixel; the box of a text is higher than its letters.
    if (lines.some(b => Math.min(...shared(a, b)) >= 0 && shared(a, b)[1] + shared(a, b)[0] > 3))
      tell('lies on a line');
  });
}
const wide = document.body.scrollWidth - limit;
if (wide > 0) found.push(`the page is ${wide} pixels wider than the window`);
for (const each of document.querySelectorAll('section, figure, .scroll:not(.fixed), .track, dd'))
  if (each.scrollWidth > each.clientWidth + 1)
    found.push(`${each.tagName} ${each.className} overflows: ${each.innerText.slice(0, 40)}`);
const say = () => { document.body.dataset.findings = JSON.stringify(found); };
if (window.axe) axe.run(document, {resultTypes: ['violations']}).then(said => {
  for (const each of said.violations)
    for (const node of each.nodes) found.push(`axe ${each.id}: ${node.html.slice(0, 90)}`);
  say();
});
else say();
"""


def findings(page: Path, width: int, *, dark: bool = False, axe: str = "") -> list[str]:
    """Return what is wrong with a page in a window of a width in pixels, a sentence each.

    `axe` is the source of axe-core, where its rules are to be checked.
    """
    source = page.read_text(encoding="utf-8")
    if not _POLICY.search(source):
        raise SystemExit(f"{page}: not a page with the policy {_POLICY.pattern!r}")
    checks = f"const limit = {width}; window.addEventListener('load', () => {{{_MEASURE}}});"
    scripts = (axe.replace("</script", ""), checks)
    script = "".join(f"<script>{each}</script>" for each in scripts) + "</body>"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.html"
        open_to_all = _POLICY.sub("script-src 'unsafe-inline'", source, count=1)
        copy.write_text(open_to_all.replace("</body>", script), encoding="utf-8")
        command = [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--no-first-run", "--disable-background-networking", "--virtual-time-budget=60000",
            f"--window-size={max(width, LEAST)},900", f"--user-data-dir={folder}/profile",
            f"--blink-settings=preferredColorScheme={int(not dark)}", "--dump-dom", copy.as_uri(),
        ]  # fmt: skip
        said = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found = re.search(r'data-findings="([^"]*)"', said.stdout)
    if found is None:
        raise SystemExit(f"{page}: the checks did not run in the browser")
    return list(dict.fromkeys(json.loads(html.unescape(found[1]))))


def main(arguments: Sequence[str] | None = None) -> int:
    """Check pages; return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.pages", description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE.html")
    parser.add_argument("--axe", type=Path, metavar="axe.min.js", help="from npm's axe-core")
    asked = parser.parse_args(arguments)
    axe = asked.axe.read_text("utf-8") if asked.axe else ""
    if CHROMIUM is None:
        raise SystemExit("chromium is not installed")
    lines = [
        f"{page}, {width} pixels, {'dark' if dark else 'light'}: {said}"
        for page, width, dark in product(asked.pages, WIDTHS, (False, True))
        for said in findings(page, width, dark=dark, axe=axe)
    ]
    print("\n".join(lines) or f"{len(asked.pages)} pages: nothing found")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
