"""The page of a batch of searches says what its record says."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from pipeline.benchmark.record.results import FilePart, Interval, dumps
from pipeline.benchmark.record.tuning_record import load_tuning
from pipeline.benchmark.report import tuning_page as page
from pipeline.benchmark.report.html import page_html
from pipeline.benchmark.report.html_table import ReportTable
from pipeline.benchmark.report.markdown import page_markdown
from pipeline.errors import DataError
from pipeline.task.scoring import ScoringInfo
from tests.benchmark import fixtures, tunings


def texts(table: ReportTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_the_headline_is_what_the_test_rows_say() -> None:
    record = tunings.normal()
    assert [*page.headlines(record)] == [
        "boosting, cpu: roc_auc 0.730 → 0.739 on the test rows, better "
        "(95 % interval of the difference: +0.00410 to +0.01350)"
    ]
    (search,) = record.searches
    for changed, said in (
        (replace(search, differences={"roc_auc": Interval(low=-0.001, high=0.02)}),
         "no difference shown (95 % interval of the difference: -0.00100 to +0.02000)"),
        (replace(search, tuned=None), "boosting, cpu: not evaluated on the test rows"),
    ):  # fmt: skip
        (line,) = page.headlines(replace(record, searches=[changed]))
        assert line.endswith(said)
    [first, *_] = texts(page.held_out_table(record))
    assert first[2:] == ["roc_auc", "0.73010", "0.73890", "+0.00880", "+0.00410 to +0.01350",
                         "better"]  # fmt: skip


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
    signs = {"roc_auc": 1, "log_loss": -1}
    assert page.improved(name, interval, ScoringInfo(signs=signs)).text == said


def test_how_trials_ended_is_said() -> None:
    search = tunings.failing().searches[0]
    failed = [each.reason for each in search.trials if each.state == "failed"]
    said = f"{len(failed)} failed; all trials ran; {max(failed, key=failed.count)} ("
    assert said in page.ended(search)


def test_the_best_parameters_stand_beside_the_default_and_what_was_searched() -> None:
    record = tunings.normal()
    (search,) = record.searches
    best = search.trial(search.best).params
    rows = {row[0]: row[1:] for row in texts(page.parameter_table(record, search))}
    rate = page._written(best[tunings.PREFIX + "learning_rate"])
    assert rows[tunings.PREFIX + "learning_rate"] == [
        "0.1",
        rate,
        "0.01 to 0.3, logarithmic",
    ]
    assert rows[tunings.PREFIX + "categorical_features"][2] == "from_dtype, None"
    assert f"boosting cpu: {search.edges[0]}" in page_html(page.tuning_page(record))


def test_doubts_are_said() -> None:
    record = replace(tunings.normal(), baseline={"roc_auc": 0.8})
    text = page_html(page.tuning_page(record))
    assert "boosting, cpu is worse than a dummy" in text


def test_many_trials_stay_a_small_page() -> None:
    made = tunings.trials(3_000, tunings.SPACE, failing=7)
    record = tunings.record(tunings.search("boosting", "cpu", made))
    assert len(page_html(page.tuning_page(record)).encode()) < 300_000


def test_the_page_says_how_to_run_what_was_found() -> None:
    record = tunings.normal()
    model = FilePart(file="a b.model/SHA256SUMS", sha256="0" * 64, bytes=9)
    search = replace(record.searches[0], model=model)
    run, predict = page.commands(record, search, Path())
    rate = search.trial(search.best).params[tunings.PREFIX + "learning_rate"]
    first = f" \\\n    --set {tunings.PREFIX}learning_rate={rate}"
    assert f"run flights --pipelines boosting{first}" in run
    assert predict.endswith("pipeline predict 'a b.model' IN OUT")
    assert fixtures.normal().task.name in run
    assert "Boosting(learning_rate=0.037)" in page_html(page.tuning_page(record))


def test_where_the_default_is_best_nothing_is_set_and_no_edge_is_said() -> None:
    record = tunings.normal()
    search = replace(record.searches[0], best=0)
    [run] = page.commands(record, search, Path())
    assert run.endswith("run flights --pipelines boosting")
    text = page_html(page.tuning_page(replace(record, searches=[search])))
    assert "the default parameters are the best of 25 trials" in text
    assert "end of its range" not in text


def test_a_search_without_time_for_a_second_trial_is_said() -> None:
    record = tunings.normal()
    [first, *_] = record.searches[0].trials
    search = replace(record.searches[0], trials=[replace(first, seconds=3.0)], best=0)
    plan = replace(record.protocol, timeout=0.5)
    short = replace(record, searches=[search], protocol=plan)
    [said] = page.short_searches(short)
    assert said.startswith("boosting, cpu: --timeout 0.5 ended before the first trial did")
    assert "about 15 s, enough for 5 trials" in said
    assert [*page.short_searches(replace(short, protocol=record.protocol))] == []
    assert "the default parameters are the only trial" in page_html(page.tuning_page(short))


def test_the_best_pipeline_comes_first_with_how_to_use_it() -> None:
    record = tunings.record(
        tunings.search("forest", "cpu", tunings.trials(2, tunings.SPACE)),
        tunings.search("boosting", "cpu", tunings.trials(25, tunings.SPACE)),
    )
    shown = page.tuning_page(record)
    assert (shown.kind, shown.title) == ("Tuning", record.task.title)
    assert ": 27 trials in " in shown.lead
    use = shown.panels["summary"].pieces[0].value
    assert use.title == "Best pipeline: boosting, cpu"
    assert use.why.startswith(f"{record.protocol.metric} 0.")
    assert use.commands.splitlines()[-1] in re.sub("</?span>", "", page_html(shown))
    assert use.commands in page_markdown(shown)
    loss = replace(record, protocol=replace(record.protocol, smaller_is_better=True))
    assert page.best_search(loss).pipeline == "forest"
    assert page.how_to_use(replace(record, searches=[]), Path()) is None


def test_what_is_no_record_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    with pytest.raises(DataError, match="no such file; create one with `.*-m pipeline tune"):
        load_tuning(path)
    path.write_text('{"schema": "pipeline.results/2"}')
    with pytest.raises(DataError, match=r"not a pipeline\.tuning/1 file"):
        load_tuning(path)


def test_a_record_of_an_older_version_is_read(tmp_path: Path) -> None:
    record = tunings.normal()
    known = msgspec.json.decode(dumps(record))
    known["searches"][0]["trials"][0]["first_look"] = 0.7
    known["searches"][0]["importances"] = {"step__depth": 0.7}
    (tmp_path / "tuning.json").write_bytes(msgspec.json.encode(known))
    assert load_tuning(tmp_path / "tuning.json") == record
