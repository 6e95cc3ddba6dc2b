"""The error of an input that breaks a stated rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec


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


class InputErrors(InputError):
    """Several broken rules of one input; the message is that of the first.

    Parameters
    ----------
    errors : at least one.
    """

    def __init__(self, errors: Sequence[InputError]) -> None:
        first = errors[0]
        super().__init__(first.key, first.rule, first.found, first.remedy)
        self._all = tuple(one for error in errors for one in error.all)

    def __reduce__(self) -> tuple[object, ...]:
        return InputErrors, (self._all,)

    @property
    def all(self) -> tuple[InputError, ...]:
        """All checked rules that the input breaks."""
        return self._all


def collect_errors(*checks: Callable[[], object]) -> None:
    """Make all checks and collect their errors.

    Parameters
    ----------
    checks : each raises an InputError where its rule is broken.

    Raises
    ------
    InputErrors
        With the error of each failed check.
    """
    errors = []
    for check in checks:
        try:
            check()
        except InputError as error:
            errors.append(error)
    if errors:
        raise InputErrors(errors)


def check_extra(key: str, extra: str, *modules: str) -> None:
    """Refuse work that needs a missing optional extra before it begins.

    Parameters
    ----------
    key : the command, option or call that needs it.
    extra : its name in ``pip install "dpmarket[extra]"``.
    modules : its modules.

    Raises
    ------
    InputError
    """
    lacking = [module for module in modules if find_spec(module) is None]
    if lacking:
        remedy = f'Install it: pip install "dpmarket[{extra}]".'
        raise InputError(key, f"needs the extra {extra}", f"no {lacking[0]}", remedy)


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


def describe_error(error: BaseException) -> str:
    """Describe what a user's code raised, in one line."""
    where = ""
    text = str(error)
    if isinstance(error, SyntaxError):
        text = error.msg
        where = f" in line {error.lineno}" * bool(error.lineno)
    return " ".join(f"{type(error).__name__}{where}: {text}".split())
