"""Options that several commands of an exchange have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

EVERY = 0.5  # seconds between two looks at a folder
ContractArg = Annotated[
    Path, Argument(metavar="CONTRACT", help="The contract that all parties signed.")
]
OwnerOption = Annotated[str, Option(metavar="NAME", help="The owner's name in the contract.")]
LedgerOption = Annotated[
    Path, Option(metavar="FILE", help="The owner's ledger, on a permanent disk.")
]
KeyOption = Annotated[
    Path | None,
    Option(metavar="FILE", help="One's own key, by dpmarket key; if the exchange is signed."),
]
PollOption = Annotated[
    float, Option(min=0.05, max=3600, help="Seconds between two checks, with --follow.")
]


@dataclass(frozen=True, kw_only=True)
class OwnSide:
    """Records of an owner, its name and its ledger.

    Parameters
    ----------
    data FILE : The owner's own records, with the columns of the contract.
    """

    data: Path
    owner: OwnerOption
    ledger: LedgerOption
    key: KeyOption = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that an owner loses by all contracts.

    Parameters
    ----------
    max_epsilon EPSILON : The most that all contracts about these records may spend
        [default: 3, or what was accepted].
    max_delta DELTA : The same for delta
        [default: 1/(10 n) of n records, at most 1e-4; or what was accepted].
    """

    max_epsilon: float | None = None
    max_delta: float | None = None
