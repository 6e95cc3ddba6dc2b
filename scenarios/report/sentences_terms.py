"""What a model is worth in its user's own terms, in words: RMSE, wrong labels, a cost matrix; from result.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from scenarios.report.wording import HARD_SPACE, amount, between, currency_of, in_money, label_of, number, percent

Content = Mapping[str, Any]
DIGITS = 6  # most that are told to show that two errors differ
CLOSE = 0.2  # how nearly their difference is to be seen, relative


def differing(first: float, second: float) -> tuple[str, str]:
    """Two numbers to three digits, or to as many more as it takes to tell how far they lie apart.

    >>> differing(1.4204, 1.3701), differing(3.9454, 3.9449), differing(2.0, 2.0)
    (('1.42', '1.37'), ('3.9454', '3.9449'), ('2', '2'))
    """
    for digits in range(3, DIGITS + 1):
        apart = float(f"{first:.{digits - 1}e}") - float(f"{second:.{digits - 1}e}")
        if abs(apart - (first - second)) <= CLOSE * abs(first - second):
            return number(first, digits), number(second, digits)
    return number(first), number(second)


def fall(terms: Content, outside: float, trained: float, result: Content | None = None) -> str:
    """By how much the error that counts is smaller, or larger, with the model bought than with the learner's own.

    >>> fall({"per": "rmse", "target": "visits"}, 1.42, 1.37)
    'the root mean squared error of visits falls from 1.42 to 1.37'
    >>> fall({"per": "wrong_label", "cases": 10000}, 0.1352, 0.124)
    'there are 112 fewer wrong labels in 10,000 cases (1,240 instead of 1,352)'
    >>> fall({"per": "cost", "cases": 1000}, 8.07, 6.8)
    'wrong decisions in 1,000 cases cost 6,800 instead of 8,070'
    """
    if terms["per"] == "rmse":
        before, after = differing(outside, trained)
        name, unit = _named(terms)
        what, unit = f"the root mean squared error of {name}", f" {unit}" if unit else ""
        if before == after:
            return f"{what} stays at {before}{unit}"
        return f"{what} {'falls' if trained < outside else 'rises'} from {before} to {after}{unit}"
    cases = terms["cases"]
    before, after = _counts(outside * cases, trained * cases)
    if terms["per"] == "cost":
        currency = HARD_SPACE + currency_of(result or {}) if currency_of(result or {}) else ""
        before, after = before + currency, after + currency
        instead = "" if before == after else f" instead of {before}"
        return f"wrong decisions in {number(cases, DIGITS)} cases cost {after}{instead}"
    if before == after:
        return f"there are as many wrong labels, {after} in {number(cases, DIGITS)} cases"
    fewer = number(abs(outside - trained) * cases)
    side = "fewer" if trained < outside else "more"
    return f"there are {fewer} {side} wrong labels in {number(cases, DIGITS)} cases ({after} instead of {before})"


def _named(terms: Content) -> tuple[str, str]:
    """What the target is called, and its unit."""
    told, column = terms.get("label"), terms["target"]
    return label_of({"scenario": {"labels": {column: told}}} if told else {}, column)


def _counts(before: float, after: float) -> tuple[str, str]:
    """Two amounts that are counted over many cases, to as many digits as their difference needs."""
    return (number(before, DIGITS), number(after, DIGITS)) if max(before, after) < 1e4 else differing(before, after)


def forecast_words(part: Content, content: Content) -> str:
    """A sentence on what comes of it in the terms of the learner's value, as forecast; empty without such ``terms``.

    Parameters
    ----------
    part : what holds the terms.
    content : the result or comparison that it is a part of, with currency and labels.
    """
    terms = part.get("terms")
    return f" By the forecast, {fall(terms, terms['outside'], terms['trained'], content)}." if terms else ""


def because(result: Content) -> str:
    """Why the model is worth what the forecast says, in the terms of the learner's value; empty without such terms."""
    terms = result["learner"].get("terms")
    return f", because {fall(terms, terms['outside'], terms['trained'], result)}" if terms else ""


def because_measured(result: Content) -> str:
    """The same as measured on all records."""
    terms, found = result["learner"].get("terms"), (result["validation"] or {}).get("terms")
    if not terms or not found:
        return ""
    return f", because {fall(terms, found['outside'], found['trained']['mean'], result)}"


def worth_words(result: Content) -> str:
    """What a better model is worth to the learner, and to owners where it is; empty where relative fitness counts."""
    terms = result["learner"].get("terms")
    return f"To the learner, {UNITS[terms['per']](result, terms)}.{_owners(result, terms)}" if terms else ""


def _cases(terms: Content) -> str:
    return f"the model decides {number(terms['cases'], DIGITS)} cases"


def _rmse(result: Content, terms: Content) -> str:
    name, unit = _named(terms)
    one, worth = f"1 ({unit})" if unit else "1", in_money(result)(terms["money"])
    return f"a root mean squared error of {name} that is smaller by {one} is worth {worth}"


