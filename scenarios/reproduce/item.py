"""What an item of the reproduction book is: one figure, table, theorem or erratum of a source, computed anew.

An item says what the source claims, computes every number that its figure and its checks need, checks them against what
the source has, and draws them. Checks and figure are made from the numbers as they are kept, so either can be made again
without the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from learning.progress import Did, unnoticed
from learning.randomness import Streams

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Status = Literal["reproduced", "shape", "not reproduced", "not possible here"]
STATUSES: dict[Status, str] = {
    "reproduced": "every number and every law checked holds within the tolerance stated",
    "shape": "the law holds, a number or a constant differs",
    "not reproduced": "a law that the source states does not hold",
    "not possible here": "the data that it needs are not there",
}


@dataclass(frozen=True)
class Setting:
    """What an item is computed with.

    Parameters
    ----------
    data: folder with the published tables; generated stand-ins of the same shape are taken where it is None.
    quick: whether grids are coarse and runs few: the same code, with wider errors.
    seed: of everything that is drawn.
    did: called with the share of the item that each piece of its work was.
    """

    data: Path | None = None
    quick: bool = False
    seed: int = 1
    did: Did = field(default=unnoticed, repr=False, compare=False)

    @property
    def runs(self) -> int:
        """Replications of a training: a hundred, as in the papers, or twenty."""
        return 20 if self.quick else 100

    def streams(self, purpose: str) -> Streams:
        """Named randomness, the same in whatever order items are computed."""
        return Streams(self.seed, f"reproduce {purpose}")


@dataclass(frozen=True)
class Check:
    """One number found, and between which values it must lie to hold.

    Parameters
    ----------
    what: what was found, in a few words.
    found: the number.
    low, high: it holds where low <= found <= high; taken from the source, not from what was found.
    published: what the source has, in its digits or a few words.
    kind: a "value" of the source's, or the "law" behind it (a ranking, a sign, a shape); what is only "told" has no limits
        and counts for no status.
    tolerance: how far another seed or processor may move what was found: about four standard errors.
    """

    what: str
    found: float
    low: float
    high: float
    published: str = ""
    kind: Literal["value", "law", "told"] = "value"
    tolerance: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether it lies where it must; what is no number does not.

        >>> Check("slope", -2.01, -2.05, -1.95).holds, Check("slope", float("nan"), -2.05, -1.95).holds
        (True, False)
        """
        return not math.isnan(self.found) and self.low <= self.found <= self.high


class NotPossible(Exception):
    """An item cannot be computed here, and why: data that it needs are missing."""


@dataclass(frozen=True)
class Item:
    """One figure, table, theorem or erratum.

    Parameters
    ----------
    key: its name on the command line, such as "VC-4".
    where: where it stands in the source.
    title: what it shows.
    claim: what the source says of it, in our words.
    compute: gives every number that checks and figure need, one observation a row; raises NotPossible where data lack.
    checks: what is compared with the source, from those numbers.
    draw: the figure, from those numbers and a note on the data; None where there is none.
    differs: why ours differs from the source, and which readings were taken.
    tables: names of the published tables that it needs, of `scenarios.reproduce.tables`.
    cost: seconds of one processor in full, about; the dearest are computed first.
    """

    key: str
    where: str
    title: str
    claim: str
    compute: Callable[[Setting], pd.DataFrame]
    checks: Callable[[pd.DataFrame], Sequence[Check]]
    draw: Callable[[pd.DataFrame, str], Figure] | None = None
    differs: str = ""
    tables: tuple[str, ...] = ()
    cost: float = 5.0

    @property
    def source(self) -> str:
        """The part of the key before its number: the source's short name.

        >>> Item("VC-4", "Figure 4", "", "", lambda setting: None, lambda frame: []).source
        'VC'
        """
        return self.key.partition("-")[0]


def told(what: str, found: float, tolerance: float = 0.0, published: str = "") -> Check:
    """A number that a reader should see, of which the source says nothing."""
    return Check(what, found, -math.inf, math.inf, published, "told", tolerance)


def compared(checks: Sequence[Check]) -> list[Check]:
    """Those with limits."""
    return [check for check in checks if check.kind != "told"]


def status_of(checks: Sequence[Check]) -> Status:
    """What the checks say together; without a single check nothing is reproduced.

    >>> law, value = Check("ranking", 1, 1, 1, kind="law"), Check("constant", 3.0, 0.9, 1.1)
    >>> status_of([law]), status_of([law, value]), status_of([value]), status_of([])
    ('reproduced', 'shape', 'not reproduced', 'not reproduced')
    >>> status_of([told("median", 3.0)]), status_of([law, told("median", 3.0)])
    ('not reproduced', 'reproduced')
    """
    checks = compared(checks)
    laws = [check.holds for check in checks if check.kind == "law"]
    if checks and all(check.holds for check in checks):
        return "reproduced"
    return "shape" if laws and all(laws) else "not reproduced"
