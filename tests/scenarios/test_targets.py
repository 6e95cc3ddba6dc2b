"""Several targets at once, from a scenario file to models, ledger, audit and page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from quick import quickly
from scipy.optimize import brentq
from scipy.stats import norm
from told import differing

from learning.errors import InputError
from learning.losses import loss as loss_module
from learning.losses.moment_bounds import Scores, noise_stretch
from scenarios.checking import check_scenario
from scenarios.command.console import summary_lines
from scenarios.planning import prepare
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.studies.audit import audit_scenario

SCENARIO = """
title = "Three targets"
seed = 4
[data]
path = "rows.csv"
target = "stay"
more_targets = ["cost", "score"]
split = [900, 500, 300]
names = ["A", "B", "C"]
public_rows = 150
holdout = "rest"
[learning]
algorithm = "one_step"
mechanism = "gaussian"
delta = 1e-6
[owners]
epsilon = [0.5, 5.0]
cost = { kind = "linear", price = 1.0 }
[policy]
kind = "posted"
price = 10.0
[learner]
value = 10000.0
[validation]
runs = 60
[market]
starts = 1
"""
SOLD = np.array([2.0, 1.0, 0.7])
TARGETS = ["stay", "cost", "score"]


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    x = rng.standard_t(5, size=(2100, 3))
    y = x @ rng.normal(size=(3, 3)) + rng.standard_t(4, size=(2100, 3)) + [5.0, 0.0, -1.0]
    return pd.DataFrame(
        np.column_stack([x, y * [1.0, 3000.0, 0.01]]), columns=["u", "v", "w", *TARGETS]
    )


@pytest.fixture
def scenario(tmp_path, table, monkeypatch):
    quickly(monkeypatch.setattr, coarse=True)
    table.to_csv(tmp_path / "rows.csv", index=False)
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return lambda *changes: load(file, changes)


def distance_of(epsilon, delta):
    """Distance of the Gaussian mechanism that is (epsilon, delta)-DP, by its definition."""

    def excess(m):
        spent = norm.cdf(m / 2 - epsilon / m) - np.exp(epsilon) * norm.cdf(-m / 2 - epsilon / m)
        return spent - delta

    return brentq(excess, 1e-3, 50, xtol=1e-15, rtol=1e-14)


def solve_one(moments, score, spread):
    """Newton's step with the correction for noise on the moments, for one target."""
    values, basis = np.linalg.eigh(moments)
    values = np.maximum(values, spread * np.sqrt(2 * len(values)))
    held = values + spread**2 * (np.sum(1 / values) + 1 / values)
    return basis @ ((basis.T @ score) / held)


def test_the_trained_models_are_those_of_a_loop_over_owners_records_and_targets(scenario, table):
    data, planner = prepare(scenario())
    trained = planner.trained(SOLD, 2, "loop")
    bounds = trained.task.coordinates
    scores, radius, width = bounds.scores, bounds.radius, len(bounds.centre) // 3
    scale, start = bounds.transform[:width, :width], bounds.centre.reshape(3, width)
    np.testing.assert_allclose(bounds.transform, np.kron(np.eye(3), scale), atol=1e-12)
    shown = table.loc[data.division.public, TARGETS].to_numpy()
    joint = scores.bound * np.sqrt(3)
    phi = np.zeros((2, 3, width))
    rows, columns = np.triu_indices(width, 1)
    total = data.sizes.sum()
    for number in range(2):
        moments, sums, variance = np.zeros((width, width)), np.zeros((3, width)), 0.0
        for owner, epsilon in zip(data.owners, SOLD, strict=True):
            y = np.clip(
                table.loc[data.division.owners[owner.name], TARGETS], shown.min(0), shown.max(0)
            )
            y = (y.to_numpy() - shown.mean(0)) / shown.std(0)
            for x, targets in zip(owner.x[::3, :width], y, strict=True):
                moved = scale @ x
                for place, u in enumerate(targets - start @ x):
                    length = np.linalg.norm(moved)
                    score = min(1.0, scores.bound / (length * abs(u)))
                    short = min(1.0, radius / length) ** 2
                    if scores.alike:
                        score = short = min(short, score)
                    moments += short * np.outer(moved, moved) / 3
                    sums[place] += score * u * moved
            wide = 2 * joint * noise_stretch(scores.share) / distance_of(epsilon, 1e-6)
            flat = radius**2 / (2 * joint * scores.share) * wide
            drawn = trained.task.streams.rngs(owner.name, "statistics", count=2)[number].normal(
                size=3 * width + width + len(rows)
            )
            sums += wide * drawn[: 3 * width].reshape(3, width)
            moments += flat * np.diag(drawn[3 * width : 4 * width])
            moments[rows, columns] += flat * drawn[4 * width :] / np.sqrt(2)
            moments[columns, rows] += flat * drawn[4 * width :] / np.sqrt(2)
            variance += flat**2
        for place in range(3):  # a third of all rows is of one target
            spread = np.sqrt(variance) / (3 * total)
            phi[number, place] = solve_one(moments / (3 * total), sums[place] / (3 * total), spread)
    assert np.linalg.norm(phi.reshape(2, -1), axis=1).max() < bounds.theta_max
    models = start + phi @ scale
    np.testing.assert_allclose(trained.theta.reshape(models.shape), models, rtol=1e-9, atol=1e-11)


