"""The ledger: per owner, every answered query, what it spent and what is left; who would overspend is refused first.

It counts in units of the mechanism: the noise of an owner is priced so that ``horizon`` answers together spend its whole
budget, so one answer is one out of ``horizon`` of it, whatever the composition behind the price. Under basic
composition (delta = 0) budgets add, and an answer spends epsilon/horizon. Under zCDP or a privacy-loss distribution
only the whole is an (epsilon, delta): there ``spent`` and ``remaining`` count answers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

Unit = Literal["epsilon", "answers"]


class BudgetExceeded(ValueError):
    """A query that an owner's budget no longer covers; nothing was drawn and nothing charged."""


@dataclass(frozen=True)
class Entry:
    """Consecutive answers to one purpose: answers number ``first`` to ``last`` of an owner."""

    owner: str
    purpose: str
    first: int
    last: int


@dataclass(frozen=True)
class Account:
    """One owner's budget: ``horizon`` answers spend it all.

    Parameters
    ----------
    owner: its name.
    epsilon: the budget over all its answers; inf for who adds no noise: nothing is claimed, and it answers without limit.
    horizon: the answers its noise was priced for, >= 1.
    unit: "epsilon" under basic composition, else "answers" (`Mechanism.ledger_unit`).
    answered: the answers given so far.

    >>> account = Account("bank", 2.0, 10, "epsilon", answered=9)
    >>> account.spent, round(account.remaining, 12), account.answers_remaining
    (1.8, 0.2, 1)
    """

    owner: str
    epsilon: float
    horizon: int
    unit: Unit = "epsilon"
    answered: int = 0

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"{self.owner}: an account needs a budget above 0, got {self.epsilon}")
        if self.horizon < 1:
            raise ValueError(f"{self.owner}: an account needs at least 1 answer, got {self.horizon}")

    @property
    def limited(self) -> bool:
        """Whether there is a claim to keep."""
        return bool(np.isfinite(self.epsilon))

    @property
    def answers_remaining(self) -> float:
        """Answers that may still be given; inf without a claim."""
        return self.horizon - self.answered if self.limited else np.inf

    def cost(self, answers: int) -> float:
        """What so many answers spend, in ``unit``: epsilon answers/horizon, or the answers themselves."""
        if self.unit == "answers" or not answers:
            return float(answers)
        return self.epsilon * (answers / self.horizon)  # all of them spend exactly epsilon

    @property
    def spent(self) -> float:
        """Spent so far, in ``unit``; inf of an epsilon once an owner without noise has answered."""
        return self.cost(self.answered)

    @property
    def remaining(self) -> float:
        """What remains, in ``unit``."""
        return self.cost(self.horizon) - self.spent if self.limited else np.inf


@dataclass
class Ledger:
    """Accounts of all owners and what they answered. Its counts change; what was entered is never taken back.

    >>> ledger = Ledger()
    >>> ledger.open("bank", epsilon=1.0, horizon=2)
    >>> ledger.charge("bank", "training"); ledger.charge("bank", "training"); ledger["bank"].remaining
    0.0
    >>> ledger.charge("bank", "a")
    Traceback (most recent call last):
    learning.privacy.ledger.BudgetExceeded: bank has answered 2 of the 2 queries its budget of 1 covers: 1 more (a) is refused
    """

    accounts: dict[str, Account] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    _latest: dict[str, int] = field(default_factory=dict, repr=False)  # owner -> its last entry

    def __getitem__(self, owner: str) -> Account:
        return self.accounts[owner]

    def open(self, owner: str, epsilon: float, horizon: int, unit: Unit = "epsilon") -> None:
        """Open an owner's account; one that is open already must be of the same budget and price.

        Raises
        ------
        ValueError
            If the owner's noise was priced otherwise before: answers of two prices are not counted together.
        """
        new, old = Account(owner, float(epsilon), horizon, unit), self.accounts.get(owner)
        if old is not None and replace(old, answered=0) != new:
            raise ValueError(
                f"{owner} has an account of {old.epsilon:g} over {old.horizon} answers; "
                f"its noise is now priced for {new.epsilon:g} over {new.horizon}"
            )
        self.accounts.setdefault(owner, new)

    def check(self, owner: str, answers: int, purpose: str) -> None:
        """Refuse so many more answers if they would overspend; to be called before any noise is drawn.

        Raises
        ------
        BudgetExceeded
            If fewer answers remain.
        """
        account = self.accounts[owner]
        if answers > account.answers_remaining:
            raise BudgetExceeded(
                f"{owner} has answered {account.answered} of the {account.horizon} queries its budget of "
                f"{account.epsilon:g} covers: {answers} more ({purpose}) {'is' if answers == 1 else 'are'} refused"
            )

    def charge(self, owner: str, purpose: str, answers: int = 1) -> None:
        """Enter answers as given, after checking that they are covered; those to one purpose in a row share a line."""
        if answers < 1:
            raise ValueError(f"{owner}: at least 1 answer is charged, got {answers}")
        self.check(owner, answers, purpose)
        before = self.accounts[owner]
        self.accounts[owner] = replace(before, answered=before.answered + answers)
        place = self._latest.get(owner)
        if place is not None and self.entries[place].purpose == purpose:
            self.entries[place] = replace(self.entries[place], last=before.answered + answers)
        else:
            self._latest[owner] = len(self.entries)
            self.entries.append(Entry(owner, purpose, before.answered + 1, before.answered + answers))

    def rows(self) -> list[dict[str, Any]]:
        """One row per owner: budget, answers covered and given, spent and remaining in its unit."""
        return [{**asdict(a), "spent": a.spent, "remaining": a.remaining} for a in self.accounts.values()]
