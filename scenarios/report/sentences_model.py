"""The model in words: what is forecast, and whether training confirmed it; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scenarios.report.sentences_learning import best_words, error_words, is_exact
from scenarios.report.sentences_market import NAMED, Content, nothing_trained
from scenarios.report.wording import between, counted, listed, number, percent
from scenarios.summary.verdict import ROUNDING, SIGNIFICANT, STANDARD_ERRORS

WIDE = 50.0  # times its lower end: an interval that tells little
REACHES_THE_EDGE = "the noise reaches the edge of the region that training is kept in. "
MAY_BIND = {
    "exact": REACHES_THE_EDGE + "The forecast's law does not count what happens there, so it may not hold.",
    "calibrated": REACHES_THE_EDGE + "The forecast counts what happens there: it was rehearsed.",
}


def points(value: float) -> str:
    """The size of a difference of relative fitness.

    >>> points(-0.336)
    '33.6 percentage points'
    """
    return f"{number(100 * abs(value))} percentage points"


def error_made(result: Content) -> float:
    """Relative fitness of the model that comes out: measured once there is a training, else forecast."""
    checked = result["validation"]
    return result["forecast"]["relative_fitness"] if checked is None else checked["relative_fitness"]["mean"]


def error_alone(result: Content) -> float:
    """Relative fitness of the learner's own model, known in the same way."""
    alone = result["outside_option"]
    measured = None if result["validation"] is None else alone.get("measured")
    return alone["relative_fitness"] if measured is None else measured


def outcome(result: Content) -> str:
    """How the model turned out: gain where it is better than the learner's own, loss where it is worse, even where it is not.

    Uncertain where training contradicts the forecast, or where nothing was trained and the forecast's interval holds both.
    """
    made, alone, checked = error_made(result), error_alone(result), result["validation"]
    low, high = result["forecast"].get("interval") or (made, made)
    if nothing_trained(result) or abs(made - alone) <= ROUNDING:
        return "even"
    if made < alone and (high > alone if checked is None else not checked["agrees"]):
        return "uncertain"
    return "gain" if made < alone else "loss"


def interval(part: Content) -> str:
    """The interval of a forecast, "1.4 to 3.1 %"; the point where there is none."""
    low, high = part.get("interval") or (None, None)
    return between(low, high, percent) if low is not None else percent(part["relative_fitness"])


def gain_over_own(result: Content) -> str:
    """How much better the bought model is than the learner's own."""
    made, alone = result["forecast"]["relative_fitness"], result["outside_option"]["relative_fitness"]
    if made >= alone:
        return "buying makes the model no better"
    if made < 0:
        return f"buying makes the model {points(alone - made)} better"
    return f"buying removes {percent(1 - made / alone, 2)} of that excess"


UNMET = {  # assumptions of a theorem, and what stands in their place
    "ball": "models are held in a ball, and it supposes none",
    "unbounded": "models are held in no ball, and it supposes one",
    "step": "its steps are others",
    "horizon": "steps add up to too little to leave the start",
    "common_path": "it lets owners step together, and they train apart",
    "epsilon": "it supposes budgets below 1",
    "delta": "it supposes a delta below one over the cube of the records",
    "rounds": "it supposes as many rounds as the square of the records",
    "convexity": "the cost is not known to be strongly convex",
    "smoothness": "the loss has kinks",
    "point": "it is about the mean of all rounds",
}


def published_bound(made: Content) -> str:
    """What the papers' own theorem says at these budgets, beside the forecast; empty where there is nothing to say."""
    bound = made.get("published_bound")
    if not bound:
        return ""
    best, text = bound.get("point") == "best", f"{bound['theorem']} as published"
    if bound.get("excess") is not None:
        text += (
            f" bounds the excess cost{' of the best round' if best else ''} by {number(bound['excess'])}; the forecast"
        )
        text += f" is {number(made['excess'])}."
    elif bound.get("constant") is not None:
        text += f" leaves its constant open; the forecast meets it where the constant is {number(bound['constant'])}."
    else:
        text += " says nothing here."
    if bound.get("distance") is not None:
        text += f" It bounds the squared distance of the parameters from the best ones by {number(bound['distance'])}."
    if bound.get("corrected") is not None:
        text += f" Its proof with every factor, and for these steps, bounds the excess by {number(bound['corrected'])}."
    unmet = [UNMET[code] for code in bound.get("unmet", ())]
    return f"{text} It does not quite apply: {'; '.join(unmet)}." if unmet else text


