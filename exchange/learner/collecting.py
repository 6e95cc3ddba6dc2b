"""The learner's program in the exchange's folder: answers in, the next question or the model out.

All its state is in the folder. It writes whole files, once, and never over another file.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from exchange.contract import Contract
from exchange.folder import (
    CLOSING,
    CONTRACT,
    MODEL,
    REPLY,
    answer_name,
    find_closing,
    has_model,
    list_names,
    query_name,
    write_new,
)
from exchange.learner.buying import decide_by_contract, fails_on_rows
from exchange.learner.collector import Collected, collect_answers
from exchange.learner.opening import UnreadableFile, find_opening, read_opened
from exchange.messages import Answer, Closing, Query, open_for, read_answer, sign_message
from exchange.owner.table import Records
from exchange.signing import PartyKey
from learning.arrays import Array
from learning.canonical import lock_file, read_bytes, sha256_digest, write_atomically
from learning.errors import InputError, describe_system_error
from learning.losses.coordinates import Coordinates
from learning.training.model import Model
from scenarios.model_file import HandedOver, to_json

UNFINISHED = re.compile(r"\.([0-9a-f]{16}|[A-Za-z0-9.-]+\.json\.[A-Za-z0-9_.-]+)\.part")
YOUNG = 1.0  # seconds within which a file that is written may not be locked yet
OLD = 60.0  # seconds after which no program is still writing a file
PATIENCE = 60.0  # seconds that the folder may be away, or a file in it be half there
STANDS = "Put back the files as they were, or begin anew in another folder, under another contract."
NOT_YET = "must not exist yet"
AT_WORK = "a file of another program that is running"
RULE = "rule"  # the contract's rule of buying it
ROWS = "rows"  # the learner's own rows, which speak against the trained model


@dataclass(frozen=True)
class Step:
    """The state of an exchange after one look at its folder.

    Parameters
    ----------
    found: the state of questions and answers; None where the model was there before.
    wrote: the file that was written: a question or the model; None where there was nothing to write
        yet.
    open: the question that waits for answers; None when the model is made.
    unreadable: files of owners that are no answers.
    kept: why the learner's own model is handed over in place of the trained one: ``RULE`` or
        ``ROWS``; empty where it is not.
    """

    found: Collected | None
    wrote: str | None
    open: Query | None
    unreadable: tuple[UnreadableFile, ...] = ()
    kept: str = ""

    @property
    def is_done(self) -> bool:
        """True when the model is there."""
        return self.open is None

    @property
    def is_stuck(self) -> bool:
        """True where answers to the open question cannot be used, so that waiting is no help."""
        if self.found is None or self.open is None:
            return False
        names = filter(None, (REPLY.fullmatch(one.name) for one in self.unreadable))
        rounds = [one.round for one in self.found.told] + [int(name[1]) for name in names]
        return bool(self.found.doubted) or any(number >= self.open.round for number in rounds)


def read_answers(contract: Contract, given: Sequence[Path]) -> dict[Path, Answer]:
    """Read answers from files, or from a folder all that have the names of answers.

    Raises
    ------
    InputError
        If one cannot be read, or is of another contract or of no owner in it.
    """
    found = {}
    for place in given:
        paths = [place]
        if place.is_dir():
            paths = [place / name for name in list_names(place) if REPLY.fullmatch(name)]
        for path in paths:
            answer = read_answer(path, contract)
            if answer.contract != contract.digest:
                rule = f"must be of this contract, {contract.digest[:16]}"
                raise InputError(str(path), rule, f"one of {answer.contract[:16]}")
            contract.owner(answer.owner)
            found[path] = answer
    return found


def admit_answers(answers: Mapping[Path, Answer], folder: Path) -> list[str]:
    """Write answers into the exchange's folder, each under its own name.

    Returns
    -------
    The names of those that were not there yet.

    Raises
    ------
    InputError
        If another answer of an owner to this round is there. The answers before it are in the
        folder then, and none after it.
    """
    admitted = []
    for path, answer in answers.items():
        name = answer_name(answer.round, answer.owner)
        if write_new(folder / name, answer.raw):
            admitted.append(name)
        elif read_bytes(folder / name) != answer.raw:
            rule = f"must be {answer.owner}'s one answer to round {answer.round}"
            remedy = "Ask the owner which one it sent, and remove the other."
            raise InputError(str(path), rule, f"another one in {folder / name}", remedy)
    return admitted


def prepare_folder(contract: Contract, folder: Path) -> None:
    """Make the exchange's folder, with the contract; an InputError where it holds another one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(folder), "must be a folder", describe_system_error(error)) from None
    for name in list_names(folder):
        if UNFINISHED.fullmatch(name):
            with suppress(OSError):  # of another user, or gone
                _remove_abandoned(folder / name)
    place = folder / CONTRACT
    if not place.exists():
        write_new(place, contract.raw)
    _check_same_contract(contract, folder, "Use another folder.")


