"""The market as a Mesa model: agents decide, the model orders their moves, a collector records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from agents.behaviours import Behaviour, make_behaviour
from agents.collector import MarketCollector
from agents.players import Players
from agents.rounds import RoundModel
from agents.traders import DataOwner, Learner, Train
from market.equilibrium.activation import play_round
from market.equilibrium.solver import Equilibrium, certify
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import Path, upper_ends
from market.equilibrium.turns import in_turn
from market.game.game import Game


class DataMarket(RoundModel):
    """Data owners and a learner who play a game round by round until no owner moves.

    Parameters
    ----------
    game : Game
    seed, rng : int, or a numpy.random.Generator, optional
        One of them, as Mesa has both, for the order of moves and the draws of behaviours. Without
        either, a seed comes from the operating system; it is ``draws.seed``.
    train : callable(epsilon), optional
        The learner's training once the market has ended.
    behaviour : str, Behaviour, or a list with one per owner
        Names in BEHAVIOURS or behaviours.
    activation : str
        A name in ACTIVATIONS: the order in which owners move within a round.
    start : (n_owners,), optional
        The first budgets, brought into the owners' intervals; the middle (of the logarithm) unless
        given.
    **kwargs
        Of `market.equilibrium.stopping.PlayRules`: damping, part, tol, patience, max_rounds.

    Attributes
    ----------
    epsilon, payments, surplus : (n_owners,)
    max_change : float, the largest move of the last round, as a part of the owner's epsilon; to
        join is a whole move
    owners : list of DataOwner
    learner : Learner
    draws : Draws, the source of all random numbers

    Raises
    ------
    ValueError
        For an unknown activation, a number out of range, or a column that does not fit the owners.
    TypeError
        For a seed that is no number.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 3.0]))
    >>> outcome = DataMarket(Game(owners, Proportional(12.0, "epsilon"), None, 0.0), seed=1).run()
    >>> outcome.epsilon.round(6).tolist(), outcome.reason
    ([2.666667, 1.333333, 0.0], 'certified')
    """

    def __init__(
        self,
        game: Game,
        *,
        seed: int | None = None,
        rng: np.random.Generator | int | None = None,
        train: Train | None = None,
        behaviour: str | Behaviour | Sequence[str | Behaviour] = "rational",
        activation: str = "sequential",
        start: np.ndarray | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activation, seed, rng, kwargs)
        self.game = game
        count = len(game.owners)
        if start is not None and (np.shape(start) != (count,) or np.isnan(start).any()):
            found = np.asarray(start, dtype=float).tolist()
            raise ValueError(f"start must be {count} numbers, one per owner; found {found}")
        self.epsilon = start_points(game, rng=self.rng, starts=1, start=start)[0]
        each: list[Any] = [behaviour] * count
        if isinstance(behaviour, list | tuple):
            each = list(behaviour)
        if len(each) != count:
            raise ValueError(f"behaviour must be one or {count} behaviours; found {len(each)}")
        named = {given: make_behaviour(given) for given in set(each)}
        self.owners = [DataOwner(self, number, named[given]) for number, given in enumerate(each)]
        self.numbers = np.array([owner.unique_id for owner in self.owners])
        self.learner = Learner(self, train)
        self.open(game.policy)
        self.datacollector = MarketCollector()
        self.datacollector.collect(self)

    def open(self, policy: Any) -> None:
        """Open the market under a policy from its present budgets; rounds count from here."""
        self.game = replace(self.game, policy=policy)
        self.players = Players([owner.behaviour for owner in self.owners], self.draws)
        self.players.start_memory(self.game, self.epsilon)
        self.begin_rounds(self.epsilon, upper_ends(self.game.owners), self.players.patience)
        self._settle_round()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the owners."""
        return self.game.owners.names

    @property
    def costs(self) -> np.ndarray:
        """Privacy costs of the present budgets, money (n_owners,)."""
        return self.game.costs(self.epsilon)

    @property
    def changes_by_round(self) -> bool:
        """True if the order of moves or a behaviour differs between rounds."""
        return self.order.draws or self.players.change_by_round

    def step(self) -> None:
        """Play a round: owners choose in the order of the activation, the learner pays."""
        before = self.epsilon
        players = self.players
        players.now = self.steps
        self.epsilon = play_round(
            self.order,
            self.game,
            before,
            draw=self.make_turn_draw(len(before)),
            rules=self.rules,
            respond=players.respond,
            alone=players.move_alone,
            all_the_way=players.draw_numbers,
        )
        players.update_memory(self.game, self.epsilon)
        self._settle_round()
        self.end_round(before, self.epsilon)

    def move(self, numbers: np.ndarray) -> None:
        """Move the owners of ``numbers`` (k,) one after another, outside of any round."""
        players = self.players
        self.epsilon = in_turn(
            self.game, self.epsilon, numbers, players.respond, players.move_alone
        )

    def run(self) -> Equilibrium:
        """Play until the market ends, certify its budgets, and train at them.

        Returns
        -------
        Equilibrium
            The final budgets, with ``converged = False`` and a reason where they are no
            equilibrium; ``iterations`` are rounds since the policy was posted, ``trajectory`` all
            that was recorded. Non-convergence is no error.
        """
        self.run_model()
        path = Path(self.epsilon.copy(), self.monitor.rounds, self.end)
        outcome = certify(self.game, path.epsilon, path=path, method=self.activation)
        self.learner.train()
        return replace(outcome, trajectory=self.trajectory(), agents=self.end)

    def trajectory(self) -> tuple[tuple[int, np.ndarray, np.ndarray, np.ndarray], ...]:
        """Recorded (round, epsilon, payments, surplus), the last three (n_owners,)."""
        rounds = self.datacollector.rounds.values()
        return tuple((one.step, one.epsilon, one.payments, one.surplus) for one in rounds)

    @property
    def graph(self) -> nx.Graph:
        """The present trades: a star of agents by unique_id.

        Nodes have ``name`` and ``bipartite`` (0 an owner, 1 the learner), edges ``epsilon`` and
        ``payment``.
        """
        graph = nx.Graph()
        centre = self.learner.unique_id
        graph.add_node(centre, name="learner", bipartite=1)
        for owner in self.owners:
            graph.add_node(owner.unique_id, name=owner.name, bipartite=0)
            graph.add_edge(owner.unique_id, centre, epsilon=owner.epsilon, payment=owner.payment)
        return graph

    def _settle_round(self) -> None:
        self.fitness = self.learner.forecast()
        self.payments = self.learner.pay()
        self.surplus = self.payments + self.game.benefits(self.epsilon) - self.costs
