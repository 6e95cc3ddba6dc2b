"""A first scenario for a table: guessed, tried by its forecast, and written down."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from learning.progress import Progress, ignore_progress
from scenarios.planning import prepare
from scenarios.schema.loading import ScenarioFile
from scenarios.starting import entries
from scenarios.starting.guesses import Guesses
from scenarios.starting.money import RANGE, Offer, better, enough, make_offer
from scenarios.starting.writing import Entry, text_of, values_of
from scenarios.tables.dataset import MarketData, market_data

TRIAL = {  # money before there is any: forecasts do not depend on it, but a scenario must have some
    "owners": [Entry("epsilon", list(RANGE))],
    "owners.cost": [Entry("kind", "quadratic"), Entry("price", 1.0)],
    "policy": [Entry("kind", "posted"), Entry("price", 1.0)],
    "learner": [Entry("value", 1.0)],
}


@dataclass(frozen=True)
class Draft:
    """A first scenario: its text, what it rests on, and what it is forecast to come to.

    Parameters
    ----------
    text : the file.
    guesses : what was taken of the table.
    data : its data.
    offer : its money.
    mechanism : the noise of answers.
    """

    text: str = field(repr=False)
    guesses: Guesses
    data: MarketData = field(repr=False)
    offer: Offer
    mechanism: str


def draft(guesses: Guesses, path: Path, out: Path, progress: Progress = ignore_progress) -> Draft:
    """A first scenario for a table.

    Looked at are the cells of the rows that become public, and of the others nothing but whose they
    are; so no private cell moves anything that the file says.

    Parameters
    ----------
    guesses : what is taken of the table.
    path : where the table is.
    out : the file that the scenario is meant for, which names the table relative to itself.
    progress : called with the name of each stage as it begins.

    Raises
    ------
    InputError
        If no market can be made of it.
    """
    known = {"": entries.top(out.stem), "data": entries.data(guesses, named_from(path, out))}
    known |= {"data.bounds": entries.bounds(guesses)}
    trials = {
        name: known | {"learning": entries.learning(guesses, name)}
        for name in ("laplace", "gaussian")
    }
    offers: dict[str, Offer] = {}
    data = None
    for name, tables in trials.items():
        scenario = ScenarioFile(out.name, values_of(tables | TRIAL), out.absolute().parent).under()
        data = data or market_data(scenario, guesses.table)
        offers[name] = make_offer(prepare(scenario, data, progress).planner)
        if enough(offers[name]):
            break
    mechanism = better(offers)
    assert data is not None
    offer = offers[mechanism]
    tables = trials[mechanism] | entries.money(guesses, offer, data.names)
    return Draft(
        text_of(entries.header(guesses, path, out, offer), tables), guesses, data, offer, mechanism
    )


def named_from(path: Path, out: Path) -> str:
    """The table as the scenario names it: from its own folder where the table lies in it, else in full."""
    place = Path(os.path.abspath(path))
    folder = Path(os.path.abspath(out)).parent
    return str(place.relative_to(folder)) if place.is_relative_to(folder) else str(place)
