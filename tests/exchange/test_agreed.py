"""From a run to a contract: the same training to the last bit, and what cannot be exchanged by name."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from commands import lay
from pairs import laid, scenario
from quick import quick_module

from exchange.contract import parse_contract as contract_in
from exchange.learner.agreed import contract_from_result, missing_rule
from exchange.learner.collector import agreed_plan
from exchange.learner.noise import noise_of
from learning.canonical import encode_canonical
from learning.data.feature_names import feature_names
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import NoiseSettings
from learning.privacy.mechanisms import candidate_mechanisms
from learning.privacy.wrapped import Trust
from learning.training.aggregation import AGGREGATIONS
from scenarios.opened import open_result
from scenarios.output.manifest import write_manifest
from scenarios.planning import prepare
from scenarios.result import PROTOCOL, save_result
from scenarios.runner import carry_out, with_protocol
from scenarios.schema.loading import load
from scenarios.schema.market import Worth
from scenarios.summary.announced import go_part, list_unsupported, make_protocol, market_part
from scenarios.training import training_task

__all__ = ["quick_module"]
pytestmark = pytest.mark.designed  # as the fixtures of this module
WAYS = {
    "laplace": (),
    "gaussian": ("learning.mechanism=gaussian", "learning.accounting=zcdp", "learning.delta=1e-4"),
    "l2, growing": ("learning.mechanism=l2", "learning.growth=2.0"),
    "clipped gradients": (
        "learning.clipping=record",
        "learning.horizon=4",
        "learning.algorithm=synchronous",
    ),
    "sums": (
        "learning.algorithm=one_step",
        "learning.horizon=optimal",
        "learning.mechanism=gaussian",
        "learning.accounting=zcdp",
        "learning.delta=1e-4",
    ),
    "sums of l2 noise": (
        "learning.algorithm=one_step",
        "learning.horizon=optimal",
        "learning.mechanism=l2",
    ),
    "records of two owners": (
        "learning.overlap=2",
        "learning.weights=precision",
        "owners.cost.price=[1.0, 3.0]",
    ),
}


def settled(folder, *changes):
    """A run of a small market that settles and trains nothing, and its folder."""
    scenario = load(lay(folder, 120), list(changes))
    run = carry_out(scenario, prepare(scenario), training=False)
    save_result(with_protocol(run), folder / "r", lambda _: None)
    return run, folder / "r"


def same_training(run, contract):
    """That a contract trains as a run does: who, with what noise, by what steps and under which bounds."""
    task = training_task(run.scenario, run.planner, run.epsilon)
    epsilon = run.epsilon[run.epsilon > 0]
    assert contract.names == tuple(owner.name for owner in task.owners)
    for owner, sold in zip(task.owners, epsilon, strict=True):
        terms = contract.terms(owner.name)
        simulated = owner.scale * task.plan.relative_scales(task.mechanism)
        if contract.sums:  # of the score, not of a mean gradient
            stretch = task.mechanism.beside_moments(contract.sums.share)
            simulated = simulated * owner.records.n_records / 2 * stretch
        wider = terms.scales[: len(simulated)] / simulated - 1
        assert (wider > -1e-12).all() and (wider < 1e-5).all(), (
            wider
        )  # by what rounding may add to a sensitivity, and the lattice of l2 noise
        assert terms.epsilon == sold and terms.n_records == owner.records.n_records
    assert noise_of(contract) == task.mechanism
    assert (contract.weights == task.weights / task.weights.sum()).all()
    assert (agreed_plan(contract).steps == task.plan.steps).all() and agreed_plan(
        contract
    ).priced == task.plan.priced
    ours = vars(Coordinates.of(contract.coordinates))
    theirs = vars(task.coordinates)
    assert all(np.array_equal(ours[key], theirs[key]) for key in theirs)
    assert feature_names(contract.encoder) == feature_names(run.data.encoder)
    assert contract.training.regularisation == task.regularisation


@pytest.fixture(scope="module")
def plain(tmp_path_factory, quick_module):
    return settled(tmp_path_factory.mktemp("plain"))


def test_a_contract_trains_as_the_run_did_and_reads_back_the_same(plain):
    run, folder = plain
    contract = contract_from_result(folder)
    same_training(run, contract)
    assert contract_in(contract.raw, "c").raw == contract.raw == contract_from_result(folder).raw
    paid = run.game.payments(run.epsilon)
    assert [owner.payment for owner in contract.owners] == paid.tolist() and contract.records == "t"
    own = [one["epsilon"] for one in contract.claims]
    made = run.epsilon.tolist()
    assert own == made and not any(one["simulation"] for one in contract.claims)


@pytest.mark.exchange
@pytest.mark.parametrize("changes", list(WAYS.values())[1:], ids=list(WAYS)[1:])
def test_every_way_that_is_released_trains_as_the_run_did(tmp_path, changes):
    run, folder = settled(tmp_path, *changes)
    contract = contract_from_result(folder)
    same_training(run, contract)
    assert contract_in(contract.raw, "c").raw == contract.raw
    told = {(one["party"], one["joint"]): one for one in contract.claims}
    for claim in json.loads((folder / "result.json").read_text())["claims"]:
        again = told.pop((claim["party"], claim["joint"]))
        assert again["epsilon"] == pytest.approx(claim["epsilon"]) and again[
            "surest"
        ] == pytest.approx(claim["surest"])
    assert not told


@pytest.mark.exchange
def test_three_insurers_are_exchanged_as_they_were_simulated(tmp_path):
    scenario = load("three_insurers", ["market.starts=1"])
    run = carry_out(scenario, prepare(scenario), training=False)
    save_result(with_protocol(run), tmp_path / "r", lambda _: None)
    contract = contract_from_result(tmp_path / "r", missing="without", hours=24)
    same_training(run, contract)
    assert (
        contract.remark == scenario.data.unit
        and contract.unit == "one record"
        and contract.records == "randhie"
    )
    assert (contract.missing.rule, contract.missing.at_least, contract.missing.hours) == (
        "without",
        2,
        24.0,
    )


def test_who_sells_nothing_is_left_out_and_named(plain):
    run = plain[0]
    content = open_result(plain[1]).raw.content
    told = market_part(
        replace(run, equilibrium=replace(run.equilibrium, epsilon=run.epsilon * [1.0, 0.0])),
        content,
    )
    assert told["left_out"] == ["owner 2"]
    assert [(owner["name"], owner["weight"]) for owner in told["owners"]] == [("owner 1", 1.0)]


def test_a_result_in_which_nobody_is_asked_makes_no_contract(plain, tmp_path):
    run, folder = plain
    nobody = replace(run.equilibrium, epsilon=run.epsilon * 0)
    result = open_result(folder).raw
    assert make_protocol(replace(run, equilibrium=nobody), result.content) is None
    for changes, found in (
        ({}, "a result of an earlier version"),
        ({"forecast": {"step_size": 0}}, "no answer is worth its noise"),
        (
            {"owners": [owner | {"epsilon": 0.0} for owner in result.content["owners"]]},
            "no owner sells",
        ),
    ):
        save_result(
            replace(result, protocol=None, content=result.content | changes),
            tmp_path / "r",
            lambda _: None,
            force=True,
        )
        with pytest.raises(InputError, match=found):
            contract_from_result(tmp_path / "r")


def told(run):
    return [one.key for one in list_unsupported(run)]


def learning(run, **changes):
    """The run under other settings of its planner."""
    inputs = run.planner.inputs
    return replace(
        run,
        planner=replace(
            run.planner, inputs=replace(inputs, settings=replace(inputs.settings, **changes))
        ),
    )


def priced(run, mechanism, accounting):
    """The run under another mechanism."""
    made = candidate_mechanisms(
        mechanism, NoiseSettings((40, 40), 1e-4, accounting, horizon=3, horizons=(3,), width=3)
    )[0]
    return replace(run, planner=replace(run.planner, mechanism=made))


def under(run, **changes):
    """The run with other parts of its scenario."""
    return replace(run, scenario=run.scenario.model_copy(update=changes))


def test_the_rule_of_buying_has_the_forecast_in_units_of_cost(plain):
    run = plain[0]
    assert go_part(run) == {}
    deciding = run.scenario.learner.model_copy(update={"go": "worth_it", "margin": 0.3})
    rule = go_part(under(run, learner=deciding))["go"]
    gains = run.possible_gains(0.0)
    assert rule["worth"] * run.planner.optimum == pytest.approx(run.game.value)
    assert rule["worth"] * rule["forecast"] == pytest.approx(gains.mean())
    assert rule["worth"] * rule["deviation"] == pytest.approx(gains.std())
    assert (rule["margin"], rule["otherwise"]) == (0.3, 0.0)


def test_what_cannot_be_exchanged_is_told_by_its_key(plain):
    run = plain[0]
    planner = plain[0].planner
    scenario = run.scenario
    forecast = planner.forecast
    coordinates = planner.coordinates
    assert told(run) == []
    assert told(under(run, learners=(1,))) == ["learners"]
    assert told(under(run, unions=(1,))) == ["unions"]
    assert told(under(run, policy=scenario.policy.model_copy(update={"kind": "user"}))) == [
        "policy.kind"
    ]
    assert told(under(run, policy=scenario.policy.model_copy(update={"kind": "contribution"}))) == [
        "policy.kind"
    ]
    deciding = {"go": "worth_it"}
    assert told(under(run, learner=scenario.learner.model_copy(update=deciding))) == []
    piloting = scenario.learner.model_copy(update=deciding | {"pilot": 0.2})
    assert told(under(run, learner=piloting)) == ["learner.pilot"]
    counting = deciding | {"value": Worth(per="rmse", money=10.0)}
    assert told(under(run, learner=scenario.learner.model_copy(update=counting))) == [
        "learner.value"
    ]
    assert told(under(run, owners=scenario.owners.model_copy(update={"report": 0.1}))) == [
        "owners.report"
    ]
    assert told(replace(run, answering=object())) == ["behaviours"]
    assert (
        told(
            replace(
                run, planner=replace(planner, inputs=replace(planner.inputs, trust=Trust("secure")))
            )
        )[0]
        == "learning.algorithm"
    )
    free = replace(run.equilibrium, epsilon=np.array([np.inf, 1.0]))
    assert "owners.epsilon" in told(replace(run, equilibrium=free))
    assert told(
        replace(run, planner=replace(planner, forecast=replace(forecast, basis="oracle")))
    ) == ["data.public_rows"]
    assert told(learning(run, aggregation=AGGREGATIONS["median"]())) == ["learning.aggregation"]
    given = replace(planner, coordinates=replace(coordinates, given_bound=1.0))
    assert told(replace(run, planner=given)) == ["learning.gradient_bound"]
    unbounded = replace(coordinates, theta_max=np.inf, clipping="record")
    assert told(replace(run, planner=replace(planner, coordinates=unbounded))) == [
        "learning.theta_max"
    ]
    of_loss = {"hinge": ["learning.clipping"], "network": ["learning.loss"]}
    for loss, keys in {**of_loss, "network_squared": ["learning.loss"]}.items():
        assert (
            told(
                replace(run, planner=replace(planner, coordinates=replace(coordinates, loss=loss)))
            )
            == keys
        )
    assert (
        told(priced(run, "laplace", "pld"))
        == told(priced(run, "gaussian", "pld"))
        == ["learning.accounting"]
    )


def test_a_protocol_says_why_and_no_more_where_it_cannot_be_exchanged(plain, tmp_path):
    result = open_result(plain[1]).raw
    refused = priced(learning(plain[0], aggregation=AGGREGATIONS["median"]()), "laplace", "pld")
    result = replace(result, protocol=make_protocol(refused, result.content))
    assert set(result.protocol) == {"format", "program", "title", "scenario_sha256", "unsupported"}
    save_result(result, tmp_path / "r", lambda _: None)
    with pytest.raises(
        InputError,
        match="^learning.aggregation: must be a mean.*Change these, too: learning.accounting.$",
    ) as caught:
        contract_from_result(tmp_path / "r")
    assert [one.key for one in caught.value.all] == ["learning.aggregation", "learning.accounting"]


def test_a_damaged_or_foreign_protocol_is_refused(plain, tmp_path):
    result = open_result(plain[1]).raw
    for harm, found in (
        ({"scenario_sha256": "0" * 64}, "one of another scenario"),
        ({"owners": None}, "one that is damaged"),
        ({"bounds": {"start": []}}, "bounds"),
        (
            {"bounds": result.protocol["bounds"] | {"theta_max": None}},
            "bounds.theta_max: must be a number: nothing is",
        ),
    ):
        save_result(
            replace(result, protocol=result.protocol | harm),
            tmp_path / "r",
            lambda _: None,
            force=True,
        )
        with pytest.raises(InputError, match=found):
            contract_from_result(tmp_path / "r")


def test_an_opened_result_is_saved_with_its_protocol(plain, tmp_path):
    folder = plain[1]
    again = open_result(folder)
    assert encode_canonical(again.raw.protocol) == (folder / PROTOCOL).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("never", 3), 'must be "wait" or "without"'),
        (("wait", 3, 2), "needs --missing without"),
        (("without", 3, 4), "must be from 1 to 3"),
        (("without", 3, 2, 0.0), "must be a minute at least"),
        (("without", 3, 2, float("nan")), "must be a minute at least"),
    ],
)
def test_a_rule_for_the_missing_that_cannot_be_kept_is_refused(arguments, found):
    with pytest.raises(InputError, match=found):
        missing_rule(*arguments)


def test_a_table_that_is_gone_costs_no_run(plain, monkeypatch):
    def gone(*_):
        raise InputError("t.csv: data.path", "must be a file that exists", "no such file")

    monkeypatch.setattr("scenarios.summary.announced.described_columns", gone)
    told = make_protocol(plain[0], open_result(plain[1]).raw.content)
    assert [one["rule"] for one in told["unsupported"]] == [
        "must be a file that exists"
    ] and "owners" not in told


@pytest.mark.exchange
def test_whatever_a_protocol_was_edited_to_ends_in_one_line(plain, tmp_path):
    folder = plain[1]
    content = open_result(plain[1]).raw.protocol
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "result.json").write_bytes((folder / "result.json").read_bytes())
    parts = [(key,) for key in content] + [
        (key, inner) for key, part in content.items() if isinstance(part, dict) for inner in part
    ]
    for *above, key in parts:
        for harm in (None, 5, -1.0, "x", [], {}, [[]], [{}], [0.5, "x"], 1e308, "gone"):
            edited = json.loads(json.dumps(content))
            part = edited[above[0]] if above else edited
            part[key] = harm
            if harm == "gone":
                del part[key]
            (tmp_path / "r" / PROTOCOL).write_bytes(encode_canonical(edited))
            write_manifest(tmp_path / "r")
            try:
                contract_from_result(tmp_path / "r")
            except InputError as error:
                assert "\n" not in str(error)


@pytest.mark.parametrize("name", ["result.json", PROTOCOL, "owners.csv", "scenario.toml"])
def test_a_result_that_somebody_changed_makes_no_contract(plain, tmp_path, name):
    folder = tmp_path / "r"
    shutil.copytree(plain[1], folder)
    contract_from_result(folder)
    raw = (folder / name).read_bytes()
    last = raw.rindex(b"1")
    (folder / name).write_bytes(raw[:last] + b"2" + raw[last + 1 :])
    with pytest.raises(
        InputError, match=f"a result just as it was written; found {name}, changed since"
    ):
        contract_from_result(folder)
    (folder / name).write_bytes(raw)
    (folder / "report.html").write_text("nobody signs this")
    contract_from_result(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"found no manifest.json, which shows changes"):
        contract_from_result(folder)


@pytest.mark.parametrize(
    ("changes", "key", "rule"),
    [
        (("learning.delta=1e-4",), "learning.accounting", 'must be "zcdp" in an exchange'),
        (
            ("learning.algorithm=adassp", "learning.delta=1e-4"),
            "learning.algorithm",
            'or "one_step", in an exchange',
        ),
    ],
)
def test_sums_that_are_not_proved_or_do_not_add_up_are_refused_by_key(tmp_path, changes, key, rule):
    ways = ("learning.algorithm=one_step", "learning.mechanism=gaussian", *changes)
    _, folder = settled(tmp_path, "learning.horizon=optimal", *ways)
    with pytest.raises(InputError) as refused:
        contract_from_result(folder)
    assert str(refused.value).startswith(key) and rule in str(refused.value)


@pytest.mark.slow
def test_sums_under_a_loss_of_labels_are_refused_by_key(tmp_path):
    market = scenario(laid(tmp_path), "logistic", "one_step", "learning.accounting=zcdp")
    run = carry_out(market, prepare(market), training=False)
    save_result(with_protocol(run), tmp_path / "r", lambda _: None)
    rule = 'learning.loss: must be "squared" in an exchange of second moments and scores'
    with pytest.raises(InputError, match=rule):
        contract_from_result(tmp_path / "r")


SECURE = (
    "learning.algorithm=one_step",
    "learning.horizon=optimal",
    "learning.mechanism=gaussian",
    "learning.accounting=zcdp",
    "learning.delta=1e-6",
    'trust={aggregation="secure", colluders=1}',
)


def test_a_secure_market_becomes_a_contract_with_the_simulated_noise_and_claims(tmp_path):
    run, folder = settled(tmp_path, *SECURE)
    with pytest.raises(InputError, match="--key: must be given with trust.aggregation"):
        contract_from_result(folder)
    contract = contract_from_result(folder, rehearsal=True)
    agreed = contract.aggregation
    assert (agreed.colluders, agreed.dropouts, contract.rounds) == (1, 0, 5)
    task = training_task(run.scenario, run.planner, run.epsilon)
    stretch = task.mechanism.beside_moments(contract.sums.share)
    for owner in task.owners:
        deviation = owner.scale * np.sqrt(task.mechanism.unit_variance)
        simulated = deviation * owner.records.n_records / 2 * stretch
        wider = contract.terms(owner.name).scales[0] / simulated - 1
        assert 0 <= wider < 1e-5
    told = {(one["party"], one["protects_against"]): one for one in contract.claims}
    for claim in json.loads((folder / "result.json").read_text())["claims"]:
        again = told.pop((claim["party"], claim["protects_against"]))
        assert again["epsilon"] == pytest.approx(claim["epsilon"], rel=1e-5)
        assert again["surest"] >= claim["surest"] and not again["simulation"]
    assert not told


@pytest.mark.exchange
def test_drop_outs_of_a_secure_contract_follow_from_who_must_answer(tmp_path):
    _, folder = settled(tmp_path, *SECURE[:-1], 'trust={aggregation="secure"}')
    count = len(contract_from_result(folder, rehearsal=True).names)
    contract = contract_from_result(folder, missing="without", rehearsal=True)
    assert contract.missing.at_least == count // 2 + 1 == contract.aggregation.threshold
    for least in range(1, count // 2 + 1):
        with pytest.raises(InputError, match="more owners than colluders"):
            contract_from_result(folder, missing="without", at_least=least, rehearsal=True)
