"""What a result means, continued: the model, the check by training, the promises, the small print."""

from __future__ import annotations

import math

from scenarios.report.sentences import Content, asks_nothing, epsilon_of, interval_words, nothing_trained, sellers
from scenarios.report.sentences_learning import (
    best_words,
    error_meaning,
    error_words,
    is_exact,
    loss_of,
    measure_words,
    stop_words,
    training_words,
)
from scenarios.report.wording import between, counted, listed, number, percent
from scenarios.verdict import STANDARD_ERRORS

# What model comes out


def model_words(result: Content) -> list[str]:
    """The model in words, where its error comes from, and on what the forecast rests."""
    made, alone, best = result["forecast"], result["outside_option"], best_words(result)
    own = error_words(alone["relative_fitness"], best=best)
    if not sellers(result):
        return [f"No model is bought. The learner keeps its own, forecast to make {own}. {error_meaning(result)}"]
    if asks_nothing(result):
        return [
            "The learner's own: at these budgets any answer is so noisy that asking would make the model worse. "
            f"It is forecast to make {own}. {error_meaning(result)}",
            basis_words(result),
        ]
    trained = "by training on all records without noise" if loss_of(result) == "network" else "of its kind"
    trained += "" if loss_of(result) == "network" else ", trained on all records without noise"
    return [
        f"The model is forecast to make {error_words(made['relative_fitness'], best=best)} {trained} "
        f"({interval_words(made)}). {against_alone(result)} {error_meaning(result)}",
        training_words(result),
        error_sources(result),
        basis_words(result),
    ]


def against_alone(result: Content) -> str:
    """The bought model against the learner's own."""
    made, alone = result["forecast"]["relative_fitness"], result["outside_option"]["relative_fitness"]
    own = "The learner's own model" if result["data"]["public_rows"] else "Without buying, the learner's model"
    makes = error_words(alone, best=best_words(result))
    text = f"{own} is forecast to make {makes} ({interval_words(result['outside_option'])})"
    if made >= alone:
        return f"{text}: buying makes the model no better."
    if made < 0:
        return f"{text}: buying makes the model {number(100 * (alone - made))} percentage points better."
    return f"{text}: buying removes {percent(1 - made / alone, 2)} of that excess."


def error_sources(result: Content) -> str:
    """Where the forecast error comes from."""
    made = result["forecast"]
    if made["bias"] < 0:
        return (
            f"The noise that protects the records adds {number(100 * made['noise'])} percentage points to the model's "
            f"error; without it the model would make {error_words(made['bias'], best=best_words(result))}."
        )
    return (
        f"Of the model's {percent(made['relative_fitness'])}, {percent(made['noise'])} come from the noise that "
        f"protects the records, and {percent(made['bias'])} from what would remain without noise: {stop_words(result)}."
    )


def basis_words(result: Content) -> str:
    """How the forecast was made, and on what knowledge it rests."""
    public, exact = result["forecast"]["basis"] == "public", is_exact(result)
    own = counted(result["data"]["public_rows"], "record")
    if public and exact:
        return (
            f"The forecast follows an exact law of such training. It uses the learner's own {own} and public facts only; "
            "its interval says how far off such a sample may lead."
        )
    if public:
        return (
            f"No exact law is known for such training, so the learner rehearses it on its own {own}: it trains there under "
            "noise of many levels, as strong as the owners' would be, and fits a curve. The forecast uses these records "
            "and public facts only; its interval says how far off such a sample may lead."
        )
    how = (
        "The forecast follows an exact law of such training, and uses the owners' pooled records"
        if exact
        else "No exact law is known for such training, so it is rehearsed, under noise of many levels, on the owners' "
        "pooled records"
    )
    return (
        f"{how}, which no learner could see before training: the learner is assumed to know it. With public records of "
        "its own it would not need to."
    )


# Can the forecast be trusted


def trust_words(result: Content) -> list[str]:
    """Whether training agrees with the forecast, by how much not and why."""
    checked = result["validation"]
    if checked is None:
        return ["Unknown: no model was trained. Run without --no-train to check the forecast."]
    return [f"{'Yes' if checked['agrees'] else 'No'}: {training_outcome(result)}", *reasons(result)]


