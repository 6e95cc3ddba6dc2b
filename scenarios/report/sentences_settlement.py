"""A settlement in words: who delivered, who is paid, whether it all hangs together; from settlement.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.report.sentences_learning import error_words
from scenarios.report.wording import between, counted, in_money, listed, number, percent

Content = Mapping[str, Any]
TWO = 2.0  # standard errors that are told beside a number
OWNERS_WORD = (
    "A statement is its owner's word: who holds a ledger can forge it. That noise was drawn as agreed, and on the records "
    "that were agreed, no file of an exchange proves."
)
NAMED = (
    "A used answer is paid by the digest that the next question, or closing.json, names, whatever became of its file."
)
LEDGERS = {
    "agrees": "agrees with what was delivered",
    "charged but not delivered": "charged more than was delivered",
    "disagrees": "does not fit what was delivered",
}


def answer(content: Content) -> str:
    """Who delivered, and what that comes to in money."""
    money, cash = content["money"], in_money(content)
    agreed, owners = content["questions"]["agreed"], content["owners"]
    if money["paid"] is None:
        return (
            f"What is to be paid of the {cash(money['promised'])} promised cannot be told from these files: which answers "
            "were used is not sure. Put back what does not fit, as it was, and settle again."
        )
    paid = f"{cash(money['paid'])} of the {cash(money['promised'])} promised"
    whole = [one for one in owners if one["share"] == 1]
    if len(whole) == len(owners):
        many = f"All {counted(len(owners), 'owner')}" if len(owners) > 1 else "The one owner"
        return f"{many} answered {_all(agreed)}: {cash(money['paid'])} is to be paid."
    if not any(one["delivered"] for one in owners):
        return f"Nobody delivered anything: of the {cash(money['promised'])} promised, nothing is to be paid."
    start = "" if content["finished"] else "The exchange is not finished. "
    return f"{start}{counted(len(whole), 'owner')} of {len(owners)} answered {_all(agreed)}: {paid} is to be paid."


def _all(questions: int) -> str:
    return "the one question" if questions == 1 else f"all {questions:,} questions"


def delivered(content: Content) -> list[str]:
    """Owners who did not deliver all, one by one; and what becomes of the money."""
    agreed, cash = content["questions"]["agreed"], in_money(content)
    if content["money"]["paid"] is None:
        return ["Answers are counted as far as files show them."]
    said = [_short(one, agreed) for one in content["owners"] if one["share"] < 1 or one["unused"]]
    if content["money"]["kept"]:
        kept = f"The learner keeps {cash(content['money']['kept'])}, which nothing was delivered for: "
        said.append(f"{kept}an owner is paid its payment times the share of its budget that its answers used spend.")
    return said


def _short(one: Mapping[str, Any], agreed: int) -> str:
    """What an owner that did not deliver all did."""
    parts = [f"{one['name']} delivered {len(one['delivered']):,} of {counted(agreed, 'answer')}"]
    if one["missed"]:
        parts.append(f"none to {_questions(one['missed'])}")
    if one["unused"]:
        parts.append(
            f"what it sent for {_questions(one['unused'])} came too late or twice, was not used and is not paid"
        )
    if one["delivered"] and one["share"] < 1:
        parts.append(f"{percent(one['share'])} of what its answers were to spend")
    return "; ".join(parts) + "."


def _questions(numbers: list[int]) -> str:
    return ("question " if len(numbers) == 1 else "questions ") + listed([str(one) for one in numbers], most=6)


def hangs_together(content: Content) -> list[str]:
    """Whether the files fit one another; what does not, one by one."""
    if not content["holds"]:
        told = [f"{one['where']}: {one['rule']}{_found(one)}." for one in content["faults"]]
        return told if content["money"]["paid"] is None else [*told, NAMED]
    asked = content["questions"]["asked"]
    if not asked:
        return ["There is no question: nothing was asked."]
    said = "Every question names this contract, the question before it and the answers that it rests on"
    if content["model"] is None:
        return [f"{said}."]
    return [f"{said}; computed again from the answers, the model is the one that was made."]


def _found(fault: Mapping[str, str]) -> str:
    return f"; found {fault['found']}" if fault["found"] else ""


def suspicions(content: Content) -> list[str]:
    """What was told of owners' answers when they came in, but for late ones, of which the money tells."""
    told = [one for one in content["told"] if one["kind"] != "late"]
    return [f"{one['owner']}'s answer to question {one['round']} {one['said']}." for one in told]


def covered(content: Content) -> str:
    """Why less may be given away than was sold, where budgets cover more answers than are asked; empty elsewhere."""
    agreed, covers = content["questions"]["agreed"], content["questions"]["covered"]
    if agreed == covers:
        return ""
    asked = f"{agreed:,} {'is' if agreed == 1 else 'are'} asked"
    return (
        f"A budget covers {covers:,} answers, of which {asked}: whoever answers all "
        "is paid in full, and keeps what the others would have spent."
    )


