"""The market in words: who sells, where owners settled, what is offered, what owners could do alone."""

import pytest
from reports import CASES, plain, shown, told
from result_folders import result

from scenarios.report import sentences_market as market
from scenarios.report import sentences_offer as offer


def test_one_seller_and_many_sellers_and_none():
    assert market.who_sells(CASES["one owner"]) == "Only Clinic sells a privacy budget ε of 3.21 for 2,000."
    assert (
        market.who_sells(CASES["many"]) == "All 86 owners sell privacy budgets ε between 0.01 and 10, for 2,000 in all."
    )
    assert market.who_sells(CASES["nobody"]).startswith("No owner sells anything")


def test_a_certified_market_says_how_it_is_known():
    assert told(result(), "settled").startswith(
        "Yes: after 5 rounds of moves no owner wants to change its choice. From 16 starting points, no other "
        "equilibrium was found. An independent search over each owner's whole interval finds that the most any "
        "owner could still gain by moving alone is less than 0.001 (less than 0.001 % of what it has at "
        "stake near its best choice)."
    )


@pytest.mark.slow
def test_no_end_a_cycle_and_several_equilibria_are_stated_plainly(tmp_path):
    text = told(CASES["no end"], "settled")
    assert text.startswith("No: after 1,000 rounds the owners were still moving.")
    assert "could still gain by moving alone is 12.5" in text
    assert "No: the owners keep circling" in told(CASES["cycle"], "settled")
    text = shown(CASES["no end"], tmp_path)
    assert "The market did not settle" in text and "they did not come to rest" in text and "nobody wants" not in text
    text = shown(CASES["several"], tmp_path)
    assert "Yes, but not in one way only" in text and "2 equilibria" in text
    assert "Aurora Health 0.01, Beacon Mutual 0.01, Cedar Life 0.01" in text


@pytest.mark.slow
def test_welfare_and_price_of_anarchy_in_words():
    assert "would reach 7,100, 7.58 % more (price of anarchy 1.076)" in told(result(), "settled")
    loose = result(welfare__optimum_at_most=7300.0, welfare__price_of_anarchy_at_most=7300 / 6600)
    assert "No choice whatever can exceed 7,300, a price of anarchy of 1.106." in told(loose, "settled")
    unknown = result(welfare__optimum_at_most=None, welfare__price_of_anarchy_at_most=None)
    assert "how much better another could be is not known here" in told(unknown, "settled")
    best = result(welfare__optimum=6600.0, welfare__optimum_at_most=6600.0, welfare__price_of_anarchy=1.0)
    assert "No central choice of all budgets would do better." in told(best, "settled")
    assert "loss of 5" in told(CASES["unknown numbers"], "settled")
    assert "is not defined" in told(CASES["unknown numbers"], "settled")


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"kind": "posted", "price": 2.0, "per": "bit"}, "a fixed price: 2 per record and bit"),
        (
            {"kind": "proportional", "budget": 2000.0, "basis": "epsilon"},
            "2,000 in all, shared out in proportion to privacy",
        ),
        ({"kind": "marginal", "share": 0.6, "reference": "absent"}, "60 % of what the model gains"),
        ({"kind": "auction", "reserve": 3}, "under the policy auction (reserve = 3)"),
    ],
)
def test_policies_in_words(policy, words):
    assert words in plain(offer.policy_words(policy))


def test_whether_the_model_beats_the_owners_own_is_told():
    made = result()
    assert told(made, "sells").startswith("As trained, for no owner that sells is the common model better")
    made["owners"][0]["gains"] = True
    assert "own model of 1 of the 3 owners" in told(made, "sells")
    for owner in made["owners"]:
        owner["gains"] = True
    assert "better than what any seller could train" in told(made, "sells")


def test_owners_with_limits_and_prices_of_their_own():
    assert "limits of its own, 0.1 to 5" in offer.choice_words([[0.1, 2.0], [0.5, 5.0]])
    assert offer.amount([300.0, 550.0]) == "300 to 550 (each owner its own)"


def test_the_kind_of_game_is_told_as_far_as_samples_go():
    assert market.kind_of_game(result()) == ""
    made = result(equilibrium__diagnosis={"dominance_solvable": True, "potential_game": False, "contraction": False})
    assert market.kind_of_game(made) == (
        "Samples of the game suggest: whatever the others do, sensible choices narrow down to this one outcome."
    )
    assert market.kind_of_game(result(equilibrium__diagnosis=None)) == ""


def test_what_owners_could_train_alone_is_unknown_where_it_was_not_fitted():
    case = result(owners=[owner | {"isolated_relative_fitness": None} for owner in result()["owners"]])
    assert "What model each owner could train on its own is not known here." in told(case, "sells")
    assert market.own_model(case["owners"][0]) == "–"
    assert market.common_model(case["owners"][0]) == "–"
    assert market.common_model(CASES["logistic"]["owners"][0]) == "worse"
