"""Errors of a result in plain units: formats, and the rows of the table that compares models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scenarios.report.facts_outcome import target_of
from scenarios.report.facts_owners import Content, nothing_trained
from scenarios.report.wording import currency_of, format_money, format_number, format_percent

DIGITS = 4  # of an error in plain units: models often differ in the third
WORTH_A_WORD = 0.01  # part of an error from which a difference is pointed out


def error_format(errors: Content, result: Content) -> Callable[[float | None], str]:
    """Return the format of errors in plain units: a share, money of a case, or a number."""
    if errors["per"] == "wrong_label":
        return partial(format_percent, digits=DIGITS)
    if errors["per"] == "cost":
        return partial(format_case_money, currency=currency_of(result))
    return partial(format_number, digits=DIGITS)


def format_case_money(value: float | None, currency: str = "") -> str:
    """Format what a case costs, to four digits.

    >>> format_case_money(0.49876), format_case_money(12.3456, "EUR").replace(chr(160), " ")
    ('0.4988', '12.35 EUR')
    """
    amount = format_number(value, DIGITS)
    return format_money(1.0, currency).replace("1", amount, 1) if value is not None else amount


def unit_in_words(errors: Content) -> str:
    """Return the unit of the target, where errors are in it and it is known."""
    return target_of(errors)[1] if errors["per"] == "rmse" else ""


def error_rows(result: Content) -> list[dict[str, Any]]:
    """Return the models to compare, each with its kind and its errors; unknown ones are None.

    Returns
    -------
    list of dict
        ``kind``: bought, kept, alone, guessing, best_of_kind or every_column; ``measured``, with
        its ``spread`` over trainings; ``forecast`` with its ``interval``; ``privileged``, whether
        only the simulator could train the model.
    """
    errors = result["errors"]
    measured = errors["measured"] or {"trained": None, "outside": None}
    forecast = errors["forecast"] or {}
    trained = measured["trained"]
    own = _error_row("alone", measured["outside"], forecast, "outside")
    rows = [own]
    if not nothing_trained(result):
        bought = _error_row("bought", trained and trained["mean"], forecast, "trained")
        if trained is not None:
            bought["spread"] = (trained["q05"], trained["q95"])
        rows = [bought, own]
    if errors["measured"] is None:
        return rows
    rows.append(_error_row("guessing", measured["constant"]["error"]))
    rows.append(_error_row("best_of_kind", measured["best_of_kind"]) | {"privileged": True})
    every = measured["every_column"]
    if every is not None:
        rows.append(_error_row("every_column", every["error"]) | {"privileged": True})
    return rows


def _error_row(
    kind: str, error: float | None, forecast: Content | None = None, part: str = ""
) -> dict[str, Any]:
    found = forecast or {}
    interval = {"trained": "interval"}.get(part, f"{part}_interval")
    return {
        "kind": kind,
        "measured": error,
        "spread": None,
        "forecast": found.get(part),
        "interval": found.get(interval),
        "privileged": False,
    }


def error_bought(result: Content) -> float:
    """Return the error of the model that the learner ends up with: measured, else as forecast."""
    errors = result["errors"]
    measured = errors["measured"]
    forecast = errors["forecast"] or {"trained": float("nan"), "outside": float("nan")}
    if nothing_trained(result):
        return measured["outside"] if measured else forecast["outside"]
    if measured and measured["trained"] is not None:
        return measured["trained"]["mean"]
    return forecast["trained"]


def error_is_forecast(result: Content) -> bool:
    """Test whether `error_bought` is a forecast, since nothing was trained."""
    measured = result["errors"]["measured"]
    return measured is None or (not nothing_trained(result) and measured["trained"] is None)


def worse_than_guessing(result: Content) -> bool:
    """Test whether one answer for every row has no larger error than the model, as measured."""
    if error_is_forecast(result):
        return False
    return bool(error_bought(result) >= result["errors"]["measured"]["constant"]["error"])


def first_fails(result: Content) -> bool:
    """Test whether public rows speak against the first trained model, which is not handed over."""
    return any(fact.get("first") for fact in result["validation"]["explanation"])


def kind_matters_more(result: Content) -> bool:
    """Test whether other columns or another kind of model would gain more than buying does."""
    measured = result["errors"]["measured"]
    every = measured and measured["every_column"]
    if not every:
        return False
    missed = measured["best_of_kind"] - every["error"]
    own = (result["errors"]["forecast"] if error_is_forecast(result) else measured)["outside"]
    gained = max(own - error_bought(result), 0.0)
    return missed > max(gained, WORTH_A_WORD * measured["best_of_kind"])
