"""What the page and the command say of a game without a table: where it may come to rest, and what leads there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.report.sentences_market import REMARKS
from scenarios.report.sentences_offer import choice_words, cost_words, policy_words
from scenarios.report.wording import counted, currency_of, in_money, listed, number

Content = Mapping[str, Any]
FEW = 6  # owners whose budgets stand in a line
NO_TABLE = (
    "There is no table behind this game: records are numbers of its file, no model is trained, no noise is drawn, and "
    "nothing is promised to anybody about privacy."
)


def answer(content: Content) -> str:
    """How many equilibria there are, and how many of the starts lead to each."""
    found, starts = content["equilibria"], content["starts"]
    if not found:
        return (
            f"No equilibrium was found: play from {counted(len(starts), 'start')} and a search from more led to none."
        )
    if len(found) == 1:
        led = len(found[0]["starts"])
        who = "every start leads" if led == len(starts) else f"{led} of {counted(len(starts), 'start')} lead"
        return f"One equilibrium was found, and {who} to it: {budgets(content, found[0]['epsilon'])}."
    told = "; ".join(
        f"{_leading(one)} to {budgets(content, one['epsilon'])}{'' if one['stable'] else ', in which no play rests'}"
        for one in found
    )
    return f"{counted(len(found), 'equilibrium', 'equilibria')} were found: {told}."


def _leading(one: Content) -> str:
    count = len(one["starts"])
    return "no start leads" if not count else f"{counted(count, 'start')} {'leads' if count == 1 else 'lead'}"


def budgets(content: Content, epsilon: list[float]) -> str:
    """A profile in a line: one number for all who are alike, each by name where they are few, else a range."""
    if max(epsilon) - min(epsilon) <= 1e-6 * max(epsilon):
        return f"ε = {number(epsilon[0], 4)} each"
    names = [owner["name"] for owner in content["owners"]]
    if len(names) > FEW:
        return f"ε from {number(min(epsilon), 4)} to {number(max(epsilon), 4)}"
    return "ε = " + ", ".join(f"{number(e, 4)} ({name})" for name, e in zip(names, epsilon, strict=True))


def turns(content: Content) -> list[str]:
    """Where, between two equilibria, play turns from one to the other."""
    said = []
    for turn in content["turns"]:
        low, high = turn["between"]
        through = (
            "where best responses jump"
            if turn["equilibrium"] is None
            else f"at equilibrium {turn['equilibrium']}, which play leaves at the slightest push"
        )
        said.append(
            f"On the straight line between equilibria {low} and {high} play turns at {budgets(content, turn['epsilon'])}, "
            f"{through}: from below it ends in {low}, from above in {high}."
        )
    return said


def unsettled(content: Content) -> str:
    """Which starts lead to no equilibrium; empty where all lead to one."""
    lost = [str(number) for number, start in enumerate(content["starts"], 1) if start["equilibrium"] is None]
    return f"From start {listed(lost)} play led to no equilibrium." if lost else ""


def larger_lower(content: Content) -> str:
    """Whether owners with more records settle lower, where sizes differ; empty where they do not, or nothing settles."""
    sizes = [owner["records"] for owner in content["owners"]]
    inner = [one for one in content["equilibria"] if one["stable"] and not (one["at_lowest"] or one["at_highest"])]
    if len(set(sizes)) < 2 or not inner:
        return ""
    order = [e for _, e in sorted(zip(sizes, inner[-1]["epsilon"], strict=True), key=lambda pair: pair[0])]
    falls = all(second < first for first, second in zip(order, order[1:], strict=False))
    rises = all(second > first for first, second in zip(order, order[1:], strict=False))
    return f"Owners with more records settle {'lower' if falls else 'higher'}." if falls or rises else ""


def certificate(content: Content) -> str:
    """What anybody could still gain in any equilibrium told."""
    most = max((one["max_regret"] for one in content["equilibria"]), default=None)
    if most is None:
        return ""
    gain = "nothing" if most == 0 else f"at most {in_money(content)(most)}"
    return f"In each, by a search over every owner's whole interval, whoever moved alone would gain {gain}."


def remarkable(content: Content) -> list[str]:
    """What is remarkable about the only equilibrium."""
    return [REMARKS[fact["cause"]](fact, in_money(content)) for fact in content["remarks"] if fact["cause"] in REMARKS]


def offered(content: Content) -> list[str]:
    """What is paid, and what sharing costs."""
    file, currency = content["scenario"], currency_of(content)
    owners = file["owners"]
    if owners.get("cost") is None:
        costs = f"Sharing costs an owner e^ε, whatever its size. {choice_words(owners['epsilon'])}"
    else:
        costs = cost_words(owners, currency)
    return [policy_words(file["policy"], currency), costs]


def order_of_moves(content: Content) -> str:
    """In what order owners moved, and what else was tried."""
    moves = content["scenario"]["market"]["activation"]
    return (
        f"From every start, owners answer one another round by round, {ORDER.get(moves, moves)}, each with the best it can "
        f"do against what the others share; {counted(content['search'], 'further point')} were searched from."
    )


ORDER = {
    "sequential": "one after the other",
    "simultaneous": "all at once and half of the way",
    "random": "in an order that is drawn anew each round",
    "poisson": "by clocks that ring at random",
    "partial": "each with an even chance",
}
ENDED = {"rest": "at rest", "cycle": "in a cycle", "limit": "still moving"}
