"""Single phrases: policies, limits, bounds, noise, and rules that hold over all results."""

import re

import pytest
from jinja2 import UndefinedError
from reports import CASES, plain, told
from result_folders import result

from scenarios.features import FEATURES
from scenarios.report.facts_owners import asks_nothing, sellers
from scenarios.report.phrases import TOPICS, all_topics, render_lines, render_phrase
from scenarios.report.wording import format_amounts


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
    assert words in plain(render_phrase("offer", "policy_words", policy))


def test_owners_with_limits_and_prices_of_their_own():
    assert render_phrase("offer", "choice_words", [[0.1, 2.0], [0.5, 5.0]]) == (
        "Each may choose ε within limits of its own, 0.1 to 5 at the widest."
    )
    assert format_amounts([300.0, 550.0]) == "300 to 550 (each owner its own)"


def test_a_name_is_shown_as_it_is_and_never_as_markup_or_template():
    name = "<b>&'s {{ 7 * 7 }} {% raw %}"
    assert render_phrase("market", "who_sells", result((name,))) == (
        f"{name} sells a privacy budget ε of 3.21 for 2,000."
    )
    page = told(result((name, "B")), "sells")
    assert name in page


def test_a_cause_without_a_sentence_fails_instead_of_saying_nothing():
    with pytest.raises(UndefinedError):
        render_phrase("privacy", "warning", {"cause": "unheard of"}, {})
    with pytest.raises(UndefinedError):
        render_phrase("model", "reason", {"cause": "unheard of"}, "law")
    with pytest.raises(AttributeError):
        render_phrase("market", "no_such_phrase")


def test_every_template_is_a_topic_and_every_place_has_its_lines(pytestconfig):
    scenarios = pytestconfig.rootpath / "scenarios"
    files = [*scenarios.glob("report/phrases/*"), *scenarios.glob("features/*.txt.j2")]
    texts = {path.name.removesuffix(".txt.j2"): path.read_text("utf-8") for path in files}
    assert set(texts) == set(TOPICS)
    sentences = {name: one.sentence for name, one in FEATURES.items() if one.sentence}
    in_line = {name for name, text in sentences.items() if not text.endswith(".txt.j2")}
    for name, place in all_topics().items():
        if name in in_line:
            continue  # a sentence in a feature's own file, without a template
        topic, macro = place.phrases or (name, "terminal")
        assert f"{{% macro {macro}(" in texts[topic]


def test_models_of_an_owner_in_a_table():
    owner = CASES["logistic"]["owners"][0]
    assert render_phrase("market", "common_model", owner) == "worse"
    unknown = owner | {"isolated_relative_fitness": None}
    assert render_phrase("market", "own_model", unknown) == "–"
    assert render_phrase("market", "common_model", unknown) == "–"


def test_nothing_is_asked_by_the_step_and_not_by_the_rounds():
    assert asks_nothing(CASES["asks nothing"]) and not asks_nothing(CASES["adassp"])


@pytest.mark.slow
def test_only_an_exact_forecast_is_called_a_law():
    for name, case in CASES.items():
        text = told(case)
        exact = case["forecast"]["kind"] == "exact"
        assert exact == ("No exact formula is known" not in text or not sellers(case))
        assert exact or not re.search(r"\blaw\b", text.replace("No exact formula is known", "")), (
            name
        )


def test_empty_lists_say_nothing():
    assert render_lines("equilibrium", "distinct_equilibria", result()) == []
    assert render_phrase("model", "published_bound", {"published_bound": None}) == ""
    assert render_lines("unions", "terminal", result()) == []