def training_outcome(result: Content) -> str:
    """Where the trained mean lies by the forecast's interval, and how much single runs differ."""
    checked, where = result["validation"], result["validation"]["explanation"][0]
    (low, high), mean = where["interval"], percent(where["mean"])
    interval = between(low, high, percent)
    text = f"{counted(checked['runs'], 'training')} with fresh noise came out at {mean} on average, "
    if nothing_trained(result):
        text = f"nothing was trained, and the model kept, measured on all records, is at {mean}, "
    if where["cause"] == "outside_interval":
        side = "above" if where["amount"] > 0 else "below"
        off = points(where["mean"] - where["point"]).replace("percentage ", "")
        text += f"{points(where['amount'])} {side} the forecast's interval of {interval} "
        text += f"(point forecast {percent(where['point'])}, {off} off)."
    else:
        place = {"inside_interval": "inside", "near_interval": f"within {STANDARD_ERRORS} standard errors of"}
        text += f"{place[where['cause']]} the forecast's interval of {interval}."
    if nothing_trained(result):
        return text
    spread = checked["relative_fitness"]
    return f"{text} Nine runs in ten lie between {percent(spread['q05'])} and {percent(spread['q95'])}."


def reasons(result: Content) -> list[str]:
    """What a difference between training and forecast consists of, a sentence for each cause."""
    law = "law" if is_exact(result) else "fit"
    return [REASONS[fact["cause"]](fact, law) for fact in result["validation"]["explanation"][1:]]


def points(value: float) -> str:
    """The size of a difference of relative fitness.

    >>> points(-0.336)
    '33.6 percentage points'
    """
    return f"{number(100 * abs(value))} percentage points"


def _bias_differs(fact: Content, law: str) -> str:
    return (
        f"{points(fact['amount'])} of it are {'more' if fact['amount'] > 0 else 'less'} in the error left after training "
        "(the public rows suggest a start and an optimum that the owners' records do not share)."
    )


def _noise_differs(fact: Content, law: str) -> str:
    return (
        f"{points(fact['amount'])} of it are {'more' if fact['amount'] > 0 else 'less'} in the noise that survives "
        "(the public rows suggest other curvatures or another best error)."
    )


def _best_error_differs(fact: Content, law: str) -> str:
    return (
        f"The best possible error is {number(fact['pooled'])} on the owners' records, {number(fact['forecast'])} by the "
        "public rows: they are not alike."
    )


def _unexplained(fact: Content, law: str) -> str:
    moved = f" (the projection moved {percent(fact['projected'])} of the coordinates)" if fact["projected"] > 0 else ""
    return f"{points(fact['amount'])} are not explained by the {law} on the pooled records either{moved}."


REASONS = {
    "bias_differs": _bias_differs,
    "noise_differs": _noise_differs,
    "best_error_differs": _best_error_differs,
    "unexplained": _unexplained,
}


def oracle_words(result: Content) -> str:
    """The trained mean against the forecast with the pooled records, and what that tests."""
    checked, oracle = result["validation"], result["forecast"].get("oracle")
    if checked is None or not oracle or nothing_trained(result):
        return ""
    z, exact, says = checked["z_score"], is_exact(result), percent(oracle["relative_fitness"])
    if exact:
        law = f"The same law, given the pooled records (the simulator's privilege, no party's), says {says}"
    else:
        law = (
            "Trainings on the pooled records at other levels of noise (the simulator's privilege, no party's) lead one to "
            f"expect {says}"
        )
        if oracle.get("std_error"):
            law += f", give or take {number(100 * oracle['std_error'], 2)} points"
    tests = "This tests the program, not what the learner could know beforehand."
    if z is None:
        return f"{law}; the runs do not vary, so there are no standard errors to count in. {tests}"
    fails = "the law does not describe this training" if exact else "the curve fitted to them does not describe it"
    verdict = "as it should be" if abs(z) <= STANDARD_ERRORS else f"more than chance allows: {fails}"
    errors = "standard errors" if exact else "standard errors (of both)"
    return f"{law}; the trained mean is {number(abs(z), 2)} {errors} away, {verdict}. {tests}"


