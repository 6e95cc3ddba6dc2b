"""Game from its file to its result: play from every start, certificates, and basins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from learning.progress import Progress, ignore_progress
from learning.randomness import Streams
from learning.threads import one_blas_thread
from market.analysis.basins import Basins, basins_of_attraction
from market.costs.functions import Exponential
from market.equilibrium.diagnostics import equilibrium_remarks
from market.equilibrium.solver import Equilibrium
from market.equilibrium.starts import log_interval
from market.game.game import Game
from market.game.owners import Owners
from scenarios.features.base import rows_of
from scenarios.result import SCHEMA, Rows, to_plain
from scenarios.schema.fields import values_per_owner
from scenarios.schema.game import GameFile, sha256_of
from scenarios.schema.kinds import make_declared
from scenarios.settling.game import check_costs

CURVE_POINTS = 200
CURVE_OWNERS = 100  # whose payoff curves are kept
PATH_OWNERS = 1000


@dataclass(frozen=True)
class GameResult:
    """Result of a game: the content of game.json, and the tables beside it.

    Parameters
    ----------
    content: everything of game.json.
    owners: the rows of owners.csv, a row for each equilibrium and owner.
    trajectory: the rows of trajectory.csv, a row for each start, round and owner.
    payoff_curves: the rows of payoff_curves.csv, a row for each equilibrium, owner and budget.
    game_toml: the resolved file.
    """

    content: dict[str, Any]
    owners: Rows = field(default=(), repr=False)
    trajectory: Rows = field(default=(), repr=False)
    payoff_curves: Rows = field(default=(), repr=False)
    game_toml: str = field(default="", repr=False)


def game_of(file: GameFile) -> Game:
    """Make the game that a file describes.

    Raises
    ------
    InputError
        If the policy cannot pay the owners, or privacy costs one more than can be computed with.
    """
    ordered = file.in_order()
    own = ordered.owners
    names = ordered.owners.called
    low, high = values_per_owner(own.epsilon, len(names), "owners.epsilon").T
    sizes = values_per_owner(own.records, len(names), "owners.records")
    fixed = values_per_owner(own.fixed_cost, len(names), "owners.fixed_cost")
    cost = Exponential(1.0)
    if own.cost is not None:
        cost = make_declared(own.cost)
    else:  # e^epsilon is 1 where nothing is shared: a fixed cost beside e^epsilon - 1
        fixed = fixed + 1
    owners = Owners(names, sizes, low, high, cost, fixed_cost=fixed)
    game = Game(owners, make_declared(ordered.policy), None, 0.0)
    game.policy.check_owners(owners)
    check_costs(owners)
    return game


def starts_of(file: GameFile, game: Game) -> list[np.ndarray]:
    """List profiles (n_owners,) to start from: those of the file, or low, in the middle, high."""
    given = file.in_order().market.starts
    if given:
        return [np.array(start) for start in given]
    lower, ratio = log_interval(game.owners.epsilon_min, game.owners.epsilon_max)
    return [game.owners.epsilon_min, lower * np.sqrt(ratio), game.owners.epsilon_max]


@one_blas_thread()
def settle_game(file: GameFile, *, progress: Progress = ignore_progress) -> GameResult:
    """Play a game from every start of its file, and describe every equilibrium found.

    Parameters
    ----------
    file: the game.
    progress: called with the name of each stage as it begins.

    Raises
    ------
    InputError
        As `game_of`.

    >>> from scenarios.schema.game import read_game
    >>> changes = ["market.starts=[1.0, 4.0]", "market.search=2"]
    >>> found = settle_game(read_game("thesis_game", changes)).content["equilibria"]
    >>> [([round(e, 3) for e in one["epsilon"]], one["starts"]) for one in found]
    [([2.509, 2.509, 2.509, 2.509], [1, 2])]
    """
    game = game_of(file)
    progress("playing from every start")
    own = file.market
    limits: dict[str, Any] = {"max_rounds": own.max_rounds, "tol": own.tol}
    streams = Streams(file.seed, "game")
    starts = starts_of(file, game)
    found = basins_of_attraction(
        game, starts, streams=streams, activation=own.activation, search=own.search, **limits
    )
    progress("counting up")
    return GameResult(
        to_plain(content_of(file, game, found)),
        owner_rows(game, found.equilibria),
        path_rows(game, found),
        curve_rows(game, found.equilibria),
        file.to_toml(),
    )


def content_of(file: GameFile, game: Game, found: Basins) -> dict[str, Any]:
    """Collect game.json; starts and equilibria are numbered from 1, and null stands for none."""
    remarks = []
    if len(found.equilibria) == 1:
        remarks = equilibrium_remarks(game, found.equilibria[0])
    return {
        "dpmarket": version("dpmarket"),
        "schema": SCHEMA,
        "title": file.title,
        "seed": file.seed,
        "scenario": file.in_order().model_dump(),
        "scenario_sha256": sha256_of(file),
        "trained": False,
        "owners": name_owners(game),
        "equilibria": [equilibrium_part(game, found, i) for i in range(len(found.equilibria))],
        "starts": [
            {
                "epsilon": play.path.profiles[0],
                "rounds": play.path.rounds,
                "ended": play.path.end or "limit",
                "equilibrium": _from_one(play.leads_to),
            }
            for play in found.plays
        ],
        "turns": [
            {
                "between": [one + 1 for one in turn.between],
                "epsilon": turn.epsilon,
                "equilibrium": _from_one(turn.through),
            }
            for turn in found.turns
        ],
        "remarks": remarks,
        "search": file.market.search,
    }


def _from_one(number: int) -> int | None:
    return number + 1 if number >= 0 else None


def name_owners(game: Game) -> list[dict[str, Any]]:
    """List the owners' names and records."""
    return rows_of({"name": game.owners.names, "records": game.owners.sizes.astype(int)})


