"""What a result means, in plain sentences: each function reads the content of result.json and nothing else."""

from __future__ import annotations

import math
from typing import Any

from scenarios.report.sentences_kinds import POLICY_WORDS, cost_units
from scenarios.report.sentences_learning import best_words, error_words, is_exact, loss_of, target_words
from scenarios.report.wording import UNKNOWN, between, counted, listed, number, percent, small, times

Content = dict[str, Any]
FEW = 4  # owners that a headline names one by one


def epsilon_of(owner: Content) -> float:
    """An owner's privacy budget; null in result.json stands for no limit."""
    return math.inf if owner["epsilon"] is None else float(owner["epsilon"])


def sellers(result: Content) -> list[Content]:
    """The owners that share anything."""
    return [owner for owner in result["owners"] if epsilon_of(owner) > 0]


def asks_nothing(result: Content) -> bool:
    """Whether the learner, at these budgets, does best not to ask the owners at all."""
    return bool(sellers(result)) and result["forecast"].get("step_size") == 0


def nothing_trained(result: Content) -> bool:
    """Whether the learner keeps the model it has."""
    return not sellers(result) or asks_nothing(result)


# Headline


def headline(result: Content) -> list[str]:
    """The answer: who sells how much for how much, what model comes out, did the forecast hold, does buying pay."""
    return [who_sells(result), what_model(result), forecast_held(result), does_buying_pay(result)]


def who_sells(result: Content) -> str:
    """Who sells how much privacy for how much money."""
    selling, everyone = sellers(result), len(result["owners"])
    if not selling:
        return "No owner sells anything: at what is offered, each keeps its records to itself."
    total, several = number(result["learner"]["payments"]), len(selling) > 1
    if everyone <= FEW:
        text = listed(deals(selling)) + (f": {total} in all" if several else "")
        idle = [owner["name"] for owner in result["owners"] if epsilon_of(owner) == 0]
        return f"{text}; {listed(idle)} {'shares' if len(idle) == 1 else 'share'} nothing." if idle else f"{text}."
    budgets = [epsilon_of(owner) for owner in selling]
    who = (
        f"All {everyone:,} owners sell"
        if len(selling) == everyone
        else (f"{len(selling):,} of the {everyone:,} owners {'sell' if several else 'sells'}")
    )
    if number(min(budgets)) == number(max(budgets)):
        return f"{who} a privacy budget ε of {number(budgets[0])}{' each' if several else ''}, for {total} in all."
    return f"{who} privacy budgets ε between {number(min(budgets))} and {number(max(budgets))}, for {total} in all."


def deals(selling: list[Content]) -> list[str]:
    """Each sale in a few words; what is shared without noise is not called privacy."""
    told, words = False, []
    for owner in selling:
        epsilon, paid = epsilon_of(owner), owner["payment"] or 0.0
        price = f"for {number(paid)}" if paid >= 0 else f"and is charged {number(-paid)}"
        if math.isinf(epsilon):
            words.append(f"{owner['name']} shares its records without protection {price}")
        else:
            words.append(f"{owner['name']} {'' if told else 'sells a privacy budget ε of '}{number(epsilon)} {price}")
        told = not math.isinf(epsilon)  # the verb is not repeated
    return words


def what_model(result: Content) -> str:
    """What model comes out, against what the learner has already."""
    made, alone = result["forecast"]["relative_fitness"], result["outside_option"]["relative_fitness"]
    best = best_words(result)
    if nothing_trained(result):
        return f"The learner keeps the model it has, which is forecast to make {error_words(alone, best=best)}."
    return (
        f"The model that comes out is forecast to make {error_words(made, best=best)}; the learner's own, without "
        f"buying, {error_words(alone, short=True)}."
    )


