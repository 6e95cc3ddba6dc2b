"""The protocol matters: the same budgets, epsilon = 1 for all, under the published protocol and under better ones.

Rows: the learner alone on its public rows; the protocol as published (T = 100, c_1 = 1/lambda, start at 0, running
mean); the best horizon and step size from 0 in the features as they are; with whitened features; started at the public
model, targets counted from it; the same asking in all of the T rounds that the budget is split over (the published loops
ask T - 1 times); Gaussian noise at delta = 1e-6, accounted by zCDP and exactly; AdaSSP, which asks no gradients; then step by
step each record's gradient clipped, l2 noise, shares of the budget that grow; and what `best` takes of all of it. Last, the
limit of such training, which no public choice reaches.
All choices are made on public rows, at a reference budget of 1, and were tried on the README's five shuffles; ten further
shuffles stand beside them. Figures are relative fitness psi = f/f* - 1, lower is better. The law of what is rehearsed is a
fit to trainings on the pooled records at other noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from learning.progress import Progress, counting
from scenarios.reproduce.kept import append, check_kept, read
from scenarios.reproduce.protocols import ALONE, FURTHER, LADDER, MARKETS, README, Cell, names, shuffled
from scenarios.reproduce.study import Options, Row, Study
from scenarios.schema.data import PUBLISHED
from scenarios.schema.loading import load
from scenarios.summary.verdict import STANDARD_ERRORS
from scenarios.sweeping.sharing import processes, shared_out
from scenarios.tables.paths import table_exists

WITHIN = 4 / 3  # a third above the reference, or better
COVERED = 13  # of the fifteen intervals, at least
KEPT = "protocol.csv"
# References: an earlier prototype on the same tables, its choices made with the pooled records; of the last steps one whose
# choices were public. Those of `best` are what it must come to.
REFERENCES = {
    "three_insurers": (0.10, 2.4, 0.12, 0.087, 0.052, 0.052, 0.028, 0.028, 0.028, 0.028),
    "lending_banks": (0.015, 0.31, 0.048, 0.013, 0.0063, 0.0063, 0.0019, 0.0019, 0.0019, 0.0019),
}
ERRORS = ("std_error", "law_error")
GROWN_BY = "+ growing shares"
GROWN = {"three_insurers": 0.0040, "lending_banks": 0.000047}
TARGETS = {
    ("three_insurers", "best, pure"): 0.0042,
    ("three_insurers", "best, δ = 1e-6"): 0.0030,
    ("three_insurers", "best, pure, noise shared by three"): 0.0012,
    ("lending_banks", "best, pure"): 0.00005,
    ("lending_banks", "best, δ = 1e-6"): 0.000030,
    ("lending_banks", "best, pure, noise shared by three"): 0.000012,
}
COLUMNS = (
    *("forecast (public)", "law (pooled)", "trained", "std. error", "T", "Xi", "projected"),
    *("forecast, further", "trained, further", "in interval", "over limit", "wrong, fresh"),
)
FORMATS = (".2g", ".2g", ".3g", ".1g", ".3g", ".3g", ".1%", ".2g", ".3g", "", ".3g", ".2%")


def study(options: Options, progress: Progress) -> Study:
    """Forecast, law on the pooled records, and 100 trainings, for every protocol in every market.

    Parameters
    ----------
    options : the folder where the data sets lie that do not come along, the folder to keep things in, and processes.
    progress : called with what is being done, and the share of it that is done.
    """
    check_kept(options.out, KEPT, Cell)
    options.out.mkdir(parents=True, exist_ok=True)
    needs = {market: load(market, data_folder=options.data) for market in MARKETS}
    markets = [market for market, scenario in needs.items() if table_exists(scenario)]
    skipped = [PUBLISHED[str(needs[market].data.source)] for market in MARKETS if market not in markets]
    cells = _cells(markets, options, progress)
    rows = [row for market in markets for row in _rows(market, [one for one in cells if one.market == market])]
    notes = [
        *(f"skipped: give the folder that holds {file} with --data" for file in skipped),
        f"Means over {len(README)} shuffles of the rows, on which choices were tried, and over {len(FURTHER)} further "
        "ones, which few choices were made with in view; 100 trainings each.",
        "in interval: how often the mean of the trainings lies in the forecast's 95 % interval, of all shuffles. "
        "over limit: trained, over the limit of such training. wrong, fresh: labels on rows that nobody trained on.",
        f"holds: at most a third above the reference, and trained within {STANDARD_ERRORS} standard errors of the law, or "
        f"below it where the projection (share of coordinates moved) binds; where a ceiling stands (≤), at most that, with "
        f"{COVERED} of {len(README) + len(FURTHER)} intervals that hold.",
        f"Every shuffle: {options.out / KEPT}; remove it to begin anew.",
    ]
    return Study(
        "What protocol makes of epsilon = 1 (relative fitness, lower is better)", COLUMNS, tuple(rows), tuple(notes)
    )


def _cells(markets: Sequence[str], options: Options, progress: Progress) -> list[Cell]:
    """All that was measured, computed where it is not kept."""
    kept = options.out / KEPT
    found = read(kept, Cell)
    done = {(one.market, one.seed, one.protocol) for one in found}
    asked = [(market, seed) for market in markets for seed in (*README, *FURTHER)]
    missing = [key for key in asked if any((*key, name) not in done for name in names(key[0]))]
    found = [one for one in found if (one.market, one.seed) not in missing]
    did = counting(progress, f"{len(asked)} shuffles of the rows", len(asked), len(asked) - len(missing))
    for some in _computed(missing, options):
        for one in some:
            append(kept, one)
        found += some
        did(1)
    return found


def _computed(missing: Sequence[tuple[str, int]], options: Options) -> Iterator[list[Cell]]:
    """Shuffle by shuffle, as they are done in several processes; the largest tables first."""
    workers = max(1, min(options.workers, len(missing)))
    order = sorted(missing, key=lambda key: key[0] != "lending_banks")
    with processes(workers) as pool:
        for found in shared_out([[key] for key in order], lambda keys: pool.submit(_of, keys, options.data), workers):
            yield from found


def _of(keys: Sequence[tuple[str, int]], data: Path | None) -> list[list[Cell]]:
    return [shuffled(market, seed, data) for market, seed in keys]


def _rows(market: str, cells: Sequence[Cell]) -> Iterator[Row]:
    """The rows of one market, each averaged over the shuffles."""
    by_name = {name: [one for one in cells if one.protocol == name] for name in names(market)}
    beside = {protocol.name: protocol.limit for protocol in MARKETS[market]}
    ladder = REFERENCES.get(market, ())
    known = dict(zip([ALONE, *(protocol.name for protocol in LADDER)], ladder, strict=False))
    known |= {GROWN_BY: GROWN[market]} if market in GROWN else {}
    for name, found in by_name.items():
        limit = _mean(by_name[beside[name]], "trained") if beside.get(name) else np.nan
        yield _row(f"{market}: {name}", found, limit, known.get(name), TARGETS.get((market, name)))


def _row(name: str, found: Sequence[Cell], limit: float, reference: float | None, target: float | None) -> Row:
    """Means over the shuffles, with the standard error of the trained mean."""
    first, further = [one for one in found if one.seed in README], [one for one in found if one.seed in FURTHER]
    error, law_error = (float(np.linalg.norm([getattr(one, key) for one in first])) / len(first) for key in ERRORS)
    trained, law, *plan = (_mean(first, key) for key in ("trained", "law", "horizon", "bound", "projected"))
    covered = sum(one.low <= one.trained <= one.high for one in found)
    values = [_mean(first, "forecast"), law, trained, error, *plan]
    values += [_mean(further, "forecast"), _mean(further, "trained"), np.nan, trained / limit, _mean(found, "wrong")]
    told = ["" if np.isnan(value) else format(value, how) for value, how in zip(values, FORMATS, strict=True)]
    if error == 0:  # nothing was trained
        told[3:7] = [""] * 4
    else:
        told[COLUMNS.index("in interval")] = f"{covered}/{len(found)}"
    if target is not None:
        return Row(name, tuple(told), f"≤ {target:.2g}", trained <= target and covered >= COVERED)
    if reference is None:
        return Row(name, tuple(told))
    near = error == 0 or abs(trained - law) <= STANDARD_ERRORS * float(np.hypot(error, law_error))
    bound = plan[-1] > 0 and trained < law
    return Row(name, tuple(told), f"{reference:.2g}", (near or bound) and trained <= WITHIN * reference)


def _mean(found: Sequence[Cell], key: str) -> float:
    """The mean of a number over shuffles; nan where there are none, or none of them has it."""
    return float(np.mean([getattr(one, key) for one in found])) if found else np.nan
