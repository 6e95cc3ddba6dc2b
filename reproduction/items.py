"""Every item of the reproduction book, in the order of its page, and the studies."""

from __future__ import annotations

from reproduction import (
    bounds,
    collaboration,
    constants,
    errata,
    rivals,
    thesis,
    timing,
    weighted,
)
from reproduction.beside.page import run_beside
from reproduction.calibration import run_calibration
from reproduction.differing import run_differing
from reproduction.intervals import run_intervals
from reproduction.item import Item
from reproduction.protocol import run_protocol
from reproduction.second import add_second_column

ITEMS: tuple[Item, ...] = (
    *map(add_second_column, (*collaboration.ITEMS, *timing.ITEMS)),
    *weighted.ITEMS,
    *thesis.ITEMS,
    *bounds.ITEMS,
    *rivals.ITEMS,
    *constants.ITEMS,
    *errata.ITEMS,
)
STUDIES = {
    "protocol": run_protocol,
    "calibration": run_calibration,
    "intervals": run_intervals,
    "differing": run_differing,
    "beside": run_beside,
}
