"""Sentences from templates, always plain text, and the topics that they are told under.

One file is a topic, in phrases/ or beside its feature; one macro is a sentence.

A phrase is plain text wherever it is shown: a page escapes it, a terminal prints it. In a template,
other topics are called by name: ``{{ gain.chance(result) }}``. A topic has a place in the output of
a terminal; a feature of the market states its own, and is left out of results that do not have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from learning import phrases as words
from learning.money import format_cents
from learning.privacy.mechanism import ACCOUNTINGS
from learning.privacy.mechanisms import BEST, title_of
from learning.training.baselines import BASELINES
from scenarios.features import FEATURES
from scenarios.features.base import Feature, Topic
from scenarios.report import facts_errors, facts_outcome, facts_owners, wording
from scenarios.report.facts_outcome import is_measured
from scenarios.report.facts_owners import Content
from scenarios.schema.market import FIRST
from scenarios.summary import verdict
from scenarios.summary.verdict import LIKELIER

FILE = ".txt.j2"  # how the names of templates of phrases end
LINE = "\u2028"  # begins a line of its own
SPACES = re.compile(f"[ \t\n{LINE}]+")
# Blanks that a template leaves before a mark of punctuation, or behind an opening bracket.
LOOSE = re.compile(r" (?=[,;.:)\]]+(?: |$))|(?<=[(\[]) ")
FACTS = (facts_owners, facts_outcome, facts_errors)
CONSTANTS = {
    "ACCOUNTINGS": ACCOUNTINGS,
    "BASELINES": BASELINES,
    "BEST": BEST,
    "CERTAIN": words.CERTAIN,
    "FIRST": FIRST,
    "LIKELIER": LIKELIER,
    "SIGNIFICANT": verdict.SIGNIFICANT,
    "STANDARD_ERRORS": verdict.STANDARD_ERRORS,
    "STANDARD_ERRORS_SHOWN": facts_outcome.STANDARD_ERRORS_SHOWN,
    "infinity": math.inf,
}


class Phrases:
    """The phrases of a topic: ``topic.name(...)`` renders the macro of that name as one line."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *values, **named: render_phrase(self.topic, name, *values, **named)


def render_phrase(topic: str, name: str, *values: Any, **named: Any) -> str:
    """Render a macro as one line of plain text; empty where there is nothing to say.

    Parameters
    ----------
    topic: a file of phrases/ or of features/.
    name: a macro of it.
    values, named: arguments of the macro.
    """
    return _join_spaces(_call_macro(topic, name, values, named))


def render_lines(topic: str, name: str, *values: Any, **named: Any) -> list[str]:
    """Render a macro as lines of plain text, without empty ones."""
    lines = map(_join_spaces, _call_macro(topic, name, values, named).split(LINE))
    return [line for line in lines if line]


def render_text(template: str, **values: Any) -> str:
    """Render a template that is given as text, with the formats of all phrases, as one line."""
    return _join_spaces(_text_environment().from_string(template).render(**values))


def _call_macro(topic: str, name: str, values: Iterable[Any], named: Mapping[str, Any]) -> str:
    return str(getattr(_read_topic(topic), name)(*values, **named))


def _join_spaces(text: str) -> str:
    return LOOSE.sub("", SPACES.sub(" ", text).strip(" "))


def start_line(text: str | None = None) -> str:
    """Begin a new line with a text; an empty text begins none."""
    if text is None:
        return LINE
    return LINE + text if text.strip(f" \n{LINE}") else ""


def render_each(items: Iterable[Any], macro: Callable[..., str], *values: Any) -> list[str]:
    """Render a macro for each item."""
    return [_join_spaces(str(macro(item, *values))) for item in items]


def name_owners(names: list[str], most: int) -> str:
    """List names, or count the owners where more than ``most``."""
    if len(names) <= most:
        return wording.join_words(names)
    return wording.count_noun(len(names), "owner")


def money_of(value: float | None, content: Mapping[str, Any]) -> str:
    """Format an amount in the currency of a result."""
    return wording.format_money(value, wording.currency_of(content))


def cents_of(value: float | None, content: Mapping[str, Any]) -> str:
    """Format an amount to the cent in the currency of a settlement."""
    return format_cents(value, wording.currency_of(content))


def upper_first(text: str) -> str:
    """Capitalise the first letter and keep the others."""
    return text[:1].upper() + text[1:]


