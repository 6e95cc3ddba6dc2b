"""The learner's program at work: it takes in answers as they come, until the model is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from learning.errors import InputError
from learning.exchange.canonical import read
from learning.exchange.contract import Contract
from scenarios.exchange.collecting import Step, files_in, proceed
from scenarios.exchange.folder import CONTRACT, POLL

PATIENCE = 60.0  # seconds that the folder may be away, or a file in it be half there


def follow(
    contract: Contract,
    folder: Path,
    step: Step,
    *,
    close: bool = False,
    accepted: Collection[str] = (),
    every: float = POLL,
    said: Callable[[Step], object],
    held: Callable[[str], object] = lambda why: None,
) -> Step:
    """Look at the exchange's folder until the model is there; returns the last step.

    Parameters
    ----------
    contract: what was agreed.
    folder: the exchange's.
    step: how far it is.
    close: whether to go on without owners that are missing as soon as their time is over.
    accepted: owners whose suspicious answers count.
    every: seconds between two looks.
    said: called with each step.
    held: called with what keeps it from one, as often as it does.

    Raises
    ------
    InputError
        As `collecting.proceed`, where that lasts longer than `PATIENCE`.
    """
    before, well = None, time.monotonic()
    while not step.done:
        now = datetime.now(UTC)
        late = close and step.open is not None and step.open.expired(now)
        try:
            seen = files_in(folder)
            if seen != before or late:
                _check_there(contract, folder)
                step = proceed(contract, folder, close=late, accepted=accepted, now=now)
                said(step)
        except (InputError, OSError) as error:
            if time.monotonic() > well + PATIENCE:
                raise
            held(f"{error} It is looked for again, for {PATIENCE:.0f} seconds.")
            before = None
            time.sleep(every)
            continue
        before, well = seen, time.monotonic()
        if step.wrote is None:
            time.sleep(every)
    return step


def _check_there(contract: Contract, folder: Path) -> None:
    """Refuse a folder without the contract: where a disk is not mounted there is an empty one, for no first question."""
    if read(folder / CONTRACT) != contract.raw:
        raise InputError(str(folder / CONTRACT), "must be this contract", "another one")
