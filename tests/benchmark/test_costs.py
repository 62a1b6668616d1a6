"""What a run costs and when a GPU pays, by hand and in every form of the report."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from pipeline.benchmark import prices, results
from pipeline.benchmark.publish import render
from pipeline.benchmark.report import costs, html, markdown
from pipeline.benchmark.report.terminal import terminal_report
from pipeline.benchmark.results import Price, Results
from tests.benchmark import fixtures, fuller
from tests.commands import call

USD = {"currency": "USD", "date": "2026-11-23", "source": "a list"}
CPU = Price(machine="cpu", per_hour=0.4, vcpus=8.0, provider="us", commit="abcdef0", **USD)
H100 = Price(machine="gpu", per_hour=3.0, vcpus=8.0, gpu="H100", gpus=1.0, **USD)
L4 = replace(H100, machine="small gpu", per_hour=1.0, gpu="L4")


def priced(base: Results, price: Price, *others: Price) -> Results:
    return replace(base, price=price, other_prices=list(others))


def timed(**seconds: dict[str, float]) -> Results:
    """Return a record of a machine with a GPU whose runs took what is said."""
    base = fixtures.with_gpu()
    cells = [
        fixtures.cell(pipeline, variant, [taken] * 3)
        for pipeline, variants in seconds.items()
        for variant, taken in variants.items()
    ]
    return replace(base, cells=cells)


def texts(table: costs.ReportTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_run_costs_its_share_of_an_hour() -> None:
    record = priced(timed(forest={"reference": 18.0, "cuda": 9.0}), replace(H100, per_hour=4.0))
    table = costs.cost_table(record)
    assert table.head[-1] == "Cost of a run, USD"
    assert texts(table) == [
        ["forest", "reference", "18.000", "0.02"], ["forest", "cuda", "9.000", "0.01"]
    ]  # fmt: skip
    assert "gpu: 4 USD an hour, 2026-11-23, a list. Of the whole machine" in table.note
    assert "The start of the machine and storage are left out." in table.note


def test_a_price_that_is_not_of_this_machine_is_told() -> None:
    assert "with a GPU, which no run used" in costs.cost_table(priced(fixtures.normal(), H100)).note
    other = replace(CPU, vcpus=64.0)
    note = costs.cost_table(priced(fixtures.normal(), other)).note
    assert "The price is of 64 vCPUs; this machine has 8 logical processors." in note
    assert "The price is" not in costs.cost_table(priced(fixtures.normal(), CPU)).note


def test_without_a_price_one_line_says_how_to_name_one() -> None:
    record = fixtures.normal()
    table, limits = costs.cost_table(record), costs.break_even_table(record)
    assert (table.rows, limits.rows, limits.note) == ((), (), "")
    assert table.note.startswith("Not priced: ")
    assert "--machine NAME" in table.note
    assert "--price '1.20 EUR'" in table.note
    assert list(costs.cost_lines(record)) == []
    assert markdown.text(table.note) in markdown.render_markdown(record).splitlines()


def test_a_gpu_pays_from_the_ratio_of_the_prices_and_none_was_measured() -> None:
    table = costs.break_even_table(priced(fixtures.normal(), CPU, L4, H100))
    assert texts(table) == [
        ["us/cpu", "0.4", "small gpu", "L4", "1", "2.50×", "not measured"],
        ["us/cpu", "0.4", "gpu", "H100", "3", "7.50×", "not measured"],
    ]
    assert "The start of the machine and storage are left out." in table.note


def test_the_speed_up_of_a_machine_with_a_gpu_is_set_beside_the_limit() -> None:
    record = priced(
        timed(
            logistic={"reference": 2.0, "cpu": 8.0, "cuda": 1.0},
            forest={"reference": 90.0, "cpu": 80.0, "cuda": 10.0},
            boosting={"cuda": 1.0},
        ),
        H100,
        CPU,
        replace(CPU, machine="of another size", vcpus=16.0),
        L4,
    )
    assert costs.measured_gains(record) == {"logistic": 2.0, "forest": 8.0}
    said = "logistic 2.00×: does not pay; forest 8.00×: pays"
    table = costs.break_even_table(record)
    assert texts(table) == [["us/cpu", "0.4", "gpu", "H100", "3", "7.50×", said]]
    assert "a list, commit abcdef0, on demand, not spot." in table.note


def test_at_the_limit_itself_nothing_is_won() -> None:
    record = priced(timed(forest={"reference": 7.5, "cuda": 1.0}), H100, CPU)
    assert texts(costs.break_even_table(record))[0][-1] == "forest 7.50×: does not pay"


def test_a_price_by_hand_is_of_the_gpu_that_was_found() -> None:
    mine = replace(prices.parse_price("3 USD"), date="2026-11-23")
    record = priced(timed(forest={"reference": 90.0, "cuda": 10.0}), mine, CPU)
    (row,) = texts(costs.break_even_table(record))
    assert row[2:] == ["this machine", "Synthetic GPU 1", "3", "7.50×", "forest 9.00×: pays"]


def test_currencies_are_not_compared() -> None:
    euro = replace(L4, currency="EUR")
    table = costs.break_even_table(priced(fixtures.normal(), CPU, H100, euro))
    assert [row[2] for row in texts(table)] == ["gpu"]
    assert "Left out, as their prices are in another currency: 1." in table.note
    none = costs.break_even_table(priced(fixtures.normal(), CPU, euro))
    assert none.rows == ()
    assert "no machine with a GPU in USD, and currencies are not converted" in none.note


def test_a_record_without_a_machine_of_as_many_vcpus_says_so() -> None:
    record = priced(timed(forest={"reference": 9.0, "cuda": 1.0}), H100, replace(CPU, vcpus=4.0))
    assert "has no machine with 8 vCPUs and no GPU in USD" in costs.break_even_table(record).note


def test_the_table_that_comes_along_gives_the_limits() -> None:
    mine = prices.find_price("cpu-d3_16vcpu-64gb")
    others = prices.cheapest_of_kinds(prices.load_prices())
    table = costs.break_even_table(priced(fixtures.normal(), mine, *others))
    assert [(row[3], row[5]) for row in texts(table)] == [
        ("A6000", "2.02×"), ("L40S", "3.90×"), ("H100", "7.43×"), ("H200", "8.82×"),
    ]  # fmt: skip


def test_every_form_of_the_report_tells_it() -> None:
    record = priced(timed(forest={"reference": 90.0, "cuda": 10.0}), H100, CPU)
    cells = ("us/cpu", "7.50×", "forest 9.00×: pays")
    page, plain = html.render_html(record), markdown.render_markdown(record)
    for form in (page, plain):
        assert all(cell in form for cell in cells)
    assert 'id="break-even-table"' in page
    console = Console(width=120)
    with console.capture() as capture:
        console.print(terminal_report(record))
    assert capture.get().splitlines()[-3:-1] == [
        "cost of the fastest run in USD, on gpu: forest 0.00833",
        "a GPU pays from a speed-up of 7.50× (gpu beside us/cpu); measured: forest 9.00×",
    ]


def test_a_record_that_is_there_is_priced_without_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    render(fixtures.normal(), folder)
    (folder / "results.json").write_bytes(results.dumps(fixtures.normal()))
    words = ("report", "flights", "--out", folder, "--from-results")
    assert call(*words, "--machine", "nebius/cpu-d3_16vcpu-64gb").code == 0
    kept = results.load(folder / "results.json")
    assert kept.price == prices.find_price("cpu-d3_16vcpu-64gb")
    assert replace(kept, price=None, other_prices=[]) == fixtures.normal()
    assert "8.82×" in (folder / "report.md").read_text()
    before = (folder / "results.json").read_bytes()
    assert call(*words).code == 0
    assert (folder / "results.json").read_bytes() == before
    assert call(*words, "--machine", "none").code == 2
    assert (folder / "results.json").read_bytes() == before


def test_a_price_of_an_older_record_is_read(tmp_path: Path) -> None:
    data = json.loads(results.dumps(fuller.everything()))
    del data["other_prices"]
    for name in ("provider", "vcpus", "gpu", "gpus", "region", "commit"):
        del data["price"][name]
    (tmp_path / "results.json").write_text(json.dumps(data))
    older = results.load(tmp_path / "results.json")
    assert older == replace(fuller.everything(), other_prices=[])
    assert "no machine with 8 vCPUs and no GPU in EUR" in costs.break_even_table(older).note


def test_a_terminal_obeys_nothing_of_a_record() -> None:
    console = Console(width=120)
    with console.capture() as capture:
        console.print(terminal_report(fuller.hostile()))
    assert "cost of the fastest run in " in capture.get()
    assert "a GPU pays from a speed-up of " in capture.get()
    assert "\x1b[31m" not in capture.get()


def test_a_cell_that_failed_costs_nothing_and_the_others_are_told() -> None:
    record = priced(fixtures.failed("reference"), CPU, H100)
    assert ["forest", "reference"] not in [row[:2] for row in texts(costs.cost_table(record))]
    first, second = costs.cost_lines(record)
    assert "forest" in first
    assert second.endswith("beside us/cpu); not measured")
