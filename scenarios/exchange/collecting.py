"""What the learner's program does with the exchange's folder: files in, the next question or the model out.

All that it knows it reads from the folder each time; what it writes is written whole, once, and never over another file.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from learning.errors import InputError
from learning.exchange.canonical import digest, lock, put, read
from learning.exchange.closing import Closing, read_closing
from learning.exchange.collector import Collected, collect
from learning.exchange.contract import Contract
from learning.exchange.messages import Answer, Query, read_answer, utc
from learning.training.model import Model
from scenarios.exchange.folder import (
    CLOSING,
    CONTRACT,
    MODEL,
    REPLY,
    Fault,
    answer_name,
    finished,
    names_in,
    put_new,
    query_name,
    read_folder,
)
from scenarios.model_file import HandedOver, to_json

UNFINISHED = re.compile(r"\.([0-9a-f]{16}|[A-Za-z0-9.-]+\.json\.[A-Za-z0-9_.-]+)\.part")
YOUNG = 1.0  # seconds within which a file that is written may not be locked yet
OLD = 60.0  # seconds after which nobody is still writing a file
STANDS = "Put back the files as they were, or begin anew in another folder, under another contract."


@dataclass(frozen=True)
class Step:
    """How far an exchange is after one look at its folder.

    Parameters
    ----------
    found: what questions and answers say; None where the model had been there before.
    wrote: the file that was written: a question or the model; None where there was nothing to write yet.
    open: the question that is answered now; None when the model is made.
    faults: files of owners that are no answers.
    """

    found: Collected | None
    wrote: str | None
    open: Query | None
    faults: tuple[Fault, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the model is there."""
        return self.open is None

    @property
    def useless(self) -> bool:
        """Whether answers that came, to the open question or to none, cannot be used, so that waiting alone is no help."""
        if self.found is None or self.open is None:
            return False
        rounds = [one.round for one in self.found.told]
        rounds += [int(found[1]) for found in (REPLY.fullmatch(fault.name) for fault in self.faults) if found]
        return bool(self.found.doubted) or any(number >= self.open.round for number in rounds)


def read_answers(contract: Contract, given: Sequence[Path]) -> dict[Path, Answer]:
    """Read answers from files, or from a folder all that have the names of answers.

    Raises
    ------
    InputError
        If one cannot be read, or is of another contract or of nobody in it.
    """
    found = {}
    for path in (one for name in given for one in _answers_in(name)):
        found[path] = read_answer(path)
        _check_answer(contract, found[path], path)
    return found


def admit(answers: Mapping[Path, Answer], folder: Path) -> list[str]:
    """Lay answers into the exchange's folder, each under its own name.

    Returns
    -------
    The names of those that were not there yet.

    Raises
    ------
    InputError
        If another answer of an owner to this round is there. What came before it is in the folder then, and nothing of the
        rest.
    """
    admitted = []
    for path, answer in answers.items():
        name = answer_name(answer.round, answer.owner)
        if put_new(folder / name, answer.raw):
            admitted.append(name)
        elif read(folder / name) != answer.raw:
            rule = f"must be {answer.owner}'s one answer to round {answer.round}"
            remedy = "Ask its owner which it gave, and take the other one away."
            raise InputError(str(path), rule, f"another one in {folder / name}", remedy)
    return admitted


def _answers_in(place: Path) -> list[Path]:
    return [place / name for name in names_in(place) if REPLY.fullmatch(name)] if place.is_dir() else [place]


def _check_answer(contract: Contract, answer: Answer, path: Path) -> None:
    if answer.contract != contract.digest:
        rule, found = f"must be of this contract, {contract.digest[:16]}", f"one of {answer.contract[:16]}"
        raise InputError(str(path), rule, found)
    contract.owner(answer.owner)


