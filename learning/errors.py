"""The error of an input that breaks a stated rule."""

from __future__ import annotations

import os


class InputError(ValueError):
    """An input breaks a rule; the message is one line: key, rule, finding, remedy.

    Parameters
    ----------
    key : the scenario key, column or argument at fault, such as ``data.split``.
    rule : the rule that it breaks.
    found : the finding; left out of the message when empty.
    remedy : the way to mend it; left out of the message when empty.

    >>> print(InputError("data.split", "may take at most 20,190 rows", 30000, "Lower the sizes."))
    data.split: may take at most 20,190 rows; found 30000. Lower the sizes.
    """

    def __init__(self, key: str, rule: str, found: object = "", remedy: str = "") -> None:
        self.key = key
        self.rule = rule
        self.found = found
        self.remedy = remedy
        text = f"{key}: {rule}"
        if str(found):
            text += f"; found {found}"
        text += "."
        super().__init__(" ".join(f"{text} {remedy}".splitlines()).strip())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the error, for a worker process."""
        return InputError, (self.key, self.rule, str(self.found), self.remedy)

    @property
    def all(self) -> tuple[InputError, ...]:
        """All checked rules that the input breaks."""
        return (self,)


def describe_system_error(error: OSError) -> str:
    """Name what the system reported, as the finding of an error.

    >>> describe_system_error(OSError(2, "No such file or directory"))
    'the system error "No such file or directory"'
    """
    return f'the system error "{error.strerror or error or type(error).__name__}"'


def explain_fault(error: Exception) -> InputError | None:
    """Make the error of an input that made the machine fail; None for a fault of the program."""
    if isinstance(error, InputError):
        return error
    if isinstance(error, MemoryError):
        rule = f"needs more memory than there is ({error or 'none is left'})"
        return InputError("the input", rule, remedy="Ask for fewer rows, owners, starts or runs.")
    if isinstance(error, RecursionError):
        return InputError("the input", "is nested too deeply")
    if isinstance(error, OSError):
        return InputError(str(error.filename or "the system"), error.strerror or str(error))
    arithmetic = isinstance(error, (ArithmeticError, RuntimeWarning))
    if arithmetic or type(error).__name__ == "LinAlgError":
        rule = f"is too large, or too near 0, to compute with ({error})"
        return InputError("a number", rule, remedy="Bring those of the scenario closer to 1.")
    if isinstance(error, UnicodeEncodeError):
        return InputError("a text", "must consist of whole characters", "half of a pair of UTF-16")
    if isinstance(error, ValueError) and str(error).startswith("embedded null"):  # for a path
        return InputError("a path", "must have no NUL character")
    return None


def check_current_folder() -> None:
    """Refuse to work in a folder that was deleted.

    Raises
    ------
    InputError
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        found = "that it was deleted"
        raise InputError(
            "the current folder", "must exist", found, "Change to another folder."
        ) from None
