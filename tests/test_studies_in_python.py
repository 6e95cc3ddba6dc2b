"""The studies of notebooks/studies: short scripts, each of which asks one question of a market."""

import importlib.util
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "notebooks" / "studies").glob("*.py"))
FEW = {
    "posted_price": (100.0, 200.0, 1400.0),
    "rules_at_equal_money": (500, 1000),
    "price_of_privacy": (1.0, 1.5),
    "tax_on_leakage": (0.0, 0.04),
    "how_many_owners": (2, 3, 8),
}


def import_script(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found():
    made = {}

    def study(name):
        if name not in made:
            script = import_script(ROOT / "notebooks" / "studies" / f"{name}.py")
            made[name] = script, script.study(FEW[name])
        return made[name]

    return study


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_study_is_short_and_draws_what_it_finds(path, found):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 41
    script, table = found(path.stem)
    figure = script.draw(table)
    assert all(axes.lines and axes.get_ylabel() for axes in figure.axes)
    plt.close(figure)


def test_every_study_has_its_test():
    assert {path.stem for path in SCRIPTS} == set(FEW)


@pytest.mark.slow
@pytest.mark.notebook
def test_a_dearer_offer_buys_more_and_is_not_always_better(found):
    _, table = found("posted_price")
    assert (np.diff(table.drop(columns="gain"), axis=0) > 0).all()
    assert table["gain"].idxmax() == 200.0 and table["gain"].iloc[-1] < 0


@pytest.mark.slow
@pytest.mark.notebook
def test_a_large_owner_sells_what_the_contest_says(found):
    """Scores s_i = n_i x_i cost d_i = c_i/n_i each: s_i = k R (D - k d_i)/D^2, D the sum of the k + 1 lowest, where
    d_i < D/k. Where records count the third owner is too small to take part."""
    _, table = found("rules_at_equal_money")
    sold = table.pivot(index="budget", columns="rule", values="ε of the large owner")
    costs = np.array([300.0, 400.0, 550.0])
    records = np.array([12000, 5040, 3000])
    for rule, counted, takes_part in (("ε", np.ones(3), 3), ("records × ε", records, 2)):
        each = (costs / counted)[:takes_part]
        rivals = takes_part - 1
        assert (each < each.sum() / rivals).all()
        score = rivals * sold.index * (each.sum() - rivals * each[0]) / each.sum() ** 2
        np.testing.assert_allclose(sold[rule], score / counted[0], rtol=1e-6)
    errors = table.pivot(index="budget", columns="rule", values="error, %")
    assert (errors.iloc[1] < errors.iloc[0]).all()


@pytest.mark.slow
@pytest.mark.notebook
def test_who_finds_privacy_dearer_sells_less_and_a_rival_more(found):
    _, table = found("price_of_privacy")
    one = table[table["dearer for"] == "the first owner"]
    assert np.diff(one["ε of the first"]) < 0 < np.diff(one["mean ε of the others"])
    everybody = table[table["dearer for"] == "all owners"]
    assert (
        np.diff(everybody["ε of the first"]) < 0 and np.diff(everybody["mean ε of the others"]) < 0
    )


@pytest.mark.slow
@pytest.mark.notebook
def test_a_tax_protects_and_costs_the_model(found):
    _, table = found("tax_on_leakage")
    assert (np.diff(table["mean ε"]) < 0).all() and (np.diff(table["error, %"]) > 0).all()
    assert table["treasury"].iloc[0] == 0 and (np.diff(table["treasury"]) > 0).all()


@pytest.mark.slow
@pytest.mark.notebook
def test_owners_who_compete_for_one_sum_keep_a_share_that_falls_with_their_number(found):
    """A proportional contest of n equal owners with linear cost c: x = R (n - 1)/(n² c), surplus R/n in all."""
    _, table = found("how_many_owners")
    counts = table.index.to_numpy()
    budget, price = 2000.0, 400.0
    by_hand = budget * (counts - 1) / counts**2 / price
    np.testing.assert_allclose(table["ε of each"], by_hand, rtol=1e-6)
    np.testing.assert_allclose(table["owners' surplus"], budget / counts, rtol=1e-5)
