"""The owners of a scenario as its market sees them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learning.errors import InputError
from market.costs.base import Cost
from market.game.owners import Owners
from scenarios.schema.fields import per_owner
from scenarios.schema.kinds import made
from scenarios.schema.scenario import Scenario
from scenarios.settling.network import trading
from scenarios.tables.dataset import MarketData

HIGHEST_COST = 1e50  # money; squares of it are still numbers


def market_owners(
    scenario: Scenario,
    data: MarketData,
    isolated: Callable[[], np.ndarray | float] = lambda: 0.0,
    counted: Callable[[Cost], Cost] = lambda cost: cost,
) -> Owners:
    """What the owners of a scenario have, may choose, lose and gain.

    Parameters
    ----------
    scenario : the scenario, with what has one value per owner in the order of the data.
    data : its data.
    isolated : gives the relative fitness of the models that owners have without the market, where they want a better one.
    counted : what a privacy cost is counted on: the cost itself, at budgets sold.

    Raises
    ------
    InputError
        If privacy costs an owner more than can be computed with.
    """
    own, count = scenario.owners, len(data.owners)
    low, high = per_owner(own.epsilon, count, "owners.epsilon").T
    links = trading(scenario, data.names)
    if links is not None:  # who is linked to no learner has nothing to choose
        low, high = np.where(links.any(axis=1), (low, high), 0.0)
    benefit = own.benefits(count)
    owners = Owners(
        data.names,
        data.sizes.astype(float),
        low,
        high,
        counted(made(own.cost)),
        benefit,
        isolated() if benefit.any() else 0.0,
        per_owner(own.fixed_cost, count, "owners.fixed_cost"),
        own.model_goes_to == "all",
    )
    check_costs(owners)
    return owners


def check_costs(owners: Owners) -> None:
    """Refuse, with an InputError, owners whom privacy costs more than can be computed with."""
    with np.errstate(all="ignore"):  # what comes out is checked
        most = owners.costs(owners.epsilon_max)
    beyond = ~(np.abs(most) <= HIGHEST_COST)
    if beyond.any():
        at = int(np.argmax(beyond))
        found = f"{most[at]:.3g} for {owners.names[at]} at epsilon = {owners.epsilon_max[at]:g}"
        rule = f"must be at most {HIGHEST_COST:g} at the highest privacy budget"
        raise InputError("owners.cost", rule, found, "Lower owners.epsilon, or what privacy costs.")
