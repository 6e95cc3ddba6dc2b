"""What those who choose in a scenario look at: owners each for itself or as a union, and what they have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.randomness import Streams
from market.analysis.assessment import stay_or_leave
from market.analysis.unions import Coalitions, acting, shares, solve_united, stays
from market.analysis.united import unite
from market.equilibrium.solver import Equilibrium, solve
from market.externalities.spillover import spilling
from market.game.game import Game
from scenarios.schema.scenario import Scenario

LEAVERS = 12  # members of a union up to which each is tried outside it: every one is another market to settle


def unions_of(scenario: Scenario, game: Game) -> tuple[tuple[int, ...], ...]:
    """The numbers of the owners in each union of the scenario."""
    place = {name: i for i, name in enumerate(game.owners.names)} if scenario.unions else {}
    return tuple(tuple(place[member] for member in union.members) for union in scenario.unions or ())


def as_played(scenario: Scenario, game: Game) -> Game:
    """The game as those who choose in it see it.

    A member of a union looks at what all its members have, and who has something in common with others at what they sell.
    """
    if scenario.externalities is not None:
        return spilling(game, scenario.externalities)
    unions = acting(unions_of(scenario, game))
    return unite(game, *unions) if unions else game


def solved(scenario: Scenario, game: Game, *, rng: np.random.Generator, **search: Any) -> Equilibrium:
    """Equilibria of a scenario's game, unions choosing as one; ``search`` is that of `market.equilibrium.solver.solve`."""
    if scenario.market.participation == "free":
        return stay_or_leave(game, lambda now: solve(now, rng=rng, **search))[0]
    if scenario.externalities is not None:
        return as_paid(game, solve(as_played(scenario, game), rng=rng, **search))
    return solve_united(game, unions_of(scenario, game), rng=rng, **search)


def as_paid(game: Game, found: Equilibrium) -> Equilibrium:
    """Equilibria of the game as it is played with what is really paid in them."""
    others = tuple(replace(one, payments=game.payments(one.epsilon)) for one in found.others)
    path = tuple((k, at, *game.settled(at)) for k, at, *_ in found.trajectory)
    return replace(found, payments=game.payments(found.epsilon), others=others, trajectory=path)


def divided(scenario: Scenario, game: Game, epsilon: Array) -> Array:
    """What each owner gets from its union (n_owners,), money, below 0 where it gives: each union divides what it has."""
    transfers, surplus = np.zeros(len(game.owners)), game.payoffs(epsilon)
    for at, members in enumerate(map(list, unions_of(scenario, game))):
        split, sizes = scenario.unions[at].split, game.owners.sizes[members]
        found = shares(split, surplus[members], sizes, coalitions(scenario, game, epsilon, at))
        transfers[members] = found - surplus[members] if len(members) > 1 else 0.0
    return transfers


def coalitions(scenario: Scenario, game: Game, epsilon: Array, at: int) -> Coalitions:
    """What parts of a union would have, from where the market has settled."""
    seed = int(Streams(scenario.seed, "unions").rng().integers(2**63))
    return Coalitions(game, unions_of(scenario, game), at, epsilon, seed)


def union_row(scenario: Scenario, game: Game, found: Equilibrium, transfers: Array, at: int) -> dict[str, Any]:
    """What a union has and how it divides that, against the same market without it and without each member.

    ``apart`` is what its members would have were there no such union; ``outside`` what each would have had it alone left,
    the others staying together; None where they are too many for that.
    """
    union, members = scenario.unions[at], list(unions_of(scenario, game)[at])
    parts, own = coalitions(scenario, game, found.epsilon, at), game.payoffs(found.epsilon)[members]
    apart, few = parts.apart(), len(members) <= LEAVERS
    outside, share = parts.outside() if few else np.full(len(members), np.nan), own + transfers[members]
    content = stays(share, outside, np.abs(own))
    return {
        "name": union.name,
        "split": union.split,
        "surplus": float(own.sum()),
        "apart": float(apart.sum()),
        "regret": float(found.regret[members].max()),
        "relative_regret": float(found.relative_regret[members].max()),
        "stable": bool(content.all()) if few else None,
        "members": [
            {
                "name": name,
                "own": had,
                "transfer": moved,
                "surplus": left,
                "apart": alone,
                "outside": gone,
                "stays": stay,
            }
            for name, had, moved, left, alone, gone, stay in zip(
                union.members,
                own.tolist(),
                transfers[members].tolist(),
                share.tolist(),
                apart.tolist(),
                outside.tolist(),
                content.tolist() if few else [None] * len(members),
                strict=True,
            )
        ],
    }
