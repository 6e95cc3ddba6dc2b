"""The reference tells of every key, option and field, and the pages are as the code has them now."""

import json

import pytest
from commands import INSURERS
from told import differing

from scenarios.reference.keys import describe_fields, key_lines
from scenarios.reference.pages import PAGES, write_page
from scenarios.runner import run
from scenarios.schema.game import GameFile
from scenarios.schema.loading import load
from scenarios.schema.market import Learner
from scenarios.schema.scenario import scenario_model
from scenarios.sweeping.study import Study


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_as_the_code_has_it(page):
    assert page.read_text(encoding="utf-8") == write_page(page), (
        "run: python -m scenarios.reference"
    )


@pytest.mark.parametrize("section", [GameFile, scenario_model(), Study])
def test_every_key_has_a_sentence_of_its_own(section):
    bare = [line for line in key_lines(section) if line.startswith("| `") and line.endswith("|  |")]
    assert not bare, "say what each is in a string right after it, or under Parameters of its class"


def test_a_sentence_is_found_where_the_field_is_declared_or_in_a_base():
    class Base:
        """Of which others are.

        Parameters
        ----------
        kept : scalar or (n_owners,), money that is
            kept
        told, both: as in `Base`
        """

    class Made(Base):
        pass

    Base.__module__ = Made.__module__ = "scenarios.made"
    assert describe_fields(Made) == {"kept": "Money that is kept."}
    assert (
        describe_fields(Learner)["budget"]
        == "The most that the learner can spend. It is checked and reported, and changes no payment."
    )


@pytest.mark.slow
def test_every_field_of_a_result_is_told_of_and_every_field_told_of_is_there(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(INSURERS, encoding="utf-8")
    changes = ["validation.runs=2", "market.starts=1", "learning.features=best"]
    content = run(load(file, changes)).content
    some = {
        f"owners[].{name}" for name in ("payment_std_error", "transfer", "spillover")
    }  # where there is reason to
    some |= {f"protocol.scores.{name}" for name in ("bound", "share", "alike")}
    assert differing("result.json", json.loads(json.dumps(content))) == (set(), some)
    del content["learner"]["surplus"]
    content["learner"]["new"] = 1.0
    unsaid, gone = differing("result.json", content)
    assert unsaid == {"learner.new"} and "learner.surplus" in gone
