"""A policy that the user wrote: a function in a Python file named in the scenario.

The file is a program and may do anything, so it is run only when the user says so
(``--allow-code``); whoever passes a scenario on cannot say so in it. The function is given a budget
profile and the game, and returns what is paid:

    def payments(epsilon, game, budget=1000.0):
        gain = game.forecast.outside - game.fitness(epsilon)
        return budget * gain * epsilon / max(epsilon.sum(), 1e-300)

with ``[policy]`` ``kind = "user"``, ``file = "my_policy.py"``, and any arguments under
``[policy.parameters]``.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from learning.errors import InputError
from market.game.game import Game
from market.policies.base import ProfilePolicy
from scenarios.plugins import describe_error
from scenarios.schema.fields import suggest_name
from scenarios.schema.kinds import User
from scenarios.schema.scenario import Scenario

FLAG = "--allow-code"
FILE = "policy.file"


@dataclass(frozen=True)
class UserPolicy(ProfilePolicy):
    """Payments by a user's function, ``function(epsilon, game, **parameters)``.

    Settles whole profiles.

    Parameters
    ----------
    function : callable(epsilon (n_owners,), Game, ...) -> (n_owners,), money
        A fixed function of what it is given: nothing drawn, nothing remembered.
    parameters : dict, further arguments
    place : str, where the function is written, for errors

    >>> def half(epsilon, game):
    ...     return epsilon / 2
    >>> UserPolicy(half).settle(np.array([1.0, 3.0]), None).tolist()
    [0.5, 1.5]
    """

    function: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    place: str = "payments"

    def settle(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        """Money each owner is paid at a profile (n_owners,).

        Raises
        ------
        InputError
            The function fails, or gives anything but one finite number per owner.
        """
        try:
            with np.errstate(all="ignore"):  # what comes out is checked below
                paid = np.array(self.function(epsilon.copy(), game, **self.parameters), dtype=float)
        except Exception as error:
            raise self.error("must not fail", describe_error(error)) from None
        if paid.shape != epsilon.shape:
            rule = f"must return one number per owner, {len(epsilon)}"
            raise self.error(rule, f"an array of shape {paid.shape}")
        odd = paid[~np.isfinite(paid)]
        if len(odd):
            at = np.array2string(epsilon, precision=4, threshold=6)
            raise self.error("must return finite numbers", f"{odd[0]} at epsilon = {at}")
        return paid

    def error(self, rule: str, found: str) -> InputError:
        """Make the error of a function that breaks a rule."""
        return InputError(FILE, f"{self.place} {rule}", found)


def is_written(scenario: Scenario) -> bool:
    """Test whether the scenario's policy is code in a file of the user's."""
    return scenario.policy.declaration is User


def check_permitted(scenario: Scenario) -> None:
    """Refuse a scenario with code of a user's unless the user has allowed it.

    Raises
    ------
    InputError
    """
    if is_written(scenario) and not scenario.allow_code:
        rule = f"code from a file is run only with {FLAG}"
        remedy = f"Read the file first; if you trust it, add {FLAG}."
        raise InputError("policy.kind", rule, f'"user" with file "{scenario.policy.file}"', remedy)


def load_policy(scenario: Scenario) -> UserPolicy | None:
    """The policy written in the scenario's file, which is run; None where the policy is no code.

    Raises
    ------
    InputError
        Not allowed, no such file or function, or a file or function that cannot be run.
    """
    check_permitted(scenario)
    if not is_written(scenario):
        return None
    name = scenario.policy.function
    given = dict(scenario.policy.parameters)
    path, source = _read(scenario)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        rule = f"{path.name} must be Python that runs"
        raise InputError(FILE, rule, describe_error(error)) from None
    function = getattr(module, name, None)
    key = "policy.function"
    if not callable(function):
        known = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        rule = f"must be a function in {path.name}"
        raise InputError(key, rule, name, suggest_name(name, known))
    try:
        inspect.signature(function).bind(None, None, **given)
    except TypeError as error:
        wanted = f"{name}{inspect.signature(function)} must take (epsilon, game) and the keys of "
        raise InputError(key, f"{wanted}[policy.parameters]", str(error)) from None
    except ValueError:  # some functions written in C do not tell what they take
        pass
    return UserPolicy(function, given, f"{name} in {path.name}")


def check_policy(policy: UserPolicy, game: Game) -> None:
    """Ask a user's policy for payments at both ends and between, twice.

    Raises
    ------
    InputError
        As in `UserPolicy.settle`, or where the same profile is paid differently.
    """
    low = game.owners.epsilon_min
    high = game.owners.epsilon_max
    for profile in (low, high, 0.3 * low + 0.7 * high):
        first = policy.settle(profile, game)
        second = policy.settle(profile, game)
        if not np.array_equal(first, second):
            rule = "must pay the same for the same budgets"
            raise policy.error(rule, "other ones the second time")


def fingerprint(scenario: Scenario) -> dict[str, str] | None:
    """File and SHA-256 of a user's code in a result; None without."""
    if not is_written(scenario):
        return None
    path, source = _read(scenario)
    return {"file": str(path.resolve()), "sha256": hashlib.sha256(source).hexdigest()}


def _read(scenario: Scenario) -> tuple[Path, bytes]:
    """Path and text of the user's file."""
    path = scenario.locate(scenario.policy.file)
    found = "a pipe or a device"
    try:
        if os.path.isfile(path) or not os.path.exists(path):
            return path, path.read_bytes()
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
    raise InputError(FILE, "must be a readable Python file", f"{path}: {found}")
