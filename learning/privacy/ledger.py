"""The ledger: every answer of every account is counted, and one that would overspend is refused.

It counts in units of the mechanism: ``horizon`` answers together spend the whole budget, whatever
the composition behind the price (`spent_budget`). This ledger lives as long as the program, for
simulations; one for release is a `learning.privacy.ledger_file.LedgerFile`.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from learning.arrays import LARGEST, SMALLEST
from learning.errors import InputError
from learning.losses.clipping import RECORD, PublicCoordinates
from learning.privacy.claims import REPLACE
from learning.privacy.shares import answer_shares

Key = tuple[str, str]
Counted = Literal["epsilon", "answers"]
COUNT = "a whole number of at least 1"
RULES = {
    "epsilon": "a number above 0",
    "horizon": COUNT,
    "delta": "a number of at least 0 and below 1",
    "overlap": COUNT,
    "n_records": COUNT,
    "growth": "a number above 0",
}  # of the numbers in a budget


def check_number(value: Any, key: str, rule: str) -> Any:
    """Check a number by one of `RULES`, and convert it to a plain one.

    Raises an InputError if it is none, or too large, or too close to 0, to compute with.
    """
    number = value.item() if isinstance(value, np.generic) else value
    kind = int if rule == COUNT else float
    allowed = isinstance(number, (int, kind)) and not isinstance(number, bool)
    if allowed:
        sized = number in (0, np.inf) or SMALLEST <= abs(number) <= LARGEST
        above = number > 0 if rule == RULES["epsilon"] else number >= (kind is int)
        allowed = sized and above and not (rule == RULES["delta"] and number >= 1)
    if not allowed:
        raise InputError(key, f"must be {rule}", quote_value(value))
    return kind(number)


def quote_value(value: object) -> str:
    """Format a value for a message, texts in quotes, shortened."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Budget:
    """Cost of ``horizon`` answers about one data set, with everything that determines it.

    Two budgets are equal only if all fields are: answers at two prices are never counted together.

    Parameters
    ----------
    owner: the name of who answers.
    epsilon: the budget over all answers; inf of an owner that adds no noise, for which nothing is
        claimed and which answers without limit; None of noise whose budget was not stated.
    horizon: T, the answers that the noise was priced for.
    delta: the failure probability over all answers.
    mechanism: the noise and its accounting, as claims name them.
    overlap: kappa, the owners that one record may sit with.
    data: the name of the data set; empty where an owner has but one, in simulations.
    n_records: how many records it has.
    unit: the unit of privacy: one record, or one person with its records.
    adjacency: how neighbouring data sets differ.
    bounds: the announced bounds, by `describe_bounds` or `fingerprint_bounds`.
    growth: each answer's share of the budget over that of the one before, as
        `learning.privacy.noise` has it.

    Raises an InputError if a number is NaN or out of range, or the name has no visible character.

    Source: events of dp-accounting: values that check themselves, with accountants elsewhere.

    >>> Budget("bank", epsilon=float("nan"), horizon=10)
    Traceback (most recent call last):
    learning.errors.InputError: budget.epsilon: must be a number above 0; found nan.
    """

    owner: str
    epsilon: float | None
    horizon: int
    delta: float = 0.0
    mechanism: str = "laplace"
    overlap: int = 1
    data: str = ""
    n_records: int | None = None
    unit: str = "one record"
    adjacency: str = REPLACE
    bounds: str = ""
    growth: float = 1.0

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            number = getattr(self, name)
            if number is not None or name not in ("epsilon", "n_records"):
                object.__setattr__(self, name, check_number(number, f"budget.{name}", rule))
        for name in ("owner", "mechanism", "data", "unit", "adjacency", "bounds"):
            if not isinstance(getattr(self, name), str):
                raise InputError(
                    f"budget.{name}", "must be a text", quote_value(getattr(self, name))
                )
        if not visible_name(self.owner):
            rule = "must be a name with visible characters"
            raise InputError("budget.owner", rule, quote_value(self.owner))

    @property
    def limited(self) -> bool:
        """True if its answers run out."""
        return self.epsilon != np.inf

    @property
    def claimed(self) -> bool:
        """True if something is claimed: the budget is stated and finite."""
        return self.epsilon is not None and self.limited

    @property
    def counted(self) -> Counted:
        """Unit of account: epsilon where budgets add (pure DP, basic composition), else answers.

        Under zCDP or a privacy-loss distribution only the whole is an (epsilon, delta).
        """
        return "epsilon" if self.delta == 0 and self.epsilon is not None else "answers"

    @cached_property
    def key(self) -> Key:
        """Key of the account: owner and data set, without blanks."""
        return visible_name(self.owner), visible_name(self.data)


