"""Page and figure of a study, in the folder of its sweep."""

from __future__ import annotations

from pathlib import Path

from learning.errors import InputError
from scenarios.output.folders import write_together
from scenarios.output.unfinished import put_file
from scenarios.report import facts_study
from scenarios.report.figure_page import draw_svg
from scenarios.report.figure_study import index_figure, study_figure
from scenarios.report.page import inline_svg, render_page
from scenarios.report.phrases import public_functions, render_phrase
from scenarios.sweeping.study import Study, StudyFile
from scenarios.sweeping.sweep import Swept

FIGURE = "sweep.svg"
PAGE = "report.html"


def draw_study(study: Study, swept: Swept) -> str:
    """Draw a study as SVG text: facts along a key, Sobol indices, or scores of a tournament.

    Empty where there is nothing to draw.
    """
    title = facts_study.title_of_study(study)
    if swept.indices is not None:
        return draw_svg(index_figure, study, swept.indices.to_pylist(), title)
    if study.tournament is not None:  # whose scores are a table
        return ""
    return draw_svg(study_figure, study, swept.points, title)


def save_study_page(file: StudyFile, swept: Swept, folder: Path) -> Path:
    """Draw a sweep that was computed, and write its page beside its tables.

    Parameters
    ----------
    file: the study.
    swept: the results of the sweep.
    folder: where its tables are.

    Raises
    ------
    InputError
        If the disk refuses.
    """
    study = file.study
    points = swept.points
    drawn = draw_study(study, swept)
    failures = len(swept.failures)
    text = render_page(
        "study.html.j2",
        {},
        study=study,
        title=facts_study.title_of_study(study),
        points=points,
        standings=swept.standings,
        question=facts_study.study_question(file.text, study),
        computed=render_phrase(
            "study", "computed", study, len(points), _first_seed(file), failures
        ),
        failure=next(iter(swept.failures), ""),
        name=file.name,
        figures={"study": inline_svg(drawn, "study")} if drawn else {},
        STANDING_HEADS=facts_study.STANDING_HEADS,
        **public_functions(facts_study),
    )
    with write_together(folder) as new:
        if drawn:
            put_file(new / FIGURE, drawn)
        put_file(new / PAGE, text)
    return folder / PAGE


def _first_seed(file: StudyFile) -> int:
    """Seed of the first replication; 0 where the keys that vary make the scenario of the file."""
    try:
        return file.base.under(file.common).seed
    except InputError:
        return 0
