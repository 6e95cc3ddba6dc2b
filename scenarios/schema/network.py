"""The tables of networks: who may trade with whom, and who sees whose budget."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from learning.errors import InputError
from scenarios.schema.fields import Section
from scenarios.schema.kinds import named


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
