"""`dpmarket collect`: the learner takes in answers and writes the next question, or the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from exchange.command.options import EVERY, ContractArg, KeyOption, PollOption
from learning.errors import InputError
from learning.phrases import escape_control, join_words
from learning.program import declare_command
from learning.terminal import Terminal

if TYPE_CHECKING:
    from exchange.contract import Contract
    from exchange.learner.collecting import Step
    from exchange.learner.collector import Collected

STUCK = 3  # status: answers that cannot be used hold it up
WAITING = 4  # status: answers are missing, and nothing is wrong


@dataclass(frozen=True, kw_only=True)
class Taking:
    """Which answers are taken in, and when.

    Parameters
    ----------
    close : Go on without missing owners if the contract allows it; they stay out.
    accept NAME : Use this owner's answer although its numbers are suspicious.
    follow : Take in each new answer until the model is made.
    """

    close: bool = False
    accept: list[str] | None = None
    follow: bool = False
    every: PollOption = EVERY

    def check(self, contract: Contract) -> None:
        """Refuse owners that the contract does not have, and to close without a time to do it."""
        for name in self.accept or []:
            contract.owner(name)
        if self.follow and self.close and contract.missing.hours is None:
            rule = "can be used with --follow only if the contract sets hours for answers"
            remedy = "Use --close alone when you want to close the round."
            raise InputError("--close", rule, "none", remedy)


@declare_command
def collect(
    contract: ContractArg,
    answers: list[Path] | None = None,
    *,
    out: Path | None = None,
    taking: Taking,
    public: Path | None = None,
    key: KeyOption = None,
) -> int:
    """Check and combine the owners' answers, and write the next question or the model.

    Exit status 0: the next question or the model was written. 4: answers are missing. 3: an answer
    is unusable or suspicious, and others are missing. 2: the input was refused and nothing was
    written.

    Parameters
    ----------
    answers [ANSWERS]... : Received answers, or the exchange's folder; none at first.
    out : The exchange's folder [default: the one among ANSWERS, else the contract's].
    public FILE : The learner's own rows. If the model is clearly worse on them than guessing or the
        learner's own model, the own model is handed over instead.
    """
    from exchange.contract import open_key, read_contract

    agreed = read_contract(contract)
    own_key = open_key(key, agreed, None)
    taking.check(agreed)
    given = answers or []
    folders = [place for place in given if place.is_dir()]
    folder = out or next(iter(folders), contract.parent)
    came = [place for place in given if place.resolve() != folder.resolve()]
    rows = None
    if public is not None:
        from exchange.learner.seen import read_public_records

        rows = read_public_records(public, agreed, "--public")

    def take(closes: bool, now: datetime) -> Step:
        from exchange.learner.collecting import take_step

        return take_step(
            agreed,
            folder,
            close=closes,
            accepted=taking.accept or [],
            now=now,
            rows=rows,
            key=own_key,
        )

    step = _collect_answers(agreed, folder, came, take, taking.close, taking.every * taking.follow)
    if step.is_done or step.wrote is not None:
        return 0
    if step.is_stuck:
        return STUCK
    return WAITING


def _collect_answers(
    contract: Contract,
    folder: Path,
    came: list[Path],
    take: Callable[[bool, datetime], Step],
    close: bool,
    every: float,
) -> Step:
    """Take answers into a folder, then the next step; those after it too, unless ``every`` is 0."""
    from exchange.learner import collecting

    read = collecting.read_answers(contract, came)  # before anything is written
    collecting.prepare_folder(contract, folder)
    collecting.admit_answers(read, folder)
    printer = StepPrinter(contract, folder)
    step = take(close and not every, datetime.now(UTC))
    printer.print_step(step)
    if not every:
        return step
    return collecting.follow_exchange(
        contract,
        folder,
        step,
        take=take,
        close=close,
        every=every,
        said=printer.print_step,
        held=printer.print_once,
    )


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
        """Print what is new; that a question just written has no answers yet is nothing new."""
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
        yield f"{folder / MODEL} exists, so the exchange has ended."
        return
    yield from (f"{told}." for told in found.told)
    for name in found.doubted:
        doubt = f"{name}'s answer is not used, because its numbers are suspicious."
        yield f"{doubt} To use it nevertheless, add --accept {name}."
    if step.wrote is not None and found.used and (contract.aggregation is None or query is None):
        yield describe_used(contract, found)
    if found.stopped:
        yield (
            "The gradients in the answers became longer from round to round. In a training that "
            "works they become shorter, so the agreed step sizes do not suit these records. The "
            "training is discarded, and the model is the one that training started from."
        )
    if step.wrote is not None and query is not None and query.round == 1:
        yield from accepted_lines(contract, folder)
    if step.kept:
        yield describe_kept(contract, found, step.kept, folder / MODEL)
    elif query is None:
        owners = ", ".join(found.owners)
        yield f"The model is in {folder / MODEL}. It uses the answers of {owners}."
        yield describe_claims(contract, found)
    elif step.wrote is None:
        yield describe_waiting(contract, found)
    else:
        until = f", until {query.until}" * bool(query.until)
        question = f"Question {query.round} of {contract.rounds} is in {folder / step.wrote}"
        yield f"{question}. {', '.join(query.asked)} may answer it{until}."


def describe_kept(contract: Contract, found: Collected, kept: str, model: Path) -> str:
    """Describe why the learner's own model is handed over."""
    from exchange.learner.buying import decide_by_contract
    from exchange.learner.collecting import ROWS
    from learning.money import format_cents

    if kept == ROWS:
        return (
            f"{model} is the learner's own model, because the trained one is clearly worse on the "
            "public rows than guessing or than the own model."
        )
    decision = decide_by_contract(contract, found)
    assert decision is not None
    unit = contract.currency or ""
    least = format_cents((1 + decision.margin) * decision.payments, unit)
    expected = format_cents(float(decision.expected[0]), unit)
    return (
        f"{model} is the learner's own model. By answers and forecast the trained one is worth "
        f"{expected} more, but the contract asks for {least}."
    )


