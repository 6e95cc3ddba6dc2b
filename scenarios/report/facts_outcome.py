"""Outcome of a result: how the model was trained, its errors, and the learner's gain."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from learning.losses.clipping import RECORD
from learning.losses.loss import Loss
from learning.losses.losses import DEFAULT, LOSSES
from learning.privacy.mechanisms import norm_of
from learning.training.aggregation import AGGREGATIONS, Aggregation, Mean
from learning.training.algorithms import ALGORITHMS, Algorithm
from scenarios.report.facts_owners import Content, nothing_trained
from scenarios.report.wording import (
    HARD_SPACE,
    currency_of,
    drop_rounding,
    format_factor,
    format_number,
    format_percent,
    in_money,
    label_of,
)
from scenarios.summary.verdict import ROUNDING


def loss_of(result: Content) -> Loss:
    """Return the loss that the model is trained for; an unknown one by its name alone."""
    name = str(result["scenario"]["learning"].get("loss", DEFAULT))
    if name in LOSSES:
        return LOSSES[name]
    labels = bool(result["data"].get("labels"))
    return type("Unknown", (Loss,), {"name": name, "labels": labels})()


def describe_measure(loss: Loss) -> str:
    """Name the error that a loss measures."""
    return loss.measure or f"mean {loss.name} loss"


def best_short(loss: Loss) -> str:
    """Name the best model in two words; of networks only the best found is known."""
    return {True: "best possible", False: "best found"}[bool(loss.certified)]


def describe_error(
    relative_fitness: float | None, short: bool = False, best: str = "the best possible model"
) -> str:
    """Relative fitness as a comparison with the error of the best model.

    >>> describe_error(0.021).replace(chr(160), " "), describe_error(-0.02, short=True)
    ('2.1 % more error than the best possible model', '2\\xa0% less')
    >>> describe_error(19.0), describe_error(-7e-16)
    ('20 times the error of the best possible model', 'no more error than the best possible model')
    """
    if relative_fitness is None:
        return "an unknown error"
    if relative_fitness >= 4:
        factor = format_factor(1 + relative_fitness)
        return f"{factor} as much" if short else f"{factor} the error of {best}"
    size = f"{format_percent(abs(relative_fitness))} more"
    if relative_fitness < 0:
        size = f"{format_percent(abs(relative_fitness))} less"
    if abs(relative_fitness) < ROUNDING:
        size = "no more"
    return size if short else f"{size} error than {best}"


def is_exact(result: Content) -> bool:
    """Test whether the forecast is an exact law; else the training was rehearsed."""
    return result["forecast"].get("kind", "exact") == "exact"


def algorithm_of(made: Content) -> Algorithm:
    """Return the training algorithm of a forecast; an unknown one by its name alone."""
    name = str(made["algorithm"])
    return ALGORITHMS.get(name) or type("Unknown", (Algorithm,), {"name": name})()


def aggregation_of(result: Content) -> type[Aggregation]:
    """Return the aggregation of the answers of a round."""
    given = result["scenario"]["learning"].get("aggregation") or {"kind": Mean.name}
    return AGGREGATIONS.get(given["kind"], Mean)


def noise_of(result: Content) -> tuple[str, str]:
    """Split the protocol's mechanism into name and accounting; the name is empty where left open.

    >>> noise_of({"protocol": {"mechanism": "gaussian (pld)"}})
    ('gaussian', 'pld')
    >>> noise_of({"protocol": {"mechanism": "laplace"}})
    ('laplace', 'basic')
    """
    text = str(result["protocol"].get("mechanism") or "").removesuffix(")")
    name, _, accounting = text.partition(" (")
    return name, accounting or "basic"


def norm_of_noise(result: Content) -> int:
    """Return the norm, 1 or 2, in which the noise needs a record to be bounded."""
    return norm_of(noise_of(result)[0])


def clips_gradients(result: Content) -> bool:
    """Test whether records' gradients are clipped, and not the records."""
    return bool(loss_of(result).clips_gradients or result["protocol"].get("clipping") == RECORD)


