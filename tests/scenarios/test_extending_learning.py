"""A loss and a training algorithm from outside the packages: a class and its name in a dict, and all else follows."""

import numpy as np
import pytest
from extending import HeavyBall, SmoothHinge, enter

from learning.losses.loss import Loss
from learning.losses.losses import LOSSES
from learning.training import ALGORITHMS, Algorithm
from scenarios.report.page import write_report
from scenarios.report.phrases import render_phrase
from scenarios.result import save_result
from scenarios.runner import run
from scenarios.schema.loading import load

# ---- what follows

SCENARIO = """
[data]
path = "people.csv"
target = "ill"
split = [200, 300]
names = ["Ash", "Birch"]
public_rows = 60
holdout = 0.1
[learning]
loss = "{loss}"
algorithm = "{algorithm}"
regularisation = 0.05
[owners]
epsilon = [2.0, 20.0]
cost = {{ kind = "linear", price = 1.0 }}
[policy]
kind = "proportional"
budget = 100.0
[learner]
value = 1000.0
[market]
starts = 1
[validation]
runs = 6
"""


@pytest.fixture
def market(tmp_path, monkeypatch):
    """A scenario file of a loss and an algorithm, with both entered under their names."""
    enter(monkeypatch, "smooth_hinge", "heavy_ball")
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (620, 2))
    ill = np.where(x @ [2.0, -1.0] + 0.3 * rng.normal(size=620) > 0, "yes", "no")
    rows = [f"{a:.6f},{b:.6f},{label}" for (a, b), label in zip(x, ill, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["a,b,ill", *rows]))

    def scenario(loss, algorithm):
        path = tmp_path / "market.toml"
        path.write_text(SCENARIO.format(loss=loss, algorithm=algorithm))
        return load(path)

    return scenario


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "algorithm"),
    [("smooth_hinge", "averaged"), ("logistic", "heavy_ball"), ("smooth_hinge", "heavy_ball")],
)
def test_named_in_a_scenario_they_are_forecast_trained_and_reported(
    market, tmp_path, monkeypatch, loss, algorithm
):
    result = run(market(loss, algorithm))
    assert (
        result["forecast"]["algorithm"] == algorithm and result["forecast"]["kind"] == "calibrated"
    )
    assert result["forecast"]["relative_fitness"] < result["outside_option"]["relative_fitness"]
    assert abs(result["validation"]["z_score"]) < 4
    assert (
        result["validation"]["holdout"]["error_trained"]
        < result["validation"]["holdout"]["error_guessing"]
    )
    folder = tmp_path / "found"
    save_result(result, folder, lambda where: None)
    said = write_report(folder).read_text()
    assert algorithm in render_phrase("learning", "plan_line", result)
    assert (SmoothHinge.measure in said) == (loss == "smooth_hinge")
    assert (HeavyBall.says in said) == (algorithm == "heavy_ball")
    for table, name in ((LOSSES, SmoothHinge.name), (ALGORITHMS, HeavyBall.name)):
        monkeypatch.delitem(table, name)
    said = write_report(folder).read_text()  # where they are not known, by their plain names
    assert (f"mean {loss} loss" in said) and (algorithm in said)


def test_the_best_model_under_a_convex_loss_is_found(market):
    """Without any method of its own: the gradient of the cost is zero there."""
    rng = np.random.default_rng(1)
    loss = SmoothHinge()
    x = rng.normal(size=(80, 3))
    y = rng.choice([-1.0, 1.0], 80)
    theta, cost = loss.fit(x, y, 0.1)
    slope = x.T @ (y * loss.derivative(y * (x @ theta))) / 80 + 0.1 * theta
    np.testing.assert_allclose(slope, 0, atol=1e-6)
    fitness = loss.fitness([(x[:30], y[:30]), (x[30:], y[30:])], 0.1)
    assert fitness.optimum == pytest.approx(cost) and fitness.relative(
        theta[None]
    ) == pytest.approx(0, abs=1e-9)


def test_a_method_left_out_is_named(market, monkeypatch):
    class Silent(Algorithm):
        name = "silent"

    class Speechless(Loss):
        name = "speechless"

    with pytest.raises(TypeError, match=r"Silent has no run\(task\)"):
        Silent().run(None)
    with pytest.raises(TypeError, match=r"Speechless has no value\(t\)"):
        Speechless().value(0.0)
