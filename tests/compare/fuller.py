"""A made-up record with everything that a comparison may have; every number is synthetic."""

from __future__ import annotations

from msgspec.structs import replace

from pipeline.compare.results import Past, Price, Profile, Results
from tests.compare import fixtures

PRICE = Price(
    machine="synthetic.large", per_hour=3.6, currency="EUR", date="2026-01-31", source="made up"
)


def everything() -> Results:
    """Return a record with a GPU, sizes, a price, earlier records and profiles."""
    base = fixtures.with_sizes(fixtures.with_gpu())
    medians = {f"{cell.spec}/{cell.variant}": 1.25 for cell in base.cells}
    past = [
        Past(created=f"2026-01-0{day}T00:00:00+00:00", commit="0123456789abcdef", cpu="Example CPU",
             gpus=["Synthetic GPU 0"], medians=medians)
        for day in (1, 2)
    ]  # fmt: skip
    profiles = [
        Profile(spec="forest", variant="cpu", file="profile-1.html", why=""),
        Profile(spec="forest", variant="reference", file="", why="not installed"),
    ]
    return replace(base, price=PRICE, history=past, profiles=profiles)
