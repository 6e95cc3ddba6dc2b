"""`dpmarket check`: all that a run would refuse, a line each, at once; and what the command line is blamed for."""

import json
import os
import subprocess
import sys

import pytest
from commands import SCENARIO, rows

from scenarios.runner import run
from scenarios.schema.loading import load

BY_OWNER = SCENARIO.replace("split = [40, 40]", 'owner = "kind"')


def test_every_fault_of_a_file_has_a_line(dpmarket, write):
    broken = SCENARIO.replace("budget = 10.0", "budget = -1").replace(
        "starts = 2", "starts = 0\nstart = 3"
    )
    scenario = write(
        scenario=broken.replace(
            "split = [40, 40]", "split = [40, 40]\ncheck_rows = 1\nnames = ['A']"
        )
    )
    status, out, err = dpmarket("check", scenario)
    told = [line.split(": ")[2] for line in err.splitlines()]
    assert (
        status == 2
        and out == ""
        and all(line.startswith(f"dpmarket: {scenario}: ") for line in err.splitlines())
    )
    assert sorted(told) == [
        "data.check_rows",
        "data.names",
        "market.start",
        "market.starts",
        "policy.budget",
    ]
    assert told[0] == "market.start"  # unknown keys first, as a run tells them
    assert dpmarket("run", scenario)[2] == err.splitlines(keepends=True)[0]


def test_faults_of_lists_and_of_the_table_are_told_together(dpmarket, write):
    lists = SCENARIO.replace("price = 1.0", "price = [1.0]").replace(
        "[0.1, 5.0]", "[0.1, 5.0]\nbenefit = [1, 2, 3]"
    )
    status, _, err = dpmarket("check", write(scenario=lists))
    assert (
        status == 2
        and "owners.benefit" in err
        and "owners.cost.price" in err
        and err.count("\n") == 2
    )


def test_lists_are_counted_where_a_column_names_the_owners(dpmarket, write):
    """A run told of them after half a minute, at the market; now all commands do at once."""
    scenario = write(scenario=BY_OWNER.replace("price = 1.0", "price = [1.0, 2.0, 3.0]"))
    for command in (
        ("check", scenario),
        ("run", scenario, "--out", "r"),
        ("forecast", scenario, "--epsilon", "1"),
    ):
        status, out, err = dpmarket(*command)
        assert (
            status == 2
            and out == ""
            and "owners.cost.price: must have one entry per owner, 2; found 3" in err
        )


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("polcy.budget=3", "polcy: is not a known key"),
        ("policy.budget=-3", "policy.budget: must be"),
        ("policy={price=2}", "policy.kind: is required"),
        ("policy.budget.x=1", "policy.budget: must be a table"),
        (
            "learning.loss=hinge",
            "learning.regularisation: must be above 0",
        ),  # the file is good without
        ("owners.cost.kind=quadratic", "owners.cost.price: is required"),
        ("data.target=yy", "t.csv: data.target: must name a column"),  # only the table tells
    ],
)
def test_the_command_line_is_blamed_for_what_it_broke(dpmarket, write, change, where):
    status, _, err = dpmarket("check", write(), "--set", "seed=3", "--set", change)
    assert status == 2 and err.startswith(f"dpmarket: --set {change}: ") and where in err


def test_the_file_is_blamed_for_its_own_faults(dpmarket, write):
    scenario = write(scenario=SCENARIO.replace("budget = 10.0", "budget = -1"))
    status, _, err = dpmarket("check", scenario, "--set", "seed=3", "--set", "market.starts=0")
    assert status == 2 and sorted(err.splitlines()) == [
        "dpmarket: --set market.starts=0: market.starts: must be a whole number of at least 1 and at most 10000; found 0.",
        f"dpmarket: {scenario}: policy.budget: must be a number of at least 0; found -1.",
    ]


def test_owners_are_listed_in_the_order_of_lists(dpmarket, write):
    status, out, _ = dpmarket(
        "check", write(scenario=BY_OWNER.replace("price = 1.0", "price = [1.0, 2.5]"))
    )
    lines = [line.split() for line in out.splitlines()]
    assert status == 0 and ["owner", "records", "owners.cost.price"] in lines
    assert [(line[0], line[-1]) for line in lines if line and line[0] in "ab"] == [
        ("a", "1"),
        ("b", "2.5"),
    ]


NAMED = {
    "price = 1.0": "price = {b = 2.0, a = 1.0}",
    "epsilon = [0.1, 5.0]": "epsilon = {b = [0.1, 4.0], a = [0.1, 5.0]}\nbenefit = {a = 0.0, b = 3.0}",
}
LISTED = {
    "price = 1.0": "price = [1.0, 2.0]",
    "epsilon = [0.1, 5.0]": "epsilon = [[0.1, 5.0], [0.1, 4.0]]\nbenefit = [0.0, 3.0]",
}


def replaced(changes):
    text = BY_OWNER
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def test_values_by_name_are_the_same_market_as_lists(write):
    named, listed = (load(write(scenario=replaced(changes))) for changes in (NAMED, LISTED))
    assert named.in_order_of(["a", "b"]) == listed.in_order_of(["a", "b"]) == listed
    assert named.in_order_of(["b", "a"]).owners.cost.price == (2.0, 1.0)
    owners = run(named, training=False)["scenario"]["owners"]
    assert owners["cost"]["price"] == [1.0, 2.0] and owners["epsilon"] == [[0.1, 5.0], [0.1, 4.0]]


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ("{a = 1.0}", 'one entry per owner; found none for "b"'),
        ("{a = 1.0, b = 2.0, c = 3.0}", 'must name owners; found "c"'),
        (
            "{a = 1.0, b = -2.0}",
            'of at least 0, a list with one per owner, or a table with one by name; found -2.0 for "b"',
        ),
        ("{}", "a table with one by name; found {}"),
    ],
)
def test_values_by_name_are_one_for_each_owner(dpmarket, write, prices, words):
    status, _, err = dpmarket(
        "check", write(scenario=BY_OWNER.replace("price = 1.0", f"price = {prices}"))
    )
    assert status == 2 and "owners.cost.price: must" in err and words in err


