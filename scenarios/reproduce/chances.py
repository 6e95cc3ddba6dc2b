"""Chances that buying pays, beside how often it paid: over many tables, where owners are alike and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from learning.progress import Progress
from scenarios.reproduce.calibration import check_kept, outcomes
from scenarios.reproduce.outcome import Outcome
from scenarios.reproduce.study import Options, Row, Study
from scenarios.reproduce.varied_markets import GENERATED, LABELLED, ON_DISK, TABLES, table_file

KEPT = "chances.csv"
ARRANGEMENTS = ("alike", "alike/reports", "named", "sorted", "sorted/reports", "file", "mixed", "mixed/reports")
FIRST_SEED = 5001
ROUNDS = 20  # of Options.seeds, for one seed of every market
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
ENOUGH, CLOSE = 20, 0.15  # a bin of so many markets holds where said and paid lie no further apart
NOTHING = 1e-6  # money that is gained by rounding alone, where nothing was asked
COLUMNS = ("markets", "said", "paid", "said to pay", "of these paid")


def study(options: Options, progress: Progress) -> Study:
    """Reliability table of the chance that buying pays; what is computed is kept in the folder.

    Parameters
    ----------
    options : the folder with the data sets, the folder to keep things in, twenty seeds for each round, and processes.
    progress : called with what is being done, and the share of it that is done.
    """
    check_kept(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    tables = [table for table in TABLES if table not in ON_DISK or _there(table, options)]
    rounds = max(1, options.seeds // ROUNDS)
    asked = [(market, FIRST_SEED + i) for table in tables for market in _markets(table) for i in range(rounds)]
    found, refused = outcomes(asked, options, KEPT, progress)
    notes = [f"{table} skipped: give its folder with --data" for table in TABLES if table not in tables]
    notes += [f"{market}, seed {seed}, is no market: {why}" for market, seed, why in refused]
    return Study("How true the chances are", COLUMNS, tuple(_rows(found)), (*_notes(found), *notes))


def _there(table: str, options: Options) -> bool:
    file = table_file(table, options.data)
    return file is not None and file.is_file()


def _markets(table: str) -> list[str]:
    """The markets of a table; generated rows have no order of their own, and owners' own slopes instead."""
    arrangements = [one if table not in GENERATED else one.replace("file", "slopes") for one in ARRANGEMENTS]
    return [f"{table}/{one}" for one in arrangements if one != "slopes" or table not in LABELLED]


def _rows(found: Sequence[Outcome]) -> Iterator[Row]:
    for name, differ in (("all", (True, False)), ("owners alike", (False,)), ("owners differ", (True,))):
        some = [one for one in found if one.differ in differ]
        for low, high in zip(EDGES[:-1], EDGES[1:], strict=True):
            last = high == EDGES[-1]
            part = [one for one in some if low <= one.chance_pays and (one.chance_pays < high or last)]
            yield _row(f"{name}, {low:.0%} to {high:.0%}", part)
        yield _row(name, some)


def _row(name: str, found: Sequence[Outcome]) -> Row:
    """One bin: how many markets, the mean chance and the share that paid, and the same of those said to pay."""
    if not found:
        return Row(name, ("0", "", "", "", ""))
    chance = float(np.mean([one.chance_pays for one in found]))
    paid = float(np.mean([one.gain > NOTHING for one in found]))
    said = [one.gain > NOTHING for one in found if one.said]
    holds = None if len(found) < ENOUGH else abs(chance - paid) <= CLOSE
    right = f"{np.mean(said):.0%}" if said else ""
    return Row(name, (str(len(found)), f"{chance:.0%}", f"{paid:.0%}", str(len(said)), right), "", holds)


def _notes(found: Sequence[Outcome]) -> list[str]:
    """The same by arrangement, and what else was promised."""
    notes = []
    for name in dict.fromkeys(one.market.partition("/")[2] for one in found):
        row = _row(name, [one for one in found if one.market.partition("/")[2] == name])
        notes.append(f"{name}: {row.values[0]} markets, {row.values[1]} said, {row.values[2]} paid")
    held = np.mean([one.agrees for one in found])
    own = np.mean([one.own_low <= one.own <= one.own_high for one in found])
    return [*notes, f"In 95 % intervals: {held:.0%} of trained models, {own:.0%} of the learner's own."]
