"""The pages say what the records say, safely, in every form."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import partial
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from pipeline.benchmark.judge.statistics import speed, stages
from pipeline.benchmark.judge.verdict import verdict
from pipeline.benchmark.publish import render
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report import cards, html, markdown, tables
from pipeline.benchmark.report import html_table as table
from pipeline.benchmark.report.gallery_page import gallery_page
from pipeline.benchmark.report.panels import Page, comparison_page
from pipeline.benchmark.report.tables import leaderboard
from pipeline.benchmark.report.terminal import terminal_report
from pipeline.benchmark.report.tuning_page import tuning_page
from pipeline.errors import OutputError
from pipeline.task.numerals import seconds
from tests.benchmark import fixtures, fuller, tunings
from tests.test_docs import gone

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
EVERY = [
    fixtures.normal,
    fixtures.failed,
    fixtures.parity_failed,
    fixtures.of_classes,
    fixtures.of_numbers,
    fuller.everything,
    fuller.hostile,
]


def gallery(*records: Results) -> Page:
    """Return the page over some records, one in a folder of a hostile name."""
    return gallery_page(dict(zip(["flights", fixtures.HOSTILE], records, strict=True)))


PAGES = {
    **{each.__name__: partial(lambda make: comparison_page(make()), each) for each in EVERY},
    **{f"tuning {e.__name__}": partial(lambda m: tuning_page(m()), e) for e in tunings.EVERY},
    "gallery": partial(gallery, fixtures.with_gpu(), fuller.hostile()),
}


class Batch(HTMLParser):
    """Collects tags, ids, references and text, and checks that tags are balanced."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """All text, with single blanks."""
        return " ".join(" ".join(self.words).split())

    def values(self, name: str) -> list[str]:
        """All values of an attribute."""
        return [attrs[name] or "" for _, attrs in self.tags if name in attrs]


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest) -> Page:
    made: Page = PAGES[request.param]()
    return made


@pytest.fixture(scope="module")
def source(page: Page) -> str:
    return html.page_html(page)


@pytest.fixture(params=EVERY, ids=lambda make: make.__name__)
def results(request: pytest.FixtureRequest) -> Results:
    made: Results = request.param()
    return made


@pytest.mark.quick(4)
def test_tags_are_balanced_ids_unique_and_headings_in_order(source: str) -> None:
    found = Batch(source)
    assert found.open == []
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    assert set(" ".join(found.values("aria-labelledby")).split()) <= set(ids)
    levels = [int(tag[1]) for tag, _ in found.tags if re.match("h[1-6]$", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))


@pytest.mark.quick(1)
def test_panels_come_in_order_in_both_forms(page: Page, source: str) -> None:
    assert [a["id"] for tag, a in Batch(source).tags if tag == "section"] == [*page.panels]
    lines = markdown.page_markdown(page).splitlines()
    titles = [each.title for each in page.panels.values()]
    assert [line[3:] for line in lines if line.startswith("## ")] == titles
    pieces = [piece for panel in page.panels.values() for piece in panel.pieces]
    captions = [piece.value.caption for piece in pieces if piece.kind == "table"]
    assert {*map(markdown.text, captions)} <= {*lines}


def test_nothing_is_loaded_and_one_script_runs(page: Page, source: str) -> None:
    found = Batch(source)
    assert not {tag for tag, _ in found.tags} & {"link", "img", "iframe", "object"}
    [(script, attributes)] = [each for each in found.tags if each[0] == "script"]
    assert (script, attributes) == ("script", {})
    [body] = re.findall(r"<script>(.*?)</script>", source, flags=re.DOTALL)
    allowed = b64encode(sha256(body.encode()).digest()).decode()
    [policy] = [a["content"] for _, a in found.tags if "http-equiv" in a]
    styles = "default-src 'none'; style-src 'unsafe-inline'"
    assert policy == f"{styles}; script-src 'sha256-{allowed}'"
    assert found.values("src") == []
    beside = {link for link in found.values("href") if not link.startswith("#")}
    assert {link for link in beside if not link.endswith("/index.html")} == {*page.files}
    assert not re.search(r"url\((?!#)|@import|https?:", source)
    assert not [name for _, attrs in found.tags for name in attrs if name.startswith("on")]
    assert len(source.encode()) < 500_000


def test_every_figure_and_table_is_described(source: str) -> None:
    found = Batch(source)
    count = [tag for tag, _ in found.tags].count
    outer = [attrs for tag, attrs in found.tags if tag == "svg"]
    assert len(outer) == count("desc")
    assert all(attrs["role"] == "img" and attrs["aria-labelledby"] for attrs in outer)
    assert count("figure") == count("figcaption")
    assert count("table") == count("caption")
    assert all("scope" in attrs for tag, attrs in found.tags if tag == "th")


def test_rows_of_each_table_are_as_wide_as_its_head(page: Page, source: str) -> None:
    for body in re.findall(r"<table>.*?</table>", source, flags=re.DOTALL):
        width, spanned = len(re.findall(r'scope="col"', body)), 0
        for line in re.findall(r"<tr>(.*?)</tr>", body.split("</thead>")[1], flags=re.DOTALL):
            span = re.search(r'rowspan="(\d+)"', line)
            cells = len(re.findall(r"<t[hd]", line))
            assert cells + (0 if "<th" in line else spanned > 0) == width
            spanned = int(span[1]) - 1 if span else max(spanned - 1, 0)
    plain = markdown.page_markdown(page)
    for block in re.findall(r"(?:^\|.*\|$\n?)+", plain, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().splitlines()}
        assert len(widths) == 1


@pytest.mark.parametrize("name", ["hostile", "tuning hostile", "gallery"])
def test_foreign_text_is_shown_as_text(name: str) -> None:
    page = PAGES[name]()
    source, plain = html.page_html(page), markdown.page_markdown(page)
    assert source.count("<script") == 1
    assert "\x1b" not in source + plain
    shown = " ".join(fixtures.HOSTILE.replace("\x1b", "\ufffd").split())
    assert Batch(source).text.count(shown) >= 4
    body = re.sub(r"^(`{3,})\n.*?\n\1$", "", plain, flags=re.S | re.M)
    assert "<" not in body
    assert not re.search(r"(?<!\\)[`\[]", body)
    assert not re.search(r"(?<!\\)(?<!\*)\*(?!\*)", body)


@pytest.mark.quick(3)
def test_both_files_hold_the_derived_numbers_and_sentences(results: Results) -> None:
    page, plain = Batch(fixtures.html_of(results)).text, fixtures.markdown_of(results)
    found = verdict(results)
    told = (found.badge, found.skipped, found.parity, *found.cautions, *found.caveats)
    for said in (*told, *(line.judged for line in found.headlines if line.speed)):
        assert " ".join(said.replace("\x1b", "\ufffd").split()) in page
        assert markdown.text(said) in plain
    for pipeline, variant in table.pairs(results):
        item = speed(results, pipeline, variant)
        values = [seconds(part) for part in stages(results, pipeline, variant).values()]
        values += [seconds(item.median), seconds(item.maximum)] if item else []
        values += [table.span(item.ratio)] if item and item.ratio else []
        assert all(value in page and value in plain for value in values)


def test_the_summary_claims_no_speed_where_quality_fails() -> None:
    rows = rows_of(fixtures.parity_failed())
    [failed] = [row for row in rows if row[:2] == ["boosting", "cpu"]]
    assert failed[3:6] == ["FAIL (log_loss)", "no claim: quality fails", "–"]
    [sound] = [row for row in rows if row[:2] == ["forest", "cpu"]]
    assert sound[3:6] == ["PASS", "2.41× faster", "2.35–2.48×"]
    [lost] = [row for row in rows_of(fixtures.failed()) if row[:2] == ["forest", "cpu"]]
    assert lost[2:] == ["failed: MemoryError: 3 GiB", *["–"] * 6]


def rows_of(results: Results) -> list[list[str]]:
    return [[cell.text for cell in row] for row in leaderboard(results).rows]


def test_bytes_that_moved_are_summed_over_the_log() -> None:
    rows = tables.movement_table(fixtures.with_gpu()).rows
    texts = [[cell.text for cell in row] for row in rows]
    assert ["forest", "cuda", "8", "0.100", "96.0 MiB", "1.50 MiB"] in texts
    assert not [row for row in texts if row[1] == "cpu"], "nothing of it used a GPU"


def test_the_same_record_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        render(fuller.everything(), folder)
        pages.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert pages[0] == pages[1]
    assert set(pages[0]) == {"index.html", "report.md", "runs.csv"}


def test_a_row_of_the_speed_table_reads_as_the_record() -> None:
    rows = [[cell.text for cell in row] for row in tables.speed_table(fixtures.with_gpu()).rows]
    (cells,) = (cells for cells in rows if cells[:2] == ["logistic", "cuda"])
    assert cells[2:] == ["5.205", "5.112–5.343", "7", "1.30× slower",
                         "1.27–1.33×", "8.309"]  # fmt: skip


def test_a_report_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "index.html").mkdir()
    (tmp_path / "index.html" / "kept").touch()
    with pytest.raises(OutputError, match=r"index\.html"):
        render(fixtures.normal(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def printed(results: Results, width: int) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(terminal_report(results))
    return capture.get()


def test_the_terminal_shows_each_cell_and_obeys_no_markup(results: Results) -> None:
    shown = printed(results, 400)
    for line in verdict(results).headlines:
        if line.speed:
            assert seconds(line.speed.median) in shown
            assert " ".join(line.pipeline.replace("\x1b", "\ufffd").split()) in shown
    assert "\x1b[31m" not in shown


def test_the_terminal_shows_speed_the_metric_and_the_cautions_in_80_columns() -> None:
    results = fixtures.with_gpu()
    lines = printed(results, 80).splitlines()
    assert any("dummy 0.500" in line and "Variant" in line for line in lines)
    [cuda] = [line for line in lines if line.split()[:2] == ["forest", "cuda"]]
    assert "12.7× faster" in cuda
    assert "0.812" in cuda
    assert results.cautions[0] in lines


def test_a_long_metric_leaves_the_verdicts_whole_in_80_columns() -> None:
    results, metric = fixtures.with_gpu(), "mean_absolute_error"
    cells = [replace(cell, metrics={metric: 0.5}) for cell in results.cells]
    shown = printed(replace(results, cells=cells, baseline={metric: 0.1}), 80)
    assert "…" not in shown
    assert all(word in shown for word in [*metric.split("_"), "slower", "Quality"])


def test_cautions_have_a_severity_and_the_box_says_how_to_mute() -> None:
    said = ["critical: 'x' is the target. [leak]", "'y' is from an older record."]
    results = replace(fixtures.normal(), cautions=said)
    source = fixtures.html_of(results)
    assert '<strong class="critical">critical:</strong>' in source
    page = Batch(source).text
    assert all(each in page for each in said)
    assert 'mute=["leak"]' in page
    older = fixtures.html_of(replace(results, cautions=said[1:]))
    assert "mute=" not in Batch(older).text
    lines = printed(results, 80).splitlines()
    assert said[0] in lines
    assert said[1] in lines


def test_each_column_has_a_row_and_what_is_not_known_a_dash() -> None:
    rows = [[cell.text for cell in row] for row in tables.column_table(fuller.everything()).rows]
    dash = "–"
    assert rows == [
        ["late (target)", "category", "0 %", "2", *[dash] * 3, "1 (50.0 %)", "0.510", dash],
        ["distance", "number", "80.0 %", "12,345", "-0.5", "900", "1,234,567", dash, "0.701",
         "mostly-missing, drift"],
        ["sold", "date", "0 %", "300", "2013-01-01", "2013-06-30", "2013-12-31", dash, dash, dash],
        [fixtures.HOSTILE, "list<item: int64>", "0 %", *[dash] * 7],
    ]  # fmt: skip
    assert tables.column_table(fixtures.normal()) is None


def test_no_page_has_a_word_that_is_gone(source: str) -> None:
    pattern = r"<(style|script|pre|code)\b.*?</\1>|<[^>]+>"
    assert gone(re.sub(pattern, " ", source, flags=re.DOTALL)) == []


def test_the_classes_are_named_and_which_is_positive() -> None:
    results = fixtures.normal()
    known = replace(results.task, classes=["early", "late"], positive="late", test="month > 9")
    card = dict(cards.fairness(replace(results, task=known)))
    assert card["Classes"] == "early, late (positive)"
    assert "67,346 to test (month > 9)" in card["Rows"]