def projection_words(result: Content) -> str:
    """A warning where the noise reaches the edge of the ball that training is kept in; empty where it does not."""
    checked = result["validation"] or {}
    moved = checked.get("projected") or 0.0
    happened = f" In training, {percent(moved)} of the coordinates were moved back." if moved else ""
    if result["forecast"].get("projection_may_bind"):
        return (
            "Caution: the noise reaches the edge of the region that training is kept in. The forecast's "
            "law does not "
            "count what happens there, so it may not hold." + happened
        )
    return ""


def holdout_words(result: Content) -> str:
    """How the models do on records that nobody trained on."""
    fresh = (result["validation"] or {}).get("holdout")
    if not fresh:
        return ""
    if "error_trained" in fresh:
        what, trivial = "share of wrong labels", "always guessing the more frequent label"
        key, show, last = "error_", percent, fresh["error_guessing"]
    else:
        what, trivial = "mean squared error", "always guessing the mean"
        key, show, last = "mse_", number, fresh["variance"]
    best = "the best found" if loss_of(result) == "network" else "the best possible"
    trained = "the model kept" if nothing_trained(result) else "the trained model"
    idle = " So counted, the model is no better than guessing." if fresh[key + "trained"] >= last else ""
    return (
        f"On {counted(fresh['records'], 'fresh record')} that nobody trained on, the {what} is "
        f"{show(fresh[key + 'trained'])} for {trained}, {show(fresh[key + 'outside'])} for the learner's own, "
        f"{show(fresh[key + 'nonprivate'])} for {best}, and {show(last)} for {trivial}.{idle}{alone_words(fresh, key)}"
    )


def alone_words(fresh: Content, key: str) -> str:
    """How many owners do better with the trained model than alone, on the same records; empty where that was not tried."""
    alone = fresh.get("isolated")
    if not alone:
        return ""
    better = sum(fresh[key + "trained"] < own for own in alone)
    return (
        f" There it beats the model that an owner would train alone on its own records for {better} of "
        f"{counted(len(alone), 'owner')}."
    )


def access_words(result: Content) -> str:
    """What in the report was measured with non-private access."""
    measured, best = result["outside_option"].get("measured"), best_words(result)
    also = (
        f" So measured, the learner's own model makes {error_words(measured, best=best)}."
        if measured is not None
        else ""
    )
    checked = result["validation"]
    if checked is None:
        return "Errors measured on all records use non-private access: no party to the market could know them." + also
    runs = "" if nothing_trained(result) else " and of every training run"
    return (
        f"Measured with non-private access, which no party to the market has: the {measure_words(result)} of {best} "
        f"({number(checked['nonprivate_fitness'])}){runs}." + also
    )


# What exactly is promised to whom


def promise_words(result: Content) -> list[str]:
    """Who is promised what; nothing without noise is called private."""
    open_ = [owner["name"] for owner in result["owners"] if epsilon_of(owner) == math.inf]
    closed = [owner["name"] for owner in result["owners"] if epsilon_of(owner) == 0]
    text = []
    if result["claims"]:
        but = ", but for probability δ." if any(claim["delta"] for claim in result["claims"]) else "."
        text.append(
            "Each promise below says: replace one record by any other, and no set of answers becomes more "
            "likely by more than the factor e^ε (2.7 for ε = 1, 20 for ε = 3)" + but
        )
        if len({claim["party"] for claim in result["claims"]}) < len(result["claims"]):
            text.append("An owner with several promises has one against each kind of onlooker.")
        text.append(printed_words(result))
    elif asks_nothing(result):
        text.append("Nothing is asked of the owners, so nothing leaks and no promise is needed.")
    else:
        text.append("No promise is made to anyone.")
    if open_:
        text.append(
            f"Sharing without protection (ε = ∞, no noise): {listed(open_, 12)}. Nothing is "
            "promised for "
            f"{'its' if len(open_) == 1 else 'their'} records."
        )
    if closed:
        text.append(f"Sharing nothing (ε = 0): {listed(closed, 12)}.")
    return text


