"""Unions: owners who choose their budgets together and divide what they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value
from learning.randomness import Streams
from market.analysis.unions import (
    Coalitions,
    Union,
    acting_unions,
    divide_surplus,
    prefers_union,
    solve_united,
    unite_owners,
)
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.features.base import Feature, SolveGame, Topic, rows_of
from scenarios.schema.fields import check_known
from scenarios.schema.kinds import EachTable, make_declared

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

LEAVERS = 12  # members up to which each is tried outside its union: each is another market


class Unions(Feature):
    """Owners who choose as one; each union divides its surplus among its members."""

    key = "unions"
    title = "[[unions]]"
    table = Annotated[Any, EachTable("unions", Union)]
    example = ('unions=[{name="one", members=["A", "B"]}]',)
    result = "unions"
    sentence = "unions.txt.j2"
    topic = Topic("unions", 18, "unions", "Who acts together", 4)
    excludes = {"participation": "because it assumes that owners stay"}

    def check(self, scenario: Scenario) -> None:
        """Refuse unions that share a name or a member, or members that move at once."""
        if scenario.market.activation != "sequential":
            rule = 'must be "sequential" with unions, because members move together'
            found = format_value(scenario.market.activation)
            raise InputError("market.activation", rule, found, "Leave it out.")
        union_of: dict[str, str] = {}
        for union in map(make_declared, scenario.unions):
            name = format_value(union.name)
            if union.name in union_of.values():
                raise InputError("unions.name", "must differ from union to union", name)
            for member in union.members:
                if member in union_of:
                    found = f"{format_value(member)} in {format_value(union_of[member])} and {name}"
                    raise InputError("unions.members", "must be in one union each", found)
                union_of[member] = union.name

    def check_owners(self, scenario: Scenario, names: Sequence[str]) -> None:
        """Refuse members who are no owners."""
        for union in scenario.unions:
            check_known("unions.members", union.members, names)

    def as_played(self, scenario: Scenario, game: Game) -> Game:
        """The game in which a member counts what its whole union has."""
        unions = acting_unions(find_members(scenario, game))
        return unite_owners(game, *unions) if unions else game

    def settle(
        self, scenario: Scenario, game: Game, solve_game: SolveGame, **search: Any
    ) -> Equilibrium:
        """Equilibrium in which no union gains by moving all its members together."""
        unions = find_members(scenario, game)
        return solve_united(game, unions, **search) if acting_unions(unions) else solve_game(game)

    def transfers(self, scenario: Scenario, game: Game, epsilon: np.ndarray) -> np.ndarray:
        """Money that members receive as their union divides its surplus, (n_owners,)."""
        transfers = np.zeros(len(game.owners))
        surplus = game.payoffs(epsilon)
        for at, members in enumerate(map(list, find_members(scenario, game))):
            if len(members) < 2:
                continue
            parts = coalitions_of(scenario, game, epsilon, at)
            sizes = game.owners.sizes[members]
            divided = divide_surplus(scenario.unions[at].split, surplus[members], sizes, parts)
            transfers[members] = divided - surplus[members]
        return transfers

    def facts(self, run: Run, loop: Loop) -> list[dict[str, Any]]:
        """Surplus of each union, its division, and the members who would do better outside.

        Returns
        -------
        unions[].name : The union; unions is null where the scenario has none.
        unions[].split : How it divides what its members have together.
        unions[].surplus : Money that they have together.
        unions[].apart : Money that they would have together were there no such union, the market
            settled anew.
        unions[].regret : Money that they could still gain by moving all at once, by a search over
            all their budgets.
        unions[].relative_regret : The same as a part of the money at stake.
        unions[].stable : Whether no member would do better alone outside; null where they are too
            many to try.
        unions[].members[].name : A member.
        unions[].members[].own : Money that it has before anything is divided.
        unions[].members[].transfer : Money that it gets when it is divided.
        unions[].members[].surplus : Money that it has then.
        unions[].members[].apart : Money that it would have were there no such union.
        unions[].members[].outside : Money that it would have had it alone left, the others staying
            together; null where not tried.
        unions[].members[].stays : Whether that is no more than it has.
        """
        return [describe_union(run, at) for at in range(len(run.scenario.unions))]


def find_members(scenario: Scenario, game: Game) -> tuple[tuple[int, ...], ...]:
    """Numbers of the owners in each union."""
    place = {name: number for number, name in enumerate(game.owners.names)}
    return tuple(tuple(place[member] for member in one.members) for one in scenario.unions)


def coalitions_of(scenario: Scenario, game: Game, epsilon: np.ndarray, at: int) -> Coalitions:
    """Values of the parts of one union, from where the market has settled."""
    seed = int(Streams(scenario.seed, "unions").rng().integers(2**63))
    return Coalitions(game, find_members(scenario, game), at, epsilon, seed)


def describe_union(run: Run, at: int) -> dict[str, Any]:
    """Surplus and division of one union, with the same market without it and without each member.

    ``apart`` is what the members would have without the union; ``outside`` what each would have
    if it alone left. ``outside`` is None where the members are too many to try.
    """
    union = run.scenario.unions[at]
    game = run.game
    found = run.equilibrium
    members = list(find_members(run.scenario, game)[at])
    parts = coalitions_of(run.scenario, game, found.epsilon, at)
    own = game.payoffs(found.epsilon)[members]
    transfer = run.transfers[members]
    apart = parts.separate_surplus()
    outside: Any = np.full(len(members), np.nan)
    stays: Any = [None] * len(members)
    stable = None
    if len(members) <= LEAVERS:
        outside = parts.outside_surplus()
        stays = prefers_union(own + transfer, outside, np.abs(own))
        stable = bool(stays.all())
    columns = {
        "name": union.members,
        "own": own,
        "transfer": transfer,
        "surplus": own + transfer,
        "apart": apart,
        "outside": outside,
        "stays": stays,
    }
    return {
        "name": union.name,
        "split": union.split,
        "surplus": float(own.sum()),
        "apart": float(apart.sum()),
        "regret": float(found.regret[members].max()),
        "relative_regret": float(found.relative_regret[members].max()),
        "stable": stable,
        "members": rows_of(columns),
    }
