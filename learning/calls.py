"""Calls from Python: each argument is checked against its type, and each fault of the input is an InputError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from inspect import signature
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, get_type_hints

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from learning.declaration import shown, words
from learning.errors import InputError, check_current_folder, explain_fault

Given = ParamSpec("Given")
Found = TypeVar("Found")
STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


def guarded(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """A public function whose arguments are checked, and whose failures by the input are errors of one line.

    An error that neither an argument nor the machine accounts for is a fault of the program, and is raised as it is.

    Parameters
    ----------
    function : has a type hint for each argument that a caller may get wrong.

    Raises
    ------
    InputError
        By the function made: if an argument is of another type, or the system, memory or arithmetic fails on it.
    """

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        for name, value in signature(function).bind(*args, **kwargs).arguments.items():
            check_argument(name, value, _hints(function).get(name, Any))
        try:
            return function(*args, **kwargs)
        except Exception as error:
            fault = explain_fault(error)
            if fault is None or fault is error:
                raise
            check_current_folder()
            raise fault from error

    return call


def check_argument(name: str, value: Any, hint: Any) -> None:
    """Refuse an argument that is not of the type of its hint; arrays count as lists, numbers of NumPy as numbers.

    Raises
    ------
    InputError
    """
    if hint is Any:
        return
    try:
        _adapter(hint).validate_python(_plain(value))
    except (ValidationError, RecursionError):
        raise InputError(name, f"must be {words(hint)}", shown(value)) from None


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    hints = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return get_type_hints(SimpleNamespace(__annotations__=hints), function.__globals__)


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=STRICT)


def _plain(value: Any) -> Any:
    """A value with lists for arrays and plain numbers for those of NumPy."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return value
