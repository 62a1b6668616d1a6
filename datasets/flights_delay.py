"""Flights that left New York City in 2013, and how late they arrived.

The rows and columns of `datasets.flights`, with the minutes in place of the class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from . import _store, flights
from ._store import Column

NAME = "flights_delay"
TITLE = "Flights out of New York City in 2013: how many minutes late on arrival?"
LICENCE, SOURCE, CITATION = flights.LICENCE, flights.SOURCE, flights.CITATION
ROWS = 327_346
TARGET = "delay"
COLUMNS = {name: column for name, column in flights.COLUMNS.items() if name != flights.TARGET} | {
    "delay": Column("target", "float32", "arrival after schedule, minutes; negative if early")
}
CARD = replace(flights.CARD, dataset=NAME, target=TARGET, columns=COLUMNS)


prepare = partial(_store.prepare, CARD, partial(flights.months, COLUMNS))
