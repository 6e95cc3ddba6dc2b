"""Bargaining: a learner that agrees with each owner on its ε and its payment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from market.game.game import Game
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.features.pricing import table_of
from scenarios.schema.kinds import make_declared, section_of

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

ALONE = "because each pair bargains for itself"
TERMS = "because contracts set the payments"


class Bargains(Feature):
    """Contracts that the learner and each owner agree on, instead of a posted policy."""

    key = "learner.pricing"
    title = "a [learner.pricing] that bargains"
    example = ("learner.pricing={kind='nash_in_nash'}",)
    result = "bargaining"
    sentence = "bargaining.txt.j2"
    topic = Topic("price", 10, "agreed", "What was agreed", 9)
    excludes = {
        "unions": ALONE,
        "learners": ALONE,
        "externalities": ALONE,
        "behaviours": "because both sides of a bargain are rational",
        "participation": "because every owner may refuse its contract",
        "public_good": "because an owner without a contract would have the model, too",
        "go": "because a contract is paid whatever the answers show",
        "time": "because it supports one period only",
        "contributions": TERMS,
        "policy.user": TERMS,
        "regulation.price_floor": TERMS,
        "inputs": "because each end would need negotiations of its own",
        "learner.value.unknown": "because no contract can then be judged",
    }

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether the learner bargains."""
        table = table_of(scenario)
        return table is not None and table.declaration.bargains

    def change_game(self, scenario: Scenario, game: Game) -> Game:
        """The game in which every owner may refuse a contract, and then sells nothing."""
        owners = replace(game.owners, epsilon_min=np.zeros(len(game.owners)))
        return replace(game, owners=owners)

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Contracts agreed on, and the division of each pair's joint surplus.

        Returns
        -------
        bargaining.kind : The rule of the bargains, by its kind in `[learner.pricing]`; bargaining
            is null where nobody bargains.
        bargaining.title : That rule in words.
        bargaining.policy : The contracts as a resolved `[policy]`: each owner is paid what it adds,
            less its fee.
        bargaining.profiles : Profiles of ε found from which no pair departs. The contracts are
            those of the first.
        bargaining.owners[].name : An owner.
        bargaining.owners[].gain : Money that it adds to what the model is worth to the learner,
            given all others.
        bargaining.owners[].joint : Joint surplus of the learner and this owner, money: 0 where they
            agree on nothing.
        bargaining.owners[].fee : The learner's part of it.
        """
        assert run.bargained is not None
        bargains = run.bargained.bargains
        table = table_of(run.written)
        columns = {
            "name": list(run.data.names),
            "gain": bargains.gains,
            "joint": bargains.joint,
            "fee": bargains.fees,
        }
        return {
            "kind": table.kind,
            "title": make_declared(table).title,
            "policy": run.scenario.policy.model_dump(),
            "profiles": 1 + len(bargains.equilibrium.others),
            "owners": rows_of(columns),
        }


def set_contracts(scenario: Scenario, fees: np.ndarray | float) -> Scenario:
    """The scenario that pays each owner what it adds, less its fee (n_owners,)."""
    from market.policies.contributions import Marginal

    section: Any = section_of(Marginal, "marginal")
    policy = section(kind="marginal", fee=np.asarray(fees).tolist())
    return scenario.model_copy(update={"policy": policy})
