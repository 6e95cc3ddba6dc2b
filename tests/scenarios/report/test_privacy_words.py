"""Privacy in words: what a budget means, what is promised to whom, what is warned of."""

import math

import numpy as np
import pytest
from reports import CASES, GAUSSIAN_NOISE, LOOKERS, plain, told
from result_folders import NAMES, result

from learning.phrases import protection, strength, surest
from learning.privacy.laplace import Laplace
from learning.privacy.promises import make_claims
from scenarios.report.facts_owners import protection_of, protection_tile, weakest_promises
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import format_percent


@pytest.mark.parametrize(("epsilon", "sure"), [(0.5, 0.622459), (1.0, 0.731059), (3.0, 0.952574)])
def test_protection_in_words_is_the_posterior_of_an_even_guess(epsilon, sure):
    """Bayes with likelihood ratio e^epsilon and even odds."""
    assert sure == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)), rel=1e-5)
    assert f"at most {format_percent(sure)} sure" in protection(epsilon)


def test_under_delta_protection_is_told_by_what_comes_with_the_promise():
    """At (1, 1e-6) under exact Gaussian accounting e/(1 + e) = 73.1 % was said, which 27 delta exceed; 77 % is true."""
    told_of = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mechanism": "gaussian (pld)",
        "surest": 0.7704,
        "but_for": 1e-6,
    }
    made = result(epsilon=1.0, **GAUSSIAN_NOISE)
    made["claims"] = [claim | told_of for claim in made["claims"]]
    said = {
        render_phrase("privacy", "promised", claim, 6680)
        for claim in weakest_promises(made).values()
    }
    assert said == {f"moderate, {format_percent(0.7704)} sure"}
    text = plain(told(made))
    assert "believes in one of them with at most 70 %, except with probability 1 × 10⁻⁶." in text
    assert "73.1" not in text and "but for probability" not in text and "and δ on top" in text
    earlier = [
        {key: claim[key] for key in claim if key not in ("surest", "but_for")}
        for claim in made["claims"]
    ]
    allowed = format_percent(
        (math.e + 0.5) / (1 + math.e)
    )  # what any (1, delta) mechanism keeps but for 2 delta
    assert f"{allowed} sure" in render_phrase(
        "privacy", "promised", weakest_promises(made | {"claims": earlier})["Cedar Life"], 6680
    )
    assert render_phrase("privacy", "exceptions", made | {"claims": earlier}).endswith(
        "2\u00a0×\u00a010⁻⁶"
    )
    assert "κ = 1" in text and render_phrase("privacy", "exceptions", result()) == ""


@pytest.mark.parametrize(
    ("delta", "missing"), [(0.5, True), (1 / 6680, True), (1 / 6681, False), (0.0, False)]
)
def test_a_delta_that_allows_publishing_a_whole_record_gets_no_word_of_strength(delta, missing):
    """At delta = 0.5 "moderate, at most 75.1 % sure" was said, where every second record may be published outright."""
    told_of = {"epsilon": 1.0, "delta": delta, "surest": 0.751, "but_for": delta}
    made = result(epsilon=1.0)
    made["claims"] = [claim | told_of for claim in made["claims"]]
    found = protection_of(made)
    for words in (
        render_phrase("protection", "strengths", found),
        render_phrase("protection", "meaning", found),
        render_phrase("protection", "terminal", made),
        render_phrase("privacy", "promised", made["claims"][0], 6680),
    ):
        assert ("missing" in words) == missing and ("moderate" in words) != missing, words
    assert (protection_tile(found) == "loss") == missing
    assert (
        "protection is missing" in render_phrase("protection", "weakly_protected", found).lower()
    ) == missing
    text = plain(told(made))
    assert ("moderate," in text) != missing and (
        "publishing a whole record outright" in text
    ) == missing


def test_no_pure_epsilon_is_called_no_protection():
    for epsilon in (10.0, 40.0, 1e6):
        assert strength(surest(epsilon)) == "very weak"


def test_joint_promises_stand_beside_each_owners_and_are_those_that_count():
    """Budgets 1.664, 1.152, 0.384 of one record's three owners: 1.067 for all of them, and not 0.384 for the last."""
    sold = np.array([1.664, 1.152, 0.384])
    made = result(epsilon=sold)
    made["claims"] = [
        vars(one)
        for one in make_claims(Laplace(overlap=3), list(NAMES), [9] * 3, sold, 2, "one record")
    ]
    text = plain(told(made))
    assert text.count(f"strong, {plain(format_percent(0.74396))} sure") == 3 and "59.5" not in text
    assert (
        "Up to 3 owners (κ) may hold the same record. Against an observer of all their answers its ε is 1.07"
        in text
    )
    assert "Cedar Life one record replace one record at all of up to 3 owners 1.07 0 2" in text
    assert (
        render_phrase("privacy", "weaker_than_sold", made)
        == ""
        == render_phrase("privacy", "published_noise", made)
    )
    assert render_phrase("privacy", "joint_promises", result()) == ""
    alone = [claim for claim in made["claims"] if not claim["joint"]]
    assert "not protected if one of them adds no noise" in render_phrase(
        "privacy", "joint_promises", made | {"claims": alone}
    )


def test_protection_in_words_at_the_ends_and_in_order():
    assert "nothing is shared" in protection(0.0)
    assert "without protection" in protection(math.inf)
    assert "all but certain" in protection(9.0)
    strengths = [protection(e).split(":")[0] for e in (0.1, 1.09, 2.9, 6.9, 7)]
    assert strengths == ["very strong", "strong", "moderate", "weak", "very weak"]


def test_every_promise_to_an_owner_is_shown_and_the_weakest_counts():
    case = CASES["printed"]
    text = told(case)
    assert text.count("as MP prints it") == len(case["claims"]) == 6 and all(
        text.count(who) == 3 for who in LOOKERS
    )
    assert "has one for each kind of observer" in text
    assert (
        text.count("an owner that sold ε = 3.21 has ε = 9.5") == 2
    )  # at the top and beside the promises
    assert "very weak, all but certain" in text  # at 9.5, not at 3.21
    assert (
        render_phrase("privacy", "weaker_than_sold", CASES["best"])
        == render_phrase("privacy", "published_noise", CASES["best"])
        == ""
    )
    kept = [claim | {"epsilon": 0.5} for claim in case["claims"]]
    assert render_phrase(
        "privacy", "weaker_than_sold", case | {"claims": kept}
    ) == "" and "protects more" in render_phrase(
        "privacy", "published_noise", case | {"claims": kept}
    )


def test_an_unbounded_promise_is_shown_as_one():
    claims = [claim | {"epsilon": None} for claim in CASES["printed"]["claims"]]
    text = told(CASES["printed"] | {"claims": claims})
    assert (
        "an owner that sold ε = 3.21 has ε = ∞" in text
        and "shared without protection" in text
        and "∞ 1 × 10⁻⁶ 4" in text
    )