def test_no_two_records_move_sums_of_several_targets_further_than_the_noise_hides():
    """By random records of any lengths, some as long and as far off as the worst pair of one target."""
    rng = np.random.default_rng(0)
    for share, alike in ((0.3, True), (0.9, False)):
        scores, targets = Scores(1.5, share, alike), 3
        factor = 2.0**2 / (2 * scores.joint_bound(targets) * share)
        most = factor * 2 * scores.joint_bound(targets) * noise_stretch(share)
        pairs = (20_000, 2, targets)
        x = rng.normal(size=(*pairs, 2)) * rng.choice([0.01, 1, 9], size=(*pairs[:2], 1, 1))
        # half have the features of one record, but for targets that are missing
        x = np.where(rng.random((pairs[0], 1, 1, 1)) < 0.5, x[:, :, :1], x)
        u = rng.normal(size=pairs) * rng.choice([0.1, 9, 900], size=(*pairs[:2], 1))
        x, u = scores.records(x, u, np.linalg.norm(x, axis=-1), 2.0)
        moments = x.swapaxes(2, 3) @ x / targets
        moved = factor * np.diff(u[..., None] * x, axis=1), np.diff(moments, axis=1)
        found = np.sqrt(sum(np.sum(one**2, axis=(1, 2, 3)) for one in moved))
        assert 0.9 * most < max(found) <= most * (1 + 1e-12)


def test_a_market_of_several_targets_from_its_file_to_its_page(scenario, table):
    ranges = "{stay=[-100, 100], cost=[-1e5, 1e5], score=[-9, 9]}"  # which hold nothing back
    chosen = scenario("owners.epsilon=[2.0, 2.001]", "validation.runs=200", f"data.bounds={ranges}")
    result = run(chosen)
    made = result.content
    low, high = made["forecast"]["interval"]
    measured = made["validation"]["relative_fitness"]["mean"]
    assert low < measured < high and abs(made["validation"]["z_score"]) < 4
    assert [one["records"] for one in made["owners"]] == [900, 500, 300]
    assert made["data"]["parameters"] == 3 * 4 and made["validation"]["holdout"]["records"] == 250
    claims = {one["party"]: one for one in made["claims"]}
    assert {(one["rounds"], one["adjacency"]) for one in claims.values()} == {
        (1, "replace one record")
    }
    found = made["targets"]
    assert [one["name"] for one in found] == TARGETS
    data = prepare(chosen).data
    rows = table.loc[data.division.holdout]
    shown = table.loc[data.division.public, TARGETS]
    for one in found:
        assert one["spread"] == pytest.approx(shown[one["name"]].std(ddof=0))
        assert one["constant"] > one["outside"] > one["trained"] > 0.99 * one["best_of_kind"]
        first = one["model"]
        effects = pd.Series(first["coefficients"])
        said = first["intercept"] + rows[effects.index] @ effects
        error = np.sqrt(np.mean((said - rows[one["name"]]) ** 2))
        assert error == pytest.approx(one["trained"], rel=0.05)
    total = sum((one["trained"] / one["spread"]) ** 2 for one in found) / 3
    assert made["errors"]["measured"]["trained"]["mean"] ** 2 == pytest.approx(total, rel=1e-4)
    assert result.model is None
    assert "data.more_targets" in [one["key"] for one in result.protocol["unsupported"]]
    assert "tells of 3 targets" in " ".join(summary_lines(made))
    page = render(made, {}, "")
    assert "tells of 3 targets" in page and "model.json" not in page
    assert not differing("result.json", made)[0]


