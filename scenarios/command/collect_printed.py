"""What the learner's program says: the round, who is waited for, what is told of owners, the noise, the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from learning.exchange.collector import Collected, noise_in_mean
from learning.exchange.contract import Contract
from scenarios.command.terminal import Terminal
from scenarios.exchange.collecting import Step
from scenarios.exchange.folder import MODEL
from scenarios.schema.toml import visible


class Printed:
    """Says of one look after another what was not said yet.

    Parameters
    ----------
    contract: what was agreed.
    folder: the exchange's.
    """

    def __init__(self, contract: Contract, folder: Path) -> None:
        self.contract, self.folder = contract, folder
        self.terminal, self.said, self.asked = Terminal(), set[str](), 0

    def say(self, step: Step) -> None:
        """Print what is new; that nobody has answered a question yet is nothing new just after it was written."""
        found, query = step.found, step.open
        if step.wrote is not None and query is not None:
            self.asked = query.round
        elif found is not None and query is not None and query.round == self.asked:
            told = step.faults or any(one.round == query.round for one in found.told)
            if found.missing == query.asked and not told:
                return
        for line in lines(self.contract, self.folder, step):
            self._once(line)

    def hold(self, why: str) -> None:
        """Print what keeps it from looking."""
        self._once(why)

    def _once(self, line: str) -> None:
        if line not in self.said:
            self.terminal.say(visible(line))
            self.said.add(line)


def lines(contract: Contract, folder: Path, step: Step) -> Iterator[str]:
    """What is to say of a step, a sentence a line."""
    yield from (f"{fault.said} It is not used." for fault in step.faults)
    found, query = step.found, step.open
    if found is None:
        yield f"{folder / MODEL} is there: the exchange has ended."
        return
    yield from (f"{told}." for told in found.told)
    for name in found.doubted:
        yield f"{name}'s answer is not used: its numbers are suspicious. With --accept it is used all the same."
    rounds = contract.rounds
    if step.wrote is not None and found.used:
        yield used(contract, found)
    if query is None:
        yield from ended(contract, folder, found)
    elif step.wrote is not None:
        until = "" if query.until is None else f", until {query.until}"
        who = ", ".join(query.asked)
        yield f"question {query.round} of {rounds} is in {folder / step.wrote}, for {who} to answer{until}."
    else:
        yield waiting(contract, found)


def used(contract: Contract, found: Collected) -> str:
    """Whose answers the last step was made from, and how much noise was in their mean."""
    number, names = len(found.used), tuple(found.used[-1])
    noise = noise_in_mean(contract, names, number)
    told = f"round {number}: answers of {', '.join(names)}; noise of {noise:.3g} on each number of their mean"
    if names == contract.names:
        return f"{told}."
    gone = ", ".join(name for name in contract.names if name not in names)
    return f"{told}, {noise_in_mean(contract, contract.names, number):.3g} if everybody had answered. Left out: {gone}."


def waiting(contract: Contract, found: Collected) -> str:
    """Who is waited for, and what may be done about it."""
    assert found.query is not None
    query, rule = found.query, contract.missing
    came, left = len(query.asked) - len(found.missing), ", ".join(found.missing)
    told = f"round {query.round} of {contract.rounds}: {came} of {len(query.asked)} answers; waiting for {left}"
    if rule.rule == "wait":
        return f"{told}: the contract waits for everybody."
    if came < rule.at_least:
        return f"{told}: the contract asks for {rule.at_least} answers at least."
    after = "" if query.until is None else f" after {query.until}"
    return f"{told}; --close goes on without{after}."


def ended(contract: Contract, folder: Path, found: Collected) -> Iterator[str]:
    """Where the model is, and what is claimed of it."""
    yield f"The model is in {folder / MODEL}, made from the answers of {', '.join(found.owners)}."
    sold = {owner.name: owner.epsilon for owner in contract.owners}
    promised = ", ".join(f"{sold[name]:.4g} ({name})" for name in found.owners)
    delta = f", delta {contract.noise.delta:g}" if contract.noise.delta else ""
    yield f"Claimed of it, as of all answers together: epsilon {promised}{delta}; no simulation."
