from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pipeline.benchmark import prices
from pipeline.errors import ConfigError
from tests.benchmark import fuller
from tests.commands import assert_one_message, call

ROW = """
[[price]]
machine = "large"
per_hour = 0.5
currency = "USD"
date = 2026-11-21
source = "a bill"
"""
GPU = ROW + 'provider = "us"\nvcpus = 16\ngpu = "H100"\ngpus = 1\n'


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(ROW)
    return path


def test_a_price_is_read_from_a_table(table: Path) -> None:
    found = prices.find_price("large", table)
    assert (found.per_hour, found.currency) == (0.5, "USD")
    assert (found.date, found.source) == ("2026-11-21", "a bill")
    assert (found.provider, found.vcpus, found.gpu, found.gpus) == ("", None, "", 0)


def test_each_row_of_the_table_that_comes_along_has_its_source() -> None:
    table = prices.load_prices()
    for price in table:
        assert (
            price.source == f"skypilot-org/skypilot-catalog, catalogs/v8/{price.provider}/vms.csv"
        )
        assert len(price.commit) == 40
        assert price.date
        assert price.region
        assert price.vcpus
        assert price.currency == "USD"
    assert {price.machine: price.per_hour for price in table} == {
        "cpu-d3_16vcpu-64gb": 0.3968,
        "gpu-l40s-a_1gpu-8vcpu-32gb": 1.5484,
        "gpu-h100-sxm_1gpu-16vcpu-200gb": 2.95,
        "gpu-h200-sxm_1gpu-16vcpu-200gb": 3.5,
        "cpu_4x_general": 0.2,
        "gpu_1x_a6000": 0.8,
    }


def test_the_table_that_comes_along_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'large' is not in prices.toml, which has: .*; add it"):
        prices.find_price("large")
    example = [
        line.removeprefix("#     ")
        for line in prices.TABLE.read_text().splitlines()
        if line.startswith("#     ") and ("=" in line or "[[" in line)
    ]
    (tmp_path / "prices.toml").write_text("\n".join(example))
    found = prices.find_price("m7i.xlarge", tmp_path / "prices.toml")
    assert all(getattr(found, name) for name in found.__struct_fields__)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("per_hour = 0.5", "per_hour = 0", r"Expected `float` > 0.*per_hour"),
        ("per_hour = 0.5", "per_hour = inf", r"Expected `float` <.*per_hour"),
        ("per_hour = 0.5", "per_hour = true", r"got `bool` - at `\$\.price\[0\]\.per_hour"),
        ("date = 2026-11-21", "", "missing required field `date`"),
        ("source", "sauce", "missing required field `source`|unknown field `sauce`"),
        ("source", "remark = 1\nsource", "unknown field `remark`"),
        ("source", "vcpus = 0\nsource", r"Expected `float` > 0.*vcpus"),
        ("source", 'gpu = "H100"\nsource', "give both or none"),
        ("source", "gpus = 2\nsource", "give both or none"),
        ("[[price]]", "[[price]", "mine.toml"),
        ("[[price]]", "[price]", "Expected `array`, got `object`.*; prices.toml shows how"),
    ],
)
def test_a_table_that_is_wrong_is_told(table: Path, old: str, new: str, why: str) -> None:
    table.write_text(ROW.replace(old, new, 1))
    with pytest.raises(ConfigError, match=why):
        prices.find_price("large", table)


def test_a_name_that_several_providers_have_is_told_apart(table: Path) -> None:
    table.write_text(ROW + GPU)
    with pytest.raises(ConfigError, match=r"is 2 rows of mine.toml: /large, us/large; write it as"):
        prices.find_price("large", table)
    assert prices.find_price("us/large", table).gpu == "H100"


@pytest.mark.parametrize("text", ["1.20", "EUR", "1,20 EUR", "-1 EUR", "1 euro", "nan EUR"])
def test_a_price_that_is_not_one_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="write the price of an hour as '1.20 EUR'"):
        prices.parse_price(text)


