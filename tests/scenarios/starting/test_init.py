"""`dpmarket init`: a first scenario for a table, that `check` passes and `run` gets a certified, trained result from."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from quick import quickly

from learning.errors import InputError
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.starting.first import default_name, init, named_from
from scenarios.starting.guesses import Wanted, guess
from scenarios.starting.money import BUDGETS
from scenarios.starting.shares import rows_in_order
from scenarios.tables.dataset import market_data
from scenarios.tables.reading import read_table

pytestmark = pytest.mark.coarse


def banks(count=3000, seed=3):
    """Loans of five banks: an id, a date, a constant, free text, a category, a gap, and a default that income tells of."""
    rng = np.random.default_rng(seed)
    income = np.exp(rng.normal(10, 0.5, count)).round()
    kind = rng.choice(["car", "house", "card"], count)
    late = -2 + 1.5 * (np.log(income) < 10) + (kind == "card") + rng.logistic(size=count)
    return pd.DataFrame(
        {
            "loan_id": np.arange(count) + 7000,
            "bank": rng.choice(
                [f"Bank {c}" for c in "ABCDE"], count, p=[0.3, 0.3, 0.2, 0.15, 0.05]
            ),
            "issued": [f"2020-03-{1 + i % 28:02d}" for i in range(count)],
            "income": np.where(rng.random(count) < 0.02, np.nan, income),
            "kind": kind,
            "country": "DE",
            "note": [f"note {i}" for i in rng.permutation(count)],
            "defaulted": np.where(late > 0, "yes", "no"),
        }
    )


def regression(count=2000, seed=5):
    """Two inputs, a linear target, no owner."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, count))
    return pd.DataFrame({"a": a, "b": b, "sales": a - b + rng.normal(size=count)}).round(4)


@pytest.fixture
def table(tmp_path):
    """Writes a table and returns its path."""

    def write(frame, name="t.csv"):
        path = tmp_path / name
        frame.to_parquet(path, index=False) if name.endswith("parquet") else frame.to_csv(
            path, index=False
        )
        return path

    return write


@pytest.fixture(scope="module")
def traded(tmp_path_factory):
    """What `init` wrote for the banks, and a run of it."""
    path = tmp_path_factory.mktemp("banks") / "t.parquet"
    banks().to_parquet(path, index=False)
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch.setattr, coarse=True)
        file = init(path, out=path.with_name("t.toml"))
        yield file, run(load(file, ["validation.runs=20", "market.starts=2"]))


def guessed(path, **wanted):
    return guess(read_table(path), Wanted(**wanted), None)


def test_three_commands_lead_from_a_table_to_a_certified_trained_result(dpmarket, table):
    table(regression())
    status, out, err = dpmarket("init", "t.csv")
    assert (status, err) == (0, "") and "written: t.toml" in out and "--owner COLUMN" in out
    status, out, _ = dpmarket("check", "t.toml")
    assert (
        status == 0
        and "A run takes about" in out
        and "Each owner sends: the number of its records" in " ".join(out.split())
    )
    result = run(load("t.toml", ["validation.runs=20", "market.starts=2"]))
    assert (
        result["equilibrium"]["converged"] and result["claims"] and result["validation"]["agrees"]
    )
    sold = [owner["epsilon"] for owner in result["owners"]]
    assert (
        sold == pytest.approx([sold[0]] * 3, rel=0.02)
        and min(abs(sold[0] / np.array(BUDGETS) - 1)) < 0.05
    )
    assert result["learner"]["buying_pays"] is None and result["forecast"]["basis"] == "public"


@pytest.mark.slow
def test_a_table_with_owners_and_labels_trades(traded):
    file, result = traded
    text = file.read_text()
    assert 'owner = "bank"' in text and 'positive = "yes"' in text and 'loss = "logistic"' in text
    assert (
        result["equilibrium"]["converged"]
        and result["validation"]["agrees"]
        and len(result["claims"]) == 5
    )


def test_no_private_cell_moves_anything_that_is_written(dpmarket, table):
    """Whatever stands in a row that is not public, but for whose it is."""
    frame = regression(2000).assign(site=np.arange(2000) % 3 + 10)
    path = table(frame)
    assert dpmarket("init", path, "--out", "a.toml")[0] == 0
    public = market_data(load("a.toml")).division.public
    assert len(public) == 100
    other = frame.astype(object)
    private = np.setdiff1d(np.arange(2000), public)
    anything = np.array(["4?x", "", "1e300", "-1e9", "7", "0.5", "-0.5", "0.1"], dtype=object)
    other.loc[private, ["a", "b", "sales"]] = np.random.default_rng(1).choice(
        anything, (len(private), 3)
    )
    table(other)
    assert dpmarket("init", path, "--out", "b.toml")[0] == 0
    read = [Path(name).read_text().replace(name, "x") for name in ("a.toml", "b.toml")]
    assert read[0].replace('title = "a"', "") == read[1].replace('title = "b"', "")


