"""The one error a user of the market can cause: an input that breaks a stated rule."""

from __future__ import annotations


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