def test_a_table_that_is_read_in_parts_is_refused(scenario, table, tmp_path, monkeypatch):
    monkeypatch.setattr("scenarios.tables.parts.WHOLE", 0)
    table.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="more_targets: must be left out for a table that is read"):
        prepare(scenario(f"data.path={tmp_path / 'rows.parquet'}"))


def test_a_record_without_one_of_its_targets_still_tells_of_the_others(scenario, table, tmp_path):
    """It counts as the public mean in the rows of that target alone, and is tried on the others only."""
    chosen = scenario()
    owner = prepare(chosen).data.division.owners["A"][0]
    table.loc[owner, "cost"] = np.nan
    table.to_csv(tmp_path / "rows.csv", index=False)
    data = prepare(chosen).data
    width = data.encoder.one.n_parameters
    x, y = data.owners[0].x[:3], data.owners[0].y[:3]
    own = [x[place, place * width : (place + 1) * width] for place in range(3)]
    np.testing.assert_array_equal(own[0], own[2])
    np.testing.assert_array_equal(own[1], data.encoder.mean)
    assert y[1] == 0 and x.sum() == pytest.approx(sum(one.sum() for one in own))
    assert (data.filled, data.known[0].n_records, data.owners[0].n_records) == (1, 2699, 2700)


def test_the_same_record_of_two_owners_is_counted_once(scenario, table, tmp_path):
    chosen = scenario()
    division = prepare(chosen).data.division
    one, other, third = (division.owners[name][0] for name in "ABC")
    table.loc[other] = table.loc[one]
    table.loc[third, ["u", "v", "w", "stay"]] = table.loc[one, ["u", "v", "w", "stay"]]
    table.to_csv(tmp_path / "rows.csv", index=False)
    overlap = prepare(chosen).data.overlap
    assert (overlap.rows, overlap.kappa) == (2, 2)


def test_the_ledger_holds_one_answer_of_each_owner(scenario):
    trained = prepare(scenario()).planner.trained(SOLD, 1, "ledger")
    for name, epsilon in zip("ABC", SOLD, strict=True):
        account = trained.ledger.account(name)
        assert account.budget.n_records == {"A": 900, "B": 500, "C": 300}[name]
        assert (account.answered, account.budget.epsilon, account.budget.delta) == (
            1,
            epsilon,
            1e-6,
        )
        assert account.budget.bounds.endswith("3 targets")


def audited(scenario):
    found = audit_scenario(scenario(), lambda n_owners: np.full(n_owners, 2.0), draws=1000)
    return found.refuted, [check.kind for check in found.checks if not check.passed]


def test_the_audit_passes_a_sound_training_and_sees_planted_bugs(scenario, monkeypatch):
    assert audited(scenario) == (False, [])
    sound = loss_module.share_moments
    with monkeypatch.context() as patch:
        patch.setattr(Scores, "joint_bound", lambda self, targets: self.bound)
        refuted, _ = audited(scenario)  # by an attack on the answers
        assert refuted
    with monkeypatch.context() as patch:
        patch.setattr(loss_module, "share_moments", lambda sums, k: sound(sums, k) + sound(sums, k))
        refuted, failed = audited(scenario)
        assert refuted and {"sensitivity", "clipping", "records"} & set(failed)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["learning.algorithm=averaged"], 'learning.algorithm: must be "one_step"'),
        (
            ["learning.mechanism=l2", "learning.accounting=pld"],
            'learning.mechanism: must be "gaussian"',
        ),
        (["learning.start=shrunk"], 'learning.start: must be "public"'),
        (["learning.features=linear"], "learning.features: must be left out"),
        (["data.order=as_is"], 'data.order: must be "shuffled"'),
        (["data.check_rows=20"], "data.check_rows: must be left out"),
        (["learner.value={per='rmse', money=9.0}"], "learner.value.per: must be left out"),
        (["owners.report=0.1"], "owners.report: must be left out"),
        (["learners=[{name='other', value=50.0}]"], "learners: must be left out"),
        (["data.more_targets=['stay']"], "data.more_targets: must name columns once each"),
        (["data.more_targets=['none']"], "data.more_targets"),
        (
            ["data.features=['u', 'cost']"],
            "data.features: must not contain a column of more_targets",
        ),
    ],
)
def test_what_does_not_go_is_refused_in_one_line(scenario, changes, said):
    with pytest.raises(InputError) as error:
        check_scenario(scenario(*changes))
    assert said in str(error.value) and "\n" not in str(error.value)
