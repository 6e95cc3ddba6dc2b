"""Money in words: whether buying pays, and what rules do to whom; from the content of result.json alone."""

from __future__ import annotations

from scenarios.report.sentences_gain import chance, gain_interval, in_advance
from scenarios.report.sentences_learning import best_words, error_words
from scenarios.report.sentences_market import Content, asks_nothing, nothing_trained, sellers
from scenarios.report.sentences_terms import because, because_measured
from scenarios.report.wording import in_money, listed, number, percent
from scenarios.summary.gain import LIKELIER

RISK = 0.05  # chance of a loss from which a gain is called uncertain


def realised(result: Content) -> Content | None:
    """What training came to in money; None before there is any."""
    return (result["validation"] or {}).get("money")


def pays(result: Content) -> bool:
    """Whether buying pays: as measured once there is a training, by the forecast before."""
    money = realised(result)
    return bool(result["learner"]["buying_pays"] if money is None else money["pays"])


def gain(result: Content) -> float:
    """What the learner has of it in money after paying, on average over trainings; by the forecast before any."""
    money = realised(result)
    return result["learner"]["surplus"] if money is None else money["learner_surplus"]["mean"]


def loses(result: Content) -> bool:
    """Whether the learner is left with less than if it had bought nothing."""
    return gain(result) < 0


def does_buying_pay(result: Content) -> str:
    """Whether buying beats what the learner has for nothing, said plainly where it does not."""
    return " ".join(filter(None, (paying(result), promise_of_money(result))))


def paying(result: Content) -> str:
    """Whether buying pays: as measured once there is a training, by the forecast before."""
    return by_the_forecast(result) if realised(result) is None or nothing_trained(result) else as_measured(result)


def promise_of_money(result: Content) -> str:
    """What was known of that before training; empty where nothing was in doubt."""
    return in_advance(result) if realised(result) is None or nothing_trained(result) else as_promised(result)


def outcome(result: Content) -> str:
    """How it turned out for the learner: gain, loss, uncertain, or even; measured once there is a training.

    A gain is uncertain that one training in twenty, or before training one possible world in twenty, would turn into a loss.
    """
    left, money = gain(result), realised(result)
    told = result["learner"].get("gain") or {}
    risk = 1 - told.get("chance_pays", 1.0) if money is None else money["chance_of_loss"]
    if left > 0 and risk > RISK:
        return "uncertain"
    return "gain" if left > 0 else "loss" if left < 0 else "even"


def why_not_said(result: Content) -> str:
    """Say why buying is not said to pay although the forecast has a gain; empty where it has none, or buying pays."""
    learner = result["learner"]
    if learner["buying_pays"] or learner["surplus"] <= 0:
        return ""
    sure = chance(result)
    if learner["gain"]["chance_pays"] > LIKELIER:
        return f"the chance that it pays is {sure}, but on average its losses would outweigh its gains"
    kinds = ", since the owners' records may be of other kinds than the learner's own rows"
    return f"the chance that it pays is {sure} only{kinds if learner.get('kinds_in_doubt') else ''}"


def by_the_forecast(result: Content) -> str:
    """Whether buying pays if the forecast is right."""
    money = in_money(result)
    learner = result["learner"]
    made, alone = result["forecast"]["relative_fitness"], result["outside_option"]["relative_fitness"]
    worth = f"the better model is worth {money(learner['gross_value'])} to the learner{because(result)}"
    paid = money(learner["payments"])
    if learner["buying_pays"]:
        return f"Buying pays: {worth}, {money(learner['surplus'])} more than it pays."
    if why_not_said(result):
        return (
            f"Buying cannot be said to pay: by the forecast {worth}, {money(learner['surplus'])} more than it pays, but "
            f"{why_not_said(result)}."
        )
    if not sellers(result):
        return "Nothing is bought, so nothing is gained."
    if asks_nothing(result) or made == alone:
        drowned = (
            "Buying does not pay: at these budgets noise would drown what the owners could add, so the model is no better "
            "than the learner's own"
        )
        if asks_nothing(result):
            return f"{drowned}. {unasked(result)}"
        return f"{drowned}, and {paid} are paid for nothing."
    if made > alone:
        worse = "the model is worse than the one the learner has for nothing"
        return f"Buying does not pay: {worse}, and {paid} are paid for it."
    return f"Buying does not pay: {worth}, less than the {paid} it pays."


def unasked(result: Content) -> str:
    """What becomes of the money promised where nothing is asked; empty where something is."""
    money = in_money(result)
    promised, paid = result["learner"].get("promised"), result["learner"]["payments"]
    if not asks_nothing(result) or promised is None:
        return ""
    more = " but what the loss reports spent" if result["forecast"].get("reports") else ""
    if paid:
        return f"Nothing is asked, so nothing leaks{more}; {money(paid)} are paid all the same, as the policy says."
    owed = f", and the {money(promised)} promised for answers are not paid" if promised else ""
    return f"Nothing is asked, so nothing leaks{more}{owed}."


