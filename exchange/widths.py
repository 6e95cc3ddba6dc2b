"""Lengths of the arrays in an answer, and those that a model of so many parameters asks for."""

from __future__ import annotations

from exchange.messages import Answer, Sealed, Sums


def answer_lengths(answer: Answer) -> list[int]:
    """Lengths of an answer's arrays."""
    return [len(part) for part in answer.parts.values()]


def expected_lengths(form: type[Answer], width: int) -> list[int]:
    """Lengths of the arrays of a form where a model has so many parameters."""
    if form is Sealed:
        return []
    return [width, width * (width + 1) // 2] if form is Sums else [width]