def ledgers(content: Content) -> list[str]:
    """What owners' statements say beside what was delivered."""
    told = [one for one in content["owners"] if one["ledger"]]
    if not told:
        return [
            "No owner has handed in a statement of its ledger (dpmarket settle CONTRACT --owner NAME --ledger FILE)."
        ]
    said = []
    for status, words in LEDGERS.items():
        names = [one["name"] for one in told if one["ledger"]["status"] == status]
        if names:
            said.append(f"The ledger of {listed(names)} {words}.")
    for one in told:
        if one["ledger"]["undelivered"]:
            many = _questions(one["ledger"]["undelivered"])
            said.append(
                f"{one['name']} charged its answer to {many}, which is not here: its program was ended before the file "
                "left, or the file was lost. The same answer is given again, at no further cost, by dpmarket answer."
            )
    silent = [one["name"] for one in content["owners"] if not one["ledger"]]
    if silent:
        said.append(f"No statement of {listed(silent)}.")
    return [*said, OWNERS_WORD]


def noise_left(content: Content) -> str:
    """What noise was left in the mean of answers, beside that of everybody's answers."""
    rows = [one for one in content["questions"]["asked"] if one["noise"] is not None]
    if not rows:
        return ""
    now = between(min(one["noise"] for one in rows), max(one["noise"] for one in rows))
    said = f"In the weighted mean of the answers noise of standard deviation {now} was left on each number"
    worse = [one for one in rows if one["noise"] != one["noise_if_all"]]
    if not worse:
        return f"{said}, as was agreed."
    least = max(worse, key=lambda one: one["noise"] / one["noise_if_all"])
    ratio = least["noise"] / least["noise_if_all"]
    return f"{said}: to question {least['round']}, as owners were missing, {number(ratio)} times that of everybody's answers."


def given_away(content: Content) -> str:
    """What is claimed, and that it is no simulation."""
    if not content["claims"]:
        return ""
    against = content["claims"][0]["protects_against"]
    delta = max(one["delta"] for one in content["owners"])
    kind = f"differential privacy with δ = {number(delta)}" if delta else "pure differential privacy"
    joint = [claim["epsilon"] for claim in content["claims"] if claim["joint"]]
    both = (
        f" Of a record that several owners hold, all their answers together: ε of up to {number(max(joint))}."
        if joint
        else ""
    )
    return (
        f"What is claimed of each owner's answers is {kind}, at the ε it sold, against {against}. Where less was delivered "
        "than sold, less was given away, as the table says. The claims are no simulation: they hold if owners ran the "
        f"program as it is, with noise from OpenDP.{both}"
    )


def own_rows(content: Content) -> list[str]:
    """What the learner's own rows show of the model, and how much that is worth."""
    seen, made = content["own_rows"], content["forecast"]
    if content["model"] is None:
        return ["There is no model yet."]
    own = error_words(made["outside"])
    told = f"By the forecast it makes {error_words(made['relative_fitness'])}, the learner's own {own}."
    if seen is None:
        return [told, "Whether it does cannot be seen here: no rows of the learner were given (--public)."]
    judged = seen["crossed"] or seen["better"]
    rows = f"{seen['rows']:,} rows " + ("kept aside" if seen["kept_aside"] else "that the plan was made with")
    rows = f"{seen['rows']:,} rows" if seen["start_fits"] is False and not seen["kept_aside"] else rows
    amount, error = judged["relative_fitness"], TWO * judged["std_error"]
    found = (
        f"On the learner's own {rows}, its error is {percent(abs(amount))} {'below' if amount >= 0 else 'above'} that of the "
        f"learner's own model, give or take {percent(error)} (two standard errors), counted in the best possible error"
    )
    said = [told, f"{found}; the forecast was {_expected(seen)}. {_verdict(seen, judged)}"]
    return [*said, *_favour(seen)]


def _expected(seen: Mapping[str, Any]) -> str:
    low, high = seen["interval"]
    ends = "" if low is None or high is None else f" ({between(low, high, percent)})"
    return f"{percent(seen['forecast'])} below{ends}"


def _verdict(seen: Mapping[str, Any], judged: Mapping[str, Any]) -> str:
    """Whether that agrees, and whether so few rows could have told."""
    blind = TWO * judged["std_error"]
    if not seen["agrees"]:
        return "That does not agree with the forecast."
    if seen["forecast"] < blind:
        return (
            f"That does not contradict the forecast; but so few rows show no difference below {percent(blind)}, more than "
            "was forecast: whether the model is as good as promised, they cannot tell."
        )
    return "That agrees with the forecast."


def _favour(seen: Mapping[str, Any]) -> list[str]:
    """Whom the rows favour."""
    if seen["kept_aside"]:
        return ["Neither model has seen these rows: the difference is right on average."]
    if seen["start_fits"] is False:
        return [
            "These rows alone do not make the model that the learner started with: they are others, fewer or more than the "
            "plan had. As far as the plan had them, they favour the learner's own model."
        ]
    plain = seen["better"]["relative_fitness"]
    return [
        "The learner's own model was fitted to these very rows, and looks better on them than it is: taken as it stands, "
        f"the difference would be {percent(plain)}. So it was fitted anew without each row, or of "
        "more than 100 without each tenth, and judged on what was left out. "
        "The ranges, the scale and the start of training come from the same rows, which favours both; "
        "rows kept aside (--aside) would tell more."
    ]
