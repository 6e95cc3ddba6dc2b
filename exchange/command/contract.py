"""`dpmarket contract`: a contract made of a result, for all parties to sign, and shown in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exchange.command.options import KeyOption, Limits
from learning.display import PlainTable
from learning.errors import InputError
from learning.program import declare_command
from learning.terminal import Terminal, titled

if TYPE_CHECKING:
    from exchange.contract import Contract

SHOW = "show"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Terms of a contract that a result does not contain.

    Parameters
    ----------
    missing : If an owner does not answer, wait for it, or go on without it once enough have
        answered.
    at_least : Number of owners that must answer, with --missing without [default: more than half].
    hours : Hours in which owners may answer, with --missing without [default: no limit].
    records : Name of the records in ledgers [default: the name of the scenario's table].
    """

    missing: str = "wait"
    at_least: int | None = None
    hours: float | None = None
    records: str | None = None


@declare_command
def contract(
    source: str,
    file: Path | None = None,
    *,
    out: Path = Path("contract.json"),
    terms: Terms,
    key: KeyOption = None,
    owner_key: list[str] | None = None,
    force: bool = False,
    limits: Limits,
) -> None:
    """Make a contract from a result, for all parties to sign. contract show CONTRACT prints one in
    words.

    Parameters
    ----------
    source RESULT : A result folder; or the word show, followed by a contract.
    file [CONTRACT] : The contract to show.
    out : The file to sign.
    owner_key NAME=FILE.pub : The public key of an owner; may be repeated. With --key, and the key
        of every owner, the exchange is signed.
    force : Overwrite another contract.
    """
    if source == SHOW:
        if file is None:
            raise InputError("CONTRACT", "must be named", "", "Use dpmarket contract show FILE.")
        from exchange.contract import read_contract

        print_contract(read_contract(file), limits.max_epsilon, limits.max_delta)
        return
    if file is not None:
        rule = f"takes one result, or the word {SHOW} and a contract"
        raise InputError("contract", rule, f"{source!r} and {str(file)!r}")
    from exchange.learner.agreed import contract_from_result, read_protocol
    from exchange.signing import read_key
    from scenarios.result import load_result

    folder = Path(source)
    own = None if key is None else read_key(key)
    keys = read_owner_keys(owner_key or [])
    made = contract_from_result(folder, **asdict(terms), key=own, owner_keys=keys)
    write_contract(made, out, force=force)
    print_made(made, out, load_result(folder), read_protocol(folder)["left_out"])


def read_owner_keys(given: list[str]) -> dict[str, str]:
    """Read owners' public keys, each given as NAME=FILE or NAME=DIGITS."""
    from exchange.learner.agreed import read_public

    found = {}
    for text in given:
        name, equals, place = text.rpartition("=")
        if not equals or name in found:
            rule = "must be NAME=FILE.pub, once for each owner"
            raise InputError("--owner-key", rule, repr(text))
        found[name] = read_public(place, "--owner-key")
    return found


def write_contract(made: Contract, out: Path, *, force: bool) -> None:
    """Write a contract where there is none, or the same.

    Raises
    ------
    InputError
        If something else stands there, which may have been signed; or the disk refuses.
    """
    from learning.canonical import check_place, read_bytes, write_atomically

    place = check_place(out)
    if place.exists() and not force and read_bytes(place) != made.raw:
        rule = "must be a new file, or the same contract"
        remedy = "Name another one, or use --force to overwrite it."
        raise InputError("--out", rule, f"another file: {out}", remedy)
    write_atomically(place, made.raw)


def print_made(made: Contract, out: Path, content: dict[str, Any], left_out: list[str]) -> None:
    """Print the new contract's file, warnings, and the next command."""
    from exchange.sentences import contract_words
    from scenarios.report.phrases import render_lines, render_phrase

    words = contract_words(made)
    others = render_phrase("contract", "left_out", left_out)
    name = f"{out}: {made.title or 'a data market'}"
    Terminal().say(
        titled("contract", name, words["parties"], others),
        titled("warning", *render_lines("contract", "warnings", content)),
        titled("digest", made.digest, words["digest"]),
        titled("signed", words["signed"]),
        titled("read it", f"dpmarket contract show {out}"),
    )


def print_contract(
    made: Contract, max_epsilon: float | None = None, max_delta: float | None = None
) -> None:
    """Print a contract in plain words, with the owner limits that it exceeds."""
    from exchange import owner_rows, sentences

    refused = owner_rows.find_exceeded(made, max_epsilon, max_delta)
    terminal = Terminal()
    # The digest stands before any text that the contract brings.
    words = sentences.contract_words(made)
    terminal.say(titled("digest", made.digest, words["digest"]))
    terminal.say(titled("signed", words["signed"]))
    terminal.say(titled("contract", made.title or "a data market", words["parties"]))
    rows = PlainTable("", *owner_rows.HEADS)
    for row in owner_rows.owner_rows(made, refused):
        rows.add_row(*row)
    terminal.print()
    terminal.print(rows)
    terminal.print()
    beliefs = owner_rows.compute_beliefs(made)
    terminal.say(titled("limits", *owner_rows.limit_words(refused, beliefs)))
    for title, line in sentences.contract_lines(made):
        terminal.say(f"{title:12} {line}")
