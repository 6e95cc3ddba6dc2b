"""Item of the reproduction book: one figure, table, theorem or erratum of a source.

An item has a text (the claim of the source), a law (every number that its figure and its checks
need), a table of checks against the source, and a figure. Checks and figure are made from the
stored numbers, so either can be made again without the computation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Kind = Literal["law", "reading", "value", "control", "told", "ours"]
COUNTED: dict[Kind, str] = {
    "law": "a statement of the source: an order, a direction, a power, a bound, a likeness, a "
    "number of equilibria; each table and each case that its words cover is judged",
    "value": "a number, a constant, or a formula as printed where a mended one does what the "
    "source says; and the level of a figure by its tick labels",
}
Trait = Literal["", "word", "sure"]
Verdict = Literal["holds", "undecided", "fails"]
VERDICTS: dict[Verdict, str] = {
    "holds": "the number lies within its limits, together with its two standard errors either way",
    "fails": "it lies outside of them, with as much",
    "undecided": "a limit lies between",
}
SURE = 2.0  # standard errors by which a check holds or fails
Status = Literal["reproduced", "shape", "undecided", "not reproduced", "not possible here"]
STATUSES: dict[Status, str] = {
    "reproduced": "every law and every value holds",
    "shape": "every law holds, but a value fails or is undecided",
    "undecided": "no law fails, but one is undecided, or nothing is counted",
    "not reproduced": "a law fails, or nothing holds",
    "not possible here": "the data that it needs are not there",
}
Group = Literal["own", "error", "remark", "other", "ours"]
GROUPS: dict[Group, str] = {
    "own": "of the sources' own items",
    "error": "of the errors that we see in them",
    "remark": "of our remarks on them: waste, silence, a reading",
    "other": "of the items of other papers",
    "ours": "of our own comparisons",
}
SHOWN: dict[Status, str] = {  # of errors, remarks and our comparisons
    "reproduced": "shown",
    "shape": "shown in part",
    "not reproduced": "not shown",
}
DERIVED: dict[Status, str] = {
    "reproduced": "derived, paper not read",
    "shape": "derived in part, paper not read",
    "not reproduced": "not derived, paper not read",
}


@dataclass(frozen=True)
class Setting:
    """Data, resolution and seed of a computation.

    Parameters
    ----------
    data: folder with the published tables; generated stand-ins of the same shape are taken where it
        is None.
    quick: coarse grids and few runs: the same code, with wider errors.
    seed: of everything that is drawn.
    did: progress callback; its argument is the share of the item that was done.
    """

    data: Path | None = None
    quick: bool = False
    seed: int = 1
    did: ReportWork = field(default=ignore_work, repr=False, compare=False)

    @property
    def runs(self) -> int:
        """Replications of a training: a hundred, as in the papers, or twenty."""
        return self.pick_value(100, 20)

    def pick_value(self, full: Any, quick: Any) -> Any:
        """Pick a value by the resolution."""
        return quick if self.quick else full

    def streams(self, purpose: str) -> Streams:
        """Named randomness, the same in whatever order items are computed."""
        return Streams(self.seed, f"reproduce {purpose}")


@dataclass(frozen=True)
class Check:
    """One number, and the limits that it must lie within.

    Parameters
    ----------
    what: name of the number, in a few words.
    found: the number.
    low, high: the check holds where low <= found <= high; limits are taken from the source.
    published: value of the source, in its digits or a few words.
    kind: one of COUNTED; a "reading" is a law under one choice of what the source leaves open, a
        "control" tests our computation by a second route, of which the source says nothing, a
        number that is only "told" has no limits, and one of "ours" is of our own protocol: none of
        these has an influence on the status.
    tolerance: change of the number under another seed or processor, about four standard errors.
    std_error: standard error of the number; 0 where nothing is drawn, or where its limits have it.
    trait: "word" where the source has a word and no number, so that the limits are ours alone;
        "sure" for what can hardly fail; empty for others.
    """

    what: str
    found: float
    low: float
    high: float
    published: str = ""
    kind: Kind = "value"
    tolerance: float = 0.0
    std_error: float = 0.0
    trait: Trait = ""

    @property
    def verdict(self) -> Verdict:
        """Verdict on the number: within its limits, outside, or too near to one; nan fails.

        >>> [Check("slope", found, -2.05, -1.95).verdict for found in (-2.01, float("nan"))]
        ['holds', 'fails']
        >>> [Check("gain", found, 0, 1, std_error=0.1).verdict for found in (0.3, 0.1, -0.3)]
        ['holds', 'undecided', 'fails']
        """
        reach = SURE * self.std_error
        if self.low + reach <= self.found <= self.high - reach:
            return "holds"
        near = self.low - reach <= self.found <= self.high + reach
        return "undecided" if near else "fails"

    @property
    def holds(self) -> bool:
        """True where its verdict is that it holds."""
        return self.verdict == "holds"


class NotPossible(Exception):
    """An item cannot be computed here, since data that it needs are missing."""


Compute = Callable[[Setting], "pd.DataFrame"]
Checks = Callable[["pd.DataFrame"], Sequence[Check]]
Draw = Callable[["pd.DataFrame", str], "Figure"]


@dataclass(frozen=True)
class Item:
    """One figure, table, theorem or erratum.

    Parameters
    ----------
    key: name on the command line, such as "VC-4".
    where: place in the source.
    title: subject of the figure.
    claim: claim of the source, in our words.
    compute: gives every number that checks and figure need, one observation a row; raises
        NotPossible where data lack.
    checks: compares these numbers with the source.
    draw: draws these numbers, with a note on the data; None for no figure.
    differs: reasons for a difference from the source, and readings taken.
    tables: names of the published tables that the item needs, of `reproduction.tables`.
    cost: seconds of one processor in full, about; the dearest are computed first.
    group: a source's own item, an error or a remark on it, another paper's item, or ours.
    paper_read: False where the numbers of another paper are derived, since its text lacked.
    """

    key: str
    where: str
    title: str
    claim: str
    compute: Compute
    checks: Checks
    draw: Draw | None = None
    differs: str = ""
    tables: tuple[str, ...] = ()
    cost: float = 5.0
    group: Group = "own"
    paper_read: bool = True

    @property
    def source(self) -> str:
        """Short name of the source: the part of the key before its number.

        >>> Item("VC-4", "Figure 4", "", "", lambda setting: None, lambda frame: []).source
        'VC'
        """
        return self.key.partition("-")[0]


def report_number(what: str, found: float, tolerance: float = 0.0, published: str = "") -> Check:
    """Report a number of which the source says nothing."""
    return Check(what, found, -math.inf, math.inf, published, "told", tolerance)


def limited_checks(checks: Sequence[Check]) -> list[Check]:
    """Select the checks that decide a status: those of statements and numbers of a source."""
    return [check for check in checks if check.kind in COUNTED]


def name_status(item: Item, status: Status) -> str:
    """Name a status in the words of the item's group: only what a source found is reproduced.

    >>> error = Item("E-1", "", "", "", lambda setting: None, lambda frame: [], group="error")
    >>> name_status(error, "reproduced")
    'shown'
    """
    if item.group not in ("own", "other"):
        return SHOWN.get(status, status)
    return status if item.paper_read else DERIVED.get(status, status)


def status_of(checks: Sequence[Check]) -> Status:
    """Status of an item by its checks; without a single one that counts nothing is decided.

    >>> law, value = Check("ranking", 1, 1, 1, kind="law"), Check("constant", 3.0, 0.9, 1.1)
    >>> status_of([law]), status_of([law, value]), status_of([value]), status_of([])
    ('reproduced', 'shape', 'not reproduced', 'undecided')
    >>> near = Check("better", 0.1, 0, 1, kind="law", std_error=0.1)
    >>> status_of([law, value, near]), status_of([law, report_number("median", 3.0)])
    ('undecided', 'reproduced')
    """
    checks = limited_checks(checks)
    laws = {check.verdict for check in checks if check.kind == "law"}
    if not checks:
        return "undecided"
    if all(check.holds for check in checks):
        return "reproduced"
    if "fails" in laws or not any(check.holds for check in checks):
        return "not reproduced"
    return "undecided" if "undecided" in laws else "shape"
