"""From a table of one's own to a task, its models and its predictions: what is said, and kept."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.errors import ConfigError, DataError
from tests.names import one_in
from tests.task.nasty import ROWS, predicted, same, take, workspace, written

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


def test_a7_rows_without_a_time_or_a_group_are_counted(workspace) -> None:
    group = ["" if i % 8 == 0 else f"g{i % 9}" for i in range(ROWS)]
    own = take(written(simple(group=group)), split="groups", by="group")
    assert f"{ROWS // 8} rows without 'group' are left out" in own.said


@pytest.mark.parametrize("start", [2**53, 2**60, 2**63])
def test_large_codes_are_classes_and_columns(workspace, start) -> None:
    codes = [start + int(each) for each in KIND]
    own = take(written({"x": X, "code": codes, "y": codes}))
    assert own.task.kind == "multiclass"
    assert sorted(map(int, own.made.target.classes)) == [start, start + 1, start + 2]


@pytest.mark.parametrize(
    ("lines", "way"),
    [
        (
            [f"{x},{t},{n}" for x, t, n in zip(X, TOWN, NOISE, strict=True)],
            "a line of column names above",
        ),
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
    said = rf"the target 'kind' holds '{word}' \({rows} values\).*--keep {word} .*--missing {word} "
    with pytest.raises(DataError, match=said):
        take(file, "kind")
    assert list(take(file, "kind", keep=[word], name="kept").made.target.classes) == sorted(
        [word, "Mild", "Severe"]
    )
    assert take(file, "kind", missing=[word], name="lost").made.rows == ROWS - rows


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"delimiter": ";"}, "a.csv and b.csv use the delimiters ',' and ';'"),
        ({"comma": True}, "a.csv and b.csv use the decimal marks '.' and ',' in column 'x'"),
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
    assert "'x19', 40 more" in own.said
    assert "note: 40 more" in own.said
    assert "10 more" in own.said
    assert own.task.columns == names
    assert {*own.task.format.columns} == {*names}
    assert len(own.stored) == rows  # not made anew, as by another format
