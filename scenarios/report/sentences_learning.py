"""How a model is trained, in words: loss, algorithm, weights, noise, bounds; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.report.wording import counted, number, percent, times

Content = Mapping[str, Any]
ROUNDING = 1e-8  # relative fitness below which two models are as good: what the best error of labels is certified to
MEASURES = {
    "squared": "mean squared error",
    "hinge": "mean hinge loss",
    "logistic": "mean logistic loss",
    "network": "mean logistic loss",
}
ALGORITHMS = {
    "synchronous": "every owner answers in every round, and the steps shrink with the rounds (synchronous)",
    "averaged": "every owner answers in every round, and the steps shrink with the root of the rounds (averaged)",
    "asynchronous": "owners answer one at a time, as random clocks tick, and each mixes a copy of the model with the "
    "learner's (asynchronous gossip)",
    "sgd1": "each round asks one owner about one record, drawn at random (sgd1)",
    "sgd2": "every owner answers in every round with the sum over its records (sgd2)",
    "weighted": "every owner trains alone with noise, and the models are averaged once, at the end (weighted)",
    "adassp": "every owner answers once, with noisy sums over its records that the learner solves for the model (adassp)",
}
WEIGHTS = {"size": "weights by records", "equal": "equal weights", "precision": "weights by precision"}
NOUNS = {"asynchronous": "tick", "weighted": "local step", "adassp": "answer"}  # what T counts; rounds elsewhere
BASES = {"public": "public rows", "oracle": "pooled records"}


# Loss


def loss_of(result: Content) -> str:
    """The loss that the model is trained for."""
    return str(result["scenario"]["learning"].get("loss", "squared"))


def has_labels(result: Content) -> bool:
    """Whether the target is one of two labels."""
    return loss_of(result) != "squared"


def best_words(result: Content) -> str:
    """What relative fitness is counted from; of networks only the best found is known."""
    return "the best network found" if loss_of(result) == "network" else "the best possible model"


def measure_words(result: Content) -> str:
    """What "error" is, with what is added to it."""
    charged = result["scenario"]["learning"].get("regularisation", 0.0) > 0
    return MEASURES[loss_of(result)] + (" (with the charge for large parameters)" if charged else "")


def error_meaning(result: Content) -> str:
    """What "error" means in the report."""
    text = f"Error means the {measure_words(result)} over all owners' records"
    text += ", not the share of wrong labels." if has_labels(result) else "."
    if loss_of(result) == "network":
        text += " No search is sure to find the best network, so a model may also come out below the best one found."
    return text


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


def target_words(result: Content) -> str:
    """What the learner wants to predict, and what its values are."""
    data = result["data"]
    if not has_labels(result):
        low, high = data["target_range"]
        return (
            f"A learner wants to predict {data['target']} (between {number(low)} and {number(high)}; values beyond "
            "count as these)"
        )
    no, yes = data.get("labels") or (None, result["scenario"]["data"].get("positive"))
    if yes is None:
        return f"A learner wants to predict {data['target']}, which has one of two values,"
    yes = number(yes) if isinstance(yes, (int, float)) else yes
    return f"A learner wants to tell whether {data['target']} is {yes}" + (f" rather than {no}," if no else ",")


# Forecast


def is_exact(result: Content) -> bool:
    """Whether the forecast is an exact law; else the training was rehearsed."""
    return result["forecast"].get("kind", "exact") == "exact"


def made_words(result: Content) -> str:
    """How the forecast was made, and from what."""
    basis = BASES[result["forecast"].get("basis", "public")]
    return f"by an exact law from {basis}" if is_exact(result) else f"by rehearsing the training on {basis}"


# Algorithm, weights, noise


def rounds_words(made: Content) -> str:
    """How long training lasts.

    >>> rounds_words({"algorithm": "asynchronous", "horizon": 300})
    '300 ticks'
    """
    return counted(made["horizon"], NOUNS.get(made["algorithm"], "round"))


def rounds_head(result: Content) -> str:
    """Head of the column that holds T."""
    return NOUNS.get(result["forecast"]["algorithm"], "round").capitalize() + "s"


def stop_words(result: Content) -> str:
    """Why a model trained without noise is not the best one yet."""
    made, learning = result["forecast"], result["scenario"]["learning"]
    why = "the choice that makes the total smallest" if learning.get("horizon", "optimal") == "optimal" else ""
    causes = [f"training stops after {rounds_words(made)}, {why or 'as the scenario says'}"]
    if made["algorithm"] == "adassp":
        causes = ["the solution is held back as far as noise may mislead it"]
    if made["algorithm"] == "weighted":
        causes += ["owners do not hear of each other while they train"]
    if learning.get("weights", "size") != "size" and len(result["owners"]) > 1:
        causes += ["owners do not count by their records alone"]
    cut = "long gradients are cut" if loss_of(result) == "network" else "far-off values are cut"
    return ", ".join(causes) + f", and {cut}"


def weights_words(result: Content) -> str:
    """How much each owner's answer counts; empty where there is nothing to weigh."""
    kind, algorithm = result["scenario"]["learning"].get("weights", "size"), result["forecast"]["algorithm"]
    if algorithm in ("sgd1", "adassp"):
        return "all records count alike"
    what = "model" if algorithm == "weighted" else "answer"
    by = {
        "size": "counts by its number of records",
        "equal": "counts the same",
        "precision": "counts by its precision: the noisier it is and the fewer its records, the less",
    }[kind]
    return f"each owner's {what} {by}"


