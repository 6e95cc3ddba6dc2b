"""No private cell moves anything public: owners' rows replaced by noise, by junk and by nothing, in every basis."""

import contextlib
import io
import itertools
import json
import random
import re

import numpy as np
import pandas as pd
import pytest
from commands import SCENARIO as WHOLE
from commands import TRADE

from learning.data.encoded import feature_bound
from learning.data.feature_names import feature_names
from learning.errors import InputError
from learning.randomness import Streams
from scenarios.command.check_printed import print_check
from scenarios.command.console import print_result
from scenarios.features import FEATURES
from scenarios.result import to_plain
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.summary.content import mark_privileged
from scenarios.tables.dataset import market_data

COUNTED = "only the simulator can count this"  # beside what no party to the market can count

ROWS = 150
PUBLIC = 40
CHECK = 6
SCENARIO = (
    """
seed = 4
[data]
path = "t.{kind}"
target = "y"
missing = "{missing}"
{owners}
{public}
[learning]
loss = "{loss}"
{learning}
[owners]
epsilon = [0.1, 5.0]
benefit = {benefit}
"""
    + TRADE
    + """\
[market]
starts = 1
[validation]
runs = 2
"""
)
OWNERS = {"split": "split = [60, 40]", "owner": 'owner = "bank"\nmin_records = 20\nholdout = 0.05'}
OWN_ROWS = f"public_rows = {PUBLIC}\ncheck_rows = {CHECK}"
NO_ROWS = 'features = ["age", "smoker"]\n{labels}\n[data.bounds]\nage = [20, 80]\nsmoker = [0, 1]\n{target}'
TRAINING = {
    "squared": "horizon = 3",
    "logistic": "horizon = 3\nstep_size = 1.0\nregularisation = 0.01",
}
JUNK = [
    "4?x",
    "",
    "inf",
    "-1e300",
    "12345678901234567890",
    "1;5",
    "secret",
    "<b>",
    "True",
    "1" * 400,
    "NaN",
    "x y",
]
PRIVATE = re.compile(
    r"4\?x|1e\+?300|1234567890|secret|<b>|1{20}|elsewhere"
)  # what only private rows hold


def table(loss, missing, public):
    """Numbers, categories, yes and no as texts, with holes in public rows where these may have some."""
    draw = np.random.default_rng(3)
    age = draw.uniform(20, 80, ROWS).round(2)
    y = (0.05 * age + draw.normal(size=ROWS)).round(3)
    made = pd.DataFrame(
        {
            "bank": draw.choice(["A", "B"], ROWS),
            "age": age,
            "visits": draw.poisson(3, ROWS),
            "city": draw.choice(["bonn", "kiel", "ulm"], ROWS),
            "smoker": draw.choice(["True", "False"], ROWS),
            "y": np.where(y > np.median(y), "yes", "no") if loss == "logistic" else y,
        }
    ).astype(str)
    if missing != "error":
        made.loc[public[:2], "age"], made.loc[public[2:3], "city"] = "", ""
    return made


def other_values(frame, private):
    """Private rows of other numbers, far beyond the public ones, and of categories and labels that nobody knows."""
    draw = np.random.default_rng(5)
    made = frame.copy()
    for name, column in frame.drop(columns="bank").items():
        numbers = (draw.standard_cauchy(len(private)) * 1e3).round(3)
        texts = draw.choice([*sorted(set(column) - {""}), "elsewhere"], len(private))
        made.loc[private, name] = (
            texts if name in ("city", "smoker") or "yes" in set(column) else numbers.astype(str)
        )
    return made


