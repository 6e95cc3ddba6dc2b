"""A result in the hand, of a run or a folder: pandas frames, a picture, LaTeX, and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from learning.calls import check_arguments
from learning.canonical import parse_canonical
from learning.errors import InputError
from learning.phrases import toml_value
from scenarios import result as saved
from scenarios.model_file import MODEL, from_json
from scenarios.output.manifest import MANIFEST
from scenarios.report.facts_owners import epsilon_of
from scenarios.report.figures import FIGURES, draw_figure, read_table
from scenarios.report.memo import write_pages
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import format_number, money_heading
from scenarios.runner import run as run_scenario
from scenarios.schema.loading import change_scenario, load
from scenarios.schema.scenario import Scenario
from scenarios.trained_model import TrainedModel

TABLES = ("trajectory", "validation", "payoff_curves", "periods", "paths", "talks")
# What a table on paper shows of an owner.
MONEY = {
    "payment": "payment",
    "privacy_cost": "privacy cost",
    "benefit": "benefit",
    "surplus": "surplus",
}


class Result:
    """Findings of a run.

    ``result["learner"]["surplus"]`` and the like are the content of result.json.

    Parameters
    ----------
    raw: the result as the runner makes it, or a folder holds it.
    changed: files of the folder that somebody has changed since they were written.

    >>> result = run("three_insurers", {"validation.runs": 2, "market.starts": 1}, training=False)
    >>> result.owners["epsilon"].round(2).to_dict()
    {'Aurora Health': 1.66, 'Beacon Mutual': 1.15, 'Cedar Life': 0.38}
    """

    def __init__(self, raw: saved.Result, changed: Sequence[str] = ()) -> None:
        self.raw = raw
        self.changed = tuple(changed)

    def __getitem__(self, key: str) -> Any:
        return self.raw.content[key]

    @property
    def owners(self) -> pd.DataFrame:
        """A row for each owner, by name, as in owners.csv; budgets without noise are inf."""
        rows = [row | {"epsilon": epsilon_of(row)} for row in self["owners"]]
        return pd.DataFrame(rows).set_index("name")

    @property
    def claims(self) -> pd.DataFrame:
        """A row for each privacy claim.

        It has whose records it is of, its epsilon and delta, over how many rounds, against whom.
        """
        return pd.DataFrame(self["claims"])

    @property
    def trajectory(self) -> pd.DataFrame:
        """A row for each round and owner: the path to the equilibrium."""
        return pd.DataFrame(list(self.raw.trajectory))

    @property
    def validation(self) -> pd.DataFrame:
        """A row for each simulated training: the relative fitness it came to."""
        return pd.DataFrame(list(self.raw.validation), columns=["run", "relative_fitness"])

    @property
    def payoff_curves(self) -> pd.DataFrame:
        """A row for each owner and budget: its surplus there, the others as they settled."""
        return pd.DataFrame(list(self.raw.payoff_curves))

    @property
    def periods(self) -> pd.DataFrame:
        """A row for each period and owner, with [time]; else no rows."""
        return pd.DataFrame(list(self.raw.periods))

    @property
    def paths(self) -> pd.DataFrame:
        """A row for each round and point, with validation.paths.

        It has quartiles of relative fitness over all trainings.
        """
        return pd.DataFrame(list(self.raw.paths))

    @property
    def talks(self) -> pd.DataFrame:
        """A row for each tick of the first asynchronous training, with validation.paths.

        It has when it was and who talked.
        """
        return pd.DataFrame(list(self.raw.talks))

    @property
    def model(self) -> TrainedModel | None:
        """The model of the first training; the learner's own where nobody was asked.

        None without training.
        """
        if self.raw.model is None:
            return None
        return TrainedModel(self.raw.model)

    @property
    def headline(self) -> str:
        """The outcome in a few sentences."""
        content = self.raw.content
        said = (
            render_phrase("errors", "headline", content),
            render_phrase("market", "who_sells", content),
            render_phrase("model", "what_comes_out", content),
            render_phrase("buying", "does_buying_pay", content),
        )
        return " ".join(filter(None, said))

    def to_frame(self) -> pd.DataFrame:
        """One row with every number, text and truth of result.json but lists, by dotted names.

        Frames of several results go under one another by ``pandas.concat``.
        """
        facts = pd.json_normalize(self.raw.content)
        return facts[[name for name in facts if not isinstance(facts.at[0, name], (list, tuple))]]

    @check_arguments
    def to_csv(self, path: str | Path | None = None) -> str | None:
        """The owners as CSV: written to a file, or given back as text where none is named."""
        return self.owners.to_csv(path, lineterminator="\n")

    @check_arguments
    def to_latex(self, path: str | Path | None = None) -> str | None:
        """The owners as a LaTeX table (booktabs).

        Written to a file, or given back as text where none is named.
        """
        shown = self._shown().rename_axis("owner").reset_index()
        numbers = dict.fromkeys(shown.columns[1:], _latex_number)
        style = (
            shown.style.hide(axis="index")
            .format(numbers, escape="latex")
            .format_index(escape="latex", axis=1)
        )
        columns = "l" + "r" * len(numbers)
        return style.to_latex(path and str(path), hrules=True, column_format=columns)

    def _shown(self) -> pd.DataFrame:
        """The owners as a table on paper has them, money with its currency."""
        heads = {"records": "records", "epsilon": "epsilon"}
        heads |= {key: money_heading(self.raw.content, head) for key, head in MONEY.items()}
        return self.owners[[name for name in heads if name in self.owners]].rename(columns=heads)

    @check_arguments
    def drawing(self, name: str = "epsilon_paths") -> str:
        """A figure as SVG text, one of those in figures/ of a result folder.

        Empty where there is nothing to draw.
        """
        if name not in FIGURES:
            raise InputError("drawing", f"must be one of {', '.join(FIGURES)}", name)
        return draw_figure(
            name, self.raw.content, {table: getattr(self, table) for table in TABLES}
        )

    @check_arguments
    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the result folder with its figures and report, whole or not at all.

        As ``dpmarket run`` does.
        """
        saved.save_result(self.raw, Path(folder), write_pages, force=force)
        return Path(folder)

    def __repr__(self) -> str:
        by_hand = f" (changed by hand: {', '.join(self.changed)})" * bool(self.changed)
        return f"<Result of {self['title'] or 'a data market'!r}{by_hand}: {self.headline}>"

    def _repr_html_(self) -> str:
        """Title, headline, owners and their path, as a notebook shows them."""
        table = self._shown().to_html(float_format=format_number, max_rows=20, border=0)
        title = escape(self["title"] or "A data market")
        drawn = self.drawing()
        words = f"<h3>{title}</h3><p>{escape(self.headline)}</p>"
        return words + table + drawn[drawn.find("<svg") :]


