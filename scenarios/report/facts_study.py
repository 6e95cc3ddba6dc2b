"""Facts of a study: their names, values with intervals, and the keys that tell points apart."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

from learning.phrases import format_value, join_words
from scenarios.report.wording import (
    UNKNOWN,
    drop_rounding,
    format_interval,
    format_number,
    format_percent,
)
from scenarios.sweeping.answers import Estimate, Point
from scenarios.sweeping.standings import Standing, best_at
from scenarios.sweeping.study import Study

# Name of each fact as the head of a column, and in a picture or a sentence.
WORDS: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
PERCENT = "relative_fitness"
STANDING_HEADS = ("policy", "all rational", "worst", "where", "greatest regret")


def title_of_study(study: Study) -> str:
    """Return the title of a study; one without a title is named by its keys."""
    keys = join_words([key.replace("_", " ") for key in study.keys])
    return study.title or f"What changes with {keys}" * bool(keys) or "A study"


def name_fact(fact: str) -> str:
    """Name a fact in a picture or a sentence."""
    return WORDS.get(fact, (fact, fact))[1]


def name_column(fact: str) -> str:
    """Name a fact in the head of a column."""
    if fact in WORDS:
        return WORDS[fact][0]
    return fact.split(".")[-1].replace("_", " ")


def show_fact(fact: str, value: float | None) -> str:
    """Format a value of a fact: errors in percent."""
    if PERCENT in fact:
        return format_percent(value)
    return format_number(value)


def show_interval(fact: str, found: Estimate | None) -> str:
    """Format a mean with its interval: "1.8 [1.6 to 2]"."""
    if found is None:
        return UNKNOWN
    mean = show_fact(fact, found.mean)
    if found.low is None or show_fact(fact, found.low) == show_fact(fact, found.high):
        return mean
    return (
        f"{mean} [{format_interval(found.low, found.high, lambda value: show_fact(fact, value))}]"
    )


def show_difference(fact: str, point: Point) -> str:
    """Format a point's difference from the first with its interval; rounding reads as 0."""
    found = point.against_first.get(fact)
    if found is None:
        return UNKNOWN
    mean = point.facts[fact].mean
    amounts = (mean, mean - found.mean)
    low, high = (
        None if end is None else drop_rounding(end, *amounts) for end in (found.low, found.high)
    )
    settled = Estimate(drop_rounding(found.mean, *amounts), low, high, found.n)
    return show_interval(fact, settled)


def show_value(value: Any) -> str:
    """Format a value of a key: numbers to four digits, texts without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return format_number(value, 4)
    return format_value(value)


def reader_keys(study: Study, points: Sequence[Point]) -> list[int]:
    """Places of the keys that a table shows.

    All keys, or, where points have titles, those of plain values; of a tournament the titles alone.
    """
    places = range(len(study.keys))
    if study.tournament is not None:
        return [study.keys.index("title")]
    if "title" not in study.keys:
        return list(places)
    hidden = (list, tuple, NoneType)
    return [i for i in places if not any(isinstance(p.values[i], hidden) for p in points)]


def shown_facts(study: Study) -> list[str]:
    """List the facts that a table shows: the one that points are drawn along, and those asked for.

    Without the first, points of one title cannot be told apart.
    """
    along = study.along
    if along is None or along in study.keys or along in study.show:
        return list(study.show)
    return [along, *study.show]


def point_keys(study: Study, point: Point) -> list[tuple[str, Any]]:
    """Keys and values that tell a point: title and place along the picture, or all keys."""
    pairs = zip(study.keys, point.values, strict=True)
    titled = "title" in study.keys
    told = ("title", study.along or "")
    return [
        (key, value) for key, value in pairs if value is not None and (not titled or key in told)
    ]


def find_extremes(study: Study, points: Sequence[Point]) -> Iterator[tuple[str, Point, Point]]:
    """For each fact shown, yield the points where it is largest and where smallest."""
    for fact in study.show:
        there = [point for point in points if fact in point.facts]
        if there:
            means = {id(point): point.facts[fact].mean for point in there}
            most = max(there, key=lambda point: means[id(point)])
            least = min(there, key=lambda point: means[id(point)])
            yield fact, most, least


def study_question(text: str, study: Study) -> str:
    """Return a study's question: the first line of its file, or else its title."""
    first = text.lstrip().split("\n", 1)[0]
    if first.startswith("#"):
        return first.lstrip("# ").strip()
    return study.title


def standing_cells(study: Study, row: Standing) -> list[str]:
    """Format a policy's line of the table, under `STANDING_HEADS`."""
    contest = study.tournament
    assert contest is not None
    fact = study.score
    where = ""
    if row.worst is not None:
        where = contest.mixes[row.worst].name
    return [
        row.policy,
        show_interval(fact, row.rational),
        show_interval(fact, row.worst_score),
        where,
        show_fact(fact, row.max_regret),
    ]


def best_standing(rows: Sequence[Standing], mix: int) -> Standing | None:
    """Return the best policy under one mix."""
    return best_at(rows, mix)
