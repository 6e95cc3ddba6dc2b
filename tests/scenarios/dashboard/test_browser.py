"""The dashboard in a real browser: sliders, rounds, training, the lesson; and that nothing comes from elsewhere.

With ``-s`` it says how long the first picture took, and a slider.
"""

import os
import signal
import socket
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from browsing import ROOT, browser, lacking, server

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.in_full,
    pytest.mark.skipif(
        bool(lacking()) and "BROWSER" not in os.environ,
        reason=f"a look into the dashboard needs {', '.join(lacking())}",
    ),
]
TEN = """
title = "Ten clinics"
seed = 3
[data]
source = "randhie"
target = "mdvis"
split = [2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000]
public_rows = 150
[data.bounds]
mdvis = [0, 20]
[owners]
epsilon = [0.01, 10.0]
[owners.cost]
kind = "linear"
price = [300, 305, 310, 315, 320, 325, 330, 335, 340, 345]
[policy]
kind = "proportional"
budget = 8000.0
[learner]
value = 100000.0
"""


@pytest.fixture(scope="module")
def insurers():
    with server("three_insurers", "--seed", "44", "--set", "market.starts=1") as (url, _):
        yield url


@pytest.fixture(scope="module")
def window():
    with browser() as tab:
        yield tab


@pytest.fixture
def tab(window, insurers):
    """The page of the three insurers, as it is first seen."""
    window.at(1280)
    window.open(insurers)
    return window


def test_a_page_opens_with_nothing_from_elsewhere_and_nothing_to_complain_of(tab, insurers):
    tab.requests()
    tab.complaints()
    took = tab.open(insurers)
    print(f"\nthe page of three owners shows its first picture after {took:.2f} s")
    elsewhere = [
        one
        for one in tab.requests()
        if insurers.partition("://")[2] not in one and not one.startswith("data:")
    ]
    assert not elsewhere and not tab.complaints()
    assert tab.driver.title == "Three insurers · dpmarket"
    assert "Aurora Health 1.66" in tab.chart("paths") and "Equilibrium after" in tab.text(".answer")


def test_a_slider_changes_the_equilibrium_the_command_and_the_scenario_and_goes_back(tab):
    first = tab.chart("paths")
    tab.slide("money", 13)
    assert "Aurora Health 3.33" in tab.chart("paths") and "4,000 in all" in tab.text(".answer")
    assert "--set policy.budget=4000.0" in tab.text(".source .command")
    tab.run("document.querySelector('.source details').open = true")
    assert tab.text(".source .marked").strip() == "budget = 4000.0"
    tab.run("document.querySelector('.control.moved .back').click()")
    tab.wait(lambda: tab.chart("paths") == first)
    assert not tab.text(".source .command")


def test_a_slider_answers_to_the_keyboard_and_says_its_value(tab):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    slider = tab.driver.find_element(By.ID, "control-money")
    first = tab.chart("paths")
    slider.send_keys(Keys.ARROW_LEFT)
    tab.wait(lambda: tab.chart("paths") != first)
    assert slider.get_attribute("aria-valuetext") == "1,500" and "Aurora Health 1.25" in tab.chart(
        "paths"
    )
    assert tab.run("return document.activeElement.id") == "control-money", (
        "the hand stays where it was"
    )


def test_another_policy_another_behaviour_another_order(tab):
    tab.slide("policy", 0)
    assert tab.text(".fault") == "" and tab.text("label[for=control-money]") == "Its price"
    tab.run("document.querySelector('.control.moved .back').click()")
    tab.wait(lambda: "Aurora Health 1.66" in tab.chart("paths"))
    tab.slide("behaviour", 1)
    assert "If all owners were rational, they would sell ε of 0.384 to 1.66." in tab.text(".answer")
    tab.slide("share", 3)
    assert "behaviours=" in tab.text(".source .command")


def test_rounds_go_by_one_at_a_time_and_by_themselves(tab):
    tab.press("reset")
    tab.wait(lambda: "round 0" in tab.text(".buttons .said"))
    for number in (1, 2):
        tab.press("step")
        tab.wait(lambda: f"round {number} of" in tab.text(".buttons .said"))  # noqa: B023
    assert "still responding to each other" in tab.text(".answer")
    tab.press("play")
    tab.wait(lambda: "Equilibrium" in tab.text(".answer"))
    assert tab.run("return document.getElementById('button-step').disabled")


