"""Study: a scenario, the keys that vary in it, how often, and the facts that are kept."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le
from pydantic import Field, PlainValidator, ValidationError

from learning.declaration import Words
from learning.errors import InputError, describe_system_error
from learning.phrases import format_value, toml_value
from scenarios.features import FEATURES
from scenarios.schema.fields import (
    Names,
    Section,
    Text,
    first_error,
    stated_refusal,
    suggest_name,
)
from scenarios.schema.loading import ScenarioFile, library_files, read_scenario
from scenarios.schema.scenario import NAMING_FILES, home_expanded
from scenarios.schema.toml import toml_lines
from scenarios.sweeping.axes import (
    Axis,
    SobolAxis,
    common_changes,
    grid_axes,
    point_axes,
    sobol_axis,
    zip_axes,
)
from scenarios.sweeping.tournament import Tournament, read_tournament

MOST = 100_000  # cells of one study
# What is kept of every cell, under its name in result.json.
FACTS = (
    "learner.payments",
    "learner.gross_value",
    "learner.surplus",
    "learner.buying_pays",
    "forecast.relative_fitness",
    "forecast.horizon",
    "outside_option.relative_fitness",
    "equilibrium.converged",
    "equilibrium.max_regret",
    "equilibrium.max_relative_regret",
    "equilibrium.iterations",
    "welfare.total",
    "welfare.owners",
    "welfare.treasury",
    "welfare.gini",
)
TRAINED = (
    "validation.relative_fitness.mean",
    "validation.relative_fitness.std_error",
    "validation.agrees",
    "validation.money.learner_surplus.mean",
    "validation.money.pays",
    "validation.money.chance_of_loss",
    "validation.agrees_on_money",
)
# Over all owners; how many there are, and how many share anything.
OF_OWNERS = ("epsilon_min", "epsilon_mean", "epsilon_max", "n_owners", "sharing")
# Shown unless a study says otherwise.
SHOWN = ("forecast.relative_fitness", "learner.surplus", "welfare.owners")
WHOLE = (
    "claims data equilibrium forecast learner outside_option owners protocol validation warnings "
    "welfare"
)
# Parts of a result.
PARTS = sorted([*WHOLE.split(), *filter(None, (one.result for one in FEATURES.values()))])


def _read_facts(value: Any) -> tuple[str, ...]:
    """Read facts of a result by their place in it."""
    given = tuple(value) if isinstance(value, (list, tuple)) else ("",)
    for one in given:
        part, _, rest = str(one).partition(".")
        if part not in PARTS or not rest:
            rule = (
                "must name facts of result.json by their place in it, such as learner.gain.median"
            )
            raise InputError("", rule, format_value(one), suggest_name(part, PARTS))
    return given


def _read_shown(value: Any) -> tuple[str, ...]:
    """Read facts of a result by their place in it, or those of `OF_OWNERS` by name."""
    given = value or ("",)
    if not isinstance(given, (list, tuple)):
        given = ("",)
    _read_facts([one for one in given if one not in OF_OWNERS])
    return tuple(given)


class Study(Section):
    """A study as its file has it.

    ``set`` changes the scenario for all cells. Whatever stands in ``grid``, ``zip``, ``points`` and
    ``sobol`` varies: every combination of them is a point, and a point under one seed is a cell.
    Replications have the seeds that follow the scenario's, the same ones at every point: what
    differs between two points is then owed to what varies. ``show`` and ``along`` say which facts
    are printed and drawn, and along what.
    """

    title: str = ""
    """The title of the study's page."""
    scenario: Text = Field(description="Name a scenario file, or one of the library.")
    """The scenario, a file beside the study's or a name of the library."""
    replications: Annotated[int, Ge(1), Le(MOST)] = 1
    """Seeds that each point is computed under, the scenario's and those that follow it."""
    training: bool = False
    """Whether every cell is trained too."""
    owners: bool = False
    """Whether a second table, owners.parquet, has a row for every owner of every cell."""
    facts: Annotated[tuple[str, ...], PlainValidator(_read_facts), Words("a list of facts")] = ()
    """More facts of result.json by their place in it, such as `learner.gain.median`."""
    show: Annotated[tuple[str, ...], PlainValidator(_read_shown), Words("a list of facts")] = SHOWN
    """The facts that are drawn and printed."""
    along: Text | None = None
    """The key or fact that they are drawn along: the first key that varies unless given."""
    set: Annotated[tuple[tuple[str, Any], ...], PlainValidator(common_changes)] = ()
    """Changes of the scenario for all cells."""
    grid: Annotated[tuple[Axis, ...], PlainValidator(grid_axes)] = ()
    """Every combination of these: a list, or `{ low, high, points, scale = "log" }`."""
    zip: Annotated[tuple[Axis, ...], PlainValidator(zip_axes)] = ()
    """Columns that go together, row by row: `[[zip]]`."""
    points: Annotated[tuple[Axis, ...], PlainValidator(point_axes)] = ()
    """A table for each point: `[[points]]`."""
    sobol: Annotated[SobolAxis | None, PlainValidator(sobol_axis)] = None
    """A Sobol sample: `samples`, a power of 2, and ranges of keys; indices.parquet says what a
    fact's variance is owed to."""
    tournament: Annotated[Tournament | None, PlainValidator(read_tournament), Words("a table")] = (
        None
    )
    """Every policy against every mix of behaviours: [[tournament.policies]],
    [[tournament.behaviours]], and what counts."""

    @property
    def axes(self) -> tuple[Axis | SobolAxis, ...]:
        """Axes of what varies, the slowest first."""
        last = [] if self.sobol is None else [self.sobol]
        entrants = [] if self.tournament is None else [self.tournament.axis]
        return (*self.grid, *self.zip, *self.points, *entrants, *last)

    @property
    def steps(self) -> Iterator[tuple[Any, ...]]:
        """Values of the keys that vary, point by point."""
        for steps in product(*(axis.steps for axis in self.axes)):
            yield tuple(value for step in steps for value in step)

    @property
    def score(self) -> str:
        """Fact that a tournament is scored by: the learner's gain unless another is named.

        The gain is that of the trained models where cells are trained, else that of the forecast.
        """
        if self.tournament is not None and self.tournament.score:
            return self.tournament.score
        return "validation.money.learner_surplus.mean" if self.training else "learner.surplus"

    @property
    def keys(self) -> Names:
        """The keys that vary, in the order of the table's columns."""
        return tuple(key for axis in self.axes for key in axis.keys)

    @property
    def asked_facts(self) -> tuple[str, ...]:
        """Facts beside the usual ones that are kept of every cell, or shown."""
        usual = (*FACTS, *TRAINED, *OF_OWNERS)
        wanted = (name for name in self.wanted if name not in usual)
        return tuple(dict.fromkeys((*self.facts, *wanted)))

    @property
    def wanted(self) -> tuple[str, ...]:
        """Facts that are shown or count."""
        return self.show if self.tournament is None else (*self.show, self.score)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return prod(len(axis) for axis in self.axes) * self.replications


