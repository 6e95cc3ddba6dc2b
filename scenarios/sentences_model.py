"""What a result means, continued: the model, the check by training, the promises, the small print."""

from __future__ import annotations

import math

from scenarios.sentences import Content, asks_nothing, epsilon_of, error_words, interval_words, sellers
from scenarios.wording import counted, listed, number, percent

TOLERATED = 3  # standard errors

# What model comes out


def model_words(result: Content) -> list[str]:
    """The model in words, where its error comes from, and on what the forecast rests."""
    made, alone = result["forecast"], result["outside_option"]
    own = error_words(alone["relative_fitness"])
    if not sellers(result):
        return [f"No model is bought. The learner keeps its own, forecast to make {own}."]
    if asks_nothing(result):
        return [
            "The learner's own: at these budgets any answer is so noisy that asking would make the model worse. "
            f"It is forecast to make {own}.",
            basis_words(result),
        ]
    return [
        f"The model is forecast to make {error_words(made['relative_fitness'])} of its kind, trained on all "
        f"records without noise ({interval_words(made)}). {against_alone(result)}",
        error_sources(result),
        basis_words(result),
    ]


def against_alone(result: Content) -> str:
    """The bought model against the learner's own."""
    made, alone = result["forecast"]["relative_fitness"], result["outside_option"]["relative_fitness"]
    own = "The learner's own model" if result["data"]["public_rows"] else "Without buying, the learner's model"
    text = f"{own} is forecast to make {error_words(alone)} ({interval_words(result['outside_option'])})"
    if made >= alone:
        return f"{text}: buying makes the model no better."
    cut = 1 - made / alone
    return f"{text}: buying removes {percent(cut, 2)} of that excess."


def error_sources(result: Content) -> str:
    """Where the forecast error comes from."""
    made, chosen = result["forecast"], result["scenario"]["learning"].get("horizon", "optimal")
    rounds = counted(made["horizon"], "round")
    why = "the choice that makes the total smallest" if chosen == "optimal" else "as the scenario says"
    return (
        f"Of the model's {percent(made['relative_fitness'])}, {percent(made['noise'])} come from the noise that "
        f"protects the records, and {percent(made['bias'])} from what would remain without noise: training stops "
        f"after {rounds}, {why}, and far-off values are cut."
    )


def basis_words(result: Content) -> str:
    """On what knowledge the forecast rests."""
    if result["forecast"]["basis"] == "public":
        return (
            f"The forecast uses the learner's own {counted(result['data']['public_rows'], 'record')} "
            "and public facts "
            "only; its interval says how far off such a sample may lead."
        )
    return (
        "The forecast uses the owners' pooled records, which no learner could see before training: the "
        "learner is "
        "assumed to know it. With public records of its own it would not need to."
    )


# Can the forecast be trusted


def trust_words(result: Content) -> list[str]:
    """Whether training agrees with the forecast, by how much not and why."""
    checked, made = result["validation"], result["forecast"]
    if checked is None:
        return ["Unknown: no model was trained. Run without --no-train to check the forecast."]
    spread = checked["relative_fitness"]
    runs = counted(checked["runs"], "training")
    came = f"{runs} with fresh noise came out at {percent(spread['mean'])} on average"
    low, high = made.get("interval") or (made["relative_fitness"],) * 2
    if checked["agrees"]:
        where = "inside" if low <= spread["mean"] <= high else f"within {TOLERATED} standard errors of"
        text = f"Yes: {came}, {where} the forecast's interval of {interval_words(made)}."
    else:
        off, side = (spread["mean"] - high, "above") if spread["mean"] > high else (low - spread["mean"], "below")
        text = (
            f"No: {came}, {number(100 * off)} percentage points {side} the forecast's interval of "
            f"{interval_words(made)} "
            f"(point forecast {percent(made['relative_fitness'])}, "
            f"{number(100 * abs(spread['mean'] - made['relative_fitness']))} points off)."
        )
    text += f" Nine runs in ten lie between {percent(spread['q05'])} and {percent(spread['q95'])}."
    # The runner's explanation opens with the verdict itself, which has been told.
    reasons = [sentence for sentence in checked["explanation"] if not sentence.startswith("Training gave")]
    return [text, *([] if checked["agrees"] else reasons)]


def oracle_words(result: Content) -> str:
    """The trained mean against the oracle law, and what that tests."""
    checked, oracle = result["validation"], result["forecast"].get("oracle")
    if checked is None or not oracle:
        return ""
    z = checked["z_score"]
    law = (
        "The same law, given the pooled records (the simulator's privilege, no party's), says "
        f"{percent(oracle['relative_fitness'])}"
    )
    tests = "This tests the program, not what the learner could know beforehand."
    if z is None:
        return f"{law}; the runs do not vary, so there are no standard errors to count in. {tests}"
    verdict = (
        "as it should be"
        if abs(z) <= TOLERATED
        else ("more than chance allows: the law does not describe this training")
    )
    return f"{law}; the trained mean is {number(abs(z), 2)} standard errors away, {verdict}. {tests}"


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
    return (
        f"On {counted(fresh['records'], 'fresh record')} that nobody trained on, the mean squared error is "
        f"{number(fresh['mse_trained'])} for the trained model, {number(fresh['mse_outside'])} for the "
        "learner's own, "
        f"{number(fresh['mse_nonprivate'])} for the best possible, and {number(fresh['variance'])} for "
        "always "
        "guessing the mean."
    )


def access_words(result: Content) -> str:
    """What in the report was measured with non-private access."""
    measured = result["outside_option"].get("measured")
    also = f" So measured, the learner's own model makes {error_words(measured)}." if measured is not None else ""
    checked = result["validation"]
    if checked is None:
        return (
            "The oracle law and errors measured on all records use non-private access: "
            "no party to the market could know them." + also
        )
    return (
        "Measured with non-private access, which no party to the market has: the error of the best "
        "possible model "
        f"({number(checked['nonprivate_fitness'])}) and of every training run." + also
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


def protocol_words(result: Content) -> str:
    """The announced bounds and the plan of training."""
    rules, made = result["protocol"], result["forecast"]
    start = "the learner's own model" if rules["start"] == "public" else "zero"
    scaled = "inputs scaled by the learner's own records" if rules["precondition"] else "inputs as they are"
    return (
        f"Public bounds: a record counts up to {number(rules['radius'])} (sum of absolute inputs), its "
        "target up to "
        f"{number(rules['target_bound'])} from the starting model; each parameter moves by at most "
        f"{number(rules['theta_max'])}; two records' gradients lie at most {number(2 * rules['gradient_bound'])} apart. "
        f"Training: {made['algorithm']}, {counted(made['horizon'], 'round')}, step size "
        f"{number(made['step_size'])}, "
        f"{made['returned']} point returned, start at {start}, {scaled}."
    )