def unreadable(frame, private):
    """Private rows of which every other cell is no number, no category, or empty."""
    draw = np.random.default_rng(6)
    made = frame.copy()
    for name in frame.columns.drop("bank"):
        hit = draw.choice(private, len(private) // 2, replace=False)
        made.loc[hit, name] = draw.choice(JUNK, len(hit))
    return made


def one_cell(frame, private):
    """One private cell that is no number, and one row of nothing."""
    made = frame.copy()
    made.loc[private[0], "age"], made.loc[private[1], made.columns.drop("bank")] = "4?x", ""
    return made


def both(frame, private):
    """Other numbers and categories, and half of them unreadable."""
    return unreadable(other_values(frame, private), private)


DAMAGE = (other_values, unreadable, one_cell)


class Market:
    """A market on a small table, whose private rows can be replaced."""

    def __init__(
        self, folder, loss="squared", kind="csv", missing="fill", owners="split", basis="public"
    ):
        self.folder = folder
        self.kind = kind
        labels = loss == "logistic"
        none = NO_ROWS.format(
            labels='labels = ["no", "yes"]' if labels else "", target="" if labels else "y = [0, 5]"
        )
        oracle = basis == "oracle"
        text = SCENARIO.format(
            kind=kind,
            missing=missing,
            owners=OWNERS[owners],
            public=none if oracle else OWN_ROWS,
            loss=loss,
            learning=TRAINING[loss] + ("\ntheta_max = 3.0" if oracle else ""),
            benefit=300.0 if basis == "benefit" else 0.0,
        )
        (folder / "s.toml").write_text(text)
        self.scenario = load(str(folder / "s.toml"))
        order = Streams(4, "data").rng("order").permutation(ROWS)
        self.private, self.public = np.split(order, [ROWS if oracle else ROWS - PUBLIC - CHECK])
        self.frame = table(loss, missing, self.public)

    def write(self, damage=None):
        """The table with its private rows replaced; in Parquet, columns of which all cells are numbers are typed so."""
        frame = self.frame if damage is None else damage(self.frame, self.private)
        path = self.folder / f"t.{self.kind}"
        if self.kind == "csv":
            frame.to_csv(path, index=False)
            return
        typed = frame.replace("", None)
        for name, column in typed.items():
            with contextlib.suppress(ValueError, TypeError):
                typed[name] = pd.to_numeric(column)
        typed.to_parquet(path, index=False)

    def facts(self, damage=None):
        """What everybody may know, by name: bytes of all that is public, and what `check` prints of it."""
        self.write(damage)
        data = market_data(self.scenario)
        encoder = data.encoder
        division = data.division
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print_check(self.scenario, data, 0.0)
        arrays = (
            encoder.numbers.low,
            encoder.numbers.high,
            encoder.numbers.fill,
            feature_bound(encoder),
            data.sizes,
        )
        public = (
            ()
            if data.public is None
            else (data.public.x, data.public.y, data.aside.x, data.aside.y)
        )
        return {
            "arrays": [
                a.tobytes() for a in (*arrays, *public, division.public, *division.owners.values())
            ],
            "target": encoder.target,
            "features": (
                feature_names(encoder),
                encoder.dropped,
                data.table.labels,
                data.table.n_dropped,
            ),
            "owners": (
                data.names,
                division.left_over,
                division.too_small,
                division.holdout.tobytes(),
            ),
            "printed": [line for line in out.getvalue().splitlines() if COUNTED not in line],
        }

    def result(self, damage=None):
        """A run, and what is printed of it."""
        self.write(damage)
        result = run(self.scenario)
        content = to_plain(result.content)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print_result(content, self.folder)
        assert not PRIVATE.search(out.getvalue() + json.dumps(content | {"scenario": None}))
        return result, content, out.getvalue()


def leaves(value, path=""):
    """(path, leaf) of everything in a result; an entry of a list is called [] whichever it is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield f"{path}#", len(value)
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


def moved(one, two):
    """Paths of what differs between two results."""
    sides = [{}, {}]
    for found, content in zip(sides, (one, two), strict=True):
        for path, leaf in leaves(content):
            found.setdefault(path, []).append(leaf)
    return {
        path
        for path in sides[0].keys() | sides[1].keys()
        if sides[0].get(path) != sides[1].get(path)
    }


def marked(path, marks):
    return any(
        path == mark or path.startswith((f"{mark}.", f"{mark}[", f"{mark}#")) for mark in marks
    )


WAYS = (("squared", "logistic"), ("csv", "parquet"), ("error", "drop", "fill"), ("split", "owner"))
SETTINGS = random.Random(12).sample(
    list(itertools.product(*WAYS)), 12
)  # every two ways meet; damage takes turns


@pytest.mark.parametrize("basis", ["public", "oracle"])
def test_nothing_public_moves_before_anything_is_asked(tmp_path, basis):
    """Both losses, both formats, every way with missing cells, owners by column and by size: ranges, categories, labels,
    who is public, sizes, and what `check` prints."""
    for number, setting in enumerate(SETTINGS):
        market = Market(tmp_path, *setting, basis=basis)
        before = market.facts()
        parameters = (
            3 if basis == "oracle" else 7 if "split" in setting else 6
        )  # of two owners' names one is a feature
        assert len(before["features"][0]) == parameters, before["features"]
        damage = DAMAGE[number % 3]
        after = market.facts(damage)
        assert after == before, (
            setting,
            damage.__name__,
            [k for k in before if before[k] != after[k]],
        )


FULL = [
    (dict(loss="squared", missing="drop", owners="owner"), (other_values, unreadable)),
    (dict(loss="logistic", kind="parquet"), (both,)),
    (dict(loss="squared", basis="oracle", missing="error"), (both,)),
    (dict(loss="logistic", basis="oracle", owners="owner", missing="drop"), (both,)),
    (dict(loss="squared", basis="benefit", kind="parquet"), (both,)),
]


@pytest.mark.parametrize(
    ("setting", "damages"),
    [FULL[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in FULL[1:])],
)
def test_only_what_is_marked_moves(tmp_path, setting, damages):
    """The whole of result.json, the tables beside it and what is printed, with training and without."""
    market = Market(tmp_path, **setting)
    result, content, printed = market.result()
    marks = content["privileged"]
    assert set(marks.values()) == {"oracle", "measured"}
    for damage in damages:
        again, others, said = market.result(damage)
        differs = moved(content, others)
        assert "data.filled_cells" in differs and any(
            path.startswith("validation") for path in differs
        )
        stray = {path for path in differs if not marked(path, marks)}
        assert not stray, (damage.__name__, stray)
        if "equilibrium" not in marks:
            assert (
                result.trajectory == again.trajectory
                and result.payoff_curves == again.payoff_curves
            )
            assert unlooked(printed) == unlooked(said)


def unlooked(printed):
    """Lines that do not tell what training came to, or what was counted in the owners' records."""
    kept = []
    title = ""
    lines = printed.splitlines()
    first = lines.index("")  # ends the table of errors, of which the last column is the forecast
    kept += [
        line.split()[-1]
        for line in lines[2:first]
        if line.startswith(("The market", "The learner"))
    ]
    for line in filter(str.strip, lines[first:]):
        title = line.split()[0] if line[:1].strip() else title
        if (
            title not in ("error", "training", "money", "verdict", "report:")
            and COUNTED not in line
        ):
            kept.append(line.partition(", measured")[0])
    return kept


def test_payments_are_marked_where_one_record_can_move_them(tmp_path):
    """On the oracle basis everything but names and sizes is; result.json, report and terminal say so."""
    market = Market(tmp_path, basis="oracle")
    market.write()
    result = run(market.scenario, training=False)
    assert {"claims", "learner", "owners[].payment", "owners[].epsilon"} <= result[
        "privileged"
    ].keys()
    assert (
        not {"owners[].name", "owners[].records", "data", "protocol"} & result["privileged"].keys()
    )
    features = {feature.result for feature in FEATURES.values() if feature.result}
    assert features <= result["privileged"].keys()
    assert {"cause": "oracle_basis"} in result["warnings"]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_result(result.content, tmp_path)
    assert "oracle basis). One record can change them" in " ".join(out.getvalue().split())
    public = Market(tmp_path)
    public.write()
    result = run(public.scenario, training=False)
    assert (
        "learner" not in result["privileged"]
        and result["privileged"]["owners[].gains"] == "measured"
    )


def test_the_protocol_is_marked_where_the_records_choose_it():
    content = {"owners": [{"name": "A", "payment": 1.0}]}
    changes = ["learning.mechanism=best", "learning.delta=1e-6"]
    best = load("three_insurers", changes)
    pooled = load("three_insurers", [*changes, "data.public_rows=0"])
    assert "protocol" not in mark_privileged(best, content)
    assert mark_privileged(pooled, content)["protocol"] == "oracle"


BROKEN = [  # what is wrong with the public rows, and what is said of it
    (dict(), {"age": "old"}, "text in column"),
    (dict(missing="error"), {"age": ""}, "data.missing: no cell in use of a public row"),
    (dict(loss="logistic"), {"y": "perhaps"}, "found 3 in public rows of column"),
]


@pytest.mark.parametrize(("setting", "cells", "words"), BROKEN, ids=["text", "missing", "label"])
def test_what_is_refused_is_told_of_public_rows_alone(tmp_path, setting, cells, words):
    market = Market(tmp_path, **setting)
    for name, cell in cells.items():
        market.frame.loc[market.public[-1], name] = cell
    if words.startswith("text"):
        (tmp_path / "s.toml").write_text(
            (tmp_path / "s.toml").read_text() + "[data.bounds]\nage = [0, 100]\n"
        )
        market.scenario = load(str(tmp_path / "s.toml"))
    said = set()
    for damage in (None, *DAMAGE):
        market.write(damage)
        with pytest.raises(InputError, match=words) as error:
            market_data(market.scenario)
        said.add(str(error.value))
    assert len(said) == 1 and not PRIVATE.search(*said)


def test_labels_without_public_rows_are_stated(tmp_path):
    market = Market(tmp_path, loss="logistic", basis="oracle")
    market.write()
    text = (tmp_path / "s.toml").read_text()
    (tmp_path / "s.toml").write_text(text.replace('labels = ["no", "yes"]', ""))
    with pytest.raises(
        InputError,
        match="data.labels: the target's two values must be public; found neither stated",
    ):
        market_data(load(str(tmp_path / "s.toml")))


@pytest.mark.parametrize(
    ("cell", "status", "told"),
    [
        ('"0.5\r1"', 0, "1 cell of the owners' records was filled"),
        ('"0.5\n1"', 0, "1 cell of the owners' records was filled"),
        (
            "0.5\r1",
            0,
            "rows left over: 1",
        ),  # what SECURITY.md tells of: outside quotes it ends a row
        ("0.5\0", 2, "must be CSV, CSV.gz or Parquet; found a binary file"),
    ],
    ids=["return in quotes", "line end in quotes", "return", "nul"],
)
def test_signs_that_may_end_a_row_or_a_file(dpmarket, tmp_path, cell, status, told):
    rows = [f"{number:.3f},{1 - number:.3f}" for number in np.random.default_rng(0).random(110)]
    rows[10] = f"{cell},0.25"
    (tmp_path / "t.csv").write_bytes("\n".join(["x,y", *rows, ""]).encode())
    (tmp_path / "s.toml").write_text(WHOLE.format(table="t.csv"))
    found, out, err = dpmarket("check", "s.toml", "--set", "data.order=as_is")
    assert found == status and told in out + err and "0.5" not in out + err
    assert status or "80 records, 30 public rows" in out
