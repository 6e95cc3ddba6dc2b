"""The page: who wins where and by how much, what each was told, and each rival's known answers."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
from jinja2 import Environment
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.progress import Progress
from reproduction.beside.known import KNOWN
from reproduction.beside.learners import DELTA, LEARNERS
from reproduction.beside.measuring import BUDGETS, KEPT, Cell, group_cells, measure_cells
from reproduction.beside.rows import TABLES, lacking_file
from reproduction.study import Options, Row, Study
from scenarios.output.unfinished import put_file
from scenarios.report.figure_page import INK, MUTED, PALETTE, add_panels, draw_svg, new_page

HERE = Path(__file__).parent
WORDS = tomllib.loads((HERE / "words.toml").read_text(encoding="utf-8"))
OURS = "ours, δ"
CHOSEN = "ours, δ, features chosen"
LINES = (OURS, "AdaSSP", "OpenDP, noisy sums", "private Newton", "Opacus DP-SGD", "DP-EBM")
PLAIN = "no privacy: linear"
LEVELS = {"public rows alone": ":", PLAIN: "-"}
LEVEL = 0.95
TINY = 1e-6  # errors are written to six digits
PACKAGES = ("scikit-learn", "diffprivlib", "opendp", "opacus", "interpret-core", "numpy", "scipy")
Groups = dict[tuple[str, str, float], dict[int, Cell]]


@dataclass(frozen=True)
class Contest:
    """Ours and the best rival at one table and epsilon.

    Parameters
    ----------
    table, epsilon : where.
    rival : learner with the smallest mean error at the same guarantee.
    ours, theirs : errors of `level_errors`.
    gap, half : mean of ours less theirs over common seeds, and half of its 95 % interval.
    rank, of : place of ours among all private learners with that guarantee.
    chosen : error of ours with features chosen on public rows; None where it was not run.
    """

    table: str
    epsilon: float
    rival: str
    ours: float
    theirs: float
    gap: float
    half: float
    rank: int
    of: int
    chosen: float | None = None

    @property
    def chosen_wins(self) -> bool:
        """Test whether ours with features chosen has the smallest error of all."""
        return self.chosen is not None and self.chosen < min(self.ours, self.theirs)

    @property
    def lost(self) -> bool:
        """Test whether the rival has the smaller error."""
        return self.theirs < self.ours

    @property
    def sure(self) -> bool:
        """Test whether chance does not explain which of the two is better."""
        return self.gap > self.half if self.lost else -self.gap > self.half


def run_beside(options: Options, progress: Progress) -> Study:
    """Measure what is missing, and write the page with its figure beside the table on disk."""
    cells = measure_cells(options, progress)
    groups = group_cells(cells)
    contests = list_contests(groups)
    put_file(options.out / "beside.svg", draw_svg(draw_errors, groups))
    put_file(options.out / "beside.md", render_page(groups, contests, options.data))
    rows = [
        Row(f"{one.table}, ε = {one.epsilon:g}", (
            f"{one.ours:#.4g}", f"{one.theirs:#.4g}", one.rival, describe_gap(one),
            f"{one.rank} of {one.of}",
        )) for one in contests
    ]  # fmt: skip
    notes = [
        *list_absent(options.data),
        f"Every error: {options.out / KEPT}; the page is beside it",
    ]
    title = f"{OURS} and the best rival, error on held-out rows"
    return Study(title, ("ours", "rival", "", "ours - rival", "rank"), tuple(rows), tuple(notes))


def list_absent(data: Path | None) -> list[str]:
    """Say which learners and tables are not there, and what they need."""
    learners = {one.needs for one in LEARNERS.values() if one.missing}
    found = [f"Learners of {name} skipped: it is not installed." for name in sorted(learners)]
    files = {name: lacking_file(name, data) for name in TABLES}
    return found + [
        f"{name} skipped: give the folder that holds {file} with --data"
        for name, file in files.items()
        if file
    ]


def list_versions() -> list[str]:
    """List the installed packages with their versions."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def estimate(values: Sequence[float] | Array) -> tuple[float, float]:
    """Mean, and half of its 95 % interval by Student's t; nan of a single value.

    >>> mean, half = estimate([1.0, 2.0, 3.0])
    >>> round(mean, 3), round(half, 3)
    (2.0, 2.484)
    """
    count = len(values)
    if count < 2:
        return float(np.mean(values)), np.nan
    width = scipy.stats.t.ppf((1 + LEVEL) / 2, count - 1) / np.sqrt(count)
    return float(np.mean(values)), float(width * np.std(values, ddof=1))


def level_errors(
    groups: Groups, table: str, name: str, epsilon: float, field: str = "error"
) -> tuple[float, float] | None:
    """Error of a learner, and half of an interval, comparable where learners have unlike seeds.

    It is the error of the linear model without noise over all seeds, plus the mean excess over that
    model on the seeds that the learner has; the interval is that of the excess.
    """
    found = groups.get((table, name, epsilon)) or groups.get((table, name, np.inf))
    if found is None:
        return None
    plain = {
        seed: getattr(one, field) for seed, one in groups.get((table, PLAIN, np.inf), {}).items()
    }
    level, half = estimate(list(plain.values())) if plain else (0.0, 0.0)
    if name == PLAIN:
        return level, half
    excess, half = estimate([getattr(one, field) - plain.get(i, level) for i, one in found.items()])
    return level + excess, half


