"""Outcome of a result: errors, the learner's gain, and errors in the learner's own terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scenarios.report.facts_owners import Content, nothing_trained
from scenarios.report.wording import (
    HARD_SPACE,
    currency_of,
    format_number,
    format_percent,
    in_money,
    label_of,
    read_limit,
)
from scenarios.summary.verdict import ROUNDING

WIDE = 50.0  # times its lower end: an interval that tells little
RISK = 0.05  # chance of a loss from which a gain is called uncertain
DIGITS = 6  # most that show a difference of two errors
CLOSE = 0.2  # relative error allowed in the difference of two rounded errors
STANDARD_ERRORS_SHOWN = 2.0  # half-width of an interval on the learner's own rows


def error_made(result: Content) -> float:
    """Relative fitness of the model that comes out: measured after training, else forecast."""
    checked = result["validation"]
    if checked is None:
        return result["forecast"]["relative_fitness"]
    return checked["relative_fitness"]["mean"]


def error_alone(result: Content) -> float:
    """Relative fitness of the learner's own model, measured or forecast in the same way."""
    alone = result["outside_option"]
    if result["validation"] is None or alone.get("measured") is None:
        return alone["relative_fitness"]
    return alone["measured"]


def model_outcome(result: Content) -> str:
    """Compare the model with the learner's own: gain, loss, even or uncertain.

    Uncertain where training contradicts the forecast, or where nothing was trained and the
    forecast's interval holds both.
    """
    made = error_made(result)
    alone = error_alone(result)
    if nothing_trained(result) or abs(made - alone) <= ROUNDING:
        return "even"
    if made >= alone:
        return "loss"
    checked = result["validation"]
    _, high = result["forecast"].get("interval") or (made, made)
    doubtful = high > alone
    if checked is not None:
        doubtful = not checked["agrees"]
    return "uncertain" if doubtful else "gain"


def tells_little(made: Content) -> bool:
    """Test whether a forecast's interval is so wide that hardly anything could contradict it."""
    low, high = made["interval"] or (None, None)
    return low is not None and high is not None and bool(high > WIDE * max(low, 0.0))


def fresh_errors(fresh: Content) -> dict[str, Any]:
    """Format errors on held-out records: of labels in percent, of numbers squared.

    Returns
    -------
    dict
        ``error``, the measure; ``guess``, the constant answer; ``trained``, ``outside``,
        ``nonprivate`` and ``guessing``, the errors; ``idle``, whether the trained model is no
        better than guessing; ``better``, the number of owners whose own model it beats, None where
        that was not tried.
    """
    words = {"error": "mean squared error", "guess": "the mean"}
    prefix, guessing, show = "mse_", "variance", format_number
    if "error_trained" in fresh:
        words = {"error": "share of wrong labels", "guess": "the more frequent label"}
        prefix, guessing, show = "error_", "error_guessing", format_percent
    trained = fresh[f"{prefix}trained"]
    alone = fresh.get("isolated")
    errors = {who: show(fresh[prefix + who]) for who in ("trained", "outside", "nonprivate")}
    return {
        **words,
        **errors,
        "guessing": show(fresh[guessing]),
        "idle": trained >= fresh[guessing],
        "better": sum(trained < own for own in alone) if alone else None,
    }


def measured_money(result: Content) -> Content | None:
    """Return the money of the trained models; None before any training."""
    return (result["validation"] or {}).get("money")


def is_measured(result: Content) -> bool:
    """Test whether a model was bought, trained and valued."""
    return measured_money(result) is not None and not nothing_trained(result)


def buying_pays(result: Content) -> bool:
    """Test whether buying pays: as measured after training, else by the forecast."""
    money = measured_money(result)
    if money is None:
        return bool(result["learner"]["buying_pays"])
    return bool(money["pays"])


def learner_gain(result: Content) -> float:
    """Learner's gain after paying: the mean over trainings, else by the forecast."""
    money = measured_money(result)
    if money is None:
        return result["learner"]["surplus"]
    return money["learner_surplus"]["mean"]


