"""Markets settled from the learner's own rows and the owners' numbers of records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from quick import quick_module
from sizes import thinned
from three_owners import PUBLIC, SCENARIO, SIZES, draw_rows

from learning.errors import InputError
from learning.phrases import toml_value
from scenarios.command.console import summary_lines
from scenarios.opened_studies import compare
from scenarios.planning import prepare
from scenarios.runner import carry_out, run
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import market_data

__all__ = ["quick_module"]

LABELS = ("learning.loss=logistic", "learning.regularisation=0.01", "data.target=late")
# Changes under which both are settled, alike in every number of the market.
MARKETS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "a random sample": ("data.order=shuffled",),
    "rows kept aside": ("data.check_rows=30",),
    "labels": LABELS,
    "prices per owner": ("policy={kind='posted', price={North=90, South=120, Harbour=200}}",),
    "contributions": ("policy={kind='shapley', share=0.1}",),
    "owners who want the model": ("owners.benefit=1000.0",),
    "too few records": ("data.min_records=400", "owners.cost.price=30"),
    "what a user gets": ("learning.algorithm=best", "learning.mechanism=best"),
    "one share of two": ("learning.mechanism=gaussian", "learning.delta=1e-6"),
}
EVERYDAY = (
    "a random sample",
    "rows kept aside",
    "labels",
    "prices per owner",
    "too few records",
    "what a user gets",
)
OF_OWNERS = ("name", "records", "epsilon", "payment", "surplus", "claimed_epsilon", "weight")


def write_both(folder: Path, changes: tuple[str, ...]) -> tuple[Scenario, Scenario]:
    """A market with the owners' rows in its table, and the same with their numbers alone."""
    table = draw_rows(sum(SIZES.values()) + PUBLIC + 30, 3)
    (folder / "full.toml").write_text(SCENARIO)
    table.to_csv(folder / "table.csv", index=False)
    full = load(folder / "full.toml", changes)
    own = market_data(full).table.rows
    table.iloc[own].to_csv(folder / "own.csv", index=False)
    stated = (f"owners.records={toml_value(SIZES)}", f"data.path={folder / 'own.csv'}")
    rows = f"data.public_rows={PUBLIC}"
    return full, load(folder / "full.toml", [*changes, *stated, rows])


@pytest.mark.parametrize("name", thinned(MARKETS, EVERYDAY))
def test_the_market_is_the_same_to_the_last_bit(tmp_path, name):
    full, stated = write_both(tmp_path, MARKETS[name])
    there, absent = (run(one, training=False).content for one in (full, stated))
    for key in OF_OWNERS:
        assert [one[key] for one in there["owners"]] == [one[key] for one in absent["owners"]], key
    assert there["learner"] == absent["learner"]
    forecasts = [content["forecast"] | {"oracle": None} for content in (there, absent)]
    assert forecasts[0] == forecasts[1]


def test_the_protocol_is_the_same(tmp_path):
    full, stated = write_both(tmp_path, ())
    announced = [run(one, training=False).protocol for one in (full, stated)]
    named = ("scenario_sha256", "records")
    there, absent = ({k: v for k, v in (one or {}).items() if k not in named} for one in announced)
    assert there and there == absent


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    _, stated = write_both(tmp_path_factory.mktemp("sizes"), ())
    return stated, run(stated)


def test_what_only_records_tell_is_absent_and_said(settled):
    _, result = settled
    content = result.content
    for place in content["sizes_alone"]["absent"]:
        part: Any = content
        *tables, name = place.replace("[]", ".0").split(".")
        for key in tables:
            part = part[int(key)] if key.isdigit() else part[key]
        assert part[name] is None, place
    assert content["privileged"] == {}
    (line,) = (text for text in summary_lines(content) if "before anybody shares" in text)
    assert "Nothing was trained" in line and f"{PUBLIC} rows" in line


def test_nothing_is_trained_whoever_asks(settled):
    scenario, _ = settled
    assert carry_out(scenario, prepare(scenario), training=True).trained is None