@dataclass(frozen=True)
class StudyFile:
    """A study with what it was read from.

    Parameters
    ----------
    study : the study.
    base : the scenario file that it varies.
    overrides : changes of the command line for all cells, each ``key=value``.
    name : the name of the study.
    folder : relative paths in it resolve against this.
    text : the study's file.
    """

    study: Study
    base: ScenarioFile = field(repr=False)
    overrides: tuple[str, ...]
    name: str
    folder: Path
    text: str = field(repr=False)

    @property
    def common(self) -> tuple[str, ...]:
        """The changes for all cells, each ``key=value``."""
        return (*(self.change(key, value) for key, value in self.study.set), *self.overrides)

    def change(self, key: str, value: Any) -> str:
        """Write a key and its value as a change; a file is meant from the study's folder."""
        if key in NAMING_FILES and isinstance(value, str) and value.strip():
            value = str(self.folder / home_expanded(value))
        return f"{key}={toml_value(value)}"


def studies() -> dict[str, Path]:
    """List the studies that come with the program, by name."""
    return library_files("studies")


def read_study(
    source: str | Path | Mapping[str, Any],
    overrides: Sequence[str] = (),
    *,
    allow_code: bool = False,
    data_folder: str | Path | None = None,
) -> StudyFile:
    """Read and check a study.

    Parameters
    ----------
    source : a study file, a name of the library, or what such a file holds.
    overrides : changes of the scenario for all cells, each ``key=value`` as in
        `scenarios.schema.loading.load`.
    allow_code : whether a Python file that the scenario names may be run.
    data_folder : the folder of published tables that do not come along.

    Raises
    ------
    InputError
        On the first rule broken, or more cells than `MOST`.
    """
    name, folder, raw, text = _open_study(source)
    study = _check_types(raw, name)
    for check in (_check_size, _check_keys, _check_shown, _check_tournament):
        check(study, name)
    for change in overrides:
        key = change.partition("=")[0].strip()
        if key in study.keys:
            rule = "must not set a key that varies in the study"
            raise InputError(f"--set {key}", rule, change, "Change the study.")
    named = folder / home_expanded(study.scenario)
    given = named if named.is_file() else study.scenario
    base = read_scenario(given, allow_code=allow_code, data_folder=data_folder)
    return StudyFile(study, base, tuple(overrides), name, folder, text)


