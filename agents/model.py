"""The market as a Mesa model: agents decide, the model orders their moves, a collector records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any

import mesa
import numpy as np

from agents.behaviours import make_behaviour
from agents.behaviours.base import Behaviour, Memory, Seen, checked_choice
from agents.traders import DataOwner, Draws, Learner, MarketCollector, Train, as_seed
from market.equilibrium.activation import (
    ACTIVATIONS,
    Draw,
    View,
    damp_moves,
    in_turn,
    play_round,
    views_at_once,
    views_in_turn,
)
from market.equilibrium.solver import Equilibrium, certify
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import (
    ConvergenceMonitor,
    Path,
    PlayRules,
    relative_moves,
    upper_ends,
)
from market.game.deviations import Deviations
from market.game.game import Game


class Players:
    """Owners who choose, with one search for all owners of equal behaviour.

    Parameters
    ----------
    behaviours : list of Behaviour, (n_owners,)
    draws : Draws
    """

    def __init__(self, behaviours: Sequence[Behaviour], draws: Draws) -> None:
        self.kinds = list(dict.fromkeys(behaviours))
        places = {behaviour: kind for kind, behaviour in enumerate(self.kinds)}
        self.kind = np.array([places[behaviour] for behaviour in behaviours])
        self.groups = [np.flatnonzero(self.kind == kind) for kind in range(len(self.kinds))]
        self.memory: list[Memory] = [{} for _ in self.kinds]
        self.now = 0
        count = len(behaviours)
        self.uniform = lru_cache(8)(
            lambda purpose, now, m: draws.draw_uniform(purpose, now, count, m)
        )

    @property
    def rounds_at_rest(self) -> int:
        """Rounds in a row without a move after which all are at rest."""
        return max(behaviour.patience for behaviour in self.kinds)

    @property
    def changes_by_round(self) -> bool:
        """True if some owner draws or remembers, so that equal profiles may go on differently."""
        return any(behaviour.draws for behaviour in self.kinds) or any(self.memory)

    @property
    def drawing(self) -> np.ndarray:
        """Owners whose behaviour draws numbers (n_owners,)."""
        return np.array([behaviour.draws for behaviour in self.kinds])[self.kind]

    @property
    def moving_alone(self) -> np.ndarray:
        """Owners who look at single others, and not only at sums (n_owners,)."""
        return np.array([not behaviour.meets_in_sums for behaviour in self.kinds])[self.kind]

    def start_memory(self, game: Game, profile: np.ndarray) -> None:
        """Set the owners' memory as a market opens at a profile (n_owners,)."""
        self.memory = [
            behaviour.initial_memory(game.deviations(profile, group))
            for behaviour, group in zip(self.kinds, self.groups, strict=True)
        ]

    def update_memory(self, game: Game, profile: np.ndarray) -> None:
        """Update the memory of owners who have one with the profile (n_owners,) after a round."""
        for kind, group in enumerate(self.groups):
            if self.memory[kind]:
                seen = self._seen_by(kind, group, np.zeros_like(group))
                deviations = game.deviations(profile, group)
                self.memory[kind] = self.kinds[kind].update_memory(deviations, seen)

    def choose_for(self, deviations: Deviations, before: np.ndarray) -> np.ndarray:
        """Choose for owners (n,), who have made ``before`` moves in this round (n,)."""
        kind = self.kind[deviations.index]
        if (kind == kind[0]).all():
            return self._choose_alike(int(kind[0]), deviations, before)
        chosen = np.empty(len(kind))
        for one in np.unique(kind):
            rows = np.flatnonzero(kind == one)
            chosen[rows] = self._choose_alike(int(one), deviations.take(rows), before[rows])
        return chosen

    def _choose_alike(self, kind: int, deviations: Deviations, before: np.ndarray) -> np.ndarray:
        seen = self._seen_by(kind, deviations.index, before)
        return checked_choice(self.kinds[kind], deviations, seen)

    def _seen_by(self, kind: int, index: np.ndarray, before: np.ndarray) -> Seen:
        """Make the knowledge of owners in ``index`` (n,), who have one behaviour."""
        rows = np.searchsorted(self.groups[kind], index)
        memory = {name: values[rows] for name, values in self.memory[kind].items()}
        return Seen(lambda m: self._draw_for(index, before, m), memory)

    def _draw_for(self, index: np.ndarray, before: np.ndarray, m: int) -> np.ndarray:
        """Draw each owner's numbers of this round (n, m), new ones for each further move."""
        found = np.empty((len(index), m))
        for times in np.unique(before):
            rows = before == times
            purpose = f"behaviour, move {times + 1}" if times else "behaviour"
            found[rows] = self.uniform(purpose, self.now, m)[index[rows]]
        return found


