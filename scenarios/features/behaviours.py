"""Behaviours: owners who do not play best responses, or do not answer as they sold."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from agents.behaviours import Behaviour
from agents.behaviours.best_response import Rational
from learning.declaration import keys_of
from learning.errors import InputError
from learning.phrases import format_value
from learning.randomness import Streams
from market.analysis.welfare import learner_surplus
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from scenarios.features.audit import describe_conduct
from scenarios.features.base import Feature, SolveGame, Topic
from scenarios.features.network import find_sight
from scenarios.schema.fields import check_known
from scenarios.schema.kinds import EachTable, make_declared

if TYPE_CHECKING:
    from agents.model import DataMarket
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

Tables = Sequence[Any]  # of AssignedSection, each with its kind
WHOLE = 1e-9  # shares that exceed 1 by rounding alone add up to 1
ROUNDS = 50  # played where behaviours draw, unless the scenario states a number


class Behaviours(Feature):
    """Owners who behave otherwise than rational ones; agents play such a market."""

    key = "behaviours"
    title = "[[behaviours]]"
    table = Annotated[Any, EachTable("behaviours")]
    example = ("behaviours=[{kind='inertial', share=0.5}]",)
    result = "behaviours"
    sentence = "behaviours.txt.j2"
    topic = Topic("behaviours", 2, "behave", "Who behaves how", 3)
    excludes = {
        "unions": "because their members choose together; use behaviours of kind colluders instead",
        "learners": "because owners divide their budgets among learners rationally",
        "externalities": "because they are computed for rational owners",
        "participation": "because it is computed for rational owners",
    }

    def check_unused(self, scenario: Scenario) -> None:
        """Refuse a number of rounds where no behaviour draws."""
        draws = any(make_declared(table).draws for table in scenario.behaviours or ())
        if scenario.market.rounds is not None and not draws:
            rule = "needs [[behaviours]] that draw at random, such as inertial"
            remedy = "Others play until nobody moves. Leave it out, or set market.max_rounds."
            raise InputError("market.rounds", rule, scenario.market.rounds, remedy)

    def check(self, scenario: Scenario) -> None:
        """Refuse tables that cover more owners than there are, or one owner twice."""
        self.check_unused(scenario)
        owners: dict[str, int] = {}
        for at, table in enumerate(scenario.behaviours, 1):
            if table.owners and table.share is not None:
                rule = "must be left out if owners are named"
                key = f"behaviours.{at}.share"
                raise InputError(key, rule, table.share, "Leave out share or owners.")
            for name in table.owners or ():
                if name in owners:
                    found = f"{format_value(name)} in {owners[name]} and {at}"
                    rule = "must name each owner in one table"
                    raise InputError("behaviours.owners", rule, found)
                owners[name] = at
        rest = [at for at, one in enumerate(scenario.behaviours, 1) if covers_rest(one)]
        if len(rest) > 1:
            key = f"behaviours.{rest[1]}.share"
            raise InputError(key, "is required", "nothing", "Set it, or name owners.")
        total = sum(table.share or 0.0 for table in scenario.behaviours)
        if total > 1 + WHOLE:
            rule = "must add up to at most 1 over all tables"
            raise InputError("behaviours.share", rule, f"{total:g}")

    def check_owners(self, scenario: Scenario, names: Sequence[str]) -> None:
        """Refuse unknown names, shares that leave too few owners, and large groups."""
        tables = scenario.behaviours
        for at, table in enumerate(tables, 1):
            check_known(f"behaviours.{at}.owners", table.owners or (), names)
        named = sum(len(table.owners or ()) for table in tables)
        shared = sum(count_shares(tables, len(names)))
        if named + shared > len(names):
            left = f"{len(names) - named} of {len(names)} are left"
            rule = f"must be at most the owners that no table names: {left}"
            raise InputError("behaviours.share", rule, f"{shared} owners", "Lower it.")
        for behaviour, numbers in assign_behaviours(tables, names, scenario.seed):
            behaviour.check_group(len(numbers))

    def settle(
        self, scenario: Scenario, game: Game, solve_game: SolveGame, **search: Any
    ) -> Equilibrium:
        """Profile at which agents stand after they have played, with its certificate."""
        return play_market(scenario, game)

    def transfers(self, scenario: Scenario, game: Game, epsilon: np.ndarray) -> np.ndarray:
        """Money that owners receive as colluders divide what they have, (n_owners,)."""
        transfers = np.zeros(len(epsilon))
        surplus = game.payoffs(epsilon)
        names = game.owners.names
        for behaviour, numbers in assign_behaviours(scenario.behaviours, names, scenario.seed):
            own = surplus[numbers]
            transfers[numbers] = behaviour.divide_surplus(own, game.owners.sizes[numbers]) - own
        return transfers

    def facts(self, run: Run, loop: Loop) -> list[dict[str, Any]]:
        """Each behaviour with its owners, and how they would fare if all were rational.

        Returns
        -------
        behaviours[].kind : A behaviour, by its kind in `[[behaviours]]`, last `rational` for
            everybody else; behaviours is null where all are rational.
        behaviours[].title : What such an owner does.
        behaviours[].parameters : Its parameters, every default filled in.
        behaviours[].owners : Names of the owners who behave so.
        behaviours[].epsilon : The ε that they sell in all.
        behaviours[].epsilon_if_rational : The same were all owners rational
            (`equilibrium.benchmark`).
        behaviours[].payments : Money that they are paid in all.
        behaviours[].payments_if_rational : The same were all owners rational.
        behaviours[].surplus : Money that they have in all.
        behaviours[].surplus_if_rational : The same were all owners rational.
        behaviours[].cheats : Names of those of them who do not answer as they sold: an audit may
            make the others honest.
        behaviours[].conduct.noise : What these multiply the noise that they sold by; conduct is
            null where all answer as they sold.
        behaviours[].conduct.gradient : What they multiply their gradients by.
        behaviours[].conduct.records : What they answer from: `own`, `junk` or `copies`.
        behaviours[].conduct.distinct : How many of their records they copy.
        behaviours[].exposure : How much further than promised, per unit of noise, replacing a
            record of theirs can move what they answer: above 1 the claim made of their records
            does not hold.
        behaviours[].saved : Money of their privacy cost that they save by that; costs and surplus
            in the result are counted at what they sold.
        """
        assert run.rational is not None
        scenario = run.scenario
        kinds = {make_declared(table): table.kind for table in scenario.behaviours}
        owners = run.game.owners.names
        names = np.array(owners, dtype=object)
        now = (run.epsilon, *run.game.payments_and_payoffs(run.epsilon))
        then = (run.rational.epsilon, *run.game.payments_and_payoffs(run.rational.epsilon))
        rows = []
        for behaviour, numbers in assign_behaviours(scenario.behaviours, owners, scenario.seed):
            row = {
                "kind": kinds.get(behaviour, "rational"),
                "parameters": {
                    one.name: getattr(behaviour, one.name) for one in keys_of(behaviour)
                },
                "title": behaviour.title,
                "owners": names[numbers].tolist(),
            }
            for name, here, there in zip(
                ("epsilon", "payments", "surplus"), now, then, strict=True
            ):
                row[name] = float(here[numbers].sum())
                row[f"{name}_if_rational"] = float(there[numbers].sum())
            rows.append(row | describe_conduct(run.answering, names[numbers]))
        return rows


def covers_rest(table: Any) -> bool:
    """Test whether a table covers all owners that no other table means."""
    return not table.owners and table.share is None


def count_shares(tables: Tables, n_owners: int) -> list[int]:
    """Number of owners that each table covers by its share, rounded cumulatively."""
    shares = np.cumsum([table.share or 0.0 for table in tables])
    ends = np.floor(shares * n_owners + 0.5 + WHOLE).astype(int)
    return np.diff(ends, prepend=0).tolist()


def assign_behaviours(
    tables: Tables | None, names: Sequence[str], seed: int
) -> list[tuple[Behaviour, np.ndarray]]:
    """Behaviours of a scenario, each with the numbers of its owners (k,); the rational rest last.

    A share covers the owners for whom a number drawn by seed and name is smallest, so that an
    additional owner changes as few assignments as possible.

    Parameters
    ----------
    tables : the tables [[behaviours]].
    names : of all owners, in order.
    seed : of the scenario.
    """
    tables = tables or ()
    place = {name: number for number, name in enumerate(names)}
    chosen = [[place[name] for name in table.owners or ()] for table in tables]
    named = {number for group in chosen for number in group}
    left = [number for number in range(len(names)) if number not in named]
    left.sort(key=lambda number: draw_by_name(names[number], seed))
    for at, count in enumerate(count_shares(tables, len(names))):
        chosen[at] += left[:count]
        left = left[count:]
    for at, table in enumerate(tables):
        if covers_rest(table):
            chosen[at] = left
            left = []
    groups: dict[Behaviour, list[int]] = {}
    for behaviour, group in [
        *zip(map(make_declared, tables), chosen, strict=True),
        (Rational(), left),
    ]:
        groups.setdefault(behaviour, []).extend(group)
    return [(one, np.array(sorted(group), dtype=int)) for one, group in groups.items() if group]


def kind_by_owner(tables: Tables, names: Sequence[str], seed: int) -> list[str]:
    """Name of each owner's behaviour, in order."""
    kinds = {make_declared(table): str(table.kind) for table in tables}
    by_owner = np.full(len(names), "rational", dtype=object)
    for behaviour, numbers in assign_behaviours(tables, names, seed):
        by_owner[numbers] = kinds.get(behaviour, "rational")
    return by_owner.tolist()


