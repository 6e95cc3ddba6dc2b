"""Page and terminal of every kind of result, as whole texts in snapshots/.

The snapshot of the first base is whole. Every other begins with the base that it is most like and holds the lines that
differ: those of the base by their beginnings, which name one line each. DPMARKET_SNAPSHOTS=write writes them anew: read the difference before it is kept.
"""

import difflib
import json
import os
import re
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from reports import CASES, DISAGREEING, GAUSSIAN, WORSE
from result_folders import calibrated, result, without_questions

from scenarios.command.console import summary_lines
from scenarios.report.page import FIGURES, render

SNAPSHOTS = Path(__file__).parent / "snapshots"
BASES = ("agreeing", "logistic", "no training")
SHORT = 40  # characters of a line of the base, where no other begins so
EUROS = {
    "scenario__currency": "EUR",
    "scenario__labels": {"mdvis": "visits to a doctor, visits a year"},
}


def choice(algorithm, fitness, **others):
    """A way to train that was compared."""
    return {
        "algorithm": algorithm,
        "clipping": "record",
        "mechanism": "l2",
        "accounting": "basic",
        "growth": 1.5,
        "step_decline": 0.5,
        "horizon": 3,
        "relative_fitness": fitness,
        "in_doubt": None,
        "chosen": False,
    } | others


def sees(**parts):
    """What the learner sees of its model: relative fitness and standard error by part."""
    found = {
        of: dict(zip(("relative_fitness", "std_error"), p, strict=False)) for of, p in parts.items()
    }
    found["aside"]["records"] = 100
    return found


def first_answers(owners):
    """Tests of one kind of owners, and of owners and public rows."""
    tests = {among: {"statistic": 9.0, "dof": 9, "p_value": 0.4} for among in ("owners", "public")}
    tests["owners"]["p_value"] = owners
    return tests


def with_owners(**changes):
    """A result with changes to owners, by place."""
    made = result()
    for owner, *values in zip(made["owners"], *changes.values(), strict=False):
        owner |= dict(zip(changes, values, strict=False))
    return made


BOUND = {
    "theorem": "Theorem 2",
    "point": "best",
    "excess": 0.5,
    "distance": 2.0,
    "corrected": 0.7,
    "unmet": ["ball"],
}
LEFT_OUT = {
    "data__dropped_rows": 2284,
    "data__left_over_rows": 1,
    "data__constant_columns": ["grade"],
    "data__owners_left_out": ["Small Bank"],
    "data__filled_cells": 3,
    "data__source": "/home/someone/loans.csv",
    "privileged": {"data.filled_cells": "measured"},
}
UNMEASURED_GAIN = {"interval": [-1.0, 9000.0], "chance_pays": 0.8, "level": 0.9}
DIAGNOSIS = {"dominance_solvable": True, "potential_game": False, "contraction": False}
VARIANTS = {
    "budgets apart": result(epsilon=[1.0, 2.0, 3.0]),
    "budgets moderate": result(epsilon=[0.5, 1.0, 2.0]),
    "budgets weak": result(epsilon=[0.5, 2.0, 8.28]),
    "interval wide": result(forecast__interval=[0.0042, 3.25]),
    "mean near the interval": result(validation__relative_fitness__mean=0.032),
    "mean below": result(validation__agrees=False, validation__relative_fitness__mean=0.004),
    "z large": result(validation__z_score=4.2),
    "z large, rehearsed": calibrated(validation__z_score=5.0),
    "owners of one kind": result(validation__homogeneity=first_answers(0.4)),
    "owners of several kinds": result(validation__homogeneity=first_answers(0.001)),
    "learner sees": result(
        validation__learner_sees=sees(start=(0.0612, 0.011), aside=(-0.04, 0.02))
    ),
    "bound": result(forecast__published_bound=BOUND, forecast__excess=0.6),
    "bound open": result(forecast__published_bound={"theorem": "Theorem 3", "constant": 8.65}),
    "labels unnamed": calibrated("hinge", data__labels=None),
    "synchronous": result(forecast__algorithm="synchronous"),
    "laplace exactly": result(protocol__mechanism="laplace (pld)"),
    "gaussian zcdp": result(protocol__mechanism="gaussian (zcdp)"),
    "noise open": result(protocol__mechanism=None, scenario__learning__mechanism="best"),
    "gradients clipped": result(protocol__clipping="record"),
    "ways compared": result(
        forecast__choices=[
            choice("sgd2", 0.0042, chosen=True),
            choice("averaged", 0.0084, clipping="parts", accounting="pld"),
            choice("adassp", 0.03),
        ]
    ),
    "answers grew": result(
        **DISAGREEING
        | {
            "validation__z_score": None,
            "validation__explanation": [
                DISAGREEING["validation__explanation"][0],
                {"cause": "answers_grew", "share": 1.0},
            ],
        }
    ),
    "worse on public rows": result(
        validation__explanation=[
            result()["validation"]["explanation"][0],
            {"cause": "worse_than_guessing", "share": 0.25, "records": 150, "first": False},
            {"cause": "worse_than_own", "share": 1.0, "records": 150, "first": True},
        ]
    ),
    "ways compared in doubt": result(
        forecast__choices=[
            choice("one_step", 0.0061, clipping="parts", in_doubt=0.008, chosen=True),
            choice("sgd2", 0.0042, in_doubt=0.071),
        ]
    ),
    "one way": result(forecast__choices=[choice("sgd2", 0.0042, chosen=True)]),
    "equal steps": result(
        forecast__choices=[choice("sgd2", 0.005), choice("sgd2", 0.0052, step_decline=0.0)]
    ),
    "untrained, uncertain": result(validation=None, learner__gain=UNMEASURED_GAIN),
    "untrained, worse": result(validation=None, **WORSE),
    "untrained, too dear": result(
        validation=None,
        learner__payments=9000.0,
        learner__surplus=-1200.0,
        learner__buying_pays=False,
    ),
    "paid for nothing": without_questions(learner__payments=2000.0, learner__surplus=-2000.0),
    "promise not kept": result(outside_option__measured=0.04),
    "disagreeing, gaussian": result(**DISAGREEING, **GAUSSIAN),
    "optimum bounded": result(
        welfare__optimum_at_most=7300.0, welfare__price_of_anarchy_at_most=7300 / 6600
    ),
    "optimum unknown": result(
        welfare__optimum_at_most=None, welfare__price_of_anarchy_at_most=None
    ),
    "optimum reached": result(
        welfare__optimum=6600.0, welfare__optimum_at_most=6600.0, welfare__price_of_anarchy=1.0
    ),
    "kind of game": result(equilibrium__diagnosis=DIAGNOSIS),
    "one owner gains": with_owners(gains=[True, False, False]),
    "all owners gain": with_owners(gains=[True] * 3),
    "own models unknown": with_owners(isolated_relative_fitness=[None] * 3),
    "owners use the model": with_owners(benefit=[0.0, 40.0, 0.0], surplus=[5.0, -12.5, 5.0]),
    "left out": result(**LEFT_OUT),
    "euros": result(**EUROS),
    "large delta": result(warnings=[{"cause": "large_delta", "delta": 0.5, "records": 6680}]),
}
EVERY = CASES | VARIANTS
BLOCKS = re.compile(r"</(?:p|li|h[123]|tr|dt|dd|figcaption|summary|title)>|<br>")
HIDDEN = re.compile(r"<style>.*?</style>|<pre>.*?</pre>", re.DOTALL)


