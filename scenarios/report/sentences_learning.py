"""How a model is trained, in words: loss, algorithm, weights, noise, bounds; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learning.losses.coordinates import RECORD
from learning.losses.loss import Loss
from learning.losses.losses import DEFAULT, LOSSES
from learning.privacy.mechanism import ACCOUNTINGS
from learning.privacy.mechanisms import BEST, norm_of, title_of
from learning.training.aggregation import AGGREGATIONS, Aggregation, Mean
from learning.training.algorithm import Algorithm
from learning.training.algorithms import ALGORITHMS
from scenarios.report.wording import counted, number, percent, times
from scenarios.summary.verdict import ROUNDING

Content = Mapping[str, Any]
WEIGHTS = {
    "size": "weights by records",
    "equal": "equal weights",
    "precision": "weights by precision",
    "observed": "weights by what answers show",
}
BASES = {"public": "public rows", "oracle": "pooled records"}


# Loss


def loss_of(result: Content) -> Loss:
    """The loss that the model is trained for; of one not known here, its name."""
    name = str(result["scenario"]["learning"].get("loss", DEFAULT))
    return LOSSES.get(name) or type("Unknown", (Loss,), {"name": name, "labels": bool(result["data"].get("labels"))})()


def best_words(result: Content) -> str:
    """What relative fitness is counted from; of networks only the best found is known."""
    return "the best possible model" if loss_of(result).certified else f"the best {loss_of(result).name} found"


def best_short(loss: Loss) -> str:
    """The same in two words."""
    return "best possible" if loss.certified else "best found"


def best_error(loss: Loss) -> str:
    """The same of the error."""
    return f"the best possible {measure_of(loss)}" if loss.certified else f"the best {measure_of(loss)} found"


def measure_of(loss: Loss) -> str:
    """What "error" is under a loss."""
    return loss.measure or f"mean {loss.name} loss"


def measure_words(result: Content) -> str:
    """What "error" is, with what is added to it."""
    charged = result["scenario"]["learning"].get("regularisation", 0.0) > 0
    return measure_of(loss_of(result)) + (" (with the charge for large parameters)" if charged else "")


def error_words(relative_fitness: float | None, short: bool = False, best: str = "the best possible model") -> str:
    """Relative fitness in words: how much more error than the best model makes.

    >>> error_words(0.021).replace(chr(160), " "), error_words(-7e-16), error_words(-0.02, short=True)
    ('2.1 % more error than the best possible model', 'no more error than the best possible model', '2\\xa0% less')
    >>> error_words(19.0)
    '20 times the error of the best possible model'
    """
    if relative_fitness is None:
        return "an unknown error"
    if relative_fitness >= 4:
        return times(1 + relative_fitness) + (" as much" if short else f" the error of {best}")
    if abs(relative_fitness) < ROUNDING:
        return "no more" if short else f"no more error than {best}"
    side = "more" if relative_fitness > 0 else "less"
    return f"{percent(abs(relative_fitness))} {side}" + ("" if short else f" error than {best}")


# Forecast


def is_exact(result: Content) -> bool:
    """Whether the forecast is an exact law; else the training was rehearsed."""
    return result["forecast"].get("kind", "exact") == "exact"


def forecast_made(result: Content) -> str:
    """How the forecast was made, and from what."""
    basis = BASES[result["forecast"].get("basis", "public")]
    return f"by an exact law from {basis}" if is_exact(result) else f"by rehearsing the training on {basis}"


# Algorithm, weights, noise


def algorithm_of(made: Content) -> Algorithm:
    """The training algorithm of a forecast; of one not known here, its name."""
    name = str(made["algorithm"])
    return ALGORITHMS.get(name) or type("Unknown", (Algorithm,), {"name": name})()


def rounds_words(made: Content) -> str:
    """How long training lasts.

    >>> rounds_words({"algorithm": "asynchronous", "horizon": 300})
    '300 ticks'
    """
    return counted(made["horizon"], algorithm_of(made).counts)


def stop_words(result: Content) -> str:
    """Why a model trained without noise is not the best one yet."""
    made, learning = result["forecast"], result["scenario"]["learning"]
    why = "the choice that makes the total smallest" if learning.get("horizon", "optimal") == "optimal" else ""
    algorithm = algorithm_of(made)
    causes = [f"training stops after {rounds_words(made)}, {why or 'as the scenario says'}"] * algorithm.takes_steps
    causes += algorithm.falls_short
    if learning.get("weights", "size") != "size" and len(result["owners"]) > 1:
        causes += ["owners do not count by their records alone"]
    cut = "long gradients are cut" if clips_gradients(result) else "far-off values are cut"
    return ", ".join(causes) + f", and {cut}"


def clips_gradients(result: Content) -> bool:
    """Whether a record's gradient is clipped, and not the record."""
    return bool(loss_of(result).clips_gradients or result["protocol"].get("clipping") == RECORD)


