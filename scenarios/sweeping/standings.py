"""Standings of policies in a tournament: against perfect reasoners, and against people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from scenarios.sweeping.answers import Estimate, estimate, subtract
from scenarios.sweeping.study import Study


@dataclass(frozen=True)
class Standing:
    """Scores of a policy under each mix of behaviours; the first is all rational.

    Parameters
    ----------
    policy : its name.
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
        return max((one for one in self.regret if one is not None), default=None)

    @property
    def failing(self) -> tuple[int, ...]:
        """The mixes under which it scores below 0, although above 0 where all owners are rational.

        Buying nothing scores 0. Scores are means over the seeds; and the 95 % interval of what the
        mix costs, seed by seed, lies above 0 as a whole.
        """
        if self.rational is None or self.rational.mean <= 0:
            return ()
        both = enumerate(zip(self.scores, self.lost, strict=True))
        return tuple(
            mix for mix, (score, lost) in both if score and lost and score.mean < 0 < _least(lost)
        )


def _least(lost: Estimate) -> float:
    return lost.mean if lost.low is None else lost.low


def standings(study: Study, table: pa.Table) -> list[Standing]:
    """Rank the policies of a tournament, least greatest regret first, those without score last.

    Source: Savage, The Theory of Statistical Decision (1951), for the order.
    """
    contest = study.tournament
    assert contest is not None
    seen = _scores_of(study.score, table)
    mixes = range(len(contest.mixes))
    made = []
    for i, policy in enumerate(contest.policies):
        row = [seen.get(contest.number(i, mix), {}) for mix in mixes]
        scores = tuple(_estimate_any(list(one.values())) for one in row)
        lost = tuple(_estimate_any(subtract(row[0], one)) for one in row)
        made.append(Standing(policy.name, scores, lost, ()))
    best = [best_at(made, mix) for mix in mixes]
    ranked = [replace(one, regret=tuple(_regret(one, best, mix) for mix in mixes)) for one in made]
    return sorted(ranked, key=lambda one: (one.max_regret is None, one.max_regret or 0.0))


def _scores_of(fact: str, table: pa.Table) -> dict[int, dict[int, float]]:
    """Collect a fact by point and replication, where it is there."""
    found: dict[int, dict[int, float]] = {}
    if fact in table.column_names:
        for row in table.select(["cell", "replication", fact]).to_pylist():
            if row[fact] is not None:
                found.setdefault(row["cell"], {})[row["replication"]] = float(row[fact])
    return found


def _estimate_any(values: Sequence[float]) -> Estimate | None:
    return estimate(values) if values else None


def _regret(one: Standing, best: Sequence[Standing | None], mix: int) -> float | None:
    """Return how far a policy lies below the best one under a mix."""
    top = best[mix]
    score = one.scores[mix]
    if top is None or score is None:
        return None
    return top.scores[mix].mean - score.mean  # type: ignore[union-attr]


def best_at(rows: Sequence[Standing], mix: int) -> Standing | None:
    """Find the policy of the highest mean score under a mix; None without scores."""
    there = [row for row in rows if row.scores[mix] is not None]
    if not there:
        return None
    return max(there, key=lambda row: row.scores[mix].mean)  # type: ignore[union-attr]


def standing_rows(study: Study, rows: Sequence[Standing]) -> list[dict[str, Any]]:
    """Make a row for each policy and mix: the score, what the mix costs, and the regret."""
    contest = study.tournament
    assert contest is not None
    made = []
    for row in rows:
        for mix, entrant in enumerate(contest.mixes):
            told: dict[str, Any] = {"policy": row.policy, "mix": entrant.name}
            for name, found in (("score", row.scores[mix]), ("lost", row.lost[mix])):
                told[name] = found and found.mean
                told[f"{name}_low"] = found and found.low
                told[f"{name}_high"] = found and found.high
            made.append(told | {"regret": row.regret[mix], "fails": mix in row.failing})
    return made
