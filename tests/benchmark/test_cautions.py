"""What is said of a table before a score is believed, and that no more is said than that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import datasets

from pipeline.benchmark import cautions
from pipeline.benchmark.cautions import of_table
from pipeline.benchmark.dependence import totals
from pipeline.benchmark.split_cautions import of_split

N = 800


def table(rows: int = N, seed: int = 0, **columns: object) -> pd.DataFrame:
    """Return numbers and a category, of which the first number has some say in `good`."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": draw.normal(100, 20, rows),
            "age": draw.normal(size=rows),
            "town": draw.choice(list("abcd"), rows),
        }
    )
    told = (frame["size"] - 100) / 20 + draw.normal(size=rows)
    frame["good"] = np.where(told > 0, "yes", "no")
    frame["price"] = frame["size"] * 10 + draw.normal(0, 100, rows)
    for name, values in columns.items():
        frame[name] = values
    return frame


def said(frame: pd.DataFrame, target: str, kind: str, **split: str) -> str:
    others = {"good", "price"} - {target}
    features = [name for name in frame if name != target and name not in others]
    return "\n".join(of_table(frame, target, kind, features, **split))


def draw(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def of_groups(rows: int = N, count: int = 100) -> pd.DataFrame:
    """Return rows of people who are alike in all that is known of them."""
    who, kept = draw().integers(0, count, rows), draw(2).normal(size=(count, 2))
    frame = table(rows, who=[f"w{i}" for i in who], weight=kept[who, 0])
    return frame.assign(price=3 * kept[who, 1] + draw(3).normal(0, 0.3, rows))


def of_time(rows: int = N) -> pd.DataFrame:
    days = pd.date_range("2018-01-01", periods=rows, freq="D")
    return table(rows, sold=days, price=np.linspace(0, 5, rows) + draw().normal(size=rows))


def is_yes(frame: pd.DataFrame) -> np.ndarray:
    return (frame["good"] == "yes").to_numpy()


GOOD, PRICE = ("good", "binary"), ("price", "regression")
LEAKS: dict[str, tuple[Callable[[], pd.DataFrame], tuple[str, str], str]] = {
    "other words for the classes": (
        lambda: table(state=np.where(is_yes(table()), "paid", "default")),
        GOOD,
        "'state' is the target under another name: leave it out (--ignore state).",
    ),
    "classes as numbers": (
        lambda: table(state=np.where(is_yes(table()), 7, 3)),
        GOOD,
        "'state' is the target under another name",
    ),
    "nearly the classes": (
        lambda: table(score=is_yes(table()) + draw().normal(0, 0.1, N)),
        GOOD,
        "'score' (AUC 0.99",
    ),
    "the classes but for some": (
        lambda: table(score=is_yes(table()) ^ (draw().random(N) < 0.04)).drop(columns="size"),
        GOOD,
        "'score' (AUC 0.9",
    ),
    "a date that only some have": (
        lambda: table(
            closed=pd.date_range("2020", periods=N).where(pd.Series(is_yes(table())).to_numpy())
        ),
        GOOD,
        "'closed' (AUC 1.000) alone tells 'good' almost perfectly",
    ),
    "one of three classes each": (
        lambda: (f := table()).assign(good=f["town"].replace("d", "c"), part=f["town"]),
        ("good", "multiclass"),
        "'town' (accuracy beyond guessing 1.000), 'part' (",
    ),
    "a copy": (lambda: table(paid=table()["price"]), PRICE, "'paid' is a copy of the target"),
    "another unit": (
        lambda: table(euro=table()["price"] * 0.9 + 4),
        PRICE,
        "'euro' is the target in another unit",
    ),
    "ranks": (lambda: table(place=table()["price"].rank()), PRICE, "'place' (R² 0.9"),
    "an odd scale": (
        lambda: table(code=np.sign(table()["price"]) * table()["price"].abs() ** 3),
        PRICE,
        "'code' (R² 0.9",
    ),
    "a copy with gaps": (
        lambda: table(paid=table()["price"].where(draw().random(N) < 0.8)),
        PRICE,
        "'paid' is a copy of the target where it is known",
    ),
    "classes with gaps": (
        lambda: table(
            state=np.where(draw().random(N) < 0.6, np.where(is_yes(table()), "a", "b"), None)
        ),
        GOOD,
        "'state' is the target under another name where it is known",
    ),
    "nearly a copy with gaps": (
        lambda: table(
            paid=(table()["price"] + draw().normal(size=N)).where(draw().random(N) < 0.5)
        ),
        PRICE,
        "'paid' (R² 0.9",
    ),
    "a sum with gaps": (
        lambda: (f := table(a=draw().random(N), b=draw(2).random(N))).assign(
            price=f["a"] + f["b"], a=f["a"].where(f["b"] < 0.95)
        ),
        PRICE,
        "'price' is the sum of 'a', 'b', exactly",
    ),
    "a sum": (
        lambda: (f := table(a=draw().random(N), b=draw(2).random(N))).assign(price=f["a"] + f["b"]),
        PRICE,
        "'price' is the sum of 'a', 'b', exactly",
    ),
    "a weighted sum": (
        lambda: (f := table(a=draw().random(N), b=draw(2).random(N))).assign(
            price=2 * f["a"] + f["b"]
        ),
        PRICE,
        "'price' is a weighted sum of 'a', 'b', exactly",
    ),
    "a product with a factor": (
        lambda: (f := table(a=draw().random(N), b=draw(2).random(N))).assign(
            price=2 * f["a"] * f["b"]
        ),
        PRICE,
        "'price' is a product of powers of 'a', 'b', exactly",
    ),
    "a product": (
        lambda: (f := table(a=draw().random(N), b=draw(2).random(N))).assign(price=f["a"] * f["b"]),
        PRICE,
        "'price' is the product of 'a', 'b', exactly",
    ),
}
ROWS: dict[str, tuple[Callable[[], pd.DataFrame], tuple[str, str], str]] = {
    "patients by name": (
        lambda: table(patient=[f"P{i % 90}" for i in range(N)]),
        GOOD,
        "'patient' has 90 values in 800 rows: those of the same one are in training and test",
    ),
    "an id that repeats": (
        lambda: table(customerId=np.arange(N) // 5),
        GOOD,
        "--split groups --by customerId",
    ),
    "people under no telling name": (of_groups, PRICE, "'who' has 100 values in 800 rows"),
    "people as numbers": (
        lambda: of_groups().assign(who=lambda f: f["who"].str[1:].astype(int)),
        PRICE,
        "--split groups --by who",
    ),
    "days": (of_time, PRICE, "'price' changes with 'sold': training has rows that are later"),
    "days in any order": (
        lambda: of_time().sample(frac=1, random_state=0),
        PRICE,
        "--split time --by sold",
    ),
    "classes that change with the day": (
        lambda: table(when=pd.date_range("2020", periods=N), good=np.arange(N) // 9 % 2),
        GOOD,
        "--split time --by when",
    ),
    "a time that may be how long something took": (
        lambda: of_time().drop(columns="sold").assign(time=np.arange(N) * 2.0),
        PRICE,
        "'price' changes with 'time': if 'time' says when a row was made, training has rows that",
    ),
    "hours as numbers": (
        lambda: of_time().drop(columns="sold").assign(hour=np.arange(N) * 2.0),
        PRICE,
        "--split time --by hour",
    ),
    "years in any order": (
        lambda: table(year=np.arange(N) % 9 + 2010, price=np.arange(N) % 9 + draw().normal(size=N)),
        PRICE,
        "--split time --by year",
    ),
    "a walk": (
        lambda: table(price=draw().normal(size=N).cumsum()),
        PRICE,
        "Neighbouring rows have alike values of 'price'",
    ),
    "copies": (
        lambda: pd.concat([table(160)] * 5),
        PRICE,
        "80.0 % of the rows repeat an earlier one (rows 160, 161, 162, …)",
    ),
    "copies with one number": (
        lambda: pd.concat([table(200).drop(columns=["age", "price"])] * 2),
        GOOD,
        "50.0 % of the rows repeat",
    ),
    "a row number": (lambda: table(x=np.arange(N)), GOOD, "'x' tells rows apart"),
    "a row number, shuffled": (lambda: table(x=draw().permutation(N)), GOOD, "--ignore x"),
    "numbers of orders": (lambda: table(x=np.arange(N) * 3 + 10_000), GOOD, "--ignore x"),
    "ids": (lambda: table(user_id=draw().permutation(N * 9)[:N]), GOOD, "--ignore user_id"),
    "zip codes": (
        lambda: table(zip=draw().integers(10_000, 99_999, N)),
        GOOD,
        '"zip": Text()',
    ),
}
ANSWERS: dict[str, tuple[Callable[[], pd.DataFrame], tuple[str, str], str]] = {
    "a rare class": (
        lambda: table(good=["a", *["b"] * 300, *["c"] * 499]),
        ("good", "multiclass"),
        "1 class of 'good' with fewer than 20 rows: a (1 rows)",
    ),
    "imbalance": (
        lambda: table(good=np.where(np.arange(N) % 30 == 0, "ill", "well")),
        GOOD,
        "'good' is ill in 3.4 % of the rows: accuracy says little",
    ),
    "counts as classes": (
        lambda: table(good=draw().poisson(3, N)),
        ("good", "multiclass"),
        "--kind regression",
    ),
    "grades as numbers": (
        lambda: table(price=draw().integers(1, 6, N)),
        PRICE,
        "'price' is predicted as a number and has 5 different ones, 1 to 5",
    ),
    "codes as numbers": (
        lambda: table(4000, price=draw().integers(0, 41, 4000) ** 2 % 97 + 100),
        PRICE,
        "--kind multiclass",
    ),
    "mostly one number": (
        lambda: table(price=np.where(np.arange(N) % 10 > 0, 0, draw().normal(size=N))),
        PRICE,
        "'price' is 0 in 90.0 % of the rows",
    ),
    "a row number": (
        lambda: table(price=np.arange(N)).sample(frac=1, random_state=0),
        PRICE,
        "'price' has another whole number in each row",
    ),
    "a long tail": (
        lambda: table(price=np.exp(2 * draw().normal(size=N))),
        PRICE,
        "func=np.log1p",
    ),
    "a tail on both sides": (
        lambda: table(price=draw().standard_cauchy(N)),
        PRICE,
        "look at the mean absolute error",
    ),
    "no target": (
        lambda: table(
            good=np.where(np.arange(N) % 20 == 0, None, np.arange(N) % 2).astype(str)
        ).replace("None", None),
        GOOD,
        "5.0 % of the rows have no 'good'",
    ),
    "one value": (lambda: table(x=1), GOOD, "'x' has one value or none"),
    "no value": (lambda: table(x=np.nan), GOOD, "'x' has one value or none"),
    "mostly missing": (
        lambda: table(x=np.where(np.arange(N) % 4 == 0, draw().random(N), np.nan)),
        GOOD,
        "Mostly missing: 'x' (75.0 %): leave it out",
    ),
    "few rows": (lambda: table(120), GOOD, "120 rows: few to learn from"),
    "more columns than rows": (
        lambda: pd.concat(
            [table(60), pd.DataFrame(draw().random((60, 70))).add_prefix("c")], axis=1
        ),
        GOOD,
        "73 columns and 60 rows",
    ),
}
CASES = LEAKS | ROWS | ANSWERS


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_with_a_table_is_said(case: str) -> None:
    make, what, words = CASES[case]
    assert words in said(make(), *what)


@pytest.mark.parametrize("what", [GOOD, PRICE], ids=["classes", "numbers"])
def test_a_sound_table_is_passed_over(what: tuple[str, str]) -> None:
    assert said(table(), *what) == ""
    assert said(table(3_000, wide=draw().normal(size=3_000)), *what) == ""


@pytest.mark.parametrize("case", CASES)
def test_a_sound_table_has_no_caution_but_the_one_that_is_meant(case: str) -> None:
    make, what, _ = CASES[case]
    assert len(said(make(), *what).splitlines()) <= 2


BUNDLED = {
    "iris": ("multiclass", ["150 rows"]),
    "wine": ("multiclass", ["178 rows"]),
    "breast_cancer": ("binary", []),
    "diabetes": ("regression", []),
    "digits": ("multiclass", ["have one value"]),
}


@pytest.mark.parametrize("name", BUNDLED)
def test_of_tables_that_everybody_knows_little_is_said(name: str) -> None:
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    kind, words = BUNDLED[name]
    found = of_table(data.frame, "target", kind, list(data.data))
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))


def test_first_comes_what_makes_a_score_worthless_then_what_costs_quality_then_remarks() -> None:
    frame = of_groups().assign(
        constant=1, number=np.arange(N), copy=lambda f: f["price"] * 2, rare=np.nan
    )
    frame.loc[:2, "price"] = np.nan
    order = [
        "'copy' is the target",
        "'who' has 100",
        "have no 'price'",
        "'number' tells",
        "one value",
    ]
    found = of_table(frame, *PRICE, [name for name in frame if name not in ("good", "price")])
    assert [next(i for i, each in enumerate(found) if words in each) for words in order] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip


@pytest.mark.parametrize(("make", "split"), [
    (of_groups, {"groups": "who"}), (of_time, {"by_time": "sold"}),
], ids=["groups", "time"])  # fmt: skip
def test_a_split_that_heeds_it_is_not_cautioned(
    make: Callable[[], pd.DataFrame], split: dict[str, str]
) -> None:
    assert "--split" in said(make(), *PRICE)
    assert "--split" not in said(make(), *PRICE, **split)


@pytest.mark.parametrize("case", ["nearly the classes", "days", "copies", "mostly missing"])
def test_an_arrow_table_and_a_frame_of_any_index_give_the_same(case: str) -> None:
    make, what, _ = CASES[case]
    frame, features = make(), [name for name in make() if name not in ("good", "price")]
    expected = of_table(frame, *what, features)
    assert expected == of_table(pa.Table.from_pandas(frame, preserve_index=False), *what, features)
    assert expected == of_table(frame.set_axis(range(5, 5 + len(frame))), *what, features)


def test_what_no_step_takes_is_passed_over() -> None:
    frame = table(lists=[[1, 2]] * N, mixed=["a", 1] * (N // 2), sure=[True, None] * (N // 2))
    assert "lists" not in said(frame, *GOOD)
    arrow = pa.Table.from_pandas(frame.drop(columns="mixed"))
    assert of_table(arrow, *GOOD, ["lists", "sure"]) == []


@pytest.mark.parametrize("kind", ["ranking", "clusters"])
def test_of_ranks_and_clusters_only_the_columns_are_looked_at(kind: str) -> None:
    frame = table(x=1, state=table()["good"])
    assert said(frame, "good", kind).startswith("'x' has one value or none: nothing can be learnt")
    assert "state" not in said(frame, "good", kind)


def test_a_long_table_is_sampled_with_its_copies_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cautions, "MOST_ROWS", 1_000)
    frame = pd.concat([table(1_000)] * 9, ignore_index=True)
    rows = cautions.sample(frame, "price", ["size", "age", "town"])
    assert 300 < len(rows) < 3_000
    assert (rows["size"].value_counts() == 9).all()
    pd.testing.assert_frame_equal(rows, frame.loc[rows.index])
    assert "88.9 % of the rows repeat an earlier one" in said(frame, *PRICE)


def test_a_column_that_varies_beyond_the_sample_alone_is_no_constant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cautions, "MOST_ROWS", 1_000)
    frame = table(9_000, flag=0)
    assert "'flag' has one value" in said(frame, *GOOD)
    rows = cautions.sample(frame, "good", ["size", "age", "town", "flag"])
    frame.loc[frame.index.difference(rows.index)[0], "flag"] = 1
    assert said(frame, *GOOD) == ""


def test_of_a_wide_table_the_first_columns_are_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cautions, "MOST_COLUMNS", 3)
    assert said(table(), *GOOD) == ""
    assert said(table(x=1), *GOOD) == "Only the first 3 columns were looked through."


