"""Audit: an auditor who finds owners that do not answer as they sold, and what deters them.

The learner knows none of this: its forecast takes every owner for honest. Only the simulator knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from learning.forecast.planner import Planner
from learning.randomness import Streams
from learning.training.conduct import HONEST, Conduct
from market.analysis.regulation import Audit as Auditor
from market.game.game import Game
from scenarios.features.base import Feature
from scenarios.schema.kinds import DeclaredTable

if TYPE_CHECKING:
    from agents.behaviours import Behaviour
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

Groups = Sequence[tuple["Behaviour", np.ndarray]]
NO_AUDIT = Auditor(chance=0.0)
CAUSES = {
    "noise": "more_noise_than_sold",
    "gradient": "gradients_changed",
    "records": "records_made_up",
}


class Audit(Feature):
    """Audit of owners by chance: who did not answer as sold pays back, and a penalty."""

    key = "audit"
    title = "[audit]"
    table = Annotated[Any, DeclaredTable(Auditor)] | None
    example = ("audit={chance=0.5}",)
    result = "audit"

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Money that the audit is expected to take back, and takes back where owners are drawn.

        Returns
        -------
        audit.expected_penalties : Money that the audit is expected to bring as penalties; audit is
            null where the scenario has none.
        audit.expected_clawed_back : Money that owners found out are expected to pay back.
        audit.penalties : Penalties where the audit is drawn once, by the seed.
        audit.clawed_back : Money paid back in that draw; owners' payments elsewhere in the result
            are before it.
        audit.owners[].name : An owner whose behaviour it is not to answer as it sold.
        audit.owners[].saved : Privacy cost that it would save by that, money.
        audit.owners[].at_stake : Money that it must expect to lose by that.
        audit.owners[].cheats : Whether it does so.
        audit.owners[].looked_into : Whether it is drawn for the audit.
        audit.owners[].clawed_back : Money that it pays back.
        audit.owners[].penalty : Money that it pays beside.
        """
        audit = run.scenario.audit
        found = run.answering
        deviating: list[int] = []
        rows: list[dict[str, Any]] = []
        paid = 0.0
        if found is not None:
            deviating = found.deviating
            rows = [audit_owner(found, i, audit) for i in np.flatnonzero(found.tempted).tolist()]
            paid = float(found.paid[deviating].sum())
        return {
            "expected_penalties": audit.chance * audit.penalty * len(deviating),
            "expected_clawed_back": audit.chance * paid,
            "penalties": sum(row["penalty"] for row in rows),
            "clawed_back": sum(row["clawed_back"] for row in rows),
            "owners": rows,
        }


