"""Arguments and options of the commands of an exchange."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _option(help: str, *names: str, **rules: Any) -> Any:
    return typer.Option(*names, help=help, **rules)


def _argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help)


ContractArg = Annotated[Path, _argument("CONTRACT", "The contract that all parties signed.")]
OwnerOption = Annotated[
    str, _option("Who it is, as the contract calls it.", "--owner", metavar="NAME")
]
TableOption = Annotated[
    Path,
    _option("The owner's own records, with the columns of the contract.", "--data", metavar="FILE"),
]
LedgerOption = Annotated[
    Path, _option("What the owner has answered; on a disk that stays.", "--ledger", metavar="FILE")
]
MaxEpsilon = Annotated[
    float | None,
    _option(
        "The most that all contracts about these records may spend [default: "
        "3, or what was accepted].",
        "--max-epsilon",
        metavar="EPSILON",
    ),
]
MaxDelta = Annotated[
    float | None,
    _option(
        "The same for delta [default: 1/(10 n) of n records, at most 1e-4; or what was accepted].",
        "--max-delta",
        metavar="DELTA",
    ),
]
PollOption = Annotated[
    float, _option("Seconds between two looks, with --follow.", min=0.05, max=3600)
]
ContractFile = Annotated[Path, _argument("CONTRACT", "The contract of the exchange.")]
QueryArg = Annotated[
    Path, _argument("QUERY", "A question; or the exchange's folder, whose latest is answered.")
]
AnswerOut = Annotated[Path | None, _option("The answer's file [default: beside the question].")]
DryRun = Annotated[
    bool, _option("Say what would be lost and earned; answer and charge nothing.", "--dry-run")
]
FollowQuestions = Annotated[
    bool, _option("Answer each question as it comes, until the last or the model.", "--follow")
]
SoldBefore = Annotated[
    bool,
    _option(
        "Accept although these records were accepted elsewhere: budgets add up.", "--sold-before"
    ),
]
StatementOut = Annotated[
    Path | None, _option("The statement's file [default: by the owner's name].", metavar="PATH")
]
AnswersArg = Annotated[
    list[Path] | None,
    _argument("[ANSWERS]...", "Answers that came, or the exchange's folder; at first none."),
]
FolderOut = Annotated[
    Path | None,
    _option("The exchange's folder [default: the one among ANSWERS, else the contract's]."),
]
Close = Annotated[
    bool,
    _option("Go on without who is missing, where the contract says so; they stay out.", "--close"),
]
AcceptName = Annotated[
    list[str] | None,
    _option("Use this owner's answer though its numbers are suspicious.", metavar="NAME"),
]
FollowAnswers = Annotated[
    bool, _option("Take in each answer as it comes, until the model is made.", "--follow")
]
ResultArg = Annotated[
    str, _argument("RESULT", "A result folder; or the word show, and a contract to be shown.")
]
ShownContract = Annotated[Path | None, _argument("[CONTRACT]", "The contract to be shown.")]
ContractOut = Annotated[Path, _option("The file to be signed.")]
Missing = Annotated[
    str,
    _option(
        "When an owner does not answer: wait for it, or without it, as long as "
        "enough have answered."
    ),
]
AtLeast = Annotated[
    int | None, _option("How many must answer, with --missing without [default: more than half].")
]
Hours = Annotated[
    float | None,
    _option("How long a question is answered, with --missing without [default: always]."),
]
RecordsName = Annotated[
    str | None,
    _option("What ledgers call the records [default: the name of the scenario's table]."),
]
Force = Annotated[bool, _option("Write over another contract.", "--force")]
RehearsalOut = Annotated[
    Path | None, _option("Folder of the rehearsal [default: exchanges/NAME, changes in its name].")
]
Repeat = Annotated[int, _option("How many exchanges, each with new ledgers.", min=1, max=1000)]
OverFlower = Annotated[
    bool,
    _option("Over Flower on this machine, not a folder; needs the extra federated.", "--flower"),
]
FolderArg = Annotated[
    Path | None, _argument("FOLDER", "The exchange's folder [default: the contract's].")
]
PublicRows = Annotated[
    Path | None,
    _option("The learner's own rows that the plan was made with, to judge by.", metavar="FILE"),
]
AsideRows = Annotated[
    Path | None,
    _option("Rows of the learner that had no part in the plan, in their place.", metavar="FILE"),
]
StatementFiles = Annotated[
    list[Path] | None, _option("What an owner's ledger says; may be repeated.", metavar="FILE")
]
Unfinished = Annotated[
    bool, _option("Settle what was delivered although there is no model yet.", "--unfinished")
]
StatedOwner = Annotated[
    str | None,
    _option("Write this owner's statement, out of its --ledger, and no more.", metavar="NAME"),
]
StatedLedger = Annotated[Path | None, _option("The owner's ledger.", metavar="FILE")]
SettlementOut = Annotated[
    Path | None,
    _option(
        "Folder of settlement.json and settlement.html [default: FOLDER]; of a statement its file.",
        metavar="PATH",
    ),
]
