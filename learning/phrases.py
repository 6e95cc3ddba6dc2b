"""Text for people: numbers to three digits, lists, quoted values, and the meaning of a budget."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from learning.privacy.claims import bound_belief

UNKNOWN = "–"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
HARD_SPACE = "\u00a0"
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
# The largest probability with which an observer of all answers guesses which of two equally likely
# records is the true one, and the word for that protection. No standard names the steps. Under pure
# differential privacy they are ε = 0.1, ln 3 (Dwork 2011, A firm foundation for private data
# analysis), 2.9 (one error in twenty) and 6.9 (one in a thousand).
STRENGTHS = ((0.525, "very strong"), (0.75, "strong"), (0.95, "moderate"), (0.999, "weak"))
LEAST = "very weak"
MISSING = "missing"  # delta allows the publication of a whole record
NOTHING_PROMISED = "the guarantee allows publishing a whole record outright"
UNSURE = 1 - 2.0**-53  # the largest probability below certainty
CERTAIN = 0.9995  # rounds to certainty


def format_number(value: float | None, digits: int = 3) -> str:
    """Format a number to some significant digits; a dash where it is unknown.

    >>> [format_number(value) for value in (12345.678, 0.051234, -2, 0, None, math.inf)]
    ['12,300', '0.0512', '−2', '0', '–', '∞']
    >>> format_number(1.5e-9).replace(HARD_SPACE, " ")
    '1.5 × 10⁻⁹'
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    sign = "−" if value < 0 else ""
    size = abs(float(value))
    if math.isinf(size):
        return sign + "∞"
    if size == 0:
        return "0"
    mantissa, power = f"{size:.{digits - 1}e}".split("e")
    exponent = int(power)
    if not -4 <= exponent < 12:
        digits_up = str(exponent).translate(SUPERSCRIPTS)
        return f"{sign}{_trim(mantissa)}{HARD_SPACE}×{HARD_SPACE}10{digits_up}"
    rounded = float(f"{mantissa}e{power}")
    return sign + _trim(f"{rounded:,.{max(0, digits - 1 - exponent)}f}")


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_percent(value: float | None, digits: int = 3) -> str:
    """Format a share in percent, to three digits and never finer than a thousandth of a percent.

    Smaller values count as 0 where they are negative or rounding errors.

    >>> shares = (0.0512, 1e-9, -7e-16, -0.02)
    >>> [format_percent(share).replace(HARD_SPACE, " ") for share in shares]
    ['5.12 %', 'less than 0.001 %', '0 %', '−2 %']
    """
    if value is None or not math.isfinite(value):
        return format_number(value)
    if -1e-5 < value < 1e-10:
        value = 0.0
    if 0 < value < 1e-5:
        return f"less than 0.001{HARD_SPACE}%"
    return format_number(100 * value, digits) + HARD_SPACE + "%"


def read_limit(value: float | None) -> float:
    """Convert a number of a result file, where null stands for infinity."""
    return math.inf if value is None else float(value)


def join_words(words: Sequence[str], most: int = 4) -> str:
    """Join words to a list; a long one is cut and counted.

    >>> join_words(["A", "B", "C"]), join_words(list("ABCDEFG"), most=3)
    ('A, B and C', 'A, B, C and 4 others')
    """
    words = list(words)
    if len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most:,} others"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def count_noun(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun.

    >>> count_noun(1, "round"), count_noun(6680, "record"), count_noun(2, "index", "indices")
    ('1 round', '6,680 records', '2 indices')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def escape_control(text: str) -> str:
    r"""Escape everything in a text that moves a cursor, colours or turns it round.

    >>> escape_control("\x1b[31mred\u202e, in Zürich")
    '\\u001b[31mred\\u202e, in Zürich'
    """
    if text.isprintable():
        return text
    return "".join(c if is_readable(c) else _escape(c) for c in text)