SPLITS: dict[str, tuple[pd.DataFrame, pd.DataFrame, tuple[str, str], str]] = {
    "shared rows": (table(600), table(600)[300:], PRICE, "100 % of the test rows are among"),
    "another range": (
        table(600),
        table(300, 1).assign(size=lambda f: f["size"] + 60),
        PRICE,
        "Training and test rows differ in 'size'",
    ),
    "new values": (
        table(600),
        table(300, 1).assign(town="e"),
        PRICE,
        "Test rows with a value that no training row has: 'town' (100 %): take an encoder",
    ),
    "a class that training lacks": (
        table(600).assign(good=lambda f: f["town"].replace("a", "b")),
        table(300, 1).assign(good=lambda f: f["town"]),
        ("good", "multiclass"),
        "No training row is of the class a of 'good': no model can learn it; give both parts",
    ),
    "a class that the test lacks": (
        table(600).assign(good=lambda f: f["town"]),
        table(300, 1).assign(good=lambda f: f["town"].replace("a", "b")),
        ("good", "multiclass"),
        "No test row is of the class a of 'good': nothing judges it; give both parts",
    ),
    "few to judge": (
        table(600),
        table(300, 1).assign(good=["yes"] * 4 + ["no"] * 296),
        GOOD,
        "Fewer than 10 test rows are of the class yes (4)",
    ),
    "other shares": (
        table(600),
        table(300, 1).assign(good=["yes"] * 40 + ["no"] * 260),
        GOOD,
        "of the training rows and 86.7 % of the test rows: draw the test rows at random",
    ),
    "other numbers": (
        table(600),
        table(300, 1).assign(price=lambda f: f["price"] + 500),
        PRICE,
        "on average in the training rows and",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SPLITS)
def test_what_is_wrong_with_a_split_is_said(case: str) -> None:
    train, test, (target, kind), words = SPLITS[case]
    found = of_split(train, test, target, ["size", "age", "town"], kind)
    assert words in "\n".join(found)
    assert len(found) <= 2


@pytest.mark.parametrize("what", [GOOD, PRICE], ids=["classes", "numbers"])
def test_a_sound_split_is_passed_over(what: tuple[str, str]) -> None:
    for rows in (60, 300, 5_000):
        parts = table(4 * rows), table(rows, 1)
        assert of_split(*parts, what[0], ["size", "age", "town"], what[1]) == []


def test_the_same_few_categories_in_both_parts_are_no_copies() -> None:
    frame = table(4_000, age=draw().normal(0, 10, 4_000).round())
    for names in (["town"], ["town", "age"], ["age"]):
        assert of_table(frame[[*names, "good"]], "good", "binary", names) == []
        assert of_split(frame[:3_000], frame[3_000:], "good", names, "binary") == []


ODD: dict[str, Callable[[int], object]] = {
    "infinite": lambda n: np.where(np.arange(n) % 9 == 0, np.inf, np.arange(n) * 1.0),
    "huge": lambda n: draw().normal(size=n) * 1e300,
    "beyond int64": lambda n: np.full(n, 2**63 + 5, dtype="uint64"),
    "nothing": lambda n: np.full(n, np.nan),
    "texts": lambda n: [f"{i} and more" for i in range(n)],
    "zoned": lambda n: pd.date_range("2020", periods=n, tz="Europe/Zurich"),
    "spans": lambda n: pd.to_timedelta(np.arange(n), "s"),
    "nullable": lambda n: pd.array([True, None] * (n // 2) + [False] * (n % 2), dtype="boolean"),
    "number categories": lambda n: pd.Categorical(np.arange(n) % 2),
    "mixed": lambda n: [1, "a"] * (n // 2) + [None] * (n % 2),
}


@pytest.mark.quick(8)
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 21, 101])
@pytest.mark.parametrize("target", ODD)
def test_any_column_of_any_length_can_be_looked_at(rows: int, target: str) -> None:
    frame = pd.DataFrame({name: make(rows) for name, make in ODD.items()})
    kinds = ["binary", "multiclass"]
    if pd.api.types.is_float_dtype(frame[target]):
        kinds.append("regression")
    for kind in kinds:
        of_table(frame, target, kind, list(frame))
        of_split(frame[: rows // 2], frame[rows // 2 :], target, list(frame), kind)


def test_many_counts_are_no_codes_of_classes() -> None:
    for seed in range(9):
        frame = table(1_200, price=draw(seed).poisson(130, 1_200))
        assert "--kind" not in said(frame, *PRICE)


def test_rows_sorted_by_a_column_are_in_no_order_of_time() -> None:
    frame = of_groups().drop(columns="weight")
    for by in (["who"], ["town", "price"], ["price"]):
        found = said(frame.sort_values(by, ignore_index=True).drop(columns="who"), *PRICE)
        assert ("Neighbouring" in found) == (by == ["who"])
        assert "Neighbouring" not in said(frame.sort_values(by, ignore_index=True), *PRICE)


TOTALS: dict[str, tuple[list[str | None], list[float], list[int]]] = {
    "by its word": ([*"abcdef", "Total"], [1.5, 2, 3, 4, 5, 6, 99], [6]),
    "by word and number": ([*"abcdef", "grand total"], [1.5, 2, 3, 4, 5, 6, 21.5], [6]),
    "by its number": ([*"abcdef", None], [1.5, 2, 3, 4, 5, 6, 21.5], [6]),
    "of groups": (
        ["a", "b", "Subtotal north", "c", "d", "Subtotal south", "Total"],
        [1, 2, 3, 5, 7, 12, 15],
        [2, 5, 6],
    ),
    "a word for a part": (["total", "part"] * 3, [1, 2, 3, 4, 5, 9], []),
    "a few ones": (["total", "part"] * 3, [0, 0, 1, 0, 0, 1], []),
    "a rating": (["good", "average", "poor", "average"] * 2, [3, 2, 1, 2, 3, 2, 1, 2.5], []),
}


@pytest.mark.parametrize("case", TOTALS)
def test_rows_that_sum_up_others_are_found(case: str) -> None:
    names, numbers, rows = TOTALS[case]
    assert totals(pd.DataFrame({"name": names, "n": numbers})).tolist() == rows


def test_subtotals_are_named_and_no_logarithm_is_advised() -> None:
    shop = pd.DataFrame({"shop": [f"s{i % 5}" for i in range(N)], "x": draw().random(N)})
    shop["price"] = shop["x"] * 10 + draw(2).normal(size=N) + 20
    parts = []
    for start in range(0, N, 100):
        part = shop[start : start + 100]
        parts += [part, part[["x", "price"]].sum().to_frame().T.assign(shop="Subtotal")]
    found = said(pd.concat(parts, ignore_index=True), *PRICE)
    assert found.startswith("rows look like totals of others: 100, 201, 302")
    assert "log1p" not in found


def test_among_many_columns_one_ends_in_a_sum_by_chance() -> None:
    many = pd.DataFrame(draw().integers(0, 2, (40, 50)), columns=[f"x{i}" for i in range(50)])
    many.iloc[-1, 0] = many.iloc[:-1, 0].sum()
    assert totals(many).tolist() == []


def test_large_integers_that_float64_merges_are_no_constant() -> None:
    huge = np.arange(N, dtype="uint64") * np.uint64(7) % np.uint64(1000) + np.uint64(2**63)
    assert "'key'" not in said(table(serial=huge).rename(columns={"serial": "key"}), *GOOD)


@pytest.mark.parametrize("rows", ["as they came", "drawn"])
@pytest.mark.parametrize("name", ["ts", "created_at", "received"])
def test_unix_time_in_milliseconds_is_no_row_number(name: str, rows: str) -> None:
    when = 1_600_000_000_000 + np.cumsum(draw().integers(1, 10**6, N))
    price = np.linspace(0, 5, N) + draw().normal(size=N)
    frame = table(**{name: when, "price": price})
    found = said(frame.sample(frac=1, random_state=0) if rows == "drawn" else frame, *PRICE)
    assert f"--split time --by {name}" in found
    assert "row number" not in found