def mechanism_of(result: Content) -> str:
    """The noise that was used, as its promises name it; empty where nobody answers and it was left open."""
    learning = result["scenario"]["learning"]
    named = result["protocol"].get("mechanism") or next((claim["mechanism"] for claim in result["claims"]), None)
    if named:
        return str(named)
    if learning["mechanism"] == "best":
        return ""
    accounting = learning.get("accounting", "basic")
    return learning["mechanism"] + ("" if accounting == "basic" else f" ({accounting})")


def noise_words(result: Content) -> str:
    """Which noise protects the answers, how its cost is counted, and whether it was chosen.

    >>> noise_words({"scenario": {"learning": {"mechanism": "laplace"}}, "protocol": {}, "claims": []})
    'Laplace noise, whose budget is split evenly over all answers'
    """
    learning, named = result["scenario"]["learning"], mechanism_of(result)
    if not named:
        return "whichever noise promises the best model"
    text = ("Gaussian" if named.startswith("gaussian") else "Laplace") + " noise"
    if "prints" in named or "printed" in named:  # by a claim, by a scenario
        text += ", as much as the paper's formula says"
    elif "pld" in named:
        text += ", whose cost over all answers is counted exactly"
    elif "zcdp" in named:
        text += ", whose cost over all answers is bounded by zCDP"
    else:
        text += ", whose budget is split evenly over all answers"
    if learning.get("delta"):
        text += f" at δ = {number(learning['delta'])}"
    return text + (", chosen because it promises the best model" if learning["mechanism"] == "best" else "")


def training_words(result: Content) -> str:
    """How the model is trained."""
    heard = [ALGORITHMS[result["forecast"]["algorithm"]]]
    if len(result["owners"]) > 1:
        heard.append(weights_words(result))
    return f"How it is trained: {'; '.join([*heard, noise_words(result)])}."


def plan_line(result: Content) -> str:
    """The plan in a few words, for a terminal."""
    made = result["forecast"]
    if made["step_size"] == 0:
        return "nothing is asked: no answer is worth its noise"
    learning, steps = result["scenario"]["learning"], f"T = {made['horizon']:,}"
    nouns = f" {NOUNS[made['algorithm']]}s" if made["horizon"] > 1 and made["algorithm"] in NOUNS else ""
    chosen = " (the best of those compared)" if learning["mechanism"] == "best" else ""
    words = [made["algorithm"], steps + nouns]
    if made["algorithm"] not in ("sgd1", "adassp"):
        words.append(WEIGHTS[learning.get("weights", "size")])
    noise = mechanism_of(result)
    noise = "gaussian noise as printed" if "prints" in noise else f"{noise or 'no'} noise"
    return ", ".join(words) + f", {noise}{chosen}"


# Protocol


def protocol_words(result: Content) -> str:
    """The announced bounds and the plan of training."""
    rules, made = result["protocol"], result["forecast"]
    start = "the learner's own model" if rules["start"] == "public" else "zero"
    scaled = "inputs scaled by the learner's own records" if rules["precondition"] else "inputs as they are"
    if made["step_size"] == 0:
        return f"{bounds_words(result)} Training: none, the learner keeps its own model."
    plan = [made["algorithm"], rounds_words(made)]
    if made["algorithm"] != "adassp":
        plan += [f"step size {number(made['step_size'])}", f"{made['returned']} point returned"]
    return f"{bounds_words(result)} Training: {', '.join([*plan, f'start at {start}', scaled])}."


def bounds_words(result: Content) -> str:
    """The bounds announced beforehand, in the norm that the noise needs."""
    rules, loss = result["protocol"], loss_of(result)
    norm = 2 if mechanism_of(result).startswith("gaussian") else 1
    length = {1: "sum of absolute {}", 2: "root of summed squares of {}"}[norm]
    if loss == "network":
        parts = [f"a record's gradient counts up to {number(rules['radius'])} ({length.format('entries')})"]
    else:
        parts = [f"a record counts up to {number(rules['radius'])} ({length.format('inputs')})"]
    if loss == "squared":
        parts[0] += f", its target up to {number(rules['target_bound'])} from the starting model"
    if result["forecast"]["algorithm"] != "adassp":  # neither steps nor gradients there
        moved = "each parameter moves" if norm == 1 else "the parameters together move"
        parts += [
            f"{moved} by at most {number(rules['theta_max'])}",
            f"two records' gradients lie at most {number(2 * rules['gradient_bound'])} apart",
        ]
    return f"Public bounds: {'; '.join(parts)}."
