"""Calls from Python: type checks of arguments; faults of the input become InputErrors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from inspect import signature
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, get_type_hints

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from learning.declaration import describe_type, format_value
from learning.errors import InputError, check_current_folder, explain_fault

Given = ParamSpec("Given")
Found = TypeVar("Found")
STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


def check_arguments(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Decorate a public function to check its arguments and report faults of the input in one line.

    Any other error is a fault of the program, and is raised as it is.

    Parameters
    ----------
    function : has a type hint for each argument that a caller may get wrong.

    Raises
    ------
    InputError
        By the decorated function: for an argument of another type, or where the system, memory or
        arithmetic fails on it.
    """

    @wraps(function)
    def checked_call(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        for name, value in signature(function).bind(*args, **kwargs).arguments.items():
            check_argument(name, value, _argument_hints(function).get(name, Any))
        try:
            return function(*args, **kwargs)
        except Exception as error:
            fault = explain_fault(error)
            if fault is None or fault is error:
                raise
            check_current_folder()
            raise fault from error

    return checked_call


def check_argument(name: str, value: Any, hint: Any) -> None:
    """Refuse an argument that is not of the type of its hint; arrays count as lists.

    Raises
    ------
    InputError
    """
    if hint is Any:
        return
    try:
        _type_adapter(hint).validate_python(_plain_value(value))
    except (ValidationError, RecursionError):
        raise InputError(name, f"must be {describe_type(hint)}", format_value(value)) from None


@cache
def _argument_hints(function: Callable[..., Any]) -> dict[str, Any]:
    hints = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    known = SimpleNamespace(__annotations__=hints)
    return get_type_hints(known, function.__globals__, include_extras=True)


@cache
def _type_adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=STRICT)


def _plain_value(value: Any) -> Any:
    """Convert arrays to lists and NumPy's numbers to plain ones."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain_value(inner) for key, inner in value.items()}
    return value
