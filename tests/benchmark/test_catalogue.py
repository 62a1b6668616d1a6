"""Rows in the form of the SkyPilot catalogue become a table of prices, or are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.benchmark import prices
from pipeline.benchmark.catalogue import COLUMNS, Catalogue
from pipeline.errors import ConfigError
from tests.commands import call

HEAD = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice"
)
INFO = """"{'Gpus': [{'Name': 'L4', 'Manufacturer': 'NVIDIA', 'Count': 1}]}\""""
ROWS = f"""{HEAD}
small,,,4.0,16.0,0.25,north,,
small,,,4.0,16.0,0.2,south,,0.01
small,,,4.0,16.0,0.2,west,,
large,L4,1.0,8,32.0,1.5,north,{INFO},0.4
half,L4,0.5,,16.0,0.75,south,,
later,L4,8,64,512,,south,{INFO},2.0
free,,,2,4,0.0,south,,
other,MI300X,8,128,1024,20,south,"{{'Gpus': [{{'Manufacturer': 'AMD'}}]}}",
tensor,tpu-v5e,1,128,1024,20,south,,
"""
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SAID = {"commit": COMMIT, "date": "2026-11-23"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "catalogs/v8/cloud/vms.csv"
    path.parent.mkdir(parents=True)
    path.write_text(ROWS)
    return path


def test_the_cheapest_region_of_each_machine_is_taken_and_never_a_spot_price(file: Path) -> None:
    imported = Catalogue(file, **SAID).read()
    read = {p.machine: (p.per_hour, p.region, p.vcpus, p.gpu, p.gpus) for p in imported.prices}
    assert read == {
        "small": (0.2, "south", 4, "", 0),
        "large": (1.5, "north", 8, "L4", 1),
        "half": (0.75, "south", None, "L4", 0.5),
    }
    assert {p.provider for p in imported.prices} == {"cloud"}
    assert {p.source for p in imported.prices} == {
        "skypilot-org/skypilot-catalog, catalogs/v8/cloud/vms.csv"
    }
    assert {(p.commit, p.date, p.currency) for p in imported.prices} == {
        (COMMIT, "2026-11-23", "USD")
    }
    assert str(imported) == (
        "9 rows, 3 machines, each in its cheapest region; 2 left out: without a price; "
        "2 left out: with an accelerator that is not NVIDIA's"
    )


def test_a_region_can_be_named(file: Path) -> None:
    imported = Catalogue(file, **SAID).read("north")
    assert {p.machine: p.per_hour for p in imported.prices} == {"small": 0.25, "large": 1.5}
    assert "2 machines, in north" in str(imported)
    assert "3 left out: of other regions" in str(imported)
    with pytest.raises(ConfigError, match=r"--region 'east' .*; it has: north, south, west"):
        Catalogue(file, **SAID).read("east")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("bad,,,4,16,dear,north,,", "line 2: Price is 'dear', which is no number"),
        ("bad,,,4,16,-1,north,,", "line 2: Price is '-1'"),
        ("bad,,,4,16,nan,north,,", "line 2: Price is 'nan'"),
        ("bad,,,four,16,1,north,,", "line 2: vCPUs is 'four'"),
        ("bad,L4,,4,16,1,north,,", "line 2: AcceleratorName is 'L4', AcceleratorCount ''"),
        ("bad,,1,4,16,1,north,,", "line 2: AcceleratorName is '', AcceleratorCount '1'"),
        (",,,4,16,1,north,,", "line 2: InstanceType is empty"),
        ("bad,,,4,16,1", "line 2: not as many cells as the head"),
        ("bad,,,4,16,1,north,,,,", "line 2: not as many cells as the head"),
        (",L4,1,,,0.5,north,,", "line 2 prices 'L4' without a machine, so that"),
    ],
)
def test_a_faulty_row_is_named_by_its_line_and_nothing_is_written(
    file: Path, line: str, why: str, tmp_path: Path
) -> None:
    file.write_text(ROWS.replace(HEAD, f"{HEAD}\n{line}"))
    to = tmp_path / "prices.toml"
    done = call("prices", "--import", file, "--commit", COMMIT, "--date", "2026-11-23", "--to", to)
    assert done.code == 2
    assert why in done.err
    assert not to.exists()


