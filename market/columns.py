"""What costs, policies and games share: parameters that are one number or one per owner, and derivatives by difference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np

from learning.declaration import PerOwnerRule, checked, read_only
from learning.errors import InputError

Record = TypeVar("Record")

NOISELESS = 1e100  # stands for epsilon = inf in a ratio of budgets: the limit of equal budgets that grow
STENCIL = 1e-3  # relative step of the fourth-order difference that stands in for a missing slope


def as_parameter(key: str, values: Any, *, at_least: float = 0.0, strict: bool = False) -> np.ndarray:
    """Read a scalar or column () or (n_owners,) of finite numbers of at least, if ``strict`` above, a limit; read-only.

    Raises
    ------
    InputError
        Not numbers, not finite, below the limit, or more than one axis; ``key`` says where in a scenario.
    """
    rule: Any = Annotated[Any, PerOwnerRule(at_least, strict)]
    return read_only(checked(rule, values, key))


def owners_column(key: str, values: Any, n_owners: int, *, strict: bool = False) -> np.ndarray:
    """As `as_parameter`, one number per owner (n_owners,), read-only; an InputError where there are as many as not."""
    values = as_parameter(key, values, strict=strict)
    if values.ndim and len(values) != n_owners:
        raise InputError(key, f"needs one number per owner, {n_owners} in all", len(values))
    return np.broadcast_to(values, (n_owners,))


def column(parameter: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A parameter () or (n_owners,) shaped to broadcast over ``like`` (n_owners, ...)."""
    parameter = np.asarray(parameter)
    return parameter.reshape(parameter.shape + (1,) * (like.ndim - 1)) if parameter.ndim else parameter


def upright(rows: np.ndarray) -> np.ndarray:
    """Few columns of many owners (n_owners, k) turned, (k, n_owners), each in one piece: NumPy then reduces them quickly."""
    return np.ascontiguousarray(rows.T)


def _is_column(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 1


def check_lengths(record: Any, n_owners: int, where: str) -> None:
    """Refuse, with an InputError, a frozen dataclass with a column that does not have one number per owner."""
    for field in dataclasses.fields(record) if dataclasses.is_dataclass(record) else ():
        value = getattr(record, field.name)
        if _is_column(value) and len(value) != n_owners:
            raise InputError(f"{where}.{field.name}", f"needs one number per owner, {n_owners} in all", len(value))


def with_fields(record: Record, **changes: Any) -> Record:
    """The same frozen dataclass with other values in some fields, which are taken to be right and not checked again."""
    made = object.__new__(type(record))
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        value = changes[field.name] if field.name in changes else getattr(record, field.name)
        object.__setattr__(made, field.name, value)
    return made


def take(record: Record, index: np.ndarray | slice) -> Record:
    """The same frozen dataclass for the owners in ``index`` only: columns cut, in records within it too, the rest kept.

    A field with ``metadata={"whole": True}`` is about all owners, and kept.
    """
    cut = {}
    for field in dataclasses.fields(record) if dataclasses.is_dataclass(record) else ():
        value = getattr(record, field.name)
        part = value[index] if _is_column(value) else value if field.metadata.get("whole") else take(value, index)
        if part is not value:
            cut[field.name] = part
    return with_fields(record, **cut) if cut else record


def difference(function: Callable[[np.ndarray], np.ndarray], epsilon: np.ndarray) -> np.ndarray:
    """Derivative of ``function`` at each epsilon > 0 by a five-point difference in relative steps."""
    step = STENCIL * epsilon
    near = function(epsilon + step) - function(epsilon - step)
    far = function(epsilon + 2 * step) - function(epsilon - 2 * step)
    return (8 * near - far) / (12 * np.where(step > 0, step, 1.0))


def check_methods(thing: Any, names: Sequence[str], remedy: str) -> None:
    """Refuse, with an InputError, an object that lacks something that the market asks of it."""
    lacking = [name for name in names if not hasattr(thing, name)]
    if lacking:
        raise InputError(type(thing).__name__, f"lacks {', '.join(lacking)}", remedy=remedy)


def check_shape(found: Any, shape: tuple[int | None, ...], thing: Any, method: str) -> None:
    """Refuse, with an InputError, what a method gave where it is no array of the shape asked for; None is any length."""
    given = np.shape(found)
    if len(given) != len(shape) or any(want not in (None, have) for want, have in zip(shape, given, strict=True)):
        wanted = f"({', '.join('any' if length is None else str(length) for length in shape)})"
        what = f"one of shape {given}" if given else f"the single value {found!r}"
        raise InputError(f"{type(thing).__name__}.{method}", f"must give an array of shape {wanted}", what)