def gain_outcome(result: Content) -> str:
    """Name the learner's outcome: gain, loss, even or uncertain.

    A gain is uncertain that one training in twenty, or before training one possible world in
    twenty, would turn into a loss.
    """
    left = learner_gain(result)
    money = measured_money(result)
    risk = (
        1 - (result["learner"].get("gain") or {}).get("chance_pays", 1.0)
        if money is None
        else money["chance_of_loss"]
    )
    if left > 0 and risk > RISK:
        return "uncertain"
    return {1: "gain", 0: "even", -1: "loss"}[(left > 0) - (left < 0)]


def total_payments(result: Content) -> float:
    """Add up the payments of all learners."""
    learners = result.get("learners") or [result["learner"]]
    return sum(one["payments"] for one in learners)


def owner_surpluses(result: Content) -> dict[str, float]:
    """Return each owner's surplus with the benefit of the trained models; empty before training."""
    money = measured_money(result) or {"owners": ()}
    return {row["name"]: row["surplus"] for row in money["owners"]}


def differing(first: float, second: float) -> tuple[str, str]:
    """Two numbers to three digits, or to as many more as show their difference.

    >>> differing(1.4204, 1.3701), differing(3.9454, 3.9449), differing(2.0, 2.0)
    (('1.42', '1.37'), ('3.9454', '3.9449'), ('2', '2'))
    """
    for digits in range(3, DIGITS + 1):
        apart = float(f"{first:.{digits - 1}e}") - float(f"{second:.{digits - 1}e}")
        if abs(apart - (first - second)) <= CLOSE * abs(first - second):
            return format_number(first, digits), format_number(second, digits)
    return format_number(first), format_number(second)


def count_cases(before: float, after: float) -> tuple[str, str]:
    """Two amounts that are counted over many cases, to as many digits as their difference needs."""
    if max(before, after) >= 1e4:
        return differing(before, after)
    return format_number(before, DIGITS), format_number(after, DIGITS)


def target_of(terms: Content) -> tuple[str, str]:
    """Return the name of the target and its unit."""
    column = terms["target"]
    labels = {column: terms["label"]} if terms.get("label") else {}
    return label_of({"scenario": {"labels": labels}}, column)


def in_currency(text: str, content: Content) -> str:
    """Put the currency behind an amount that is already formatted."""
    currency = currency_of(content)
    return f"{text}{HARD_SPACE}{currency}" if currency else text


def in_terms_of(terms: Content, result: Content) -> Callable[[float | None], str]:
    """Return the format of errors in the learner's terms: a share, money, or the target's units."""
    formats = {"wrong_label": format_percent, "cost": in_money(result)}
    return formats.get(terms["per"], format_number)


# Alternatives of a comparison, and policies of a design


def alternative_name(row: Content) -> str:
    """Name an alternative."""
    name = str(row["name"]).replace("regulation.epsilon_cap = ", "cap on ε of ")
    return name.replace("_", " ")


def policy_name(row: Content) -> str:
    """Name a policy that was tried."""
    return str(row.get("name", row["kind"])).replace("_", " ")


def alternative_gain(row: Content) -> float:
    """Learner's gain under an alternative, measured where it was trained."""
    if row["trained_gain"] is None:
        return row["gain"]
    return row["trained_gain"]["mean"]


def rank_alternatives(content: Content) -> list[Content]:
    """Sort alternatives by the learner's gain, the largest first."""
    return sorted(content["alternatives"], key=alternative_gain, reverse=True)


def unwilling_owners(row: Content) -> list[str]:
    """Name the owners whom an alternative leaves with less than nothing."""
    return [owner["name"] for owner in row["owners"] if not owner["rational"]]


def split_changes(
    row: Content, changes: Sequence[float]
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Split owners into those who have more and those who have less, each with its change."""
    least = 1e-6 * max(map(abs, changes), default=0.0)
    pairs = [(owner["name"], c) for owner, c in zip(row["owners"], changes, strict=True)]
    return [p for p in pairs if p[1] > least], [p for p in pairs if p[1] < -least]


def epsilons_sold(row: Content) -> list[float]:
    """Budgets sold under an alternative, one an owner."""
    return [read_limit(owner["epsilon"]) for owner in row["owners"]]