def test_a_training_tells_whether_the_forecast_held_and_the_page_stays_alive(tab):
    tab.press("train")
    tab.press("train")
    tab.wait(lambda: tab.run("return document.getElementById('button-train').disabled"))
    tab.slide("value", 14, "gains")
    tab.wait(lambda: tab.text(".verdict"))
    assert "the market before you moved" in tab.text("#app")
    assert "The error agrees with the forecast" in tab.text("#app")
    tab.run("document.querySelector('.control.moved .back').click()")
    tab.press("train")
    tab.wait(lambda: "trained" in tab.chart("errors"))
    assert "The money agrees with the forecast" in tab.text("#app")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_every_window_light_and_dark(tab, tmp_path, width, dark):
    tab.at(width, dark=dark)
    assert tab.run("return document.documentElement.scrollWidth") <= width
    paper = tab.run("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(22, 25, 29)") == dark
    file = tmp_path / "page.png"
    assert tab.driver.save_screenshot(str(file)) and file.stat().st_size > 20_000


def test_everything_has_a_name_for_those_who_cannot_see_it(tab):
    unnamed = "return [...document.querySelectorAll('input,select')].filter(one => !one.labels.length).length"
    assert tab.run(unnamed) == 0
    assert tab.run(
        "return [...document.querySelectorAll('svg.chart')].every(one => one.ariaLabel.length > 20)"
    )
    assert tab.run(
        "return [...document.querySelectorAll('button')].every(one => one.textContent.trim() || one.ariaLabel)"
    )
    assert tab.run("return document.documentElement.lang") == "en"


def test_the_lesson_answers_in_every_step(tab, insurers):
    tab.open(f"{insurers}lesson", "noise")
    tab.slide("epsilon", 18, "noise")
    sold = tab.chart("curve")
    tab.slide("price.0", 13, "curve")
    assert tab.chart("curve") != sold
    tab.slide("money", 13, "gains")
    tab.press("reset")
    tab.wait(lambda: "round 0" in tab.text(".buttons .said"))
    tab.run("document.querySelector('.step details summary').click()")
    assert "budgets add up" in tab.text(".step details[open]")


def test_ten_owners(window, tmp_path):
    file = tmp_path / "ten.toml"
    file.write_text(TEN, encoding="utf-8")
    with server(str(file)) as (url, _):
        took = window.open(url)
        times = [window.slide("money", stop) / 1000 for stop in (12, 14, 11, 13, 15, 12, 14)]
    print(f"\nthe page of ten owners shows its first picture after {took:.2f} s", end="; ")
    print(
        f"a slider is answered after {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})"
    )


def test_ctrl_c_ends_it_and_a_taken_port_is_one_line():
    with server("three_insurers", "--set", "market.starts=1") as (url, program):
        port = url.rpartition(":")[2].strip("/")
        taken = called("--port", port)
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=20)
    assert (program.returncode, told) == (130, "interrupted\n")
    assert taken.returncode == 2 and taken.stdout == ""
    assert taken.stderr.startswith(
        f"dpmarket: --port: must be a port that is free; found 127.0.0.1:{port}, address"
    )
    assert taken.stderr.count("\n") == 1


def test_a_bad_scenario_is_one_line():
    found = called("--set", "policy.budget=-1")
    assert (
        found.returncode == 2 and found.stderr.count("\n") == 1 and "policy.budget" in found.stderr
    )


def test_it_listens_to_this_machine_alone(insurers):
    port = int(insurers.rpartition(":")[2].strip("/"))
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    mine = [
        address
        for *_, (address, *_) in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)
    ]
    for address in {one for one in mine if not one.startswith("127.")}:
        with pytest.raises(OSError):
            socket.create_connection((address, port), timeout=2)


def called(*arguments):
    """The command, run to its end."""
    command = [
        sys.executable,
        "-m",
        "scenarios.command.main",
        "dashboard",
        "--no-browser",
        *arguments,
    ]
    environment = os.environ | {"PYTHONPATH": str(Path(ROOT))}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
