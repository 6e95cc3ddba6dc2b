"""The command that finds what an error or a gain takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from learning.display import PlainTable, show_stages
from learning.program import declare_command
from learning.terminal import Terminal
from scenarios.command.options import Changes, ScenarioArg


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """What is wanted.

    Parameters
    ----------
    error E : The most error: root mean squared, in the target's units, or a share of wrong labels.
    fitness PSI : The most relative fitness: 0.02 is 2 % above the best.
    gain M : The least money that the learner is to gain.
    chance P : The chance of reaching it [default: 0.9]; alone, the chance that buying pays.
    """

    error: float | None = None
    fitness: float | None = None
    gain: float | None = None
    chance: float | None = None


@declare_command
def need(scenario: ScenarioArg, *, target: TargetOptions, changes: Changes) -> None:
    """Find the least money and budgets with which the model reaches a stated error or gain."""
    from scenarios.studies.need import find_need, make_target, need_part

    wanted = make_target(target.error, target.fitness, target.gain, target.chance)
    chosen = changes.load_scenario(scenario)
    with changes.placing_faults(scenario), show_stages() as progress:
        content = need_part(*find_need(chosen, wanted, progress=progress))
    print_need(content, scenario)


def print_need(content: dict[str, Any], scenario: str) -> None:
    """Print what is needed: an answer, a table of the ways, and how to run the first."""
    from scenarios.command.console import in_title, say_phrases
    from scenarios.report.phrases import render_phrase
    from scenarios.report.wording import format_number, format_percent

    out = Terminal()
    say_phrases(out, "need", "answer", content)
    if not content["ways"]:
        return
    out.print()
    title = in_title(content["title"] or "What it takes", content)
    table = PlainTable(title, "way", "owners", "epsilon", "money", "chance", "keeps to")
    for way in content["ways"]:
        asked = [one["epsilon"] for one in way["owners"] if one["epsilon"] > 0]
        table.add_row(
            render_phrase("need", "name_way", way),
            f"{len(asked)}",
            render_phrase("need", "budgets", asked),
            format_number(way["money"]),
            format_percent(way["chance"], 2),
            render_phrase("need", "amount", way["amount"], content),
        )
    out.print(table)
    out.print()
    say_phrases(out, "need", "money chances", content)
    change = content["ways"][0]["set"]
    if change and content["ways"][0]["reached"]:
        out.say(f"\nrun it: dpmarket run {scenario} --set {change}")
