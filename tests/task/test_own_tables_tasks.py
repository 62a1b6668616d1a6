"""From a table of one's own to a task, its models and its predictions: what is said, and kept."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from shlex import quote
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
from sklearn.metrics import r2_score

from pipeline.benchmark.run import measure
from pipeline.data import table_format
from pipeline.errors import ConfigError, DataError
from pipeline.task.own.own_program import format_code
from pipeline.task.task import Job
from tests.names import one_in
from tests.task.nasty import (
    ROWS,
    Own,
    call,
    predicted,
    same,
    take,
    workspace,
    written,
)

__all__ = ["workspace"]

ROOT = Path(__file__).parents[2]
draw = np.random.default_rng(4)
X = draw.normal(size=ROWS).round(3)
NOISE = draw.normal(size=ROWS).round(3)
TOWN = np.array(["Bern", "Thun", "Biel"])[draw.integers(0, 3, ROWS)]
KIND = np.select([X > 0.4, X > -0.4], [2, 1], 0)
"""Follows from x."""


def simple(**more: object) -> dict[str, object]:
    """Return a table whose y follows from x."""
    return {"x": X, "town": TOWN, **more, "y": (X * 3 + NOISE / 5).round(3)}


CLASSES = [
    ("three species", ["setosa", "versicolor", "virginica"]),
    ("umlauts and blanks", ["sehr gut", "mäßig", "ungenügend"]),
    ("numbers that start at 3", ["3", "5", "8"]),
    ("letters and digits", ["A1", "B 2", "c/3"]),
    ("shouts", ["yes!", "no!", "maybe?"]),
]
PAIRS = [
    ("good and bad", ["good", "bad"]), ("ja und nein", ["nein", "ja"]),
    ("true and false", ["False", "True"]), ("1 and 2", ["1", "2"]), ("0 and 1", ["0", "1"]),
    ("survived", ["died", "survived"]), ("N and Y", ["N", "Y"]),
]  # fmt: skip


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "names", one_in(3, [case[1] for case in CLASSES]), ids=[c[0] for c in CLASSES]
)
def test_a1_classes_keep_their_names_to_the_predictions(workspace, names) -> None:
    truth = np.array(names)[KIND]
    own = take(written({"x": X, "z": NOISE, "kind": truth}), "kind")
    assert own.task.kind == "multiclass"
    assert all(name in own.said for name in names)
    assert [str(each) for each in own.fitted().classes_] == sorted(names)
    found = predicted(own)
    assert {f"probability_{name}" for name in names} <= set(found.columns)
    best = found[[f"probability_{name}" for name in names]].idxmax(axis=1)
    assert np.mean(best.str.removeprefix("probability_") == truth) > 0.9
    kept = pd.read_parquet("ran/boosting.predictions.parquet")
    assert set(kept["truth"].astype(str)) == set(names)
    assert set(kept["prediction"].astype(str)) <= set(names)


@pytest.mark.parametrize("names", one_in(3, [case[1] for case in PAIRS]), ids=[c[0] for c in PAIRS])
def test_a1_two_classes_keep_their_names_and_one_is_positive(workspace, names) -> None:
    truth = np.array(names)[(X > 0.3).astype(int)]
    file = written({"x": X, "z": NOISE, "state": truth})
    own = take(file, "state")
    assert own.task.kind == "binary"
    for name in names:
        assert name in own.said
    for name in names:
        chosen = take(file, "state", name=f"other_{names.index(name)}", positive=name)
        place = names[1] if chosen.task.positive is None else str(chosen.task.positive)
        assert place == name
        model, (rows, answers) = chosen.fitted(), chosen.part(train=False)
        column = [str(each) for each in model.classes_].index(name)
        score = model.predict_proba(rows)[:, column]
        is_it = np.asarray(answers).astype(str) == name
        assert score[is_it].mean() > score[~is_it].mean() + 0.5


def test_a7_a_column_that_tells_the_answer_is_named(workspace) -> None:
    answer = np.where(X + NOISE / 2 > 0, "late", "early")
    for number, leak in enumerate([answer == "late", np.where(answer == "late", "L", "E")]):
        own = take(written({"x": X, "status": leak, "y": answer}), name=f"leak_{number}")
        assert re.search(r"'status'.* alone tells? .*leave it out", own.said), own.said


def test_a7_a_number_that_is_the_answer_in_another_unit_is_named(workspace) -> None:
    table = simple()
    own = take(written({"y in cents": np.asarray(table["y"]) * 100, **table}))
    assert re.search(r"'y in cents'.* alone tells? .*leave it out", own.said), own.said


def test_a7_rows_of_one_person_are_told(workspace) -> None:
    person = np.repeat(np.arange(ROWS // 10), 10)
    level = draw.normal(size=ROWS // 10)[person]
    table = {"patient": [f"P{p:03d}" for p in person], "x": X, "y": (level + NOISE / 9).round(3)}
    own = take(written(table))
    assert "patient" in own.said
    assert re.search(r"(?i)group", own.said), own.said
    parted = take(own.file, name="parted", split="groups", by="patient")
    (_, rule), whole = parted.task.split(None), parted.stored
    train, test = (pd.read_parquet(parted.task.data(Path("data")), filters=list(part))
                   for part in (rule.train, rule.test))  # fmt: skip
    assert not set(train["patient"]) & set(test["patient"])
    assert len(train) + len(test) == len(whole)
    assert 0.15 < len(test) / len(whole) < 0.35


def test_a7_rows_in_order_of_time_are_told(workspace) -> None:
    days = pd.date_range("2019-01-01", periods=ROWS, freq="D")
    walk = np.cumsum(NOISE).round(3)
    file = written({"day": days.strftime("%d.%m.%Y"), "x": X, "y": walk})
    own = take(file)
    assert re.search(r"(?i)\btime\b", own.said), own.said
    parted = take(file, name="parted", split="time", by="day", cut="2019-10-01")
    _, rule = parted.task.split(None)
    train, test = (pd.read_parquet(parted.task.data(Path("data")), filters=list(part))
                   for part in (rule.train, rule.test))  # fmt: skip
    assert train["day"].max() < pd.Timestamp("2019-10-01") <= test["day"].min()


@pytest.mark.parametrize(("form", "cut"), [
    ("%d.%m.%Y", "03.10.2019"), ("%m/%d/%Y", "10/03/2019"), ("%d %b %Y", "03 Oct 2019"),
    ("%d.%m.%Y", "2019-10-03"), ("%Y-%m-%d", "2019-10-03"),
])  # fmt: skip
def test_a7_a_cut_is_read_as_its_column_is(workspace, form, cut) -> None:
    days = pd.date_range("2019-01-01", periods=ROWS, freq="D")
    parted = take(written(simple(day=days.strftime(form))), split="time", by="day", cut=cut)
    late = parted.stored["fold"] == 3
    assert parted.stored["day"][late].min() == pd.Timestamp("2019-10-03")
    assert late.sum() == (days >= "2019-10-03").sum()


def test_a7_rows_without_a_time_or_a_group_are_counted(workspace) -> None:
    group = ["" if i % 8 == 0 else f"g{i % 9}" for i in range(ROWS)]
    own = take(written(simple(group=group)), split="groups", by="group")
    assert f"the {ROWS // 8} without 'group' are left out" in own.said


@pytest.mark.parametrize(("weight", "told"), [
    (["1.0", "", "1.0", "1.0"], "row 1 holds no number"), (["1", "1", "", "1"], "row 2 holds no"),
    (["2", "?", "1", "3"], "row 1 holds no number"), (["0", "0", "0", "0"], "is 0 in all rows"),
    (["1", "1", "-2", "1"], "row 2 holds -2"), (["a", "b", "a", "b"], "takes numbers"),
], ids=["gap", "gap of one", "mark", "zeros", "negative", "texts"])  # fmt: skip
def test_weights_that_are_none_are_refused(workspace, weight, told) -> None:
    with pytest.raises(DataError, match=told):
        take(written(simple(w=weight * (ROWS // 4))), weight="w")


@pytest.mark.parametrize("start", [2**53, 2**60, 2**63])
def test_large_codes_are_classes_and_columns(workspace, start) -> None:
    codes = [start + int(each) for each in KIND]
    own = take(written({"x": X, "code": codes, "y": codes}))
    assert own.task.kind == "multiclass"
    assert sorted(map(int, own.made.target.classes)) == [start, start + 1, start + 2]


@pytest.mark.parametrize("times", [2, 5])
def test_a7_rows_that_are_there_many_times_are_told(workspace, times) -> None:
    part = pd.DataFrame({"x": X, "z": NOISE, "y": draw.normal(size=ROWS).round(4)})
    file = Path("twice.csv")
    pd.concat([part] * times).sample(frac=1, random_state=0).to_csv(file, index=False)
    own = take(file)
    assert re.search(
        r"(?i)(twice|duplicate|more than once|several times|repeat|same row)", own.said
    )


def test_a7_what_cannot_be_learnt_is_worse_than_a_dummy_and_told(workspace) -> None:
    own = take(written({"x": X, "z": NOISE, "y": draw.normal(size=ROWS)}))
    done = call("run", own.made.name, "--device", "cpu", "--out", "ran")
    assert done.code == 0, done.err
    told = done.out + done.err
    assert re.search(r"(?i)(worse|no better) than", told), told
    assert "r2" in told


def test_a7_a_perfect_score_is_told(workspace) -> None:
    own = take(written({"x": X, "z": NOISE, "y": np.where(X > 0, "up", "down")}))
    done = call("run", own.made.name, "--device", "cpu", "--out", "ran")
    assert re.search(r"(?i)perfect|too good", own.said + done.out + done.err)


def test_a9_counts_are_classes_or_numbers_as_asked(workspace) -> None:
    counts = draw.poisson(np.exp(X / 3 + 1))
    file = written({"x": X, "z": NOISE, "visits": counts})
    own = take(file, "visits", kind="regression")
    assert own.task.kind == "regression"
    assert len(own.stored) == ROWS
    guessed = take(file, "visits", name="guessed")
    assert guessed.task.kind == "regression" or "kind" in guessed.said.lower()


def test_a9_codes_are_classes_if_asked(workspace) -> None:
    codes = 1000 + 7 * (np.arange(1640) % 41)
    file = written({"x": codes + draw.normal(size=1640) / 9, "code": codes})
    own = take(file, "code", kind="multiclass")
    assert own.task.kind == "multiclass"
    assert list(own.fitted().classes_) == sorted(set(codes))
    guessed = take(file, "code", name="guessed")
    assert guessed.task.kind == "multiclass" or "kind" in guessed.said.lower()


def frame() -> pd.DataFrame:
    table = pd.DataFrame(simple())
    table["day"] = pd.date_range("2021-03-01", periods=ROWS, freq="9h").astype("datetime64[ms]")
    return table


def gz(path: Path) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        frame().to_csv(file, index=False)
    return path


def packed(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("table.csv", frame().to_csv(index=False))
    return path


def saved(path: Path, how: str, **options: object) -> Path:
    getattr(frame(), how)(path, **options)
    return path


FORMS = {
    "own.csv": lambda p: saved(p, "to_csv", index=False),
    "own.tsv": lambda p: saved(p, "to_csv", index=False, sep="\t"),
    "own.txt": lambda p: saved(p, "to_csv", index=False, sep="|"),
    "own.csv.gz": gz,
    "own.jsonl": lambda p: saved(p, "to_json", orient="records", lines=True, date_format="iso"),
    "own.ndjson": lambda p: saved(p, "to_json", orient="records", lines=True, date_format="iso"),
    "own.parquet": lambda p: saved(p, "to_parquet"),
    "own.feather": lambda p: (pyarrow.feather.write_feather(frame(), p), p)[1],
    "own.arrow": lambda p: (pyarrow.feather.write_feather(frame(), p, "uncompressed"), p)[1],
    "utf16.csv": lambda p: saved(p, "to_csv", index=False, encoding="utf-16"),
    "utf16.tsv": lambda p: saved(p, "to_csv", index=False, sep="\t", encoding="utf-16"),
    "crlf.csv": lambda p: saved(p, "to_csv", index=False, lineterminator="\r\n"),
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", FORMS)
def test_a11_forms_of_files(workspace, name) -> None:
    own = take(FORMS[name](Path(name)))
    for column in frame():
        same(own.stored[column], frame()[column])
    same(own.read["day"], frame()["day"])
    assert own.score() > 0.9


@pytest.mark.parametrize(
    "name", one_in(5, ["own.jsonl", "own.csv.gz", "own.feather", "utf16.csv", "own.txt"])
)
def test_a11_forms_of_files_are_predicted_as_they_came(workspace, name) -> None:
    assert len(predicted(take(FORMS[name](Path(name))))) == ROWS


@pytest.mark.parametrize("above", [
    ["Sales of 2023"], ["Report;;", "", "made on 3.4.2023"], ["# a comment", "# another"],
], ids=["title", "title, blank, date", "comments"])  # fmt: skip
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a11_lines_above_the_names_are_left_out_and_told(workspace, above, delimiter) -> None:
    own = take(written(simple(), above=above, delimiter=delimiter))
    assert list(own.read.columns)[:2] == ["x", "town"]
    same(own.read["x"], X)
    assert len(own.stored) == ROWS
    assert re.search(r"(?i)line", own.said)


BINARY = {
    "own.xlsx": (b"PK\x03\x04" + b"\0" * 40 + b"xl/workbook.xml", "Excel"),
    "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 90, "Excel"),
    "page.html": (b"<!DOCTYPE html><html><table><tr><td>1</td></tr></table></html>", "HTML"),
    "named.csv": (b"PK\x03\x04" + b"\0" * 40 + b"xl/workbook.xml", "Excel|zip"),
    "doc.pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(256)), "PDF|pdf|CSV"),
    "img.png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "picture|CSV"),
    "db.sqlite": (b"SQLite format 3\0" + bytes(range(256)), "SQL|CSV"),
}


@pytest.mark.parametrize("name", [*BINARY, "own.zip"])
def test_a11_what_is_no_table_is_refused_in_one_readable_sentence(workspace, name) -> None:
    data, word = BINARY.get(name, (b"", "zip"))
    path = packed(Path(name)) if name == "own.zip" else Path(name)
    if data:
        path.write_bytes(data)
    with pytest.raises(DataError, match=word) as error:
        take(path)
    assert str(error.value).isprintable()
    assert name in str(error.value)
    assert re.search("CSV|gzip|pandas", str(error.value))  # a way out


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", ["own", "flights", "class", "2024 sales (final)", "Größen"])
def test_a14_a_file_of_any_name_and_a_second_time(workspace, name) -> None:
    own = take(written(simple(), name=f"{name}.csv"))
    program = Path("tasks", f"{own.made.name}.py")
    before = program.read_text()
    with pytest.raises(ConfigError, match="(?i)name") as error:
        take(own.file)
    assert "--name" in str(error.value) or "name=" in str(error.value)
    assert program.read_text() == before
    assert take(own.file, name="second").score() > 0.9


@pytest.mark.quick(2)
@pytest.mark.parametrize("out", ["p.csv", "p.CSV", "p.parquet", "p.tsv", "p"])
def test_a15_predictions_are_in_the_form_that_their_name_says(workspace, out) -> None:
    own = take(written(simple()))
    if out in ("p.CSV", "p.tsv", "p"):
        call("run", own.made.name, "--device", "cpu", "--pipelines", "boosting", "--out", "ran")
        done = call("predict", "ran/boosting.model", own.file, out, "--device", "cpu")
        head = Path(out).read_bytes()[:4] if Path(out).exists() else b""
        assert (head == b"PAR1") == (out == "p") or done.code != 0
        return
    found = predicted(own, out)
    assert len(found) == ROWS
    assert np.corrcoef(found["prediction"], np.asarray(simple()["y"]))[0, 1] > 0.95


def test_a15_a_prediction_is_found_again_by_its_row(workspace) -> None:
    own = take(written(simple(number=[f"K{i:04d}" for i in range(ROWS)])))
    found = predicted(own)
    assert {"row", "row_id", "number"} & set(found.columns)


SCRIPT = """
import pipeline
made = pipeline.new_task("own.csv", target="y")
print(made)
{guard}found = pipeline.report(made.name, device="cpu", repeats=3)
"""


def script(text: str) -> subprocess.CompletedProcess[str]:
    Path("script.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-W", "ignore", "script.py"], capture_output=True, text=True, timeout=300,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a16_a_script_without_its_main_guard_is_told_so_once(workspace) -> None:
    written(simple())
    done = script(SCRIPT.format(guard=""))
    told = done.stdout + done.stderr
    assert told.count("Traceback") <= 1, told
    assert "__main__" in told or Path("reports/own/index.html").exists()


@pytest.mark.slow
def test_a17_a_report_of_a_script_says_how_to_make_it_again(workspace) -> None:
    written(simple())
    done = script(SCRIPT.format(guard='if __name__ == "__main__":\n    '))
    assert done.returncode == 0, done.stderr
    page = Path("reports/own/report.md").read_text()
    assert "script.py" in page or "python -m pipeline report own" in page or "TASK=own" in page
    assert "baseline" in page.lower() or "dummy" in page.lower()


def test_a18_what_a_notebook_shows_is_a_page(workspace) -> None:
    own = take(written(simple()))
    model = own.fitted()
    for shown in (own.made, model.execution_log_, model.plan_):
        text = shown._repr_html_()
        assert "<" in text
        assert "Struct(" not in text
    assert "x" in own.made._repr_html_()


@pytest.mark.slow
def test_a19_any_name_of_a_target_by_make(workspace) -> None:
    name = """it's "a" $USER back`tick` semi;colon 50 %"""
    file = written({"x": X, "z": NOISE, name: (X * 2 + NOISE / 9).round(3)})
    given = f"{quote(str(file))} {quote(name)}".replace("$", "$$")
    done = subprocess.run(
        ["make", "-f", str(ROOT / "Makefile"), "-s", "new-task",
         f"PYTHON={sys.executable}", f"ARGS={given}"],
        env={"PYTHONPATH": f"{workspace}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Own(file, SimpleNamespace(name="own")).task.target == name


def test_a24_predict_says_what_is_missing_and_which_models_there_are(workspace) -> None:
    own = take(written(simple()))
    assert call("run", own.made.name, "--device", "cpu").code == 0
    for words in ((), ("runs", "own.csv", "p.csv"), ("runs/own", "own.csv", "p.csv")):
        done = call("predict", *words)
        told = done.err + done.out
        assert done.code != 0
        assert "boosting.model" in told, (words, told)
        assert "Traceback" not in told
    assert "IN, OUT" in call("predict", "runs/own/boosting.model").err


def test_a_task_of_ones_own_is_listed_with_its_rows(workspace) -> None:
    take(written(simple()))
    assert re.search(rf"own +regression +{ROWS} rows", call("list").out)
    Path("data/own/own.parquet").unlink()
    assert re.search(r"own +regression +\? rows", call("list").out)


def typed(kind: str) -> object:
    """Return a table with a column of a type that few tables have; it tells y."""
    import polars
    import pyarrow as pa

    table = pd.DataFrame({"x": X, "y": (TOWN == "Bern") * 9 + X})
    if kind in ("Enum", "Categorical"):
        of = polars.Enum(sorted({*TOWN})) if kind == "Enum" else polars.Categorical
        return polars.from_pandas(table).with_columns(odd=polars.Series(TOWN, dtype=of))
    if kind == "view":
        return pa.Table.from_pandas(table).append_column("odd", pa.array(TOWN, pa.string_view()))
    if kind in ("codes", "days", "sparse"):
        codes = pd.Series((TOWN == "Bern") * 1)
        days = pd.to_datetime("2021-03-01") + pd.to_timedelta(codes * 40, "D")
        odd = {"codes": codes.astype("category"), "days": days.astype("category")}
        return table.assign(odd=odd.get(kind, codes.astype(pd.SparseDtype("int64", 0))))
    month = pd.PeriodIndex(np.where(TOWN == "Bern", "2021-03", "2022-04"), freq="M")
    return table.assign(odd=month if kind == "period" else pd.cut((TOWN == "Bern") * 1.0, 2))


@pytest.mark.quick(7)
@pytest.mark.parametrize(
    "kind",
    ["Enum", "Categorical", "view", "period", "interval", "codes", "days", "sparse"],
)
def test_a_column_of_any_type_of_a_script_is_read(workspace, kind) -> None:
    own = take(typed(kind), name="mine")
    assert "odd" in own.task.columns
    assert own.score() > 0.9


@pytest.mark.parametrize(
    ("lines", "way"),
    [
        ([f"{x},{t},{n}" for x, t, n in zip(X, TOWN, NOISE, strict=True)], "a line of names above"),
        (["x::town::y", *(f"{x}::{t}::1" for x, t in zip(X, TOWN, strict=True))], "a delimiter"),
    ],
    ids=["no names", "colons"],
)
def test_a11_a_file_whose_names_are_not_found_says_why(workspace, lines, way) -> None:
    Path("own.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ConfigError, match=rf"own\.csv: unknown column 'y'.*{way}"):
        take("own.csv")


@pytest.mark.parametrize("width", [4, 7])
def test_a25_a_target_of_numbers_with_zeros_before_them_is_a_number_if_asked(
    workspace, width
) -> None:
    numbers = (X * 90 + 400).astype(int)
    file = written({"x": X, "z": NOISE, "y": [f"{v:0{width}d}" for v in numbers]})
    with pytest.raises(DataError, match="--kind regression"):
        take(file)
    own = take(file, kind="regression")
    same(own.stored["y"], numbers.astype(float))


@pytest.mark.parametrize("word", ["None", "NA", "n/a"])
def test_a_class_that_may_stand_for_no_value_is_asked_about(workspace, word) -> None:
    file = written({"x": X, "z": NOISE, "kind": np.array([word, "Mild", "Severe"])[KIND]})
    rows = int((KIND == 0).sum())
    said = (
        rf"'kind', the target, holds '{word}' \({rows} cells\).*--keep {word} .*--missing {word} "
    )
    with pytest.raises(DataError, match=said):
        take(file, "kind")
    assert list(take(file, "kind", keep=[word], name="kept").made.target.classes) == sorted(
        [word, "Mild", "Severe"]
    )
    assert take(file, "kind", missing=[word], name="lost").made.rows == ROWS - rows


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"delimiter": ";"}, "a.csv and b.csv are parted by ',' and by ';'"),
        ({"comma": True}, "a.csv and b.csv write the decimals of 'x' with '.' and with ','"),
        ({}, ""),
    ],
)
def test_files_of_a_folder_are_written_in_one_way(workspace, second, said) -> None:
    Path("all").mkdir()
    written(simple(), name="all/a.csv")
    cells = [str(each).replace(".", ",") for each in X] if second.pop("comma", False) else X
    written({**simple(), "x": cells}, name="all/b.csv", **second)
    if said:
        with pytest.raises(DataError, match=re.escape(said)):
            take(Path("all"))
    else:
        assert take(Path("all")).made.rows == 2 * ROWS


