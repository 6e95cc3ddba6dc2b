"""A result holds facts: causes as codes with their numbers, and no sentence; every cause has one when it is shown."""

import json

import pytest

from scenarios.report.phrases import render_phrase, terminal_lines
from scenarios.result import to_plain
from scenarios.runner import run
from scenarios.schema.loading import load

OWN_TEXT = {
    "scenario",
    "title",
    "claims",
    "name",
    "source",
    "target",
    "features",
    "labels",
    "code",
    "owners_left_out",
}
COLLAPSE = [
    "policy.kind=thesis_utility",
    "policy.weight=printed",
    "owners.cost.kind=exponential",
    "owners.cost.price=1",
]
GAUSSIAN = ["learning.mechanism=gaussian", "learning.delta=0.5"]
SETTINGS = {
    "as written": ([], {"inside_interval"}),
    "large delta": (GAUSSIAN, {"large_delta"}),
    "rules": (["regulation.epsilon_cap=1.0", "learner.budget=1.0"], set()),
    "collapse": (
        [*COLLAPSE, "owners.epsilon=[0.001, 5.0]"],
        {"all_at_lowest", "printed_weight"},
    ),
    "rehearsed": (
        ["learning.algorithm=asynchronous", "learning.regularisation=0.01", "market.starts=1"],
        set(),
    ),
}


def texts(content, key=""):
    """(key, text) of every string that is neither the user's nor a promise's."""
    if isinstance(content, dict):
        for name, value in content.items():
            if name not in OWN_TEXT:
                yield from texts(value, name)
    elif isinstance(content, list):
        for value in content:
            yield from texts(value, key)
    elif isinstance(content, str):
        yield key, content


def said_of(content):
    """Every cause that a sentence is there for; an unknown cause of a warning or a reason fails."""
    assert dict(terminal_lines(content))["equilibrium"]
    facts = content["equilibrium"].get("remarks", [])
    said = {
        fact["cause"] for fact in facts if render_phrase("equilibrium", "remark", fact, content)
    }
    known = [*content["warnings"], *((content["validation"] or {}).get("explanation") or [])]
    return said | {fact["cause"] for fact in known} | {"several_equilibria"}


def causes(result):
    """Every cause that a result names."""
    return {text for key, text in texts(to_plain(result.content)) if key == "cause"}


def check(result):
    for key, text in texts(json.loads(json.dumps(to_plain(result.content)))):
        if key == "label":  # what the scenario calls its target
            continue
        assert not text.endswith(".") and len(text.split()) <= 3, f"{key} holds a sentence: {text}"
    assert causes(result) <= said_of(json.loads(json.dumps(to_plain(result.content))))


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "rehearsed" else [])
        for name in SETTINGS
    ],
)
def test_no_string_of_a_result_is_a_sentence(write, setting):
    changes, named = SETTINGS[setting]
    result = run(load(str(write()), changes))
    check(result)
    assert named <= causes(result)


@pytest.mark.slow
def test_a_missed_forecast_is_told_in_causes_with_amounts_that_add_up(monkeypatch):
    """Owners in file order, were it not counted that they may differ."""
    monkeypatch.setattr("learning.forecast.planner.Planner.doubts", lambda self, worlds: [])
    result = run(
        load("three_insurers", ["data.order=as_is", "market.starts=2", "validation.runs=20"])
    )
    check(result)
    checked = result["validation"]
    made = result["forecast"]
    where, *rest = checked["explanation"]
    amounts = {fact["cause"]: fact.get("amount") for fact in rest}
    assert where["cause"] == "outside_interval" and {"bias_differs", "best_error_differs"} <= set(
        amounts
    )
    assert (
        where["mean"] == checked["relative_fitness"]["mean"]
        and where["point"] == made["relative_fitness"]
    )
    assert where["amount"] == pytest.approx(where["mean"] - made["interval"][1])
    assert amounts["bias_differs"] == pytest.approx(made["oracle"]["bias"] - made["bias"])