def equilibrium_part(game: Game, found: Basins, number: int) -> dict[str, Any]:
    """Describe an equilibrium: budgets, payments and surpluses, and what anybody could gain."""
    one = found.equilibria[number]
    free = game.owners.epsilon_min < game.owners.epsilon_max
    ends = {"at_lowest": game.owners.epsilon_min, "at_highest": game.owners.epsilon_max}
    return {
        "epsilon": one.epsilon,
        "payment": one.payments,
        "surplus": game.payoffs(one.epsilon),
        "max_regret": one.max_regret,
        "max_relative_regret": one.max_relative_regret,
        **{
            name: bool(free.any() and np.all(one.epsilon[free] == end[free]))
            for name, end in ends.items()
        },
        "stable": found.stable[number],
        "starts": [at + 1 for at in found.starts_of(number)],
    }


def owner_rows(game: Game, equilibria: Sequence[Equilibrium]) -> list[dict[str, Any]]:
    """List sales, payments, losses, surplus and possible gain of owners, in each equilibrium."""
    rows = []
    for number, one in enumerate(equilibria, 1):
        columns = {
            "equilibrium": [number] * len(game.owners),
            "owner": game.owners.names,
            "records": game.owners.sizes.astype(int),
            "epsilon": one.epsilon,
            "payment": one.payments,
            "privacy_cost": game.costs(one.epsilon),
            "surplus": game.payoffs(one.epsilon),
            "regret": one.regret,
        }
        rows += rows_of(columns)
    return rows


def path_rows(game: Game, found: Basins) -> list[dict[str, Any]]:
    """List every owner's budget, payment and surplus, round by round from each start.

    Only the first `PATH_OWNERS` owners have rows.
    """
    rows = []
    names = game.owners.names[:PATH_OWNERS]
    for start, play in enumerate(found.plays, 1):
        for number, profile in enumerate(play.path.profiles):
            paid, left = game.payments_and_payoffs(profile)
            columns = {"epsilon": profile, "payment": paid, "surplus": left}
            place = {"start": [start] * len(names), "round": [number] * len(names), "owner": names}
            parts = {name: column[: len(names)] for name, column in columns.items()}
            rows += rows_of(place | parts)
    return rows


def curve_rows(game: Game, equilibria: Sequence[Equilibrium]) -> list[dict[str, Any]]:
    """List each owner's surplus over its whole interval, the others as in an equilibrium.

    Only the first `CURVE_OWNERS` owners have rows.
    """
    rows = []
    shown = np.arange(min(CURVE_OWNERS, len(game.owners)))
    low = game.owners.epsilon_min[shown, None]
    high = game.owners.epsilon_max[shown, None]
    lower, ratio = (ends[:, None] for ends in log_interval(low[:, 0], high[:, 0]))
    part = np.linspace(0, 1, CURVE_POINTS)
    for number, one in enumerate(equilibria, 1):
        points = np.column_stack(
            [low + part * (high - low), np.minimum(lower * ratio**part, high), one.epsilon[shown]]
        )
        grid = np.sort(points, axis=1)
        columns = {
            "equilibrium": [number] * grid.size,
            "owner": np.repeat(game.owners.names[: len(shown)], grid.shape[1]),
            "epsilon": grid.ravel(),
            "payoff": game.deviation_payoffs(one.epsilon, grid, shown).ravel(),
        }
        rows += rows_of(columns)
    return rows
