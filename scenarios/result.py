"""A result and its folder."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pydantic_core

from learning.canonical import encode_canonical
from learning.errors import InputError
from scenarios.model_file import MODEL, HandedOver, to_json
from scenarios.output.folders import replace_folder
from scenarios.output.manifest import changed_files
from scenarios.output.names import name_folder
from scenarios.schema.scenario import name_files_from

SCHEMA = 1
CONTENT = "result.json"
PROTOCOL = "protocol.json"
NETWORK = "network.graphml"
REPORT = "report.html"
MEMO = "memo.html"
DRAWN = (
    "sales",
    "promised",
    "prices",
    "epsilon_paths",
    "payoff_curves",
    "forecast",
    "periods",
    "network",
)
DRAWINGS = tuple(f"figures/{name}.svg" for name in DRAWN)
TABLES = (
    "owners.csv",
    "trajectory.csv",
    "validation.csv",
    "payoff_curves.csv",
    "periods.csv",
    "paths.csv",
    "talks.csv",
)
# What the run found; the other files are drawn from these.
FACTS = (CONTENT, MODEL, PROTOCOL, NETWORK, *TABLES, "scenario.toml")
FILES = (*FACTS, *DRAWINGS, REPORT, MEMO)
# What a spreadsheet may take for a formula, quotes before it aside: OWASP, CSV injection.
FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]|'*[\t\r\n]")
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Result:
    """Findings of a run: the content of result.json, and the tables beside it.

    Parameters
    ----------
    content: everything of result.json.
    trajectory: the rows of trajectory.csv, a row for each round and owner.
    validation: the rows of validation.csv, a row for each training run.
    payoff_curves: the rows of payoff_curves.csv, a row for each owner and budget.
    scenario_toml: the resolved scenario.
    model: the model of the first training; None without training.
    periods: the rows of periods.csv, a row for each period and owner; none of a market that is held
        once.
    paths: the rows of paths.csv, quartiles over all trainings round by round; none unless asked
        for.
    talks: the rows of talks.csv, who talked at each tick of the first asynchronous training; none
        unless asked for.
    protocol: what is announced of its training, for an exchange; None where nobody is asked.
    """

    content: dict[str, Any]
    trajectory: Rows = field(default=(), repr=False)
    validation: Rows = field(default=(), repr=False)
    payoff_curves: Rows = field(default=(), repr=False)
    scenario_toml: str = field(default="", repr=False)
    model: HandedOver | None = field(default=None, repr=False)
    periods: Rows = field(default=(), repr=False)
    paths: Rows = field(default=(), repr=False)
    talks: Rows = field(default=(), repr=False)
    protocol: dict[str, Any] | None = field(default=None, repr=False)

    def __getitem__(self, key: str) -> Any:
        return self.content[key]


def to_plain(value: Any) -> Any:
    """Value as JSON can hold it: arrays become lists, numbers that are not finite become null."""
    if isinstance(value, (np.ndarray, np.generic)):
        return to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    return value


def default_folder(scenario: str, changes: Sequence[str]) -> Path:
    """Default folder of a run's result: results/NAME, with the changes of the command line.

    >>> default_folder("banks", ["policy.budget=500", "seed=3"]).as_posix()
    'results/banks,policy.budget=500,seed=3'
    """
    return Path("results") / name_folder(scenario, changes)


def save_result(
    result: Result, folder: Path, finish: Callable[[Path], object], *, force: bool = False
) -> None:
    """Write the result folder, whole or not at all.

    Parameters
    ----------
    result: what a run found.
    folder: where it is written to.
    finish: draws the figures and the report into the folder it is given.
    force: whether other files may lie in the folder; they are kept.

    Raises
    ------
    InputError
        If the folder holds what is no result, or the disk refuses; nothing is changed then.
    """
    with replace_folder(folder, FILES, force=force) as new:
        _write_files(result, new, folder)
        finish(new)


def _write_files(result: Result, folder: Path, place: Path) -> None:
    """Write the files of a result that is to be found at ``place``."""
    # In a fifth of the time that the json module takes, to the same numbers; null for what is no
    # number.
    content = pydantic_core.to_json(
        result.content, indent=1, inf_nan_mode="null", fallback=to_plain
    )
    (folder / CONTENT).write_bytes(content + b"\n")
    scenario = name_files_from(place, result.scenario_toml)
    (folder / "scenario.toml").write_text(scenario, encoding="utf-8")
    if result.model is not None:
        (folder / MODEL).write_text(to_json(result.model), encoding="utf-8")
    if result.protocol is not None:
        (folder / PROTOCOL).write_bytes(encode_canonical(result.protocol))
    if result.content.get("network"):
        import networkx as nx  # a tenth of a second, which who has no network need not wait for

        from agents.networks.files import result_graph

        nx.write_graphml_xml(result_graph(result.content), folder / NETWORK)
    write_table(folder / "owners.csv", result.content["owners"])
    write_table(folder / "trajectory.csv", result.trajectory)
    write_table(folder / "validation.csv", result.validation, ("run", "relative_fitness"))
    write_table(folder / "payoff_curves.csv", result.payoff_curves)
    for name in ("periods", "paths", "talks"):
        if rows := getattr(result, name):
            write_table(folder / f"{name}.csv", rows)


def write_table(path: Path, rows: Rows, header: Sequence[str] = ()) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        # The module quotes whatever holds a sign of its line ends: so names with a lone \r are,
        # which would end a line.
        lines = SimpleNamespace(write=lambda line: file.write(line[:-2] + "\n"))
        writer = csv.writer(lines, lineterminator="\r\n")
        writer.writerow(next(iter(rows), header))
        writer.writerows(map(_format_cell, row.values()) for row in rows)


def _format_cell(value: Any) -> Any:
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, np.floating):
        return float(value)
    return value


@lru_cache(maxsize=2**17)  # names come again, round by round
def text_cell(text: str) -> str:
    """Write a text as a table holds it: a quote before one that a spreadsheet would compute."""
    return "'" * bool(FORMULA.match(text)) + text


def cell_text(cell: str) -> str:
    """Read a text as it was before it was written to a table.

    One that a spreadsheet would compute has a quote before it.

    >>> cell_text("'=1+1"), cell_text("'s-Hertogenbosch"), cell_text("North")
    ('=1+1', "'s-Hertogenbosch", 'North')
    """
    if FORMULA.match(cell):
        return cell.removeprefix("'")
    return cell


def changed_facts(folder: Path) -> list[str]:
    """Files of facts in a result folder that were changed or removed by hand."""
    return changed_files(folder, FACTS)


@contextmanager
def naming_damage(folder: Path, remedy: str = "Run the scenario again.") -> Iterator[None]:
    """Put whatever a damaged result raises where it is read, which may be anything, into one line.

    Raises
    ------
    InputError
    """
    try:
        yield
    except (InputError, OSError):
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError(str(folder), "must be a whole result", found, remedy) from error


def load_result(folder: Path) -> dict[str, Any]:
    """The content of a result folder's result.json.

    Raises
    ------
    InputError
        If the folder is no result, or of a later schema.
    """
    try:
        path = folder / CONTENT
        if not path.is_file():  # a pipe would be waited for
            raise FileNotFoundError
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        rule = f"must be a result folder with {CONTENT}"
        found = "a file that is no JSON"
        if isinstance(error, OSError):
            found = "none"
        raise InputError(str(folder), rule, found, "Make one with dpmarket run.") from None
    if not isinstance(content, dict):
        content = {}
    schema = content.get("schema")
    if schema != SCHEMA or not content.get("owners"):
        rule = f"must hold a market's result in {CONTENT}, with schema {SCHEMA}"
        found = "no owners"
        if schema != SCHEMA:
            found = f"schema {schema!r:.20}"
        raise InputError(str(folder), rule, found, "Run the scenario again.")
    return content
