"""What a run costs, by hand and in every form of the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pipeline.benchmark.publish import render
from pipeline.benchmark.record import results
from pipeline.benchmark.record.results import Price, Results
from pipeline.benchmark.report import tables
from pipeline.errors import ConfigError
from pipeline.task.numerals import MISSING
from tests.benchmark import fixtures
from tests.commands import assert_one_message, call, parse

PRICE = Price(per_hour=4.0, currency="USD")


def timed(**seconds: dict[str, list[float]]) -> Results:
    """Return a priced record of a machine with a GPU whose runs took what is said."""
    cells = [
        fixtures.cell(pipeline, variant, taken)
        for pipeline, variants in seconds.items()
        for variant, taken in variants.items()
    ]
    return replace(fixtures.with_gpu(), cells=cells, price=PRICE)


def texts(table: tables.ReportTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


@pytest.mark.parametrize("text", ["1.20 EUR", " 1.20EUR ", "1.20 €", "1.20 credits"])
def test_a_price_is_an_amount_and_a_currency(text: str) -> None:
    assert parse("report", "flights", "--price", text)["price"] == Price(
        per_hour=1.2, currency=text.strip()[4:].strip()
    )


@pytest.mark.parametrize(
    "text", ["", "1.20", "EUR", "1,20 EUR", "-1 EUR", "0 EUR", "nan EUR", "9" * 400 + " EUR"]
)
def test_what_is_no_price_is_told_with_the_way_to_write_one(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"--price '.*': not a price above 0 .* such as '1.20 EUR'"
    ):
        parse("report", "flights", "--price", text)


def test_a_run_costs_its_share_of_an_hour() -> None:
    times = {"reference": [36.0] * 3, "cpu": [18.0] * 3, "cuda": [4.5, 9.0, 13.5]}
    table = tables.cost_table(timed(forest=times))
    assert table.head[3:] == ("Cost of 1,000 runs, USD", "Break-even, USD an hour")
    assert texts(table) == [
        ["forest", "reference", "36.000", "40", MISSING],
        ["forest", "cpu", "18.000", "20", "2"],
        ["forest", "cuda", "9.000", "10", "1"],
    ]
    assert table.note.startswith("At 4 USD an hour for the machine")
    assert tables.cost_table(fixtures.with_gpu()).rows == (), "without a price"


def test_a_record_that_is_there_is_priced_without_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    render(fixtures.normal(), folder)
    (folder / "results.json").write_bytes(results.dumps(fixtures.normal()))
    words = ("report", "flights", "--out", folder, "--from-results")
    assert call(*words, "--price", "4 USD").code == 0
    assert results.load(folder / "results.json") == replace(fixtures.normal(), price=PRICE)
    assert "At 4 USD an hour" in (folder / "report.md").read_text()
    before = (folder / "results.json").read_bytes()
    assert call(*words).code == 0
    assert_one_message(
        call(*words, "--price", "1,20"), 2, "--price '1,20': not a price above 0 with a currency"
    )
    assert (folder / "results.json").read_bytes() == before