def list_contests(groups: Groups) -> list[Contest]:
    """List ours against the best rival, at every table and epsilon where both are."""
    found = []
    private = [name for name, one in LEARNERS.items() if one.private and not one.weaker]
    for table, epsilon in product(TABLES, BUDGETS):
        levels = {name: level_errors(groups, table, name, epsilon) for name in private}
        means = {name: level[0] for name, level in levels.items() if level}
        rivals = {name: mean for name, mean in means.items() if LEARNERS[name].fit}
        if OURS not in means or not rivals:
            continue
        best = min(rivals, key=lambda name: rivals[name])
        ours = groups[table, OURS, epsilon]
        theirs = groups[table, best, epsilon]
        gaps = [ours[seed].error - theirs[seed].error for seed in ours if seed in theirs]
        field = [*rivals.values(), means[OURS]]
        rank = 1 + sum(mean < means[OURS] for mean in field)
        compared = (means[OURS], rivals[best], *estimate(gaps), rank, len(field))
        found.append(Contest(table, epsilon, best, *compared, means.get(CHOSEN)))
    return found


def describe_gap(one: Contest) -> str:
    """Describe a difference with its interval, to three digits of the smaller of them.

    >>> describe_gap(Contest("bank", 8.0, "DP-EBM", 9.9, 9.7, 0.1838, 0.1507, 2, 9))
    '+0.184 ± 0.151'
    """
    if not one.half > TINY:  # one seed, or the same difference under all
        return f"{round(one.gap, 6) + 0.0:+.3g}" + ("" if np.isnan(one.half) else " ± 0")
    least = min(abs(one.gap), one.half) if abs(one.gap) > TINY else one.half
    digits = int(np.clip(2 - np.floor(np.log10(least)), 0, 6))
    gap = round(one.gap, digits) + 0.0  # no difference is not a negative one
    return f"{gap:+.{digits}f} ± {one.half:.{digits}f}"


def describe_errors(groups: Groups, table: str, name: str, field: str) -> list[str]:
    """Describe mean and interval at every epsilon; nothing where the learner has none."""
    found = [level_errors(groups, table, name, epsilon, field) for epsilon in BUDGETS]
    return [
        f"{level[0]:#.4g}" + ("" if np.isnan(level[1]) else f" ± {level[1]:.2g}")
        for level in found
        if level
    ]


def count_seeds(groups: Groups, table: str, name: str) -> int:
    """Number of seeds of a learner on a table."""
    return max((len(found) for key, found in groups.items() if key[:2] == (table, name)), default=0)


def mean_seconds(groups: Groups, name: str) -> str:
    """Mean seconds of CPU for one model, over tables, seeds and budgets."""
    found = [
        cell.seconds for key, cells in groups.items() if key[1] == name for cell in cells.values()
    ]
    return f"{np.mean(found):.1g}" if found else "-"


def render_page(groups: Groups, contests: Sequence[Contest], data: Path | None) -> str:
    """Render the page as Markdown."""
    known = [(one, one.lacks(data)) for one in KNOWN]
    answers = [(one, lack or f"{one.compute(data):.4g}") for one, lack in known]
    facts: dict[str, Any] = {
        "tables": {
            name: one for name, one in TABLES.items() if any(key[0] == name for key in groups)
        },
        "learners": LEARNERS,
        "contests": contests,
        "budgets": BUDGETS,
        "delta": DELTA,
        "answers": answers,
        "absent": list_absent(data),
        "versions": list_versions(),
        "errors": lambda *where: describe_errors(groups, *where),
        "gap": describe_gap,
        "alone": lambda table: level_errors(groups, table, "public rows alone", np.inf),
        "digits": "{:.4g}".format,
        "seeds": lambda table, name: count_seeds(groups, table, name),
        "seconds": lambda name: mean_seconds(groups, name),
    }
    facts |= WORDS
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string((HERE / "page.md.j2").read_text(encoding="utf-8")).render(facts)


def draw_errors(groups: Groups) -> Figure:
    """Draw mean errors over epsilon, a panel for each table."""
    tables = [name for name in TABLES if any(key[0] == name for key in groups)]
    rows = -(-len(tables) // 3)
    note = "Mean error on held-out rows over seeds; above the frame: worse than one number for all."
    figure = new_page(
        1.1 + 2.35 * rows, "Error of private models over ε, one record replaced", note
    )
    panels = add_panels(
        figure, (len(tables), 3), (0.55, 0.85), 1.65, apart=0.5, down=0.7, right=0.1
    )
    colours = dict(zip(LINES, (*PALETTE, INK), strict=True))
    for axes, table in zip(panels, tables, strict=True):
        lowest = []
        for name in (*LINES, *LEVELS):
            style: dict[str, Any] = {
                "color": colours.get(name, MUTED),
                "ls": LEVELS.get(name, "-"),
                "label": name,
            }
            levels = [level_errors(groups, table, name, one) for one in BUDGETS]
            means = [level[0] if level else np.nan for level in levels]
            lowest.append(np.min(means))
            axes.plot(BUDGETS, means, lw=2 if name == OURS else 1, **style)
        worst = level_errors(groups, table, "public mean", np.inf)
        if worst:
            axes.set_ylim(0.99 * np.nanmin(lowest), 1.02 * worst[0])
        axes.set(xscale="log", xticks=BUDGETS, xticklabels=[f"{one:g}" for one in BUDGETS])
        axes.minorticks_off()
        axes.set_title(f"{table}, {TABLES[table]['unit']}", fontsize=8.5, loc="left")
    if panels:
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="lower center", ncol=4, frameon=False
        )
    return figure
