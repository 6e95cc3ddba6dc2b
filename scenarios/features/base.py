"""The form of a market feature: one declaration, from its key in the scenario file to its facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value
from market.analysis.welfare import learner_surplus, welfare
from market.equilibrium.solver import Equilibrium
from market.game.game import Game

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of columns (n_rows,), as plain numbers."""
    lists = [one.tolist() if isinstance(one, np.ndarray) else one for one in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def compare_market(run: Run, epsilon: np.ndarray) -> dict[str, Any]:
    """Outcome of a run's market if owners had settled on other budgets."""
    game = run.game
    return {
        "epsilon": epsilon,
        "relative_fitness": run.planner.forecast.at(epsilon),
        "payments": float(game.payments(epsilon).sum()),
        "owners": float(game.payoffs(epsilon).sum()),
        "learner": learner_surplus(game, epsilon),
        "total": welfare(game, epsilon),
    }


SolveGame = Callable[[Game], Equilibrium]


def value_of(scenario: Scenario, key: str) -> Any:
    """Value of a dotted key of a scenario; None where a table on the way is absent."""
    value: Any = scenario
    for name in key.split("."):
        value = getattr(value, name, None)
    return value


class Choice:
    """A choice that a scenario may make, and what it excludes.

    Attributes
    ----------
    key: dotted key of the scenario file, at which errors are reported.
    title: the choice in the words of an error.
    example: changes of a scenario that make the choice, as for ``--set``.
    excludes: reasons why other choices cannot be made with this one, by their names. A reason
        completes "KEY must be left out in a scenario with TITLE, ...", of which KEY is the other
        choice's, and so speaks of this one: "under which payments go to owners, not to their
        union".
    refusal: rule of the error where this choice is excluded.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    example: ClassVar[tuple[str, ...]] = ()
    excludes: ClassVar[Mapping[str, str]] = {}
    refusal: ClassVar[str] = "must be left out"

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether a scenario makes the choice: by default, whether its key holds anything."""
        value = value_of(scenario, self.key)
        return value is not None and value != () and value is not False

    def describe_value(self, scenario: Scenario) -> str:
        """The value found at the key, as an error shows it; empty for a table."""
        value = value_of(scenario, self.key)
        return format_value(value) if isinstance(value, str | int | float) else ""

    def check(self, scenario: Scenario) -> None:
        """Refuse, with an InputError, values that contradict other tables of the scenario."""

    def check_unused(self, scenario: Scenario) -> None:
        """Refuse, with an InputError, values of other tables that need the choice."""


@dataclass(frozen=True)
class Topic:
    """Place of a topic in the terminal's output and on the page.

    Parameters
    ----------
    title: title of its lines on a terminal; topics of one title follow each other.
    rank: rank of these lines.
    section: identifier of its section on the page, section_NAME.html.j2; empty without one.
    heading: heading of this section.
    place: rank of this section.
    applies: test of a result that has something of it.
    phrases: the template and the macro of its lines; by default its own and ``terminal``.
    """

    title: str = ""
    rank: int = 100
    section: str = ""
    heading: str = ""
    place: int = 0
    applies: Callable[[Mapping[str, Any]], Any] = bool
    phrases: tuple[str, str] | None = None


class Feature(Choice):
    """A feature of a market.

    A subclass states its attributes and overrides the methods that concern it; an instance in
    `scenarios.features.FEATURES` makes it usable from the scenario file to the report.

    Attributes
    ----------
    table: annotation of the feature's key at the top of the scenario file; None where the key
        belongs to another table.
    default: value of the key where the file does not give it.
    result: name of the feature's facts in result.json; empty without.
    sentence: Jinja template of what the terminal and the report say; it knows ``facts`` and
        ``result``, and the filters ``number``, ``percent``, ``money`` and ``listed``. Or the name
        of a template in scenarios/features, whose macro ``terminal`` makes the lines of a terminal.
    topic: where that stands; by default last, under the name of the facts.
    owners_alone: whether owners choose for themselves alone, so that a planner's best is known.
    """

    table: ClassVar[Any] = None
    default: ClassVar[Any] = None
    result: ClassVar[str] = ""
    sentence: ClassVar[str] = ""
    topic: ClassVar[Topic] = Topic()
    owners_alone: ClassVar[bool] = True

    def has_table(self, scenario: Scenario) -> bool:
        """Test whether the scenario file has a table of the feature's own."""
        return self.table is not None and value_of(scenario, self.key) is not None

    def check_owners(self, scenario: Scenario, names: Sequence[str]) -> None:
        """Refuse, with an InputError, values that contradict the owners' names."""

    def change_game(self, scenario: Scenario, game: Game) -> Game:
        """The game under the feature's rules: what owners choose, pay and are paid.

        Budgets are bounded by ``epsilon_min`` and ``epsilon_max`` of `Game.owners`. Money enters
        through ``fixed_cost``, which an owner bears if it sells and a policy may refund, or through
        `transfers`, which owners pay each other.
        """
        return game

    def as_played(self, scenario: Scenario, game: Game) -> Game:
        """The game as those who choose see it; payments are still those of ``game``."""
        return game

    def settle(
        self, scenario: Scenario, game: Game, solve_game: SolveGame, **search: Any
    ) -> Equilibrium:
        """Equilibrium of the game; ``search`` is that of `market.equilibrium.solver.solve`."""
        return solve_game(game)

    def transfers(self, scenario: Scenario, game: Game, epsilon: np.ndarray) -> np.ndarray:
        """Money that each owner receives from other owners, (n_owners,); below 0 where it gives."""
        return np.zeros(len(epsilon))

    def warnings(self, run: Run) -> list[dict[str, Any]]:
        """Warnings of a run, each a fact with a ``cause``."""
        return []

    def facts(self, run: Run, loop: Loop) -> Any:
        """Facts of a run for result.json; ``loop`` settles other markets to compare with.

        Owners sell where ``run.asks`` holds. With ``[time]``, ``run`` is one period and
        ``run.history`` has them all.

        The docstring of a feature's own method describes each field by its place.
        """
        return None

    def in_order(self, scenario: Scenario, names: Sequence[str], left_out: Sequence[str]) -> Any:
        """The feature's table with one value per owner in the order of the owners."""
        return value_of(scenario, self.key)


def check_exclusions(choices: Mapping[str, Choice], scenario: Scenario) -> None:
    """Refuse a scenario that makes two choices of which one excludes the other.

    Raises
    ------
    InputError
        At the key of the excluded choice.
    """
    used = {name: choice for name, choice in choices.items() if choice.is_used(scenario)}
    for choice in used.values():
        for name, why in choice.excludes.items():
            if name in used:
                excluded = used[name]
                rule = f"{excluded.refusal} in a scenario with {choice.title}, {why}"
                found = excluded.describe_value(scenario)
                remedy = f"To keep it, change or remove {choice.key}."
                raise InputError(excluded.key, rule, found, remedy)
