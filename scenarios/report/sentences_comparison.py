"""A comparison in plain words, for who has to decide; from the content of comparison.json alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scenarios.report.sentences_market import edge_of_refusal
from scenarios.report.sentences_offer import policy_words
from scenarios.report.sentences_privacy import weaker
from scenarios.report.sentences_terms import forecast_words
from scenarios.report.sentences_worth import past_words
from scenarios.report.wording import between, counted, currency_of, in_money, limit, listed, number, percent

Content = dict[str, Any]
Money = Callable[[float | None], str]
SURE = 0.95  # chance from which a difference is called sure
FEW = 6  # owners who are named one by one


def named(row: Content) -> str:
    """What an alternative is called."""
    return str(row["name"]).replace("regulation.epsilon_cap = ", "cap on ε of ").replace("_", " ")


def epsilons(row: Content) -> np.ndarray:
    """The budgets sold under an alternative, (n_owners,)."""
    return np.array([limit(owner["epsilon"]) for owner in row["owners"]])


def offer(content: Content, row: Content) -> str:
    """What the learner pays under an alternative, and the rules that hold."""
    rules, money = row["rules"], in_money(content)
    said = [policy_words(row["policy"], currency_of(content))]
    if "epsilon_cap" in rules:
        said.append(f"Nobody may sell an ε above {number(rules['epsilon_cap'])}.")
    if "price_floor" in rules:
        said.append(f"Nobody may be paid less than {money(rules['price_floor'])} per {rules['price_floor_per']}.")
    if "leakage_tax" in rules:
        said.append(f"What may leak is taxed at {money(rules['leakage_tax'])} per bit and record.")
    return " ".join(said)


def aim(content: Content) -> str:
    """What all alternatives were made to have in common."""
    spending, fitness = content["aim"]["spending"], content["aim"]["fitness"]
    if spending is not None:
        return f"Under each of them the learner is to spend {in_money(content)(spending)}."
    if fitness is not None:
        return f"Under each of them the forecast is to be {percent(fitness)} more error than the best possible model makes."
    if any(row["scaled"] for row in content["alternatives"]):
        paid = in_money(content)(content["alternatives"][0]["payments"])
        return f"Policies for which no money is stated pay as much in all as the first one: {paid}."
    return "Each is taken as it stands; they do not spend the same."


def missed(content: Content) -> list[str]:
    """The alternatives that cannot meet the aim, and what they come to."""
    return [
        _missed(row, in_money(content)) for row in content["alternatives"] if row["scaled"] and not row["scaled"]["met"]
    ]


def _missed(row: Content, money: Money) -> str:
    after = row["scaled"]["jumps_to"]
    why = (
        f"a little more money takes it to {number(after)} times what was asked" if after else "no money takes it there"
    )
    return f"{named(row).capitalize()} does not meet that: it comes to {money(row['payments'])}, and {why}."


def best(content: Content) -> str:
    """Which alternative the learner gains most under, and by how much; and which of those that no owner loses by."""
    rows = sorted(content["alternatives"], key=_gain, reverse=True)
    first, second = rows[0], rows[1]
    how, money = "measured" if first["trained_gain"] else "forecast", in_money(content)
    gain, more = money(_gain(first)), money(_gain(first) - _gain(second))
    if _gain(first) <= 0:
        return f"Under none of them does buying pay the learner; it loses least under {named(first)} ({how}: {gain})."
    said = f"The learner gains most under {named(first)}: {gain} ({how}), {more} more than under {named(second)}"
    if how == "forecast" and not first.get("buying_pays", True):
        said += f", where buying cannot be said to pay (its chance is {percent(first['chance_pays'], 2)})"
    losing, willing = unwilling(first), [row for row in rows if not unwilling(row)]
    if not losing:
        return f"{said}."
    said += f". But {listed(losing)} would then rather not take part"
    if not willing:
        return f"{said}, and under every other somebody else would."
    return f"{said}; of those by which no owner loses, it is {named(willing[0])}: {money(_gain(willing[0]))}."


def unwilling(row: Content) -> list[str]:
    """The owners whom an alternative leaves with less than nothing."""
    return [owner["name"] for owner in row["owners"] if not owner["rational"]]


def _gain(row: Content) -> float:
    """The learner's gain, measured where it was trained."""
    return row["gain"] if row["trained_gain"] is None else row["trained_gain"]["mean"]


def against_first(content: Content) -> list[str]:
    """For each other alternative: what changes for the learner, the owners and the treasury, and how sure that is."""
    first, pairs = content["alternatives"][0], zip(content["alternatives"][1:], content["differences"], strict=True)
    return [_change(first, row, found, in_money(content)) for row, found in pairs]


def _change(first: Content, row: Content, found: Content, money: Money) -> str:
    instead = f"{_upper(named(row))} instead of {named(first)}"
    said = [f"{instead}: the learner {_more(found['learner'], money)} by the forecast{_sure(found, money)}"]
    if found["owners"] is not None:
        said.append(_owners(row, found["owners"], money))
    if found["treasury"]:
        said.append(f"the treasury {_more(found['treasury'], money, 'takes')}")
    said.append(f"all together {_more(found['welfare'], money, 'have')}")
    return "; ".join(said) + "."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _more(amount: float, money: Money, verb: str = "has") -> str:
    size = money(abs(amount))
    return f"{verb} as much" if number(amount) == "0" else f"{verb} {size} {'more' if amount > 0 else 'less'}"


