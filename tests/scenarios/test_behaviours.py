"""Behaviours from a scenario file to the result: who behaves how, what is refused, what is told beside it."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from commands import lay
from quick import quick_module
from told import differing

from agents.behaviours.best_response import Inertial
from learning.errors import InputError
from scenarios.checking import check_scenario
from scenarios.command.check_printed import print_check
from scenarios.command.console import summary_lines
from scenarios.features import FEATURES
from scenarios.features.behaviours import assign_behaviours, list_behaviours
from scenarios.report.page import render
from scenarios.report.phrases import render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.studies.design import design_scenario

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

SLEEPY = "[[behaviours]]\nkind = 'inertial'\nstays = 0.9\nowners = ['Bob']\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Three owners of forty records, at costs of 1, 1.5 and 2."""
    folder = tmp_path_factory.mktemp("behaviours")
    owners = "[40, 40, 40]\nnames = ['Ann', 'Bob', 'Cy']"
    alone = lay(folder, 150, {"[40, 40]": owners, "price = 1.0": "price = [1.0, 1.5, 2.0]"})
    (folder / "b.toml").write_text(alone.read_text() + SLEEPY)
    return folder


def tables(path, *given):
    """The tables [[behaviours]] of a scenario, in the words of the command line."""
    return load(path / "s.toml", [f"behaviours=[{', '.join(given)}]"]).behaviours


def counts(tables, names, seed=0):
    return Counter(
        type(behaviour).__name__
        for behaviour, numbers in assign_behaviours(tables, names, seed)
        for _ in numbers
    )


def test_who_behaves_how_is_told_beside_the_market_of_rational_owners(path):
    result = run(load(path / "b.toml", ["market.rounds=12"]), training=False)
    sleepy, rest = result["behaviours"]
    assert sleepy["kind"] == "inertial" and sleepy["parameters"] == {"stays": 0.9, "effort": 0.0}
    assert (
        sleepy["owners"] == ["Bob"]
        and rest["kind"] == "rational"
        and rest["owners"] == ["Ann", "Cy"]
    )
    assert result["equilibrium"]["iterations"] == 12
    owners = {owner["name"]: owner for owner in result["owners"]}
    assert sleepy["surplus"] == pytest.approx(owners["Bob"]["surplus"]) and rest[
        "epsilon"
    ] == pytest.approx(owners["Ann"]["epsilon"] + owners["Cy"]["epsilon"])
    alone = run(load(path / "s.toml"), training=False)
    assert alone["behaviours"] is alone["equilibrium"]["benchmark"] is None
    np.testing.assert_allclose(
        result["equilibrium"]["benchmark"]["epsilon"],
        [one["epsilon"] for one in alone["owners"]],
        rtol=1e-6,
    )
    assert rest["surplus_if_rational"] == pytest.approx(
        sum(alone["owners"][i]["surplus"] for i in (0, 2))
    )
    assert not differing("result.json", result.content)[0]  # the reference tells of every field


RING = "{kind='colluders', owners=['Ann', 'Bob'], split='by_size'}"


@pytest.fixture(scope="module")
def ring(path):
    """Ann and Bob act as one, Cy is blind; Ann has twice as many records as Bob."""
    blind = "{kind='logit', precision=0.0, owners=['Cy']}"
    return run(
        load(
            path / "s.toml",
            ["data.split=[60, 30, 30]", f"behaviours=[{RING}, {blind}]", "market.rounds=6"],
        )
    )


@pytest.mark.slow
def test_a_ring_divides_what_it_has_and_nobody_else_is_told(ring):
    ann, bob, cy = ring["owners"]
    assert (
        ann["transfer"] == pytest.approx(-bob["transfer"])
        and cy["transfer"] == 0 != ann["transfer"]
    )
    assert ann["surplus"] == pytest.approx(2 * bob["surplus"])  # by size
    row = next(one for one in ring["behaviours"] if one["kind"] == "colluders")
    assert row["surplus"] == pytest.approx(ann["surplus"] + bob["surplus"]) and row["owners"] == [
        "Ann",
        "Bob",
    ]
    assert not ring["equilibrium"]["converged"] and ring["unions"] is None
    assert ring["welfare"]["owners"] == pytest.approx(
        ann["surplus"] + bob["surplus"] + cy["surplus"]
    )