def test_what_is_no_feature_is_left_out_with_the_reason(table):
    frame = banks(1200)
    frame["twice"] = frame.defaulted.map({"yes": 2.0, "no": 1.0})
    found = guessed(table(frame[[*frame.columns[:-2], "twice", "defaulted"]]))
    why = found.features.left_out
    assert found.target.column.name == "defaulted" and found.labels == ("no", "yes")
    assert found.owner.column.name == "bank" and found.features.used == ("income", "kind")
    assert why["loan_id"].startswith("it names rows") and why["issued"].startswith("dates")
    assert why["country"] == "only one value" and why["note"].endswith("different texts")
    assert why["twice"] == "it determines the target"


def test_numbers_that_give_the_target_away_together_are_found(table):
    frame = regression(1000)
    frame["sold"] = frame.sales - 2 * frame.a
    found = guessed(table(frame[["a", "b", "sold", "sales"]]))
    assert found.features.left_out == {"sold": "together with others it determines the target"}


def test_the_user_overrules_every_guess(dpmarket, table):
    path = table(banks(2400))
    named = guessed(path, target="income", owner="kind")
    assert named.target.column.name == "income" and named.labels == () and named.limits is not None
    assert named.owner.column.name == "kind" and "defaulted" in named.features.used
    shared = guessed(path, owners=4)
    assert shared.owner is None and shared.holders.keys["names"] == [
        "Owner 1",
        "Owner 2",
        "Owner 3",
        "Owner 4",
    ]
    assert len(set(shared.holders.sizes)) == 1 and "bank" in shared.features.used


def test_a_guess_that_more_public_rows_show_to_be_wrong_is_made_anew(table):
    """Two texts in the first public rows, of which one is rare; a third one shows in those that become public for that."""
    frame = regression(400)
    first, more = (rows_in_order(400)[-count:] for count in (60, 100))
    frame["state"] = "open"
    frame.loc[first[:3], "state"] = "lost"
    frame.loc[np.setdiff1d(more, first)[:5], "state"] = "won"
    path = table(frame[["a", "b", "sales", "state"]])
    with pytest.raises(InputError, match="no column is clearly the one to predict"):
        guessed(path)
    with pytest.raises(InputError, match="--target: must hold numbers or two values"):
        guess(read_table(path), Wanted(), lambda question, offered: offered)


def test_no_owners_at_all_are_refused(table):
    with pytest.raises(InputError, match="--owners: must be 1 or more; found 0"):
        guessed(table(regression()), owners=0)


def test_questions_are_put_with_the_guess_and_answers_are_taken(table):
    asked = []

    def ask(question, offered):
        asked.append(offered)
        return {"defaulted": "income", "bank": "-"}[offered]

    found = guess(read_table(table(banks(1200))), Wanted(), ask)
    assert (
        asked == ["defaulted", "bank"]
        and found.target.column.name == "income"
        and found.owner is None
    )


def test_numbers_may_name_owners_one_may_be_alone_and_tiny_ones_are_left_out(table):
    frame = regression(2000).assign(
        hospital_id=np.where(np.arange(2000) < 9, 77, np.arange(2000) % 4 + 1000)
    )
    found = guessed(table(frame[["hospital_id", "a", "b", "sales"]]))
    assert (
        found.owner.column.name == "hospital_id"
        and found.holders.least > 20
        and len(found.holders.sizes) == 4
    )
    alone = guessed(table(frame.assign(site=1)[["site", "a", "b", "sales"]]), owner="site")
    assert len(alone.holders.sizes) == 1


def test_more_rows_become_public_where_a_label_is_rare(table):
    frame = regression(4000)
    frame["fraud"] = np.where(frame.sales > frame.sales.quantile(0.99), 1, 0)
    found = guessed(table(frame[["a", "b", "fraud"]]), target="fraud")
    assert found.public == 1000 and found.labels == (0.0, 1.0)  # a quarter: 10 or so of 40
    with pytest.raises(InputError, match="no column is clearly"):
        guessed(table(frame[["a", "b", "fraud"]]))


def test_a_target_with_few_far_values_is_cut_off_in_public(table):
    rng = np.random.default_rng(4)
    frame = regression(4000).assign(claim=np.exp(5 + rng.normal(0, 1.2, 4000)))
    low, high = guessed(table(frame[["a", "b", "claim"]])).limits
    assert 0 < low < 50 and 1000 < high < frame.claim.max()
    assert guessed(table(regression())).limits is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a,b", "1,2", "3,4"], "rows: must be 100 or more to share out; found 2 rows."),
        ([""], "must have rows and columns; found an empty file."),
        (
            ["a,y", *["1,2"] * 200],
            "--target: needs a column of numbers or of two values to predict",
        ),
        (
            ["y", *map(str, np.random.default_rng(0).normal(size=200))],
            'found no column beside "y".',
        ),
        (["a,b", "1,\0"], "must be CSV, CSV.gz or Parquet; found a binary file."),
        (
            ["a\x1b,y", *[f"{i % 7},{i % 11}" for i in range(200)]],
            "its name has an invisible character",
        ),
    ],
)
def test_a_table_that_will_not_do_is_refused_in_one_line(dpmarket, tmp_path, lines, said):
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n" * (len(lines) > 1))
    status, out, err = dpmarket("init", "t.csv")
    assert (status, out) == (2, "") and said in err and err.count("\n") == 1
    assert not (tmp_path / "t.toml").exists()


