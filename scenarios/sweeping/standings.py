"""How policies stand in a tournament: against people who reason perfectly, and against people as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from scenarios.sweeping.answers import Estimate, estimate
from scenarios.sweeping.study import Study

Scores = Mapping[int, float]  # by replication


@dataclass(frozen=True)
class Standing:
    """How a policy does under each mix of behaviours; the first is all rational.

    Parameters
    ----------
    policy : what it is called.
    scores : of each mix, over the seeds; None where no cell could be computed.
    lost : what the mix costs against all rational owners, seed by seed; None where either is
        missing.
    regret : how far its mean score lies below that of the best policy under the same mix; None
        likewise.
    """

    policy: str
    scores: tuple[Estimate | None, ...] = field(repr=False)
    lost: tuple[Estimate | None, ...] = field(repr=False)
    regret: tuple[float | None, ...] = field(repr=False)

    @property
    def rational(self) -> Estimate | None:
        """Its score where all are rational."""
        return self.scores[0]

    @property
    def worst(self) -> int | None:
        """The number of the mix of the lowest mean score; None where there is no score."""
        there = [(score.mean, mix) for mix, score in enumerate(self.scores) if score is not None]
        return min(there)[1] if there else None

    @property
    def worst_score(self) -> Estimate | None:
        """The score under that mix."""
        return None if self.worst is None else self.scores[self.worst]

    @property
    def max_regret(self) -> float | None:
        """Savage's: the most that another policy would have been better by, over the mixes."""
        there = [one for one in self.regret if one is not None]
        return max(there) if there else None

    @property
    def failing(self) -> tuple[int, ...]:
        """The mixes under which it does worse than doing nothing, which scores 0, though with all rational it does better.

        On average over the seeds; and what the mix costs lies above 0 with its whole 95 % interval,
        seed by seed.
        """
        if self.rational is None or self.rational.mean <= 0:
            return ()
        both = enumerate(zip(self.scores, self.lost, strict=True))
        return tuple(
            mix for mix, (score, lost) in both if score and lost and score.mean < 0 < _least(lost)
        )


def standings(study: Study, table: pa.Table) -> list[Standing]:
    """Every policy of a tournament, least greatest regret first, those without any score last.

    Source: Savage, The Theory of Statistical Decision (1951), for the order.
    """
    contest = study.tournament
    assert contest is not None
    seen = _scores(study.score, table)
    cells = [
        [seen.get(contest.number(i, j), {}) for j in range(len(contest.mixes))]
        for i in range(len(contest.policies))
    ]
    scores = [[estimate(list(one.values())) if one else None for one in row] for row in cells]
    best = [
        max((one.mean for one in column if one), default=None)
        for column in zip(*scores, strict=True)
    ]
    made = []
    for policy, row, told in zip(contest.policies, cells, scores, strict=True):
        lost = tuple(_lost(row[0], one) for one in row)
        regret = tuple(
            top - score.mean if score and top is not None else None
            for top, score in zip(best, told, strict=True)
        )
        made.append(Standing(policy.name, tuple(told), lost, regret))
    return sorted(made, key=lambda one: (one.max_regret is None, one.max_regret or 0.0))


def _scores(fact: str, table: pa.Table) -> dict[int, dict[int, float]]:
    """A fact by point and replication, where it is there."""
    found: dict[int, dict[int, float]] = {}
    if fact not in table.column_names:
        return found
    columns = (table[name].to_pylist() for name in ("cell", "replication", fact))
    for number, replication, value in zip(*columns, strict=True):
        if value is not None:
            found.setdefault(number, {})[replication] = float(value)
    return found


def _lost(rational: Scores, mix: Scores) -> Estimate | None:
    less = [rational[seed] - score for seed, score in mix.items() if seed in rational]
    return estimate(less) if less else None


def _least(lost: Estimate) -> float:
    return lost.mean if lost.low is None else lost.low


def best_at(rows: Sequence[Standing], mix: int) -> Standing | None:
    """The policy of the highest mean score under a mix; None without scores."""
    there = [row for row in rows if row.scores[mix] is not None]
    return max(there, key=lambda row: row.scores[mix].mean) if there else None  # type: ignore[union-attr]


def standing_table(study: Study, rows: Sequence[Standing]) -> dict[str, list[Any]]:
    """A row for each policy and mix, by column: the score, what the mix costs, and the regret."""
    contest = study.tournament
    assert contest is not None
    every = [(row, mix) for row in rows for mix in range(len(contest.mixes))]
    columns: dict[str, list[Any]] = {
        "policy": [row.policy for row, _ in every],
        "mix": [contest.mixes[mix].name for _, mix in every],
    }
    for name, told in (("score", "scores"), ("lost", "lost")):
        for part in Estimate._fields[:3]:
            ends = [getattr(row, told)[mix] for row, mix in every]
            columns[name if part == "mean" else f"{name}_{part}"] = [
                one and getattr(one, part) for one in ends
            ]
    columns["regret"] = [row.regret[mix] for row, mix in every]
    columns["fails"] = [mix in row.failing for row, mix in every]
    return columns
