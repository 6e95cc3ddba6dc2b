"""Scenario files: defaults, overrides, round trips, and every bad input told in one line."""

import tomllib
from pathlib import Path

import pytest

from learning.errors import InputError
from scenarios.fields import Interval, nearest, toml_text
from scenarios.scenario import Scenario, library, load, per_owner, sha256

MINIMAL = """
[data]
path = "claims.csv"
target = "cost"
split = [10, 20]
[owners]
epsilon = [0.5, 2]
[owners.cost]
kind = "linear"
price = 1
[policy]
kind = "posted"
price = 2
[learner]
value = 100
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.toml"
    path.write_text(MINIMAL)
    return path


def message(source: object, overrides: tuple[str, ...] = ()) -> str:
    with pytest.raises(InputError) as caught:
        load(source, overrides)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text and "\r" not in text
    return text


def test_defaults_are_filled_in(file: Path) -> None:
    scenario = load(file)
    assert scenario.owners.epsilon == Interval(0.5, 2.0)
    assert scenario.owners.cost.price == 1.0 and isinstance(scenario.owners.cost.price, float)
    assert (scenario.learning.start, scenario.learning.precondition) == ("zero", False)
    assert (scenario.data.missing, scenario.data.order, scenario.data.holdout) == ("error", "shuffled", 0.0)
    assert scenario.market.damping is None and scenario.validation.runs == 100 and scenario.seed == 0
    assert scenario.folder == file.parent.resolve()


def test_defaults_follow_public_rows_and_activation(file: Path) -> None:
    scenario = load(file, ["data.public_rows=5", "market.activation=simultaneous"])
    assert (scenario.learning.start, scenario.learning.precondition) == ("public", True)
    assert scenario.market.damping == 0.5


def test_scenarios_are_frozen(file: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(file).learning.horizon = 3  # type: ignore[misc]


VARIANTS: list[list[str]] = [
    [],
    ["data.public_rows=3", "data.bounds.cost=[0, 20]", 'data.bounds."a \\"b\\" = c"=[-1.5, 1e30]'],
    ["owners.epsilon=[[0, 1], [0.1, 10]]", "owners.benefit=[0, 3.5]", "owners.cost.price=[1, 2]"],
    ["market.activation=simultaneous", "market.damping=0.25", "learning.horizon=7", "learning.clip=none"],
    ["market.activation=poisson"],
    ['data.names=["A\\\\B", "Ü \\"q\\"\\t\\u007f\\U0001F600"]', 'title="two\\nlines"', "data.holdout=rest"],
    ['owners.cost={kind="leakage", price=0.02, values=4}', 'policy={kind="marginal", share=0.5}'],
    ['policy={kind="proportional", budget=10, basis="epsilon"}', 'owners.cost={kind="quadratic", price=1}'],
    ['owners.cost={kind="channel", price=1, values=2, prior=[0.25, 0.75]}', "owners.fixed_cost=[1, 2]"],
    ['policy={kind="tiers", thresholds=[0.5, 1], amounts=[3, 4]}', 'owners.cost={kind="belief", price=1}'],
    ["learning.theta_max=3", "learning.step_size=1e-300", "data.components=2", 'data.features=["a", "b"]'],
]


@pytest.mark.parametrize("overrides", VARIANTS)
def test_the_resolved_text_loads_to_an_equal_scenario(file: Path, overrides: list[str]) -> None:
    scenario = load(file, overrides)
    again = file.with_name("again.toml")
    again.write_text(scenario.to_toml(), encoding="utf-8")
    assert load(again) == scenario
    assert load(again).to_toml() == scenario.to_toml()


@pytest.mark.parametrize("name", ["lending_banks", "three_insurers"])
def test_library_scenarios_load_and_round_trip(name: str) -> None:
    scenario = load(name)
    assert Scenario.model_validate(tomllib.loads(scenario.to_toml())).to_toml() == scenario.to_toml()
    assert sum(scenario.data.split or ()) in (107_700, 20_040)
    assert len(scenario.data.names or ()) == 3
    assert library()[name].stem == name


def test_resolved_text_spells_out_every_default(file: Path) -> None:
    resolved = tomllib.loads(load(file).to_toml())
    assert set(resolved["learning"]) == {
        "loss",
        "algorithm",
        "weights",
        "mechanism",
        "accounting",
        "regularisation",
        "theta_max",
        "clip",
        "overlap",
        "horizon",
        "step_size",
        "returned",
        "start",
        "precondition",
    }
    assert set(resolved["market"]) == {"activation", "starts", "max_rounds", "tol"}
    assert resolved["policy"] == {"kind": "posted", "price": 2.0, "per": "epsilon"}


def test_absolute_text_loads_from_any_folder(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "result" / "scenario.toml"
    elsewhere.parent.mkdir()
    elsewhere.write_text(load(file).to_toml(absolute=True))
    assert load(elsewhere).data.path == str(file.parent.resolve() / "claims.csv")
    assert load(file).data.path == "claims.csv"


def test_hash_tells_scenarios_apart_and_defaults_do_not_matter(file: Path) -> None:
    assert sha256(load(file)) == sha256(load(file, ["seed=0", "policy.per=epsilon"]))
    assert sha256(load(file)) != sha256(load(file, ["seed=1"]))
    assert len(sha256(load(file))) == 64


@pytest.mark.parametrize(
    ("override", "where", "value"),
    [
        ("policy.price=7.5", ("policy", "price"), 7.5),
        ("data.target = charges", ("data", "target"), "charges"),
        ('data.target="1.5"', ("data", "target"), "1.5"),
        ("title=a = b", ("title",), "a = b"),
        ("title=", ("title",), ""),
        ("title=1\nseed=9", ("title",), "1\nseed=9"),
        ("owners.benefit=[1, 2]", ("owners", "benefit"), (1.0, 2.0)),
        ("seed=12", ("seed",), 12),
        ("learning.precondition=false", ("learning", "precondition"), False),
    ],
)
def test_overrides(file: Path, override: str, where: tuple[str, ...], value: object) -> None:
    got: object = load(file, [override])
    for key in where:
        got = getattr(got, key)
    assert got == value and type(got) is type(value)


def test_another_kind_starts_its_table_anew_in_any_order(file: Path) -> None:
    new = ["policy.kind=proportional", "policy.budget=5"]
    for overrides in (new, new[::-1]):
        assert load(file, overrides).policy.model_dump() == {
            "kind": "proportional",
            "budget": 5.0,
            "basis": "records_epsilon",
        }
    assert load(file, ["policy.kind=posted"]).policy.price == 2.0  # type: ignore[union-attr]
    assert "owners.cost.price: is required" in message(file, ("owners.cost.kind=quadratic",))


def test_data_path_override_is_meant_from_the_current_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert load(file, ["data.path=loans.csv"]).data.path == str(here / "loans.csv")
    assert load(file, ["data.path=/a/b.csv"]).data.path == "/a/b.csv"


BAD: list[tuple[str, str, str]] = [  # override, key, words of rule, finding and remedy, separated by |
    # unknown keys, with the nearest known one
    ("data.targt=cost", "data.targt", 'is not a known key|found "targt"|Did you mean "target"?'),
    ("learing.horizon=3", "learing", 'is not a known key|Did you mean "learning"?'),
    ("owners.cost.prices=3", "owners.cost.prices", 'Did you mean "price"?'),
    ("policy.pric=3", "policy.pric", 'Did you mean "price"?'),
    ("budget=3", "budget", "It belongs under [learner] or [policy]"),
    ("learning.tol=3", "learning.tol", "It belongs under [market]"),
    ("data.zzzzzz=3", "data.zzzzzz", "Known here: source, path, target"),
    ("folder=x", "folder", "is not a known key"),
    # of another kind, or not built yet
    ("policy.budget=3", "policy.budget", "belongs to kind proportional, not posted|posted: price, per"),
    ("owners.cost.values=3", "owners.cost.values", "belongs to kind leakage, channel, not linear"),
    ("policy.kind=postd", "policy.kind", 'must be "posted", "proportional"|mean "posted"?'),
    ("policy.kind=[1]", "policy.kind", "must be|found [1]"),
    ("owners.cost.kind=beleif", "owners.cost.kind", 'must be "leakage", "linear"|mean "belief"?'),
    ("owners.cost={kind='belief', price=1, worlds=1}", "owners.cost.worlds", "at least 2|found 1"),
    ("owners.fixed_cost=[1]", "owners.fixed_cost", "one entry per owner, 2|found 1 entries"),
    ("owners.cost={kind='channel', price=1, prior=[0.5, 0.5]}", "owners.cost.prior", "10 in all|found 2"),
    ("policy={kind='posted_channel', price=1, values=2, prior=[0.5, 0.6]}", "policy.prior", "add up to 1|1.1"),
    ("policy={kind='posted_channel', price=1, values=2, prior=['x']}", "policy.prior", 'found "x" in place 1'),
    ("policy={kind='tiers', thresholds=[1, 0.5], amounts=[1, 2]}", "policy.thresholds", "must rise|[1.0, 0.5]"),
    ("policy={kind='tiers', thresholds=[1], amounts=[1, 2]}", "policy.amounts", "one amount per threshold, 1"),
    ("policy={kind='tiers', thresholds=[1], amounts=1}", "policy.amounts", "must be a list of amounts|found 1"),
    ("policy={kind='cost_plus'}", "policy.margin", "is required|Give the part of the cost paid on top"),
    ("policy={kind='thesis_leakage', weight='upside'}", "policy.weight", '"normalised" or "printed"'),
    ("learning.loss=hinge", "learning.loss", 'not supported yet; supported: squared|found "hinge"'),
    ("learning.mechanism=gaussian", "learning.delta", "is needed with Gaussian noise"),
    ("learning.algorithm=sgd1", "learning.algorithm", "not supported yet; supported: synchronous, averaged"),
    ("learning.algorithm=avraged", "learning.algorithm", 'must be "synchronous" or "averaged"|mean "aver'),
    ("learning.accounting=pld", "learning.accounting", "must be"),
    ("learning.weights=equal", "learning.weights", "not supported yet; supported: size"),
    ("learning.delta=1e-6", "learning.delta", "goes with mechanism"),
    ("regulation.epsilon_cap=0", "regulation.epsilon_cap", "must be a number above 0"),
    ("regulation.price_floor_per=year", "regulation.price_floor_per", 'must be "epsilon"'),
    ("market.activation=chaotic", "market.activation", "sequential"),
    # wrong types and values
    ("seed=-1", "seed", "must be a whole number of at least 0|found -1"),
    ("seed=1.0", "seed", "must be a whole number|found 1.0"),
    ("seed=true", "seed", "must be a whole number|found true"),
    ("title=3", "title", "must be a text|found 3"),
    ("data=3", "data", "must be a table, [data]|found 3"),
    ("policy=posted", "policy", 'must be a table, [policy]|found "posted"'),
    ("owners.cost=2", "owners.cost", "must be a table, [owners.cost]|found 2"),
    ("policy={price=2}", "policy.kind", "is required|One of: posted, proportional, marginal"),
    ("policy={kind='posted'}", "policy.price", "is required|Give the money per unit"),
    ("owners={epsilon=[0,1]}", "owners.cost", "is required|Add a table [owners.cost]"),
    ("learner={}", "learner.value", "is required"),
    ("learner.value=-5", "learner.value", "must be a number of at least 0|found -5"),
    ("learner.value=nan", "learner.value", "must be a number|found nan"),
    ("learner.value=inf", "learner.value", "must be a number|found inf"),
    ("learner.value=1" + "0" * 400, "learner.value", "must be a number of at least 0|..."),
    ("learner.value=true", "learner.value", "must be a number|found true"),
    ("learner.value=lots", "learner.value", 'must be a number|found "lots"'),
    ("learner.value=2020-01-01", "learner.value", "must be a number|found 2020-01-01"),
    ("data.source=randhie", "data.source", "exactly one of source and path|found source and path"),
    ("data.owner=bank", "data.split", "exactly one of split and owner|found split and owner"),
    ("data.split=[]", "data.split", "must be a list of whole numbers|found []"),
    ("data.split=[10, 0]", "data.split", "must be a list of whole numbers of at least 1|found 0 in place 2"),
    ("data.split=[10, 2.5]", "data.split", "found 2.5 in place 2"),
    ("data.split=30", "data.split", "must be a list of whole numbers|found 30"),
    ('data.names=["A"]', "data.names", "as many owners as split has sizes, 2|found 1 names"),
    ('data.names=["A", "A"]', "data.names", 'different names|found "A" twice'),
    ('data.features=["a", "cost"]', "data.features", 'must not contain the target column|found "cost"'),
    ('data.features=["a", 3]', "data.features", "found 3 in place 2"),
    ("data.features=[]", "data.features", "must be a list of different column names|found []"),
    ("data.public_rows=-1", "data.public_rows", "whole number of at least 0|found -1"),
    ("data.order=sorted", "data.order", 'must be "shuffled" or "as_is"|found "sorted"'),
    ("data.missing=skip", "data.missing", 'must be "error", "drop" or "fill"|found "skip"'),
    ("data.encoding=binary", "data.encoding", 'must be "onehot" or "integer"|found "binary"'),
    ("data.min_records=0", "data.min_records", "at least 1|found 0"),
    ("data.components=0", "data.components", "at least 1|found 0"),
    ("data.holdout=1", "data.holdout", 'must be "rest" or a number from 0 to below 1|found 1'),
    ("data.holdout=all", "data.holdout", 'must be "rest" or|found "all"'),
    ("data.bounds.cost=[2, 1]", "data.bounds.cost", "low below high|found [2, 1]"),
    ("data.bounds.cost=[0, inf]", "data.bounds.cost", "both finite|found [0, inf]"),
    ("data.bounds.cost=20", "data.bounds.cost", "must be [low, high]|found 20"),
    ("data.bounds=20", "data.bounds", "must be a table of ranges|found 20"),
    ('data.path=""', "data.path", 'must be a text|found ""'),
    ("learning.horizon=1", "learning.horizon", "from 2 to 100000|found 1"),
    ("learning.horizon=100001", "learning.horizon", "from 2 to 100000|found 100001"),
    ("learning.horizon=optimum", "learning.horizon", 'must be "optimal" or|found "optimum"'),
    ("learning.step_size=0", "learning.step_size", "above 0|found 0"),
    ("learning.theta_max=-1", "learning.theta_max", "above 0|found -1"),
    ("learning.clip=0", "learning.clip", 'must be "optimal", "none" or a number above 0|found 0'),
    ("learning.regularisation=-1", "learning.regularisation", "at least 0|found -1"),
    ("learning.overlap=0", "learning.overlap", "at least 1|found 0"),
    ("learning.returned=best", "learning.returned", 'must be "optimal", "last" or "averaged"|found "best"'),
    ("learning.start=public", "learning.start", 'needs public rows|found "public" with data.public_rows = 0'),
    ("learning.precondition=true", "learning.precondition", "needs public rows|found true with data.public"),
    ("learning.precondition=1", "learning.precondition", "must be true or false|found 1"),
    ("owners.benefit=-1", "owners.benefit", "at least 0|found -1"),
    ("owners.benefit=[1, 2, 3]", "owners.benefit", "one entry per owner, 2|found 3 entries"),
    ("owners.benefit=[]", "owners.benefit", "one per owner|found []"),
    ("owners.cost.price=[1, -2]", "owners.cost.price", "at least 0|found -2 for owner 2"),
    ("owners.cost.price=[1]", "owners.cost.price", "one entry per owner, 2|found 1 entries"),
    ("policy.price=-1", "policy.price", "at least 0|found -1"),
    ("policy.per=record", "policy.per", 'must be "epsilon"|found "record"'),
    ("policy={kind='marginal', share=0}", "policy.share", "above 0|found 0"),
    ("policy={kind='proportional', budget='all'}", "policy.budget", 'must be a number|found "all"'),
    ("market.damping=0.5", "market.damping", 'activation = "simultaneous" only|found 0.5'),
    ("market.tol=0", "market.tol", "above 0|found 0"),
    ("market.starts=0", "market.starts", "at least 1|found 0"),
    ("market.max_rounds=0", "market.max_rounds", "at least 1|found 0"),
    ("validation.runs=1", "validation.runs", "at least 2|found 1"),
    # privacy budgets
    ("owners.epsilon=[10.0, 0.01]", "owners.epsilon", "is reversed|found [10.0, 0.01]|Write [0.01, 10.0]"),
    ("owners.epsilon=[-1, 2]", "owners.epsilon", "must not be negative|found [-1, 2]"),
    ("owners.epsilon=[nan, 2]", "owners.epsilon", "must be finite numbers|found [nan, 2]"),
    ("owners.epsilon=[0, inf]", "owners.epsilon", "must be finite numbers|found [0, inf]"),
    ("owners.epsilon=[0, '1']", "owners.epsilon", 'must be finite numbers|found [0, "1"]'),
    ("owners.epsilon=1", "owners.epsilon", "must be [lowest, highest]|found 1"),
    ("owners.epsilon=[1, 2, 3]", "owners.epsilon", "must be [lowest, highest]|found [1, 2, 3]"),
    ("owners.epsilon=[[0, 1], [3, 2]]", "owners.epsilon", "is reversed|found [3, 2] for owner 2"),
    ("owners.epsilon=[[0, 1], [0, nan]]", "owners.epsilon", "finite numbers|found [0, nan] for owner 2"),
    ("owners.epsilon=[[0, 1]]", "owners.epsilon", "one entry per owner, 2|found 1 entries"),
    ("owners.epsilon=[]", "owners.epsilon", "must be [lowest, highest]|found []"),
]


@pytest.mark.parametrize(("override", "key", "words"), BAD, ids=[b[0][:40] for b in BAD])
def test_bad_values_name_file_key_rule_and_finding(file: Path, override: str, key: str, words: str) -> None:
    text = message(file, (override,))
    assert text.startswith(f"{file}: {key}: ")
    for part in words.split("|"):
        assert part in text, text


def test_a_misspelt_key_is_told_before_the_one_it_leaves_missing(file: Path) -> None:
    file.write_text(MINIMAL.replace("target", "targt"))
    assert 'data.targt: is not a known key; found "targt". Did you mean "target"?' in message(file)
    file.write_text(MINIMAL.replace("target", "# target"))
    assert "data.target: is required; found nothing. Name the column to predict." in message(file)


def test_names_go_with_split_only(file: Path) -> None:
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "bank"\nnames = ["A", "B"]'))
    assert "data.names: goes with split" in message(file)
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "cost"'))
    assert 'data.owner: must differ from target; found "cost"' in message(file)
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "bank"'))
    assert load(file, ["owners.benefit=[1, 2, 3]"]).owners.benefit == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("section", ["data", "owners", "policy", "learner"])
def test_a_missing_section_is_named(file: Path, section: str) -> None:
    parts = MINIMAL.split("\n[")
    file.write_text("\n[".join(part for part in parts if not part.startswith((f"{section}]", f"{section}."))))
    assert f"{file}: {section}: is required; found nothing. Add a table [{section}]" in message(file)


def test_files_that_are_no_scenarios(tmp_path: Path, file: Path) -> None:
    assert message(tmp_path / "none.toml").startswith(f"{tmp_path}/none.toml: must be a scenario file")
    assert 'Did you mean "three_insurers"?' in message("three_insurer")
    assert "found a folder" in message(tmp_path)
    assert "must be" in message("x" * 5000)
    file.write_text("seed = = 3")
    assert f"{file}: must be TOML; found Invalid value (at line 1" in message(file)
    file.write_text("seed = 1\nseed = 2")
    assert "must be TOML; found Cannot overwrite a value" in message(file)
    file.write_bytes(b'title = "\xff"')
    assert "must be TOML in UTF-8; found a stray byte in place 9" in message(file)
    file.write_text("")
    assert "data: is required" in message(file)


def test_windows_files_load(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    assert load(file).data.target == "cost"


@pytest.mark.parametrize("override", ["seed", "=3", "", "a b=3", "seed.=3", "x=1\ny"])
def test_overrides_must_be_key_and_value(file: Path, override: str) -> None:
    text = message(file, (override,))
    assert text.startswith("--set: must be key=value") or "is not a known key" in text


def test_an_override_cannot_reach_into_a_value(file: Path) -> None:
    text = message(file, ("data.target.x=1",))
    assert f'{file}: data.target: must be a table to take keys; found "cost"' in text


def test_texts_that_try_to_break_the_line_are_escaped(file: Path) -> None:
    assert '"a\\nb"' in message(file, ('data.order="a\\nb"',))
    odd = '\x00\x7f\u2028\n"\\é\U0001f600\U000e0001'
    assert tomllib.loads(f"x = {toml_text(odd)}")["x"] == odd
    assert len(toml_text(odd).splitlines()) == 1


def test_per_owner() -> None:
    assert per_owner(2.0, 3, "k") == [2.0, 2.0, 2.0]
    assert per_owner((1.0, 2.0), 2, "k") == [1.0, 2.0]
    assert per_owner(Interval(0.0, 1.0), 2, "k") == [Interval(0.0, 1.0)] * 2
    assert per_owner((Interval(0.0, 1.0), Interval(0.0, 2.0)), 2, "k")[1] == Interval(0.0, 2.0)
    with pytest.raises(InputError, match="owners.benefit: must have one entry per owner, 3; found 2 entries"):
        per_owner((1.0, 2.0), 3, "owners.benefit")


def test_nearest() -> None:
    assert nearest("Mdvis", ["mdvis", "idp"]) == 'Did you mean "mdvis"?'
    assert nearest("zzz", ["mdvis", "idp"]) == "Known here: mdvis, idp."
