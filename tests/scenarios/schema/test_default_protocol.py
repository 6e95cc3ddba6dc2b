"""What a scenario gets that states no protocol, and what `best` and `published` mean."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from minimal import MINIMAL, message

from learning.privacy.mechanisms import BEST
from scenarios.planning import planning_inputs
from scenarios.schema.learning import OPEN, PRINTED_KEYS, TASK, Learning
from scenarios.schema.loading import load
from scenarios.tables import parts
from scenarios.tables.dataset import market_data
from scenarios.tables.paths import bundled_table

PUBLIC = "data.public_rows=5"
pytestmark = pytest.mark.usefixtures("as_for_users")
ORDINARY = {"algorithm": "averaged", "clipping": "parts", "mechanism": "laplace", "growth": 1.0}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(MINIMAL, encoding="utf-8")
    return path


def protocol_of(file: Path, *changes: str) -> dict[str, object]:
    found = load(file, [PUBLIC, *changes]).learning
    return {key: getattr(found, key) for key in OPEN}


@pytest.mark.parametrize(
    "stated",
    [
        (),
        ("learning.delta=1e-6",),
        ("learning.regularisation=0.1",),
        ("learning.overlap=2",),
        ("learning.loss=hinge", "learning.regularisation=0.1"),
    ],
)
def test_a_scenario_that_states_no_protocol_gets_the_best(
    file: Path, stated: tuple[str, ...]
) -> None:
    assert protocol_of(file, *stated) == OPEN == protocol_of(file, "learning.protocol=best")


@pytest.mark.parametrize("key", sorted(set(Learning.model_fields) - TASK - {"protocol"}))
def test_any_part_of_a_protocol_leaves_every_other_at_its_own_default(key: str) -> None:
    """Stated at its own default, so that nothing else may differ."""
    own = Learning.model_fields[key].default
    made = Learning.model_validate({key: own})
    assert {one: getattr(made, one) for one in OPEN} == ORDINARY and made.accounting == "basic"


def test_what_is_learnt_and_what_holds_of_records_is_no_part_of_a_protocol() -> None:
    kept = {"loss", "hidden", "features", "frequencies", "bandwidth"}
    assert kept | {"delta", "regularisation", "overlap", "exact", "gossip"} == TASK
    assert set(OPEN) < set(Learning.model_fields) - TASK > set(PRINTED_KEYS)


def test_the_best_holds_to_what_is_stated_beside_it(file: Path) -> None:
    found = load(file, [PUBLIC, "learning.protocol=best", "learning.mechanism=l2"]).learning
    assert (found.algorithm, found.mechanism) == (BEST, "l2")
    assert {one.mechanism for one in found.decided} == {"l2"} and len(found.decided) > 3
    told = message(file, (PUBLIC, "learning.protocol=best", "learning.accounting=pld"))
    assert 'learning.accounting: must be left out with mechanism "best"' in told


@pytest.mark.parametrize(
    "changes",
    [
        ("time.periods=2",),
        ("validation.baselines=['plain']",),
    ],
)
def test_where_best_is_not_to_be_had_every_key_has_its_own_default(
    file: Path, changes: tuple[str, ...]
) -> None:
    assert protocol_of(file, *changes) == ORDINARY


def test_without_public_rows_nothing_is_compared(file: Path) -> None:
    found = load(file).learning
    assert {key: getattr(found, key) for key in OPEN} == ORDINARY and found.start == "zero"


def test_a_model_that_a_penalty_shrinks_is_not_shrunk_twice(file: Path) -> None:
    penalty = "learning.regularisation=1e-3"
    assert load(file, [PUBLIC]).learning.start == "shrunk"
    assert load(file, [PUBLIC, penalty]).learning.start == "public"
    told = message(file, (PUBLIC, penalty, "learning.start=shrunk"))
    assert 'start: must be "public" or "zero" with regularisation 0.001; found "shrunk"' in told


def test_a_penalty_keeps_the_own_model_of_powers_of_a_column_from_steep_slopes(file: Path) -> None:
    """A model shrunk by cross-validation alone would cost 20 times the best possible more."""
    draw = np.random.default_rng(1)
    t = draw.uniform(0, 10, 3100)
    powers = {f"t{k}": t**k for k in range(1, 9)}
    table = pd.DataFrame(powers).assign(cost=3 * np.sin(t) + 0.3 * t + draw.normal(size=3100))
    table.to_csv(file.with_name("claims.csv"), index=False)
    changes = ["data.split=[1000, 2000]", "data.public_rows=100", "learning.regularisation=1e-3"]
    data = market_data(load(file, changes))
    assert data.public is not None
    assert data.fitness.relative(data.public.model) < 0.1


def test_where_best_is_stated_what_excludes_it_is_refused(file: Path) -> None:
    told = message(file, (PUBLIC, "learning.protocol=best", "time.periods=2"))
    assert "To keep it, change or remove" in told and "learning.algorithm" in told


def test_a_delta_that_only_the_best_would_use_is_refused_where_there_is_none(file: Path) -> None:
    assert "learning.delta: needs" in message(
        file, (PUBLIC, "time.periods=2", "learning.delta=1e-6")
    )


def test_the_published_protocol_is_what_the_sources_print(file: Path) -> None:
    found = load(file, [PUBLIC, "learning.protocol=published"]).learning
    assert {key: getattr(found, key) for key in PRINTED_KEYS} == PRINTED_KEYS
    assert (found.horizon, found.start, found.precondition) == (100, "zero", False)
    again = load(file, [PUBLIC, "learning.protocol=published", "learning.horizon=100"])
    assert again.learning == found


@pytest.mark.parametrize(
    ("change", "printed"),
    [
        ("learning.horizon=10", "100"),
        ("learning.start=public", '"zero"'),
        ("learning.mechanism=l2", '"laplace"'),
        ("learning.growth=optimal", "1.0"),
    ],
)
def test_what_contradicts_the_published_protocol_is_refused(
    file: Path, change: str, printed: str
) -> None:
    told = message(file, (PUBLIC, "learning.protocol=published", change))
    key = change.partition("=")[0]
    assert f'{key}: must be {printed} with protocol "published"; found' in told
    assert told.endswith(" or learning.protocol.")


@pytest.mark.parametrize("changes", [(), ("learning.protocol=best",), ("time.periods=2",)])
def test_the_resolved_text_says_what_was_taken(file: Path, changes: tuple[str, ...]) -> None:
    scenario = load(file, [PUBLIC, *changes])
    again = file.with_name("again.toml")
    again.write_text(scenario.to_toml(), encoding="utf-8")
    assert load(again) == scenario and load(again).to_toml() == scenario.to_toml()


@pytest.mark.parametrize(
    ("changes", "suffice"),
    [
        ((), True),
        (("learning.protocol=best",), False),
        (("learning.algorithm=averaged",), True),
        (("learning.loss=hinge", "learning.regularisation=0.1"), False),
    ],
)
def test_of_a_table_too_large_for_memory_the_default_asks_for_sums(
    file: Path, changes: tuple[str, ...], suffice: bool
) -> None:
    assert load(file, [PUBLIC, *changes]).sums_suffice is suffice


def test_ways_that_need_records_are_not_compared_where_only_sums_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "WHOLE", 0)
    table = tmp_path / "t.parquet"
    pd.read_csv(bundled_table("randhie")).to_parquet(table)
    compared = {}
    for protocol in ((), ("learning.protocol=best",)):
        scenario = load("three_insurers", [f"data.path={table}", *protocol])
        inputs = planning_inputs(scenario, market_data(scenario))
        compared[protocol] = {(one.algorithm, one.clipping) for one in inputs.among}
    assert ("one_step", "parts") in compared[()] < compared["learning.protocol=best",]
    assert {clipping for _, clipping in compared[()]} == {"parts"}
