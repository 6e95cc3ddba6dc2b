"""Topics of a result: where each stands in the output of a terminal and on the page.

A topic has a template of phrases, with a macro ``terminal`` for its lines; a feature of the market
states its own, and is left out of results that do not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby

from scenarios.features import FEATURES
from scenarios.features.base import Feature, Topic
from scenarios.report.facts_outcome import is_measured
from scenarios.report.facts_owners import Content
from scenarios.report.phrases import FILE, render_lines, render_text


def has_part(name: str) -> Callable[[Content], bool]:
    """Make a test for a part of the result, such as "unions"."""
    return lambda result: result.get(name) is not None


SECTIONS = [
    (1, "asked", "What was asked"),
    (2, "sells", "Who sells what"),
    (10, "settled", "Did the market settle?"),
    (11, "model", "What model comes out"),
    (12, "trust", "Can the forecast be trusted?"),
    (13, "promised", "What exactly is promised to whom"),
    (14, "small-print", "Small print"),
]
TRAINED = has_part("validation")
LINES: dict[str, Topic] = {
    "equilibrium": Topic("equilibrium", 1),
    "protection": Topic("privacy", 3),
    "model": Topic("forecast", 5),
    "learning": Topic("plan", 6),
    "choice": Topic("plan", 7),
    "buying": Topic("learner", 8),
    "worth": Topic("worth", 9),
    "terms": Topic("error", 11),
    "market": Topic("owners", 13),
    "overlap": Topic("overlap", 21, phrases=("privacy", "joint_promises")),
    "warnings": Topic("warning", 22, phrases=("privacy", "warnings")),
    "projection": Topic("warning", 23, phrases=("model", "projection_line")),
    "training": Topic("training", 24, applies=TRAINED, phrases=("model", "training_lines")),
    "compared": Topic("compared", 25, applies=TRAINED),
    "curvature": Topic("curvature", 26, phrases=("compared", "curvature_found")),
    "money": Topic("money", 27, applies=is_measured, phrases=("buying", "measured_lines")),
    "verdict": Topic("verdict", 28, applies=TRAINED, phrases=("model", "verdict_line")),
}


def feature_topics() -> dict[str, Topic]:
    """Return the topics of features that say anything, by name."""
    told = {name: one for name, one in FEATURES.items() if one.sentence}
    return {
        name: replace(one.topic, title=one.topic.title or name, applies=has_part(one.result))
        for name, one in told.items()
    }


def all_topics() -> dict[str, Topic]:
    """Return all topics of a terminal by name, in their order."""
    topics = LINES | feature_topics()
    return dict(sorted(topics.items(), key=lambda pair: pair[1].rank))


def topic_lines(name: str, topic: Topic, result: Content) -> list[str]:
    """Render the lines of a topic for a terminal; none where the result has nothing of it."""
    if not topic.applies(result):
        return []
    feature = FEATURES.get(name)
    if feature is not None and not feature.sentence.endswith(FILE):
        return [feature_sentence(feature, result)]
    return render_lines(*(topic.phrases or (name, "terminal")), result)


def feature_sentence(feature: Feature, result: Content) -> str:
    """Render the sentence that a feature states itself."""
    return render_text(feature.sentence, facts=result[feature.result], result=result)


def terminal_lines(result: Content) -> Iterator[tuple[str, list[str]]]:
    """Yield the titles of a terminal's output with their lines."""
    for title, group in groupby(all_topics().items(), key=lambda pair: pair[1].title):
        yield title, [line for name, topic in group for line in topic_lines(name, topic, result)]


def page_sentences(result: Content) -> Iterator[str]:
    """Yield the sentences of features that have no section on the page, nor a template."""
    for name, topic in feature_topics().items():
        feature = FEATURES[name]
        if topic.applies(result) and not feature.sentence.endswith(FILE):
            yield feature_sentence(feature, result)


def page_sections(result: Content) -> list[tuple[int, str, str]]:
    """Return rank, identifier and heading of the sections of a result's page, in their order."""
    topics = [one for one in feature_topics().values() if one.section and one.applies(result)]
    return sorted(SECTIONS + [(one.place, one.section, one.heading) for one in topics])
