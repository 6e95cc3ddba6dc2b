"""Columns: one number for all owners or one per owner, checks of shapes, and finite differences."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from learning.declaration import PerOwnerRule, check_value, read_only
from learning.errors import InputError

Array = NDArray[Any]
Pair = tuple[Array, Array]
Record = TypeVar("Record")

# Replaces epsilon = inf in a ratio of budgets: the limit of equal budgets that grow.
NOISELESS = 1e100
# Relative step of the fourth-order difference that replaces a missing derivative.
STENCIL = 1e-3


def as_parameter(key: str, values: Any, *, at_least: float = 0.0, strict: bool = False) -> Array:
    """Read a scalar or column () or (n_owners,) of finite numbers, as a read-only array.

    Parameters
    ----------
    key : the place in a scenario that an error names
    at_least : lower limit; ``strict`` excludes it

    Raises
    ------
    InputError
        Not numbers, not finite, below the limit, or more than one axis.
    """
    rule: Any = Annotated[Any, PerOwnerRule(at_least, strict)]
    return read_only(check_value(rule, values, key))


def owners_column(key: str, values: Any, n_owners: int, *, strict: bool = False) -> Array:
    """Read a parameter as `as_parameter` and broadcast it to one number per owner (n_owners,)."""
    values = as_parameter(key, values, strict=strict)
    if values.ndim:
        _check_length(key, values, n_owners)
    return np.broadcast_to(values, (n_owners,))


def column(parameter: Array, like: Array) -> Array:
    """Reshape a parameter () or (n_owners,) to broadcast over ``like`` (n_owners, ...)."""
    parameter = np.asarray(parameter)
    if not parameter.ndim:
        return parameter
    return parameter.reshape(parameter.shape + (1,) * (like.ndim - 1))


def transpose_rows(rows: Array) -> Array:
    """Transpose rows (n_owners, k) to contiguous (k, n_owners), which NumPy reduces quickly."""
    return np.ascontiguousarray(rows.T)


def _is_column(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 1


def _check_length(key: str, values: Array, n_owners: int) -> None:
    if len(values) != n_owners:
        raise InputError(key, f"needs one number per owner, {n_owners} in all", len(values))


def check_lengths(record: Any, n_owners: int, where: str) -> None:
    """Refuse a dataclass with a column that does not have one number per owner."""
    for field in dataclasses.fields(record) if dataclasses.is_dataclass(record) else ():
        value = getattr(record, field.name)
        if _is_column(value):
            _check_length(f"{where}.{field.name}", value, n_owners)


def with_fields(record: Record, **changes: Any) -> Record:
    """Copy a frozen dataclass with changed fields, without checking them again."""
    made = object.__new__(type(record))
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        value = changes[field.name] if field.name in changes else getattr(record, field.name)
        object.__setattr__(made, field.name, value)
    return made


def take_owners(record: Record, index: Array | slice) -> Record:
    """Restrict a dataclass to the owners in ``index``: its columns, and those of records in it.

    A field with ``metadata={"whole": True}`` keeps the columns of all owners.
    """
    cut = {}
    for field in dataclasses.fields(record) if dataclasses.is_dataclass(record) else ():
        value = getattr(record, field.name)
        if _is_column(value):
            cut[field.name] = value[index]
        elif not field.metadata.get("whole"):
            part = take_owners(value, index)
            if part is not value:
                cut[field.name] = part
    return with_fields(record, **cut) if cut else record


def finite_difference(function: Callable[[Array], Array], epsilon: Array) -> Array:
    """Derivative of ``function`` at each epsilon > 0 by a five-point stencil in relative steps."""
    step = STENCIL * epsilon
    near = function(epsilon + step) - function(epsilon - step)
    far = function(epsilon + 2 * step) - function(epsilon - 2 * step)
    return (8 * near - far) / (12 * np.where(step > 0, step, 1.0))


def check_methods(thing: Any, names: Sequence[str], remedy: str) -> None:
    """Refuse an object without some of these attributes."""
    lacking = [name for name in names if not hasattr(thing, name)]
    if lacking:
        raise InputError(type(thing).__name__, f"lacks {', '.join(lacking)}", remedy=remedy)


def check_shape(found: Any, shape: tuple[int | None, ...], thing: Any, method: str) -> None:
    """Refuse a result of ``thing.method`` with another shape; None allows any length."""
    given = np.shape(found)
    pairs = zip(shape, given, strict=False)
    if len(given) == len(shape) and all(want in (None, have) for want, have in pairs):
        return
    wanted = ", ".join("any" if length is None else str(length) for length in shape)
    what = f"one of shape {given}" if given else f"the single value {found!r}"
    rule = f"must give an array of shape ({wanted})"
    raise InputError(f"{type(thing).__name__}.{method}", rule, what)
