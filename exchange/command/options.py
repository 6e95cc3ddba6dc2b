"""Options that several commands of an exchange have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

EVERY = 0.5  # seconds between two looks
ContractArg = Annotated[
    Path, Argument(metavar="CONTRACT", help="The contract that all parties signed.")
]
OwnerOption = Annotated[
    str, Option("--owner", metavar="NAME", help="Who it is, as the contract calls it.")
]
LedgerOption = Annotated[
    Path,
    Option("--ledger", metavar="FILE", help="What the owner has answered; on a disk that stays."),
]
PollOption = Annotated[
    float, Option(min=0.05, max=3600, help="Seconds between two looks, with --follow.")
]


@dataclass(frozen=True)
class OwnSide:
    """Records of an owner, its name and its ledger."""

    data: Annotated[
        Path,
        Option(metavar="FILE", help="The owner's own records, with the columns of the contract."),
    ]
    owner: OwnerOption
    ledger: LedgerOption


@dataclass(frozen=True)
class Limits:
    """The most that an owner loses by all contracts."""

    max_epsilon: Annotated[
        float | None,
        Option(
            metavar="EPSILON",
            help="The most that all contracts about these records may spend "
            "[default: 3, or what was accepted].",
        ),
    ] = None
    max_delta: Annotated[
        float | None,
        Option(
            metavar="DELTA",
            help="The same for delta [default: 1/(10 n) of n records, at most 1e-4; "
            "or what was accepted].",
        ),
    ] = None