def test_a_task_is_made_anew_if_asked_and_a_dry_run_writes_nothing(workspace) -> None:
    file = written(simple())
    there = sorted(Path().rglob("*"))
    dry = take(file, dry_run=True).said
    assert "a dry run: nothing is written" in dry
    assert sorted(Path().rglob("*")) == there
    task: Path = take(file).made.task
    task.write_text(task.read_text() + "# mine\n")
    with pytest.raises(ConfigError, match=r"is there already; .*--name own_2; --force writes over"):
        take(file, ignore=["town"])
    assert "town" not in "".join(take(file, ignore=["town"], dry_run=True).made.columns.used)
    assert "# mine" in task.read_text()
    again = take(file, ignore=["town"], force=True)
    assert again.task.columns == ["x"]
    assert "# mine" not in task.read_text()
    assert "town" in again.stored  # kept beside the features, as before
    Path("tasks/others.py").write_text("TASK = None\n")
    with pytest.raises(ConfigError, match=r"--name others_2$"):
        take(file, name="others", force=True)


@pytest.mark.parametrize(
    ("target", "pipeline_name"), [("y", "linear"), ("kind", "linear"), ("kind", "boosting")]
)
def test_few_rows_are_judged_on_in_folds_by_models_of_the_others(
    workspace, target, pipeline_name
) -> None:
    rows = 60
    table = {"x": X, "kind": np.where(X + NOISE / 4 > 0, "yes", "no"), "y": simple()["y"]}
    table = {n: np.asarray(v)[:rows] for n, v in table.items() if n in ("x", target)}
    own = take(written(table), target)
    assert f"judged on: {rows} rows, in 4 folds, each by a model of the others" in own.said
    job = Job(own.made.name, pipeline_name, "cpu", own.task.data(Path("data")))
    found = measure.measure_once(own.task, own.task.pipeline(pipeline_name, 0), job)

    data = own.stored  # plain scikit-learn, by the folds that are kept
    wanted = pd.Series(index=data.index, dtype=float)
    for fold in range(4):
        part = data["fold"] == fold
        plain = own.task.pipeline(pipeline_name, 0)
        y = data[target] if target == "y" else (data[target] == "yes").astype(int)
        plain.fit(data.loc[~part, ["x"]], y[~part])
        X_part = data.loc[part, ["x"]]
        said = plain.predict(X_part) if target == "y" else plain.predict_proba(X_part)[:, 1]
        wanted[part] = said
    np.testing.assert_allclose(found.predicted, wanted, rtol=1e-5)
    assert found.rows_train == rows
    np.testing.assert_array_equal(
        found.y_true, data[target] if target == "y" else data[target] == "yes"
    )