# Did training confirm the forecast


def tells_little(made: Content) -> bool:
    """Whether a forecast's interval is so wide that hardly anything could contradict it."""
    low, high = made["interval"] or (None, None)
    return low is not None and high is not None and bool(high > WIDE * max(low, 0.0))


def training_outcome(result: Content) -> str:
    """Where the trained mean lies by the forecast's interval, and how much single runs differ."""
    checked, where = result["validation"], result["validation"]["explanation"][0]
    mean, spread = percent(where["mean"]), checked["relative_fitness"]
    text = f"{counted(checked['runs'], 'training')} with fresh noise came out at {mean} on average, "
    runs = f" Nine runs in ten lie between {percent(spread['q05'])} and {percent(spread['q95'])}."
    if nothing_trained(result):
        text, runs = f"nothing was trained, and the model kept, measured on all records, is at {mean}, ", ""
    return f"{text}{WHERE[where['cause']](where)}{runs}"


def _outside(fact: Content) -> str:
    side = "above" if fact["amount"] > 0 else "below"
    off = number(100 * abs(fact["mean"] - fact["point"]))
    return (
        f"{points(fact['amount'])} {side} the forecast's interval of {interval(fact)} "
        f"(point forecast {percent(fact['point'])}, {off} points off)."
    )


def reasons(result: Content) -> list[str]:
    """What a difference between training and forecast consists of, a sentence for each cause."""
    law = "law" if is_exact(result) else "fit"
    return [REASONS[fact["cause"]](fact, law) for fact in result["validation"]["explanation"][1:]]


def unlike(result: Content) -> list[str]:
    """What the owners' first answers tell against one kind of owners or, where these are alike, of public rows."""
    found = result["validation"].get("homogeneity") or {}
    return [say(number(found[among]["p_value"], 2)) for among, say in UNLIKE.items() if _differs(found, among)][:1]


def alike(result: Content) -> str:
    """That the same tests found nothing; empty where they did, or could not be made."""
    found = result["validation"].get("homogeneity") or {}
    if not found or unlike(result):
        return ""
    chance = listed([number(test["p_value"], 2) for test in found.values()])
    return f"First answers and public rows differ no more than noise and chance make them (p = {chance})."


def seen(result: Content) -> list[str]:
    """What the learner can tell of its models itself after one training: from the answers, and on rows kept aside."""
    found, said = result["validation"].get("learner_sees") or {}, []
    if "start" in found:
        said.append(
            "From the first answers alone, with no look at any record, the learner sees the model that training began with "
            f"at {percent(found['start']['relative_fitness'])}, give or take {_error(found['start'])} points."
        )
    if "aside" in found:
        rows, gain = counted(found["aside"]["records"], "public row"), found["aside"]["relative_fitness"]
        said.append(
            f"On {rows} that it kept aside, the trained model is {points(gain)} {'better' if gain >= 0 else 'worse'} than "
            f"its own, give or take {_error(found['aside'])}."
        )
    return said


def _error(part: Content) -> str:
    return number(100 * part["std_error"], 2)


def _differs(found: Content, among: str) -> bool:
    return among in found and found[among]["p_value"] <= SIGNIFICANT


def _part(fact: Content) -> str:
    return f"{points(fact['amount'])} of it are {'more' if fact['amount'] > 0 else 'less'} in"


def _unexplained(fact: Content, law: str) -> str:
    moved = f" (the projection moved {percent(fact['projected'])} of the coordinates)" if fact["projected"] > 0 else ""
    return f"{points(fact['amount'])} are not explained by the {law} on the pooled records either{moved}."


_APART = "differ by more than noise and chance"
_TOLD = ", as the simulator knows; the learner sees only what comes of it"
MADE_UP = {"junk": "targets that are made up", "copies": "copies of a few records"}


def _dishonest(fact: Content) -> str:
    names = fact["owners"]
    return f"{listed(names) if len(names) <= NAMED else counted(len(names), 'owner')} sent"