@check_arguments
def run(
    scenario: str | Path | Scenario,
    changes: Mapping[str, Any] | Sequence[str] = (),
    *,
    seed: int | None = None,
    training: bool = True,
    data_folder: str | Path | None = None,
    allow_code: bool = False,
) -> Result:
    """Run a scenario: settle its market, train at the equilibrium, check the forecast.

    Parameters
    ----------
    scenario: a name of the library, a file, or a scenario read before.
    changes: keys to change, such as ``{"policy.budget": 500}``, or as on the command line,
        ``["policy.budget=500"]``.
    seed: another seed than the scenario's.
    training: whether to train.
    data_folder: where published tables lie that do not come along; default: what DPMARKET_DATA
        names.
    allow_code: whether to run the Python file that a policy of kind user names.

    Raises
    ------
    InputError
        On the first rule that the scenario or its data breaks.
    """
    told = as_overrides(changes)
    if seed is not None:
        told.append(f"seed={seed}")
    chosen = read_scenario(scenario, told, allow_code=allow_code, data_folder=data_folder)
    return Result(run_scenario(chosen, training=training))


def as_overrides(changes: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Changes as on the command line."""
    if isinstance(changes, Mapping):
        return [f"{key}={toml_value(saved.to_plain(value))}" for key, value in changes.items()]
    return list(changes)


def read_scenario(
    scenario: str | Path | Scenario, overrides: Sequence[str], **options: Any
) -> Scenario:
    """A scenario by name or file, or one read before, with changes."""
    if not isinstance(scenario, Scenario):
        return load(scenario, overrides, **options)
    if overrides:
        scenario = change_scenario(scenario, overrides)
    return scenario


@check_arguments
def open_result(folder: str | Path) -> Result:
    """A saved result, as `run` or the command wrote it.

    Raises
    ------
    InputError
        If the folder is no result, or one that is damaged.
    """
    place = Path(folder)
    content = saved.load_result(place)
    changed = saved.changed_facts(place)
    with saved.naming_damage(place):
        found = Result(_read_folder(place, content), changed)
        if changed or not (place / MANIFEST).is_file():
            _try_views(found)
    return found


def _read_folder(place: Path, content: dict[str, Any]) -> saved.Result:
    """Content of the files of a result folder."""
    tables = {name: read_table(place / f"{name}.csv").to_dict("records") for name in TABLES}
    found = saved.Result(content, **tables)
    scenario = place / "scenario.toml"
    if scenario.is_file():
        found = replace(found, scenario_toml=scenario.read_text(encoding="utf-8"))
    if (place / MODEL).is_file():
        found = replace(found, model=from_json(place / MODEL))
    announced = place / saved.PROTOCOL
    if announced.is_file():
        protocol = parse_canonical(announced.read_bytes(), str(announced))
        found = replace(found, protocol=protocol)
    return found


def _try_views(result: Result) -> None:
    """Make every view of a result once, so that damage is found when it is opened."""
    for view in ("owners", "claims", "headline", "model"):
        getattr(result, view)
    result.to_frame()
    result.to_latex()
    for name in FIGURES:
        result.drawing(name)


def _latex_number(value: Any) -> str:
    """A number as the report writes it, in LaTeX."""
    text = f"{value:,}"
    if isinstance(value, float):
        text = format_number(value)
    return text.replace("−", "$-$").replace("∞", r"$\infty$").replace("–", "--")