def test_many_faulty_rows_are_counted(file: Path) -> None:
    file.write_text(HEAD + "\n" + "bad,,,4,16,dear,north,,\n" * 8)
    with pytest.raises(ConfigError, match=r"line 2: .*line 6: .* and 3 more$"):
        Catalogue(file, **SAID).read()


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_that_is_not_there_is_named(file: Path, column: str) -> None:
    file.write_text(ROWS.replace(column, "Other", 1))
    with pytest.raises(ConfigError, match=f"has no column {column}; a vms.csv of"):
        Catalogue(file, **SAID).read()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"commit": ""}, "the file does not say its --commit: give --provider NAME"),
        ({"date": " "}, "the file does not say its --date"),
        ({"commit": "main"}, "--commit 'main': write 7 to 40"),
        ({"date": "20261123"}, "--date '20261123': write it as YYYY-MM-DD"),
        ({"date": "2026-02-30"}, "write it as YYYY-MM-DD"),
    ],
)
def test_what_the_file_cannot_say_is_asked_for(
    file: Path, change: dict[str, str], why: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)):
        Catalogue(file, **(SAID | change)).read()


def test_a_file_that_lies_elsewhere_needs_its_provider(file: Path, tmp_path: Path) -> None:
    moved = file.rename(tmp_path / "vms.csv")
    with pytest.raises(ConfigError, match="does not say its --provider"):
        Catalogue(moved, **SAID).read()
    told = Catalogue(moved, **SAID, provider="cloud", source="our list").read()
    assert {(p.provider, p.source) for p in told.prices} == {("cloud", "our list")}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (HEAD.encode(), "no price to take: 0 rows"),
        (b"", "has no column InstanceType"),
        (b"\xff\xfe\x00", "can't decode"),
        (f'{HEAD}\n"a'.encode(), "unexpected end of data"),
    ],
)
def test_a_file_that_holds_nothing_of_it_is_told(file: Path, content: bytes, why: str) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=why):
        Catalogue(file, **SAID).read()


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        Catalogue(tmp_path / "vms.csv", **SAID, provider="cloud").read()


def test_an_import_makes_a_table_that_prices_a_machine(file: Path, tmp_path: Path) -> None:
    to = tmp_path / "made/prices.toml"
    words = ("prices", "--import", file, "--commit", COMMIT, "--date", "2026-11-23", "--to", to)
    done = call(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        str(Catalogue(file, **SAID).read()), f"prices: {to} (3 machines); name it with --prices",
    ]  # fmt: skip
    assert prices.find_price("cloud/large", to).per_hour == 1.5
    file.write_text(ROWS.replace("1.5", "1.25"))
    assert call(*words, "--region", "north").code == 0
    assert {p.machine: p.per_hour for p in prices.load_prices(to)} == {
        "small": 0.25, "large": 1.25, "half": 0.75,
    }  # fmt: skip


def _info(gpu: str, count: str, mebibytes: int) -> str:
    return (
        f"\"{{'Gpus': [{{'Name': '{gpu}', 'Manufacturer': 'NVIDIA', 'Count': {count}, "
        f"'MemoryInfo': {{'SizeInMiB': {mebibytes}}}}}], 'TotalGpuMemoryInMiB': {mebibytes}}}\""
    )


REAL = {
    "nebius": (
        "cpu-d3_16vcpu-64gb,,0,16,64,0.3968,eu-north1,,",
        "cpu-d3_16vcpu-64gb,,0,16,64,0.3968,eu-west1,,",
        f"gpu-h100-sxm_1gpu-16vcpu-200gb,H100,1,16,200,2.95,eu-north1,{_info('H100', '1', 81920)},1.25",  # noqa: E501
        f"gpu-h200-sxm_1gpu-16vcpu-200gb,H200,1,16,200,3.50,eu-north1,{_info('H200', '1', 144384)},1.45",  # noqa: E501
        f"gpu-l40s-a_1gpu-8vcpu-32gb,L40S,1,8,32,1.5484,eu-north1,{_info('L40S', '1', 49152)},",
    ),
    "lambda": (
        "cpu_4x_general,,,4.0,16.0,0.2,us-east-1,,",
        f"gpu_1x_a6000,A6000,1.0,14.0,100.0,0.8,us-east-1,{_info('A6000', '1.0', 49152)},",
    ),
}  # fmt: skip
"""Rows of the catalogue at the commits that the table names."""


@pytest.mark.parametrize("provider", REAL)
def test_the_table_that_comes_along_is_what_the_catalogues_rows_give(
    tmp_path: Path, provider: str
) -> None:
    rows = [price for price in prices.load_prices() if price.provider == provider]
    file = tmp_path / f"catalogs/v8/{provider}/vms.csv"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join((HEAD, *REAL[provider])))
    read = Catalogue(file, rows[0].commit, rows[0].date).read()
    assert sorted(read.prices, key=repr) == sorted(rows, key=repr)