def weights_words(result: Content) -> str:
    """How much each owner's answer counts; empty where there is nothing to weigh."""
    kind, algorithm = result["scenario"]["learning"].get("weights", "size"), algorithm_of(result["forecast"])
    if not algorithm.weighs_owners:
        return "all records count alike"
    by = {
        "size": "counts by its number of records",
        "equal": "counts the same",
        "precision": "counts by its precision: the noisier it is and the fewer its records, the less",
        "observed": "counts by what it shows of itself: the further from the median of all answers, the less",
    }[kind]
    return f"each owner's {algorithm.answer} {by}"


def aggregation_of(result: Content) -> type[Aggregation]:
    """What is made of the answers of a round."""
    given = result["scenario"]["learning"].get("aggregation") or {"kind": Mean.name}
    return AGGREGATIONS.get(given["kind"], Mean)


def noise_of(result: Content) -> tuple[str, str]:
    """The noise that the protocol names, and how its cost is counted; without a name where it was left open.

    >>> noise_of({"protocol": {"mechanism": "gaussian (pld)"}}), noise_of({"protocol": {"mechanism": "laplace"}})
    (('gaussian', 'pld'), ('laplace', 'basic'))
    """
    name, _, accounting = str(result["protocol"].get("mechanism") or "").removesuffix(")").partition(" (")
    return name, accounting or "basic"


def shares_words(result: Content) -> str:
    r"""How the cost of all answers is counted, and what each spends of it.

    >>> shares_words({"protocol": {"mechanism": "laplace"}, "forecast": {"growth": 3.0, "shares": [0.25, 0.75]}})
    ', of whose budget each answer spends 3 times as much as the one before (25\xa0%, 75\xa0%)'
    """
    made, accounting = result["forecast"], noise_of(result)[1]
    if not made.get("growth"):
        return ACCOUNTINGS.get(accounting, "")
    parts = ", ".join(percent(part) for part in made["shares"])
    grows = f", of whose budget each answer spends {made['growth']:g} times as much as the one before ({parts})"
    return grows if accounting == "basic" else f"{ACCOUNTINGS.get(accounting, '')}{grows}"


def noise_words(result: Content) -> str:
    """Which noise protects the answers, how its cost is counted, and whether it was chosen.

    >>> learning, protocol = {"mechanism": "laplace"}, {"mechanism": "laplace"}
    >>> noise_words({"scenario": {"learning": learning}, "protocol": protocol, "forecast": {}})
    'Laplace noise, whose budget is split evenly over all answers'
    """
    learning, (name, _) = result["scenario"]["learning"], noise_of(result)
    if not name:
        return "whichever noise promises the best model"
    text = title_of(name) + shares_words(result)
    if learning.get("delta"):
        text += f" at δ = {number(learning['delta'])}"
    return text + (", chosen because it promises the best model" if learning["mechanism"] == BEST else "")


def training_words(result: Content) -> str:
    """How the model is trained."""
    algorithm = algorithm_of(result["forecast"])
    heard = [algorithm.says or f"by the algorithm {algorithm.name}"]
    if len(result["owners"]) > 1:
        heard.append(weights_words(result))
        heard += [aggregation_of(result).says] * bool(aggregation_of(result).says)
    return f"How it is trained: {'; '.join([*heard, noise_words(result)])}."


def horizon_words(made: Content) -> str:
    """T, with what it counts where that is not rounds.

    >>> horizon_words({"algorithm": "asynchronous", "horizon": 300}), horizon_words({"algorithm": "sgd2", "horizon": 9})
    ('T = 300 ticks', 'T = 9')
    """
    noun = algorithm_of(made).counts
    return f"T = {made['horizon']:,}" + (f" {noun}s" if noun != Algorithm.counts and made["horizon"] > 1 else "")


def growth_words(made: Content) -> list[str]:
    """How shares of a budget grow, where they do."""
    return [f"shares growing by {made['growth']:g}"] if made.get("growth") else []


def plan_line(result: Content) -> str:
    """The plan in a few words, for a terminal."""
    made = result["forecast"]
    if made["step_size"] == 0:
        return "nothing is asked: no answer is worth its noise"
    learning, algorithm = result["scenario"]["learning"], algorithm_of(made)
    open_keys = (learning["mechanism"], learning.get("algorithm"), learning.get("clipping"))
    chosen = " (the best of those compared)" if BEST in open_keys else ""
    words = [made["algorithm"], horizon_words(made), *growth_words(made)]
    if result["protocol"].get("clipping") == RECORD:
        words.append("clipped gradients")
    if algorithm.weighs_owners:
        words.append(WEIGHTS[learning.get("weights", "size")])
    if aggregation_of(result) is not Mean:
        words.append(aggregation_of(result).name.replace("_", " "))
    return ", ".join([*words, f"{result['protocol'].get('mechanism') or 'no'} noise{chosen}"])


def norm(result: Content) -> int:
    """The norm, 1 or 2, in which the noise needs a record to be bounded."""
    return norm_of(noise_of(result)[0])
