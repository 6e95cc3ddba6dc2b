"""What left the parties' hands in an exchange, kept file by file, and searched for values of somebody's records.

A search finds what was copied: a cell, an encoded value, a sum or a gradient without noise, in any of the spellings below.
That it finds nothing proves nothing of what a file tells in other words; that is what the mechanism's proof is for.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from learning.arrays import Array

# A whole number, not some digits of a longer one or of a digest: among those, six digits of a cell are found by chance.
NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
HEX_FLOAT = re.compile(rb"[-+]?0x[01]\.?[0-9a-f]*p[-+]?\d+")
HEX_BYTES = re.compile(rb"[0-9a-fA-F]{16,}")
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{11,}={0,2}")
DIGITS = 6  # significant digits, or signs of a text, from which on a value is told from chance
LONG = 12  # signs from which on a number is looked for among the digits of others too
NEAR = 1e-9  # how near, relatively, a sum or gradient is found, which may be added up in another order
SPELLINGS = ("text", "decimal number", "hexadecimal number", "8 bytes, either order", "the same in hex or base64")


@dataclass(frozen=True)
class Secrets:
    """What nobody but an owner may see, without whatever stands in public files too.

    Parameters
    ----------
    owner: whose they are.
    texts: cells as they are written, of `DIGITS` signs at least.
    numbers: cells and encoded values, sorted; each equal to the last bit where it is found.
    totals: sums and gradients without noise, sorted; found where a number is within `NEAR` of one.
    """

    owner: str
    texts: frozenset[bytes] = field(repr=False)
    numbers: Array = field(repr=False)
    totals: Array = field(repr=False)

    @property
    def count(self) -> int:
        """How many values are looked for."""
        return len(self.texts) + len(self.numbers) + len(self.totals)


@dataclass(frozen=True)
class Found:
    """A value of an owner's records in a file: for the eyes of who searches alone."""

    file: str
    owner: str
    kind: str
    value: str


def secrets_of(
    owner: str, cells: Iterable[str], x: Array, y: Array, gradients: Iterable[Array], public: Sequence[bytes]
) -> Secrets:
    """What is to be looked for of one owner's records.

    Parameters
    ----------
    cells: its table's cells as they are written.
    x, y: its records as encoded, (n, p) and (n,).
    gradients: mean gradients without noise, each (p,), at whatever points were asked.
    public: files that everybody may see before the exchange: what stands there is not looked for.
    """
    known = b"\n".join(public)
    told = {cell.encode() for cell in set(cells) if len(cell) >= DIGITS}
    texts = {cell for cell in told if not (NUMBER.fullmatch(cell) and len(cell) < LONG)}
    texts -= substrings(known, {len(text) for text in texts})
    shown = np.unique(np.fromiter(numbers_in(known), dtype=float))
    written = (float(text) for text in told if NUMBER.fullmatch(text))
    values = np.concatenate([np.ravel(x), np.ravel(y), np.fromiter(written, dtype=float)])
    moments = x.T @ x, x.T @ y, [y @ y], x.sum(axis=0), [y.sum()], [y.std()], x.std(axis=0)
    totals = np.concatenate([np.ravel(part) for part in (*moments, *gradients)])
    sums = np.concatenate([totals, totals / len(y), totals * len(y)])
    return Secrets(owner, frozenset(texts), _telling(values, shown), _telling(sums, shown))


def _telling(values: Array, shown: Array) -> Array:
    """Values that no public file shows and no chance writes: of `DIGITS` significant digits at least, sorted."""
    distinct = np.setdiff1d(values[np.isfinite(values)], shown)
    with np.errstate(all="ignore"):
        rounded = np.array([float(f"{value:.{DIGITS - 2}e}") for value in distinct.tolist()])
    return distinct[rounded != distinct] if len(distinct) else distinct


def search(files: Mapping[str, bytes], secrets: Sequence[Secrets]) -> list[Found]:
    """Every secret that a file holds, in any of `SPELLINGS`."""
    found = []
    for name, raw in files.items():
        shown = np.unique(np.fromiter(numbers_in(raw), dtype=float))
        for one in secrets:
            texts = one.texts & substrings(raw, {len(text) for text in one.texts})
            found += [Found(name, one.owner, "cell", text.decode()) for text in sorted(texts)]
            equal = np.intersect1d(shown, one.numbers)
            found += [Found(name, one.owner, "value of a record", repr(value)) for value in equal.tolist()]
            near = shown[_near(shown, one.totals)]
            found += [Found(name, one.owner, "sum or gradient without noise", repr(value)) for value in near.tolist()]
    return found


