"""Bugs planted before training: what is public computed from private rows, and rows that are counted wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from learning.data.encoding import Encoder
from learning.forecast.planner import Planner
from learning.losses.coordinates import Coordinates
from planting.broken_engine import replaced
from scenarios import planning
from scenarios.schema.scenario import Scenario
from scenarios.tables import dataset, features
from scenarios.tables.selection import select_columns

Inside = Callable[[], AbstractContextManager[Any]]

FARTHEST = 100.0  # of a ball where none is announced


@dataclass(frozen=True)
class PublicBug:
    """A way to break what comes before training.

    Parameters
    ----------
    says: what is wrong, in a few words.
    inside: puts the program's own code wrong for a while.
    bites: scenario -> whether it changes anything there.
    """

    says: str
    inside: Inside = field(repr=False)
    bites: Callable[[Scenario], bool] = field(default=lambda scenario: True, repr=False)


@contextmanager
def encoding_of_all() -> Iterator[None]:
    """Fit the encoder on all rows of the table."""
    held: dict[str, Any] = {}
    divided = dataset.divide_records
    fit = features.fit_encoder

    def keeping(scenario: Scenario, raw: Any, holders: Any) -> Any:
        held.update(raw=raw, data=scenario.data)
        return divided(scenario, raw, holders)

    def fitted(columns: Any, *, public: Any, labels: bool, **others: Any) -> Encoder:
        raw = held["raw"]
        whole = select_columns(raw, held["data"], np.arange(raw.n_rows), labels=labels)
        return fit(whole.columns, public=np.flatnonzero(whole.usable), labels=labels, **others)

    with replaced(dataset, "divide_records", keeping), replaced(features, "fit_encoder", fitted):
        yield


def with_planner(change: Callable[[Planner, np.ndarray, np.ndarray], Planner]) -> Inside:
    """Change the planner by what all owners' records x (n, p) and y (n,) are."""
    sound = planning.make_planner

    def made(inputs: Any) -> Planner:
        owners = inputs.pooled.owners
        x = np.concatenate([owner.x for owner in owners])
        return change(sound(inputs), x, np.concatenate([owner.y for owner in owners]))

    return partial(replaced, planning, "make_planner", made)


def with_coordinates(
    change: Callable[[Coordinates, np.ndarray, np.ndarray], dict[str, Any]],
) -> Inside:
    """Change the coordinates that are announced."""
    return with_planner(
        lambda planner, x, y: replace(
            planner, coordinates=replace(planner.coordinates, **change(planner.coordinates, x, y))
        )
    )


def with_clients(change: Callable[[np.ndarray, Any, float], tuple[Any, Any]]) -> Inside:
    """Change weights and plan by the mean target of all owners."""

    def broken(planner: Planner, x: np.ndarray, y: np.ndarray) -> Planner:
        def clients(self: Any, *arguments: Any, **named: Any) -> Any:
            owners, weights, plan = planner.clients(*arguments, **named)
            return owners, *change(weights, plan, float(np.mean(y)))

        kind = type("Planted", (type(planner),), {"clients": clients})
        return kind(**{one: getattr(planner, one) for one in planner.__dataclass_fields__})

    return with_planner(broken)


def with_division(change: Callable[[np.ndarray], np.ndarray]) -> Inside:
    """Change the rows that each owner is given."""
    sound = dataset.divide_records

    def divided(*arguments: Any) -> Any:
        division, persons = sound(*arguments)
        return replace(
            division, owners={name: change(rows) for name, rows in division.owners.items()}
        ), persons

    return partial(replaced, dataset, "divide_records", divided)


def one_row_more() -> AbstractContextManager[None]:
    """Let owners keep one row of a person more than is promised for."""
    sound = dataset.cap_persons
    return replaced(
        dataset,
        "cap_persons",
        lambda division, persons, most, **named: sound(division, persons, most + 1, **named),
    )


def _weights(weights: np.ndarray, plan: Any, mean: float) -> tuple[Any, Any]:
    tilted = weights * (1 + 0.01 * mean * np.arange(len(weights)))
    return np.abs(tilted) / np.abs(tilted).sum(), plan


def _clocks(weights: np.ndarray, plan: Any, mean: float) -> tuple[Any, Any]:
    rates = np.exp(0.1 * np.tanh(mean) * np.arange(len(weights)))
    return weights, replace(plan, clocks=replace(plan.clocks, rates=rates))


def _longest(bounds: Coordinates, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    return {"radius": float(np.quantile(bounds.lengths(x @ bounds.transform), 0.9))}


def _moved(bounds: Coordinates, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    return {"centre": bounds.centre + 0.01 * np.resize(x.mean(axis=0), len(bounds.centre))}


def _wider(bounds: Coordinates, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    announced = min(bounds.theta_max, FARTHEST)
    return {"theta_max": announced * (1 + 0.1 * float(np.mean(np.abs(x))))}


def _clocked(scenario: Scenario) -> bool:
    return any(one.settings.trains_by.clocked for one in scenario.ways)


PUBLIC_BUGS: dict[str, PublicBug] = {
    "encoding": PublicBug("encoding fitted on private rows", encoding_of_all),
    "private radius": PublicBug("radius by private records", with_coordinates(_longest)),
    "private start": PublicBug(
        "start by private records",
        with_coordinates(_moved),
    ),
    "private ball": PublicBug(
        "ball by private records",
        with_coordinates(_wider),
    ),
    "private weights": PublicBug("weights by private records", with_clients(_weights)),
    "private clocks": PublicBug("clocks by private records", with_clients(_clocks), _clocked),
    "copied": PublicBug(
        "an owner's rows counted twice",
        with_division(lambda rows: np.concatenate([rows, rows[:1]])),
    ),
    "more rows": PublicBug(
        "one row of a person too many",
        one_row_more,
        lambda scenario: scenario.data.person is not None,
    ),
}
