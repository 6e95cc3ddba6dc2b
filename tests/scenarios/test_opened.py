"""A result in the hand: frames, LaTeX, the drawing, and the trained model on the scale of the user's columns."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from commands import TRADE
from quick import quick_module

import dpmarket as dpm
from learning.data.fitting import fit_encoder
from learning.losses.losses import LOSSES
from learning.losses.network import draw_start
from learning.training.model import Model

__all__ = ["quick_module"]  # a fixture of every test

LABELS = """\
[data]
path = "{table}"
target = "sick"
split = [120, 80]
public_rows = 60
holdout = "rest"
[learning]
loss = "logistic"
regularisation = 0.1
horizon = 4
[owners]
epsilon = [0.5, 20.0]
"""
LABELS += TRADE + "[market]\nstarts = 1\n[validation]\nruns = 2\n"


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    age = rng.uniform(20, 80, 300).round()
    kind = rng.choice(["a", "b", "c"], 300)
    sick = rng.random(300) < 1 / (1 + np.exp(-(age - 50) / 8 - (kind == "b")))
    return pd.DataFrame(
        {
            "age": age,
            "zip": rng.integers(1, 9, 300),
            "kind": kind,
            "sick": np.where(sick, "yes", "no"),
        }
    )


class Kept(dpm.Result):
    """A result, and the folder that its scenario lies in."""

    def __init__(self, raw, folder):
        super().__init__(raw)
        self.folder = folder


@pytest.fixture(scope="module")
def market(people, tmp_path_factory) -> dpm.Result:
    folder = tmp_path_factory.mktemp("people")
    people.to_csv(folder / "people.csv", index=False)
    (folder / "market.toml").write_text(LABELS.replace("{table}", "people.csv"), encoding="utf-8")
    return Kept(dpm.run(folder / "market.toml").raw, folder)


@pytest.mark.parametrize("components", [None, 2])
@pytest.mark.parametrize("labels", [True, False])
def test_coefficients_are_what_one_more_unit_adds(labels, components, people):
    columns = {"age": people["age"].to_numpy(), "zip": people["zip"].to_numpy(float)}
    columns |= {
        "kind": people["kind"].to_numpy(object),
        "goal": np.where(people["sick"] == "yes", 1.0, -1.0),
    }
    told = dict(
        target="goal",
        features=["age", "zip", "kind"],
        public=np.arange(300),
        bounds={"age": (0, 100)},
    )
    encoder = fit_encoder(columns, **told, components=components, labels=labels)
    theta = np.random.default_rng(1).normal(size=encoder.n_parameters)
    model = Model(encoder, LOSSES["logistic" if labels else "squared"], theta)
    rows = {
        "age": np.array([40.0, 41, 40, 40]),
        "zip": np.array([3.0, 3, 4, 3]),
        "kind": np.array([*"aaac"], object),
    }
    said = model.predict(rows, 4)
    slopes, intercept = model.coefficients()
    np.testing.assert_allclose(
        said[1:] - said[0], [slopes["age"], slopes["zip"], slopes["kind_c"]], rtol=1e-10
    )
    np.testing.assert_allclose(
        said[0], intercept + 40 * slopes["age"] + 3 * slopes["zip"], rtol=1e-10
    )


def test_a_network_has_no_coefficients(people):
    columns = {
        "age": people["age"].to_numpy(),
        "goal": np.where(people["sick"] == "yes", 1.0, -1.0),
    }
    encoder = fit_encoder(
        columns, target="goal", features=["age"], public=np.arange(300), bounds={}, labels=True
    )
    model = Model(encoder, LOSSES["network"], draw_start(3, 2, rng=np.random.default_rng(0)))
    assert model.coefficients() is None and model.predict(columns, 300).shape == (300,)


def test_the_model_predicts_rows_as_a_user_has_them(market, people):
    model = market.model
    assert model.columns == ["age", "zip", "kind"] and set(model.predict(people)) == {"yes", "no"}
    assert np.mean(model.predict(people) == people["sick"]) > 0.7
    as_text = people.astype({"age": str}).assign(kind=" " + people["kind"] + " ", more=1)
    pd.testing.assert_series_equal(
        model.decision_function(as_text), model.decision_function(people)
    )
    gone = people.head(2).assign(age=[None, np.inf], kind=None)
    assert np.isfinite(model.decision_function(gone)).all() and gone.index.equals(
        model.predict(gone).index
    )
    with pytest.raises(
        dpm.InputError, match=r"predict: needs every column .*; found no 'age', 'kind'"
    ):
        model.predict(people[["zip"]])
    assert model.predict(people.head(0)).empty


def test_the_model_is_judged_on_rows_that_nobody_trained_on_and_says_what_is_claimed(market):
    model = market.model
    assert (
        model.holdout["records"] == 40
        and f"{100 * market['validation']['holdout']['error_trained']:.3g}"[:2] in market.headline
    )
    assert "measured on 40 held-out rows, which nobody trained on" in market.headline.replace(
        "\u00a0", " "
    )
    sold = market.owners["epsilon"]
    assert model.claims["epsilon"].to_dict() == pytest.approx(sold[sold > 0].to_dict())
    assert (
        model.claims["simulation"].all()
        and model.made.unprotected == ()
        and model.made.basis == "public"
    )


def test_who_answers_without_noise_is_named_as_unprotected(market):
    made = replace(market.raw.model, claims=market.raw.model.claims[1:])
    assert made.unprotected == made.asked[:1] and "of 2 owners, 1 of them under noise" in repr(
        dpm.TrainedModel(made)
    )


def test_saved_and_opened_it_is_the_same(market, people, tmp_path):
    again = dpm.load(market.save(tmp_path / "kept"))
    for name in ("owners", "claims", "trajectory", "validation", "payoff_curves"):
        pd.testing.assert_frame_equal(
            getattr(again, name), getattr(market, name), check_dtype=False, rtol=1e-15
        )
    assert again.headline == market.headline and again.to_latex() == market.to_latex()
    assert (
        again.model.decision_function(people).tolist()
        == market.model.decision_function(people).tolist()
    )
    assert again.model.coef_.to_dict() == market.model.coef_.to_dict()
    assert (
        repr(again.model)
        == repr(market.model)
        == "<logistic model of 'sick', 5 parameters, from the answers of 2 owners, 2 of them under noise>"
    )
    content = json.loads((tmp_path / "kept" / "model.json").read_text(encoding="utf-8"))
    for damage, rule in (
        ('{"schema": 2, "loss": {"name": "logistic"}}', "must have schema 1 and a known loss"),
        ("{", "must be"),
        (json.dumps(content | {"numbers": 3}), "must be"),
    ):
        (tmp_path / "kept" / "model.json").write_text(damage, encoding="utf-8")
        with pytest.raises(dpm.InputError, match=rf"model\.json: {rule}"):
            dpm.load(tmp_path / "kept")


def test_frames_open_and_add_up(market):
    first, last = market.owners.index[[0, -1]]
    assert market.owners.loc[first, "payment"] == market["owners"][0]["payment"]
    assert len(market.validation) == 2 and market.validation[
        "relative_fitness"
    ].mean() == pytest.approx(market["validation"]["relative_fitness"]["mean"])
    facts = pd.concat([market.to_frame(), market.to_frame()])
    assert facts["learner.payments"].tolist() == 2 * [market["learner"]["payments"]]
    assert not [name for name in facts if isinstance(facts[name].iloc[0], (list, dict))]
    latex = market.to_latex()
    assert (
        latex.count(r"\\") == 1 + len(market.owners)
        and r"\toprule" in latex
        and "privacy cost" in latex
    )
    assert market.to_csv().splitlines()[0].startswith("name,records,epsilon")
    page = market._repr_html_()
    assert (
        page.count("<svg") == 1 and last in page and market.drawing("forecast").startswith("<?xml")
    )


@pytest.mark.slow
def test_a_run_takes_a_file_or_a_scenario_with_changes(market):
    read = dpm.load_scenario(market.folder / "market.toml")
    told = dpm.run(market.folder / "market.toml", {"seed": 7}, training=False)
    assert told.model is None and told["owners"] != market["owners"]
    assert (
        dpm.run(read, ["seed=7"], training=False)["owners"]
        == dpm.run(read, seed=7, training=False)["owners"]
    )
    assert told["owners"] == dpm.run(read, seed=7, training=False)["owners"]
    changed = dpm.run(
        read,
        {"owners.epsilon": np.array([0.5, 2.0]), "policy.budget": np.float64(9)},
        training=False,
    )
    assert changed["scenario"]["policy"]["budget"] == 9 and changed["scenario"]["owners"][
        "epsilon"
    ] == [0.5, 2.0]
    with pytest.raises(dpm.InputError, match="polcy"):
        dpm.run(read, {"polcy.budget": 3})


def test_scikit_learn_takes_the_model(market, people):
    inspection = pytest.importorskip("sklearn.inspection")
    from sklearn.base import clone

    fitted = market.model.to_sklearn()
    assert clone(fitted).fit(people).score(people, people["sick"]) == np.mean(
        market.model.predict(people) == people["sick"]
    )
    found = inspection.permutation_importance(
        fitted, people[market.model.columns], people["sick"], n_repeats=2, random_state=0
    )
    assert found.importances_mean.argmax() == 0 and list(fitted.classes_) == ["no", "yes"]
    assert pickle.loads(pickle.dumps(fitted)).coef_.tolist() == market.model.coef_.tolist()
