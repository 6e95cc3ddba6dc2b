"""Forms that files of an exchange must have: what breaks one is told in one line, by key, and no value is shown."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from learning.errors import InputError


class Written(Protocol):
    """What has bytes of its own."""

    @property
    def raw(self) -> bytes: ...


Form = TypeVar("Form", bound=BaseModel)
Made = TypeVar("Made", bound=Written)
SAID = {"extra_forbidden": "is no key that is known", "missing": "must be there", "finite_number": "must be finite"}


def modelled(form: type[Form], content: dict[str, Any], where: str) -> Form:
    """A content that has a form.

    Raises
    ------
    InputError
        With the first key that is missing, unknown or of another kind.
    """
    try:
        return form.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in fault["loc"])[:80]
        told = SAID.get(fault["type"]) or _rule(fault["msg"])
        raise InputError(f"{where}: {key}" if key else where, told) from None


def _rule(said: str) -> str:
    """Pydantic's words as the end of a sentence."""
    said = said.removeprefix("Value error, ").rstrip(".")
    return said[:1].lower() + said[1:]


def same_bytes(made: Made, raw: bytes, where: str) -> Made:
    """What was read, if it would be written as it was: 1 for 1.0 is the same number, but not the same digest."""
    if made.raw != raw:
        raise InputError(where, "must have its numbers as this program writes them", "others, such as 1 for 1.0")
    return made
