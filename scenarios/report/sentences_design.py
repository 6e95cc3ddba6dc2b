"""A design in plain words: which policy, for how much, with whom; from the content of design.json alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scenarios.report.sentences_gain import what_would_help
from scenarios.report.sentences_money import why_not_said
from scenarios.report.sentences_offer import policy_words
from scenarios.report.sentences_terms import forecast_words
from scenarios.report.sentences_worth import beyond_worth
from scenarios.report.wording import between, counted, currency_of, in_money, listed, percent

Content = dict[str, Any]


def named(row: Content) -> str:
    """Name a policy that was tried."""
    return str(row.get("name", row["kind"])).replace("_", " ")


def chosen(content: Content) -> Content:
    """The policy chosen: the best that everybody would take part in."""
    return next(row for row in content["policies"] if not row["refused"])


def answer(content: Content) -> str:
    """What the learner should offer, and what comes of it; or that nothing is worth buying."""
    if not content["buys"]:
        return "Nothing is worth buying: under no policy tried does the learner gain by asking."
    result = content["chosen"]
    learner, made, money = result["learner"], result["forecast"], in_money(result)
    low, high = learner["gain"]["interval"]
    error, own = percent(made["relative_fitness"]), percent(content["outside"])
    offered = policy_words(result["scenario"]["policy"], currency_of(result))
    return (
        f"{offered} That comes to {money(learner['payments'])} in all, for a model "
        f"forecast to make {error} more error than the best possible, where the learner's own makes {own}. The learner "
        f"gains {money(learner['surplus'])}: nine times in ten between {money(low)} and {money(high)}; the chance that "
        f"buying pays is {percent(learner['gain']['chance_pays'], 2)}.{_not_said(result)}{forecast_words(learner, result)}"
    )


def _not_said(result: Content) -> str:
    """Say that buying is not said to pay although the learner gains by the forecast; empty where it is."""
    why = why_not_said(result)
    return f" So buying cannot be said to pay: {why}." if why else ""


def what_would_change(content: Content) -> str:
    """Where nothing is worth buying: what would change that."""
    return "" if content["buys"] else what_would_help(content["chosen"])


def others(content: Content) -> list[str]:
    """What the other policies come to, the best first."""
    return [
        _other(row, in_money(content["chosen"]))
        for row in content["policies"]
        if not (content["buys"] and row is chosen(content))
    ]


def _other(row: Content, money: Callable[[float | None], str]) -> str:
    if row["refused"]:
        return f"{named(row).capitalize()} was not tried: {row['refused']}"
    came = (
        f"{money(row['payments'])} paid, an error of {percent(row['relative_fitness'])}, a gain of {money(row['gain'])}"
    )
    if not row["feasible"]:
        why = "nothing is certified"
        if row["unwilling"]:
            why = counted(row["unwilling"], "owner") + " would rather not take part"
        elif row.get("at_refusal"):
            why = "owners sell just enough to be asked, so that the learner pays for a model no better than its own"
        return f"{named(row).capitalize()} will not do: at its best {why} ({came})."
    if not row["payments"]:
        return f"{named(row).capitalize()}: nothing is worth buying."
    return f"{named(row).capitalize()}: {came}."


def joining(content: Content) -> list[str]:
    """Who should be asked and who should not, with the reason in money."""
    if not content["buys"]:
        return []
    money = in_money(content["chosen"])
    out = [owner for owner in content["owners"] if not owner["joins"]]
    stay = [owner for owner in content["owners"] if owner["joins"]]
    noisy = [owner["name"] for owner in out if owner["adds"] is None]
    said = [f"{listed(noisy)} should not be asked: noise would drown what the others bring."] if noisy else []
    spared = [f"{owner['name']} {money(-owner['adds'])}" for owner in out if owner["adds"] is not None]
    if spared:
        each = listed(spared, most=len(spared))
        said.append(f"Not to be asked, with what the learner has more without each, the others settling anew: {each}.")
    if not out:
        said.append("All owners should be asked.")
    known = sorted((one for one in stay if one["adds"] is not None), key=lambda one: -one["adds"])
    if known:
        each = listed([f"{one['name']} {money(one['adds'])}" for one in known], most=6)
        said.append(f"What asking each of them adds to the learner's gain, the others settling anew: {each}.")
    return said


def not_bought(content: Content) -> str:
    """What owners would sell that is not worth buying; empty where nothing."""
    return beyond_worth(content, in_money(content["chosen"]))


def frontier(content: Content) -> str:
    """The range of what money buys."""
    rows = [row for row in content["frontier"] if row["efficient"]]
    if len(rows) < 2:
        return ""
    shown = {"payments": in_money(content["chosen"]), "relative_fitness": percent}
    paid, errors = (between(rows[0][key], rows[-1][key], show) for key, show in shown.items())
    count = counted(len(content["frontier"]), "policy", "policies")
    return (
        f"Of {count} tried, {len(rows):,} are efficient: no other buys as good a model for less. They pay {paid}, for an "
        f"error of {errors}."
    )
