"""Studies in the hand: a comparison or a design as pandas frames, a picture and words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from learning.calls import check_arguments
from learning.phrases import toml_value
from scenarios.opened import as_overrides, read_scenario
from scenarios.report.comparison_page import (
    alternatives_frame,
    draw_comparison,
    owners_frame,
    save_comparison,
)
from scenarios.report.design_page import draw_design, save_design
from scenarios.report.document_formats import render_document
from scenarios.report.memo import make_memo
from scenarios.report.phrases import render_phrase
from scenarios.result import to_plain
from scenarios.schema.scenario import Scenario
from scenarios.studies.attitude import Attitude
from scenarios.studies.comparison import Aim, comparison, read_alternatives
from scenarios.studies.comparison import compare as compare_alternatives
from scenarios.studies.design import design_scenario
from scenarios.studies.design_part import design_part
from scenarios.studies.need import find_need, make_target, need_part


class _Content:
    """Facts that are looked up by name."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def __getitem__(self, key: str) -> Any:
        return self.content[key]


class Comparison(_Content):
    """Alternatives side by side.

    ``comparison["vote"]`` and the like are the content of comparison.json.

    Parameters
    ----------
    content: everything of comparison.json.
    """

    @property
    def alternatives(self) -> pd.DataFrame:
        """A row for each alternative, by name."""
        return alternatives_frame(self.content).set_index("name")

    @property
    def owners(self) -> pd.DataFrame:
        """A row for each alternative and owner."""
        return owners_frame(self.content)

    @property
    def memo(self) -> str:
        """The outcome in plain words (Markdown)."""
        made = make_memo(self.content, dt.datetime.now(dt.UTC).date())
        return render_document(made, "md").decode()

    @check_arguments
    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write its folder, with page, tables and memo, whole or not at all."""
        save_comparison(self.content, Path(folder), force=force)
        return Path(folder)

    def _repr_html_(self) -> str:
        drawn = draw_comparison(self.content)
        return drawn[drawn.find("<svg") :]


@check_arguments
def compare(
    scenarios: Sequence[str | Path],
    vary: Mapping[str, Sequence[Any]] | None = None,
    *,
    at_spending: float | None = None,
    at_fitness: float | None = None,
    training: bool = True,
    data_folder: str | Path | None = None,
    allow_code: bool = False,
) -> Comparison:
    """Compare scenarios, or the first of them with each change by itself.

    Parameters
    ----------
    scenarios: names of the library, files, or result folders.
    vary: values by dotted key, such as ``{"policy.kind": ["marginal", "shapley"]}``.
    at_spending: money that the learner is to pay in all under each of them.
    at_fitness: relative fitness that the model is to have under each of them, by the forecast.
    training: whether to train.

    Raises
    ------
    InputError
        On the first rule that a scenario breaks, or where there are fewer than two alternatives.
    """
    changes = [(key, _as_toml(value)) for key, values in (vary or {}).items() for value in values]
    aim = Aim(at_spending, at_fitness)
    read = read_alternatives(scenarios, allow_code=allow_code, data_folder=data_folder)
    return Comparison(comparison(compare_alternatives(read, changes, aim, training=training), aim))


def _as_toml(value: Any) -> str:
    """Write a value as on the command line: a text without quotes."""
    if isinstance(value, str):
        return value
    return toml_value(to_plain(value))


class Design(_Content):
    """Offer that the learner should make.

    ``design["owners"]`` and the like are the content of design.json.

    Parameters
    ----------
    content: everything of design.json.
    scenario: the scenario as chosen; None where nothing is worth buying.
    """

    def __init__(self, content: dict[str, Any], scenario: Scenario | None) -> None:
        super().__init__(content)
        self.scenario = scenario

    @property
    def policies(self) -> pd.DataFrame:
        """A row for each alternative, the best for the learner first."""
        rows = [
            {key: value for key, value in row.items() if key != "policy"}
            for row in self["policies"]
        ]
        return pd.DataFrame(rows).set_index("kind")

    @property
    def frontier(self) -> pd.DataFrame:
        """A row for each policy tried.

        It has payments, the model's relative fitness, and whether no other policy pays less for as
        good a model.
        """
        return pd.DataFrame(self["frontier"])

    @property
    def answer(self) -> str:
        """The offer and the owners it addresses, in plain words."""
        said = (
            render_phrase("design", "answer", self.content),
            render_phrase("design", "what_would_change", self.content),
        )
        return " ".join(filter(None, said))

    @check_arguments
    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write its folder, with page and chosen scenario, whole or not at all."""
        text = ""
        if self.scenario is not None:
            text = self.scenario.to_toml(absolute=True)
        save_design(self.content, text, Path(folder), force=force)
        return Path(folder)

    def _repr_html_(self) -> str:
        drawn = draw_design(self.content)
        return drawn[drawn.find("<svg") :]


