"""The owner's part in secure aggregation: keys, shares, masked sums, consent, and unmasking.

Each question is answered once, by an answer that is kept before it is given. A question counts only
if it follows the one that was answered before, and names answers to that very one. So whoever gets
an owner's shares in the end has consented, like it, to one total of at least as many owners as
agreed. Of another owner it gives the share of the seed or that of the masking key, never both.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from exchange.contract import Contract
from exchange.folder import answer_name, owner_slug, query_name
from exchange.messages import (
    SECURE_FORMS,
    Answer,
    Consent,
    Keys,
    Masked,
    Query,
    Shares,
    Unmasking,
    read_answer,
    read_query,
    sign_message,
)
from exchange.owner import kept as kept_answers
from exchange.owner.answers import (
    ChargedAnswer,
    accepted_account,
    account_head,
    check_query,
    check_times,
    ledger_purpose,
    refuse,
)
from exchange.owner.table import Records
from exchange.secure.masks import (
    KEY,
    OwnSecrets,
    open_shares,
    own_mask,
    pair_mask,
    pairs_of,
    public_key,
    seal_shares,
    seed_digest,
)
from exchange.secure.shamir import SHARE, split_secret
from exchange.signing import PartyKey
from exchange.terms import MASKED, STEPS
from learning.canonical import read_bytes, write_atomically
from learning.errors import InputError
from learning.privacy.distributed import Words
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release import Released, release

Came = Mapping[str, Answer]  # owner -> its answer to one question


@dataclass(frozen=True, eq=False)
class Turn:
    """A question to an owner, with all that came before it.

    Parameters
    ----------
    contract: the contract.
    name: the owner.
    questions: the questions so far, this one last.
    came: the answers to those before it, by owner, as each next question names them.
    secrets: the owner's.
    """

    contract: Contract
    name: str
    questions: tuple[Query, ...]
    came: tuple[Came, ...] = field(repr=False)
    secrets: OwnSecrets = field(repr=False)

    @property
    def query(self) -> Query:
        """The question."""
        return self.questions[-1]

    @property
    def head(self) -> tuple[str, str, int, str]:
        """The first four fields of its answer."""
        return self.contract.digest, self.query.digest, self.query.round, self.name

    def keys(self, name: str) -> Keys:
        """Keys of an owner."""
        found = self.came[0][name]
        assert isinstance(found, Keys)
        return found


def answer_step(
    contract: Contract,
    name: str,
    query: Query,
    records: Records,
    ledger: LedgerFile,
    place: Path,
    *,
    key: PartyKey | None = None,
    now: datetime | None = None,
) -> ChargedAnswer:
    """Answer one question of a secure aggregation, once; masked sums are charged first.

    Parameters
    ----------
    place: the exchange's folder, with the questions and answers before this one.
    key: the owner's; None in a rehearsal, which is not signed.
    now: the time, with a zone; the clock's unless given.

    Raises an InputError if the question is refused, as by `exchange.owner.answers.answer_query`, or
    does not follow what came before. Nothing is given then.
    """
    contract.check_key(key, name)
    check_query(contract, name, query)
    folder = kept_answers.kept_folder(ledger)
    with kept_answers.hold_folder(folder):
        account, _ = accepted_account(contract, name, ledger)
        mine = own_answers(contract, name, ledger)
        given = mine.get(query.round)
        if given is not None and given.query != query.digest:
            rule = f"{name} answers each round once, and has answered this one to another question"
            refuse("round", rule, query.round)
        again = given is not None
        if given is None:
            time = now or datetime.now(UTC)
            check_times(contract, query, time)
            if query.has_expired(time):
                refuse("until", "must not have passed", query.until)
            if query.round == MASKED and account.answered:  # the kept answer is gone
                kept_answers.find_charged(folder, account.entries[0].purpose[-64:], query, name)
            turn = read_turn(contract, name, query, mine, ledger, place)
            given = _make_answer(turn, records, ledger, key)
        elif query.round == MASKED and not account.answered:  # a kill before the charge
            ledger.charge(account.budget, ledger_purpose(given, 1), first=1)
            again = False
        account = ledger.account(account.budget.owner, account.budget.data)
        return ChargedAnswer(given, account, again)


def _make_answer(turn: Turn, records: Records, ledger: LedgerFile, key: PartyKey | None) -> Answer:
    """Make the answer to a question, sign and keep it; after the last, remove the secrets."""
    number = turn.query.round
    if number == MASKED:
        return _charge_masked(turn, records, ledger, key)
    made = sign_message(MAKERS[number](turn), turn.contract, key)
    kept_answers.keep_answer(kept_answers.kept_folder(ledger), made)
    if number == STEPS:
        root_place(turn.contract, turn.name, ledger).unlink()  # nobody can unmask more later
    return made


def own_answers(contract: Contract, name: str, ledger: LedgerFile) -> dict[int, Answer]:
    """Read what an owner has answered under a contract, by the question's number."""
    kept = kept_answers.kept_answers(kept_answers.kept_folder(ledger))
    return {one.round: one for one in kept if (one.contract, one.owner) == (contract.digest, name)}