class DataMarket(mesa.Model):
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
    by_agents : bool
        Whether each owner moves by its own `DataOwner.move` in a round, a search each, and not all
        of them by a few searches; the path is the same.
    start : (n_owners,), optional
        The first budgets, brought into the owners' intervals; the middle (of the logarithm) unless
        given.
    **kwargs
        Of `market.equilibrium.stopping.PlayRules`: damping, part, tol, patience, max_rounds.

    Attributes
    ----------
    epsilon, payments, surplus : (n_owners,)
    max_change : float, the largest move of the last round, as a part of the owner's epsilon; 1
        where an owner joins (`market.equilibrium.stopping.relative_moves`)
    owners : list of DataOwner
    learner : Learner
    draws : Draws, the source of all random numbers
    end : str, the reason for which the market ended; empty before

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
        by_agents: bool = False,
        start: np.ndarray | None = None,
        **kwargs: Any,
    ) -> None:
        if activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"activation must be one of {known}; found {activation!r}")
        if seed is not None and rng is not None:
            raise ValueError("give seed or rng, not both")
        given = rng if seed is None else seed
        self.draws = Draws(as_seed(np.random.default_rng() if given is None else given))
        super().__init__(rng=self.draws.seed)
        self.activation = activation
        self.order = ACTIVATIONS[activation]
        self.by_agents = by_agents
        self.view: View | None = None
        self.rules = PlayRules(**kwargs)
        self.game = game
        self.epsilon = _first_budgets(game, start, self.rng)
        each = _one_behaviour_each(behaviour, len(game.owners))
        self.owners = [DataOwner(self, number, one) for number, one in enumerate(each)]
        self.numbers = np.array([owner.unique_id for owner in self.owners])
        self.learner = Learner(self, train)
        self.open_market(game.policy)
        self.datacollector = MarketCollector()
        self.datacollector.collect(self)

    def open_market(self, policy: Any) -> None:
        """Open the market under a policy from its present budgets; rounds count from here."""
        self.game = replace(self.game, policy=policy)
        self.players = Players([owner.behaviour for owner in self.owners], self.draws)
        self.players.start_memory(self.game, self.epsilon)
        patience = max(
            self.order.patience(len(self.owners), self.rules), self.players.rounds_at_rest
        )
        width = upper_ends(self.game.owners)
        self.monitor = ConvergenceMonitor(
            self.rules, patience, width, self.epsilon, self._round_key()
        )
        self.end = ""
        self.running = True
        self.max_change = 0.0
        self._settle_round()

    @property
    def privacy_costs(self) -> np.ndarray:
        """Privacy costs of the present budgets, money (n_owners,)."""
        return self.game.costs(self.epsilon)

    def _round_key(self) -> str:
        """A key of the round where its order or a behaviour differs between rounds; else empty."""
        return str(self.steps) if self.order.draws or self.players.changes_by_round else ""

    def step(self) -> None:
        """Play a round: owners choose in the order of the activation, the learner pays."""
        before = self.epsilon
        players = self.players
        players.now = self.steps
        calls = count()
        self.epsilon = self._play_round(
            lambda: players.uniform(f"turns {next(calls)}", self.steps, 1)[:, 0]
        )
        players.update_memory(self.game, self.epsilon)
        self._settle_round()
        self.max_change = float(relative_moves(before, self.epsilon, self.monitor.width).max())
        self.end = self.monitor.register_round(before, self.epsilon, drawn=self._round_key())
        self.running = not self.end
        self.datacollector.collect(self)

    def _play_round(self, draw: Draw) -> np.ndarray:
        """Budgets (n_owners,) after a round."""
        if self.by_agents:
            return self._play_agents(self.epsilon, draw)
        return play_round(
            self.order,
            self.game,
            self.epsilon,
            draw=draw,
            rules=self.rules,
            respond=self.players.choose_for,
            alone=self.players.moving_alone,
            all_the_way=self.players.drawing,
        )

    def _play_agents(self, before: np.ndarray, draw: Draw) -> np.ndarray:
        """Budgets (n_owners,) after a round in which each owner is called to move by itself."""
        order = self.order.turns(len(before), draw, self.rules)
        self.epsilon = before.copy()
        if self.order.at_once:
            views = views_at_once(self.game, before, order)
        else:
            views = views_in_turn(self.game, self.epsilon, order, self.players.moving_alone)
        for view in views:
            self.view = view
            self.owners[int(view[0].index[0])].move()
        self.view = None
        if not self.order.at_once:
            return self.epsilon
        part = np.where(self.players.drawing, 1.0, self.rules.damping)
        return damp_moves(before, self.epsilon, part)

    def move_owner(self, number: int) -> None:
        """Move one owner: in its turn by what it then sees, else by the present budgets."""
        if self.view is None:
            self.move(np.array([number]))
        else:
            self.epsilon[number] = self.players.choose_for(*self.view)[0]

    def move(self, numbers: np.ndarray) -> None:
        """Move the owners of ``numbers`` (k,) one after another, outside of any round."""
        players = self.players
        self.epsilon = in_turn(
            self.game, self.epsilon, numbers, players.choose_for, players.moving_alone
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

    def _settle_round(self) -> None:
        self.fitness = self.game.fitness(self.epsilon)
        self.payments = self.game.payments(self.epsilon)
        self.surplus = self.payments + self.game.benefits(self.epsilon) - self.privacy_costs


def _first_budgets(game: Game, start: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """The first budgets (n_owners,), brought into the owners' intervals."""
    count = len(game.owners)
    if start is not None and (np.shape(start) != (count,) or np.isnan(start).any()):
        found = np.asarray(start, dtype=float).tolist()
        raise ValueError(f"start must be {count} numbers, one per owner; found {found}")
    return start_points(game, rng=rng, starts=1, start=start)[0]


def _one_behaviour_each(behaviour: Any, count: int) -> list[Behaviour]:
    """Behaviour of each of ``count`` owners; equal names are one behaviour."""
    each = list(behaviour) if isinstance(behaviour, list | tuple) else [behaviour] * count
    if len(each) != count:
        raise ValueError(f"behaviour must be one or {count} behaviours; found {len(each)}")
    named = {given: make_behaviour(given) for given in set(each)}
    return [named[given] for given in each]
