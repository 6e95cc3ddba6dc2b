"""The chance that buying pays in words, as it is known before training; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.report.wording import between, number, percent

Content = Mapping[str, Any]
SURE = 0.995  # a chance that reads as certainty when it is rounded


def chance(result: Content) -> str:
    """The chance that buying pays; empty where nothing is uncertain or the result does not tell.

    >>> chance({"learner": {"gain": {"interval": [-10.0, 90.0], "chance_pays": 0.873}}}).replace("\\u00a0", " ")
    '87 %'
    """
    told = result["learner"].get("gain")
    if not told or told["interval"][0] == told["interval"][1]:
        return ""
    if told["chance_pays"] > SURE:
        return f"over {percent(0.99)}"
    if told["chance_pays"] < 1 - SURE:
        return f"under {percent(0.01)}"
    return percent(told["chance_pays"], 2)


def gain_interval(result: Content) -> str:
    """Where the learner's gain lies nine times in ten, after paying."""
    low, high = result["learner"]["gain"]["interval"]
    return between(low, high, number)


def chance_of_paying(result: Content) -> str:
    """How sure it is before training that buying pays, and what the learner may come to; empty where nothing is in doubt."""
    if not chance(result):
        return ""
    return (
        f"By the worlds that the public rows may come from, the chance that buying pays is {chance(result)}; nine times in "
        f"ten the learner's gain, on average over trainings, lies between {gain_interval(result).replace(' to ', ' and ')}."
    )