@pytest.mark.slow
def test_the_run_of_few_rows_keeps_a_prediction_of_each(workspace) -> None:
    file = written({name: np.asarray(values)[:60] for name, values in simple().items()})
    own = take(file)
    done = call("run", own.made.name, "--device", "cpu", "--pipelines", "linear", "--out", "ran")
    assert done.code == 0, done.err
    kept = pd.read_parquet("ran/linear.predictions.parquet")
    assert kept["row"].tolist() == list(range(60))
    assert r2_score(kept["truth"], kept["prediction"]) > 0.9


def test_of_many_columns_a_few_are_listed(workspace) -> None:
    rows, names = 120, [f"x{i}" for i in range(60)]
    columns: dict[str, object] = {
        name: [f"{v:.2f}".replace(".", ",") for v in draw.normal(size=rows)] for name in names
    }
    columns |= {f"empty {i}": [""] * rows for i in range(30)}
    own = take(written({**columns, "y": X[:rows]}, delimiter=";"))
    lines = list(own.made.lines())
    assert len(lines) < 80
    assert max(map(len, lines)) < 400
    assert "'x19' and 40 more" in own.said
    assert "note: 40 more" in own.said
    assert "not used: 10 more" in own.said
    assert own.task.columns == names
    assert {*own.task.format.columns} == {*names}
    assert len(own.stored) == rows  # not made anew, as by another format


@pytest.mark.parametrize("names", [[f"{{\"q\"}} {i} \n'nm' \\" for i in range(50)], ["é\t"]])
def test_names_are_written_so_that_they_are_read_back(names: list[str]) -> None:
    assert eval(format_code(names)) == names


def test_a_task_file_shows_where_the_format_of_a_column_goes(workspace) -> None:
    text = take(written(simple())).made.task.read_text()
    shown = re.search(r"TableFormat\(columns=.*\}\)", text)
    assert shown
    read = eval(shown[0], vars(table_format))
    assert isinstance(read.columns["a column"], table_format.Number)