def forecast_held(result: Content) -> str:
    """Whether training confirmed the forecast, in one sentence."""
    checked = result["validation"]
    if checked is None:
        return "No model was trained, so the forecast is unchecked."
    verb = "confirms" if checked["agrees"] else "contradicts"
    mean, forecast = percent(checked["relative_fitness"]["mean"]), interval_words(result["forecast"])
    if nothing_trained(result):
        return f"Measured on all records, that model {verb} the forecast: {mean}, forecast {forecast}."
    return f"Training {verb} the forecast: {mean} on average, forecast {forecast}."


def interval_words(part: Content) -> str:
    """The interval of a forecast: "1.4 to 3.1 %"."""
    low, high = part.get("interval") or (None, None)
    return between(low, high, percent) if low is not None else percent(part["relative_fitness"])


def does_buying_pay(result: Content) -> str:
    """Whether buying beats what the learner has for nothing, said plainly where it does not."""
    return " ".join(filter(None, (by_the_forecast(result), as_measured(result))))


def as_measured(result: Content) -> str:
    """Whether buying paid in truth, where training contradicts the forecast or what it says about buying."""
    checked, build_result, alone = result["validation"], result["learner"], result["outside_option"].get("measured")
    if checked is None or alone is None or nothing_trained(result):
        return ""
    mean = checked["relative_fitness"]["mean"]
    worth = build_result["value"] * (alone - mean)
    gain = worth - build_result["payments"]
    if checked["agrees"] and (gain > 0) == build_result["buying_pays"]:
        return ""
    made = error_words(mean, best=best_words(result))
    compared = f"That is by the forecast. Measured on all records, the trained model makes {made}, "
    compared += f"the learner's own {error_words(alone, short=True)}: "
    if worth <= 0:
        return compared + "what is bought is no better."
    side = "more" if gain > 0 else "less"
    return f"{compared}buying is worth {number(worth)}, {number(abs(gain))} {side} than it costs."


def by_the_forecast(result: Content) -> str:
    """Whether buying pays if the forecast is right."""
    build_result = result["learner"]
    made, alone = result["forecast"]["relative_fitness"], result["outside_option"]["relative_fitness"]
    if build_result["buying_pays"]:
        return (
            f"Buying pays: the better model is worth {number(build_result['gross_value'])} to the learner, "
            f"{number(build_result['surplus'])} more than it pays."
        )
    if not sellers(result):
        return "Nothing is bought, so nothing is gained."
    paid = number(build_result["payments"])
    if asks_nothing(result) or made == alone:
        return (
            "Buying does not pay: at these budgets noise would drown what the owners could add, so the "
            "model is "
            f"no better than the learner's own, and {paid} are paid for nothing."
        )
    if made > alone:
        return (
            "Buying does not pay: the model is worse than the one the learner has for nothing, "
            f"and {paid} are paid for it."
        )
    return (
        f"Buying does not pay: the better model is worth {number(build_result['gross_value'])} to the learner, "
        f"less than the {paid} it pays."
    )


# What was asked


def question(result: Content) -> list[str]:
    """What the learner wants, who holds what, what is offered, what privacy costs."""
    data, scenario, owners = result["data"], result["scenario"], result["owners"]
    records = sum(owner["records"] for owner in owners)
    names = f" ({listed([owner['name'] for owner in owners])})" if len(owners) <= 6 else ""
    best = "the best found" if loss_of(result) == "network" else "the best possible"
    return [
        f"{target_words(result)} from {inputs_words(data)}. {counted(len(owners), 'owner')}{names} "
        f"{'holds' if len(owners) == 1 else 'hold'} {counted(records, 'record')}. "
        f"{own_rows(data['public_rows'])}",
        policy_words(scenario["policy"]) + " " + cost_words(scenario["owners"]),
        f"To the learner, a model one percent nearer to {best} is worth {number(scenario['learner']['value'] / 100)}.",
    ]


def inputs_words(data: Content) -> str:
    """How many inputs the model has, its constant aside."""
    return counted(sum(name != "1" for name in data["features"]), "input")


def own_rows(public_rows: int) -> str:
    """What the learner has before it buys."""
    if public_rows == 0:
        return "The learner has no records of its own."
    return (
        f"The learner has {counted(public_rows, 'record')} of its own: they make the model it has "
        "without buying, "
        "and all its forecasts."
    )


