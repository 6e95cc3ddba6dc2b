"""Reliability table of chances that buying pays, with owners alike and owners that differ counted apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chances.varied_markets import GENERATED, LABELLED, ON_DISK, TABLES, table_file, varied_market
from learning.errors import InputError
from learning.progress import Progress, count_progress
from learning.threads import one_blas_thread
from reproduction.calibration import Outcome, compare_run
from reproduction.study import Options, Row, Study, append_rows, read_rows
from scenarios.planning import prepare
from scenarios.runner import carry_out
from scenarios.summary.validation import kind_p_values
from scenarios.summary.verdict import SIGNIFICANT, buying_pays, gain_part
from scenarios.sweeping.sharing import processes, shared_out

KEPT = "chances.csv"
ARRANGEMENTS = (
    "alike",
    "alike/reports",
    "named",
    "sorted",
    "sorted/reports",
    "file",
    "mixed",
    "mixed/reports",
)
FIRST_SEED = 5001
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
ENOUGH = 20  # a bin of so many markets holds where said and paid lie no further apart
CLOSE = 0.15
NOTHING = 1e-6  # money that is gained by rounding alone, where nothing was asked
COLUMNS = ("markets", "said", "paid", "said to pay", "of these paid")
Key = tuple[str, int]  # a market and a seed
Refused = tuple[str, int, str]  # and why there is no outcome


@dataclass(frozen=True)
class Purchase(Outcome):
    """An outcome of a market, with the verdict on buying.

    Parameters
    ----------
    said: whether buying was said to pay.
    differ: whether owners, or they and the learner's rows, differ in kind, by the simulator's own
        test on all records.
    """

    said: bool
    differ: bool


def study(options: Options, progress: Progress) -> Study:
    """Compute the reliability table of the chance that buying pays; outcomes are kept in the folder.

    Parameters
    ----------
    options : the folder with the data sets, the folder to keep things in, seeds of each market, and
        processes.
    progress : called with what is being done, and the share of it that is done.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    tables = [table for table in TABLES if table not in ON_DISK or _there(table, options)]
    markets = [market for table in tables for market in _markets(table)]
    asked = [(market, FIRST_SEED + i) for market in markets for i in range(options.seeds)]
    found, refused = _purchases(asked, options, progress)
    notes = [
        f"{table} skipped: give its folder with --data" for table in TABLES if table not in tables
    ]
    notes += [f"{market}, seed {seed}, is no market: {why}" for market, seed, why in refused]
    return Study("How true the chances are", COLUMNS, tuple(_rows(found)), (*_notes(found), *notes))


@one_blas_thread()
def purchase(market: str, seed: int, data: Path | None) -> Purchase:
    """Settle a market, forecast, train, and compare."""
    with varied_market(market, seed, data) as scenario:
        prepared = prepare(scenario)
    run = carry_out(scenario, prepared, others=False)
    one = compare_run(market, run)
    paid = float(run.game.payments(run.epsilon).sum())
    surplus = run.game.value * (run.game.forecast.outside - run.game.fitness(run.epsilon)) - paid
    said = buying_pays(gain_part(run.prediction.gain(run.game.value, paid)), surplus)
    differ = min(kind_p_values(run.scenario, run.data)) <= SIGNIFICANT
    return Purchase(**vars(one), said=said, differ=differ)


def _purchases(
    asked: Sequence[Key], options: Options, progress: Progress
) -> tuple[list[Purchase], list[Refused]]:
    """Compute what is not kept yet, the next seed of every market before another of one; list what is no market."""
    kept = options.out / KEPT
    refused = []
    done = {(one.market, one.seed): one for one in read_rows(kept, Purchase)}
    missing = [key for key in asked if key not in done]
    turns = sorted(missing, key=lambda key: key[1])
    did = count_progress(
        progress,
        f"settling and training {len(asked):,} markets",
        len(asked),
        len(asked) - len(missing),
    )
    workers = max(1, min(options.workers, len(turns)))
    with processes(workers) as pool:
        groups = [[key] for key in turns]
        for part in shared_out(groups, lambda keys: pool.submit(_of, keys, options.data), workers):
            for one in part:
                did(1)
                if not isinstance(one, Purchase):
                    refused.append(one)
                    continue
                done[one.market, one.seed] = one
                append_rows(kept, [one])
    return [done[key] for key in asked if key in done], refused


def _of(keys: Sequence[Key], data: Path | None) -> list[Purchase | Refused]:
    found: list[Purchase | Refused] = []
    for name, seed in keys:
        try:
            found.append(purchase(name, seed, data))
        except InputError as error:
            found.append((name, seed, str(error)))
    return found


def _there(table: str, options: Options) -> bool:
    file = table_file(table, options.data)
    return file is not None and file.is_file()


def _markets(table: str) -> list[str]:
    """The markets of a table; generated rows have no order of their own, and owners' own slopes instead."""
    arrangements = [
        one if table not in GENERATED else one.replace("file", "slopes") for one in ARRANGEMENTS
    ]
    return [f"{table}/{one}" for one in arrangements if one != "slopes" or table not in LABELLED]


def _rows(found: Sequence[Purchase]) -> Iterator[Row]:
    for name, differ in (
        ("all", (True, False)),
        ("owners alike", (False,)),
        ("owners differ", (True,)),
    ):
        some = [one for one in found if one.differ in differ]
        for low, high in zip(EDGES[:-1], EDGES[1:], strict=True):
            last = high == EDGES[-1]
            part = [
                one for one in some if low <= one.chance_pays and (one.chance_pays < high or last)
            ]
            yield _row(f"{name}, {low:.0%} to {high:.0%}", part)
        yield _row(name, some)


def _row(name: str, found: Sequence[Purchase]) -> Row:
    """One bin: how many markets, the mean chance and the share that paid, and the same of those said to pay."""
    if not found:
        return Row(name, ("0", "", "", "", ""))
    chance = float(np.mean([one.chance_pays for one in found]))
    paid = float(np.mean([one.gain > NOTHING for one in found]))
    said = [one.gain > NOTHING for one in found if one.said]
    holds = None if len(found) < ENOUGH else abs(chance - paid) <= CLOSE
    right = f"{np.mean(said):.0%}" if said else ""
    return Row(
        name, (str(len(found)), f"{chance:.0%}", f"{paid:.0%}", str(len(said)), right), "", holds
    )


def _notes(found: Sequence[Purchase]) -> list[str]:
    """The same by arrangement, and what else was promised."""
    notes = []
    for name in dict.fromkeys(one.market.partition("/")[2] for one in found):
        row = _row(name, [one for one in found if one.market.partition("/")[2] == name])
        notes.append(f"{name}: {row.values[0]} markets, {row.values[1]} said, {row.values[2]} paid")
    held = np.mean([one.agrees for one in found])
    own = np.mean([one.own_low <= one.own <= one.own_high for one in found])
    return [
        *notes,
        f"In 95 % intervals: {held:.0%} of trained models, {own:.0%} of the learner's own.",
    ]