def has_equal_steps(choice: Content) -> bool:
    """Test whether step sizes are equal where the algorithm's paper lets them decline."""
    declined = algorithm_of(choice).decline
    if declined == 0 or choice["horizon"] <= 1:
        return False
    return bool(choice.get("step_decline", declined) == 0)


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


def measured_money(result: Content) -> Content | None:
    """Return the money of the trained models; None before any training."""
    return (result["validation"] or {}).get("money")


def is_measured(result: Content) -> bool:
    """Test whether a model was bought, trained and valued."""
    return measured_money(result) is not None and not nothing_trained(result)


def gains_more(result: Content) -> bool:
    """Test whether the learner gains more in training, on average, than was forecast."""
    money = measured_money(result)
    promised = result["learner"]["surplus"]
    if money is None:
        return False
    found = money.get("break_even")
    if found is not None:  # the worth is unknown
        return bool(found["fall"] > result["learner"]["break_even"]["fall_interval"][1])
    if promised is None or money["learner_surplus"] is None:
        return False
    return bool(money["learner_surplus"]["mean"] > promised)


def buying_pays(result: Content) -> bool:
    """Test whether buying pays: as measured after training, else by the forecast."""
    money = measured_money(result)
    if money is None:
        return bool(result["learner"]["buying_pays"])
    return bool(money["pays"])


def knows_value(result: Content) -> bool:
    """Test whether anybody has said what a better model is worth."""
    return bool(result["learner"].get("value", 0.0) is not None)


def assumes_money(result: Content) -> bool:
    """Test whether any figure that payments depend on is an assumption."""
    assumed = (result.get("inputs") or {}).get("assumed") or ()
    return any(key.split(".")[0] in ("owners", "policy") for key in assumed)


def learner_gain(result: Content) -> float | None:
    """Learner's gain after paying: the mean over trainings, else by the forecast.

    None where the worth of a better model is unknown.
    """
    money = measured_money(result)
    if not knows_value(result):
        return None
    if money is None:
        return result["learner"]["surplus"]
    return money["learner_surplus"]["mean"]


def gain_outcome(result: Content) -> str:
    """Name the learner's outcome: gain, loss, even or uncertain.

    It is uncertain where the worth of the model is unknown. A gain is uncertain that one training
    in twenty, or before training one possible world in twenty, would turn into a loss.
    """
    left = learner_gain(result)
    money = measured_money(result)
    if left is None:
        return "uncertain"
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
    name = re.sub(r"^[a-z_]+\.(?=[a-z_]+ = )", "", name)  # a key without its section
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
    return [owner["name"] for owner in row["owners"] if loses(owner)]


def loses(owner: Content) -> bool:
    """Test whether an owner has less than nothing by more than a millionth of its payment."""
    return not owner["rational"] and owner["surplus"] < -1e-6 * abs(owner["payment"] or 0.0)


def privileged_fields(result: Content) -> list[str]:
    """List the fields computed from private records without noise that this result has."""
    return [path for path in result["privileged"] if _has_field(result, path.split("."))]


def _has_field(part: Any, keys: Sequence[str]) -> bool:
    if not keys or part is None:
        return part is not None
    inner = part.get(keys[0].removesuffix("[]"))
    if keys[0].endswith("[]"):
        return any(_has_field(one, keys[1:]) for one in inner or ())
    return _has_field(inner, keys[1:])


def split_changes(
    row: Content, changes: Sequence[float]
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Split owners into those who have more and those who have less, each with its change.

    Changes count as none that are rounding, or tiny beside the largest.
    """
    amounts = [owner[part] or 0.0 for owner in row["owners"] for part in ("payment", "surplus")]
    changed = [drop_rounding(change, *amounts) for change in changes]
    least = 1e-6 * max(map(abs, changed), default=0.0)
    pairs = [(owner["name"], c) for owner, c in zip(row["owners"], changed, strict=True)]
    return [p for p in pairs if p[1] > least], [p for p in pairs if p[1] < -least]
