"""Costs of privacy drawn from a law: a named law with parameters in the place of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Annotated, Any

import numpy as np

from learning.declaration import NamedPerOwnerRule, field_types, named_per_owner, per_owner_rule
from learning.errors import InputError
from learning.randomness import Streams
from market.procurement.cost_laws import COST_LAWS, CostLaw
from scenarios.schema.fields import suggest_name


class DrawnPerOwnerRule(NamedPerOwnerRule):
    """The same, or a law that every owner's number is drawn from, such as
    ``"bimodal:low=20,high=200,share=0.5"``."""

    def __call__(self, value: Any) -> Any:
        """A law as its text, once it is known to be one; anything else as the rule has it."""
        if not isinstance(value, str):
            return super().__call__(value)
        read_law(value, "")
        return value


def drawn_per_owner(hint: Any) -> Any:
    """A `PerOwner` type of a cost as a scenario file has it; any other type as it is."""
    rule = per_owner_rule(hint)
    if rule is None or rule.whole:
        return named_per_owner(hint)
    return Annotated[Any, DrawnPerOwnerRule(*astuple(rule))]


def read_law(text: str, key: str = "--costs") -> CostLaw:
    """A cost law from its name and parameters, as in ``bimodal:low=0.2,high=2``.

    Raises
    ------
    InputError
        An unknown law or parameter, or a value that the law refuses.

    >>> read_law("uniform:low=1,high=4")
    Uniform(low=1.0, high=4.0)
    """
    name, _, rest = text.partition(":")
    if name not in COST_LAWS:
        raise InputError(
            key, "must be a known law of costs", repr(name), suggest_name(name, list(COST_LAWS))
        )
    known = list(field_types(COST_LAWS[name]))
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        parameter, _, value = part.partition("=")
        if parameter.strip() not in known:
            raise InputError(
                key,
                f"must be parameters of {name}",
                repr(parameter),
                suggest_name(parameter, known),
            )
        try:
            given[parameter.strip()] = float(value)
        except ValueError:
            raise InputError(key, f"{parameter.strip()} must be a number", repr(value)) from None
    try:
        return COST_LAWS[name](**given)
    except InputError as error:
        raise InputError(
            f"{key}: {error.key.removeprefix('costs.')}".lstrip(": "), error.rule, error.found
        ) from None


def draw_table(
    section: Any, names: Sequence[str] | None = None, where: str = "", seed: int = 0
) -> Any:
    """Table with each owner's own draw in the place of a law.

    Parameters
    ----------
    section : the table.
    names : the owners, in their order; None: the law's median stands for all.
    where : the table's dotted name: two keys have draws of their own.
    seed : of the scenario.
    """
    laws = {
        key: read_law(text)
        for key in section.per_owner_keys()
        if isinstance(text := getattr(section, key), str)
    }
    streams = Streams(seed, "costs")
    made = {}
    for key, law in laws.items():
        made[key] = (
            float(law.quantile(np.array(0.5)))
            if names is None
            else tuple(
                float(law.draw((), rng=streams.rng(f"{where}.{key}", name))) for name in names
            )
        )
    return section.model_copy(update=made) if made else section
