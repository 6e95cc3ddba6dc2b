"""What is clicked and what is then seen: screens, words and drawings; without a browser."""

import re
import xml.etree.ElementTree as tree

import numpy as np
import pytest
from quick import quick_module

from learning.phrases import toml_value
from scenarios.dashboard import charts
from scenarios.dashboard.rendering import render_part
from scenarios.dashboard.screen import Training, open_screen, train
from scenarios.dashboard.state import Opened
from scenarios.planning import prepare
from scenarios.schema.loading import load

__all__ = ["quick_module"]
pytestmark = pytest.mark.designed  # as the fixtures of this module


@pytest.fixture(scope="module")
def screen(insurers):
    return open_screen(insurers)


def stop(screen, name, value):
    return next(one for one in screen.sliders.controls if one.name == name).stops.index(value)


def test_buttons_lead_through_the_rounds(screen):
    last = screen.played.last
    assert screen.at == last and screen.pressed("step").at == last
    start = screen.pressed("reset")
    assert (
        start.at == 0
        and start.pressed("step").at == 1
        and start.pressed("step").pressed("end").at == last
    )
    playing = screen.pressed("play")
    assert playing.playing and playing.at == 0
    for _ in range(last):
        playing = playing.pressed("tick")
    assert playing.at == last and not playing.playing
    assert not start.pressed("play").pressed("tick").pressed("play").playing


def test_a_moved_slider_settles_the_market_anew_and_is_counted(screen):
    moved = screen.pressed("reset").moved("money", stop(screen, "money", 4000.0))
    assert moved.done == 1 and moved.at == moved.played.last
    assert np.allclose(
        moved.now.run.epsilon, 2 * screen.now.run.epsilon, rtol=1e-6
    )  # a contest has no unit of money


def test_a_slider_that_makes_no_market_leaves_the_old_one_with_one_line_on_why(screen, monkeypatch):
    def broken(*_, **__):
        raise FloatingPointError("overflow encountered in exp")

    monkeypatch.setattr("scenarios.dashboard.screen.play", broken)
    moved = screen.moved("money", 0)
    assert moved.played is screen.played and moved.done == 1 and "overflow" in moved.fault
    assert "overflow" in render_part("answer", moved.played, moved.now, moved.fault)


def test_a_market_that_does_not_settle_says_so(screen, changed):
    cut = open_screen(changed("market.max_rounds=1"))
    assert not cut.played.run.equilibrium.converged
    assert render_part("standing", cut.played, cut.now).startswith("No equilibrium after")
    assert "Equilibrium after 11 rounds" in render_part("standing", screen.played, screen.now)
    assert "still responding" in render_part("standing", screen.played, screen.pressed("reset").now)


def test_owners_who_are_not_rational_are_told_apart_from_a_market_that_fails(screen):
    moved = screen.moved("behaviour", stop(screen, "behaviour", "logit"))
    assert "not all are rational" in render_part("standing", moved.played, moved.now)
    assert "If all owners were rational, they would sell ε of 0.384 to 1.66." in render_part(
        "answer", moved.played, moved.now
    )


def drawings(screen):
    now = screen.now
    yield charts.draw_paths(screen.played, now)
    yield charts.draw_network(now)
    yield charts.draw_bars(now)
    yield charts.draw_errors(now.facts)
    yield charts.draw_gains(now.facts)
    yield charts.draw_chart("chance", now.facts["learner"]["gain"]["chance_pays"], "a guess")
    yield from (charts.draw_curve(now, one) for one in now.curves)
    yield charts.draw_noise(1.0)


def test_every_drawing_is_whole_and_tells_in_words_what_it_shows(screen):
    for at in (screen, screen.pressed("reset"), screen.moved("behaviour", 1)):
        for drawing in drawings(at):
            root = tree.fromstring(drawing)
            assert root.get("role") == "img" and len(root.get("aria-label")) > 20
            assert not re.search(r"nan|inf\b|None", drawing)
            assert not re.search(r"#[0-9a-f]{3,6}\b|https?:", drawing), (
                "colours of the page, and nothing from elsewhere"
            )


@pytest.mark.slow
def test_names_are_text_whatever_is_in_them(screen):
    names = ["<b>A</b>", 'B" onload="x', "C & D"]
    scenario = load("three_insurers", ["market.starts=1", f"data.names={toml_value(names)}"])
    odd = open_screen(Opened("three_insurers", scenario, prepare(scenario)))
    page = render_part("answer", odd.played, odd.now) + "".join(drawings(odd))
    assert "<b>A</b>" not in page and "&lt;b&gt;A" in page and ' onload="x' not in page


@pytest.mark.slow
def test_training_says_whether_both_promises_were_kept(screen):
    stages = []
    result = train(screen.played, lambda stage, share=0.0, /: stages.append((stage, share)))
    assert (
        result["validation"]["agrees"]
        and stages[0][0] == "training at the equilibrium"
        and stages[-1][1] >= 0
    )
    told = Training(screen.played, result=result)
    assert (
        not told.under_way
        and Training(screen.played, "starting").under_way
        and not Training().under_way
    )
    page = render_part("checked", told, screen.played)
    assert "The error agrees with the forecast" in page and "before you moved" not in page
    agrees = {True: "agrees with", False: "contradicts"}[result["validation"]["agrees_on_money"]]
    assert f"The money {agrees} the forecast" in page
    assert "before you moved" in render_part(
        "checked", told, open_screen(screen.sliders.opened).played
    )
    assert "trained" in charts.draw_errors(screen.now.facts, result["validation"])


def test_the_lesson_has_four_steps_each_with_a_question_and_its_answer():
    for number in (1, 2, 3, 4):
        assert len(render_part(f"step_{number}", of="lesson.html.j2")) > 200
        question = render_part(f"question_{number}", of="lesson.html.j2")
        assert "<details>" in question and "<summary>Answer</summary>" in question


def test_a_contest_answers_others_with_more_only_where_an_owner_is_ahead_of_them_all():
    """As the second answer says: the best answer to others' sum S is sqrt(V S / c) - S, which rises where it is above S."""
    V = 12.0
    c = 1.0
    for S in np.linspace(0.1, 11.0, 40):
        best = np.sqrt(V * S / c) - S
        slope = (np.sqrt(V * (S + 1e-6) / c) - S - 1e-6 - best) / 1e-6
        assert abs(best - S) < 1e-3 or (slope > 0) == (best > S)