@pytest.mark.slow
def test_who_behaves_how_on_page_and_console(ring, path):
    page = " ".join(render(ring.content, {}, "").split())
    lines = " ".join("\n".join(summary_lines(ring.content)).split())
    for words in (
        "Ann and Bob: colluders (name ring, split by_size) (acts as one with others, and divides what they have).",
        "logit (precision 0, per stake, options 41, against now) (chooses what is better more often, and not always).",
        "The learner did not know who colludes",
        "If all owners were rational, ",
    ):
        assert words in page and words in lines
    assert "After 6 rounds play is not at an equilibrium" in page and "Who behaves how" in page
    assert "no equilibrium: no owner can gain more than" in lines and "did not reach" not in page
    alone = run(load(path / "s.toml"), training=False).content
    assert "Who behaves how" not in render(alone, {}, "") and "rational" not in "\n".join(
        summary_lines(alone)
    )


def test_what_would_be_the_same_were_all_rational_is_said_in_short():
    same = {"payments": 5.0, "relative_fitness": 0.1, "learner_surplus": 2.0, "converged": True}
    now = {
        "equilibrium": {"benchmark": same},
        "forecast": {"relative_fitness": 0.1},
        "scenario": {},
    }
    assert render_phrase(
        "behaviours", "against_rational", now | {"learner": {"payments": 5.0, "surplus": 2.0}}
    ).endswith("gain would be the same.")
    more = now | {"learner": {"payments": 5.0, "surplus": 3.0}}
    assert (
        render_phrase("behaviours", "against_rational", more)
        == "If all owners were rational, the learner would have 2 left instead of 3."
    )


def test_who_does_not_answer_as_sold_is_told():
    rows = [{"cheats": ["Ann"]}, {"cheats": []}]
    assert render_phrase("behaviours", "cheating", {"behaviours": rows, "owners": [{}] * 10}) == (
        "1 of 10 owners (Ann) does not answer as sold. Only the simulator knows this."
    )
    assert (
        render_phrase("behaviours", "cheating", {"behaviours": rows[1:], "owners": [{}]})
        == render_phrase("behaviours", "cheating", {"behaviours": None})
        == ""
    )


def test_several_tables_of_one_behaviour_are_one_group(path):
    one, two = (RING.replace("'Ann', 'Bob'", name) for name in ("'Ann'", "'Bob'"))
    twice = tables(path, one, two, "{kind='rational', owners=['Cy']}")
    (ring, members), (_, rest) = assign_behaviours(twice, ("Ann", "Bob", "Cy", "Di"), 0)
    assert ring.split == "by_size" and members.tolist() == [0, 1] and rest.tolist() == [2, 3]


def test_a_ring_may_have_fifty_members(path):
    many = tables(path, "{kind='colluders', share=1.0}")
    scenario = SimpleNamespace(behaviours=many, seed=0)
    FEATURES["behaviours"].check_owners(scenario, [f"owner {i}" for i in range(50)])
    with pytest.raises(
        InputError, match="behaviours.colluders: must be at most 50 owners of one name.*51 in ring"
    ):
        FEATURES["behaviours"].check_owners(scenario, [f"owner {i}" for i in range(51)])


def test_a_scenario_with_behaviours_is_written_and_read_again(path):
    made = load(path / "b.toml")
    (path / "again.toml").write_text(made.to_toml())
    assert load(path / "again.toml").behaviours == made.behaviours
    assert load(path / "b.toml", ["behaviours=[]"]).behaviours is None
    assert list_behaviours(made, ("Ann", "Bob", "Cy"))[1] == Inertial(0.9)


def test_shares_are_rounded_together_and_the_seed_chooses(path):
    names = tuple(f"owner {i}" for i in range(1000))
    third = "{kind='inertial', share=0.334}"
    half = "{kind='inertial', stays=0.9, share=0.5}"
    assert counts(tables(path, third, half), names) == {"Inertial": 834, "Rational": 166}
    assert counts(tables(path, half, half.replace("0.9", "0.8")), names[:3]) == {"Inertial": 3}
    chosen = [assign_behaviours(tables(path, third), names, seed)[0][1] for seed in (1, 1, 2)]
    assert np.array_equal(chosen[0], chosen[1]) and not np.array_equal(chosen[0], chosen[2])
    assert (
        250 < np.isin(chosen[0], np.arange(800)).sum() < 285
    )  # of 334; the standard deviation is 6.0