def test_places_and_options_that_will_not_do_are_refused_in_one_line(dpmarket, table, tmp_path):
    table(regression(200))
    (tmp_path / "t.toml").write_text("mine")
    for arguments, said in [
        (
            ("t.csv",),
            "must be a new file; found t.toml. Choose another name with --out FILE, or replace this file",
        ),
        (("t.csv", "--out", "no/t.toml"), "--out: must lie in a folder that exists"),
        (("t.csv", "--out", tmp_path, "--force"), "--out: must be a new file"),
        (
            ("t.csv", "--owner", "a", "--owners", 3, "--out", "u.toml"),
            "--owners: cannot be used with --owner",
        ),
        (
            ("t.csv", "--owners", 150, "--out", "u.toml"),
            "--owners: must leave each owner two or more rows",
        ),
        (("t.csv", "--target", "sale", "--out", "u.toml"), 'Did you mean "sales"?'),
        (
            ("t.csv", "--owner", "sales", "--target", "sales", "--out", "u.toml"),
            "must differ from the target",
        ),
        (("u.csv", "--out", "u.toml"), "must be a file that exists; found no such file."),
    ]:
        status, out, err = dpmarket("init", *arguments)
        assert (status, out) == (2, "") and said in err and err.count("\n") == 1
    assert (tmp_path / "t.toml").read_text() == "mine" and not (tmp_path / "u.toml").exists()


def test_from_python_it_is_the_file_of_the_command(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []

    def drafted(guesses, path, out, *_):
        asked.append((guesses.target.column.name, path, out))
        return SimpleNamespace(text=f"# {path}")

    monkeypatch.setattr("scenarios.starting.first.draft", drafted)
    table(regression(200))
    assert (
        init("t.csv", "sales", owners=2) == Path("t.toml")
        and (tmp_path / "t.toml").read_text() == "# t.csv"
    )
    assert init("t.csv", "sales", owners=2, out="u.toml") == Path("u.toml") and asked[1] == (
        "sales",
        Path("t.csv"),
        Path("u.toml"),
    )
    with pytest.raises(InputError, match="--out: must be a new file; found t.toml"):
        init("t.csv", owners=2)


def test_a_scenario_is_named_after_its_table_and_names_it_from_its_own_folder(
    dpmarket, table, tmp_path, monkeypatch
):
    def stop(guesses, path, out, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr("scenarios.starting.first.draft", stop)
    table(regression(200))
    assert dpmarket("init", "t.csv")[0] == 130 and not (tmp_path / "t.toml").exists()
    assert default_name(Path("x/claims.2020.parquet")) == Path("claims.2020.toml")
    assert default_name(Path(".csv")) == Path("scenario.toml")
    assert named_from(tmp_path / "d" / "t.csv", tmp_path / "s.toml") == str(Path("d") / "t.csv")
    assert named_from(tmp_path / "t.csv", tmp_path / "d" / "s.toml") == str(tmp_path / "t.csv")


def test_leaks_are_left_out_and_indices_are_kept_by_what_they_hold(table):
    frame = regression(2000)
    rng = np.random.default_rng(4)
    frame["logsales"] = frame.sales + 0.3 * rng.normal(size=2000)
    frame["duration"] = rng.normal(size=2000).round(3)
    frame["death"] = rng.integers(0, 2, 2000)
    frame["cons.price.idx"] = rng.choice([92.893, 93.994, 94.465], 2000)
    frame["sex"] = rng.choice(["f", "m"], 2000)
    found = guessed(table(frame), target="sales")
    why = found.features.left_out
    assert "later" in why["death"]
    assert why["logsales"].startswith("alone it explains 9") and "later" in why["duration"]
    assert set(found.features.used) == {"a", "b", "cons.price.idx", "sex"}
    assert found.protected == ["sex"]


def test_no_target_is_guessed_where_none_is_clear(dpmarket, table):
    frame = regression(600)
    frame["Gender"] = np.random.default_rng(1).choice(["F", "M"], 600)
    status, _, err = dpmarket("init", table(frame))
    assert status != 0 and "--target" in err and "no column is clearly the one" in err
    assert guessed(table(frame), target="Gender").target.column.name == "Gender"


def test_nothing_is_invented_for_the_learner_and_records_are_paid_alike(traded):
    file, result = traded
    scenario = load(file)
    assert not scenario.learner.knows_value
    assert scenario.inputs.assumed == ("owners.cost.price", "policy.price")
    rates = [one["payment"] / one["records"] for one in result["owners"]]
    assert rates == pytest.approx([rates[0]] * 5) and result["learner"]["buying_pays"] is None
