"""The one error a user of the market can cause: an input that breaks a stated rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class InputError(ValueError):
    """An input breaks a rule; the message is one line: where, what rule, what was found, what to do.

    Parameters
    ----------
    key : str
        Where: the scenario key, column or argument at fault, such as ``data.split``.
    rule : str
        What must hold.
    found : object
        What was found instead; left out of the message when empty.
    remedy : str
        What to do about it; left out of the message when empty.

    >>> print(InputError("data.split", "may take at most 20,190 rows", 30000, "Lower the sizes."))
    data.split: may take at most 20,190 rows; found 30000. Lower the sizes.
    """

    def __init__(self, key: str, rule: str, found: object = "", remedy: str = "") -> None:
        self.key, self.rule, self.found, self.remedy = key, rule, found, remedy
        text = f"{key}: {rule}"
        if str(found):
            text += f"; found {found}"
        text += "."
        super().__init__(f"{text} {remedy}".strip())

    def __reduce__(self) -> tuple[object, ...]:
        """As a worker hands it to the process that it works for."""
        return InputError, (self.key, self.rule, str(self.found), self.remedy)

    @property
    def all(self) -> tuple[InputError, ...]:
        """Every rule that the input breaks, as far as they were looked for."""
        return (self,)


class InputErrors(InputError):
    """Several broken rules of one input; the message is that of the first.

    Parameters
    ----------
    errors : sequence of InputError
        At least one.
    """

    def __init__(self, errors: Sequence[InputError]) -> None:
        first = errors[0]
        super().__init__(first.key, first.rule, first.found, first.remedy)
        self._all = tuple(one for error in errors for one in error.all)

    def __reduce__(self) -> tuple[object, ...]:
        return InputErrors, (self._all,)

    @property
    def all(self) -> tuple[InputError, ...]:
        """Every rule that the input breaks, as far as they were looked for."""
        return self._all


def together(*checks: Callable[[], object]) -> None:
    """Make all checks, whichever of them fail.

    Parameters
    ----------
    checks : callables
        Each raises an InputError where its rule is broken.

    Raises
    ------
    InputErrors
        With the error of each check that failed.
    """
    errors = []
    for check in checks:
        try:
            check()
        except InputError as error:
            errors.append(error)
    if errors:
        raise InputErrors(errors)