def _sure(found: Content, money: Money) -> str:
    """How sure the learner's difference is, world by world and training by training."""
    if not found["paired"]:
        return " (on other records or another protocol, so not compared draw by draw)"
    worlds, runs = found["learner_by_world"], found["learner_trained"]
    said = _likely(worlds, "in nine worlds in ten", money)
    if runs and runs["interval"]:
        said += f"; as trained, {_interval(runs, money)} in nine trainings in ten"
    return f" ({said})" if said else ""


def _interval(part: Content, money: Money) -> str:
    low, high = part["interval"]
    return between(low, high, money)


def _likely(part: Content | None, where: str, money: Money) -> str:
    return f"{_interval(part, money)} {where}" if part and part["interval"] else ""


def _owners(row: Content, changes: list[float], money: Money) -> str:
    """Who has more and who less."""
    names = [owner["name"] for owner in row["owners"]]
    size = max(map(abs, changes), default=0.0)
    up = [(n, c) for n, c in zip(names, changes, strict=True) if c > 1e-6 * size and c > 0]
    down = [(n, c) for n, c in zip(names, changes, strict=True) if c < -1e-6 * size]
    if len(names) > FEW:
        said = f"{counted(len(up), 'owner')} have more, {len(down):,} less" if up or down else "owners have as much"
        return f"{said}, {money(sum(changes))} together"
    sides = ((up, "more"), (down, "less"))
    parts = [listed([f"{n} {money(abs(c))}" for n, c in side]) + f" {word}" for side, word in sides if side]
    return "of the owners, " + ", and ".join(parts) if parts else "owners have as much"


def vote(content: Content) -> str:
    """How the owners would vote, and where that leads."""
    found = content["vote"]
    if found is None:
        return "Owners differ between the alternatives, so nobody can vote."
    calls = {row["name"]: named(row) for row in content["alternatives"]}
    votes = [f"{counted(count, 'owner')} for {calls[name]}" for name, count in found["votes"].items() if count]
    undecided = found["owners"].count(None)
    said = f"By what it leaves them, they would vote: {listed(votes, most=6)}" if votes else "No owner minds"
    said += f"; {counted(undecided, 'owner')} would not mind" if undecided and votes else ""
    winner = found["winner"]
    beats = "" if winner is None else f" By majority {calls[winner]} beats every other."
    cycle = " No alternative beats all others by majority." if winner is None and votes else ""
    liked = f"The learner prefers {calls[found['learner']]}; all together have most under {calls[found['welfare']]}."
    return f"{said}.{beats}{cycle} {liked}"


def cautions(content: Content) -> list[str]:
    """What a reader must know before relying on it."""
    rows, said = content["alternatives"], []
    uncertain = [named(row) for row in rows if not row["certified"]]
    if uncertain:
        said.append(f"No equilibrium was certified under {listed(uncertain)}: those numbers describe no resting point.")
    several = [named(row) for row in rows if row["equilibria"] > 1]
    if several:
        said.append(f"There is more than one equilibrium under {listed(several)}; one is shown.")
    unasked = [named(row) for row in rows if not row["asks"]]
    if unasked:
        said.append(f"Nothing is asked under {listed(unasked)}: noise would drown what is bought, so no money flows.")
    losing = [f"{name} under {named(row)}" for row in rows for name in unwilling(row)]
    if losing:
        said.append(f"Left with less than nothing, so better off by not taking part: {listed(losing)}.")
    differ = [named(row) for row in rows if row["agrees"] is False]
    if differ:
        said.append(f"Training contradicts the forecast under {listed(differ)}.")
    past = [(row, past_words(row["owners"], row.get("past_worth"), in_money(content))) for row in rows]
    said += [f"{_upper(named(row))}: {words}" for row, words in past if words]
    said += [f"{named(row)}: {weaker(row['weaker'])}" for row in rows if row.get("weaker")]
    on_edge = [row for row in rows if row.get("edge_of_refusal")]
    said += [f"{_upper(named(row))}: {edge_of_refusal(row['edge_of_refusal'], in_money(content))}" for row in on_edge]
    return said


def memo(content: Content) -> str:
    """The whole as plain text (Markdown)."""
    names = [named(row) for row in content["alternatives"]]
    lines = [f"# {content['title']}: {len(names)} alternatives compared", "", aim(content), *missed(content), ""]
    lines += [best(content), "", vote(content), "", "## What changes", ""]
    lines += [f"* {change}" for change in against_first(content)]
    lines += ["", "## What was compared", ""]
    lines += [
        f"* {_upper(named(row))}: {offer(content, row)}{forecast_words(row, content)}"
        for row in content["alternatives"]
    ]
    if cautions(content):
        lines += ["", "## Before relying on this", "", *(f"* {caution}" for caution in cautions(content))]
    return "\n".join(lines) + "\n"