def test_who_is_chosen_hangs_on_names_and_hardly_on_how_many_others_there_are(path):
    names = tuple(f"owner {i}" for i in range(300))
    third = tables(path, "{kind='inertial', share=0.3}")
    few, many = (
        set(assign_behaviours(third, names[:count], 7)[0][1].tolist()) for count in (299, 300)
    )
    assert len(few ^ many) <= 2
    turned = names[::-1]
    again = assign_behaviours(third, turned, 7)[0][1]
    assert {turned[i] for i in again} == {names[i] for i in many}


def test_those_named_no_share_means_and_the_rest_may_have_a_table_too(path):
    rest = tables(path, "{kind='inertial', owners=['Bob']}", "{kind='inertial', stays=0.1}")
    groups = assign_behaviours(rest, ("Ann", "Bob", "Cy"), 0)
    assert [(behaviour.stays, numbers.tolist()) for behaviour, numbers in groups] == [
        (0.5, [1]),
        (0.1, [0, 2]),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("behaviours=[{kind='sleepy'}]", 'behaviours.1.kind: must be "rational"'),
        ("behaviours=[{share=0.3}]", "behaviours.1.kind: is required"),
        ("behaviours=3", "behaviours: must be a list of tables, each [[behaviours]]"),
        (
            "behaviours=[{kind='inertial', stays=1.0}]",
            "behaviours.1.stays: must be a number of at least 0 and below 1",
        ),
        (
            "behaviours=[{kind='inertial', stay=0.3}]",
            'behaviours.1.stay: is not a known key; found "stay"',
        ),
        (
            "behaviours=[{kind='inertial', share=0.0}]",
            "behaviours.1.share: must be a number above 0 and at most 1",
        ),
        (
            "behaviours=[{kind='inertial', share=0.6}, {kind='rational', share=0.6}]",
            "behaviours.share: must add up to",
        ),
        (
            "behaviours=[{kind='inertial', share=0.6, owners=['Ann']}]",
            "behaviours.1.share: must be left out if",
        ),
        ("behaviours=[{kind='inertial'}, {kind='rational'}]", "behaviours.2.share: is required"),
        (
            "behaviours=[{kind='inertial', owners=['Ann']}, {kind='rational', owners=['Ann']}]",
            'behaviours.owners: must name each owner in one table; found "Ann" in 1 and 2',
        ),
        (
            "behaviours=[{kind='inertial', owners=['An']}]",
            'behaviours.1.owners: must name owners; found "An". Did you',
        ),
        (
            "behaviours=[{kind='inertial', owners=['Ann']}, {kind='rational', share=0.9}]",
            "behaviours.share: must be at most the owners that no table names: 2 of 3 are left; found 3 owners",
        ),
        ("market.rounds=10", "market.rounds: needs [[behaviours]] that draw"),
    ],
)
def test_tables_that_mean_nothing_are_refused_in_a_line(path, change, said):
    with pytest.raises(InputError) as refused:
        check_scenario(load(path / "s.toml", [change]))
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "unions=[{name='North', members=['Ann', 'Bob']}]",
            "unions: must be left out in a scenario with [[behaviours]]",
        ),
        (
            "learners=[{name='other', value=50.0}]",
            "learners: must be left out in a scenario with [[behaviours]]",
        ),
        (
            "externalities={correlation=0.5}",
            "externalities: must be left out in a scenario with [[behaviours]]",
        ),
        ("market.participation=free", 'market.participation: must be "bound" in a scenario with [[behaviours]]'),
    ],
)
def test_what_is_settled_by_search_alone_does_not_go_with_behaviours(path, change, said):
    with pytest.raises(InputError) as refused:
        load(path / "b.toml", [change])
    assert said in str(refused.value)


def test_check_says_who_would_behave_how(path, capsys):
    scenario = load(path / "b.toml")
    print_check(scenario, check_scenario(scenario), 0.0)
    printed = capsys.readouterr().out
    lines = {line.split()[0]: line.split()[-1] for line in printed.splitlines() if line.split()}
    assert (lines["Ann"], lines["Bob"], lines["Cy"]) == ("rational", "inertial", "rational")
    assert "round by round, each as it behaves" in " ".join(printed.split())


def test_a_search_for_a_policy_takes_no_behaviours(path):
    with pytest.raises(InputError, match="behaviours: must be left out of a search for a policy"):
        design_scenario(load(path / "b.toml"))