def _near(values: Array, totals: Array) -> Array:
    """Which values (k,) lie near one of some sorted totals."""
    if not len(totals):
        return np.zeros(len(values), dtype=bool)
    places = np.searchsorted(totals, values)
    beside = totals[np.clip([places - 1, places], 0, len(totals) - 1)]
    return np.asarray((np.abs(beside - values) <= NEAR * np.abs(beside)).any(axis=0))


def substrings(raw: bytes, lengths: Iterable[int]) -> set[bytes]:
    """All stretches of some lengths that stand in a file."""
    return {raw[at : at + length] for length in lengths for at in range(len(raw) - length + 1)}


def numbers_in(raw: bytes) -> Iterator[float]:
    """All numbers that a file may be read to hold, finite ones.

    >>> {0.125, 3.0} <= set(numbers_in(b'{"a": [0.125, "0x1.8p+1"]}'))
    True
    """
    for token in NUMBER.findall(raw):
        with suppress(ValueError, OverflowError):
            yield float(token)
    for token in HEX_FLOAT.findall(raw.lower()):
        with suppress(ValueError, OverflowError):
            yield float.fromhex(token.decode())
    for token in HEX_BYTES.findall(raw):
        for at in (0, 1):
            part = token[at : at + (len(token) - at) // 2 * 2]
            yield from doubles_in(bytes.fromhex(part.decode()))
    for token in BASE64.findall(raw):
        bare = token.rstrip(b"=")
        for at in range(4):  # whatever stands before it may have been taken for a part of it
            part = bare[at:]
            with suppress(ValueError):
                yield from doubles_in(base64.b64decode(part + b"=" * (-len(part) % 4), altchars=b"-_"))
                yield from doubles_in(base64.b64decode(part + b"=" * (-len(part) % 4)))
    yield from doubles_in(raw)


def doubles_in(raw: bytes) -> Iterator[float]:
    """Every eight bytes in a row as a number, in either order."""
    for at in range(min(8, len(raw))):
        whole = raw[at : at + (len(raw) - at) // 8 * 8]
        for order in ("<f8", ">f8"):
            values = np.frombuffer(whole, dtype=order).astype(float)
            yield from values[np.isfinite(values)].tolist()


class Wire:
    """Keeps a copy of every file that is ever seen in a folder: under its name the first, others with their digest.

    Parameters
    ----------
    folder: what is watched, with the folders in it.
    kept: where copies go; made where it is not there.
    """

    def __init__(self, folder: Path, kept: Path) -> None:
        self.folder, self.kept = folder, kept
        self.seen: dict[tuple[str, str], bytes] = {}
        self._looked: dict[str, tuple[int, int, int]] = {}
        kept.mkdir(parents=True, exist_ok=True)

    def look(self) -> None:
        """Copy whatever is new since the last look."""
        for path in sorted(self.folder.rglob("*")):
            with suppress(OSError):  # gone again
                name, told = path.relative_to(self.folder).as_posix(), path.stat()
                mark = (told.st_mtime_ns, told.st_size, told.st_ino)
                if path.is_file() and self._looked.get(name) != mark:
                    self._take(name, path.read_bytes())
                    self._looked[name] = mark

    def _take(self, name: str, raw: bytes) -> None:
        digest = hashlib.sha256(raw).hexdigest()
        if (name, digest) in self.seen:
            return
        first = all(name != other for other, _ in self.seen)
        self.seen[name, digest] = raw
        place = self.kept / (name if first else f"{name}.{digest[:16]}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(raw)

    @property
    def files(self) -> dict[str, bytes]:
        """Every file seen: its name, with its digest where there were several."""
        names = [name for name, _ in self.seen]
        return {
            name if names.count(name) == 1 else f"{name} ({digest[:16]})": raw
            for (name, digest), raw in self.seen.items()
        }