def read_turn(
    contract: Contract,
    name: str,
    query: Query,
    mine: Mapping[int, Answer],
    ledger: LedgerFile,
    place: Path,
) -> Turn:
    """Read the questions before a question and the answers that each names.

    Raises an InputError if one is missing, another, or does not follow the question that this owner
    answered.
    """
    questions = [query]
    came: list[Came] = []
    for number in range(query.round - 1, 0, -1):
        after = questions[0]
        before = read_query(place / query_name(number), contract)
        own = mine.get(number)
        if own is None or not own.query == before.digest == after.previous:
            refuse("previous", f"must be the question that {name} answered before", number)
        check_query(contract, name, before)
        if not set(after.asked) <= set(before.asked):
            refuse("asked", "must be owners that were asked before", number)
        came.insert(0, _read_answers(contract, before, after.answers, place))
        questions.insert(0, before)
    root = _own_root(contract, name, ledger, is_new=query.round == 1)
    return Turn(
        contract,
        name,
        tuple(questions),
        tuple(came),
        OwnSecrets.derive(root, questions[0].digest),
    )


def _read_answers(
    contract: Contract, query: Query, named: Mapping[str, str], place: Path
) -> dict[str, Answer]:
    """Read the answers to a question that the next one names."""
    found = {}
    for owner in (one for one in contract.names if one in named):
        answer = read_answer(place / answer_name(query.round, owner), contract)
        same = (answer.digest, answer.query, answer.owner) == (named[owner], query.digest, owner)
        if not same or type(answer) is not SECURE_FORMS[query.round - 1]:
            refuse("answers", f"must be those of {owner} and others to question {query.round}", "")
        found[owner] = answer
    return found


def root_place(contract: Contract, name: str, ledger: LedgerFile) -> Path:
    """Place of the secret from which an owner's keys are derived, until it has unmasked."""
    folder = kept_answers.kept_folder(ledger)
    return folder / f"{contract.digest[:16]}.{owner_slug(name)}.secret"


def _own_root(contract: Contract, name: str, ledger: LedgerFile, *, is_new: bool) -> bytes:
    """Read the owner's secret, from which its keys are derived; or draw it, once."""
    path = root_place(contract, name, ledger)
    if is_new and not path.exists():
        write_atomically(path, secrets.token_bytes(KEY), private=True)
    root = read_bytes(path)
    if len(root) != KEY:
        raise InputError(str(path), f"must be {KEY} bytes", len(root), "Put it back as it was.")
    return root


# Answers


def make_keys(turn: Turn) -> Keys:
    """Make the first answer: public keys."""
    own = turn.secrets
    return Keys(*turn.head, public_key(own.sealing), public_key(own.masking), seed_digest(own.seed))


def make_shares(turn: Turn) -> Shares:
    """Make the second answer: shares of masking key and seed, sealed for each owner."""
    agreed = turn.contract.aggregation
    assert agreed is not None
    own = turn.secrets
    names = turn.contract.names
    drawn = [split_secret(one, agreed.threshold, len(names)) for one in (own.masking, own.seed)]
    sealed = {}
    for other, key_share, seed_share in zip(names, *drawn, strict=True):
        if other in turn.query.asked:
            context = turn.query.digest, turn.name, other
            public = turn.keys(other).sealing
            sealed[other] = seal_shares(key_share + seed_share, own.sealing, public, *context)
    return Shares(*turn.head, sealed)


def mask_words(turn: Turn, words: Words) -> Masked:
    """Make the third answer: words (m,) under the owner's own mask and those with each other."""
    digest = turn.query.digest
    own = turn.secrets
    masked = words + own_mask(own.seed, digest, len(words))
    for pair in pairs_of(turn.name, turn.query.asked):
        other = pair[0] if pair[1] == turn.name else pair[1]
        mask = pair_mask(own.masking, turn.keys(other).masking, digest, pair, len(words))
        masked = masked + mask if pair[0] == turn.name else masked - mask
    return Masked(*turn.head, masked)


def make_consent(turn: Turn) -> Consent:
    """Make the fourth answer: consent to the total of the owners asked."""
    return Consent(*turn.head)


def make_unmasking(turn: Turn) -> Unmasking:
    """Make the fifth answer: a share for each owner whose masks are in the total."""
    keys, shares = {}, {}
    in_total = turn.questions[MASKED].asked
    for owner, sent in turn.came[1].items():
        assert isinstance(sent, Shares)
        context = sent.query, owner, turn.name
        sealed = sent.shares.get(turn.name, "00" * 148)
        public = turn.keys(owner).sealing
        opened = open_shares(sealed, turn.secrets.sealing, public, *context)
        if opened is None:
            continue
        if owner in in_total:
            shares[owner] = opened[SHARE:].hex()
        else:
            keys[owner] = opened[:SHARE].hex()
    return Unmasking(*turn.head, shares, keys)


MAKERS: dict[int, Callable[[Turn], Answer]] = {
    1: make_keys,
    2: make_shares,
    4: make_consent,
    5: make_unmasking,
}


def _charge_masked(
    turn: Turn, records: Records, ledger: LedgerFile, key: PartyKey | None
) -> Masked:
    """Sum the records, add the part of the noise, mask, sign, keep and charge."""
    made: list[Masked] = []
    account, _ = accepted_account(turn.contract, turn.name, ledger)
    head = account_head(ledger.identity, account)

    def keep(drawn: Released) -> str:
        masked = mask_words(turn, np.asarray(drawn.answer, dtype=np.uint64))
        if turn.contract.is_signed:
            masked = replace(masked, head=head)
        made.append(sign_message(masked, turn.contract, key))
        kept_answers.keep_answer(kept_answers.kept_folder(ledger), made[0])
        return ledger_purpose(made[0], 1)

    release(
        records.x,
        records.y,
        turn.query.point,
        turn.contract.terms(turn.name),
        ledger=ledger,
        persons=records.persons,
        number=1,
        keep=keep,
    )
    return made[0]
