"""Results of every kind for the tests of the report, and the page of each as it is read."""

import json
import math
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from result_folders import calibrated, result, without_questions, write

from scenarios.report.figure_page import STYLE
from scenarios.report.page import FIGURES, render, write_report

MANY = tuple(f"Hospital {i:02d}" for i in range(86))

VOID = {"meta", "link", "br", "hr", "img", "input"}

DISAGREEING = {
    "validation__agrees": False,
    "validation__relative_fitness__mean": 0.289,
    "validation__explanation": [
        {
            "cause": "outside_interval",
            "mean": 0.289,
            "point": 0.021,
            "interval": [0.014, 0.031],
            "edge": 0.031,
            "amount": 0.258,
        },
        {"cause": "bias_differs", "amount": 0.2},
        {"cause": "noise_differs", "amount": -0.05},
        {"cause": "best_error_differs", "pooled": 21.4, "forecast": 14.3},
        {"cause": "public_sample_by_chance", "p_value": 0.42},
        {"cause": "unexplained", "amount": 0.012, "projected": 0.031},
    ],
}

WORSE = {
    "outside_option__relative_fitness": 0.015,
    "outside_option__measured": 0.016,
    "learner__gross_value": -600.0,
    "learner__surplus": -2600.0,
    "learner__buying_pays": False,
}

BELOW = {
    "forecast__relative_fitness": -0.02,
    "forecast__bias": -0.03,
    "forecast__noise": 0.01,
    "forecast__interval": [-0.05, 0.01],
    "validation__relative_fitness__mean": -0.021,
}

TINY = -7.2e-16

NOTHING = {
    "claims": [],
    "forecast__horizon": 1,
    "forecast__step_size": 0.0,
    "forecast__relative_fitness": TINY,
    "forecast__bias": TINY,
    "forecast__noise": 0.0,
    "forecast__interval": [TINY, TINY],
    "outside_option__relative_fitness": TINY,
    "outside_option__interval": [TINY, TINY],
    "outside_option__measured": 4.9e-15,
    "learner__gross_value": 0.0,
    "learner__surplus": -2000.0,
    "learner__buying_pays": False,
    "validation__relative_fitness": dict.fromkeys(
        ("mean", "q05", "q25", "median", "q75", "q95"), 4.9e-15
    )
    | {"std_error": 0.0},
    "validation__z_score": None,
}

GAUSSIAN_NOISE = {"scenario__learning__mechanism": "gaussian", "scenario__learning__delta": 1e-6}

CLAIMS = [claim | {"mechanism": "gaussian (pld)", "delta": 1e-6} for claim in result()["claims"]]

GAUSSIAN = {**GAUSSIAN_NOISE, "claims": CLAIMS, "protocol__mechanism": "gaussian (pld)"}

LOOKERS = {"the learner, who picks": 9.5, "anyone who does not know the picks": 1.2}

PRINTED = [
    claim
    | {
        "mechanism": "gaussian noise as MP prints it for epsilon = 3.21; exact",
        "protects_against": who,
        "epsilon": e,
    }
    for claim in CLAIMS
    for who, e in LOOKERS.items()
]

CASES = {
    "agreeing": result(),
    "disagreeing": result(**DISAGREEING),
    "no training": result(validation=None),
    "one owner": result(("Only Clinic",)),
    "many": result(MANY, epsilon=np.geomspace(0.01, 10, 86)),
    "ends": result(epsilon=[0.0, math.inf, 2.0]),
    "nobody": result(
        epsilon=0.0,
        learner__payments=0.0,
        learner__surplus=0.0,
        learner__gross_value=0.0,
        learner__buying_pays=False,
    ),
    "all open": result(epsilon=math.inf),
    "oracle": result(forecast__basis="oracle", data__public_rows=0),
    "no end": result(
        equilibrium__converged=False,
        equilibrium__reason="not converged",
        equilibrium__max_regret=12.5,
        equilibrium__max_relative_regret=0.2,
        equilibrium__iterations=1000,
    ),
    "cycle": result(
        equilibrium__converged=False, equilibrium__reason="cycle found", equilibrium__max_regret=3.0
    ),
    "jump": result(
        equilibrium__converged=False, equilibrium__reason="no best response (jump at 0)"
    ),
    "several": result(
        equilibrium__reason="several", equilibrium__distinct=[[3.21] * 3, [0.01] * 3]
    ),
    "worse": result(**WORSE),
    "too dear": result(
        learner__payments=9000.0, learner__surplus=-1200.0, learner__buying_pays=False
    ),
    "asks nothing": without_questions(),
    "projection": result(
        forecast__projection_may_bind=True, validation__projected=0.031, validation__z_score=-9.0
    ),
    "holdout": result(
        validation__holdout={
            "records": 9003,
            "mse_trained": 5.14,
            "mse_nonprivate": 5.13,
            "mse_outside": 5.17,
            "variance": 19.3,
        }
    ),
    "unknown numbers": result(
        welfare__price_of_anarchy=None,
        welfare__total=-5.0,
        validation__z_score=None,
        equilibrium__max_relative_regret=None,
        forecast__interval=None,
        forecast__oracle=None,
        outside_option__measured=None,
        outside_option__interval=None,
    ),
    "logistic": calibrated(),
    "hinge, unnamed labels": calibrated("hinge", data__labels=None, scenario__data__positive=1.0),
    "hinge, nothing to gain": calibrated("hinge", **NOTHING),
    "network": calibrated("network"),
    "network below the best found": calibrated("network", **BELOW),
    "rehearsed on pooled records": calibrated(forecast__basis="oracle", data__public_rows=0),
    "rehearsed, no training": calibrated(validation=None),
    "asynchronous": calibrated("squared", "asynchronous", forecast__horizon=300),
    "sgd1": calibrated("squared", "sgd1", forecast__horizon=1000, **GAUSSIAN),
    "sgd2": calibrated("logistic", "sgd2"),
    "weighted": calibrated("logistic", "weighted", scenario__learning__weights="equal"),
    "adassp": calibrated(
        "squared", "adassp", forecast__horizon=1, forecast__step_size=1.0, **GAUSSIAN
    ),
    "precision": result(scenario__learning__weights="precision"),
    "best": result(**GAUSSIAN | {"scenario__learning__mechanism": "best"}),
    "printed": calibrated(
        "logistic",
        "sgd1",
        claims=PRINTED,
        protocol__mechanism="gaussian (printed)",
        warnings=[{"cause": "weaker_than_sold", "epsilon": 9.5, "sold": 3.21}],
        **GAUSSIAN_NOISE,
    ),
}