def page_lines(made):
    """The text of a page, a line for each paragraph or row of a table, hard spaces as spaces."""
    page = HIDDEN.sub("", render(made, dict.fromkeys(FIGURES, ""), "", ()))
    cells = re.sub(r"\s+", " ", page).replace("</th>", " | ").replace("</td>", " | ")
    cells = cells.replace("<small>", ": ")
    texts = (re.sub(r"<[^>]+>", "", text) for text in BLOCKS.split(cells))
    lines = (re.sub(r"\s+", " ", unescape(text)).strip(" |") for text in texts)
    return [line for line in lines if line]


@cache
def snapshot_lines(name):
    """Page and terminal of a case."""
    made = json.loads(json.dumps(EVERY[name]))
    terminal = "\n".join(filter(None, summary_lines(made))).replace("\u00a0", " ").split("\n")
    return ["# Page", *page_lines(made), "# Terminal", *terminal]


@cache
def beginnings(base):
    """The shortest beginning of each line of a base that no other line of it has."""
    lines = sorted(set(snapshot_lines(base)))
    found = {}
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        common = max(len(os.path.commonprefix([line, other])) for other in (before, after))
        found[line] = line[: max(SHORT, common + 1)]
    return found


def difference(base, lines):
    """Lines of a base that are left out, each as its beginning, and new ones; if alone, under the line of the base before."""
    first = snapshot_lines(base)
    short = beginnings(base)
    said = [f"# As {base}, but:"]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, first, lines).get_opcodes():
        if kind == "insert":
            said.append(f" {short[first[a - 1]]}")
        if kind != "equal":
            said += [
                *(f"-{short[line]}" for line in first[a:b]),
                *(f"+{line}" for line in lines[c:d]),
            ]
    return said


def snapshot_text(name):
    """A snapshot: whole, or its difference from the base that it is most like."""
    lines = snapshot_lines(name)
    if name in BASES:
        said = lines if name == BASES[0] else difference(BASES[0], lines)
    else:
        said = min((difference(base, lines) for base in BASES), key=lambda one: len("\n".join(one)))
    return "\n".join(said) + "\n"


@pytest.mark.parametrize("name", EVERY)
def test_page_and_terminal_read_as_in_the_snapshot(name):
    path = SNAPSHOTS / f"{name.replace(',', '').replace(' ', '_')}.txt"
    text = snapshot_text(name)
    if os.environ.get("DPMARKET_SNAPSHOTS") == "write":
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_snapshot_has_its_case():
    names = {f"{name.replace(',', '').replace(' ', '_')}.txt" for name in EVERY}
    assert {path.name for path in SNAPSHOTS.iterdir()} == names
