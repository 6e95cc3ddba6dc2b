"""`dpmarket init`: a first scenario for a user's own table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from learning.display import PlainTable, show_stages
from learning.errors import InputError
from learning.phrases import format_value
from learning.program import declare_command
from learning.terminal import Terminal, plain

if TYPE_CHECKING:
    from scenarios.starting.first import Draft
    from scenarios.starting.guesses import Guesses
    from scenarios.starting.questions import Answer, Question, Stated


@declare_command
def init(
    table: Path,
    *,
    target: str | None = None,
    owner: str | None = None,
    owners: Annotated[int | None, Option(min=1, max=10_000)] = None,
    ask: bool = False,
    out: Path | None = None,
    force: bool = False,
) -> None:
    """Write a first scenario for a table, with a comment on every guess. Guesses use only rows that
    become public.

    Parameters
    ----------
    table TABLE : A table, CSV (gzipped or not) or Parquet.
    target COLUMN : The column to predict.
    owner COLUMN : The column that names each row's owner.
    owners : Divide the rows at random among this number of owners.
    ask : Ask what errors and leaks cost and how often the model decides, and derive money from the
        answers.
    out FILE : The scenario to write [default: the table's name, .toml, here].
    force : Overwrite an existing file.
    """
    from scenarios.starting.first import default_name, write_first
    from scenarios.starting.guesses import Wanted

    place = out or default_name(table)
    asks: dict[str, Any] = {}
    if sys.stdin.isatty() and sys.stderr.isatty():
        asks["ask"] = ask_user
    elif ask:
        remedy = "Leave it out, and state learner.value and owners.cost.price in the file."
        raise InputError("--ask", "needs a terminal to ask on", "none", remedy)
    if ask:
        asks["interview"] = ask_money
    wanted = Wanted(target, owner, owners)
    print_draft(write_first(table, place, wanted, stages=show_stages, force=force, **asks), place)


def ask_user(question: str, guess: str) -> str:
    """Ask the user a question; the guess where the answer is empty."""
    answer: str = typer.prompt(question, default=guess, err=True)
    return answer.strip()


def ask_money(guesses: Guesses) -> Stated:
    """Ask the user what errors and leaks cost, each question until its answer can be read."""
    from scenarios.starting.questions import GUIDE, Stated, questions_of

    per = "wrong_label" if guesses.labels else "rmse"
    typer.echo(GUIDE, err=True)
    answers = {}
    for question in questions_of(per):
        answer = _put_question(question, guesses.target.column.name)
        if answer is not None:
            answers[question.key] = answer
    return Stated(answers, per)


def _put_question(question: Question, target: str) -> Answer | None:
    def read(text: str) -> Answer | None:
        try:
            return question.read(text)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None

    from scenarios.starting.questions import published_valuations

    if question.published:
        found = "".join(f"\n  {one}" for one in published_valuations())
        typer.echo(f"Published values, in money of their year:{found}", err=True)
    text = question.text.format(target=format_value(target))
    answer: Answer | None = typer.prompt(
        plain(text), "", show_default=False, prompt_suffix=" ", value_proc=read, err=True
    )
    return answer


def print_draft(made: Draft, out: Path) -> None:
    """Print the guesses, how to change them, and the next commands."""
    from scenarios.starting.entries import list_findings

    table = made.guesses.table
    rows = PlainTable("", "guess", "", "to change it", left=3)
    for finding in list_findings(made.guesses, made.offer, made.privacy):
        rows.add_row(*finding)
    terminal = Terminal()
    terminal.say(
        f"{table.n_rows:,} rows, {len(table.columns)} columns. init read {made.guesses.public:,} "
        "rows, drawn at random; the scenario treats them as public. Of each other row it read only "
        "which owner holds it."
    )
    terminal.print(rows)
    terminal.say(f"written: {out}", f"next: dpmarket check {out}, then dpmarket run {out}")
