"""`dpmarket collect`: the learner's program takes in answers and writes the next question, and in the end the model."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from learning.errors import InputError
from scenarios.command.options import ContractArg

USELESS, WAITING = 3, 4  # statuses: answers that cannot be used hold it up; answers are missing, and nothing is wrong
EVERY = 0.5  # seconds


def collect(
    contract: ContractArg,
    answers: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[ANSWERS]...", help="Answers that came, or the exchange's folder; at first none."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The exchange's folder [default: the one among ANSWERS, else the contract's]."),
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="Go on without who is missing, where the contract says so; they stay out.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Use this owner's answer though its numbers are suspicious."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Take in each answer as it comes, until the model is made.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.05, max=3600, help="Seconds between two looks, with --follow.")] = EVERY,
) -> int:
    """Check the owners' answers, weigh them, step, and write the next question; or the model with its claims.

    Exit status 0: the next question was written, or the model is there. 4: it waits for answers. 3: answers came that it
    cannot use, or whose numbers are suspicious, and it waits for others. 2: refused; nothing was written.
    """
    from learning.exchange.contract import read_contract
    from scenarios.command.collect_printed import Printed
    from scenarios.exchange import collecting, following

    agreed, given = read_contract(contract), answers or []
    folders = [one for one in given if one.is_dir()]
    folder = out or (folders[0] if folders else contract.parent)
    for name in accept or []:
        agreed.owner(name)
    if follow and close and agreed.missing.hours is None:
        remedy = "Give --close alone, when it is time."
        raise InputError("--close", "goes with --follow only where the contract gives owners hours", "none", remedy)
    elsewhere = [one for one in given if one.resolve() != folder.resolve()]
    came = collecting.read_answers(agreed, elsewhere)  # before anything is written
    collecting.prepare(agreed, folder)
    collecting.admit(came, folder)
    printed, accepted = Printed(agreed, folder), accept or ()
    step = collecting.proceed(agreed, folder, close=close and not follow, accepted=accepted, now=datetime.now(UTC))
    printed.say(step)
    if follow:
        said, held = printed.say, printed.hold
        step = following.follow(agreed, folder, step, close=close, accepted=accepted, every=every, said=said, held=held)
    if step.done or step.wrote is not None:
        return 0
    return USELESS if step.useless else WAITING
