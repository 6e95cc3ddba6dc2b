"""The files of an exchange, kept one by one, and searched for values of somebody's records.

A search finds copies: a cell, an encoded value, a sum or a gradient without noise, in any of the
spellings below. It cannot prove that a file reveals nothing in another form; that is the
mechanism's proof.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from learning.arrays import Array
from learning.canonical import sha256_digest

# A complete number, and no part of a longer one or of a digest: among such parts, six digits of a
# cell are found by chance.
NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
HEX_FLOAT = re.compile(rb"[-+]?0x[01]\.?[0-9a-f]*p[-+]?\d+")
HEX_BYTES = re.compile(rb"[0-9a-fA-F]{16,}")
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{11,}={0,2}")
DIGITS = 6  # significant digits, or signs of a text, from which on a value is not found by chance
LONG = 12  # signs from which on a number is looked for among the digits of others too
NEAR = 1e-9  # relative distance at which a sum is found, which may be added up in another order
SPELLINGS = (
    "text",
    "decimal number",
    "hexadecimal number",
    "8 bytes, either order",
    "the same in hex or base64",
)


@dataclass(frozen=True)
class Secrets:
    """An owner's private values, without those that stand in public files too.

    Parameters
    ----------
    owner: its name.
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
        """Number of values."""
        return len(self.texts) + len(self.numbers) + len(self.totals)


@dataclass(frozen=True)
class Found:
    """A private value in a file; not to be shown."""

    file: str
    owner: str
    kind: str
    value: str


def make_secrets(
    owner: str,
    cells: Iterable[str],
    records: tuple[Array, Array],
    gradients: Iterable[Array],
    public: Sequence[bytes],
) -> Secrets:
    """Collect the private values of one owner's records.

    Parameters
    ----------
    cells: its table's cells as they are written.
    records: its records as encoded, x (n, p) and y (n,).
    gradients: answers without noise, of any shapes, at any points.
    public: files that everybody may see before the exchange: their values are not secret.
    """
    x, y = records
    known = b"\n".join(public)
    written = {cell.encode() for cell in set(cells) if len(cell) >= DIGITS}
    numbers = [text for text in written if NUMBER.fullmatch(text)]
    texts = written - {text for text in numbers if len(text) < LONG}
    texts -= find_substrings(known, {len(text) for text in texts})
    values = np.concatenate([np.ravel(x), np.ravel(y), np.array([*map(float, numbers)])])
    moments = x.T @ x, x.T @ y, [y @ y], x.sum(axis=0), [y.sum()], [y.std()], x.std(axis=0)
    totals = np.concatenate([np.ravel(part) for part in (*moments, *gradients)])
    sums = np.concatenate([totals, totals / len(y), totals * len(y)])
    shown = np.unique(np.fromiter(numbers_in(known), dtype=float))
    totals = _distinctive(sums, shown, NEAR)
    return Secrets(owner, frozenset(texts), _distinctive(values, shown), totals)


def _distinctive(values: Array, shown: Array, near: float = 0.0) -> Array:
    """Sorted values of `DIGITS` significant digits or more that no public file shows.

    A value within a relative distance ``near`` of a shorter number is left out: where it is found
    by that distance, the shorter number is.
    """
    distinct = np.setdiff1d(values[np.isfinite(values)], shown)
    rounded = np.array([float(f"{value:.{DIGITS - 2}e}") for value in distinct.tolist()])
    return distinct[np.abs(rounded - distinct) > near * np.abs(distinct)]


def search_files(files: Mapping[str, bytes], secrets: Sequence[Secrets]) -> list[Found]:
    """Find every secret that a file holds, in any of `SPELLINGS`."""
    found = []
    for name, raw in files.items():
        shown = np.unique(np.fromiter(numbers_in(raw), dtype=float))
        for one in secrets:
            texts = one.texts & find_substrings(raw, {len(text) for text in one.texts})
            kinds = {
                "cell": [text.decode() for text in sorted(texts)],
                "value of a record": map(repr, np.intersect1d(shown, one.numbers).tolist()),
                "sum or gradient without noise": map(repr, _near(shown, one.totals).tolist()),
            }
            for kind, values in kinds.items():
                found += [Found(name, one.owner, kind, value) for value in values]
    return found


def _near(values: Array, totals: Array) -> Array:
    """Values that lie near one of some sorted totals."""
    if not len(totals):
        return values[:0]
    places = np.searchsorted(totals, values)
    beside = totals[np.clip([places - 1, places], 0, len(totals) - 1)]
    return values[(np.abs(beside - values) <= NEAR * np.abs(beside)).any(axis=0)]


def find_substrings(raw: bytes, lengths: Iterable[int]) -> set[bytes]:
    """Find all stretches of some lengths in a file."""
    return {raw[at : at + length] for length in lengths for at in range(len(raw) - length + 1)}


def numbers_in(raw: bytes) -> Iterator[float]:
    """Read all finite numbers that a file may hold.

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
        for part in (token, token[1:]):
            yield from doubles_in(bytes.fromhex(part[: len(part) // 2 * 2].decode()))
    for token in BASE64.findall(raw):
        bare = token.rstrip(b"=")
        for at in range(4):  # the text before it may have been taken for a part of it
            padded = bare[at:] + b"=" * (-len(bare[at:]) % 4)
            with suppress(ValueError):
                yield from doubles_in(base64.b64decode(padded, altchars=b"-_"))
                yield from doubles_in(base64.b64decode(padded))
    yield from doubles_in(raw)


def doubles_in(raw: bytes) -> Iterator[float]:
    """Read every eight bytes in a row as a number, in either order."""
    for at in range(min(8, len(raw))):
        whole = raw[at : at + (len(raw) - at) // 8 * 8]
        for order in ("<f8", ">f8"):
            values = np.frombuffer(whole, dtype=order).astype(float)
            yield from values[np.isfinite(values)].tolist()


class Wire:
    """Keeper of a copy of every file that is ever seen in a folder.

    Copies have the name of the file; later ones of the same name their digest too.

    Parameters
    ----------
    folder: the folder that is watched, with the folders in it.
    kept: where copies go; made where it is not there.
    """

    def __init__(self, folder: Path, kept: Path) -> None:
        self.folder = folder
        self.kept = kept
        self.seen: dict[tuple[str, str], bytes] = {}
        self._marks: dict[str, tuple[int, int, int]] = {}
        kept.mkdir(parents=True, exist_ok=True)

    def look(self) -> None:
        """Copy the files that are new since the last look."""
        for path in sorted(self.folder.rglob("*")):
            with suppress(OSError):  # gone again
                name = path.relative_to(self.folder).as_posix()
                status = path.stat()
                mark = (status.st_mtime_ns, status.st_size, status.st_ino)
                if path.is_file() and self._marks.get(name) != mark:
                    self._keep_copy(name, path.read_bytes())
                    self._marks[name] = mark

    def _keep_copy(self, name: str, raw: bytes) -> None:
        digest = sha256_digest(raw)
        if (name, digest) in self.seen:
            return
        is_first = all(name != other for other, _ in self.seen)
        self.seen[name, digest] = raw
        place = self.kept / (name if is_first else f"{name}.{digest[:16]}")
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
