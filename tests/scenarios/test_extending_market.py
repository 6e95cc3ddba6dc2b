"""From outside the packages, in at most 12 lines each: a cost of privacy and a policy, named in a scenario file."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from commands import INSURERS
from extending import enter

from learning.errors import InputError
from market.costs import COSTS, Cost
from market.policies import POLICIES, Policy
from scenarios.schema.loading import load


@pytest.fixture
def scenario(monkeypatch, tmp_path):
    """A file that names both; nothing else knows of them."""
    enter(monkeypatch, "cubic", "root")
    text = INSURERS[: INSURERS.index("[owners.cost]")]
    offer = (
        '[owners.cost]\nkind = "cubic"\nprice = [3.0, 4.0]\n[policy]\nkind = "root"\nrate = 24.0\n'
    )
    (tmp_path / "mine.toml").write_text(
        f"{text}{offer}[learner]\nvalue = 100.0\n[market]\nstarts = 2\n"
    )
    return tmp_path / "mine.toml"


@pytest.mark.parametrize(
    "training",
    [
        pytest.param(["--no-train"], id="forecast"),
        pytest.param(["--set", "validation.runs=5"], id="trained", marks=pytest.mark.slow),
    ],
)
def test_a_cost_and_a_policy_of_ones_own_run_to_a_report(scenario, dpmarket, tmp_path, training):
    """r sqrt e less c e^3/3 is greatest where r / (2 sqrt e) = c e^2, at e = (r / 2c)^(2/5)."""
    assert dpmarket("check", scenario)[0] == 0
    status, _, errors = dpmarket("run", scenario, "--out", "out", *training)
    assert status == 0 and not errors
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    prices = np.array([3.0, 4.0])
    owners = result["owners"]
    chosen = (12 / prices) ** 0.4
    assert result["equilibrium"]["converged"] and [o["epsilon"] for o in owners] == pytest.approx(
        chosen, rel=1e-7
    )
    assert [o["privacy_cost"] for o in owners] == pytest.approx(prices * chosen**3 / 3, rel=1e-6)
    assert [o["payment"] for o in owners] == pytest.approx(24 * chosen**0.5, rel=1e-6)
    report = (tmp_path / "out" / "report.html").read_text()
    assert "The learner pays each owner 24 times the root of its ε." in report
    assert (
        "Privacy costs an owner 3 to 4 (each owner its own) per unit of a third of ε cubed."
        in report
    )
    resolved = (tmp_path / "out" / "scenario.toml").read_text()
    assert '[policy]\nkind = "root"\nrate = 24.0\nper = "owner"\n' in resolved
    assert dpmarket("run", "out/scenario.toml", "--no-train", "--out", "again")[0] == 0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("policy.rat=3", 'policy.rat: is not a known key; found "rat". Did you mean "rate"?'),
        (
            "policy.kind=rot",
            'policy.kind: must be "posted", .*"root", .*; found "rot". Did you mean "root"?',
        ),
        (
            "policy={kind='root'}",
            "policy.rate: is required; found nothing. Give the money for an epsilon of 1.",
        ),
        (
            "policy.rate=-1",
            "policy.rate: must be a number of at least 0, a list with one per owner, .* by name; found -1",
        ),
        ("policy.rate=[1, 2, 3]", "policy.rate: must have one entry per owner, 2; found 3 entries"),
        (
            "policy.per=record_",
            'policy.per: must be "owner" or "record"; found "record_". Did you mean "record"?',
        ),
        (
            "policy.floor=2",
            r'policy.floor: is not a known key; found "floor". It belongs under \[owners.cost\]',
        ),
        (
            "policy.budget=2",
            "policy.budget: belongs to kind proportional, contribution, procured, not root; .* Keys of root: rate, per",
        ),
        ("owners.cost.floor=0", "owners.cost.floor: must be a number above 0; found 0"),
        ("owners.cost.values=3", "owners.cost.values: belongs to kind leakage, channel, not cubic"),
    ],
)
def test_faults_in_what_they_declare_are_told_like_any_other(scenario, override, message):
    with pytest.raises(InputError, match=message) as caught:
        load(scenario, [override])
    assert "\n" not in str(caught.value)


class NoValue(Cost):
    """Lacks ``value``."""


class Scalar(Policy):
    def payments(self, epsilon, deviations):
        return 3.0


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (
            dataclass(frozen=True)(type("NoValue", (NoValue,), {})),
            "must name a whole class; found .*NoValue.* method value",
        ),
        (NoValue, "must name a frozen dataclass; found NoValue"),
    ],
)
def test_a_class_that_is_not_whole_is_told_when_the_file_is_read(
    scenario, monkeypatch, kind, fault
):
    monkeypatch.setitem(COSTS, "mine", kind)
    with pytest.raises(InputError, match=f"owners.cost.kind: {fault}"):
        load(scenario, ["owners.cost.kind=mine"])


@pytest.mark.slow
def test_payments_of_the_wrong_shape_end_a_run_with_one_line(scenario, dpmarket, monkeypatch):
    monkeypatch.setitem(POLICIES, "mine", dataclass(frozen=True)(Scalar))
    status, _, errors = dpmarket(
        "run", scenario, "--no-train", "--out", "o", "--set", "policy.kind=mine"
    )
    found = "dpmarket: Scalar.payments: must give an array of shape (1, 3); found the single value 3.0.\n"
    assert status == 2 and errors.endswith(found[10:]) and errors.count("\n") == 1