class Balanced(HTMLParser):
    """Fails on tags that do not match, and keeps ids and the text shown."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg"} & set(self.open):
            self.words.append(data)


DRAWN_FROM = (
    "owners",
    "scenario",
    "forecast",
    "outside_option",
    "validation",
)  # what figures show of a result

drawn: dict[str, Path] = {}


def page(made, tmp_path) -> str:
    """The report of a result; what has been drawn for another with the same owners and forecast is not drawn again."""
    folder = write(tmp_path / "r", json.loads(json.dumps(made)))
    key = json.dumps([made[part] for part in DRAWN_FROM])
    if key in drawn and drawn[key] != folder / "figures":
        shutil.copytree(drawn[key], folder / "figures", dirs_exist_ok=True)
    text = write_report(folder).read_text(encoding="utf-8")
    drawn[key] = folder / "figures"
    return text


def shown(made, tmp_path) -> str:
    """The text of a report as read, hard spaces as spaces."""
    parser = Balanced()
    parser.feed(page(made, tmp_path))
    return plain(" ".join(parser.words))


def told(made, section: str = "") -> str:
    """The text of a report, or of one of its sections without its heading, around drawings that are left blank."""
    text = render(json.loads(json.dumps(made)), dict.fromkeys(FIGURES, ""), "")
    if section:
        text = text.split(f'<section id="{section}"')[1].split("</h2>", 1)[1].split("</section>")[0]
    parser = Balanced()
    parser.feed(text)
    return plain(" ".join(parser.words))


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", unescape(text)).strip()


def alternative(owners=("A",), **changes):
    """A row of comparison.json."""
    owner = {"epsilon": 1.0, "payment": 2.0, "privacy_cost": 1.0, "surplus": 1.0, "rational": True}
    return {
        "name": "a",
        "payments": 10.0,
        "scaled": None,
        "trained_gain": None,
        "trained_fitness": None,
        "gain": 5.0,
        "owners": [owner | {"name": name} for name in owners],
        "gain_interval": [1.0, 9.0],
        "relative_fitness": 0.1,
        "chance_pays": 0.9,
        "welfare": 6.0,
        "owners_surplus": 1.0,
        "treasury": 0.0,
        "certified": True,
        "equilibria": 1,
        "asks": True,
        "agrees": None,
        "rules": {},
        "policy": {"kind": "proportional", "budget": 10.0},
    } | changes


def compared(*rows, differences=None, **changes):
    """The content of comparison.json."""
    found = {"learner": 1.0, "owners": [2.0], "treasury": 0.0, "welfare": 3.0, "paired": False}
    return {
        "title": "T",
        "aim": {"spending": None, "fitness": None},
        "vote": None,
        "alternatives": list(rows),
        "differences": differences or [found] * (len(rows) - 1),
    } | changes


def left_end(draw, content):
    """Where the leftmost text of a figure begins, in pixels from the edge of its page."""
    with matplotlib.rc_context(STYLE):
        figure = draw(content)
        renderer = FigureCanvasAgg(figure).get_renderer()
        texts = [one for one in figure.findobj(Text) if one.get_text()]
        return min(one.get_window_extent(renderer).x0 for one in texts)
