"""Parameters that are one number for all owners or one number per owner."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np

from learning.errors import InputError

Record = TypeVar("Record")


def as_parameter(key: str, values: Any, *, at_least: float = 0.0, strict: bool = False) -> np.ndarray:
    """Read a scalar or column of finite numbers, read-only, refusing what lies below its limit.

    Parameters
    ----------
    key : str
        Where the numbers stand in a scenario; used in the error.
    values : scalar or (n_owners,)
    at_least : float
        Smallest number allowed; excluded itself when ``strict``.

    Returns
    -------
    ndarray, () or (n_owners,)

    Raises
    ------
    InputError
        Not numbers, not finite, below the limit, or more than one axis.
    """
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(key, "must be a number or one number per owner", repr(values)) from None
    if array.ndim > 1:
        raise InputError(key, "must be a number or one number per owner", f"an array of shape {array.shape}")
    low = array <= at_least if strict else array < at_least
    bad = np.atleast_1d(~np.isfinite(array) | low)
    if bad.any():
        rule = f"must be finite and {'above' if strict else 'at least'} {at_least:g}"
        raise InputError(key, rule, f"{np.atleast_1d(array)[bad][0]:g}")
    array.flags.writeable = False
    return array


def one_of(key: str, name: str, choices: tuple[str, ...]) -> None:
    """Refuse, with an InputError, a name that is not among the choices; ``key`` is where it stands."""
    if name not in choices:
        raise InputError(key, f"must be one of {', '.join(choices)}", repr(name))


def column(parameter: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A parameter () or (n_owners,) shaped to broadcast over ``like`` (n_owners, ...)."""
    parameter = np.asarray(parameter)
    return parameter.reshape(parameter.shape + (1,) * (like.ndim - 1)) if parameter.ndim else parameter


def lengths(record: Any) -> dict[str, int]:
    """Length of every per-owner column of a frozen dataclass, by field; empty for any other object."""
    if not dataclasses.is_dataclass(record):
        return {}
    fields = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    return {name: len(value) for name, value in fields.items() if getattr(value, "ndim", 0) == 1}


def take(record: Record, index: np.ndarray) -> Record:
    """The same frozen dataclass for the owners in ``index`` only: columns cut, in records within it too, the rest kept."""
    cut = {name: getattr(record, name)[index] for name in lengths(record)}
    for field in dataclasses.fields(record) if dataclasses.is_dataclass(record) else ():
        whole = getattr(record, field.name)
        inner = take(whole, index)
        if inner is not whole:
            cut[field.name] = inner
    return dataclasses.replace(record, **cut) if cut else record  # type: ignore[type-var]