def as_measured(result: Content) -> str:
    """Whether buying paid in truth: measured on all records, over the trained models."""
    money = in_money(result)
    learner, left, trained = result["learner"], gain(result), result["validation"]["relative_fitness"]["mean"]
    worth, alone = left + learner["payments"], result["outside_option"]["measured"]
    if worth > 0:
        side = "more" if left > 0 else "less"
        why = because_measured(result)
        said = f"the better model is worth {money(worth)} to the learner{why}, {money(abs(left))} {side} than it pays"
    elif because_measured(result):
        said = f"{money(learner['payments'])} are paid for nothing better{because_measured(result)}"
    else:
        said = (
            f"the trained model makes {error_words(trained, best=best_words(result))}, the learner's own "
            f"{error_words(alone, short=True)}, so {money(learner['payments'])} are paid for nothing better"
        )
    verdict = "Buying pays" if left > 0 else "Buying is a loss" if left < 0 else "Buying does not pay"
    return f"{verdict}: measured on all records, {said}."


def as_promised(result: Content) -> str:
    """What the learner was promised before training, whether it came true, and how single trainings differ."""
    money = in_money(result)
    checked, promised = result["validation"], result["learner"]["surplus"]
    word = "gain" if promised > 0 else "loss"
    sure = f" (between {gain_interval(result, 'and')}; chance to pay {chance(result)})" if chance(result) else ""
    kept = "" if checked["agrees_on_money"] else ", which did not come true"
    return f"The forecast promised a {word} of {money(abs(promised))}{sure}{kept}. {losing_trainings(result)}"


def in_a_tile(result: Content) -> str:
    """Whether buying pays, in a few words, and how that is known."""
    money = in_money(result)
    word = "buying pays" if pays(result) else "a loss" if loses(result) else "buying does not pay"
    word = f"uncertain: {word}" if outcome(result) == "uncertain" else word
    if realised(result) is None or nothing_trained(result):
        return word
    chance = result["validation"]["money"]["chance_of_loss"]
    return f"{word}, measured; forecast {money(result['learner']['surplus'])}; {percent(chance)} of trainings lose"


def owner_surpluses(result: Content) -> dict[str, float]:
    """Each owner's surplus with the benefit that the trained models had for it; empty before any training."""
    money = realised(result)
    return {row["name"]: row["surplus"] for row in money["owners"]} if money else {}


def losing_trainings(result: Content) -> str:
    """How many single trainings lose money, and what nine in ten come to."""
    money = in_money(result)
    chance, spread = result["validation"]["money"]["chance_of_loss"], result["validation"]["money"]["learner_surplus"]
    share = {0.0: "No single training loses", 1.0: "Every single training loses"}.get(
        chance, f"{percent(chance)} of single trainings lose"
    )
    return f"{share} money; nine in ten come to between {money(spread['q05'])} and {money(spread['q95'])}."


def over_budget(result: Content) -> str:
    """A warning where the learner owes more than it may spend; empty elsewhere."""
    money = in_money(result)
    learner = result["learner"]
    if learner.get("within_budget") is not False:
        return ""
    return f"The learner has {money(learner['budget'])} to spend and owes {money(learner['payments'])}."


def effect_of_rules(result: Content) -> str:
    """The rules of the market, and what they do to whom; empty where there are none."""
    money = in_money(result)
    rules = result.get("regulation")
    if not rules:
        return ""
    per = {"epsilon": "unit of ε", "record_epsilon": "record and unit of ε", "bit": "record and bit leaked"}
    said = [f"nobody may share more than ε = {number(rules['epsilon_cap'])}"] if rules["epsilon_cap"] else []
    if rules["leakage_tax"]:
        said.append(f"owners pay a tax of {money(rules['leakage_tax'])} per record and bit leaked")
    if rules["price_floor"]:
        said.append(f"no owner is paid less than {money(rules['price_floor'])} per {per[rules['price_floor_per']]}")
    before, after = rules["before"], rules["after"]
    groups = [
        f"{money(after[key])} instead of {money(before[key])} for {name}"
        for key, name in (("owners", "the owners together"), ("learner", "the learner"), ("treasury", "the treasury"))
        if after[key] or before[key]
    ]
    text = (
        f"Rules: {listed(said)}. Against the same market without them, there is {listed(groups)}; all in all, "
        f"{money(after['total'])} instead of {money(before['total'])}."
    )
    if after["gini"] is None or before["gini"] is None:
        return text
    return f"{text} Inequality among owners (Gini): {number(after['gini'])} instead of {number(before['gini'])}."