FORMATS: dict[str, Callable[..., Any]] = {
    "amounts": wording.format_amounts,
    "anywhere": wording.any_row,
    "belief_of": words.belief_of,
    "between": wording.format_interval,
    "cents": cents_of,
    "but_for_words": words.but_for_words,
    "counted": wording.count_noun,
    "currency_of": wording.currency_of,
    "declared_sentence": wording.declared_sentence,
    "drop_rounding": wording.drop_rounding,
    "each": render_each,
    "error": facts_outcome.describe_error,
    "find_weaker_promises": verdict.weaker_than_sold,
    "flatten": lambda values: np.ravel(values).tolist(),
    "in_money": wording.in_money,
    "limit": wording.read_limit,
    "line": start_line,
    "listed": wording.join_words,
    "money": money_of,
    "named": name_owners,
    "number": wording.format_number,
    "percent": wording.format_percent,
    "promised_and_sold": verdict.promised_and_sold,
    "protection_words": words.protection,
    "quoted": words.format_value,
    "small": wording.format_small,
    "span": wording.format_range,
    "strength": words.strength,
    "sure_words": words.sure_words,
    "thousands": lambda value: f"{value:,}",
    "times": wording.format_factor,
    "title_of": title_of,
    "upper_first": upper_first,
}


def public_functions(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    """Collect the public functions that some modules define, by name."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", "") == module.__name__
    }


def _open_templates(folder: str) -> ChoiceLoader:
    own = PackageLoader("scenarios.report", folder)
    return ChoiceLoader([own, PackageLoader("scenarios", "features")])


class CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates in the user's folder for temporary files, where there is room."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def _compiled_templates(use: str) -> CompiledTemplates | None:
    try:
        return CompiledTemplates(pattern=f"dpmarket_{use}_%s.cache")
    except (OSError, RuntimeError):  # no folder that is the user's alone
        return None


def make_environment(
    folder: str, *, autoescape: bool | Callable[[str | None], bool] = False
) -> Environment:
    """Make an environment for templates of this package, with formats, facts and topics by name."""
    environment = Environment(
        loader=_open_templates(folder),
        bytecode_cache=_compiled_templates(folder + ("_escaped" if autoescape else "")),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=bool(autoescape),  # a page keeps its lines; a phrase is joined to one
        lstrip_blocks=True,
    )
    facts = public_functions(*FACTS)
    environment.filters.update(FORMATS | facts)
    environment.tests.update(facts | {"nonzero": np.any})
    environment.globals.update(TOPICS | CONSTANTS | FORMATS | facts)
    return environment


@cache
def _text_environment() -> Environment:
    return make_environment("phrases")


@cache
def _read_topic(topic: str) -> Any:
    more = {}
    if topic in ("study", "tournament"):  # what a run need not import
        from scenarios.report import facts_study

        more = public_functions(facts_study)
    return _text_environment().get_template(topic + FILE, globals=more).module


def _list_phrases() -> dict[str, Phrases]:
    files = _open_templates("phrases").list_templates()
    names = [file.removesuffix(FILE) for file in files if file.endswith(FILE)]
    return {name: Phrases(name) for name in names}


TOPICS = _list_phrases()


def has_part(name: str) -> Callable[[Content], bool]:
    """Make a test for a part of the result, such as "unions"."""
    return lambda result: result.get(name) is not None


SECTIONS = [
    (1, "asked", "The question"),
    (2, "sells", "Who sells what"),
    (10, "settled", "Is there an equilibrium?"),
    (11, "model", "The model"),
    (12, "trust", "Can the forecast be trusted?"),
    (13, "promised", "Privacy guarantees"),
    (14, "small-print", "Small print"),
]
TRAINED = has_part("validation")
# Topics of every result by rank; those of features, between and behind them, are in their classes.
LINES: dict[str, Topic] = {
    "errors": Topic("error", 0, applies=has_part("errors")),
    "equilibrium": Topic("equilibrium", 1),
    "protection": Topic("privacy", 3),
    "model": Topic("forecast", 5),
    "learning": Topic("plan", 6),
    "choice": Topic("plan", 7),
    "features": Topic("features", 7, applies=has_part("features")),
    "buying": Topic("learner", 8),
    "worth": Topic("worth", 9),
    "terms": Topic("translation", 11),
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
