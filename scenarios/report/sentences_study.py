"""What a study says: its question, what each fact comes to at most and at least, and what was computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import NoneType
from typing import Any

from scenarios.report.wording import between, counted, listed, number, percent
from scenarios.schema.toml import show
from scenarios.sweeping.answers import Estimate, Point
from scenarios.sweeping.study import Study

# Facts in words: what a column of the terminal is called, and what a picture and a sentence call it.
WORDS = {
    "learner.payments": ("paid", "paid in all, money"),
    "learner.gross_value": ("worth", "worth to the learner, money"),
    "learner.surplus": ("learner", "learner's gain, money"),
    "learner.buying_pays": ("pays", "part of the seeds in which buying pays"),
    "forecast.relative_fitness": ("error", "error above the best, forecast (%)"),
    "forecast.horizon": ("rounds", "rounds of training"),
    "outside_option.relative_fitness": ("alone", "error of the learner's own model (%)"),
    "equilibrium.converged": ("certified", "part of the seeds with a certified equilibrium"),
    "welfare.total": ("together", "left to all together, money"),
    "welfare.owners": ("owners", "left to all owners, money"),
    "welfare.treasury": ("treasury", "paid to the treasury, money"),
    "welfare.gini": ("gini", "inequality of payments (Gini)"),
    "epsilon_min": ("least eps", "smallest privacy budget ε"),
    "epsilon_mean": ("mean eps", "mean privacy budget ε"),
    "epsilon_max": ("most eps", "largest privacy budget ε"),
    "n_owners": ("owners", "owners"),
    "sharing": ("sharing", "owners who share"),
    "owners.0.isolated_relative_fitness": ("one alone", "error of the first owner's own model (%)"),
    "owners.0.gains": ("one gains", "part of the seeds in which the first owner gains"),
    "validation.relative_fitness.mean": ("trained", "error above the best, trained (%)"),
    "validation.money.learner_surplus.mean": ("measured", "learner's gain, trained, money"),
    "validation.money.chance_of_loss": ("loses", "part of the trainings that lose money"),
}
PERCENT = "relative_fitness"


def named(fact: str) -> str:
    """A fact as a picture calls it."""
    return WORDS[fact][1] if fact in WORDS else fact


def column(fact: str) -> str:
    """A fact as the head of a column calls it."""
    return WORDS[fact][0] if fact in WORDS else fact.split(".")[-1].replace("_", " ")


def amount(fact: str, value: float | None) -> str:
    """A value of a fact."""
    return percent(value) if PERCENT in fact else number(value)


def interval(fact: str, told: Estimate | None) -> str:
    """A mean with its interval: "1.8 [1.6 to 2]"."""
    if told is None:
        return "–"
    if told.low is None or amount(fact, told.low) == amount(fact, told.high):
        return amount(fact, told.mean)
    return f"{amount(fact, told.mean)} [{between(told.low, told.high, percent if PERCENT in fact else number)}]"


def told_keys(study: Study, points: Sequence[Point]) -> list[int]:
    """Places of the keys that a reader is told: all, or, where points have titles, those of which each has a plain value.

    Of a tournament the titles alone, which name the policy and the mix.
    """
    places = range(len(study.keys))
    if study.tournament is not None:
        return [study.keys.index("title")]
    if "title" not in study.keys:
        return list(places)
    return [i for i in places if not any(isinstance(point.values[i], (list, tuple, NoneType)) for point in points)]


def question(text: str, study: Study) -> str:
    """A study's question: the first line of its file, or else its title."""
    first = text.lstrip().split("\n", 1)[0]
    return first.lstrip("# ").strip() if first.startswith("#") else study.title


def where(study: Study, point: Point) -> str:
    """What a point is: its title and where it stands along the picture, or its keys; without any, the scenario as it is."""
    along = study.along or ""
    places = [i for i, key in enumerate(study.keys) if "title" not in study.keys or key in ("title", along)]
    given = [(study.keys[i], point.values[i]) for i in places if point.values[i] is not None]
    told = [value if key == "title" else f"{key} = {shown(value)}" for key, value in given]
    if "title" in study.keys and along in point.facts:
        told.append(f"{named(along)}: {amount(along, point.facts[along].mean)}")
    return ", ".join(told) or "the scenario as it stands"


def shown(value: Any) -> str:
    """A value of a key: numbers as people write them, texts without quotes."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value, 4)
    return value if isinstance(value, str) else show(value)


def extremes(study: Study, points: Sequence[Point]) -> Iterator[str]:
    """For each fact shown: where it is largest and where smallest."""
    for fact in study.show:
        there = [point for point in points if fact in point.facts]
        if not there:
            continue
        most, least = (pick(there, key=lambda point: point.facts[fact].mean) for pick in (max, min))
        what = named(fact)[0].upper() + named(fact)[1:]
        if most.facts[fact].mean == least.facts[fact].mean:
            yield f"{what}: {interval(fact, most.facts[fact])} at every point."
        else:
            ends = (f"{interval(fact, one.facts[fact])} at {where(study, one)}" for one in (most, least))
            yield f"{what}: most, {next(ends)}; least, {next(ends)}."


def computed(study: Study, n_points: int, seed: int, failures: int) -> str:
    """How many points under which seeds."""
    n, last = study.replications, seed + study.replications - 1
    seeds = "" if "seed" in study.keys else f", each under seeds {seed} to {last}" if n > 1 else f", seed {seed}"
    failed = f"; {counted(failures, 'cell')} failed" if failures else ""
    varies = f" What varies: {listed(list(study.keys), 6)}." if study.keys else ""
    return f"{counted(n_points, 'point')}{seeds}{failed}.{varies}"
