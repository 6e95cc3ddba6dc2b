"""A noise mechanism from outside the packages: its law in a class, its name in MECHANISMS, and all else follows."""

import json

import numpy as np
import pytest
from extending import Logistic, enter

from learning.audit import AuditTarget, audit_owner
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.mechanisms import (
    candidate_mechanisms,
    list_accountings,
    needs_delta,
    norm_of,
    title_of,
)

# ---- what follows


@pytest.fixture
def named(monkeypatch):
    enter(monkeypatch, "logistic")
    (mechanism,) = candidate_mechanisms("logistic", NoiseSettings((50, 70)))
    return mechanism


SIZES = np.array([50, 70])
EPSILON = np.array([0.5, 3.0])


def test_it_is_found_by_its_name_with_what_scenarios_may_say_of_it(named):
    assert isinstance(named, Logistic) and named.name == named.label == "logistic"
    assert (list_accountings("logistic"), needs_delta("logistic"), norm_of("logistic")) == (
        ("basic",),
        False,
        1,
    )
    assert title_of("logistic") == "Logistic noise"
    with pytest.raises(ValueError, match=r"learning\.overlap: must be 1 with logistic noise"):
        candidate_mechanisms("logistic", NoiseSettings((50, 70), overlap=2))


def test_budgets_noise_and_claims_follow_from_its_law(named):
    scale = named.scale(EPSILON, SIZES, 2.0, 5)
    assert scale == pytest.approx(
        2 * 2.0 * 5 / (SIZES * EPSILON), rel=1e-12
    )  # 2 Xi T/(n epsilon), as for Laplace noise
    variance = named.variance(EPSILON, SIZES, 2.0, 5)
    assert named.epsilon(variance, SIZES, 2.0, 5) == pytest.approx(EPSILON, rel=1e-9)
    assert named.noise_term_slope(EPSILON) == pytest.approx(
        -2 * named.noise_term(EPSILON) / EPSILON, rel=1e-8
    )
    claim = named.claim("bank", 0.5, 5)
    assert (claim.epsilon, claim.delta, claim.mechanism) == (0.5, 0.0, "logistic")
    assert named.release_budget(0.5, 5) is None  # seeded noise only


@pytest.mark.slow
def test_the_audit_catches_half_of_its_noise_and_not_the_whole():
    class Half(Logistic):
        def draw(self, scale, shape, *, rng):
            return super().draw(scale, shape, rng=rng) / 2

    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 2))
    y = rng.normal(size=20)
    coordinates = Coordinates(np.zeros(2), np.eye(2), 1.0, 1.0, 1.0)
    sound, broken = (
        audit_owner("a", x, y, 4.0, AuditTarget(coordinates, mechanism, 2), seed=0, draws=4000)
        for mechanism in (Logistic(), Half())
    )
    assert not sound.refuted and sound.answer_bound > 0.35 * sound.answer_charged == 0.35 * 2.0
    assert broken.refuted


def test_a_method_left_out_is_named():
    class Silent(Mechanism):
        norm = 1

        def noise_term(self, epsilon):
            return epsilon

    with pytest.raises(TypeError, match="Silent.*draw.*horizon_factor"):
        Silent()


# ---- named in a scenario file


@pytest.mark.slow
def test_a_scenario_that_names_it_runs_and_its_report_says_so(named, dpmarket, write, tmp_path):
    """Forecast, trained, claimed and told of as it is called; and what it does not know is refused in one line."""
    settings = (
        "--set",
        "learning.mechanism=logistic",
        "--set",
        "learning.horizon=3",
        "--set",
        "owners.epsilon=[2, 5]",
    )
    status, _, err = dpmarket("run", write(), "--out", "made", *settings)
    assert status == 0, err
    made = json.loads((tmp_path / "made" / "result.json").read_text())
    assert (
        made["protocol"]["mechanism"] == "logistic"
        and made["scenario"]["learning"]["accounting"] == "basic"
    )
    assert [claim["mechanism"] for claim in made["claims"]] == ["logistic", "logistic"]
    assert [claim["epsilon"] for claim in made["claims"]] == made["equilibrium"]["distinct"][0]
    report = " ".join((tmp_path / "made" / "report.html").read_text().split())
    assert (
        "Logistic noise, whose budget is split evenly over all answers" in report
        and "Laplace noise" not in report
    )
    assert abs(made["validation"]["z_score"]) < 4  # the law of forecasts holds for its noise
    for wrong in ("delta=1e-6", "overlap=2", "accounting=pld"):
        status, _, err = dpmarket(
            "run", write(), "--out", "other", *settings, "--set", f"learning.{wrong}"
        )
        assert status == 2 and err.count("\n") == 1 and f"learning.{wrong.split('=')[0]}: " in err


@pytest.mark.slow
def test_its_claims_are_audited(named, dpmarket, write):
    settings = (
        "--set",
        "learning.mechanism=logistic",
        "--set",
        "learning.horizon=3",
        "--epsilon",
        "3,4",
    )
    status, out, err = dpmarket("audit", write(), "--draws", 500, *settings)
    assert status == 0 and err == "" and out.count("not refuted") == 3
