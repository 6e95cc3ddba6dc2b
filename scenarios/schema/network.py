"""The tables of networks: who may trade with whom, and who sees whose budget."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from agents.networks.base import SIGHT, TRADE
from learning.errors import InputError
from scenarios.schema.fields import Section, show
from scenarios.schema.kinds import KINDS, made, named


class Network(Section):
    """Who may sell to which learner, and who sees whose budget; without a table, everybody to all, and everybody all."""

    trade: Annotated[Any, named("network.trade")] | None = None
    sight: Annotated[Any, named("network.sight")] | None = None

    @model_validator(mode="after")
    def _something(self) -> Network:
        if self.trade is None and self.sight is None:
            rule, remedy = "must have a table, [network.trade] or [network.sight]", "Add one, or leave it out."
            raise InputError("network", rule, "none", remedy)
        return self


def check_network(scenario: Any) -> None:
    """Refuse networks that would change nothing, and what is not known of markets with them.

    Raises
    ------
    InputError
        On the first rule broken.
    """
    trade, sight = (scenario.network and getattr(scenario.network, use) for use in (TRADE, SIGHT))
    watching = any(made(table).watches for table in scenario.behaviours or ())
    if trade and scenario.owners.report:
        rule = "must be left out with [network.trade], in which an owner may deal with no learner at all"
        raise InputError("owners.report", rule, f"{scenario.owners.report:g}", "Leave one of them out.")
    if sight and not watching:
        rule = "goes with [[behaviours]] of owners who look at it, such as neighbours"
        raise InputError("network.sight", rule, f"kind = {show(sight.kind)}", "Add one, or leave it out.")
    if watching and not sight:
        rule = "needs [network.sight] for owners who see their neighbours alone"
        raise InputError("behaviours", rule, "none", 'Add it, such as kind = "ring".')
    if watching and not getattr(KINDS["policy"][scenario.policy.kind], "additive", False):
        rule = "must be one under which owners meet in sums with owners who see their neighbours alone"
        raise InputError("policy.kind", rule, show(scenario.policy.kind), "Choose proportional or posted.")
    if watching and scenario.regulation.price_floor:
        rule = "must be left out with owners who see their neighbours alone: under it they meet in more than sums"
        raise InputError(
            "regulation.price_floor", rule, f"{scenario.regulation.price_floor:g}", "Leave one of them out."
        )
