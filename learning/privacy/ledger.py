"""The ledger: per account, every answered query, what it spent and what is left; who would overspend is refused first.

It counts in units of the mechanism: the noise of an owner is priced so that ``horizon`` answers together spend its whole
budget, so one answer is one out of ``horizon`` of it, whatever the composition behind the price. What answers cost is
told by `learning.privacy.budget.cost`. This ledger lives as long as the program, for simulations; one for release is a
`learning.privacy.ledger_file.LedgerFile`.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from learning.declaration import Count, checked, shown
from learning.errors import InputError
from learning.privacy.budget import Budget, cost
from learning.privacy.lifetime import Lifetime


class BudgetExceeded(InputError):
    """A query that an owner's budget no longer covers; nothing was drawn and nothing charged."""


@dataclass(frozen=True)
class Entry:
    """Consecutive answers to one purpose: answers number ``first`` to ``last`` of an account."""

    purpose: str
    first: int
    last: int


@dataclass(frozen=True)
class Account:
    """A budget and what was answered on it: ``horizon`` answers spend it all.

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
        """Spent so far, in what is counted; inf of an epsilon once an owner without noise has answered."""
        return cost(self.budget, self.answered)

    @property
    def remaining(self) -> float:
        """What remains, in what is counted."""
        return cost(self.budget, self.budget.horizon) - self.spent if self.budget.limited else np.inf


@dataclass(eq=False)
class _Book:
    """An account as it is kept: its lines hold a purpose and the last answer given to it."""

    budget: Budget
    answered: int = 0
    lines: list[tuple[str, int]] = field(default_factory=list)

    def enter(self, purpose: str, answers: int) -> None:
        """Answers as given; those to one purpose in a row share a line."""
        self.answered += answers
        if self.lines and self.lines[-1][0] == purpose:
            self.lines.pop()
        self.lines.append((purpose, self.answered))

    def account(self) -> Account:
        """The account as it stands."""
        firsts = [1, *(last + 1 for _, last in self.lines)]
        entries = (Entry(purpose, first, last) for first, (purpose, last) in zip(firsts, self.lines, strict=False))
        return Account(self.budget, self.answered, tuple(entries))


class Ledger:
    """Accounts and what was answered on each. Its counts only rise; threads may share it, and cannot overspend.

    An account belongs to one data set of an owner and to everything in its `Budget`; a charge must name that very budget.

    Parameters
    ----------
    lifetime: what an owner's accounts, one for each training, may spend together; each by itself unless given.

    >>> ledger, budget = Ledger(), Budget("bank", epsilon=1.0, horizon=2)
    >>> account = ledger.open(budget)
    >>> ledger.charge(budget, "training"); ledger.charge(budget, "training"); ledger.account("bank").remaining
    0.0
    >>> ledger.charge(budget, "more")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    learning.privacy.ledger.BudgetExceeded: ledger: bank has answered 2 of the 2 queries its budget of 1 covers: 1 more ...
    """

    where = "ledger"

    def __init__(self, lifetime: Lifetime | None = None) -> None:
        self.lifetime = lifetime
        self._books: dict[tuple[str, str], _Book] = {}
        self._lock = threading.Lock()

    def open(self, budget: Budget) -> Account:
        """Open the account of a budget; the one that is open is given back, if it is of the very same budget.

        Raises
        ------
        InputError
            If the data set has an account of another budget, or a name differs from it by blanks alone.
        """
        with self._alone():
            if (key := budget.key) not in self._books:
                self._books[key] = _Book(budget)
                self._keep()
            return self._book(budget).account()

    def account(self, owner: str, data: str = "") -> Account:
        """The account of an owner's data set, as it stands.

        Raises
        ------
        InputError
            If there is none.
        """
        with self._alone():
            return self._found(Budget(owner, None, 1, data=data)).account()

    @property
    def accounts(self) -> tuple[Account, ...]:
        """All accounts, in the order they were opened."""
        with self._alone():
            return tuple(book.account() for book in self._books.values())

    def charge(self, budget: Budget, purpose: str, answers: int = 1, *, first: int | None = None) -> None:
        """Enter answers, if they are covered; to be called before any noise is drawn.

        Parameters
        ----------
        budget: the very budget of the account.
        purpose: what is answered.
        answers: how many.
        first: the number of the first of them; needed where shares of the budget grow, as noise differs by answer.

        Raises
        ------
        BudgetExceeded
            If fewer answers remain.
        InputError
            If the account is of another budget, or there is none, or the answers are not a whole number of at least 1, or
            do not follow those given.
        """
        self.charge_all([(budget, answers)], purpose, first=first)

    def charge_all(self, charges: Iterable[tuple[Budget, int]], purpose: str, *, first: int | None = None) -> None:
        """Enter answers on several accounts, or on none where one would be overspent; refuses as `charge` does."""
        with self._alone():
            for book, answers in self._covered(charges, purpose, first).items():
                book.enter(purpose, answers)
            self._keep()

    def check(self, budget: Budget, purpose: str, answers: int = 1, *, first: int | None = None) -> Account:
        """Refuse what `charge` would refuse, and enter nothing; gives the account as it stands."""
        with self._alone():
            self._covered([(budget, answers)], purpose, first)
            return self._book(budget).account()

    def _covered(self, charges: Iterable[tuple[Budget, int]], purpose: str, first: int | None) -> dict[_Book, int]:
        """The answers that are asked on each book; refuses as `charge` does."""
        asked: dict[_Book, int] = {}
        for budget, answers in charges:
            answers = checked(Count, answers, f"{self.where}.answers")
            book = self._book(budget)
            self._check_turn(book, first)
            asked[book] = asked.get(book, 0) + answers
            self._check(book, asked[book], purpose)
            self._check_lifetime(book, asked, purpose)
        return asked

    def rows(self) -> list[dict[str, Any]]:
        """One row per account: its budget, the answers given, spent and remaining in what is counted."""
        given = [(asdict(a.budget) | {"counted": a.budget.counted}, a) for a in self.accounts]
        return [{**row, "answered": a.answered, "spent": a.spent, "remaining": a.remaining} for row, a in given]

    def _kept(self) -> list[tuple[Budget, list[tuple[str, int]]]]:
        """Each account's budget and lines."""
        return [(book.budget, book.lines) for book in self._books.values()]

    def _restore(self, budget: Budget, lines: Iterable[tuple[str, int]]) -> None:
        """An account from its budget and lines."""
        self._books[budget.key] = book = _Book(budget)
        for purpose, last in lines:
            book.enter(purpose, last - book.answered)

    def _alone(self) -> AbstractContextManager[Any]:
        """Nobody else reads or writes meanwhile."""
        return self._lock

    def _keep(self) -> None:
        """Make what was entered last, before an answer is given on it."""

    def _found(self, budget: Budget) -> _Book:
        """The book of a budget's owner and data set."""
        book = self._books.get(budget.key)
        if book is None:
            of = f" for {shown(budget.data)}" if budget.data else ""
            raise InputError(self.where, f"{budget.owner} must have an account{of}", "none", "Open it first.")
        return book

    def _book(self, budget: Budget) -> _Book:
        """The book of exactly this budget."""
        book = self._found(budget)
        if book.budget is not budget and book.budget != budget:
            old, new = asdict(book.budget), asdict(budget)
            differ = [name for name in old if old[name] != new[name]]
            stated, found = (", ".join(f"{name} {shown(kept[name])}" for name in differ) for kept in (old, new))
            rule = f"the account of {book.budget.owner} is of {stated}"
            raise InputError(self.where, rule, found, "Answers at two prices are not counted together.")
        return book

    def _check(self, book: _Book, answers: int, purpose: str) -> None:
        """Refuse so many more answers if they would overspend."""
        budget = book.budget
        if budget.limited and answers > budget.horizon - book.answered:
            of = "" if budget.epsilon is None else f" of {budget.epsilon:g}"
            raise BudgetExceeded(
                self.where,
                f"{budget.owner} has answered {book.answered} of the {budget.horizon} queries its budget{of} covers: "
                f"{answers} more ({purpose}) {'is' if answers == 1 else 'are'} refused",
            )

    def _check_turn(self, book: _Book, first: int | None) -> None:
        """Refuse answers that are not next, asked twice or out of order; where their prices differ they must be told."""
        if first is None and book.budget.growth == 1:
            return
        following = book.answered + 1
        if first != following:
            rule = f"the next answer of {book.budget.owner} must be number {following}"
            found = "no number, where each answer has a price of its own" if first is None else f"number {first}"
            raise InputError(self.where, rule, found, "An answer is given once, and in its turn.")

    def _check_lifetime(self, book: _Book, asked: Container[_Book], purpose: str) -> None:
        """Refuse the first answer on an account if all that the owner's accounts may spend would be too much."""
        if self.lifetime is None or book.answered:
            return
        owner, budget = book.budget.key[0], book.budget
        own = [one for (name, _), one in self._books.items() if name == owner and (one.answered or one in asked)]
        sold = [np.inf if one.budget.epsilon is None else one.budget.epsilon for one in own]
        limit = self.lifetime.exceeded(budget.owner, sold)
        if limit is not None:
            of = f" about {budget.data}" if budget.data else ""
            raise BudgetExceeded(
                self.where,
                f"{budget.owner} may spend an epsilon of {limit:g} over all trainings: one more{of}, of {budget.epsilon:g}, "
                f"is refused ({purpose})",
            )