def _wrong_label(result: Content, terms: Content) -> str:
    return f"one wrong label less is worth {in_money(result)(terms['money'])}; {_cases(terms)}"


def _cost(result: Content, terms: Content) -> str:
    alarm, miss = map(in_money(result), (terms["false_alarm"], terms["miss"]))
    return (
        f"a false alarm costs {alarm} and a miss {miss}; {_cases(terms)}, and calls a case positive from the score on at "
        "which that costs least on the learner's own records"
    )


UNITS = {"rmse": _rmse, "wrong_label": _wrong_label, "cost": _cost}


def _owners(result: Content, terms: Content) -> str:
    """What the same is worth to the owners."""
    given = result["scenario"]["owners"].get("benefit")
    if not isinstance(given, Mapping) or "per" not in given:
        return ""
    money, cases = given["money"], given["cases"]
    worth = "" if money is None else f" is worth {amount(money, in_money(result))}"
    deciding = "" if cases is None else f"{' in' if money is not None else ' counts in'} {amount(cases)} cases"
    return f" To the owners, the same{worth}{deciding}."


def in_terms(result: Content) -> str:
    """Both models' errors as forecast, with their intervals, and how they were told; empty without such terms."""
    terms = result["learner"].get("terms")
    if not terms:
        return ""
    made, own = (
        _with_interval(terms, result, *keys) for keys in (("trained", "interval"), ("outside", "outside_interval"))
    )
    rival = constant_answer(terms, terms["trained"], result)
    return (
        f"{_upper(NAMES[terms['per']])} is forecast at {made}; of the learner's own model, {own}.{rival} {_law(terms)}"
    )


def constant_answer(found: Content, model: float, result: Content) -> str:
    """State what one answer for every case comes to, beside a model on the same rows; empty where none is counted.

    Parameters
    ----------
    found : what holds the ``constant`` answer.
    model : the error of the model, in the learner's terms.
    """
    constant = found.get("constant")
    if not constant:
        return ""
    terms = result["learner"]["terms"]
    cost = size(terms, result, constant["cost"])
    better = ", LESS than with the model" if constant["cost"] < model else ""
    return f" If every case is called {constant['label']}, it is {cost}{better}."


def _with_interval(terms: Content, result: Content, who: str, interval: str) -> str:
    (low, high), show = terms[interval], partial(size, terms, result)
    return f"{show(terms[who])} ({between(low, high, show)})"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


NAMES = {
    "rmse": "the root mean squared error",
    "wrong_label": "the share of wrong labels",
    "cost": "what wrong decisions cost, by case,",
}


def size(terms: Content, result: Content, value: float | None) -> str:
    """An error in the learner's terms: a share, an amount of money, or a number in units of the target."""
    show = {"wrong_label": percent, "cost": in_money(result)}.get(terms["per"], number)
    return show(value)


def _law(terms: Content) -> str:
    if terms["law"] == "exact":
        return "It follows from relative fitness by definition, and from the best possible error that these rows show."
    rows = "the learner's own records" if terms["basis"] == "public" else "the pooled records, as no learner could,"
    few = "" if terms["basis"] == "oracle" else ": few of them show too few wrong decisions, and differences are surer"
    return f"It was counted on {rows} along the rehearsed trainings{few}."


def translation(result: Content) -> str:
    """The errors as measured, and whether their translation held; empty without a training or such terms."""
    terms, found = result["learner"].get("terms"), (result["validation"] or {}).get("terms")
    if not terms or not found:
        return ""
    own, made = (size(terms, result, error) for error in (found["outside"], found["trained"]["mean"]))
    rival = constant_answer(found, found["trained"]["mean"], result)
    said = f"{_upper(NAMES[terms['per']])} is {made}, and {own} for the learner's own, measured on all records.{rival}"
    if found["translation_held"] is None:
        return said
    low, high = found["translated"]
    fell = found["outside"] - found["trained"]["mean"]
    does, held = ("holds", "inside or near") if found["translation_held"] else ("DOES NOT hold", "outside")
    points = " points" if terms["per"] == "wrong_label" else ""
    interval, came = between(low, high, partial(_difference, terms)), _difference(terms, fell)
    return (
        f"{said} Its translation from relative fitness {does}: the models' relative fitness, as measured, lets one expect "
        f"it to fall by {interval}{points}; it fell by {came}{points}, {held} that."
    )


def _difference(terms: Content, value: float | None) -> str:
    """A difference of two errors; of shares in percentage points."""
    return number(None if value is None else value * (100 if terms["per"] == "wrong_label" else 1))


def fresh_terms(result: Content) -> str:
    """The same errors on rows that nobody trained on; empty without such rows or terms."""
    terms, held = result["learner"].get("terms"), (result["validation"] or {}).get("holdout") or {}
    if not terms or "terms" not in held:
        return ""
    made, own = (size(terms, result, held["terms"][who]) for who in ("trained", "outside"))
    rival = constant_answer(held["terms"], held["terms"]["trained"], result)
    return f"{_upper(NAMES[terms['per']])} is {made} there, and {own} for the learner's own.{rival}"
