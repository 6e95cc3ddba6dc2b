"""Participation: owners who may leave the market, and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from learning.randomness import Streams
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from scenarios.features.base import Feature, SolveGame, Topic, compare_market, rows_of

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

STARTS = 4  # of the search for the same market with all owners bound to stay


class Participation(Feature):
    """Owners who leave where they lose, and come back where they gain."""

    key = "market.participation"
    title = 'market.participation = "free"'
    example = ("market.participation=free",)
    refusal = 'must be "bound"'
    result = "participation"
    sentence = "participation.txt.j2"
    topic = Topic("owners", 14)
    owners_alone = False
    excludes = {"public_good": "because the surplus of leaving is then unknown"}

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether owners may leave."""
        return scenario.market.participation == "free"

    def settle(
        self, scenario: Scenario, game: Game, solve_game: SolveGame, **search: Any
    ) -> Equilibrium:
        """Equilibrium of the owners who stay, which nobody gains by leaving or joining."""
        from market.analysis.assessment import stay_or_leave

        return stay_or_leave(game, solve_game)[0]

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Owners who have left, and the same market with all owners bound to stay.

        Returns
        -------
        participation.left[].name : An owner who has left; participation is null where owners are
            bound to stay.
        participation.left[].by_coming_back : Money that it would have by coming back alone, at its
            best: below 0 in an equilibrium.
        participation.bound : The same market had all been bound to stay: each ε, ψ, and what is
            paid and had.
        """
        from market.analysis.assessment import gain_by_coming_back

        game = run.game
        left = np.flatnonzero((run.epsilon == 0) & (game.owners.epsilon_min > 0))
        gains = gain_by_coming_back(game, run.epsilon, left)[0].tolist() if left.size else []
        rng = Streams(run.scenario.seed, "participation").rng()
        starts = min(STARTS, run.scenario.market.starts)
        names = [run.data.names[number] for number in left]
        bound = solve(game, rng=rng, starts=starts).epsilon
        return {
            "left": rows_of({"name": names, "by_coming_back": gains}),
            "bound": compare_market(run, bound),
        }