def _open_study(source: str | Path | Mapping[str, Any]) -> tuple[str, Path, dict[str, Any], str]:
    """Read a study's name, its folder, its tables, and its text."""
    if isinstance(source, Mapping):
        raw = _with_text_keys(source)
        return "study", Path.cwd(), raw, "\n".join(toml_lines(raw)) + "\n"
    path = home_expanded(source)
    name = str(path)
    known = studies()
    if not path.is_file():
        if str(source) not in known:
            rule = "must be a study file or a name of the library"
            raise InputError(str(source), rule, "neither", suggest_name(path.stem, list(known)))
        path = known[str(source)]
        name = str(source)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return name, path.resolve().parent, tomllib.loads(text), text
    except OSError as error:
        raise InputError(str(path), "must be readable", describe_system_error(error)) from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or too deep a nesting
        raise InputError(str(path), "must be TOML in UTF-8", " ".join(str(error).split())) from None


def _with_text_keys(part: Any) -> Any:
    """Convert nested tables to those whose keys are texts, as in a file."""
    if isinstance(part, Mapping):
        return {str(key): _with_text_keys(inner) for key, inner in part.items()}
    if isinstance(part, (list, tuple)):
        return [_with_text_keys(inner) for inner in part]
    return part


def _check_types(raw: Mapping[str, Any], name: str) -> Study:
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        first = first_error(error)
    told = stated_refusal(first)
    key = ".".join(map(str, first["loc"]))
    if told is not None:
        raise InputError(f"{name}: {told.key or key}", told.rule, told.found, told.remedy)
    if first["type"] == "missing":
        remedy = Study.model_fields[key].description or ""
        raise InputError(f"{name}: {key}", "is required", "nothing", remedy)
    remedy = suggest_name(key, list(Study.model_fields))
    raise InputError(f"{name}: {key}", "is not a known key", format_value(first["input"]), remedy)


def _check_size(study: Study, name: str) -> None:
    if study.n_cells > MOST:
        sizes = " x ".join(f"{len(axis):,}" for axis in study.axes)
        rule = f"must have at most {MOST:,} cells"
        found = f"{study.n_cells:,} ({sizes}, {study.replications:,} times)"
        raise InputError(name, rule, found, "Vary less, or divide the study.")


def _check_keys(study: Study, name: str) -> None:
    fixed = [key for key, _ in study.set]
    for place, key in enumerate(study.keys):
        if key in study.keys[:place] or key in fixed:
            where = "[set] and varies" if key in fixed else "two places"
            raise InputError(f"{name}: {key}", "must be given once", f"it in {where}")


def _check_shown(study: Study, name: str) -> None:
    known = (*study.keys, *FACTS, *OF_OWNERS)
    if study.along is not None and study.along not in known:
        rule = "must be a key that varies, or a fact that is kept of every cell"
        remedy = suggest_name(study.along, known)
        raise InputError(f"{name}: along", rule, format_value(study.along), remedy)
    untrained = [fact for fact in study.wanted if fact.startswith("validation.")]
    if untrained and not study.training:
        raise InputError(f"{name}: show", "needs training", untrained[0], "Set training = true.")


def _check_tournament(study: Study, name: str) -> None:
    if study.tournament is None:
        return
    if len(study.axes) > 1:
        rule = "must be the only thing that varies in its study"
        found = ", ".join(study.axes[0].keys)
        raise InputError(f"{name}: tournament", rule, f"{found} too", "Give it a study of its own.")
    try:
        _read_facts([study.score])
    except InputError as error:
        key = f"{name}: tournament.score"
        raise InputError(key, error.rule, error.found, error.remedy) from None
