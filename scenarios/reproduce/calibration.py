"""How true the promises are: markets settled and trained under many seeds, what was told before beside what came of it.

An interval that is said to hold the truth nineteen times in twenty should do so, and of events said to have a chance of
80 % about four in five should happen. Every seed shuffles the rows, so that the learner's own are others, settles the
market, forecasts, and trains. Seeds are fresh: nothing was chosen or fitted on them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from learning.errors import InputError
from learning.progress import Progress, counting
from scenarios.output.unfinished import put
from scenarios.reproduce.calibration_figure import draw
from scenarios.reproduce.kept import append, check_kept, read
from scenarios.reproduce.outcome import GENERATED, Outcome, outcome
from scenarios.reproduce.study import Options, Row, Study
from scenarios.schema.data import PUBLISHED
from scenarios.schema.loading import load
from scenarios.sweeping.sharing import processes, shared_out
from scenarios.tables.paths import table_exists

MARKETS = ("three_insurers", "three_insurers_health", "lending_banks", "adult_income", "cancer_clinics", GENERATED)
KEPT, DRAWN = "calibration.csv", "calibration.svg"
FEW_ROWS = (
    "three_insurers_health,300",
    "lending_banks,150",
    "adult_income,300",
    "fraud_detection,300",
    "fraud_detection,500",
)
FIRST_SEED = 1001
LIKELY = 0.8  # events of this chance are counted
COVERED, HAPPENS = 0.9, (0.7, 0.9)  # what 95 % intervals should cover at least, and how often such events happen
COLUMNS = ("seeds", "model", "own model", "gain", "gains more", "gains less", "to pay", "paid")
BAD_CASES = 12


def study(options: Options, progress: Progress) -> Study:
    """Coverage and calibration in each market; what is computed is kept in the folder, and not computed again.

    Parameters
    ----------
    options : the folder with the data sets, the folder to keep things in, seeds of each market, and processes.
    progress : called with what is being done, and the share of it that is done.
    """
    check_outcomes(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    kept, notes = options.out / KEPT, []
    needs = {name: _table(name, options) for name in (*MARKETS, *FEW_ROWS)}
    markets = [name for name, (_, there) in needs.items() if there]
    for name in sorted(set(needs) - set(markets)):
        file = needs[name][0]
        notes.append(f"{name} skipped: give the folder that holds {file} with --data")
    asked = [(name, FIRST_SEED + i) for name in markets for i in range(options.seeds)]
    done = {(one.market, one.seed): one for one in read(kept, Outcome)}
    missing = [key for key in asked if key not in done]
    stage = f"settling and training {len(asked):,} markets"
    did = counting(progress, stage, len(asked), len(asked) - len(missing))
    for one in _computed(missing, options):
        done[one.market, one.seed] = one
        append(kept, one)
        did(1)
    found = [done[key] for key in asked]
    put(options.out / DRAWN, draw([one for one in found if one.market in MARKETS]))
    return Study(
        "How true the promises are (share of seeds)",
        COLUMNS,
        tuple(_rows(markets, found)),
        (*_explained(kept), *_bad(found), *notes),
    )


def check_outcomes(out: Path) -> None:
    """Refuse a folder to keep outcomes in that cannot be written to, or that holds files of these names by others.

    Raises
    ------
    InputError
    """
    table = check_kept(out, KEPT, Outcome)
    if table and not table.is_file() and os.path.lexists(table.with_name(DRAWN)):
        rule = "must be a new folder or one that holds earlier outcomes"
        raise InputError("--out", rule, f"{DRAWN} without {KEPT} in {out}", "Name another one.")


def _table(market: str, options: Options) -> tuple[str, bool]:
    """The published table a market needs, and whether it can be computed."""
    if market == GENERATED:
        return "", True
    scenario = load(market.partition(",")[0], data_folder=options.data)
    return PUBLISHED.get(str(scenario.data.source), ""), table_exists(scenario)


def _computed(missing: Sequence[tuple[str, int]], options: Options) -> Iterator[Outcome]:
    """As they are done, in several processes; the next seed of every market before another of one."""
    turns = sorted(missing, key=lambda key: key[1])
    workers = max(1, min(options.workers, len(turns)))
    with processes(workers) as pool:
        for found in shared_out([[key] for key in turns], lambda keys: pool.submit(_of, keys, options.data), workers):
            yield from found


def _of(keys: Sequence[tuple[str, int]], data: Path | None) -> list[Outcome]:
    return [outcome(name, seed, data) for name, seed in keys]


def _rows(markets: Iterable[str], found: Sequence[Outcome]) -> Iterator[Row]:
    for name in markets:
        yield _row(name, [one for one in found if one.market == name])
    yield _row("all", found)


def _row(name: str, found: Sequence[Outcome]) -> Row:
    """One market's shares, and whether they are what they should be."""
    rank = np.array([one.rank for one in found])
    model = float(np.mean([one.agrees for one in found]))
    own = float(np.mean([one.own_low <= one.own <= one.own_high for one in found]))
    gain, more, less = (float(np.mean(part)) for part in (abs(rank - 0.5) <= 0.45, rank > 1 - LIKELY, rank < LIKELY))
    told, came = float(np.mean([one.chance_pays for one in found])), float(np.mean([one.gain > 0 for one in found]))
    holds = min(model, own) >= COVERED and all(HAPPENS[0] <= share <= HAPPENS[1] for share in (more, less))
    return Row(
        name, (str(len(found)), *(f"{share:.0%}" for share in (model, own, gain, more, less, told, came))), "", holds
    )


def _explained(kept: Path) -> list[str]:
    low, high = HAPPENS
    return [
        f"model, own model: truth inside the forecast's 95 % interval; holds from {COVERED:.0%}.",
        "gain: the learner's, in money, inside its 90 % interval.",
        f"gains more, gains less: events called {LIKELY:.0%} that came true; holds from {low:.0%} to {high:.0%}.",
        "to pay, paid: mean chance called that buying pays, and how often it paid.",
        f"Every outcome: {kept}; remove it to begin anew. Figure: {kept.with_suffix('.svg')}",
    ]


def _bad(found: Sequence[Outcome]) -> list[str]:
    """The worst misses, by the factor that lies between interval and truth, and losses that were hardly told of."""
    missed = sorted(
        (one for one in found if not one.agrees), key=lambda one: -max(one.trained / one.high, one.low / one.trained)
    )
    lost = sorted((one for one in found if one.gain < 0 and one.chance_pays > LIKELY), key=lambda one: one.gain)
    worse = sum(one.trained > one.own for one in found)
    notes = [
        f"missed: {one.market}, seed {one.seed}: {one.forecast:.2g} [{one.low:.2g}, {one.high:.2g}] forecast, "
        f"{one.trained:.2g} trained, {one.own:.2g} the learner's own model"
        for one in missed[:BAD_CASES]
    ]
    notes += [
        f"lost: {one.market}, seed {one.seed}: called to pay with {one.chance_pays:.0%}, {one.gain:,.0f} came of it"
        for one in lost[:BAD_CASES]
    ]
    rest = len(missed[BAD_CASES:]) + len(lost[BAD_CASES:])
    return [
        *notes,
        f"{rest} more in the file." if rest else "",
        f"Trained models worse than the learner's own: {worse} of {len(found)}.",
    ]