def promised(result: Content) -> dict[str, float]:
    """The weakest promise to each owner that has any: its epsilon against whoever sees most."""
    worst: dict[str, float] = {}
    for claim in result["claims"]:
        worst[claim["party"]] = max(epsilon_of(claim), worst.get(claim["party"], 0.0))
    return worst


def promised_and_sold(result: Content) -> list[tuple[float, float]]:
    """Epsilon of the weakest promise and epsilon sold, for each owner of whom the two differ."""
    sold = {owner["name"]: epsilon_of(owner) for owner in result["owners"]}
    pairs = [(given, sold[name]) for name, given in promised(result).items() if name in sold]
    return [(given, asked) for given, asked in pairs if given != asked and abs(given - asked) > 1e-3 * asked]


def weaker_words(result: Content) -> str:
    """A warning where the noise, a paper's formula, protects less than the budget sold; empty elsewhere."""
    weaker = [(given, asked) for given, asked in promised_and_sold(result) if given > asked]
    if not weaker:
        return ""
    given, asked = max(weaker, key=lambda pair: pair[0] / pair[1])
    return (
        "The noise is what a paper's formula says for the budgets sold, and protects less: against who sees most, "
        f"ε is {number(given)} where {number(asked)} was sold."
    )


def printed_words(result: Content) -> str:
    """A word where the noise is a paper's formula, and gives another epsilon than the one sold; empty elsewhere."""
    if not promised_and_sold(result):
        return ""
    stronger = (
        "The noise is what a paper's formula says for the budgets sold, and protects more: the table says how much."
    )
    return weaker_words(result) or stronger


def warnings(result: Content) -> list[str]:
    """What to know before believing the promises."""
    said = {
        "large_delta": "delta = {delta:g} is not below one over the {records:,} records of the smallest owner: a mechanism "
        "that gives away a whole record now and then would keep this promise."
    }
    return [said[fact["cause"]].format(**fact) for fact in result["warnings"]]


def simulated(result: Content) -> bool:
    """Whether any noise in this result is simulated, so that nothing of it may be handed out."""
    return any(claim["simulation"] for claim in result["claims"])


def notice(result: Content) -> str:
    """The simulation notice; empty where nothing was simulated."""
    if not simulated(result):
        return ""
    return (
        "Simulation, not for release: the noise comes from a seeded generator that can be repeated, so "
        "the promises "
        "describe what a real run would give. Do not hand out models or answers from it."
    )


def left_out_words(result: Content) -> list[str]:
    """What was dropped, left over or set aside."""
    data = result["data"]
    text = [f"{counted(data['rows'], 'row')} read from {data['source'].replace(chr(92), '/').rsplit('/', 1)[-1]}."]
    for key, what in (
        ("dropped_rows", "dropped for missing values"),
        ("holdout_rows", "held out to test on"),
        ("left_over_rows", "left over, given to nobody"),
    ):
        if data.get(key):
            text.append(f"{counted(data[key], 'row')} {what}.")
    if data["constant_columns"]:
        text.append(f"Dropped because they do not vary in the public rows: {listed(data['constant_columns'], 20)}.")
    if data["owners_left_out"]:
        text.append(f"Left out for too few records: {listed([str(o) for o in data['owners_left_out']], 20)}.")
    return text


def bound_words(result: Content) -> str:
    """What the papers' own theorem says of these budgets; empty where there is nothing to say."""
    made = result["forecast"]
    bound = made.get("published_bound")
    if not bound:
        return ""
    if "excess" in bound:
        return (
            f"{bound['theorem']} as published (for long training, one coordinate's noise counted) bounds the excess "
            f"cost by {number(bound['excess'])}; the exact law used here says {number(made['excess'])}."
        )
    return (
        f"{bound['theorem']} as published leaves its constant open; the exact law used here meets it where the "
        f"constant is {number(bound['constant'])}."
    )
