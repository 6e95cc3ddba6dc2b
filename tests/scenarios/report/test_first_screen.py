"""The first screen: a picture of who sells what and of the gain, tiles by outcome, and weak protection called weak."""

import math
import re
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from reports import told
from result_folders import result, without_questions

from scenarios.report.facts_outcome import gain_outcome, model_outcome
from scenarios.report.facts_owners import protection_of, protection_tile
from scenarios.report.figures import FIGURES, draw_figure
from scenarios.report.page import inline_svg, render

pytestmark = pytest.mark.in_full  # with figures


def written(name, made):
    """Every text in a drawing, with its place."""
    root = ElementTree.fromstring(draw_figure(name, made, {}))
    nodes = root.iter("{http://www.w3.org/2000/svg}text")
    return [
        ("".join(node.itertext()), float(node.attrib["x"]), float(node.attrib["y"]))
        for node in nodes
    ]


def tiles(made):
    """The kind of each tile, by its heading."""
    page = (
        render(made, dict.fromkeys(FIGURES, ""), "")
        .split('<dl class="numbers">')[1]
        .split("</dl>")[0]
    )
    return re.findall(r'<div(?: class="(\w+)")?><dt>(\w+)', page)


def test_the_picture_shows_what_each_sells_and_is_paid_and_the_gain_promised_and_measured():
    made = result(epsilon=[1.0, 2.0, 9.0], scenario__currency="EUR")
    said = [text for text, _, _ in written("sales", made)]
    assert {"Aurora Health", "1  strong", "2  moderate", "9  very weak", "667", "paid, EUR"} <= set(
        said
    )
    said = [text.replace("\u00a0", " ") for text, _, _ in written("promised", made)]
    assert (
        "forecast before training: 5,800 EUR" in said
        and "measured after training: 6,790 EUR" in said
    )
    assert "700 to 9,400 EUR in nine of ten possible worlds" in said
    assert not any(
        "measured" in text for text, _, _ in written("promised", result(validation=None))
    )
    page = render(
        made,
        {name: inline_svg(draw_figure(name, made, {}), name) for name in ("sales", "promised")},
        "",
    )
    assert page.index("<svg") < page.index('<dl class="numbers">') < page.index("<h2>")


def test_of_many_owners_the_picture_lists_those_with_most_at_stake_and_counts_the_others():
    made = result(tuple(f"Hospital {i}" for i in range(40)), epsilon=np.geomspace(0.1, 10, 40))
    for i, owner in enumerate(made["owners"]):
        owner |= {"payment": float(i), "privacy_cost": 0.0}
    said = [text for text, _, _ in written("sales", made)]
    assert [text for text in said if text.startswith("Hospital")] == [
        f"Hospital {i}" for i in range(39, 32, -1)
    ]
    assert "33 others" in said and "528 together" in said and "0.1 to 4.38" in said


@pytest.mark.parametrize("epsilon", [[0.0, math.inf, 2.0], 1e-6, math.inf])
def test_the_picture_stays_on_its_page_at_the_ends(epsilon):
    for name in ("sales", "promised"):
        assert all(0 <= x <= 260 and y >= 0 for _, x, y in written(name, result(epsilon=epsilon)))


def test_nothing_sold_draws_no_picture():
    nobody = result(epsilon=0.0, learner__payments=0.0)
    assert draw_figure("sales", nobody, {}) == draw_figure("promised", nobody, {}) == ""


def test_tiles_have_the_colour_and_the_sign_of_their_outcome():
    kinds = dict((heading, kind) for kind, heading in tiles(result(epsilon=0.5)))
    assert kinds == {"Privacy": "gain", "Paid": "", "Error": "gain", "Learner": "gain"}
    assert "✓ 6,790" in told(result())
    colours = [protection_tile(protection_of(result(epsilon=e))) for e in (0.5, 2.0, 5.0, 9.0)]
    assert colours == [
        "gain",
        "even",
        "uncertain",
        "loss",
    ]
    lost = result(outside_option__measured=0.04)
    assert gain_outcome(lost) == "loss" and "✗ −210" in told(lost)
    untold = result(
        validation=None,
        learner__gain={"interval": [-1.0, 9000.0], "chance_pays": 0.8, "level": 0.9},
    )
    assert gain_outcome(untold) == "uncertain" and "? 5,800 uncertain; buying pays" in told(untold)
    assert gain_outcome(without_questions()) == model_outcome(without_questions()) == "even"
    assert model_outcome(result(outside_option__measured=0.001)) == "loss"
    assert model_outcome(result(validation__agrees=False)) == "uncertain"


def test_many_promises_are_told_by_kind_and_then_one_by_one_2_before_10():
    made = result(tuple(str(i) for i in range(1, 15)), epsilon=np.geomspace(0.1, 10, 14))
    text = told(made, "promised")
    assert (
        "14 promises one record replace one record 0.1 to 10 0 4 laplace, simulated anyone who sees"
        in text
    )
    parties = re.findall(r"(\d+) one record replace", text)
    assert parties == [str(i) for i in range(1, 15)]


def test_every_colour_of_words_stands_out_from_its_paper_in_both_schemes():
    """The contrast that WCAG 2 asks of text, 4.5."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    style = render(result(), {}, "").split("<style>")[1].split("</style>")[0]
    parts = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    schemes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for part in parts]
    light, dark = (scheme for scheme in schemes if "paper" in scheme)
    for scheme in (light, dark):
        words = ("ink", "muted", "warn", "loss", "gain")
        for name, paper in [
            *product(words, ("paper", "soft")),
            *((f"c{i}", "paper") for i in range(5)),
        ]:
            a, b = sorted((luminance(scheme[name]), luminance(scheme[paper])))
            assert (b + 0.05) / (a + 0.05) >= 4.5, (name, scheme[name], paper)
    assert "@media screen and (prefers-color-scheme: dark)" in style  # paper is white
