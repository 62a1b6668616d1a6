"""The page of a batch of searches says what its record says, safely, in both forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from sklearn.model_selection import KFold, TimeSeriesSplit

from pipeline.benchmark.report import tuning_figures as figures
from pipeline.benchmark.report import tuning_numbers as numbers
from pipeline.benchmark.report import tuning_tables as tables
from pipeline.benchmark.report.figures import HEIGHT
from pipeline.benchmark.report.tuning_page import parts, render_tuning, tuning_html, tuning_markdown
from pipeline.benchmark.results import Interval
from pipeline.benchmark.run import FilePart
from pipeline.benchmark.tuning_record import TuningRecord
from tests.benchmark import fixtures, tunings
from tests.benchmark.test_browser import CHROMIUM, browse
from tests.benchmark.test_report import Batch

SCRIPT = """
<script>
const size = node => node.getBoundingClientRect();
const wider = box =>
  ({left: box.left - 1, right: box.right + 1, top: box.top - 1, bottom: box.bottom + 1});
const meet = (a, b) =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
let found = 0;
for (const figure of document.querySelectorAll("figure:has(.plot, .parallel)")) {
  const labels = [...figure.querySelectorAll("svg text, .heads li, .feet li, .across")].map(size);
  const drawn = [...figure.querySelectorAll("svg[role] :is(use, .steps, .one, .thread line)")];
  const rest = drawn.map(node => wider(size(node)));
  labels.forEach((label, i) => {
    found += labels.slice(i + 1).filter(other => meet(label, other)).length;
    found += rest.filter(other => meet(label, other)).length;
  });
  document.body.dataset.labels = Number(document.body.dataset.labels || 0) + labels.length;
}
document.body.dataset.found = found;
document.body.dataset.overflow = document.documentElement.scrollWidth - innerWidth;
</script>
"""


@pytest.fixture(scope="module", params=tunings.EVERY, ids=lambda make: make.__name__)
def record(request: pytest.FixtureRequest) -> TuningRecord:
    made: TuningRecord = request.param()
    return made


@pytest.fixture(scope="module")
def source(record: TuningRecord) -> str:
    return tuning_html(record)


def test_tags_are_balanced_ids_unique_and_headings_in_order(source: str) -> None:
    page = Batch(source)
    assert page.open == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert set(" ".join(page.values("aria-labelledby")).split()) <= set(ids)
    levels = [int(tag[1]) for tag, _ in page.tags if re.match("h[1-6]$", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_nothing_is_loaded_and_no_script_runs(source: str) -> None:
    page = Batch(source)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert page.values("src") == []
    beside = {link for link in page.values("href") if not link.startswith("#")}
    assert beside == {"tuning.json", "report.md"}
    assert {link[1:] for link in page.values("href")} - beside <= {
        *page.values("id"), "uning.json", "eport.md",
    }  # fmt: skip
    assert not re.search(r"url\(|@import|https?:", source)
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


def test_every_figure_and_table_is_described(source: str) -> None:
    page = Batch(source)
    count = [tag for tag, _ in page.tags].count
    outer = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
    assert len(outer) == count("figure") == count("figcaption") == count("desc")
    assert count("table") == count("caption") >= 2
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")


def test_the_page_and_the_markdown_have_the_same_sections(
    record: TuningRecord, source: str
) -> None:
    page = Batch(source)
    anchors = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
    assert anchors == [part.anchor for part in parts(record)]
    assert anchors == ["summary", *(f"pipeline-{i + 1}" for i in range(len(anchors) - 3)), "how",
                       "code"]  # fmt: skip
    plain = tuning_markdown(record)
    assert len(re.findall(r"^## ", plain, re.MULTILINE)) == len(anchors)
    for block in re.findall(r"(?:^\|.*\|$\n?)+", plain, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().splitlines()}
        assert len(widths) == 1


@pytest.mark.quick(4)
def test_the_same_record_gives_the_same_bytes(record: TuningRecord, tmp_path: Path) -> None:
    for name in ("one", "two"):
        render_tuning(record, tmp_path / name)
    for file in ("index.html", "report.md"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_foreign_text_is_shown_as_text() -> None:
    source, plain = tuning_html(tunings.hostile()), tuning_markdown(tunings.hostile())
    assert "<script" not in source
    assert "\x1b" not in source + plain
    assert (
        Batch(source).text.count(" ".join(fixtures.HOSTILE.replace("\x1b", "\ufffd").split())) > 15
    )
    body = re.sub(r"^(`{3,})\n.*?\n\1$", "", plain, flags=re.S | re.M)
    assert "<" not in body
    assert not re.search(r"(?<!\\)[`\[]", body)


def test_the_summary_says_what_the_test_rows_say() -> None:
    record = tunings.normal()
    assert [*tables.headlines(record)] == [
        "boosting, cpu: roc_auc 0.730 → 0.739 on the test rows, better"
    ]
    (search,) = record.searches
    unsure = replace(search, differences={"roc_auc": Interval(low=-0.001, high=0.02)})
    (line,) = tables.headlines(replace(record, searches=[unsure]))
    assert line.endswith("no difference shown")
    (line,) = tables.headlines(replace(record, searches=[replace(search, tuned=None)]))
    assert line == "boosting, cpu: not judged on the test rows"


@pytest.mark.parametrize(
    ("name", "interval", "said"),
    [
        ("roc_auc", Interval(low=0.1, high=0.2), "better"),
        ("roc_auc", Interval(low=-0.2, high=-0.1), "worse"),
        ("log_loss", Interval(low=0.1, high=0.2), "worse"),
        ("log_loss", Interval(low=-0.2, high=-0.1), "better"),
        ("log_loss", Interval(low=-0.2, high=0.1), "no difference shown"),
        ("roc_auc", None, "no interval"),
    ],
)
def test_a_difference_is_judged_by_its_interval(name: str, interval: Interval, said: str) -> None:
    assert tables.verdict_of(name, interval).text == said


@pytest.mark.parametrize("by_time", [False, True])
def test_the_interval_over_folds_is_students_corrected_for_shared_rows(by_time: bool) -> None:
    (search,) = tunings.normal().searches
    best, default = numbers.trial(search, search.best), numbers.trial(search, 0)
    assert best is not None
    assert default is not None
    found = numbers.gain(search, by_time=by_time)
    assert found is not None
    assert found.interval is not None
    assert found.value == best.score - default.score
    # scipy's interval of a paired difference has s² / k where ours has s² (1/k + shared), the rows
    # judged by over those learnt from.
    plain = stats.ttest_rel(best.folds, default.folds).confidence_interval(0.95)
    k = len(best.folds)
    ratio = (found.interval.high - found.interval.low) / (plain.high - plain.low)
    cut = TimeSeriesSplit(k) if by_time else KFold(k)
    shared = np.mean([len(test) / len(train) for train, test in cut.split(np.zeros(k * (k + 1)))])
    assert ratio == pytest.approx((1 + k * shared) ** 0.5)


def test_the_best_so_far_only_rises_and_is_what_a_running_maximum_says() -> None:
    for record in (tunings.normal(), tunings.losses()):
        (search,), direction = record.searches, numbers.sign(record)
        scores = [each.score for each in search.trials if each.score is not None]
        running = np.unique(np.maximum.accumulate(direction * np.array(scores)))
        steps = numbers.climb(search, direction)
        assert [direction * step.score for step in steps] == running.tolist()
        assert steps[-1].number == search.best


def test_at_equal_seconds_each_search_has_what_it_knew_by_then() -> None:
    record = tunings.both()
    table = tables.seconds_table(record, record.searches)
    assert table.head == ("Seconds", "cpu", "cuda")
    direction = numbers.sign(record)
    for row in table.rows:
        for cell, search in zip(row[1:], record.searches, strict=True):
            known = [e.score for e in search.trials
                     if e.score is not None and e.seconds <= float(row[0].text) + 1e-3]  # fmt: skip
            best = f"{max(known, key=lambda s: direction * s):.5f}" if known else "–"
            assert cell.text == best


def test_a_value_at_the_edge_is_said_in_its_row() -> None:
    record = tunings.normal()
    table = tables.parameter_table(record, record.searches[0])
    notes = {row[0].text: row[-1].text for row in table.rows}
    assert notes.pop("learning_rate") == "at the edge: widen it"
    assert set(notes.values()) == {""}
    assert [*tables.remarks(record, record.searches[0])] == [], "the table says it"
    other = replace(record.searches[0], edges=["something is at an end"])
    assert tables.parameter_table(record, other).head[-1] == "Searched"
    assert [*tables.remarks(record, other)] == ["something is at an end"]


def test_a_parameter_of_several_parts_has_a_row_and_an_axis_for_each() -> None:
    rate, leaves, *rest = tunings.SPACE
    space = [rate, replace(leaves, high=32), replace(leaves, low=33, parts=(1,)), *rest]
    space = [each if each.name == leaves.name else replace(each, parts=(0, 1)) for each in space]
    (search,) = tunings.normal().searches
    found = [replace(each, part=int(each.params[leaves.name] > 32)) for each in search.trials]
    best = numbers.trial(search, search.best)
    assert best is not None
    value = best.params[leaves.name]
    part = int(value > 32)
    said = f"The best {leaves.name}, {value}, lies at the high end of its range in part {part}"
    made = replace(search, trials=found, edges=[said])
    record = replace(tunings.normal(), searches=[made], spaces={"boosting": space})
    table = tables.parameter_table(record, made)
    rows = {cells[0].text: [cell.text for cell in cells[2:]] for cells in table.rows}
    names = ["max_leaf_nodes [0]", "max_leaf_nodes [1]"]
    assert rows[names[part]][0] == str(value)
    assert rows[names[part]][2] == "at the edge: widen it"
    assert rows[names[1 - part]][0] == "not used"
    assert rows[names[1 - part]][2] == ""
    assert [rows[name][1] for name in names] == ["4 to 32, logarithmic", "33 to 256, logarithmic"]
    assert table.note.startswith("In brackets: the parts")
    assert tables.parameter_table(tunings.normal(), search).note == ""
    assert [*tables.remarks(record, made)] == []
    trials = tables.trials_table(record, made)
    at = [trials.head.index(name) for name in names]
    assert all((row[at[0]].text == "–") != (row[at[1]].text == "–") for row in trials.rows)
    parallel = figures.parallel_figure(record, made)
    assert parallel is not None
    assert set(names) <= {axis.name for axis in parallel.axes}
    told = parallel.description.partition("The best trial")[2]
    assert f"{names[part]} {value}" in told
    assert names[1 - part] not in told


def test_reasons_of_stopped_trials_are_told_by_how_far_they_came() -> None:
    (search,) = tunings.normal().searches
    many = [replace(e, reason=f"after fold 1: {e.number}% chance") if e.state == "pruned" else e
            for e in search.trials]  # fmt: skip
    table = tables.reasons_table(replace(search, trials=many))
    assert [row[1].text for row in table.rows] == ["after fold 1"]
    assert table.rows[0][2].text == str(numbers.count(search, "pruned"))


def test_a_stopped_trial_is_never_the_best() -> None:
    """Optuna gives a stopped trial the value of its last fold."""
    (search,) = tunings.normal().searches
    stopped = [replace(e, score=0.99) if e.state == "pruned" else e for e in search.trials]
    again = replace(search, trials=stopped)
    assert numbers.climb(again, 1) == numbers.climb(search, 1)
    assert numbers.complete(again) == numbers.complete(search)


def test_a_score_no_better_than_the_dummys_is_doubted() -> None:
    record = replace(tunings.normal(), baseline={"roc_auc": 0.8})
    assert "boosting, cpu is worse than a dummy" in Batch(tuning_html(record)).text


def test_every_trial_is_in_the_history_by_its_shape() -> None:
    record = tunings.failing()
    search = record.searches[0]
    plot = figures.history_figure(record, search)
    assert plot is not None
    shapes = [spot.shape for spot in plot.spots]
    assert len(shapes) == len(search.trials)
    assert shapes.count("failed") == numbers.count(search, "failed") > 0
    assert shapes.count("stopped") == numbers.count(search, "pruned") > 0
    assert shapes.count("best") == 1
    for spot in plot.spots:
        assert 0 <= spot.x <= 100
        assert (spot.y <= HEIGHT) or (spot.y < plot.height and spot.shape != "best")
        assert spot.shape != "failed" or spot.y > HEIGHT


def test_one_bad_score_does_not_flatten_the_others() -> None:
    scores = [0.70, 0.71, 0.72, 0.73, 0.74]
    axis = figures.score_axis([*scores, 0.1], [0.71], 1)
    assert 0.6 < axis.low <= 0.70
    assert 0.74 <= axis.high < 0.76
    loss = figures.score_axis([*scores, 9.0], [0.71], -1)
    assert loss.high < 0.8
    assert figures.score_axis([*scores, 0.1], [0.1], 1).low <= 0.1, "what is asked for has a place"


@pytest.mark.parametrize(
    "values", [[0.5], [0.0, 0.0], [1e-9, 2e-9], [-3.2e6, -3.1e6], [0.99999, 1]]
)
def test_ticks_of_scores_are_few_apart_and_within(values: list[float]) -> None:
    axis = figures.score_axis(values, [], 1)
    ticks = axis.ticks(6, down=True)
    assert axis.low <= min(values)
    assert max(values) <= axis.high
    assert 2 <= len(ticks) <= 6
    assert len({tick.label for tick in ticks}) == len(ticks)
    assert (ticks[0].at, ticks[-1].at) == (HEIGHT, pytest.approx(0, abs=0.2))


def test_no_two_labels_of_a_figure_stand_in_one_place(record: TuningRecord) -> None:
    for search in record.searches:
        plots = figures.history_figure(record, search), figures.seconds_figure(record, [search])
        for plot in plots:
            if plot is None:
                continue
            across, down = (sorted(t.at for t in ticks) for ticks in (plot.ticks, plot.down))
            # Of the 280 pixels that a phone leaves; a label has up to 9 signs of 7 pixels.
            assert all((b - a) * 2.8 > 30 for a, b in pairwise(across))
            assert all(b - a > 18 for a, b in pairwise(down))
        if parallel := figures.parallel_figure(record, search):
            at = [axis.at for axis in parallel.axes]
            assert at == sorted(set(at))
            assert len(at) <= figures.MOST_AXES + 1
            assert at[-1] == 100


def test_values_stand_where_their_axis_says() -> None:
    rate, leaves, *_, choice = tunings.SPACE
    assert figures.height(rate, 0.01) == HEIGHT
    assert figures.height(rate, 0.3) == 0
    assert figures.height(rate, (0.01 * 0.3) ** 0.5) == HEIGHT / 2, "a logarithmic axis"
    assert figures.height(leaves, 32) == HEIGHT / 2
    assert figures.height(choice, "from_dtype") == HEIGHT
    assert figures.height(choice, None) == 0
    assert figures.height(choice, "another") is None
    assert figures.height(rate, None) is None, "a trial without the parameter"


def test_parallel_coordinates_have_the_most_important_parameters() -> None:
    record = tunings.wide()
    (search,) = record.searches
    parallel = figures.parallel_figure(record, search)
    assert parallel is not None
    assert len(parallel.axes) == 9
    assert len(parallel.left_out) == 4
    assert {each.best for each in parallel.threads[:-1]} == {False}
    assert parallel.threads[-1].best, "drawn last, over the others"
    scored = [each for each in parallel.threads if each.shade]
    assert len(scored) == numbers.count(search, "complete")
    assert {each.shade for each in scored} == {1, 2, 3, 4, 5}


def test_many_trials_stay_a_small_page() -> None:
    made = tunings.trials(3_000, tunings.SPACE, failing=7)
    record = tunings.record(tunings.search("boosting", "cpu", made))
    source = tuning_html(record)
    assert len(source.encode()) < 500_000
    best = record.searches[0].best
    assert f"trial {best}: " in source
    assert "more are in tuning.json" in Batch(source).text


def test_the_page_says_how_to_run_what_was_found() -> None:
    record = tunings.normal()
    (search,) = record.searches
    model = FilePart(file="a b.model/SHA256SUMS", sha256="0" * 64, bytes=9)
    run, predict = tables.commands(record, replace(search, model=model))
    best = numbers.trial(search, search.best)
    assert best is not None
    rate = best.params[tunings.PREFIX + "learning_rate"]
    assert f"pipeline run flights --pipelines boosting --set {tunings.PREFIX}learning_rate" in run
    assert str(rate) in run
    assert predict.endswith("pipeline predict 'a b.model' IN OUT")


def test_what_is_missing_is_said() -> None:
    text = Batch(tuning_html(tunings.failing())).text
    assert "forest, cpu: failed, DataError: none of 5 trials was completed" in text
    assert "MemoryError: Unable to allocate 3.2 GiB" in text
    assert "there is no complete trial" in text
    assert "cuda: the NVIDIA driver is not installed" in text
    assert "one trial says nothing of parameters" in Batch(tuning_html(tunings.single())).text


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="not installed: chromium")
@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("make", [tunings.wide, tunings.both, tunings.hostile])
def test_in_a_browser_nothing_overlaps_and_nothing_is_cut_off(
    make: Callable[[], TuningRecord], width: int, tmp_path: Path
) -> None:
    render_tuning(make(), tmp_path)
    page = tmp_path / "index.html"
    text = page.read_text(encoding="utf-8")
    assert "CONSOLE" not in browse(tmp_path, width).stderr
    text = text.replace("default-src 'none'", "script-src 'unsafe-inline'")
    page.write_text(text.replace("</body>", f"{SCRIPT}</body>"), encoding="utf-8")
    shown = browse(tmp_path, width).stdout
    assert 'data-overflow="0"' in shown
    assert 'data-found="0"' in shown
    assert int(re.findall(r'data-labels="(\d+)"', shown)[0]) > 20