@dataclass(frozen=True)
class Answering:
    """Conduct of owners at the budgets they sold, and what they gain and risk by deviating.

    Parameters
    ----------
    names, sizes : of all owners, and their records.
    conducts : conduct of each, (n_owners,).
    tempted : array (n_owners,), whether its behaviour is to answer otherwise than sold.
    saved : array (n_owners,), privacy cost that it would save by that, money.
    at_stake : array (n_owners,), expected loss by an audit, money.
    paid : array (n_owners,), payment, money.
    audited : array (n_owners,), whether it is drawn for the audit.
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    conducts: tuple[Conduct, ...]
    tempted: np.ndarray
    saved: np.ndarray
    at_stake: np.ndarray
    paid: np.ndarray
    audited: np.ndarray

    @property
    def deviating(self) -> list[int]:
        """Numbers of the owners who do not answer as they sold."""
        return [i for i, conduct in enumerate(self.conducts) if conduct != HONEST]

    def exposure(self, owner: int) -> float:
        """Ratio of how far a record can move an owner's answers to what was promised.

        Both per unit of noise. Above 1 the promise does not hold.
        """
        return self.conducts[owner].exposure(int(self.sizes[owner]))


def choose_conduct(
    scenario: Scenario, game: Game, planner: Planner, epsilon: np.ndarray, groups: Groups
) -> Answering | None:
    """Conduct of owners at given budgets (n_owners,); None where all behaviours are honest."""
    if all(behaviour.conduct == HONEST for behaviour, _ in groups):
        return None
    audit = scenario.audit or NO_AUDIT
    names = game.owners.names
    paid = game.payments(epsilon)
    saved = np.zeros(len(epsilon))
    tempted = np.zeros(len(epsilon), dtype=bool)
    at_stake = audit.at_stake(paid)
    conducts = [HONEST] * len(epsilon)
    for behaviour, numbers in groups:
        if behaviour.conduct == HONEST:
            continue
        asked = numbers[epsilon[numbers] > 0]
        saved[asked] = saved_cost(game, planner, epsilon, behaviour.conduct.noise)[asked]
        tempted[asked] = True
        dares = np.full(len(asked), True)
        if scenario.audit:
            dares = behaviour.dares_to_cheat(saved[asked], at_stake[asked])
        for number in asked[dares]:
            conducts[number] = behaviour.conduct
    draws = [Streams(scenario.seed, "audit").rng(name).random() < audit.chance for name in names]
    audited = np.array(draws, dtype=bool)
    sizes = game.owners.sizes
    return Answering(names, sizes, tuple(conducts), tempted, saved, at_stake, paid, audited)


def saved_cost(game: Game, planner: Planner, epsilon: np.ndarray, noise: float) -> np.ndarray:
    """Privacy cost that owners save by ``noise`` times the noise they sold, (n_owners,), money."""
    plan = planner.forecast.plan(epsilon)
    if noise == 1 or not plan.asks:
        return np.zeros(len(epsilon))
    mechanism = planner.mechanism_at(epsilon)
    sizes = game.owners.sizes
    bound = planner.coordinates.noise_bound
    variance = noise**2 * mechanism.variance(epsilon, sizes, bound, plan.priced)
    spent = mechanism.epsilon(variance, sizes, bound, plan.priced)
    cost = game.owners.cost.untaxed
    lost = cost.value(epsilon, sizes) - cost.value(np.minimum(spent, epsilon), sizes)
    return np.asarray(lost)


def list_conduct(found: Answering | None) -> list[dict[str, Any]]:
    """Deviations of owners, as causes of a training that disagrees with its forecast."""
    if found is None:
        return []
    facts = []
    for conduct in dict.fromkeys(found.conducts):
        pairs = zip(found.names, found.conducts, strict=True)
        owners = [name for name, one in pairs if one == conduct]
        changed = [name for name in CAUSES if getattr(conduct, name) != getattr(HONEST, name)]
        for name in changed if conduct != HONEST else ():
            cause = {"cause": CAUSES[name], "owners": owners, "factor": getattr(conduct, name)}
            facts.append(cause)
    return facts


def describe_conduct(found: Answering | None, owners: Sequence[str]) -> dict[str, Any]:
    """Deviating owners of a group, their conduct, and what remains of their promises."""
    deviating = []
    if found is not None:
        deviating = [i for i in found.deviating if found.names[i] in set(owners)]
    if found is None or not deviating:
        return {"cheats": [], "conduct": None, "exposure": None, "saved": 0.0}
    return {
        "cheats": [found.names[i] for i in deviating],
        "conduct": dict(vars(found.conducts[deviating[0]])),
        "exposure": max(map(found.exposure, deviating)),
        "saved": float(found.saved[deviating].sum()),
    }


def audit_owner(found: Answering, owner: int, audit: Auditor) -> dict[str, Any]:
    """Gain and risk of an owner who may deviate, and the outcome of the draw."""
    deviates = owner in found.deviating
    audited = bool(found.audited[owner])
    caught = deviates and audited
    return {
        "name": found.names[owner],
        "saved": float(found.saved[owner]),
        "at_stake": float(found.at_stake[owner]),
        "cheats": deviates,
        "looked_into": audited,
        "clawed_back": caught * float(found.paid[owner]),
        "penalty": caught * audit.penalty,
    }