def policy_words(policy: Content) -> str:
    """What the learner offers."""
    kind = policy["kind"]
    if kind == "posted":
        unit = {
            "epsilon": "unit of privacy budget ε",
            "record_epsilon": "record and unit of privacy budget ε",
            "bit": "record and bit it may leak",
        }.get(policy.get("per", "epsilon"), str(policy.get("per")))
        return f"The learner pays each owner a fixed price: {amount(policy['price'])} per {unit}."
    if kind == "proportional":
        basis = {
            "records_epsilon": "records times privacy budget ε",
            "records_epsilon2": "records times ε squared",
            "epsilon": "privacy budget ε",
        }.get(policy.get("basis", "records_epsilon"), str(policy.get("basis")))
        return f"The learner pays {number(policy['budget'])} in all, shared out in proportion to {basis}."
    if kind == "marginal":
        against = "none of it" if policy.get("reference", "absent") == "absent" else "the least it may share"
        return (
            f"The learner pays each owner {percent(policy['share'])} of what the model gains by what "
            "the owner shares, "
            f"compared with {against}; an owner whose noise harms the model is charged."
        )
    if kind in POLICY_WORDS:
        return POLICY_WORDS[kind](policy)
    terms = ", ".join(f"{key} = {value}" for key, value in policy.items() if key != "kind")
    return f"The learner pays under the policy {kind}" + (f" ({terms})." if terms else ".")


def cost_words(owners: Content) -> str:
    """What sharing costs an owner, and what it may choose."""
    cost = owners["cost"]
    unit = {
        "leakage": "bit that may leak about each record",
        "linear": "unit of privacy budget ε",
        "quadratic": "unit of half its privacy budget ε squared",
        **cost_units(cost),
    }.get(cost["kind"])
    price = f"costs an owner {amount(cost['price'])} per {unit}" if unit else f"has a cost of the kind {cost['kind']}"
    fixed = fixed_words(owners.get("fixed_cost", 0.0))
    return f"Privacy {price}. {fixed}" + choice_words(owners["epsilon"]) + benefit_words(owners.get("benefit", 0.0))


def fixed_words(fixed: Any) -> str:
    """What an owner loses by sharing at all, whatever its budget."""
    values = fixed if isinstance(fixed, (list, tuple)) else [fixed]
    return f"Whoever shares also bears a fixed cost of {amount(fixed)}. " if any(values) else ""


def amount(value: Any) -> str:
    """A price: one for all, or a range of prices.

    >>> amount(0.02), amount([1, 2, 3])
    ('0.02', '1 to 3 (each owner its own)')
    """
    if isinstance(value, (list, tuple)):
        ends = between(min(value), max(value))
        return f"{ends} (each owner its own)" if min(value) < max(value) else ends
    return number(value)


def choice_words(interval: Any) -> str:
    """The budgets an owner may choose from."""
    nested = isinstance(interval[0], (list, tuple))
    pairs = interval if nested else [interval]
    lows, highs = {as_limit(low) for low, _ in pairs}, {as_limit(high) for _, high in pairs}
    if len(lows) == len(highs) == 1:
        return f"Each may choose any ε from {number(lows.pop())} to {number(highs.pop())}: the smaller, the more noise."
    return f"Each may choose ε within limits of its own, {number(min(lows))} to {number(max(highs))} at the widest."


def as_limit(value: float | None) -> float:
    """An end of an interval of budgets; null stands for no limit."""
    return math.inf if value is None else float(value)


def benefit_words(benefit: Any) -> str:
    """Whether owners gain from the model themselves."""
    values = benefit if isinstance(benefit, (list, tuple)) else [benefit]
    return " Owners that share also use the model themselves." if any(values) else ""


# Who sells what