def spent_budget(budget: Budget, answers: int) -> float:
    """Compute the part of a budget that its first answers spend, in its unit of account.

    >>> spent_budget(Budget("bank", 2.0, 10), 9)
    1.8
    >>> spent_budget(Budget("bank", 2.0, 10, delta=1e-6), 9)
    9.0
    >>> growing = Budget("bank", 2.0, 3, growth=2.0)
    >>> [round(spent_budget(growing, answers), 4) for answers in (1, 2, 3)]
    [0.2857, 0.8571, 2.0]
    """
    if budget.epsilon is None or budget.counted == "answers" or not answers:
        return float(answers)
    if budget.growth == 1:
        return budget.epsilon * (answers / budget.horizon)  # all of them spend exactly epsilon
    spent = answer_shares(budget.growth, budget.horizon)[:answers].sum()
    return budget.epsilon * float(spent)


def visible_name(name: str) -> str:
    """Remove blanks and unprintable characters from a name, so that "b " equals "b".

    >>> visible_name("b "), visible_name("Saint\\u00a0Mary\\u200b")
    ('b', 'SaintMary')
    """
    if name.isascii() and name.isalnum():
        return name
    normal = unicodedata.normalize("NFC", name)
    return "".join(c for c in normal if c.isprintable() and not c.isspace())


def describe_bounds(coordinates: PublicCoordinates) -> str:
    """Describe the bounds on record, target, gradient, query and rows of a person exactly."""
    radius = float(coordinates.radius)
    bounded = f"record {radius!r}, target {float(coordinates.target_bound)!r}"
    if coordinates.clipping == RECORD:
        bounded = f"gradient {radius!r}"
    if coordinates.scores is not None:
        bounded = f"record {radius!r}, {coordinates.scores!r}"
    described = f"{coordinates.norm}-norm: {bounded}, query {float(coordinates.theta_max)!r}"
    if coordinates.rows_per_person > 1:
        described += f", {coordinates.rows_per_person} rows of a person"
    if coordinates.targets > 1:
        described += f", {coordinates.targets} targets"
    return described


def fingerprint_bounds(coordinates: PublicCoordinates) -> str:
    """Describe the bounds, with a digest of the start, the scale and the loss that they hold in."""
    announced = hashlib.sha256(repr(coordinates.loss).encode())
    for numbers in (coordinates.centre, coordinates.transform):
        announced.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    return f"{describe_bounds(coordinates)}, coordinates {announced.hexdigest()[:16]}"


class BudgetExceeded(InputError):
    """Query that an owner's budget no longer covers; nothing was drawn and nothing charged."""


@dataclass(frozen=True)
class Entry:
    """Consecutive answers to one purpose: answers number ``first`` to ``last`` of an account."""

    purpose: str
    first: int
    last: int


@dataclass(frozen=True)
class Account:
    """Budget and the answers given on it: ``horizon`` answers spend it all.

    >>> account = Account(Budget("bank", 2.0, 10), answered=9)
    >>> account.spent, round(account.remaining, 12), account.answers_remaining
    (1.8, 0.2, 1)
    """

    budget: Budget
    answered: int = 0
    entries: tuple[Entry, ...] = field(default=(), repr=False)

    @property
    def answers_remaining(self) -> float:
        """Answers that may still be given; inf without a claim."""
        return self.budget.horizon - self.answered if self.budget.limited else np.inf

    @property
    def spent(self) -> float:
        """Spent so far, in the unit of account; inf once an owner without noise has answered."""
        return spent_budget(self.budget, self.answered)

    @property
    def remaining(self) -> float:
        """Remaining, in the unit of account."""
        if not self.budget.limited:
            return np.inf
        return spent_budget(self.budget, self.budget.horizon) - self.spent

    def add_answers(self, purpose: str, answers: int) -> Account:
        """Add answers, as a new account; consecutive ones to one purpose share an entry."""
        kept = self.entries
        first = self.answered + 1
        if kept and kept[-1].purpose == purpose:
            first = kept[-1].first
            kept = kept[:-1]
        answered = self.answered + answers
        entry = Entry(purpose, first, answered)
        return replace(self, answered=answered, entries=(*kept, entry))