def prepare(contract: Contract, folder: Path) -> None:
    """Make the exchange's folder, with the contract in it; refused where another contract lies there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(folder), "must be a folder", error.strerror or "an error") from None
    _clear(folder)
    place = folder / CONTRACT
    if not place.exists():
        put_new(place, contract.raw)
    if read(place) != contract.raw:
        raise InputError(str(place), "must be this contract", "another one", "Use another folder.")


def _clear(folder: Path) -> None:
    """Take away what programs that were killed while they wrote have left."""
    for name in names_in(folder):
        if UNFINISHED.fullmatch(name):
            with suppress(OSError):  # of another user, or gone
                if _is_left(folder / name):
                    (folder / name).unlink()


def _is_left(path: Path) -> bool:
    """Whether nobody writes a file any more: its writer's lock is gone, or it is old where files cannot be locked."""
    with path.open("rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        return age > (YOUNG if lock(file.fileno()) else OLD)


def proceed(
    contract: Contract, folder: Path, *, close: bool = False, accepted: Collection[str] = (), now: datetime
) -> Step:
    """Look at the exchange's folder and write what follows: the next question, the model, or nothing yet.

    Parameters
    ----------
    contract: what was agreed.
    folder: the exchange's; `prepare` has made it.
    close: whether to go on without the owners that are missing; refused before the time of the question is over.
    accepted: owners whose suspicious answers count.
    now: the time, with its zone.

    Raises
    ------
    InputError
        If a file of the learner's own is not what follows from the others, the disk refuses, or the contract does not let
        the learner go on. Nothing was written then.
    """
    closing = read_closing(folder / CLOSING) if (folder / CLOSING).exists() else None
    if finished(folder):
        _check_model(folder, closing)
        return Step(None, None, None)
    queries, answers, faults = read_folder(folder, contract)
    if contract.missing.rule == "without":
        _check_own([folder / query_name(query.round) for query in queries] + [folder / CLOSING] * (closing is not None))
    found = collect(contract, queries, answers, accepted=accepted, closing=closing)
    if close:
        if found.missing:
            _check_time(queries[-1], now)
        found = collect(contract, queries, answers, close=True, accepted=accepted, closing=closing)
    if found.query is None:
        _write_model(contract, folder, queries[-1], found, closing)
        return Step(found, MODEL, None, tuple(faults))
    if found.query.round <= len(queries):
        return Step(found, None, found.query, tuple(faults))
    hours = contract.missing.hours
    query = replace(found.query, until=None if hours is None else utc(now + timedelta(hours=hours)))
    name = query_name(query.round)
    if not put_new(folder / name, query.raw):
        raise InputError(str(folder / name), "must not be there yet", "one of another program at work", "Try again.")
    return Step(found, name, query, tuple(faults))


def _check_own(paths: Sequence[Path]) -> None:
    """Refuse what another user wrote in the learner's name: it could leave out owners whose answers are there."""
    if sys.platform == "win32":
        return
    for path in paths:
        if (user := path.stat().st_uid) != os.getuid():
            remedy = "If it is yours, run this as that user. If not, take it away, and let others write answers only."
            raise InputError(str(path), "must be a file of the learner's own", f"one of user {user}", remedy)


def _check_time(query: Query, now: datetime) -> None:
    """Refuse to go on without anybody whose time to answer is not over."""
    if query.until is not None and not query.expired(now):
        raise InputError("--close", "must wait until the time that owners were given is over", query.until)


def _check_model(folder: Path, closing: Closing | None) -> None:
    """Refuse a model that is not the one that the exchange ended with."""
    place = folder / MODEL
    if closing is None:
        raise InputError(str(place), f"must have its {CLOSING} beside it", "none", STANDS)
    if digest(read(place)) != closing.model:
        raise InputError(str(place), "must be the one that the exchange ended with", "another one", STANDS)


def _write_model(contract: Contract, folder: Path, last: Query, found: Collected, closing: Closing | None) -> None:
    """Lay down which answers the model is made from, and then the model: who is killed between them goes on from there."""
    raw = to_json(handed_over(contract, found)).encode()
    told = {name: answer.digest for name, answer in found.used[-1].items()}
    ending = Closing(contract.digest, last.digest, told, digest(raw))
    if closing is None and not put_new(folder / CLOSING, ending.raw):
        raise InputError(str(folder / CLOSING), "must not be there yet", "one of another program at work", "Try again.")
    if closing is not None and closing.raw != ending.raw:  # a model of another processor's last digits, never laid down
        put(folder / CLOSING, ending.raw)
    put_new(folder / MODEL, raw)


def handed_over(contract: Contract, found: Collected) -> HandedOver:
    """The model of an exchange that is done, with the claims of those whose answers are in it."""
    assert found.phi is not None
    coordinates, labels = contract.coordinates, contract.columns.target.labels
    model = Model(contract.encoder, coordinates.loss, coordinates.model(found.phi))
    claims = tuple(claim for claim in contract.claims if claim["party"] in found.owners)
    named = None if labels is None else (labels[0], labels[1])
    return HandedOver(model, named, found.owners, claims, contract.forecast.basis)


def files_in(folder: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of the files in a folder: another list where there is something new to look at."""
    seen = []
    for name in names_in(folder):
        with suppress(OSError):
            found = (folder / name).stat()
            seen.append((name, found.st_size, found.st_mtime_ns))
    return seen
