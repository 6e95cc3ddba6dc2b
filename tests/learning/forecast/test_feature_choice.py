"""Choice of the kind of features by total error."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from learning.data.feature_kinds import KINDS
from learning.data.fitting import fit_encoder
from learning.forecast import feature_choice
from learning.forecast.feature_choice import (
    KindForecast,
    OwnFit,
    choose_kind,
    fit_own,
    forecast_kind,
)
from learning.forecast.inputs import PlanningInputs, PublicOwners, Settings
from learning.forecast.public_sample import PublicSample
from learning.losses.losses import make_loss


def own_of(kind, lost, width):
    """Own model of a kind with given losses."""
    encoder = SimpleNamespace(n_parameters=width)
    return OwnFit(
        kind,
        encoder,
        np.zeros(width),
        lost,
        lost,
        np.stack([lost, lost]),
        np.stack([lost, lost]),
        float(lost.mean()),
        (lost, lost),
    )


def fitted(loss, rows, kind="splines", seed=1, penalty=0.0):
    """Own model of a kind for a curve; and its losses on many fresh rows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, rows + 20_000)
    y = np.sin(x) + rng.normal(0, 0.3, len(x))
    labels = loss.labels
    if labels:
        y = np.where(y > 0, 1.0, -1.0)
    columns = {"x": x, "y": y}

    def fit(public):
        return fit_encoder(
            columns,
            target="y",
            features=("x",),
            public=public,
            bounds={},
            labels=labels,
            kind=KINDS[kind],
        )

    own = fit_own(kind, fit, columns, np.arange(rows), loss, penalty, rng=np.random.default_rng(5))
    fresh, target, _ = own.encoder.records(columns, np.arange(rows, len(x)))
    best, _ = loss.fit(fresh, target, penalty)
    score = partial(loss.predicted, fresh)
    each = [
        loss.value(target * score(t[None])[0] if labels else score(t[None])[0] - target)
        for t in (own.theta, best)
    ]
    return own, float(np.mean(each[0])), float(np.mean(each[1]))


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_cross_validation_tells_the_error_on_fresh_rows(name):
    loss = make_loss(name)
    found = np.array(
        [
            [own.error, fresh, own.seen, best]
            for own, fresh, best in (
                fitted(loss, 300, seed=seed, penalty=1e-3) for seed in range(8)
            )
        ]
    )
    error, fresh, seen, best = found.mean(axis=0)
    spread = found.std(axis=0, ddof=1) / 8**0.5
    assert abs(error - fresh) < 4 * np.hypot(spread[0], spread[1])
    assert seen < best < fresh


def test_labels_that_are_wrong_are_counted():
    own, _, _ = fitted(make_loss("logistic"), 300, penalty=1e-3)
    assert 0.05 < own.wrong < 0.3 and fitted(make_loss("squared"), 300)[0].wrong is None


def test_fewer_parameters_win_a_tie_and_no_more_than_that():
    rng = np.random.default_rng(1)
    base = rng.exponential(1.0, 400)
    chance = rng.normal(0, 2.0, 400)
    chance -= chance.mean()

    def chosen(worse, spread):
        lost = base + worse + spread * chance
        kinds = [own_of("few", lost, 3), own_of("many", base, 30), own_of("bad", base + 1.0, 2)]
        found = [KindForecast(own, own.lost.mean(), 0.0, 0.0, 0.0) for own in kinds]
        return choose_kind(found).own.kind

    assert chosen(worse=0.001, spread=1.0) == "few"
    assert chosen(worse=0.001, spread=0.0) == "many"  # beyond its standard error
    assert chosen(worse=0.02, spread=1.0) == "many"  # within it, and too much


def test_the_total_is_the_sum_of_its_parts_and_decides():
    lost = np.full(100, 2.0) + np.arange(100) / 100
    quiet = KindForecast(own_of("quiet", lost, 9), 2.5, 0.1, 0.1, 0.1)
    loud = KindForecast(own_of("loud", lost, 9), 2.4, 0.1, 0.3, 0.1)
    assert quiet.total == pytest.approx(2.8)
    assert choose_kind([loud, quiet]).own.kind == "quiet"


def test_the_model_that_the_dispersion_is_about_has_the_stated_penalty():
    rng = np.random.default_rng(3)
    columns = {"x": rng.uniform(0, 10, 200), "y": np.where(rng.random(200) < 0.3, 1.0, -1.0)}

    def fit(public):
        facts = {"target": "y", "features": ("x",), "public": public, "bounds": {}, "labels": True}
        return fit_encoder(columns, **facts, kind=KINDS["bins"])

    loss = make_loss("logistic")
    rows = np.arange(200)
    own = fit_own("bins", fit, columns, rows, loss, 1e-4, rng=np.random.default_rng(5))
    x, y = own.rows
    model, _ = loss.fit(x, y, 1e-4)
    assert own.seen == pytest.approx(float(np.mean(loss.value(y * (x @ model)))))
    assert own.stated.mean() > own.error  # a wide model of pure chance had better shrink
    assert own.seen < float(np.mean(loss.value(y * (x @ own.theta))))


def test_a_forecast_of_a_kind_is_kept_for_what_it_depends_on(monkeypatch, tmp_path):
    monkeypatch.setenv("DPMARKET_CACHE", str(tmp_path))
    computed = []
    true = feature_choice._forecast_parts
    monkeypatch.setattr(
        feature_choice,
        "_forecast_parts",
        lambda *told: computed.append(1) or true(*told),
    )
    loss = make_loss("squared")
    own, _, _ = fitted(loss, 200, "linear")
    x, y = own.rows
    owners = PublicOwners(("A", "B"), np.array([900, 500]), np.full(2, 0.1), np.full(2, 5.0))
    inputs = PlanningInputs(
        Settings(clipping="record", horizon=2), owners, PublicSample(x, y), np.ones(1), 1.0, None, 1
    )
    first = forecast_kind(own, inputs)
    assert forecast_kind(own, inputs).total == first.total and len(computed) == 1
    more = replace(owners, sizes=np.array([900, 600]))
    others = [replace(inputs, owners=more), replace(inputs, seed=2)]
    others.append(replace(inputs, sample=PublicSample(x, 1.1 * y)))
    found = [forecast_kind(own, other).total for other in others]
    assert len(computed) == 4 and found[0] < first.total and found[2] != first.total