class Ledger:
    """Accounts and the answers given on each.

    Counts only rise; threads may share it, and cannot overspend.

    An account belongs to one data set of an owner and to everything in its `Budget`; a charge must
    name an equal budget.

    >>> ledger, budget = Ledger(), Budget("bank", epsilon=1.0, horizon=2)
    >>> account = ledger.open(budget)
    >>> ledger.charge(budget, "training", answers=2)
    >>> ledger.account("bank").remaining
    0.0
    >>> ledger.charge(budget, "more")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    learning.privacy.ledger.BudgetExceeded: ledger: bank has answered 2 of the 2 queries ...
    """

    where = "ledger"

    def __init__(self) -> None:
        self._accounts: dict[Key, Account] = {}
        self._lock = threading.Lock()

    def open(self, budget: Budget) -> Account:
        """Open the account of a budget, or return the open one of the same budget.

        Raises an InputError if the data set has an account of another budget, or a name differs
        from it by blanks alone.
        """
        with self._lock_accounts():
            if budget.key not in self._accounts:
                self._accounts[budget.key] = Account(budget)
                self._save_accounts()
            return self._check_budget(budget)

    def account(self, owner: str, data: str = "") -> Account:
        """Look up the account of an owner's data set.

        Raises an InputError if there is none.
        """
        with self._lock_accounts():
            return self._find_account(Budget(owner, None, 1, data=data))

    @property
    def accounts(self) -> tuple[Account, ...]:
        """All accounts, in the order they were opened."""
        with self._lock_accounts():
            return tuple(self._accounts.values())

    def charge(
        self, budget: Budget, purpose: str, answers: int = 1, *, first: int | None = None
    ) -> None:
        """Enter answers if the budget covers them; to be called before any noise is drawn.

        Parameters
        ----------
        budget: the budget of the account.
        purpose: the question that is answered.
        answers: their number.
        first: the number of the first of them; needed where shares of the budget grow, as noise
            differs by answer.

        Raises
        ------
        BudgetExceeded
            If fewer answers remain.
        InputError
            If the account is of another budget, or there is none, or the answers are not a whole
            number of at least 1, or do not follow those given.
        """
        self.charge_all([(budget, answers)], purpose, first=first)

    def charge_all(
        self, charges: Iterable[tuple[Budget, int]], purpose: str, *, first: int | None = None
    ) -> None:
        """Enter answers on several accounts, or on none if one is refused as by `charge`."""
        with self._lock_accounts():
            for key, answers in self._check_charges(charges, purpose, first).items():
                self._accounts[key] = self._accounts[key].add_answers(purpose, answers)
            self._save_accounts()

    def check(
        self, budget: Budget, purpose: str, answers: int = 1, *, first: int | None = None
    ) -> Account:
        """Refuse as `charge` does, enter nothing, and return the account."""
        with self._lock_accounts():
            self._check_charges([(budget, answers)], purpose, first)
            return self._check_budget(budget)

    def _check_charges(
        self, charges: Iterable[tuple[Budget, int]], purpose: str, first: int | None
    ) -> dict[Key, int]:
        """Count the answers asked on each account; refuse as `charge` does."""
        asked: dict[Key, int] = {}
        for budget, answers in charges:
            answers = check_number(answers, f"{self.where}.answers", COUNT)
            account = self._check_budget(budget)
            self._check_order(account, first)
            asked[budget.key] = asked.get(budget.key, 0) + answers
            self._check_covered(account, asked[budget.key], purpose)
        return asked

    def _lock_accounts(self) -> AbstractContextManager[Any]:
        """Exclude all other readers and writers."""
        return self._lock

    def _save_accounts(self) -> None:
        """Save what was entered last, before an answer is given on it."""

    def _find_account(self, budget: Budget) -> Account:
        """Find the account of a budget's owner and data set."""
        account = self._accounts.get(budget.key)
        if account is None:
            of = f" for {quote_value(budget.data)}" if budget.data else ""
            rule = f"{budget.owner} must have an account{of}"
            raise InputError(self.where, rule, "none", "Open it first.")
        return account

    def _check_budget(self, budget: Budget) -> Account:
        """Find the account of an equal budget; refuse another one."""
        account = self._find_account(budget)
        if account.budget is not budget and account.budget != budget:
            old = asdict(account.budget)
            new = asdict(budget)
            differ = [name for name in old if old[name] != new[name]]
            stated = ", ".join(f"{name} {quote_value(old[name])}" for name in differ)
            found = ", ".join(f"{name} {quote_value(new[name])}" for name in differ)
            rule = f"the account of {account.budget.owner} is of {stated}"
            remedy = "One account cannot hold answers at two prices."
            raise InputError(self.where, rule, found, remedy)
        return account

    def _check_covered(self, account: Account, answers: int, purpose: str) -> None:
        """Refuse answers that would overspend."""
        budget = account.budget
        if answers <= account.answers_remaining:
            return
        of = "" if budget.epsilon is None else f" of {budget.epsilon:g}"
        verb = "is" if answers == 1 else "are"
        raise BudgetExceeded(
            self.where,
            f"{budget.owner} has answered {account.answered} of the {budget.horizon} queries "
            f"its budget{of} covers: {answers} more ({purpose}) {verb} refused",
        )

    def _check_order(self, account: Account, first: int | None) -> None:
        """Refuse answers that are not next; where shares grow, their number must be stated."""
        if first is None and account.budget.growth == 1:
            return
        following = account.answered + 1
        if first != following:
            rule = f"the next answer of {account.budget.owner} must be number {following}"
            found = f"number {first}"
            if first is None:
                found = "no number, where each answer has a price of its own"
            raise InputError(self.where, rule, found, "Answers are given once each, in order.")