@check_arguments
def design(
    scenario: str | Path | Scenario,
    changes: Mapping[str, Any] | Sequence[str] = (),
    *,
    policies: Sequence[str] = (),
    budget: float | None = None,
    at_least: float | None = None,
    quantile: float | None = None,
    optimistic: bool = False,
    data_folder: str | Path | None = None,
) -> Design:
    """Search policies and their money for what the learner gains most by, owners in equilibrium.

    Parameters
    ----------
    scenario, changes, data_folder: as of `scenarios.opened.run`.
    policies: kinds to try; all usual ones unless given.
    budget: money that may be paid at most; ``learner.budget`` unless given.
    at_least: least chance that buying pays; the largest expected gain that has it is chosen.
    quantile: the gain's quantile that is to be largest, in place of the expected gain.
    optimistic: whether the learner counts on the best of several equilibria, and not on the worst.

    Raises
    ------
    InputError
        On the first rule that the scenario breaks.
    """
    chosen = read_scenario(scenario, as_overrides(changes), data_folder=data_folder)
    told: dict[str, Any] = {"optimistic": optimistic, "attitude": Attitude(at_least, quantile)}
    found = design_scenario(chosen, kinds=policies, budget=budget, **told)
    return Design(design_part(found, optimistic=optimistic), found.scenario)


class Need(_Content):
    """What reaches an error or a gain with a chance: budgets, owners and money.

    ``need["ways"]`` and the like are its facts.

    Parameters
    ----------
    content: facts of `scenarios.studies.need.need_part`.
    """

    @property
    def ways(self) -> pd.DataFrame:
        """A row for each way, by name: money, chance, and the budget of each owner."""
        rows = []
        for way in self.content["ways"]:
            budgets = {one["name"]: one["epsilon"] for one in way["owners"]}
            kept = ("way", "reached", "money", "chance", "amount", "relative_fitness")
            rows.append({key: way[key] for key in kept} | budgets)
        return pd.DataFrame(rows).set_index("way") if rows else pd.DataFrame()

    @property
    def answer(self) -> str:
        """What is needed, in a sentence."""
        return render_phrase("need", "answer", self.content)

    def __repr__(self) -> str:
        return f"<Need: {self.answer}>"


@check_arguments
def need(
    scenario: str | Path | Scenario,
    changes: Mapping[str, Any] | Sequence[str] = (),
    *,
    error: float | None = None,
    fitness: float | None = None,
    gain: float | None = None,
    chance: float | None = None,
    data_folder: str | Path | None = None,
) -> Need:
    """Find the least money and budgets that reach an error or a gain, with a chance.

    Parameters
    ----------
    scenario, changes, data_folder: as of `scenarios.opened.run`.
    error: the most error, root mean squared in units of the target, or a share of wrong labels.
    fitness: the most relative fitness, in place of it.
    gain: the least money that the learner is to gain, in place of both; 0 where only a chance is
        given.
    chance: the chance with which it is to be reached; 0.9 unless given.

    Raises
    ------
    InputError
        On the first rule that the scenario breaks, or if it cannot be reached.
    """
    target = make_target(error, fitness, gain, chance)
    chosen = read_scenario(scenario, as_overrides(changes), data_folder=data_folder)
    return Need(need_part(*find_need(chosen, target)))
