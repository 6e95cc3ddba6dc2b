"""A learner that learns its price, from a scenario file to the result: what it keeps, what is told, what is refused."""

from __future__ import annotations

import pytest
from commands import INSURERS
from quick import quick_module
from told import differing

from learning.errors import InputError
from scenarios.features.pricing import fix_price
from scenarios.report.figure_pricing import pricing_figure
from scenarios.report.phrases import render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.studies.offers import at_spending

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

POOR = "policy.budget=0.5"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Three owners who all take part, at a budget that is far too small."""
    names = "[2500, 2000, 1800]\nnames = ['Ann', 'Bob', 'Cy']"
    changes = {
        "[500, 300]": names,
        "[3.0, 4.0]": "[3.0, 3.5, 4.0]",
        "[0.1, 10.0]": "[0.01, 10.0]",
        "1000.0": "10000.0",
    }
    text = INSURERS
    for old, new in changes.items():
        text = text.replace(old, new)
    (tmp_path_factory.getbasetemp() / "priced.toml").write_text(text)
    return tmp_path_factory.getbasetemp() / "priced.toml"


def learned(path, kind, *changes):
    given = [
        POOR,
        f"learner.pricing.kind={kind}",
        "learner.pricing.high=1000.0",
        "learner.pricing.close=0.01",
        *changes,
    ]
    return run(load(path, given), training=False)


@pytest.fixture(scope="module")
def golden(path):
    return learned(path, "golden_section")


def test_the_price_kept_comes_near_the_best_one_and_the_market_settles_under_it(golden):
    result = golden
    found = result["pricing"]
    learner = result["learner"]
    assert found["best"]["profit"] > 0 and found["profit"] >= 0.99 * found["best"]["profit"]
    assert found["profit"] == pytest.approx(learner["surplus"], rel=1e-5)
    assert found["policy"]["budget"] == pytest.approx(0.5 * found["price"])
    assert learner["payments"] == pytest.approx(0.5 * found["price"])
    assert result["equilibrium"]["converged"] and found["path"][-1]["price"] == found["price"]
    assert 1 <= found["near"]["posts"] <= found["posts"] == len(found["path"])
    assert result["scenario"]["policy"]["budget"] == 0.5 and "budget = 0.5" in result.scenario_toml
    assert not differing("result.json", result.content)[0]  # the reference tells of every field


def test_a_scenario_that_learns_is_written_as_it_can_be_read(path, golden):
    (path.parent / "again.toml").write_text(golden.scenario_toml)
    made = load(path.parent / "again.toml")
    assert made.learner.pricing.kind == "golden_section" and made.learner.pricing.high == 1000.0
    assert fix_price(made).learner.pricing is None


@pytest.mark.slow
def test_a_budget_is_kept_to(path, golden):
    enough = golden["pricing"]["best"]["payments"]
    result = learned(
        path, "tatonnement", f"learner.budget={enough / 3}", "learner.pricing.prices=40"
    )
    found = result["pricing"]
    assert found["path"][-1]["within_budget"] and not all(
        row["within_budget"] for row in found["path"]
    )
    assert result["learner"]["within_budget"] and result["learner"]["payments"] == pytest.approx(
        enough / 3, rel=0.05
    )
    assert found["best"]["payments"] == pytest.approx(enough / 3, rel=0.02)


@pytest.mark.deep
def test_it_learns_against_owners_who_are_not_rational(path):
    result = learned(path, "tatonnement", "behaviours=[{kind='stale',owners=['Ann','Bob']}]")
    found = result["pricing"]
    assert found["profit"] == pytest.approx(found["best"]["profit"], rel=0.01)
    assert "if all owners were rational" in render_phrase("pricing", "against_best", result.content)


def test_what_is_said_of_it(path, golden):
    content = golden.content
    assert content["pricing"]["policy"]["budget"] == pytest.approx(
        0.5 * content["pricing"]["price"]
    )
    said = render_phrase("pricing", "how_learned", content) + render_phrase(
        "pricing", "against_best", content
    )
    assert "The learner did not know its best budget. It narrows the range of prices" in said
    assert (
        "Only the simulator knows every owner's costs" in said
        and "within 1 % of this profit was number" in said
        and "it would have made" in said
    )
    assert render_phrase("pricing", "terminal", content).startswith(
        "golden_section: budget x "
    ) and "no money is paid and no privacy is spent" in render_phrase(
        "pricing", "nothing_sold", content
    )
    alone = run(load(path), training=False).content
    assert (
        render_phrase("pricing", "how_learned", alone)
        == render_phrase("pricing", "against_best", alone)
        == render_phrase("pricing", "terminal", alone)
        == render_phrase("pricing", "nothing_sold", alone)
        == ""
        and pricing_figure(alone) is None
    )
    assert len(pricing_figure(content).axes) == 2
    found = content["pricing"]
    missed = content | {
        "pricing": found
        | {"near": None, "at_end": True, "path": [found["path"][0] | {"selling": 0}]}
    }
    assert render_phrase("pricing", "against_best", missed).endswith(
        "No price came within 1 % of this profit."
    )
    assert (
        " Nobody sold anything at any price. This is an end of its range, 0.1 to 1,000. A"
        in render_phrase("pricing", "how_learned", missed)
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            ["policy.kind=user", "policy.file=p.py"],
            "learner.pricing: needs a policy with a number that payments rise with, such as a price or a budget; found "
            'policy.kind = "user". Leave it out, or choose another policy.',
        ),
        (
            ["policy.budget=0.0"],
            "policy.budget: must be above 0 with [learner.pricing], because the search multiplies it; found 0.0.",
        ),
        (["learner.pricing.low=20.0"], "learner.pricing.low: must be below high, 10; found 20."),
        (
            ["learner.pricing.kind=tatonnement", "learner.pricing.aim=budget"],
            'learner.budget: is required with learner.pricing.aim = "budget"; found nothing.',
        ),
        (
            ["unions=[{name='U',members=['Ann','Bob']}]"],
            "unions: must be left out in a scenario with [learner.pricing], because their members choose together by search. "
            "To keep it, change or remove learner.pricing.",
        ),
        (
            ["learners=[{name='B',value=1.0}]"],
            "learners: must be left out in a scenario with [learner.pricing], because all learners would",
        ),
        (
            ["time.periods=3"],
            "time: must be left out in a scenario with [learner.pricing], because each period is computed",
        ),
        (
            ["market.participation=free"],
            'market.participation: must be "bound" in a scenario with [learner.pricing]',
        ),
        (
            ["learner.pricing.kind=haggle"],
            'learner.pricing.kind: must be "golden_section", "tatonnement" or "bayesian"',
        ),
    ],
)
def test_what_is_refused_in_one_line(path, changes, told):
    with pytest.raises(InputError) as caught:
        load(path, ["learner.pricing.kind=golden_section", *changes])
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_money_that_is_set_to_an_aim_is_not_learned_too(path):
    scenario = load(path, ["learner.pricing.kind=bayesian"])
    with pytest.raises(
        InputError,
        match=r"^learner.pricing: must be left out if the money in the policy is set to an aim",
    ):
        at_spending(scenario, None, 10.0)
