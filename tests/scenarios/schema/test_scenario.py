"""Scenario files: defaults, overrides and round trips."""

import tomllib
from pathlib import Path

import pytest
from minimal import MINIMAL, message

from scenarios.schema.data import PUBLISHED
from scenarios.schema.fields import Interval
from scenarios.schema.loading import library_scenarios, load
from scenarios.schema.scenario import scenario_model, sha256


def test_defaults_are_filled_in(file: Path) -> None:
    scenario = load(file)
    assert scenario.owners.epsilon == Interval(0.5, 2.0)
    assert scenario.owners.cost.price == 1.0 and isinstance(scenario.owners.cost.price, float)
    assert (scenario.learning.start, scenario.learning.precondition) == ("zero", False)
    assert (scenario.data.missing, scenario.data.order, scenario.data.holdout) == (
        "error",
        "shuffled",
        0.0,
    )
    assert (
        scenario.market.damping is None and scenario.validation.runs == 100 and scenario.seed == 0
    )
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
    ["data.public_rows=3", "data.bounds.cost=[0, 20]", 'data.bounds."a \\"b\\" = c"=[-1.5, 1e14]'],
    ["owners.epsilon=[[0, 1], [0.1, 10]]", "owners.benefit=[0, 3.5]", "owners.cost.price=[1, 2]"],
    [
        "market.activation=simultaneous",
        "market.damping=0.25",
        "learning.horizon=7",
        "learning.clip=none",
    ],
    ["market.activation=poisson"],
    [
        'data.names=["A\\\\B", "Ü \\"q\\"\\U0001F600"]',
        'title="two\\nlines\\t\\u007f"',
        "data.holdout=rest",
    ],
    ['owners.cost={kind="leakage", price=0.02, values=4}', 'policy={kind="marginal", share=0.5}'],
    [
        'policy={kind="proportional", budget=10, basis="epsilon"}',
        'owners.cost={kind="quadratic", price=1}',
    ],
    [
        'owners.cost={kind="channel", price=1, values=2, prior=[0.25, 0.75]}',
        "owners.fixed_cost=[1, 2]",
    ],
    [
        'policy={kind="tiers", thresholds=[0.5, 1], amounts=[3, 4]}',
        'owners.cost={kind="belief", price=1}',
    ],
    ["learning.loss=network", "learning.regularisation=0.1", "data.positive=yes"],
    [
        "learning.loss=hinge",
        "learning.regularisation=0.1",
        "data.positive=4",
        "learning.weights=precision",
    ],
    ["learning.loss=hinge", "learning.regularisation=0.1", "data.labels=[2, 4]"],
    ["learning.mechanism=best", "learning.delta=1e-6", "learning.algorithm=sgd2"],
    ["learning.accounting=pld", "learning.delta=1e-6"],
    ["learning.algorithm=adassp", "learning.mechanism=gaussian", "learning.delta=1e-6"],
    ["learning.algorithm=asynchronous", "learning.regularisation=1e-5"],
    [
        "learning.algorithm=asynchronous",
        "learning.regularisation=1e-5",
        "learning.clocks.rates=[1, 2.5]",
        "learning.clocks.dropout=[0, 0.5]",
        "learning.clocks.scaled=false",
        'learning.clocks.groups=[["owner 2", "owner 1"]]',
    ],
    [
        "learning.theta_max=3",
        "learning.step_size=1e-30",
        "data.components=2",
        'data.features=["a", "b"]',
    ],
]


@pytest.mark.parametrize("overrides", VARIANTS)
def test_the_resolved_text_loads_to_an_equal_scenario(file: Path, overrides: list[str]) -> None:
    scenario = load(file, overrides)
    again = file.with_name("again.toml")
    again.write_text(scenario.to_toml(), encoding="utf-8")
    assert load(again) == scenario
    assert load(again).to_toml() == scenario.to_toml()


LIBRARY: dict[
    str, tuple[str, str, str, int | None]
] = {  # loss, algorithm, mechanism, records of all owners
    "adult_income": ("logistic", "weighted", "gaussian", 24_000),
    "bank_calls": ("logistic", "best", "best", 36_000),
    "cancer_clinics": ("logistic", "best", "best", 570),
    "fraud_detection": ("hinge", "best", "best", 11_400),
    "hospitals": ("squared", "asynchronous", "gaussian", None),
    "lending_banks": ("squared", "best", "best", 107_700),
    "three_insurers": ("squared", "best", "best", 20_040),
    "three_insurers_health": ("logistic", "best", "best", 19_500),
}


def test_the_library_is_whole() -> None:
    assert set(library_scenarios()) == set(LIBRARY)


@pytest.mark.usefixtures("as_for_users")
@pytest.mark.parametrize("name", LIBRARY)
def test_library_scenarios_load_and_round_trip(name: str) -> None:
    scenario = load(name)
    assert (
        scenario_model().model_validate(tomllib.loads(scenario.to_toml())).to_toml()
        == scenario.to_toml()
    )
    loss, algorithm, mechanism, records = LIBRARY[name]
    learning = scenario.learning
    split = scenario.data.split
    assert (learning.loss, learning.algorithm, learning.mechanism) == (loss, algorithm, mechanism)
    assert (None if split is None else sum(split)) == records
    assert split is None or len(scenario.data.names or ()) == len(split)
    text = library_scenarios()[name].read_text(encoding="utf-8")
    assert text.startswith("# ") and len(text.splitlines()[0]) <= 90, (
        "its first line is shown in the list"
    )
    assert scenario.data.source in ("randhie", *PUBLISHED) and scenario.title


@pytest.mark.parametrize("name", LIBRARY)
def test_every_path_given_takes_the_place_of_the_source(name: str, tmp_path: Path) -> None:
    assert load(name, [f"data.path={tmp_path}/x.csv"]).data.source is None


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
        "clipping",
        "growth",
        "overlap",
        "horizon",
        "step_size",
        "returned",
        "start",
        "precondition",
        "exact",
    }
    assert set(resolved["market"]) == {
        "activation",
        "agents",
        "starts",
        "max_rounds",
        "participation",
        "tol",
    }
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


def test_a_source_and_a_path_take_each_others_place_unless_both_are_given(file: Path) -> None:
    scenario = load(file, ["data.source=randhie"])
    assert (scenario.data.source, scenario.data.path) == ("randhie", None)
    text = message(file, ("data.source=randhie", "data.path=a.csv"))
    assert (
        "--set data.source=randhie: data.source: give exactly one of source and path: one table; found s"
        in text
    )
    assert "found source and path" in message(file, ("data.path=a.csv", "data.source=randhie"))
    file.write_text(MINIMAL.replace("path =", 'source = "randhie"\npath ='))
    assert "found source and path" in message(file)
    assert load(file, ["data.path=/a.csv"]).data.path == "/a.csv"
    file.write_text(MINIMAL.replace('path = "claims.csv"', ""))
    assert "data.source: give exactly one of source and path: one table; found neither" in message(
        file
    )


def test_the_data_folder_is_given_or_named_by_a_variable(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPMARKET_DATA", raising=False)
    assert load(file).data_folder is None
    assert load(file, data_folder="here").data_folder == tmp_path / "here"
    monkeypatch.setenv("DPMARKET_DATA", "/there")
    assert load(file).data_folder == Path("/there")
    assert load(file, data_folder=tmp_path).data_folder == tmp_path
    monkeypatch.setenv("DPMARKET_DATA", "")
    assert load(file).data_folder is None
