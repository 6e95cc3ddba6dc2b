"""Personal models, from a scenario file to result and page."""

import numpy as np
import pytest
from told import differing

from learning.errors import InputError
from scenarios.command.console import summary_lines
from scenarios.features.personal import try_models
from scenarios.planning import prepare
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load

pytestmark = pytest.mark.coarse

SMALL = ["data.split=[6000,600,200]", "owners.epsilon=[1.0,10.0]", "validation.runs=5"]
ONE_STEP = ["learning.algorithm=one_step", "learning.mechanism=l2"]
PERSONAL = [*SMALL, *ONE_STEP, "owners.personal=true", "owners.benefit=5000.0"]


def test_owners_benefit_by_the_combination_and_the_result_tells_of_it():
    result = run(load("three_insurers", [*PERSONAL, "owners.spread=0.02"]))
    width = result["data"]["parameters"]
    sizes = np.array([one["records"] for one in result["owners"]])
    benefits = np.array([one["benefit"] for one in result["owners"]])
    psi = result["forecast"]["relative_fitness"]
    assert (benefits > 0).all() and (np.diff(benefits) > 0).all()
    # 5000 (p - 2)/p v^2/(v + psi + C/n + spread), v = C/n_l: solved for C at one owner, held at the others
    factor = 5000 * (width - 2) / width

    def benefit(scale):
        own = scale / sizes
        return factor * own**2 / (own + psi + scale / sizes.sum() + 0.02)

    scales = np.geomspace(0.1, 1000, 20_001)
    found = scales[np.argmin([abs(benefit(one)[2] - benefits[2]) for one in scales])]
    assert benefit(found) == pytest.approx(benefits, rel=2e-3)
    rows = result["personal"]["owners"]
    assert [one["name"] for one in rows] == [one["name"] for one in result["owners"]]
    assert all(one["mse_personal"] < one["mse_own"] for one in rows)
    lines = "\n".join(summary_lines(result.content))
    page = render(result.content, {}, "")
    assert "Owners combine the market's model with their own rows" in lines
    assert "Owners combine the market&#39;s model with their own rows" in page
    assert not differing("result.json", result.content)[0]
    assert result["privileged"]["personal"] == "measured"


def test_a_spread_lowers_what_the_model_is_worth_to_owners():
    benefits = [
        sum(
            one["benefit"]
            for one in run(load("three_insurers", [*PERSONAL, *more]), training=False)["owners"]
        )
        for more in ([], ["owners.spread=0.5"])
    ]
    assert benefits[0] > benefits[1] > 0


def test_models_are_tried_on_records_that_they_were_not_fitted_to():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 8))
    y = rng.normal(size=40)
    own, common, personal = try_models(x, y, np.zeros(8), rng=rng)
    assert own > common == pytest.approx(np.mean(y**2))
    assert personal < own
    fitted = np.linalg.lstsq(x, y, rcond=None)[0]
    assert own > np.mean((y - x @ fitted) ** 2) * 1.2


@pytest.mark.parametrize(
    "asked",
    [["learning.algorithm=one_step", "learning.mechanism=l2"], ["learning.protocol=published"]],
)
def test_a_stated_spread_lowers_the_chance_that_buying_pays(asked):
    """A release of sums loses by it as f* grows; steps from a start that is far away lose more."""
    chances = []
    for spread in (0.0, 0.5, 5.0):
        scenario = load("three_insurers", [*asked, "data.order=as_is", f"owners.spread={spread}"])
        planner = prepare(scenario).planner
        gains = planner.predict(np.full(3, 3.0)).gain(1.0, 0.0)
        chances.append(float(np.mean(gains > 0.05)))
    assert chances[0] > chances[1] > chances[2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["owners.personal=true"], "owners.personal: needs owners.benefit"),
        (["owners.spread=0.1"], "owners.spread: needs owners.personal"),
        (["owners.spread=0.1", "data.order=as_is", "data.public_rows=0"], "owners.spread: needs"),
        (["owners.spread=-1"], "owners.spread: must be"),
        (
            [
                *PERSONAL,
                "learner.value={per='rmse', money=1.0}",
                "owners.benefit={per='rmse', money=1.0}",
            ],
            "learner.value: must be money per unit of relative fitness with owners.personal",
        ),
    ],
)
def test_what_cannot_be_combined(changes, message):
    with pytest.raises(InputError, match=message):
        load("three_insurers", changes)


def test_two_parameters_cannot_be_combined():
    with pytest.raises(InputError, match="owners.personal: needs three or more parameters"):
        run(load("three_insurers", [*PERSONAL, "data.features=['lncoins']"]))