def test_an_owner_left_out_may_have_a_value(dpmarket, write):
    text = BY_OWNER.replace("price = 1.0", "price = {a = 1.0, b = 2.0, c = 3.0}")
    lines = [*rows(), *["0.5,c,1.0", "0.4,c,0.5"]]
    assert dpmarket("check", write(lines, scenario=text), "--set", "data.min_records=20")[0] == 0


CODE = "def payments(epsilon, game):\n    return {}\n"


@pytest.mark.parametrize(
    ("code", "allowed", "words"),
    [
        (CODE.format("epsilon"), False, "only with --allow-code"),
        (CODE.format("1 / 0"), True, "must not fail; found ZeroDivisionError"),
        (CODE.format("epsilon[:1]"), True, "must return one number per owner"),
        ("def payments(epsilon):\n    return epsilon\n", True, "must take (epsilon, game)"),
        (None, True, "must be a readable Python file"),
    ],
)
def test_code_that_a_run_refuses_is_refused(dpmarket, write, tmp_path, code, allowed, words):
    if code:
        (tmp_path / "p.py").write_text(code)
    scenario = write(
        scenario=SCENARIO.replace(
            'kind = "proportional"\nbudget = 10.0', 'kind = "user"\nfile = "p.py"'
        )
    )
    status, out, err = dpmarket("check", scenario, *(["--allow-code"] if allowed else []))
    assert status == 2 and out == "" and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "change, words",
    [
        ("owners.cost={kind='exponential', price=1.0}", "owners.cost: must be at most 1e+50"),
        (
            "policy={kind='thesis_leakage', price=1.0}",
            "must end at 700 or below under a thesis policy",
        ),
    ],
)
def test_budgets_that_costs_and_policies_cannot_take_are_refused(dpmarket, write, change, words):
    status, out, err = dpmarket(
        "check", write(), "--set", change, "--set", "owners.epsilon=[0, 5000]"
    )
    assert status == 2 and out == "" and words in err


def test_without_public_rows_what_nothing_public_shows_is_asked_for(dpmarket, write):
    lines = [f"{line.split(',')[0]},{line.split(',')[2]}" for line in rows()]
    scenario = SCENARIO.replace("public_rows = 30", "bounds = {x = [-3, 3], y = [-4, 4]}")
    status, _, err = dpmarket("check", write(lines, header="x,y", scenario=scenario))
    assert (
        status == 2 and "learning.theta_max: must be a number where there are no public rows" in err
    )
    assert (
        dpmarket(
            "check",
            tmp := write(lines, header="x,y", scenario=scenario),
            "--set",
            "learning.theta_max=2",
        )[0]
        == 0
    )
    status, _, err = dpmarket(
        "check", tmp, "--set", "learning={loss='network', regularisation=0.1, clip='none'}"
    )
    assert (
        status == 2
        and 'learning.clip: must be "optimal" or a number above 0 with loss "network"' in err
    )


def test_the_version_is_told(dpmarket):
    status, out, err = dpmarket("--version")
    assert status == 0 and err == "" and out.startswith("dpmarket ") and out.split()[1][0].isdigit()


def test_without_arguments_help_is_shown(dpmarket):
    status, out, err = dpmarket()
    assert status == 0 and err == "" and "Commands:" in out


def test_help_tells_where_the_data_folder_comes_from(dpmarket):
    assert "[default: $DPMARKET_DATA]" in " ".join(dpmarket("check", "--help")[1].split())


def test_shells_complete_scenarios(monkeypatch, dpmarket):
    monkeypatch.setenv("_DPMARKET_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "dpmarket check three")
    monkeypatch.setenv("COMP_CWORD", "2")
    _, out, _ = dpmarket()
    assert out.split() == ["three_insurers", "three_insurers_health"]


def test_records_that_several_owners_hold_are_warned_of_in_the_report_too(
    dpmarket, write, tmp_path
):
    scenario = write([*rows(60), *rows(60)])
    status, out, err = dpmarket("run", scenario, "--no-train", "--out", "r")
    assert status == 0 and err == "" and out.count("identical to a record of another") == 1
    result = json.loads((tmp_path / "r" / "result.json").read_text())
    assert result["data"]["identical_records"]["kappa"] == 2
    assert "identical to a record of another owner" in (tmp_path / "r" / "report.html").read_text()


HEAVY = (
    "mesa matplotlib networkx sklearn joblib scipy.stats scipy.optimize scipy.special dp_accounting opendp "
    "pyarrow.parquet exchange reproduction scenarios.tables.parts"
)
LOADED = """
import sys
from scenarios.command.main import main
sys.argv = ["dpmarket", "check", "three_insurers"]
try:
    main()
except SystemExit as stop:
    print("status", stop.code, "heavy", *sorted(set({heavy!r}.split()) & set(sys.modules)))
"""


@pytest.mark.slow
def test_a_check_loads_nothing_that_it_does_not_use():
    """Half of its second goes into pandas and NumPy; what only runs use would be two more."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(heavy=HEAVY)],
        capture_output=True,
        text=True,
        env=os.environ,
        check=True,
    )
    assert done.stdout.splitlines()[-1].split() == ["status", "0", "heavy"]