def is_readable(char: str) -> bool:
    """Test for a sign, a space, or a joiner of signs, as in scripts and emoji."""
    return char.isprintable() or unicodedata.category(char) == "Zs" or char in "\u200c\u200d"


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def toml_text(text: str) -> str:
    """Quote a text as a TOML string on one line; control characters are escaped."""
    escaped = text.translate(ESCAPES)
    return '"' + "".join(c if c.isprintable() else _escape(c) for c in escaped) + '"'


def toml_value(value: Any) -> str:
    """Format a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        given = (f"{toml_text(k)} = {toml_value(v)}" for k, v in value.items() if v is not None)
        return f"{{{', '.join(given)}}}"
    return repr(value) if isinstance(value, (int, float)) else str(value)


def format_value(value: object, width: int = 60) -> str:
    """Format a value as TOML on one line, shortened to ``width`` characters."""
    try:
        shown = toml_value(value)
    except ValueError:  # a whole number too long for Python to print
        shown = "a very long number"
    except RecursionError:
        shown = "a value nested too deeply"
    return shown if len(shown) <= width else shown[: width - 3] + "..."


def protection(epsilon: float | None, sure: float | None = None, *, short: bool = False) -> str:
    """Describe the protection of a privacy budget by an observer's belief about one record.

    Of two equally likely versions of a record, pure differential privacy at ε bounds the belief in
    the true one by e^ε/(1 + e^ε). Under (ε, δ) the bound depends on the noise (`belief_of`).

    >>> protection(0.5).replace(chr(160), " ")
    'strong: somebody who holds two versions equally likely becomes at most 62.2 % sure'
    >>> protection(None)
    'none: shared without protection'
    """
    value = read_limit(epsilon)
    if value == 0:
        return "total: nothing is shared"
    if math.isinf(value):
        return "none: shared without protection"
    sure = surest(value) if sure is None else sure
    if sure >= 1:
        return f"{MISSING}: {NOTHING_PROMISED}"
    if short:
        return f"{strength(sure)}, {sure_words(sure).removeprefix('at most ')}"
    even = "somebody who holds two versions equally likely"
    return f"{strength(sure)}: {even} becomes {sure_words(sure)}"


def surest(epsilon: float) -> float:
    """Bound on the belief of an observer of all answers, under pure differential privacy."""
    return min(1 / (1 + math.exp(-epsilon)), UNSURE)


def strength(sure: float) -> str:
    """Name the protection under which an even guess becomes as sure as given.

    >>> strength(0.6), strength(0.9998), strength(1.0)
    ('strong', 'very weak', 'missing')
    """
    last = LEAST if sure < 1 else MISSING
    return next((word for most, word in STRENGTHS if sure <= most), last)


def sure_words(sure: float) -> str:
    """Describe the belief of an observer."""
    return f"at most {format_percent(sure)} sure" if sure <= CERTAIN else "all but certain"


def belief_of(claim: Mapping[str, Any], records: int) -> tuple[float, float]:
    """Bound an observer's belief, and the probability with which the bound fails.

    The bound is certainty where delta is at least one over the records: a mechanism that publishes
    one of them outright keeps the claim. Claims of earlier results have no bound of their own; any
    (ε, δ) has one.

    Parameters
    ----------
    claim: as results hold it.
    records: number of records of the owner.

    >>> belief_of({"surest": 0.751, "but_for": 0.5, "delta": 0.5}, 40)
    (1.0, 0.0)
    """
    if claim["delta"] * records >= 1:
        return 1.0, 0.0
    if claim.get("surest") is not None:
        return min(claim["surest"], UNSURE), claim["but_for"]
    slack = 2 * claim["delta"]
    return min(
        float(bound_belief(read_limit(claim["epsilon"]), claim["delta"], slack)), UNSURE
    ), slack


def but_for_words(chance: float) -> str:
    """Describe the probability with which a bound fails; empty where it never does."""
    return f", except with probability {format_number(chance)}" if chance else ""
