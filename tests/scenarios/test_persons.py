"""A person as the unit, from the column of a table to the report."""

import numpy as np
import pandas as pd
import pytest
from commands import TRADE
from quick import quick_module

from learning.data.division import Division, cap_persons
from learning.data.feature_names import feature_names
from learning.data.rows import RowLabels
from learning.errors import InputError
from scenarios.command.check_printed import print_check
from scenarios.command.console import print_result
from scenarios.planning import prepare
from scenarios.report.page import write_report
from scenarios.result import save_result
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.studies.audit import audit_scenario

__all__ = ["quick_module"]  # a fixture of every test

PUBLIC = 40
SCENARIO = (
    """
seed = 4
[data]
path = "t.csv"
target = "y"
owner = "bank"
order = "as_is"
public_rows = 40
person = "name"
rows_per_person = 3
[data.bounds]
y = [-6, 6]
[learning]
overlap = 2
horizon = 3
step_size = 0.1
clip = 2.0
theta_max = 1.0
returned = "last"
[owners]
epsilon = [0.1, 5.0]
"""
    + TRADE
    + """\
[market]
starts = 1
[validation]
runs = 2
"""
)


def table():
    """Persons of one to five rows, some of them at both banks; the last rows are public and of others."""
    draw = np.random.default_rng(8)
    rows = []
    for number in range(60):
        banks = (
            draw.choice(["A", "B"], size=1 + number % 5)
            if number % 7 == 0
            else [("A", "B")[number % 2]] * (1 + number % 5)
        )
        rows += [(bank, f"xq{number:04}") for bank in banks]
    rows += [("A", "")] * 4 + [("B", f"public {i}") for i in range(PUBLIC)]
    x = draw.uniform(-1, 1, len(rows)).round(3)
    y = (2 * x + draw.normal(size=len(rows))).round(3)
    return pd.DataFrame(rows, columns=["bank", "name"]).assign(x=x, y=y)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("persons")
    table().to_csv(folder / "t.csv", index=False)
    (folder / "s.toml").write_text(SCENARIO)
    return folder / "s.toml"


@pytest.fixture(scope="module")
def made(path):
    return run(load(path))


def test_an_owner_keeps_so_many_rows_of_a_person(path):
    """Counted beside pandas; the rows of nobody are one person's. What one person has does not decide what others keep."""
    whole = table()[:-PUBLIC]
    data = prepare(load(path)).data
    kept = whole.groupby(["bank", "name"]).head(3)
    assert data.sizes.tolist() == kept.groupby("bank").size().tolist()
    named = kept[kept.name != ""].groupby("name").bank.nunique()
    assert data.persons.left_out == len(whole) - len(kept) > 0
    assert (
        (data.persons.kappa, data.persons.shared)
        == (named.max(), (named > 1).sum())
        == (2, data.persons.shared)
    )
    assert not any("name" in feature for feature in feature_names(data.encoder))

    rows = np.random.default_rng(0).permutation(50)
    names = np.random.default_rng(1).integers(0, 12, 50).astype(str)
    division = Division({"A": rows}, rows[:0], rows[:0], 0)
    before, _ = cap_persons(division, RowLabels.of(names.tolist()), 2)
    moved = np.where(names == "3", "another", names)
    after, _ = cap_persons(division, RowLabels.of(moved.tolist()), 2)
    assert before.owners["A"].tolist() == after.owners["A"].tolist()


def test_noise_is_k_fold_and_nothing_else_moves(path):
    """The same rows, at most three of a person, sold as records, as persons of three rows, and as persons of six."""
    rows = table()
    rows = rows[rows.groupby(["bank", "name"]).cumcount() < 3].assign(name=lambda t: t.name + "!")
    rows.to_csv(path.parent / "three.csv", index=False)
    text = SCENARIO.replace('person = "name"\nrows_per_person = 3', 'features = ["x"]').replace(
        "t.csv", "three.csv"
    )
    (path.parent / "records.toml").write_text(text)
    epsilon = np.array([1.0, 2.0])
    three = f"data.path={path.parent / 'three.csv'}"

    def noise_and_rest(*sets):
        of = {k: prepare(load(path, [three, f"data.rows_per_person={k}", *sets])) for k in (3, 6)}
        of[1] = prepare(load(path.parent / "records.toml", sets))
        assert len({tuple(made.data.sizes) for made in of.values()}) == 1
        noise = {k: made.planner.forecast.noise_part(epsilon) for k, made in of.items()}
        return noise, {k: made.planner.forecast.at(epsilon) - noise[k] for k, made in of.items()}

    noise, rest = noise_and_rest(
        "learning.theta_max=5.0", "learning.clip=none", "learning.step_size=2e-4"
    )
    assert noise[3] == pytest.approx(9 * noise[1], rel=1e-9) and noise[6] == pytest.approx(
        36 * noise[1], rel=1e-9
    )
    assert rest[3] == pytest.approx(rest[1], rel=1e-9)
    rehearsed, _ = noise_and_rest()  # the ball holds some of the noise back
    assert (
        3 * rehearsed[1] < rehearsed[3] < 9 * rehearsed[1]
        and rehearsed[3] < rehearsed[6] < 36 * rehearsed[1]
    )