@pytest.mark.parametrize(
    ("order", "cause"), [("shuffled", "kind_assumed"), ("as_is", "kind_unknown")]
)
def test_it_is_said_what_the_learners_rows_are_taken_for(settled, order, cause):
    scenario, _ = settled
    changed = scenario.model_copy(
        update={"data": scenario.data.model_copy(update={"order": order})}
    )
    assert [fact["cause"] for fact in run(changed).content["warnings"]] == [cause]


def test_own_models_are_expected_as_good_as_their_number_of_records(settled):
    scenario, result = settled
    planner = prepare(scenario).planner
    seen = [one["isolated_estimate"] for one in result.content["owners"]]
    total = sum(SIZES.values())
    expected = [planner.forecast.dispersion * (total - n) / (n * total) for n in SIZES.values()]
    assert seen == pytest.approx(expected, rel=1e-9)


def test_every_row_is_the_learners_unless_a_number_is_given(tmp_path):
    write_both(tmp_path, ())
    given = (f"owners.records={toml_value(SIZES)}", f"data.path={tmp_path / 'own.csv'}")
    text = (tmp_path / "full.toml").read_text().replace("public_rows = 80", "")
    (tmp_path / "open.toml").write_text(text)
    whole = market_data(load(tmp_path / "open.toml", given))
    assert len(whole.division.public) == PUBLIC
    assert whole.sizes.tolist() == list(SIZES.values())
    some = market_data(load(tmp_path / "open.toml", [*given, "data.public_rows=50"]))
    assert some.division.public.tolist() == list(range(30, 80))
    assert some.division.left_over == 30
    kept = market_data(load(tmp_path / "open.toml", [*given, "data.check_rows=30"]))
    assert (kept.aside.n_records, len(kept.division.public)) == (30, 50)


def test_policies_are_compared_without_records(tmp_path):
    write_both(tmp_path, ())
    given = {"owners.records": SIZES, "data.path": str(tmp_path / "own.csv")}
    (tmp_path / "stated.toml").write_text(
        load(tmp_path / "full.toml", [f"{k}={toml_value(v)}" for k, v in given.items()]).to_toml()
    )
    found = compare([tmp_path / "stated.toml"], {"policy.budget": [100.0, 300.0]})
    rows = found.content["alternatives"]
    assert [one["trained_fitness"] for one in rows] == [None] * 3


REFUSED = [
    (("data.split=[900, 600, 300]",), "data.split"),
    (("data.names=['A', 'B', 'C']",), "data.names"),
    (("data.holdout=0.2",), "data.holdout"),
    (("data.public_rows=0",), "data.public_rows"),
    (("owners.report=0.05",), "owners.report"),
    (("data.workers=2",), "data.workers"),
    (("data.person=home",), "data.person"),
    (("time={periods=2}",), "time"),
    (("owners.records={North=0}",), "owners.records"),
    (("owners.records={}",), "owners.records"),
    (("owners.records={North=1e15}",), "owners.records"),
    (("owners.records=[900, 600]",), "owners.records"),
    (("owners.cost.price={North=1, South=2, East=3}",), "owners.cost.price"),
]


@pytest.mark.parametrize(("changes", "key"), REFUSED)
def test_what_needs_records_is_refused_in_one_line(tmp_path, changes, key):
    (tmp_path / "full.toml").write_text(SCENARIO)
    sizes = f"owners.records={toml_value(SIZES)}"
    given = [sizes, *changes]
    if changes[0].startswith("owners.records"):
        given = list(changes)
    with pytest.raises(InputError) as refused:
        load(tmp_path / "full.toml", given)
    assert key in str(refused.value) and "\n" not in str(refused.value)


def test_whatever_asks_for_a_record_is_refused(settled):
    scenario, _ = settled
    data = market_data(scenario)
    for ask in (
        lambda: data.fitness,
        lambda: data.overlap,
        lambda: data.own_models,
        lambda: data.owners[0].x,
        lambda: data.owners[0].y,
    ):
        with pytest.raises(InputError, match="no record of any owner"):
            ask()


def test_all_is_for_tables_of_the_learner(tmp_path):
    (tmp_path / "full.toml").write_text(SCENARIO)
    with pytest.raises(InputError, match="must be a number, so that rows remain"):
        load(tmp_path / "full.toml", ["data.public_rows=all"])
