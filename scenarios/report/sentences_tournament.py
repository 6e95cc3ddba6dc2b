"""What a tournament says: who is best for perfect reasoners, who for people as they are, and who only for the former."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scenarios.report.sentences_study import amount, interval, named
from scenarios.report.wording import counted, listed
from scenarios.sweeping.standings import Standing, best_at
from scenarios.sweeping.study import Study

HEADS = ("policy", "all rational", "worst", "where", "greatest regret")
MOST = 4  # mixes that a sentence names


def verdicts(study: Study, rows: Sequence[Standing]) -> Iterator[str]:
    """The answers of a tournament, a sentence each."""
    fact, first = study.score, best_at(rows, 0)
    there = [row for row in rows if row.max_regret is not None]
    if first is None or not there:
        yield "No policy could be scored."
        return
    yield f"Scored is {named(fact)}. Where all are rational, “{first.policy}” comes first: {interval(fact, first.rational)}."
    yield steadiest(study, there[0])
    failing = [row for row in there if row.failing]
    yield from (fails(study, row) for row in failing)
    if not failing:
        yield "No policy that does better than nothing among perfect reasoners does worse than nothing under any mix."


def steadiest(study: Study, row: Standing) -> str:
    """The policy of least greatest regret."""
    mixes, fact = study.tournament.mixes, study.score  # type: ignore[union-attr]
    if not row.max_regret:
        return f"“{row.policy}” is the best under each of {counted(len(mixes), 'mix', 'mixes')}."
    at = mixes[row.regret.index(row.max_regret)].name
    return (
        f"Whoever owners are, “{row.policy}” is left least far behind: by {amount(fact, row.max_regret)} at most, "
        f"where owners are {at}."
    )


def fails(study: Study, row: Standing) -> str:
    """A policy that works only for perfect reasoners."""
    mixes, fact = study.tournament.mixes, study.score  # type: ignore[union-attr]
    names = listed([mixes[mix].name for mix in row.failing], MOST)
    return (
        f"“{row.policy}” works for perfect reasoners only: {interval(fact, row.rational)} with them, and worse than "
        f"buying nothing with {names} ({interval(fact, row.worst_score)} at worst)."
    )


def standing(study: Study, row: Standing) -> list[str]:
    """A policy's line of the table, under `HEADS`."""
    fact, mixes = study.score, study.tournament.mixes  # type: ignore[union-attr]
    where = "" if row.worst is None else mixes[row.worst].name
    return [
        row.policy,
        interval(fact, row.rational),
        interval(fact, row.worst_score),
        where,
        amount(fact, row.max_regret),
    ]
