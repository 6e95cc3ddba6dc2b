"""Loss, algorithm, aggregation and noise of a result, with the words for its errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learning.losses.clipping import RECORD
from learning.losses.loss import Loss
from learning.losses.losses import DEFAULT, LOSSES
from learning.privacy.mechanisms import norm_of
from learning.training.aggregation import AGGREGATIONS, Aggregation, Mean
from learning.training.algorithms import ALGORITHMS, Algorithm
from scenarios.report.wording import format_factor, format_percent
from scenarios.summary.verdict import ROUNDING

Content = Mapping[str, Any]


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


def describe_best(loss: Loss) -> str:
    """Name the error that relative fitness is counted from."""
    if loss.certified:
        return f"the best possible {describe_measure(loss)}"
    return f"the best {describe_measure(loss)} found"


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