def protection_words(epsilon: float | None) -> str:
    """What a privacy budget means: how sure a spy who sees all answers can become about one record.

    Between two versions of a record that look equally likely, pure differential privacy at ε lets the surer one
    rise to e^ε/(1 + e^ε) at most.

    >>> protection_words(0.5).replace(chr(160), " ")
    'strong: an even guess about a record becomes at most 62.2 % sure'
    >>> protection_words(None)
    'none: shared without protection'
    """
    value = math.inf if epsilon is None else epsilon
    if value == 0:
        return "total: nothing is shared"
    if math.isinf(value):
        return "none: shared without protection"
    strength = next(
        (word for limit, word in ((0.1, "very strong"), (1, "strong"), (3, "moderate"), (8, "weak")) if value <= limit),
        "very weak",
    )
    sure = 1 / (1 + math.exp(-value))
    said = f"at most {percent(sure)} sure" if sure <= 0.9995 else "all but certain"
    return f"{strength}: an even guess about a record becomes {said}"


def own_models_known(result: Content) -> bool:
    """Whether it is known what owners could train alone: rehearsing on the pooled records does not tell."""
    return is_exact(result) or result["forecast"]["basis"] == "public"


def own_model_words(owner: Content, result: Content) -> str:
    """What the model is worth to an owner against the one it could train alone."""
    alone, made = owner["isolated_relative_fitness"], result["forecast"]["relative_fitness"]
    if alone is None or not own_models_known(result):
        return UNKNOWN
    if epsilon_of(owner) == 0:
        return f"{error_words(alone, short=True)}; it does not receive the common one"
    return f"{error_words(alone, short=True)}; the common one is {'better' if made < alone else 'worse'}"


def own_models(result: Content) -> str:
    """For how many owners the bought model beats their own."""
    selling = sellers(result)
    gaining = sum(bool(owner["gains"]) for owner in selling)
    if not selling:
        return ""
    if not own_models_known(result):
        return "What model each owner could train on its own is not known here."
    if gaining == 0:
        whom, none = ("no owner that sells", "is") if len(selling) > 1 else ("the owner that sells", "is not")
        return (
            f"By the forecast, for {whom} {none} the common model better than the one it could train on its own "
            "records: money is why it sells."
        )
    if gaining == len(selling):
        return "By the forecast, the common model is better than what any seller could train on its own records."
    return (
        f"By the forecast, the common model beats the own model of {gaining:,} of the {len(selling):,} owners "
        "that sell."
    )


# Did the market settle


def settled(result: Content) -> list[str]:
    """The certificate in words; several equilibria, a cycle or no end stated plainly."""
    found = result["equilibrium"]
    regret = (
        "An independent search over each owner's whole interval finds that the most any owner could "
        "still gain by "
        f"moving alone is {small(found['max_regret'])}"
    )
    share = found["max_relative_regret"]
    if share is not None:
        regret += f" ({percent(share) if share >= 1e-5 else percent(1e-6)} of what its choice can move)"
    rounds = counted(found["iterations"], "round")
    starts = counted(found["starts"], "starting point")
    distinct = len(found["distinct"])
    if not found["converged"]:
        why = {"cycle found": f"the owners keep circling through the same choices, also after {rounds}"}.get(
            found["reason"], f"after {rounds} the owners were still moving"
        )
        return [
            f"No: {why}. No equilibrium was found from {starts}. The numbers here are the closest point found, "
            "not an equilibrium, and should not be relied on.",
            regret + ".",
        ]
    if distinct > 1:
        many = counted(distinct, "equilibrium", "equilibria")
        return [
            f"Yes, but not in one way only: from {starts}, {many} were found. "
            "This report describes the first of those listed below; which one a real market would reach, "
            "the model does not say.",
            regret + ".",
        ]
    came = f" From {starts}, no other equilibrium was found." if found["starts"] > 1 else ""
    return [
        f"Yes: after {rounds} of moves no owner wants to change its choice.{came}",
        *remark_words(result),
        regret + ".",
    ]