UNLIKE: dict[str, Callable[[str], str]] = {
    "owners": lambda p: f"The owners' first answers {_APART} (p = {p}): not of one kind, or not as sold.",
    "public": lambda p: (
        f"The owners' first answers and the public rows {_APART} (p = {p}): not of one kind, or not as sold."
    ),
}


def _chance(fact: Content) -> str:
    return f"with a chance of {percent(fact['p_value'])}"


WHERE: dict[str, Callable[[Content], str]] = {
    "inside_interval": lambda fact: f"inside the forecast's interval of {interval(fact)}.",
    "near_interval": lambda fact: (
        f"within {STANDARD_ERRORS} standard errors of the forecast's interval of {interval(fact)}."
    ),
    "outside_interval": _outside,
}
REASONS: dict[str, Callable[[Content, str], str]] = {
    "bias_differs": lambda fact, law: (
        f"{_part(fact)} the error left after training (the public rows suggest a start and an optimum that the owners' "
        "records do not share)."
    ),
    "noise_differs": lambda fact, law: (
        f"{_part(fact)} the noise that survives (the public rows suggest other curvatures or another best error)."
    ),
    "best_error_differs": lambda fact, law: (
        f"The best possible error is {number(fact['pooled'])} on the owners' records, {number(fact['forecast'])} by the "
        "public rows."
    ),
    "owners_differ": lambda fact, law: (
        f"The owners' records differ in kind: dealt out at random, they would differ as much {_chance(fact)}."
    ),
    "public_sample_differs": lambda fact, law: (
        "The public rows differ in kind from the owners' records: drawn at random, they would differ as much "
        f"{_chance(fact)}."
    ),
    "public_sample_by_chance": lambda fact, law: (
        f"That is chance as far as a test can tell: public rows drawn at random differ as much {_chance(fact)}."
    ),
    "unexplained": _unexplained,
    "more_noise_than_sold": lambda fact, law: (
        f"{_dishonest(fact)} {number(fact['factor'])} times the noise sold{_TOLD}."
    ),
    "gradients_changed": lambda fact, law: f"{_dishonest(fact)} gradients times {number(fact['factor'])}{_TOLD}.",
    "records_made_up": lambda fact, law: f"{_dishonest(fact)} answers from {MADE_UP[fact['factor']]}{_TOLD}.",
}


def what_comes_out(result: Content) -> str:
    """The model's error beside that of the learner's own; measured once there is a training, else forecast."""
    best, measured = best_words(result), result["validation"] is not None
    error, makes = error_words(error_made(result), best=best), "makes" if measured else "is forecast to make"
    if nothing_trained(result):
        return f"The learner keeps the model it has, which {makes} {error}."
    alone = error_words(error_alone(result), short=True)
    average = " on average" if measured else ""
    return f"The model that comes out {makes} {error}{average}; the learner's own, without buying, {alone}."


def on_fresh_records(result: Content) -> str:
    """The trained model's error on rows that nobody trained on; empty where none were held out."""
    held = (result["validation"] or {}).get("holdout")
    if not held:
        return ""
    fresh = fresh_errors(held)
    return (
        f"On {counted(held['records'], 'held-out record')} its {fresh['error']} is {fresh['trained']}; the learner's own, "
        f"{fresh['outside']}; guessing {fresh['guess']}, {fresh['guessing']}."
    )


def fresh_errors(fresh: Content) -> dict[str, Any]:
    """Errors on records that nobody trained on, as they are shown: of labels in percent, of numbers squared.

    Returns
    -------
    dict
        ``error``, what is counted; ``guess``, what guessing would be; ``trained``, ``outside``, ``nonprivate`` and
        ``guessing``, the errors; ``idle``, whether the trained model is no better than guessing; ``better``, for how many
        owners it beats their own, None where that was not tried.
    """
    labels = "error_trained" in fresh
    key, show = ("error_", percent) if labels else ("mse_", number)
    guessing, trained = fresh["error_guessing" if labels else "variance"], fresh[key + "trained"]
    alone = fresh.get("isolated")
    return {
        "error": "share of wrong labels" if labels else "mean squared error",
        "guess": "the more frequent label" if labels else "the mean",
        **{who: show(fresh[key + who]) for who in ("trained", "outside", "nonprivate")},
        "guessing": show(guessing),
        "idle": trained >= guessing,
        "better": sum(trained < own for own in alone) if alone else None,
    }
