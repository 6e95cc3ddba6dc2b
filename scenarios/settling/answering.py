"""Who answers otherwise than it sold where a market has settled, what an audit makes of that, and what the result says of it.

The learner knows none of this: its forecast takes everyone for honest. It is the simulator that tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.forecast.planner import Planner
from learning.randomness import Streams
from learning.training.conduct import HONEST, Conduct
from market.analysis.deterrence import Audit
from market.game.game import Game
from scenarios.schema.behaviours import assigned
from scenarios.schema.scenario import Scenario

NO_AUDIT = Audit(chance=0.0)
CAUSES = {"noise": "more_noise_than_sold", "gradient": "gradients_changed", "records": "records_made_up"}


@dataclass(frozen=True)
class Answering:
    """How owners answer at the budgets that they settled on, and what they have to win and to lose by it.

    Parameters
    ----------
    names, sizes : of all owners, and their records.
    conducts : what each does, (n_owners,).
    tempted : array (n_owners,), whose behaviour it is to answer otherwise than sold.
    saved : array (n_owners,), privacy cost that it would save by that, money.
    at_stake : array (n_owners,), what it must expect to lose by an audit, money.
    paid : array (n_owners,), what it is paid, money.
    looked_into : array (n_owners,), whether it is drawn for the audit.
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    conducts: tuple[Conduct, ...]
    tempted: np.ndarray
    saved: np.ndarray
    at_stake: np.ndarray
    paid: np.ndarray
    looked_into: np.ndarray

    @property
    def cheating(self) -> list[int]:
        """The numbers of those who do not answer as they sold."""
        return [i for i, conduct in enumerate(self.conducts) if conduct != HONEST]

    def exposure(self, owner: int) -> float:
        """How far an owner's answers go beyond what it promised of its own records: above 1 the promise does not hold."""
        return self.conducts[owner].exposure(int(self.sizes[owner]))


def answering(scenario: Scenario, game: Game, planner: Planner, epsilon: np.ndarray) -> Answering | None:
    """How owners answer at given budgets (n_owners,); None where all are honest people."""
    groups = assigned(scenario.behaviours, game.owners.names, scenario.seed)
    if all(behaviour.conduct == HONEST for behaviour, _ in groups):
        return None
    audit, count, names = scenario.audit or NO_AUDIT, len(epsilon), game.owners.names
    paid, saved, tempted = game.payments(epsilon), np.zeros(count), np.zeros(count, dtype=bool)
    at_stake, conducts = audit.at_stake(paid), [HONEST] * count
    for behaviour, numbers in groups:
        if behaviour.conduct == HONEST:
            continue
        asked = numbers[epsilon[numbers] > 0]
        saved[asked] = spared(game, planner, epsilon, behaviour.conduct.noise)[asked]
        tempted[asked] = True
        dares = behaviour.dares(saved[asked], at_stake[asked]) if scenario.audit else np.full(len(asked), True)
        for number in asked[dares]:
            conducts[number] = behaviour.conduct
    draws = [Streams(scenario.seed, "audit").rng(name).random() < audit.chance for name in names]
    return Answering(
        names, game.owners.sizes, tuple(conducts), tempted, saved, at_stake, paid, np.array(draws, dtype=bool)
    )


def spared(game: Game, planner: Planner, epsilon: np.ndarray, noise: float) -> np.ndarray:
    """Privacy cost that owners save whose noise is so many times what they sold, (n_owners,), money."""
    plan, mechanism, sizes = planner.forecast.plan(epsilon), planner.mechanism_at(epsilon), game.owners.sizes
    if noise == 1 or not plan.asks:
        return np.zeros(len(epsilon))
    bound, priced = planner.coordinates.noise_bound, plan.priced
    variance = noise**2 * mechanism.variance(epsilon, sizes, bound, priced)
    spent = mechanism.epsilon(variance, sizes, bound, priced)
    lost = [game.owners.cost.untaxed.value(at, sizes) for at in (epsilon, np.minimum(spent, epsilon))]
    return np.asarray(lost[0] - lost[1])


def conduct_facts(found: Answering | None) -> list[dict[str, Any]]:
    """What owners did otherwise than they sold, as causes of a training that disagrees: known to the simulator alone."""
    facts = []
    for conduct in dict.fromkeys(found.conducts if found else ()):
        if found is None or conduct == HONEST:
            continue
        who = [name for name, one in zip(found.names, found.conducts, strict=True) if one == conduct]
        told = [field for field in CAUSES if getattr(conduct, field) != getattr(HONEST, field)]
        facts += [{"cause": CAUSES[field], "owners": who, "factor": getattr(conduct, field)} for field in told]
    return facts


def conduct_columns(found: Answering | None, owners: Sequence[str]) -> dict[str, Any]:
    """What a row of the behaviours says of conduct: who cheats, how, and what is left of what it promised."""
    cheats = [i for i in found.cheating if found.names[i] in set(owners)] if found else []
    if found is None or not cheats:
        return {"cheats": [], "conduct": None, "exposure": None, "saved": 0.0}
    return {
        "cheats": [found.names[i] for i in cheats],
        "conduct": dict(vars(found.conducts[cheats[0]])),
        "exposure": max(map(found.exposure, cheats)),
        "saved": float(found.saved[cheats].sum()),
    }


def audit_part(scenario: Scenario, found: Answering | None) -> dict[str, Any] | None:
    """What an audit is expected to take back, and takes back where it is drawn; None where there is none."""
    audit: Audit | None = scenario.audit
    if audit is None:
        return None
    rows = [] if found is None else [audited(found, i, audit) for i in np.flatnonzero(found.tempted).tolist()]
    cheats, paid = (0, 0.0) if found is None else (len(found.cheating), float(found.paid[found.cheating].sum()))
    return {
        "expected_penalties": audit.chance * audit.penalty * cheats,
        "expected_clawed_back": audit.chance * paid,
        "penalties": sum(row["penalty"] for row in rows),
        "clawed_back": sum(row["clawed_back"] for row in rows),
        "owners": rows,
    }


def audited(found: Answering, owner: int, audit: Audit) -> dict[str, Any]:
    """What an owner has to win and to lose by answering otherwise than it sold, and what comes of it in the draw."""
    caught = owner in found.cheating and bool(found.looked_into[owner])
    return {
        "name": found.names[owner],
        "saved": float(found.saved[owner]),
        "at_stake": float(found.at_stake[owner]),
        "cheats": owner in found.cheating,
        "looked_into": bool(found.looked_into[owner]),
        "clawed_back": float(found.paid[owner]) if caught else 0.0,
        "penalty": audit.penalty if caught else 0.0,
    }