def remark_words(result: Content) -> list[str]:
    """What is remarkable about where the owners settle."""
    said = {
        "all_at_lowest": "The market collapses: every owner shares the least it may ({}), since more would cost more than "
        "it brings.",
        "all_at_highest": "Every owner shares as much as it may ({}): more always brings more than it costs, and only the "
        "limit stops it.",
        "printed_weight": "As printed, the weight w keeps every payment under {}, next to a cost that runs up to {}.",
    }
    sentences = []
    for fact in result["equilibrium"].get("remarks", []):
        if fact["cause"] == "printed_weight":
            shown = [number(fact["largest_payment"], 2), number(fact["largest_cost"])]
        else:
            low, high = (number(end, 4) for end in fact["epsilon"])
            shown = [f"ε = {low}" if low == high else f"ε from {low} to {high}"]
        sentences.append(said[fact["cause"]].format(*shown))
    return sentences


def kind_words(result: Content) -> str:
    """What kind of game it is, as far as samples tell; empty where it was not looked into or nothing is remarkable."""
    found = result["equilibrium"].get("diagnosis") or {}
    kinds = {
        "dominance_solvable": "whatever the others do, sensible choices narrow down to this one outcome",
        "potential_game": "whoever gains by moving raises one sum that all have in common (a potential game)",
        "contraction": "answers to different choices of the others are closer than those choices (a contraction)",
    }
    said = [words for kind, words in kinds.items() if found.get(kind)]
    return f"Samples of the game suggest: {'; '.join(said)}." if said else ""


def distinct_words(result: Content) -> list[str]:
    """Each equilibrium in a line, where there are several."""
    names = [owner["name"] for owner in result["owners"]]
    profiles = [[as_limit(e) for e in profile] for profile in result["equilibrium"]["distinct"]]
    if len(profiles) < 2:
        return []
    if len(names) > 6:
        return [f"ε from {number(min(p))} to {number(max(p))}, mean {number(sum(p) / len(p))}" for p in profiles]
    return [", ".join(f"{name} {number(e)}" for name, e in zip(names, p, strict=True)) for p in profiles]


def rules_words(result: Content) -> str:
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
    text = f"Rules: {listed(said)}. Against the same market without them, there is {listed(groups)}; all in all, "
    text += f"{number(after['total'])} instead of {number(before['total'])}."
    if after["gini"] is not None and before["gini"] is not None:
        text += f" Inequality among owners (Gini): {number(after['gini'])} instead of {number(before['gini'])}."
    return text


def participation_words(result: Content) -> str:
    """Who would rather not take part, and whether the learner can pay; empty where all is well."""
    unwilling = [row["name"] for row in result["owners"] if row.get("rational") is False]
    said = []
    if unwilling:
        names = listed(unwilling) if len(unwilling) <= 5 else f"{len(unwilling):,} owners"
        verb = "is" if len(unwilling) == 1 else "are"
        said.append(f"{names} {verb} worse off than without the market: free to leave, they would.")
    if result["learner"].get("within_budget") is False:
        budget, paid = result["learner"]["budget"], result["learner"]["payments"]
        said.append(f"The learner has {number(budget)} to spend and owes {number(paid)}.")
    return " ".join(said)


def welfare_words(result: Content) -> str:
    """Welfare, and what selfish choices cost all together."""
    have, best = result["welfare"]["total"], result["welfare"]["optimum"]
    ratio = result["welfare"]["price_of_anarchy"]
    text = "Counting the learner and all owners together, payments cancel; what is left "
    if have < 0:
        text += f"is a loss of {number(-have)}: the market destroys more than it makes."
    else:
        text += f"is a gain of {number(have)}."
    lost = best - have
    if lost <= 1e-6 * max(1.0, abs(best)):
        return f"{text} No central choice of all budgets would do better."
    text += f" A planner who set every budget for the common good would reach {number(best)}"
    if ratio is None:
        return text + "; a price of anarchy is not defined where the market as it is gains nothing."
    short = f"{times(ratio)} as much" if ratio >= 1.995 else f"{percent(ratio - 1)} more"
    return (
        f"{text}, {short} (price of anarchy {number(ratio, 4)}): "
        "that is what it costs that each owner looks after itself."
    )