def accepted_lines(contract: Contract, folder: Path) -> Iterator[str]:
    """Name the owners whose signed acceptance is not in the folder, or that nothing is signed."""
    from exchange.learner.opening import find_accepted
    from exchange.signing import UNSIGNED

    if not contract.is_signed:
        yield UNSIGNED
        return
    accepted = find_accepted(folder, contract)
    lacking = [name for name in contract.names if name not in accepted]
    if lacking:
        yield f"No signed acceptance of {join_words(lacking)} is in {folder} yet."


def describe_used(contract: Contract, found: Collected) -> str:
    """Describe the answers of the last step, and the noise in their mean."""
    from exchange.learner.collector import noise_in_mean

    number = len(found.used)
    names = tuple(found.used[-1]) if contract.aggregation is None else found.owners
    noise = noise_in_mean(contract, names, number)
    answers = f"Round {number}: answers of {', '.join(names)}"
    mean = "mean score" if contract.sums else "mean"
    words = f"{answers}; noise of standard deviation {noise:.3g} on each number of their {mean}"
    if names == contract.names:
        return f"{words}."
    gone = ", ".join(name for name in contract.names if name not in names)
    whole = noise_in_mean(contract, contract.names, number)
    return f"{words} ({whole:.3g} if everybody had answered). Left out: {gone}."


def describe_waiting(contract: Contract, found: Collected) -> str:
    """Describe the missing answers and the remedy."""
    assert found.query is not None
    query = found.query
    rule = contract.missing
    came = len(query.asked) - len(found.missing)
    answers = f"Round {query.round} of {contract.rounds}: {came} of {len(query.asked)} answers"
    words = f"{answers}; waiting for {', '.join(found.missing)}"
    if rule.rule == "wait":
        return f"{words}. The contract waits for everybody."
    if came < rule.at_least:
        return f"{words}. The contract requires at least {rule.at_least} answers."
    after = f" after {query.until}" * bool(query.until)
    return f"{words}. With --close you can go on without the missing answers{after}."


def describe_claims(contract: Contract, found: Collected) -> str:
    """Describe the claims of the model."""
    from exchange.limits import claimed_budget

    sold = {owner.name: owner.epsilon for owner in contract.owners}
    if contract.aggregation is not None:
        sold = {name: claimed_budget(contract, name)[0] for name in contract.names}
    promised = ", ".join(f"{sold[name]:.4g} ({name})" for name in found.owners)
    delta = f", delta {contract.noise.delta:g}" * bool(contract.noise.delta)
    claimed = "Guarantee for the model and all answers together"
    return f"{claimed}: epsilon {promised}{delta}. This is not a simulation."
