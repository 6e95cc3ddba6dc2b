"""Externalities: owners whose records are correlated, so that one owner's sale reveals others'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from learning.randomness import Streams
from market.analysis.welfare import SLACK
from market.equilibrium.solver import Equilibrium, solve
from market.externalities import Externalities as Correlated
from market.externalities import spillover_game
from market.game.game import Game
from scenarios.features.base import Feature, SolveGame, Topic, compare_market, rows_of
from scenarios.schema.kinds import DeclaredTable

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

STARTS = 4  # of the search for the same market without correlation


class Externalities(Feature):
    """Sales that reveal other owners' records: a loss to them, and a lower price of their own."""

    key = "externalities"
    title = "[externalities]"
    table = Annotated[Any, DeclaredTable(Correlated)] | None
    example = ("externalities={correlation=0.5}",)
    result = "externalities"
    sentence = "externalities.txt.j2"
    topic = Topic("common", 19, "common", "What others' sales reveal", 7)
    owners_alone = False
    excludes = {
        "unions": "because they assume independent owners",
        "learners": "because each learner would learn something else",
        "participation": "because it assumes that owners stay",
        "policy.whole": "because it tells owners about each other",
        "public_good": "because the surplus of sharing nothing is then unknown",
    }

    def check_owners(self, scenario: Scenario, names: Sequence[str]) -> None:
        """Refuse a correlation that records of so many owners cannot have."""
        scenario.externalities.correlation_of(len(names))

    def as_played(self, scenario: Scenario, game: Game) -> Game:
        """The game with losses to others' sales in each owner's payoff."""
        return spillover_game(game, scenario.externalities)

    def settle(
        self, scenario: Scenario, game: Game, solve_game: SolveGame, **search: Any
    ) -> Equilibrium:
        """Equilibrium of the game as played, with the payments of the game itself."""
        found = solve_game(self.as_played(scenario, game))
        others = (replace(one, payments=game.payments(one.epsilon)) for one in found.others)
        path = tuple((k, at, *game.payments_and_payoffs(at)) for k, at, *_ in found.trajectory)
        payments = game.payments(found.epsilon)
        return replace(found, payments=payments, others=tuple(others), trajectory=path)

    def warnings(self, run: Run) -> list[dict[str, Any]]:
        """The owner of whom others' sales reveal most, which no promise to it covers."""
        if not run.asks:
            return []
        by_others = run.playing.policy.told(run.epsilon)[0]
        most = int(np.argmax(by_others))
        if by_others[most] <= 0:
            return []
        part = float(by_others[most])
        return [{"cause": "told_by_others", "name": run.data.names[most], "part": part}]

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Information revealed and its cost for each owner, and the market without correlation.

        ``told`` counts parts of the variance of what an owner's records tell: by all others
        (``told_by_others``), and by all sales.

        Returns
        -------
        externalities.owners[].name : An owner; externalities is null where owners have nothing in
            common.
        externalities.owners[].told_by_others : The part of the variance of what its records tell
            that all others' sales tell.
        externalities.owners[].told : The same of all sales, its own too.
        externalities.owners[].spillover : Money that the first costs it.
        externalities.owners[].spared : Money of its own privacy cost that others' sales spare it.
        externalities.owners[].better_without_market : Whether it would have more were there no
            market at all.
        externalities.apart.epsilon : What each would sell had owners nothing in common.
        externalities.apart.relative_fitness : ψ of the model then, by the forecast.
        externalities.apart.payments : Money paid then.
        externalities.apart.owners : Money that owners would have together then.
        externalities.apart.learner : Money that the learner would have then.
        externalities.apart.total : Money that all would have together then.
        """
        epsilon = run.epsilon
        accounts = run.accounts
        by_others = by_all = np.zeros(len(epsilon))
        if run.game.asks(epsilon):
            by_others, by_all = run.playing.policy.told(epsilon)
        rng = Streams(run.scenario.seed, "externalities").rng()
        starts = min(STARTS, run.scenario.market.starts)
        spent = accounts.payments + accounts.costs + accounts.spillovers
        rows = {
            "name": run.data.names,
            "told_by_others": by_others,
            "told": by_all,
            "spillover": accounts.spillovers,
            "spared": run.game.costs(epsilon) - accounts.costs,
            "better_without_market": accounts.surplus < -SLACK * spent,
        }
        apart = solve(run.game, rng=rng, starts=starts).epsilon
        return {"owners": rows_of(rows), "apart": compare_market(run, apart)}