def test_of_each_kind_of_machine_the_cheapest_stays() -> None:
    base = replace(fuller.PRICE, currency="USD", gpu="H100", gpus=1.0)
    table = [
        replace(base, machine="dear", per_hour=4.0),
        replace(base, machine="cheap", per_hour=3.0),
        replace(base, machine="two", per_hour=6.0, gpus=2.0),
        replace(base, machine="euro", per_hour=5.0, currency="EUR"),
        replace(base, machine="plain", per_hour=1.0, gpu="", gpus=0.0, vcpus=8.0),
        replace(base, machine="dear plain", per_hour=2.0, gpu="", gpus=0.0, vcpus=8.0),
        replace(base, machine="small", per_hour=0.5, gpu="", gpus=0.0, vcpus=4.0),
    ]
    kept = [price.machine for price in prices.cheapest_of_kinds(table)]
    assert kept == ["small", "plain", "cheap", "euro", "two"]


def test_what_is_merged_is_read_back_and_replaces_only_its_own(table: Path) -> None:
    table.write_text("# Ours.\n" + ROW)
    odd = replace(
        fuller.PRICE, machine='a "b" \\ \x7f\n é', vcpus=0.5, gpu="L4", gpus=0.125, provider="x"
    )
    large = replace(fuller.PRICE, machine="large", per_hour=1e-7)
    assert prices.merge_prices(table, [odd, replace(large, provider="x"), large]) == 3
    assert prices.load_prices(table) == [large, odd, replace(large, provider="x")]
    assert table.read_text().startswith("# Ours.\n\n[[price]]\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ROW.replace("0.5", "0.5  # of all"), "has comments between its rows"),
        ('price = [{machine = "a", per_hour = 1, currency = "EUR", date = 2026-01-01, '
         'source = "b"}]', r"write each of its rows as \[\[price\]\]"),
        ("[[price]", "mine.toml"),
    ],
)  # fmt: skip
def test_a_table_is_left_alone_where_merging_would_lose_something(
    table: Path, text: str, why: str
) -> None:
    table.write_text(text)
    with pytest.raises(ConfigError, match=why):
        prices.merge_prices(table, [fuller.PRICE])
    assert table.read_text() == text


def test_a_hash_in_a_text_is_no_comment(table: Path) -> None:
    table.write_text(ROW.replace("a bill", "bill #3"))
    assert prices.merge_prices(table, [fuller.PRICE]) == 2
    assert prices.find_price("large", table).source == "bill #3"


def test_the_prices_are_listed_with_their_sources_below() -> None:
    done = call("prices")
    lines = done.out.splitlines()
    assert lines[0].split() == [
        "Machine", "Provider", "vCPUs", "GPU", "An", "hour", "Region", "Date", "Source",
    ]  # fmt: skip
    (h100,) = (line for line in lines if "h100" in line)
    assert h100.split()[1:6] == ["nebius", "16", "H100", "2.95", "USD"]
    number = h100.split()[-1]
    (source,) = (line for line in lines if line.startswith(number))
    assert source.endswith("catalogs/v8/nebius/vms.csv, commit " + prices.load_prices()[0].commit)


def test_a_table_of_ones_own_is_listed_without_what_a_terminal_would_obey(table: Path) -> None:
    table.write_text(ROW.replace("large", "\\u001b[31mlarge"))
    done = call("prices", "--prices", table)
    assert "\ufffd[31mlarge" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--price", "1 EUR", "--machine", "large"), "--price says it all"),
        (("--prices", "x.toml"), "--prices needs --machine"),
        (("--price", "1 EUR", "--prices", "x.toml"), "x.toml: "),
        (("--price", "cheap"), "write the price of an hour"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], said: str, small_home: Path
) -> None:
    done = call("compare", "flights", "--data-home", small_home, *options)
    assert done.code == 2
    assert said in done.err


def test_options_of_an_import_need_one() -> None:
    assert_one_message(call("prices", "--region", "x", "--to", "y"), 2, "--region, --to: only with")
    done = call("prices", "--import", "x.csv", "--prices", "y.toml")
    assert_one_message(done, 2, "--to names the one to import into")
