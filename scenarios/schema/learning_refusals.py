"""Refusals of keys of the [learning] table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning.errors import InputError
from learning.phrases import format_value

if TYPE_CHECKING:
    from scenarios.schema.learning import Learning


def says(learning: Learning, key: str) -> str:
    """A key and its value, as errors name them."""
    return f"{key} {format_value(getattr(learning, key))}"


def must_be(learning: Learning, key: str, what: str, where: str, remedy: str = "") -> InputError:
    """Refusal of the value of a key: ``what`` it must be, and with what (``where``)."""
    found = format_value(getattr(learning, key))
    return InputError(f"learning.{key}", f"must be {what} with {where}", found, remedy)


def goes_with(learning: Learning, key: str, where: str, found: str = "") -> InputError:
    """Refusal of a key that needs something else."""
    found = found or format_value(getattr(learning, key))
    return InputError(f"learning.{key}", f"needs {where}", found, "Leave it out.")
