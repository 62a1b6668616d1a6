"""Other files than the one that a task was made of: predicted alike, refused, or told."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline import predict_file, save
from pipeline.errors import DataError
from pipeline.serving.save import About
from tests.task.nasty import ROWS, Own, call, take, workspace, written

__all__ = ["workspace"]

draw = np.random.default_rng(8)
X = draw.normal(size=ROWS).round(3)
TOWN = np.array(["Bern", "NA", "Biel"])[draw.integers(0, 3, ROWS)]
DAYS = pd.Series(pd.to_datetime("2019-01-05") + pd.to_timedelta(draw.integers(0, 900, ROWS), "D"))
Y = (X * 3 + (TOWN == "NA") * 2 + DAYS.dt.month / 6).round(3)
German = Callable[[float], str]


def comma(value: float) -> str:
    return str(value).replace(".", ",")


def table(
    cell: German = str, form: str = "%d.%m.%Y", **more: Iterable[object]
) -> dict[str, object]:
    """Return columns of numbers, words and dates, and what follows from them."""
    cells = {"x": [cell(v) for v in X], "town": TOWN, "day": DAYS.dt.strftime(form), **more}
    return {**cells, "y": [cell(v) for v in Y]}


def saved(own: Own) -> str:
    """Fit and save a model as `run` does."""
    done = call("run", own.made.name, "--device", "cpu", "--pipelines", "boosting", "--out", "ran")
    assert done.code == 0, done.err
    return "ran/boosting.model"


def answers(model: str, file: Path, **options: object) -> tuple[pd.DataFrame, str]:
    """Return the predictions of a file, and what was said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        predict_file(model, file, f"{file.name}.p.csv", device="cpu", **options)  # type: ignore[arg-type]
    found = pd.read_csv(f"{file.name}.p.csv", dtype="str", keep_default_na=False)
    return found, " ".join(str(each.message) for each in said)


WRITTEN = {
    "titles": {"above": ["Sales of 2023", ""]},
    "other titles": {"above": ["Sales", "made on 3.4.2023", "by us"]},
    "a comment": {"above": ["# made by hand"]},
    "what Excel writes": {"above": ["sep=;"], "delimiter": ";"},
    "semicolons": {"delimiter": ";"},
    "commas": {"delimiter": ","},
    "tabs": {"delimiter": "\t"},
    "UTF-16": {"encoding": "utf-16"},
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("cell", [str, comma], ids=["points", "commas"])
@pytest.mark.parametrize("first", ["titles", "what Excel writes", "tabs"])
def test_a_file_that_is_cut_otherwise_is_read_alike(workspace, first, cell) -> None:
    own = take(written(table(cell), **WRITTEN[first]), keep=["NA"])
    model = saved(own)
    known, said = answers(model, own.file)
    assert "NA" not in said
    for name, how in WRITTEN.items():
        found, _ = answers(model, written(table(cell), name="new.csv", **how))
        assert found.equals(known), name


@pytest.mark.parametrize(("name", "strays"), [("x", 1), ("day", 60)])
def test_strays_that_are_read_as_missing_are_told_at_prediction(workspace, name, strays) -> None:
    first, later = table(), table(form="%Y-%m-%d") if name == "day" else table(comma)
    cells = list(first[name])
    own = take(written({**first, name: [*cells[:-1], "none of it"]}))
    assert own.task.format.columns[name].stray == "missing"
    other = [*list(later[name])[:strays], *cells[strays:]]
    _, said = answers(saved(own), written({**first, name: other}, name="new.csv"))
    assert f"'{name}'" in said
    assert f"{strays} of {ROWS} values" in said
    assert repr(other[0]) in said


@pytest.mark.quick(1)
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%m/%d/%Y", "%d.%m.%y", "%d.%m.%Y %H:%M"])
def test_dates_in_another_form_are_refused_with_their_row(workspace, form) -> None:
    model = saved(take(written(table())))
    cells = [*table()["day"][:7], *table(form=form)["day"][7:]]
    with pytest.raises(DataError, match=r"new\.csv.*'day'.*in row 7.*missing="):
        answers(model, written({**table(), "day": cells}, name="new.csv"))


FAR = {
    "infinite numbers": (np.where(np.arange(ROWS) % 3 == 0, np.inf, X), "infinite"),
    "days beyond nanoseconds": (
        [date(9999, 12, 31) if i % 3 == 0 else day.date() for i, day in enumerate(DAYS)],
        "9999-12-31",
    ),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("case", FAR)
def test_what_no_model_takes_is_missing_in_training_and_in_predictions(
    workspace, case: str, kind: str
) -> None:
    cells, said = FAR[case]
    far = pd.DataFrame({"x": cells, "z": X, "y": Y})
    gaps = far.assign(x=far["x"].where(np.arange(ROWS) % 3 != 0))
    for name, frame in {"far": far, "gaps": gaps}.items():
        path = Path(f"{name}.{kind}")
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    own = take(Path(f"far.{kind}"))
    assert said in own.said
    assert own.stored["x"].isna().sum() == -(-ROWS // 3)
    model = own.fitted("linear" if kind == "csv" else "boosting")
    folder = str(save(model, "far.model", About(format=own.task.format)))
    first, _ = answers(folder, Path(f"far.{kind}"))
    second, _ = answers(folder, Path(f"gaps.{kind}"))
    assert first["prediction"].tolist() == second["prediction"].tolist()
    stored = own.stored.set_index("row").sort_index()[own.task.features]
    np.testing.assert_allclose(first["prediction"].astype(float), model.predict(stored))
