"""What the benchmark needs beside everything else: its lock, and how it is installed."""

from __future__ import annotations

import re

import pytest

from tests.test_environment import PLACES, PROJECT, ROOT, pins, versions
from tests.test_make import commands

GROUPS = ["bench", "tables"]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("extra", "python"), PLACES)
def test_the_shared_packages_have_the_same_versions(extra, python, group) -> None:
    added, other = versions(group, python), versions(extra, python)
    assert {name: v for name, v in added.items() if other.get(name, v) != v} == {}
    assert {"numpy", "pandas"} <= set(added) & set(other)


@pytest.mark.parametrize("group", GROUPS)
def test_the_lock_has_what_the_group_declares(group) -> None:
    names = {re.match(r"[\w-]+", text)[0] for text in PROJECT["dependency-groups"][group]}
    assert names
    assert names <= set(versions(group, "3.12"))


@pytest.mark.parametrize("group", GROUPS)
def test_every_pin_is_exact_and_hashed_and_no_index_is_named(group) -> None:
    found = pins(group)
    assert all(hashes and str(pin.specifier).startswith("==") for pin, hashes in found.items())
    text = (ROOT / "requirements" / f"{group}.txt").read_text()
    assert re.findall(r"://|^-.*| @ |file:|^[./].*", text, re.MULTILINE) == []


@pytest.mark.parametrize(
    ("target", "claim"), [("bench", "all"), ("bench-preprocessing", "preprocessing")]
)
def test_make_adds_the_group_before_it_measures(target, claim) -> None:
    lines = commands(target, "REPEATS=3", "SEED=5")
    added, measured = (
        next(i for i, line in enumerate(lines) if part in line)
        for part in ("--with bench", f"-m tools.bench {claim} --seed '5' --repeats '3'")
    )
    assert added < measured
    assert lines[-1].endswith("'.venv/bin/python' -m tools.docs")