def _remove_abandoned(path: Path) -> None:
    """Remove a part of a file whose writer was killed: its lock is gone, or it is old."""
    with path.open("rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        if age > (YOUNG if lock_file(file.fileno()) else OLD):
            path.unlink()


def _check_same_contract(contract: Contract, folder: Path, remedy: str = "") -> None:
    place = folder / CONTRACT
    if read_bytes(place) != contract.raw:
        raise InputError(str(place), "must be this contract", "another one", remedy)


def take_step(
    contract: Contract,
    folder: Path,
    *,
    close: bool = False,
    accepted: Collection[str] = (),
    now: datetime,
    rows: Records | None = None,
    key: PartyKey | None = None,
) -> Step:
    """Look at the exchange's folder and write the next question, the model, or nothing yet.

    Parameters
    ----------
    contract: the contract.
    folder: the exchange's; `prepare_folder` has made it.
    close: whether to go on without the owners that are missing; refused before the time of the
        question is over.
    accepted: owners whose suspicious answers count.
    now: the time, with its zone.
    rows: the learner's own, on which a model is tried before it is handed over; None to try none.
    key: the learner's; None where the exchange is not signed.

    Raises
    ------
    InputError
        If a file of the learner's own is not what follows from the others, the disk refuses, or the
        contract does not let the learner go on. Nothing was written then.
    """
    closing = find_closing(folder, contract)
    if has_model(folder):
        _check_model(folder, closing)
        return Step(None, None, None)
    given = read_opened(folder, contract, closing, key)
    queries = given.queries
    if contract.missing.rule == "without":
        _check_own_files(folder, queries, closing)

    def collect(close: bool = False) -> Collected:
        return collect_answers(
            contract, queries, given.answers, close=close, accepted=accepted, closing=closing
        )

    found = collect()
    if close:
        if found.missing:
            _check_time(queries[-1], now)
        found = collect(close=True)
    unused = tuple(given.unreadable)
    if found.query is None:
        kept = _write_model(contract, folder, queries[-1], found, closing, rows, key)
        return Step(found, MODEL, None, unused, kept)
    if found.query.round <= len(queries):
        return Step(found, None, found.query, unused)
    query = _ask_question(contract, folder, found.query, now, key)
    return Step(found, query_name(query.round), query, unused)


def _ask_question(
    contract: Contract, folder: Path, query: Query, now: datetime, key: PartyKey | None
) -> Query:
    """Date, sign and write a question."""
    if contract.missing.hours is not None:
        times = open_for(contract.missing.hours, now)
        query = replace(query, issued=times["issued"], until=times["until"])
    asked = sign_message(query, contract, key)
    path = folder / query_name(asked.round)
    if not write_new(path, asked.raw):
        raise InputError(str(path), NOT_YET, AT_WORK, "Try again.")
    return asked


def _check_own_files(folder: Path, queries: Sequence[Query], closing: Closing | None) -> None:
    """Refuse files of another user in the learner's name: they could leave out owners."""
    if sys.platform == "win32":
        return
    names = [query_name(query.round) for query in queries]
    if closing is not None:
        names.append(CLOSING)
    for path in (folder / name for name in names):
        if (user := path.stat().st_uid) != os.getuid():
            remedy = "If it is yours, run this as that user. "
            remedy += "If not, remove it, and let others write answers only."
            rule = "must be a file of the learner's own"
            raise InputError(str(path), rule, f"one of user {user}", remedy)


def _check_time(query: Query, now: datetime) -> None:
    """Refuse to go on without owners whose time to answer is not over."""
    if query.until is not None and not query.has_expired(now):
        rule = "can be used only after the owners' time to answer, which ends later"
        raise InputError("--close", rule, query.until)


def _check_model(folder: Path, closing: Closing | None) -> None:
    """Refuse a model other than the one that the exchange ended with."""
    place = folder / MODEL
    if closing is None:
        raise InputError(str(place), f"must have its {CLOSING} beside it", "none", STANDS)
    if sha256_digest(read_bytes(place)) != closing.model:
        rule = "must be the one with which the exchange ended"
        raise InputError(str(place), rule, "another one", STANDS)


def _write_model(
    contract: Contract,
    folder: Path,
    last: Query,
    found: Collected,
    closing: Closing | None,
    rows: Records | None,
    key: PartyKey | None,
) -> str:
    """Write the closing and then the model; after a kill between them the next start goes on.

    Returns
    -------
    Why it is the learner's own, as `Step.kept`.
    """
    raw = to_json(build_model(contract, found)).encode()
    own = to_json(own_model(contract)).encode()
    kept = why_own_is_kept(contract, found, rows)
    if not kept and closing is not None and closing.model == sha256_digest(own):
        kept = ROWS
    if kept:
        raw = own
    digests = {name: answer.digest for name, answer in found.used[-1].items()}
    opening = find_opening(contract, None, key)
    ending = Closing(contract.digest, last.digest, digests, sha256_digest(raw), opening)
    ending = sign_message(ending, contract, key)
    place = folder / CLOSING
    if closing is None and not write_new(place, ending.raw):
        raise InputError(str(place), NOT_YET, AT_WORK, "Try again.")
    if closing is not None and closing.raw != ending.raw:
        # It names a model with the last digits of another processor, which was never written.
        write_atomically(place, ending.raw)
    write_new(folder / MODEL, raw)
    return kept


def why_own_is_kept(contract: Contract, found: Collected, rows: Records | None) -> str:
    """Say why the learner's own model is handed over, as `Step.kept`; empty where it is not."""
    decision = decide_by_contract(contract, found)
    if decision is not None and not decision.bought[0]:
        return RULE
    theta = build_model(contract, found).model.theta
    if rows is not None and fails_on_rows(contract, theta, rows):
        return ROWS
    return ""


def build_model(contract: Contract, found: Collected) -> HandedOver:
    """Build the trained model of a finished exchange, with the claims of its owners."""
    assert found.phi is not None
    return _model_at(contract, found.phi, found.owners)


def own_model(contract: Contract) -> HandedOver:
    """The learner's own model, from which training starts; made of nobody's answers."""
    return _model_at(contract, np.zeros(len(contract.bounds.start)), ())


def _model_at(contract: Contract, phi: Array, owners: Collection[str]) -> HandedOver:
    coordinates = Coordinates.of(contract.coordinates)
    labels = contract.columns.target.labels
    return HandedOver(
        Model(contract.encoder, coordinates.loss, coordinates.model(phi)),
        None if labels is None else (labels[0], labels[1]),
        tuple(owners),
        tuple(claim for claim in contract.claims if claim["party"] in owners),
        contract.forecast.basis,
    )


def list_files(folder: Path) -> list[tuple[str, int, int]]:
    """List names, sizes and times of the files in a folder, which differ after a change."""
    seen = []
    for name in list_names(folder):
        with suppress(OSError):
            found = (folder / name).stat()
            seen.append((name, found.st_size, found.st_mtime_ns))
    return seen


def follow_exchange(
    contract: Contract,
    folder: Path,
    step: Step,
    *,
    take: Callable[[bool, datetime], Step],
    close: bool,
    every: float,
    said: Callable[[Step], object],
    held: Callable[[str], object],
) -> Step:
    """Look at the exchange's folder until the model is there; returns the last step.

    Parameters
    ----------
    contract: the contract.
    folder: the exchange's.
    step: the step so far.
    take: takes a step as `take_step`, which may close the round, at a time.
    close: whether to go on without owners that are missing as soon as their time is over.
    every: seconds between two looks.
    said: called with each step.
    held: called with each fault that keeps the learner from a step, in words.

    Raises
    ------
    InputError
        As `take_step`, where that lasts longer than `PATIENCE`.
    """
    before = None
    readable = time.monotonic()
    while not step.is_done:
        now = datetime.now(UTC)
        late = close and step.open is not None and step.open.has_expired(now)
        try:
            seen = list_files(folder)
            if seen != before or late:
                # A disk that is not mounted leaves an empty folder: no place for a first question.
                _check_same_contract(contract, folder)
                step = take(late, now)
                said(step)
        except (InputError, OSError) as error:
            if time.monotonic() > readable + PATIENCE:
                raise
            held(f"{error} The folder is read again, for {PATIENCE:.0f} seconds at most.")
            before = None
            time.sleep(every)
            continue
        before = seen
        readable = time.monotonic()
        if step.wrote is None:
            time.sleep(every)
    return step
