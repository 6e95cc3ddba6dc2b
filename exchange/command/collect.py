"""`dpmarket collect`: the learner takes in answers and writes the next question, or the model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exchange.command.options import (
    AcceptName,
    AnswersArg,
    Close,
    ContractArg,
    FolderOut,
    FollowAnswers,
    PollOption,
)
from exchange.terminal import Terminal
from learning.errors import InputError
from learning.phrases import escape_control

if TYPE_CHECKING:
    from exchange.contract import Contract
    from exchange.learner.collecting import Step
    from exchange.learner.collector import Collected

STUCK = 3  # status: answers that cannot be used hold it up
WAITING = 4  # status: answers are missing, and nothing is wrong
EVERY = 0.5  # seconds


def collect(
    contract: ContractArg,
    answers: AnswersArg = None,
    out: FolderOut = None,
    close: Close = False,
    accept: AcceptName = None,
    follow: FollowAnswers = False,
    every: PollOption = EVERY,
) -> int:
    """Check the owners' answers, weigh them, step, and write the next question; or the model with
    its claims.

    Exit status 0: the next question was written, or the model is there. 4: it waits for answers. 3:
    answers came that it cannot use, or whose numbers are suspicious, and it waits for others. 2:
    refused; nothing was written.
    """
    from exchange.contract import read_contract
    from exchange.learner import collecting

    agreed = read_contract(contract)
    given = answers or []
    accepted = accept or []
    folders = [place for place in given if place.is_dir()]
    folder = out or next(iter(folders), contract.parent)
    for name in accepted:
        agreed.owner(name)
    if follow and close and agreed.missing.hours is None:
        rule = "goes with --follow only where the contract gives owners hours"
        raise InputError("--close", rule, "none", "Give --close alone, when it is time.")
    elsewhere = [place for place in given if place.resolve() != folder.resolve()]
    came = collecting.read_answers(agreed, elsewhere)  # before anything is written
    collecting.prepare_folder(agreed, folder)
    collecting.admit_answers(came, folder)
    printer = StepPrinter(agreed, folder)
    look = partial(collecting.take_step, agreed, folder, accepted=accepted)
    step = look(close=close and not follow, now=datetime.now(UTC))
    printer.print_step(step)
    if follow:
        follow_on = partial(collecting.follow_exchange, agreed, folder, step, accepted=accepted)
        said = printer.print_step
        step = follow_on(close=close, every=every, said=said, held=printer.print_once)
    if step.is_done or step.wrote is not None:
        return 0
    return STUCK if step.is_stuck else WAITING


class StepPrinter:
    """Prints one look after another, without the lines that were printed before.

    Parameters
    ----------
    contract: the contract.
    folder: the exchange's.
    """

    def __init__(self, contract: Contract, folder: Path) -> None:
        self.contract = contract
        self.folder = folder
        self.terminal = Terminal()
        self.printed = set[str]()
        self.asked = 0

    def print_step(self, step: Step) -> None:
        """Print the news; a question without answers is none just after it was written."""
        found = step.found
        query = step.open
        if step.wrote is not None and query is not None:
            self.asked = query.round
        elif found is not None and query is not None and query.round == self.asked:
            notices = step.unreadable or any(one.round == query.round for one in found.told)
            if found.missing == query.asked and not notices:
                return
        for line in step_lines(self.contract, self.folder, step):
            self.print_once(line)

    def print_once(self, line: str) -> None:
        """Print a line unless it was printed before."""
        if line not in self.printed:
            self.terminal.say(escape_control(line))
            self.printed.add(line)


def step_lines(contract: Contract, folder: Path, step: Step) -> Iterator[str]:
    """Describe a step, a sentence a line."""
    from exchange.folder import MODEL

    yield from (f"{one.reason} It is not used." for one in step.unreadable)
    found = step.found
    query = step.open
    if found is None:
        yield f"{folder / MODEL} is there: the exchange has ended."
        return
    yield from (f"{told}." for told in found.told)
    for name in found.doubted:
        doubt = f"{name}'s answer is not used: its numbers are suspicious."
        yield f"{doubt} With --accept it is used all the same."
    if step.wrote is not None and found.used:
        yield used_words(contract, found)
    if query is None:
        owners = ", ".join(found.owners)
        yield f"The model is in {folder / MODEL}, made from the answers of {owners}."
        yield claim_words(contract, found)
    elif step.wrote is None:
        yield waiting_words(contract, found)
    else:
        until = f", until {query.until}" * bool(query.until)
        question = f"question {query.round} of {contract.rounds} is in {folder / step.wrote}"
        yield f"{question}, for {', '.join(query.asked)} to answer{until}."


def used_words(contract: Contract, found: Collected) -> str:
    """Describe the answers of the last step, and the noise in their mean."""
    from exchange.learner.collector import noise_in_mean

    number = len(found.used)
    names = tuple(found.used[-1])
    noise = noise_in_mean(contract, names, number)
    answers = f"round {number}: answers of {', '.join(names)}"
    words = f"{answers}; noise of {noise:.3g} on each number of their mean"
    if names == contract.names:
        return f"{words}."
    gone = ", ".join(name for name in contract.names if name not in names)
    whole = noise_in_mean(contract, contract.names, number)
    return f"{words}, {whole:.3g} if everybody had answered. Left out: {gone}."


def waiting_words(contract: Contract, found: Collected) -> str:
    """Describe the missing answers and the remedy."""
    assert found.query is not None
    query = found.query
    rule = contract.missing
    came = len(query.asked) - len(found.missing)
    answers = f"round {query.round} of {contract.rounds}: {came} of {len(query.asked)} answers"
    words = f"{answers}; waiting for {', '.join(found.missing)}"
    if rule.rule == "wait":
        return f"{words}: the contract waits for everybody."
    if came < rule.at_least:
        return f"{words}: the contract asks for {rule.at_least} answers at least."
    after = f" after {query.until}" if query.until else ""
    return f"{words}; --close goes on without{after}."


def claim_words(contract: Contract, found: Collected) -> str:
    """Describe the claims of the model."""
    sold = {owner.name: owner.epsilon for owner in contract.owners}
    promised = ", ".join(f"{sold[name]:.4g} ({name})" for name in found.owners)
    delta = f", delta {contract.noise.delta:g}" if contract.noise.delta else ""
    claimed = "Claimed of it, as of all answers together"
    return f"{claimed}: epsilon {promised}{delta}; no simulation."
