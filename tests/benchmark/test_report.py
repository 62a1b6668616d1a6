"""The report says what the record says, safely, in every form."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from pipeline.benchmark.publish import render
from pipeline.benchmark.report import cards, html, markdown, table, tables
from pipeline.benchmark.report.format import seconds
from pipeline.benchmark.report.panels import PANELS
from pipeline.benchmark.report.summary import summary_table
from pipeline.benchmark.report.table import ReportTable, row
from pipeline.benchmark.report.terminal import terminal_report, terminal_table
from pipeline.benchmark.results import Results
from pipeline.benchmark.statistics import speed, stages
from pipeline.benchmark.verdict import verdict
from pipeline.errors import OutputError
from tests.benchmark import fixtures, fuller

VOID = {"meta", "link", "br", "hr", "img", "input"}
EVERY = [
    fixtures.normal,
    fixtures.few,
    fixtures.with_gpu,
    fixtures.failed,
    fixtures.parity_failed,
    fixtures.of_classes,
    fixtures.of_numbers,
    fixtures.hostile,
    fuller.everything,
    fuller.hostile,
]


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


@pytest.fixture(scope="module", params=EVERY, ids=lambda make: make.__name__)
def results(request: pytest.FixtureRequest) -> Results:
    made: Results = request.param()
    return made


@pytest.fixture(scope="module")
def source(results: Results) -> str:
    return html.render_html(results)


@pytest.mark.quick(4)
def test_tags_are_balanced_and_ids_unique(source: str) -> None:
    page = Batch(source)
    assert page.open == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    named = " ".join(page.values("aria-labelledby")).split()
    assert set(named) <= set(ids)


@pytest.mark.quick(1)
def test_panels_come_in_order_in_both_files(results: Results, source: str) -> None:
    page = Batch(source)
    shown = [name for name, panel in PANELS.items() if panel.pieces(results)]
    assert [attrs["id"] for tag, attrs in page.tags if tag == "section"] == shown
    lines = markdown.render_markdown(results).splitlines()
    titles = [PANELS[name].title for name in shown]
    assert [line[3:] for line in lines if line.startswith("## ")] == titles


def test_headings_skip_no_level(source: str) -> None:
    levels = [int(tag[1]) for tag, _ in Batch(source).tags if re.match("h[1-6]$", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))


def test_nothing_is_loaded_and_no_script_runs(results: Results, source: str) -> None:
    page = Batch(source)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert page.values("src") == []
    links = page.values("href")
    pages = {p.file for p in results.profiles if re.fullmatch(r"profile-\d+\.html", p.file)}
    beside = {link for link in links if not link.startswith("#")}
    assert beside == {"results.json", "report.md", "cells.csv", "machine.json", *pages}
    assert not re.search(r"url\(|@import|https?:", source)
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert len(source.encode()) < 500_000


def test_every_figure_and_table_is_described(source: str) -> None:
    page = Batch(source)
    count = [tag for tag, _ in page.tags].count
    outer = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
    assert len(outer) == count("figure") == count("figcaption") == count("desc")
    assert count("table") == count("caption") >= 6
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")


def test_rows_of_each_html_table_are_as_wide_as_its_head(source: str) -> None:
    for body in re.findall(r"<table>.*?</table>", source, flags=re.DOTALL):
        width, spanned = len(re.findall(r'scope="col"', body)), 0
        for line in re.findall(r"<tr>(.*?)</tr>", body.split("</thead>")[1], flags=re.DOTALL):
            span = re.search(r'rowspan="(\d+)"', line)
            cells = len(re.findall(r"<t[hd]", line))
            assert cells + (0 if "<th" in line else spanned > 0) == width
            spanned = int(span[1]) - 1 if span else max(spanned - 1, 0)


def test_foreign_text_is_shown_as_text_in_html() -> None:
    source = html.render_html(fixtures.hostile())
    assert "<script" not in source
    assert "\x1b" not in source
    shown = " ".join(fixtures.HOSTILE.replace("\x1b", "\ufffd").split())
    assert Batch(source).text.count(shown) > 20


def test_foreign_text_does_not_break_markdown() -> None:
    body = re.sub(
        r"^(`{3,})\n.*?\n\1$", "", markdown.render_markdown(fixtures.hostile()), flags=re.S | re.M
    )
    assert "<" not in body
    assert "\x1b" not in body
    table = tables.speed_table(fixtures.hostile())
    rows = [
        line for line in body.splitlines() if line in markdown.markdown_table(table).splitlines()
    ]
    assert len([line for line in rows if line.startswith("| ") and line.endswith(" |")]) == 2 + 6
    assert not re.search(r"(?<!\\)[`\[]", body)
    assert not re.search(r"(?<!\\)(?<!\*)\*(?!\*)", body)


def test_a_fence_is_longer_than_any_backticks_within() -> None:
    assert markdown.block("a\n```\nb").splitlines() == ["````", "a", "```", "b", "````"]


@pytest.mark.quick(4)
def test_markdown_tables_have_constant_columns(results: Results) -> None:
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", markdown.render_markdown(results), flags=re.MULTILINE)
    assert len(blocks) >= 6
    for block in blocks:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().splitlines()}
        assert len(widths) == 1


@pytest.mark.quick(3)
def test_both_files_hold_the_derived_numbers_and_sentences(results: Results, source: str) -> None:
    page, plain = Batch(source).text, markdown.render_markdown(results)
    found = verdict(results)
    lines = found.headlines
    cells = [line.judged for line in lines if line.speed]
    cells += [line.interval for line in lines if line.speed and line.parity != "FAIL"]
    for said in (found.badge, found.skipped, found.parity, *cells, *found.cautions, *found.caveats):
        assert " ".join(said.replace("\x1b", "\ufffd").split()) in page
        assert markdown.text(said) in plain
    for pipeline, variant in table.pairs(results):
        item = speed(results, pipeline, variant)
        parts = stages(results, pipeline, variant).values()
        values = [seconds(part) for part in parts]
        values += [seconds(item.median), seconds(item.maximum)] if item else []
        values += [f"{item.ratio.value:.3f}"] if item and item.ratio else []
        assert all(value in page and value in plain for value in values)


def test_the_summary_claims_no_speed_where_quality_fails() -> None:
    rows = rows_of(fixtures.parity_failed())
    [failed] = [row for row in rows if row[:2] == ["boosting", "cpu"]]
    assert failed[2:5] == ["no claim, as quality fails", "FAIL (log_loss)", "–"]
    [sound] = [row for row in rows if row[:2] == ["forest", "cpu"]]
    assert sound[2:4] == ["2.41× faster", "PASS"]
    [lost] = [row for row in rows_of(fixtures.failed()) if row[:2] == ["forest", "cpu"]]
    assert lost[2:] == ["failed: MemoryError: 3 GiB", *["–"] * 4]
    assert rows_of(fixtures.few())[0][4].endswith(" (n=3)")


def rows_of(results: Results) -> list[list[str]]:
    return [[cell.text for cell in row] for row in summary_table(results).rows]


def test_slower_and_failed_are_words_as_well_as_red() -> None:
    assert '<td class="l bad">slower</td>' in html.render_html(fixtures.with_gpu())
    assert '<td class="l bad">FAIL</td>' in html.render_html(fixtures.parity_failed())
    assert '<td class="l bad">failed: MemoryError: 3 GiB</td>' in html.render_html(
        fixtures.failed()
    )


def test_the_page_says_why_no_gpu_was_used() -> None:
    page = Batch(html.render_html(fixtures.normal())).text
    assert page.count(f"No GPU was used: {fixtures.NO_GPU}.") == 2
    assert page.count("cuda") == 3, (
        "it is told once, and stands among the variants by name and device"
    )
    assert f"none used: {fixtures.NO_GPU}" in page


def test_bytes_that_moved_are_summed_over_the_log() -> None:
    rows = tables.movement_table(fixtures.with_gpu()).rows
    texts = [[cell.text for cell in row] for row in rows]
    assert ["forest", "cuda", "8", "0.100", "96.0 MiB", "1.50 MiB"] in texts
    assert ["forest", "cpu", "8", "0.100", "0 B", "0 B"] in texts


def test_an_empty_comparison_is_still_a_page() -> None:
    results = fixtures.normal()
    for pipeline in fixtures.SPECS:
        for variant in ("reference", "cpu"):
            results = fixtures.with_cell(
                results,
                pipeline,
                variant,
                status="failed",
                why="no memory",
                runs=[],
                metrics={},
                placement=[],
                execution_log=[],
            )
    page = Batch(html.render_html(results))
    assert page.open == []
    for said in (tables.NO_PLACEMENT, tables.NO_MOVEMENT, tables.NO_QUALITY, "not comparable"):
        assert said in page.text
        assert markdown.text(said) in markdown.render_markdown(results)


def test_the_same_record_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        render(fuller.everything(), folder)
        pages.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert pages[0] == pages[1]
    assert set(pages[0]) == {"index.html", "report.md", "cells.csv", "machine.json"}


def test_a_row_of_the_speed_table_reads_as_the_record() -> None:
    results = fixtures.with_gpu()
    item = speed(results, "logistic", "cuda")
    assert item is not None
    assert item.ratio is not None
    rows = [[cell.text for cell in row] for row in tables.speed_table(results).rows]
    (cells,) = (cells for cells in rows if cells[:2] == ["logistic", "cuda"])
    assert cells[2] == f"{item.median:.3f}"
    assert cells[5:7] == ["7", f"{item.ratio.value:.3f}"]
    assert cells[8] == "slower"
    assert not any("×" in text for text in cells), "a ratio of times is no speed-up"


def test_a_report_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "index.html").mkdir()
    (tmp_path / "index.html" / "kept").touch()
    with pytest.raises(OutputError, match=r"index\.html"):
        render(fixtures.normal(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    with pytest.raises(OutputError, match="file"):
        render(fixtures.normal(), in_the_way)


def test_the_terminal_table_shows_each_cell_and_obeys_no_markup(results: Results) -> None:
    console = Console(width=400)
    with console.capture() as capture:
        console.print(terminal_table(results))
    shown = capture.get()
    for pipeline, variant in table.pairs(results):
        item = speed(results, pipeline, variant)
        if item:
            assert seconds(item.median) in shown
            assert " ".join(pipeline.replace("\x1b", "\ufffd").split()) in shown
    assert "\x1b[31m" not in shown


def test_the_terminal_shows_the_metric_the_dummy_and_the_cautions_in_80_columns() -> None:
    console = Console(width=80)
    results = fixtures.with_gpu()
    with console.capture() as capture:
        console.print(terminal_report(results))
    lines = capture.get().splitlines()
    assert any(line.split()[:3] == ["dummy", "–", "0.500"] for line in lines)
    assert any(line.split()[:3] == ["logistic", "cuda", "0.812"] for line in lines)
    assert any("roc_auc" in line and "Parity" in line for line in lines)
    assert f"caution: {results.cautions[0]}" in lines
    mixed = fixtures.with_cell(results, "forest", "cpu", metrics={"log_loss": 0.25})
    with console.capture() as capture:
        console.print(terminal_report(mixed))
    assert "log_loss 0.250" in capture.get()


@pytest.mark.parametrize("metric", ["mean_absolute_error", "average_precision"])
def test_a_long_metric_leaves_the_verdicts_whole_in_80_columns(metric: str) -> None:
    results = fixtures.with_gpu()
    cells = [replace(cell, metrics={metric: 0.5}) for cell in results.cells]
    shown = terminal_table(replace(results, cells=cells, baseline={metric: 0.1}))
    console = Console(width=80)
    with console.capture() as capture:
        console.print(shown)
    assert "…" not in capture.get()
    assert all(word in capture.get() for word in [*metric.split("_"), "Verdict", "Parity"])


def test_the_classes_are_named_and_which_is_positive() -> None:
    results = fixtures.normal()
    known = replace(results.task, classes=["early", "late"], positive="late", test="month > 9")
    card = dict(cards.fairness(replace(results, task=known)))
    assert card["Classes"] == "early, late (positive)"
    assert card["Rows to test"] == "month > 9"
    many = replace(known, classes=[f"c{i}" for i in range(45)], positive="")
    assert dict(cards.fairness(replace(results, task=many)))["Classes"].endswith("and 15 more")
    assert "Classes" not in dict(cards.fairness(results))


def test_a_ragged_table_is_refused() -> None:
    with pytest.raises(ValueError, match="rows of"):
        ReportTable("ragged", ("a", "b"), "ll", (row("1"),))