def draw_by_name(name: str, seed: int) -> bytes:
    """Pseudo-random bytes of an owner's name."""
    return blake2b(name.encode(), key=f"{seed} behaviours".encode(), digest_size=8).digest()


def play_market(scenario: Scenario, game: Game, *keys: str) -> Equilibrium:
    """Profile at which agents stand after play, with its certificate; ``keys`` name their draws."""
    return make_agents(scenario, game, *keys).run()


def list_behaviours(scenario: Scenario, names: Sequence[str]) -> list[Behaviour]:
    """Behaviour of each owner, in order, with the owners it sees."""
    by_owner: list[Any] = [None] * len(names)
    sight = find_sight(scenario, names)
    for behaviour, numbers in assign_behaviours(scenario.behaviours, names, scenario.seed):
        placed = behaviour.with_sight(sight)
        for number in numbers:
            by_owner[number] = placed
    return by_owner


def make_agents(scenario: Scenario, game: Game, *keys: str) -> DataMarket:
    """Agents of a scenario before they play, whose draws are named by ``keys``.

    Where no behaviour draws, they play until they rest, cycle, or have played
    ``market.max_rounds``; else for ``market.rounds``, since owners who draw never rest.
    """
    from agents.model import DataMarket  # Mesa and what it loads take half a second

    by_owner = list_behaviours(scenario, game.owners.names)
    rules = scenario.market.stopping_rules
    if any(behaviour.draws for behaviour in set(by_owner)):
        rounds = scenario.market.rounds or ROUNDS
        rules |= {"max_rounds": rounds, "patience": rounds}
    order = Streams(scenario.seed, "order").rng(*keys)
    activation = scenario.market.activation
    return DataMarket(game, rng=order, behaviour=by_owner, activation=activation, **rules)


def solve_if_rational(scenario: Scenario, game: Game) -> Equilibrium | None:
    """Equilibrium of the same owners if all were rational; None where they are."""
    if not scenario.behaviours:
        return None
    rng = Streams(scenario.seed, "starts").rng()
    starts = scenario.market.starts
    return solve(game, rng=rng, starts=starts, **scenario.market.stopping_rules)


def describe_rational(game: Game, found: Equilibrium | None) -> dict[str, Any] | None:
    """Market of rational owners, as a result holds it; None where they are rational anyway."""
    if found is None:
        return None
    return {
        "converged": found.converged,
        "epsilon": found.epsilon,
        "relative_fitness": game.fitness(found.epsilon),
        "payments": float(found.payments.sum()),
        "learner_surplus": learner_surplus(game, found.epsilon),
    }
