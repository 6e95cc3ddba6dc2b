"""Rules of the [learning] table on noise, its accounting and delta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from learning.declaration import field_types
from learning.errors import InputError
from learning.phrases import format_value
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.mechanisms import (
    BEST,
    MECHANISMS,
    kinds_of,
    list_accountings,
    needs_delta,
    norm_of,
    title_of,
)
from learning.training.algorithms import ALGORITHMS, Algorithm
from scenarios.schema.fields import names_with, quote_choices
from scenarios.schema.learning_refusals import goes_with, must_be, says

if TYPE_CHECKING:
    from scenarios.schema.learning import Learning


def check_mechanism(learning: Learning) -> None:
    """Refuse noise that the algorithm is not trained with."""
    able = noise_for(learning.trains_by)
    if learning.mechanism not in able:
        where = says(learning, "algorithm")
        remedy = _other_noise(learning, able)
        raise must_be(learning, "mechanism", quote_choices(able), where, remedy)


def check_accounting(learning: Learning) -> None:
    """Refuse an accounting, overlap or delta that does not go with the rest."""
    able = list_accountings(learning.mechanism, learning.trains_by.published_formula)
    if learning.mechanism == BEST and learning.accounting is not None:
        rule = 'must be left out with mechanism "best", which compares all accountings'
        raise InputError("learning.accounting", rule, format_value(learning.accounting))
    if learning.accounting is not None and learning.accounting not in able:
        where = says(learning, "mechanism")
        remedy = _about_published(learning)
        raise must_be(learning, "accounting", quote_choices(able), where, remedy)
    _check_overlap(learning, able)
    _check_delta(learning, able)
    if learning.mechanism != BEST:
        learning.__dict__["accounting"] = learning.accounting or able[0]


def _check_overlap(learning: Learning, able: Sequence[str]) -> None:
    """Refuse an overlap that the noise does not count."""
    if learning.overlap == 1 or counts_overlap(kinds_by(learning, learning.accounting)):
        return
    counting = [how for how in able if counts_overlap(kinds_by(learning, how))]
    cause = "mechanism"
    remedy = ""
    if counting:
        cause = "accounting"
        remedy = f"Set accounting = {format_value(counting[0])}, which counts them."
    where = f"{says(learning, cause)}, which counts no record that sits with several owners"
    raise must_be(learning, "overlap", "1", where, remedy)


def _check_delta(learning: Learning, able: Sequence[str]) -> None:
    """Refuse a failure probability that nothing needs, or a missing one."""
    approximate = needs_delta(learning.mechanism, learning.accounting)
    if learning.delta is not None and not approximate and learning.mechanism != BEST:
        noises = [*(name for name in MECHANISMS if needs_delta(name)), BEST]
        counts = [name for name in able if needs_delta(learning.mechanism, name)]
        counted = f", or with accounting = {quote_choices(counts)}" if counts else ""
        raise goes_with(learning, "delta", f"mechanism = {quote_choices(noises)}{counted}")
    if learning.delta is None and approximate:
        why = says(learning, "accounting")
        if needs_delta(learning.mechanism):
            why = title_of(learning.mechanism)
        rule = f"is needed with {why}, whose guarantee may fail with a small probability"
        remedy = "Set it well below one over the records of an owner, such as 1e-6."
        raise InputError("learning.delta", rule, "none", remedy)


def _about_published(learning: Learning) -> str:
    """Remedy: algorithms and mechanisms for which the papers' own formulas exist."""
    published = [name for name in MECHANISMS if learning.accounting in published_accountings(name)]
    if not published:
        return ""
    able = names_with(ALGORITHMS, "published_formula")
    known = f"mechanism = {quote_choices(published)} and algorithm = {able}"
    return f"The papers' own formulas go with {known}."


def _other_noise(learning: Learning, able: Sequence[str]) -> str:
    """Remedy for noise that the algorithm is not trained with: other noise, or its algorithm.

    A delta is asked for where all noise that goes with the algorithm needs one.
    """
    if learning.delta is None and all(needs_delta(name) for name in able):
        return "Set it, and learning.delta."
    trained = [name for name, one in ALGORITHMS.items() if learning.mechanism in noise_for(one)]
    if "mechanism" in learning.model_fields_set and len(trained) in (1, 2):
        return f"Set it, or algorithm = {quote_choices(trained)}."
    return "Set it."


def kinds_by(learning: Learning, accounting: str | None) -> list[type[Mechanism]]:
    """Mechanisms left open whose spending may be counted so; all of them where None."""
    kinds = kinds_of(learning.mechanism)
    return [kind for kind in kinds if accounting in (None, *kind.accountings)]


def known_accountings() -> list[str]:
    """Every way to count what answers spend, of any mechanism."""
    every = (kind for kinds in MECHANISMS.values() for kind in kinds)
    return list(dict.fromkeys(how for kind in every for how in kind.accountings))


def published_accountings(mechanism: str) -> set[str]:
    """The accountings of a mechanism under which its noise is what a paper's formula says."""
    return {how for kind in kinds_of(mechanism) if kind.published_for for how in kind.accountings}


def counts_overlap(kinds: Sequence[type[Mechanism]]) -> bool:
    """Test whether any mechanism counts records that sit with several owners."""
    return any("overlap" in field_types(kind) for kind in kinds)


def noise_for(algorithm: Algorithm) -> list[str]:
    """The mechanisms that an algorithm may be trained with.

    "best" where one that is compared is among them.
    """
    moments = algorithm.scores or algorithm.moments
    asked = NoiseSettings((1,), single_record=algorithm.one_by_one, moments=moments)
    able = []
    compared = False
    for name, kinds in MECHANISMS.items():
        fitting = [kind for kind in kinds if kind.suits_settings(asked)]
        if algorithm.moments:
            fitting = [kind for kind in fitting if kind.apart]
        if fitting and algorithm.noise_norm in (None, norm_of(name)):
            able.append(name)
            compared |= any(kind.compared for kind in fitting)
    return [*able, BEST] if compared else able
