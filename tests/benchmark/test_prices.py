from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pipeline.benchmark import prices
from pipeline.benchmark.report import tables
from pipeline.errors import ConfigError
from tests.benchmark import fixtures, fuller
from tests.commands import call

ROW = """
[[price]]
machine = "large"
per_hour = 0.5
currency = "USD"
date = 2026-11-21
source = "a bill"
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(ROW)
    return path


def test_a_price_is_read_from_a_table(table: Path) -> None:
    found = prices.find_price("large", table)
    assert (found.per_hour, found.currency) == (0.5, "USD")
    assert (found.date, found.source) == ("2026-11-21", "a bill")


def test_the_table_that_comes_along_is_empty_and_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'large' is not in prices.toml, which has: none; add it"):
        prices.find_price("large")
    example = [
        line.removeprefix("#     ")
        for line in prices.TABLE.read_text().splitlines()
        if line.startswith("#     ") and ("=" in line or "[[" in line)
    ]
    (tmp_path / "prices.toml").write_text("\n".join(example))
    assert prices.find_price("m7i.xlarge", tmp_path / "prices.toml").currency == "USD"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("per_hour = 0.5", "per_hour = 0", r"Expected `float` > 0.*per_hour"),
        ("per_hour = 0.5", "per_hour = inf", r"Expected `float` <.*per_hour"),
        ("per_hour = 0.5", "per_hour = true", r"got `bool` - at `\$\.price\[0\]\.per_hour"),
        ("date = 2026-11-21", "", "missing required field `date`"),
        ("source", "sauce", "missing required field `source`|unknown field `sauce`"),
        ("source", "remark = 1\nsource", "unknown field `remark`"),
        ("[[price]]", "[[price]", "mine.toml"),
        ("[[price]]", "[price]", "Expected `array`, got `object`.*; prices.toml shows how"),
    ],
)
def test_a_table_that_is_wrong_is_told(table: Path, old: str, new: str, why: str) -> None:
    table.write_text(ROW.replace(old, new, 1))
    with pytest.raises(ConfigError, match=why):
        prices.find_price("large", table)


@pytest.mark.parametrize("text", ["1.20", "EUR", "1,20 EUR", "-1 EUR", "1 euro", "nan EUR"])
def test_a_price_that_is_not_one_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="write the price of an hour as '1.20 EUR'"):
        prices.parse_price(text)


def test_a_run_costs_its_share_of_an_hour() -> None:
    results = replace(fuller.everything(), price=replace(fuller.PRICE, per_hour=7.2))
    table = tables.cost_table(results)
    assert table.head[-1] == "Cost of a run, EUR"
    for row in table.rows:
        assert float(row[3].text) == pytest.approx(float(row[2].text) * 0.002, rel=0.01)
    assert "2026-01-31, made up" in table.note


def test_without_a_price_it_is_said_and_nothing_is_made_up() -> None:
    table = tables.cost_table(fixtures.normal())
    assert table.rows == ()
    assert table.note.startswith("Not priced")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--price", "1 EUR", "--machine", "large"), "--price says it all"),
        (("--prices", "x.toml"), "--prices needs --machine"),
        (("--price", "cheap"), "write the price of an hour"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], said: str, small_home: Path
) -> None:
    done = call("compare", "flights", "--data-home", small_home, *options)
    assert done.code == 2
    assert said in done.err