def test_claims_and_report_are_of_persons_and_name_nobody(made, tmp_path, capsys):
    content = made.content
    assert {claim["unit"] for claim in content["claims"]} == {"one person, up to 3 records"}
    replaced = "replace one person's rows, at most 3 at an owner, by as many"
    assert {claim["adjacency"] for claim in content["claims"]} == {
        replaced,
        f"{replaced} at all of up to 2 owners",
    }
    joint = [claim["epsilon"] for claim in content["claims"] if claim["joint"]]
    sold = sum(owner["epsilon"] for owner in content["owners"])
    assert joint == pytest.approx([sold / 2] * 2)
    assert (
        content["data"]["persons"]["kappa"] == 2
        and content["privileged"]["data.persons"] == "measured"
    )
    save_result(made, tmp_path / "out", write_report)
    print_result(content, tmp_path / "out")
    shown = capsys.readouterr().out + "".join(
        p.read_text() for p in (tmp_path / "out").iterdir() if p.is_file()
    )
    assert (
        "rows left out by their owners, who keep 3 of a person" in shown
        and "all rows of one person" in shown
    )
    assert "xq0" not in shown


def test_persons_with_more_owners_than_stated_are_told_of_and_refuse_nothing(
    path, tmp_path, capsys
):
    """Owners' rows are not the learner's to count: a refusal would tell of them. Claims are the same, whosever they are."""
    scenario = load(path, ["learning.overlap=1"])
    print_check(scenario, prepare(scenario).data, 0.0)
    told = [" ".join(capsys.readouterr().out.split())]
    shared = run(scenario)
    save_result(shared, tmp_path / "out", write_report)
    print_result(shared.content, tmp_path / "out")
    told += [
        " ".join(capsys.readouterr().out.split()),
        " ".join((tmp_path / "out" / "report.html").read_text().split()),
    ]
    for text in told:
        assert (
            "persons have rows at several owners" in text
            and "Set learning.overlap to 2" in text
            and "Nothing is guaranteed against an observer of all answers" in text
        )
    assert all("warning" in text.partition("persons have rows")[0] for text in told[:2])
    assert (
        told[2].index('id="promised"')
        < told[2].index("persons have rows")
        < told[2].index('id="small-print"')
    )

    frame = table()
    frame["name"] += frame["bank"]  # nobody is at two banks
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.toml").write_text(SCENARIO)
    apart = run(load(tmp_path / "s.toml", ["learning.overlap=1"]))
    assert apart.content["data"]["persons"]["kappa"] == 1
    assert apart.content["claims"] == shared.content["claims"]


def test_an_audit_replaces_persons(path):
    found = audit_scenario(load(path), lambda count: np.ones(count), draws=200)
    assert not found.refuted and [finding.owner for finding in found.findings][-1] == "(one person)"


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["data.person=y"], "data.person: must differ from target and owner"),
        (["data.person=bank"], "data.person: must differ from target and owner"),
        (["data.features=['name', 'x']"], "data.features: must not contain the person column"),
        (["data.unit=a year"], "data.unit: must be left out with data.person"),
        (["data.rows_per_person=0"], "data.rows_per_person: must be"),
        (["data.person=nme"], 'data.person: must name a column of the table; found "nme"'),
        (
            ["owners.report=0.05"],
            "data.rows_per_person: must be 1 in a scenario with owners.report",
        ),
        (
            [
                "learning.algorithm=sgd1",
                "learning.mechanism=gaussian",
                "learning.delta=1e-6",
                "learning.regularisation=0.1",
            ],
            "data.rows_per_person: must be 1 in a scenario with an algorithm that picks single records",
        ),
        (
            [
                "learning.algorithm=sgd2",
                "learning.mechanism=gaussian",
                "learning.delta=1e-6",
                "learning.accounting=printed",
            ],
            'data.rows_per_person: must be 1 in a scenario with learning.accounting = "printed"',
        ),
    ],
)
def test_what_is_not_counted_is_refused(path, sets, told):
    with pytest.raises(InputError) as error:
        prepare(load(path, [*sets, "learning.overlap=1"]))
    assert told in str(error.value)


def test_rows_of_a_person_go_with_a_person(path):
    (path.parent / "none.toml").write_text(SCENARIO.replace('person = "name"\n', ""))
    with pytest.raises(InputError, match="data.rows_per_person: needs data.person"):
        load(path.parent / "none.toml")
