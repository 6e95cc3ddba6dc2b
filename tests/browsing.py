"""The dashboard in a real browser: a server of its own, a headless Chromium with its driver, and what one does in it.

As a program it takes the picture of the documentation: ``python tests/browsing.py
docs/dashboard.png``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OPTIONS = (
    "headless=new",
    "no-sandbox",
    "disable-dev-shm-usage",
    "disable-background-networking",
    "hide-scrollbars",
)
PATIENCE = 30  # seconds
# The picture in the documents: how wide and high.
PICTURE = (1280, 1010)


def lacking() -> list[str]:
    """What is not there of all that a look into the dashboard needs."""
    programs = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return programs + [name for name in ("selenium", "solara") if find_spec(name) is None]


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever started the tests may have it ignored


@contextmanager
def server(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Where the dashboard is shown, and the program that shows it; ended by Ctrl-C."""
    command = [
        sys.executable,
        "-m",
        "scenarios.command.main",
        "dashboard",
        *arguments,
        "--port",
        "0",
        "--no-browser",
    ]
    program = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": "."},
        preexec_fn=_heed_ctrl_c,
    )
    try:
        assert program.stdout is not None and program.stderr is not None
        line = program.stdout.readline()
        where = re.search(r"http://\S+", line)
        assert where, line + program.stderr.read()
        yield where[0], program
    finally:
        if program.poll() is None:
            program.send_signal(signal.SIGINT)
        program.communicate(timeout=PATIENCE)


class Tab:
    """A page in a headless browser.

    Parameters
    ----------
    driver: of Selenium.
    """

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def run(self, script: str, *arguments: Any) -> Any:
        """What some JavaScript returns."""
        return self.driver.execute_script(script, *arguments)

    def open(self, url: str, chart: str = "paths") -> float:
        """Open a page and wait for one of its charts; the seconds that takes."""
        began = time.perf_counter()
        self.driver.get(url)
        self.wait(lambda: self.chart(chart))
        return time.perf_counter() - began

    def chart(self, name: str) -> str:
        """What a chart tells in words; empty where it is not there."""
        return (
            self.run(
                "return document.querySelector(arguments[0])?.ariaLabel ?? ''",
                f"[data-chart={name}]",
            )
            or ""
        )

    def text(self, place: str) -> str:
        """The text of an element; empty where there is none."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", place)

    def wait(self, happened: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Wait for something to happen; what it gives."""
        end = time.monotonic() + patience
        while not (found := happened()):
            assert time.monotonic() < end, (
                self.text("body")[:2000] + str(self.driver.get_log("browser"))[-2000:]
            )
            time.sleep(0.02)
        return found

    def press(self, name: str) -> None:
        """Press a button."""
        self.run("document.getElementById('button-' + arguments[0]).click()", name)

    def slide(self, name: str, stop: int, chart: str = "paths") -> float:
        """Move a slider, and wait until a chart has changed; the milliseconds that the page took."""
        self.driver.set_script_timeout(PATIENCE)
        return self.driver.execute_async_script(
            SLIDE, f"control-{name}", stop, f"[data-chart={chart}]"
        )

    def at(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Make the window another size, or another colour."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        time.sleep(0.3)

    def requests(self) -> set[str]:
        """All that the browser asked any server for since this was last asked."""
        found = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        sent = ("Network.requestWillBeSent", "Network.webSocketCreated")
        told = (one["params"] for one in found if one["method"] in sent)
        return {one.get("url") or one["request"]["url"] for one in told}

    def complaints(self) -> list[str]:
        """What the browser complains of."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE"
        ]


SLIDE = """
const [control, stop, chart, done] = arguments, began = performance.now(), input = document.getElementById(control)
const seen = () => document.querySelector(chart).ariaLabel, before = seen()
input.value = stop
input.dispatchEvent(new Event(input.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}))
const look = () => seen() !== before ? done(performance.now() - began) : requestAnimationFrame(look)
look()
"""


@contextmanager
def browser(width: int = 1280, height: int = 900) -> Iterator[Tab]:
    """A headless browser."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for option in (*OPTIONS, f"window-size={width},{height}"):
        options.add_argument(f"--{option}")
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield Tab(driver)
    finally:
        driver.quit()


def picture(file: Path) -> None:
    """Take the picture of the documents."""
    from PIL import Image

    with server("three_insurers") as (url, _), browser(*PICTURE) as tab:
        tab.open(url)
        tab.at(*PICTURE)
        tab.driver.save_screenshot(str(file))
    Image.open(file).convert("RGB").quantize(128).save(file, optimize=True)


if __name__ == "__main__":
    picture(Path(sys.argv[1]))
