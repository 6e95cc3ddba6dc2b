"""A study's page and figure, in the folder of its sweep."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib

from learning.errors import InputError
from scenarios.output.folders import together
from scenarios.output.unfinished import put
from scenarios.report import sentences_study as words
from scenarios.report import sentences_tournament as contest
from scenarios.report.figure_page import STYLE, _svg
from scenarios.report.figure_study import index_figure, study_figure
from scenarios.report.figure_tournament import tournament_figure
from scenarios.report.page import environment, inline_svg
from scenarios.sweeping.study import Study, StudyFile
from scenarios.sweeping.sweep import Swept

FIGURE, PAGE = "sweep.svg", "report.html"


def draw_study(study: Study, swept: Swept) -> str:
    """Its figure as SVG text: facts along what varies, or, of a Sobol sample, what each key is owed of their variance."""
    title = study.title or "A study"
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        if swept.indices is not None:
            return _svg(index_figure(study, swept.indices.to_pylist(), title))
        if study.tournament is not None:
            return _svg(tournament_figure(study, swept.standings, title))
        return _svg(study_figure(study, swept.points, title))


def save_study_page(file: StudyFile, swept: Swept, folder: Path) -> Path:
    """Draw a sweep that was computed, and write its page beside its tables.

    Parameters
    ----------
    file : the study.
    swept : what came of it.
    folder : where its tables are.

    Raises
    ------
    InputError
        If the disk refuses.
    """
    study, points = file.study, swept.points
    drawn = draw_study(study, swept)
    page = environment().get_template("study.html.j2")
    text = page.render(
        study=study,
        points=points,
        words=words,
        contest=contest,
        standings=swept.standings,
        question=words.question(file.text, study),
        computed=words.computed(study, len(points), _seed(file), len(swept.failures)),
        failure=next(iter(swept.failures), ""),
        name=file.name,
        figures={"study": inline_svg(drawn, "study")},
    )
    with together(folder) as new:
        put(new / FIGURE, drawn)
        put(new / PAGE, text)
    return folder / PAGE


def _seed(file: StudyFile) -> int:
    """The seed of the first replication; 0 where what varies is what makes a scenario of the file."""
    try:
        return file.base.under(file.common).seed
    except InputError:
        return 0
