"""Topics of a result: where each stands in the output of a terminal and on the page.

A topic has a template of phrases, with a macro ``terminal`` for its lines; a feature of the market
has one entry here, and is left out of results that do not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from scenarios.features import FEATURES
from scenarios.report.facts_outcome import is_measured
from scenarios.report.facts_owners import Content
from scenarios.report.phrases import render_lines, render_text


def has_part(name: str) -> Callable[[Content], bool]:
    """Make a test for a part of the result, such as "unions"."""
    return lambda result: bool(result.get(name))


@dataclass(frozen=True)
class Topic:
    """Place of a topic in the terminal's output and on the page.

    Parameters
    ----------
    title: title of its lines on a terminal; topics of one title follow each other.
    applies: test of a result that has something of it.
    phrases: the template and the macro of its lines; its own template and ``terminal`` if empty.
    section: identifier of its section on the page, section_NAME.html.j2; empty without one.
    heading: heading of this section.
    place: rank of this section.
    """

    title: str = ""
    applies: Callable[[Content], bool] = bool
    phrases: tuple[str, str] | None = None
    section: str = ""
    heading: str = ""
    place: int = 0

    def render(self, name: str, result: Content) -> list[str]:
        """Render the lines of the topic of this name for a terminal."""
        return render_lines(*(self.phrases or (name, "terminal")), result)


def _section(place: int, section: str, heading: str) -> Topic:
    return Topic(place=place, section=section, heading=heading)


def _feature(part: str, title: str, *page: Any) -> Topic:
    return Topic(title, has_part(part), None, *page)


TOPICS: dict[str, Topic] = {
    "asked": _section(1, "asked", "What was asked"),
    "sells": _section(2, "sells", "Who sells what"),
    "settled": _section(10, "settled", "Did the market settle?"),
    "outcome": _section(11, "model", "What model comes out"),
    "validation": _section(12, "trust", "Can the forecast be trusted?"),
    "promised": _section(13, "promised", "What exactly is promised to whom"),
    "small-print": _section(14, "small-print", "Small print"),
    "equilibrium": Topic("equilibrium"),
    "behaviours": _feature("behaviours", "behaviours", "behave", "Who behaves how", 3),
    "protection": Topic("privacy"),
    "trust": _feature("trust", "privacy"),
    "model": Topic("forecast"),
    "learning": Topic("plan"),
    "choice": Topic("plan"),
    "buying": Topic("learner"),
    "worth": Topic("worth"),
    "pricing": _feature("pricing", "price", "priced", "How the price was learned", 9),
    "terms": Topic("error"),
    "public_good": _feature("public_good", "model"),
    "market": Topic("owners"),
    "participation": _feature("participation", "owners"),
    "time": _feature("time", "time", "time", "From period to period", 8),
    "learners": _feature("learners", "learners", "learners", "Who buys", 5),
    "network": _feature("network", "network", "network", "Who is linked to whom", 6),
    "unions": _feature("unions", "unions", "unions", "Who acts together", 4),
    "externalities": _feature("externalities", "common", "common", "What others' sales tell", 7),
    "regulation": _feature("regulation", "rules"),
    "overlap": Topic("overlap", phrases=("privacy", "joint_promises")),
    "warnings": Topic("warning", phrases=("privacy", "warnings")),
    "projection": Topic("warning", phrases=("model", "projection_line")),
    "training": Topic("training", has_part("validation"), ("model", "training_lines")),
    "compared": _feature("validation", "compared"),
    "curvature": Topic("curvature", phrases=("compared", "curvature_found")),
    "money": Topic("money", is_measured, ("buying", "measured_lines")),
    "verdict": Topic("verdict", has_part("validation"), ("model", "verdict_line")),
}


def terminal_lines(result: Content) -> Iterator[tuple[str, list[str]]]:
    """Yield the titles of a terminal's output with their lines."""
    there = [(name, topic) for name, topic in TOPICS.items() if topic.title]
    for title, group in groupby(there, key=lambda pair: pair[1].title):
        topics = [(name, topic) for name, topic in group if topic.applies(result)]
        yield title, [line for name, topic in topics for line in topic.render(name, result)]
    yield from feature_sentences(result)


def feature_sentences(result: Content) -> Iterator[tuple[str, list[str]]]:
    """Yield the features of a result that state a sentence of their own, with the sentence."""
    for feature in FEATURES.values():
        facts = result.get(feature.result) if feature.sentence else None
        if facts is not None:
            values = {"facts": facts, "result": result}
            yield feature.result, [render_text(feature.sentence, **values)]


def page_sections(result: Content) -> list[Topic]:
    """Return the sections of a result's page in their order."""
    there = [topic for topic in TOPICS.values() if topic.section and topic.applies(result)]
    return sorted(there, key=lambda topic: topic.place)
