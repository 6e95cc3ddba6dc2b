"""Several errors of one input, reported together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from learning.errors import InputError


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
