"""The game of a scenario: its owners under its policy, the forecast they look at, and its rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from learning.errors import InputError
from learning.forecast.fitness import worth_of_all
from learning.forecast.personal import shrinkage
from learning.forecast.planner import Planner
from learning.phrases import format_value
from learning.privacy.claims import Feared
from learning.privacy.mechanism import Mechanism
from market.columns import column
from market.costs.base import Cost
from market.costs.functions import OnClaim
from market.game.game import Game
from market.game.owners import Owners
from scenarios.features import features_in_use
from scenarios.features.malicious import anticipate
from scenarios.features.network import find_links
from scenarios.planning import choose_measure, isolated_as_known
from scenarios.schema.fields import values_per_owner
from scenarios.schema.kinds import make_declared
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData
from scenarios.user_policy import check_policy, load_policy

HIGHEST_COST = 1e50  # money; squares of it are still numbers


def market_game(scenario: Scenario, data: MarketData, planner: Planner) -> Game:
    """The game of a scenario: owners, policy and forecast, under the rules of its features."""
    scenario = data.in_order(scenario)
    written = load_policy(scenario)
    measure = choose_measure(scenario, planner)
    owners = market_owners(
        scenario,
        data,
        lambda: measure.isolated(isolated_as_known(data, planner)),
        lambda cost: anticipate(scenario, planner, count_cost(scenario, planner, cost)),
        planner.forecast.dispersion,
        planner.forecast.rounds if np.any(scenario.owners.round_cost) else 0,
    )
    worth = partial(worth_of_all, planner.forecast, owners.epsilon_min, owners.epsilon_max)
    policy = written or make_declared(scenario.policy).prepared_for(owners, worth)
    game = Game(owners, policy, measure.of(planner.forecast), scenario.learner.per_unit)
    if written is not None:
        check_policy(written, game)
    for feature in features_in_use(scenario):
        game = feature.change_game(scenario, game)
    return game


def market_owners(
    scenario: Scenario,
    data: MarketData,
    isolated: Callable[[], np.ndarray | float] = lambda: 0.0,
    count: Callable[[Cost], Cost] = lambda cost: cost,
    dispersion: float = 0.0,
    rounds: int = 0,
) -> Owners:
    """The owners of a scenario: budgets they may choose, costs and benefits.

    Parameters
    ----------
    scenario : the scenario, with what has one value per owner in the order of the data.
    data : its data.
    isolated : relative fitness of the models that owners have without the market, where they want
        a better one.
    count : the cost of privacy as it is counted; at budgets sold unless given.
    dispersion : C/f*, relative fitness that a model from one record would have, over its number of
        records; for personal models.
    rounds : number of times that each owner is asked; any, where answers cost nothing.

    Raises
    ------
    InputError
        If privacy costs an owner more than can be computed with.
    """
    own = scenario.owners
    n_owners = len(data.owners)
    low, high = values_per_owner(own.epsilon, n_owners, "owners.epsilon").T
    links = find_links(scenario, data.names)
    if links is not None:  # an owner linked to no learner has nothing to choose
        low, high = np.where(links.any(axis=1), (low, high), 0.0)
    benefit = own.benefits(n_owners)
    alone: np.ndarray | float = 0.0
    combined: dict[str, float] = {}
    if own.personal:
        alone, combined = personal_gains(scenario, data, dispersion)
    elif benefit.any():
        alone = isolated()
    owners = Owners(
        data.names,
        data.sizes.astype(float),
        low,
        high,
        count(make_declared(own.cost)),
        benefit,
        alone,
        own.sharing_costs(n_owners, rounds),
        own.model_goes_to == "all",
        **combined,
    )
    check_costs(owners)
    return owners


def personal_gains(
    scenario: Scenario, data: MarketData, dispersion: float
) -> tuple[np.ndarray, dict[str, float]]:
    """Own error of owners on fresh records of their kind, and what combining makes of models.

    An owner's own model has C/n_l there, and a model with psi = 0 on all n records C/n, and the
    spread of kinds.

    Raises
    ------
    InputError
        With fewer than three parameters, with which the combination is the own model.
    """
    width = data.encoder.n_parameters
    if shrinkage(width) == 0:
        rule = "needs three or more parameters: with fewer, an owner keeps its own model"
        raise InputError("owners.personal", rule, f"{width}", "Leave it out.")
    apart = dispersion / float(data.sizes.sum()) + (scenario.owners.spread or 0.0)
    return dispersion / data.sizes, {"shrinkage": shrinkage(width), "apart": apart}


def check_costs(owners: Owners) -> None:
    """Refuse owners whom privacy costs more than can be computed with.

    Raises
    ------
    InputError
    """
    with np.errstate(all="ignore"):  # what comes out is checked
        most = owners.costs(owners.epsilon_max)
    beyond = ~(np.abs(most) <= HIGHEST_COST)
    if beyond.any():
        at = int(np.argmax(beyond))
        found = f"{most[at]:.3g} for {owners.names[at]} at epsilon = {owners.epsilon_max[at]:g}"
        rule = f"must be at most {HIGHEST_COST:g} at the highest privacy budget"
        raise InputError("owners.cost", rule, found, "Lower owners.epsilon or the cost of privacy.")


def count_cost(scenario: Scenario, planner: Planner, cost: Cost) -> Cost:
    """Cost of privacy at the budgets sold, or at what is claimed of the noise.

    Under secure aggregation it is counted at the claim against the party that owners fear; the
    extra noise that others' smaller budgets may bring is not counted.
    """
    mechanism = planner.mechanism
    horizon = scenario.learning.horizon
    if scenario.trusts.secure:
        n_owners = len(planner.inputs.owners)
        check_fears(scenario, mechanism, n_owners)
        feared = feared_budget(scenario, mechanism, n_owners)
        return OnClaim(cost, lambda epsilon, sizes: feared(epsilon=epsilon))
    if scenario.owners.cost_at == "sold" or not isinstance(horizon, int):
        return cost  # where claims differ, a horizon is stated

    def claimed(epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return mechanism.claimed_epsilon(epsilon, column(sizes, epsilon), horizon)

    return OnClaim(cost, claimed)


def feared_budget(scenario: Scenario, mechanism: Mechanism, n_owners: int) -> partial[np.ndarray]:
    """Epsilon of a budget sold against whom owners fear, where they make one noise together."""
    feared: Feared = scenario.owners.cost.fears or "learner"
    return partial(scenario.trusts.feared_epsilon, mechanism, n_owners, feared)


def check_fears(scenario: Scenario, mechanism: Mechanism, n_owners: int) -> None:
    """Refuse costs counted against a party from whom noise made together hides nothing.

    Raises
    ------
    InputError
    """
    if not scenario.trusts.secure:
        return
    if np.isinf(feared_budget(scenario, mechanism, n_owners)(epsilon=np.array([1.0]))).any():
        rule = (
            f'must be "learner" with {mechanism.label} noise that owners make together, of which '
            "no part may become known"
        )
        found = format_value(scenario.owners.cost.fears)
        remedy = "Change it, or set trust.colluders to 1."
        raise InputError("owners.cost.fears", rule, found, remedy)
