"""Money in words: whether buying pays, and what rules do to whom; from the content of result.json alone."""

from __future__ import annotations

from scenarios.report.sentences_gain import in_advance
from scenarios.report.sentences_learning import best_words, error_words
from scenarios.report.sentences_market import Content, asks_nothing, nothing_trained, sellers
from scenarios.report.wording import listed, number


def does_buying_pay(result: Content) -> str:
    """Whether buying beats what the learner has for nothing, said plainly where it does not."""
    return " ".join(filter(None, (by_the_forecast(result), in_advance(result), as_measured(result))))


def by_the_forecast(result: Content) -> str:
    """Whether buying pays if the forecast is right."""
    learner = result["learner"]
    made, alone = result["forecast"]["relative_fitness"], result["outside_option"]["relative_fitness"]
    worth = f"the better model is worth {number(learner['gross_value'])} to the learner"
    paid = number(learner["payments"])
    if learner["buying_pays"]:
        return f"Buying pays: {worth}, {number(learner['surplus'])} more than it pays."
    if not sellers(result):
        return "Nothing is bought, so nothing is gained."
    if asks_nothing(result) or made == alone:
        return (
            "Buying does not pay: at these budgets noise would drown what the owners could add, so the model is no better "
            f"than the learner's own, and {paid} are paid for nothing."
        )
    if made > alone:
        worse = "the model is worse than the one the learner has for nothing"
        return f"Buying does not pay: {worse}, and {paid} are paid for it."
    return f"Buying does not pay: {worth}, less than the {paid} it pays."


def as_measured(result: Content) -> str:
    """Whether buying paid in truth, where training contradicts the forecast or what it says about buying."""
    checked, learner, alone = result["validation"], result["learner"], result["outside_option"].get("measured")
    if checked is None or alone is None or nothing_trained(result):
        return ""
    mean = checked["relative_fitness"]["mean"]
    worth = learner["value"] * (alone - mean)
    gain = worth - learner["payments"]
    if checked["agrees"] and (gain > 0) == learner["buying_pays"]:
        return ""
    compared = (
        "That is by the forecast. Measured on all records, the trained model makes "
        f"{error_words(mean, best=best_words(result))}, the learner's own {error_words(alone, short=True)}: "
    )
    if worth <= 0:
        return compared + "what is bought is no better."
    side = "more" if gain > 0 else "less"
    return f"{compared}buying is worth {number(worth)}, {number(abs(gain))} {side} than it costs."


def over_budget(result: Content) -> str:
    """A warning where the learner owes more than it may spend; empty elsewhere."""
    learner = result["learner"]
    if learner.get("within_budget") is not False:
        return ""
    return f"The learner has {number(learner['budget'])} to spend and owes {number(learner['payments'])}."


def effect_of_rules(result: Content) -> str:
    """The rules of the market, and what they do to whom; empty where there are none."""
    rules = result.get("regulation")
    if not rules:
        return ""
    per = {"epsilon": "unit of ε", "record_epsilon": "record and unit of ε", "bit": "record and bit leaked"}
    said = [f"nobody may share more than ε = {number(rules['epsilon_cap'])}"] if rules["epsilon_cap"] else []
    if rules["leakage_tax"]:
        said.append(f"owners pay a tax of {number(rules['leakage_tax'])} per record and bit leaked")
    if rules["price_floor"]:
        said.append(f"no owner is paid less than {number(rules['price_floor'])} per {per[rules['price_floor_per']]}")
    before, after = rules["before"], rules["after"]
    groups = [
        f"{number(after[key])} instead of {number(before[key])} for {name}"
        for key, name in (("owners", "the owners together"), ("learner", "the learner"), ("treasury", "the treasury"))
        if after[key] or before[key]
    ]
    text = (
        f"Rules: {listed(said)}. Against the same market without them, there is {listed(groups)}; all in all, "
        f"{number(after['total'])} instead of {number(before['total'])}."
    )
    if after["gini"] is None or before["gini"] is None:
        return text
    return f"{text} Inequality among owners (Gini): {number(after['gini'])} instead of {number(before['gini'])}."
