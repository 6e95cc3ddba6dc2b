"""Scenario files: what goes together, and every bad input told in one line."""

import tomllib
from pathlib import Path

import pytest
from minimal import ADASSP, CLOCKS, GAUSSIAN, HINGE, LOGISTIC, MINIMAL, SGD1, message

from learning.errors import InputError
from learning.phrases import toml_text
from learning.training.clocks import Clocks
from scenarios.schema.fields import Interval, suggest_name, values_per_owner
from scenarios.schema.loading import load


def test_networks_have_hidden_units_and_nothing_else_has(file: Path) -> None:
    network = ["learning.loss=network", "learning.regularisation=0.1"]
    assert load(file, network).learning.hidden == 8
    assert load(file, [*network, "learning.hidden=1"]).learning.hidden == 1
    assert load(file).learning.hidden is None
    assert [load(file, loss).learning.labels for loss in (network, HINGE, LOGISTIC, ())] == [
        True,
        True,
        True,
        False,
    ]


ACCOUNTED: list[tuple[tuple[str, ...], str | None]] = [
    ((), "basic"),
    (("learning.accounting=pld", "learning.delta=1e-6"), "pld"),
    (GAUSSIAN, "pld"),
    ((*GAUSSIAN, "learning.accounting=zcdp"), "zcdp"),
    ((*GAUSSIAN, "learning.algorithm=weighted"), "pld"),
    ((*GAUSSIAN, "learning.algorithm=weighted", "learning.accounting=printed"), "printed"),
    ((*GAUSSIAN, "learning.algorithm=sgd2", "learning.accounting=printed"), "printed"),
    ((*SGD1, "learning.accounting=printed"), "printed"),
    (ADASSP, "pld"),
    ((*ADASSP, "learning.accounting=zcdp"), "zcdp"),
    (("learning.mechanism=best", "learning.delta=1e-6"), None),
    (("learning.algorithm=weighted",), "basic"),
]


@pytest.mark.parametrize(
    ("overrides", "accounting"), ACCOUNTED, ids=[" ".join(a[0])[-60:] for a in ACCOUNTED]
)
def test_accounting_follows_mechanism_and_algorithm(
    file: Path, overrides: tuple[str, ...], accounting: str | None
) -> None:
    learning = load(file, overrides).learning
    assert learning.accounting == learning.settings.accounting == accounting


@pytest.mark.parametrize("horizon", [1, 2, 100_001, 1_000_000, "optimal"])
def test_one_record_a_round_allows_more_rounds(file: Path, horizon: int | str) -> None:
    assert load(file, [*SGD1, f"learning.horizon={horizon}"]).learning.horizon == horizon


def test_clocks_are_alike_unless_told(file: Path) -> None:
    assert load(file).learning.clocks is None
    assert load(file, CLOCKS).learning.clocks == Clocks()
    assert load(file, CLOCKS).learning.ticks(["A", "B"]) == Clocks()
    given = ["rates=[1, 2]", "dropout=0.25", "talk=broadcast", "scaled=false", "reading=printed"]
    learning = load(file, [*CLOCKS, *(f"learning.clocks.{key}" for key in given)]).learning
    assert learning.ticks(["A", "B"]) == Clocks((1.0, 2.0), 0.25, "broadcast", False, "printed")
    with pytest.raises(
        InputError, match="learning.clocks.rates: must have one entry per owner, 3; found 2 entries"
    ):
        learning.ticks(["A", "B", "C"])


def test_groups_cover_everybody_once(file: Path) -> None:
    owned = MINIMAL.replace("split = [10, 20]", 'owner = "bank"')
    file.write_text(owned)
    learning = load(file, [*CLOCKS, 'learning.clocks.groups=[["D", "B"], ["E"]]']).learning
    assert learning.groups(["A", "B", "C", "D", "E"]) == ((0,), (1, 3), (2,), (4,))
    assert (
        load(file, CLOCKS).learning.groups(["A", "B"])
        == ((0,), (1,))
        == load(file).learning.groups(["A", "B"])
    )
    with pytest.raises(InputError, match='learning.clocks.groups: must name owners; found "D".'):
        learning.groups(["A", "B"])


BOUND = "learning.gradient_bound=3"
TOGETHER: list[tuple[tuple[str, ...], str, str]] = [
    (
        ("learning.mechanism=best", *GAUSSIAN[1:], "learning.accounting=pld"),
        "learning.accounting",
        "left out|all",
    ),
    (
        (*GAUSSIAN, "learning.accounting=basic"),
        "learning.accounting",
        '"pld" or "zcdp" with mechanism "gaussian"',
    ),
    (
        (*GAUSSIAN, "learning.accounting=printed"),
        "learning.accounting",
        '"pld" or "zcdp"|found "printed"|algorithm = "sgd1", "sgd2" or "weighted"',
    ),
    ((*ADASSP, "learning.accounting=printed"), "learning.accounting", '"pld" or "zcdp"'),
    (
        (*SGD1, "learning.accounting=printed", "learning.overlap=2"),
        "learning.overlap",
        'must be 1|"pld"',
    ),
    (
        (*ADASSP, "learning.weights=equal"),
        "learning.weights",
        'must be "size" with algorithm "adassp"|found "equal"',
    ),
    (
        (*SGD1, "learning.weights=precision"),
        "learning.weights",
        'must be "size" with algorithm "sgd1"',
    ),
    (
        (*SGD1, "learning.mechanism=best"),
        "learning.mechanism",
        'must be "gaussian" with algorithm "sgd1"|"best"',
    ),
    (
        (*ADASSP, *LOGISTIC),
        "learning.loss",
        'must be "squared" with algorithm "adassp"|found "logistic"',
    ),
    (
        ("learning.algorithm=one_step", *ADASSP[1:], "learning.loss=network"),
        "learning.loss",
        'must be "squared", "hinge" or "logistic" with algorithm "one_step"|found "network"',
    ),
    (
        (*ADASSP, "learning.horizon=2"),
        "learning.horizon",
        'left at "optimal" with|asks once|found 2',
    ),
    (
        (*ADASSP, "learning.step_size=2"),
        "learning.step_size",
        'left at "optimal"|takes no steps|found 2.0',
    ),
    ((*ADASSP, "learning.returned=last"), "learning.returned", 'left at "optimal"|found "last"'),
    (
        (*SGD1, "learning.horizon=0"),
        "learning.horizon",
        'from 1 to 1000000 with algorithm "sgd1"|found 0',
    ),
    ((*SGD1, "learning.horizon=1000001"), "learning.horizon", "from 1 to 1000000|found 1000001"),
    (
        ("learning.horizon=2", "learning.returned=averaged"),
        "learning.returned",
        'must be "last" with horizon 2|found "averaged"',
    ),
    (
        ("learning.algorithm=sgd2", "learning.horizon=1"),
        "learning.horizon",
        'from 2 to 100000 with algorithm "sgd2"',
    ),
    (
        (*HINGE, "learning.hidden=3"),
        "learning.hidden",
        'needs loss = "network"|found 3 with loss "hinge"',
    ),
    (
        (*HINGE, "data.bounds.cost=[0, 1]"),
        "data.bounds.cost",
        'has no range with loss "hinge"|found [0.0, 1.0]',
    ),
    (
        ("learning.theta_max=none",),
        "learning.gradient_bound",
        'given with theta_max = "none"|found none',
    ),
    (
        (*ADASSP, "learning.theta_max=none", BOUND),
        "learning.theta_max",
        "needs algorithms that take steps|none",
    ),
    ((*ADASSP, BOUND), "learning.gradient_bound", "needs algorithms that take steps|found 3"),
    (
        (BOUND, "learning.theta_max=none", "learning.aggregation=norm_check"),
        "learning.theta_max",
        "must be a ball",
    ),
    ((BOUND, "owners.cost_at=claimed"), "owners.cost_at", "left out in a scenario with learning.gradient_bound"),
    (
        (BOUND, "owners.report=0.1", "data.public_rows=10"),
        "owners.report",
        "left out in a scenario with learning.gradient_bound",
    ),
    ((BOUND, "time.periods=2"), "time", "left out in a scenario with learning.gradient_bound"),
    (
        (*CLOCKS, "learning.clocks.tallk=request"),
        "learning.clocks.tallk",
        'is not a known key|mean "talk"?',
    ),
    (
        (*CLOCKS, "learning.clocks.horizon=3"),
        "learning.clocks.horizon",
        "It belongs under [learning]",
    ),
    (
        ("learning.dropout=0.5",),
        "learning.dropout",
        "is not a known key|It belongs under [learning.clocks]",
    ),
    (
        (*CLOCKS, "learning.clocks=3"),
        "learning.clocks",
        "must be a table, [learning.clocks]|found 3",
    ),
    (
        (*CLOCKS, "learning.clocks.talk=shout"),
        "learning.clocks.talk",
        'must be "request" or "broadcast"',
    ),
    (
        (*CLOCKS, "learning.clocks.scaled=1"),
        "learning.clocks.scaled",
        "must be true or false|found 1",
    ),
    (
        (*CLOCKS, "learning.clocks.reading=loud"),
        "learning.clocks.reading",
        'must be "proved" or "printed"',
    ),
    (
        (*CLOCKS, "learning.clocks.rates=[1, 0]"),
        "learning.clocks.rates",
        "a number above 0, a list|found 0 for owner 2",
    ),
    (
        (*CLOCKS, "learning.clocks.rates=0"),
        "learning.clocks.rates",
        "a number above 0, a list|found 0",
    ),
    (
        (*CLOCKS, "learning.clocks.rates=[1]"),
        "learning.clocks.rates",
        "one entry per owner, 2|found 1 entries",
    ),
    (
        (*CLOCKS, "learning.clocks.dropout=1"),
        "learning.clocks.dropout",
        "from 0 to below 1|found 1",
    ),
    (
        (*CLOCKS, "learning.clocks.dropout=[0, -0.1]"),
        "learning.clocks.dropout",
        "0 to below|found -0.1 for owner 2",
    ),
    (
        (*CLOCKS, "learning.clocks.dropout=[0]"),
        "learning.clocks.dropout",
        "one entry per owner, 2|found 1 entries",
    ),
    (
        (*CLOCKS, "learning.clocks.groups=[]"),
        "learning.clocks.groups",
        "must be a list of groups|found []",
    ),
    (
        (*CLOCKS, "learning.clocks.groups=['owner 1']"),
        "learning.clocks.groups",
        'found "owner 1" in place 1',
    ),
    (
        (*CLOCKS, "learning.clocks.groups=[['owner 1', 2]]"),
        "learning.clocks.groups",
        "found 2 in group 1",
    ),
    (
        (*CLOCKS, "learning.clocks.groups=[['owner 1'], ['owner 1']]"),
        "learning.clocks.groups",
        'different names|found "owner 1" twice',
    ),
    (
        (*CLOCKS, "learning.clocks.groups=[['owner 3']]"),
        "learning.clocks.groups",
        'must name owners|found "owner 3"|Did you mean "owner',
    ),
    (
        (*CLOCKS, 'data.names=["A", "B"]', "learning.clocks.groups=[['owner 1']]"),
        "learning.clocks.groups",
        "must name owners|Known here: A, B.",
    ),
]


@pytest.mark.parametrize(
    ("overrides", "key", "words"), TOGETHER, ids=[" ".join(b[0])[-60:] for b in TOGETHER]
)
def test_what_does_not_go_together_is_told_in_one_line(
    file: Path, overrides: tuple[str, ...], key: str, words: str
) -> None:
    text = message(file, overrides)
    assert text.startswith("--set ") and f": {key}: " in text
    for part in words.split("|"):
        assert part in text, text


BAD: list[
    tuple[str, str, str]
] = [  # override, key, words of rule, finding and remedy, separated by |
    # unknown keys, with the nearest known one
    ("data.targt=cost", "data.targt", 'is not a known key|found "targt"|Did you mean "target"?'),
    ("learing.horizon=3", "learing", 'is not a known key|Did you mean "learning"?'),
    ("owners.cost.prices=3", "owners.cost.prices", 'Did you mean "price"?'),
    ("policy.pric=3", "policy.pric", 'Did you mean "price"?'),
    ("budget=3", "budget", "It belongs under [learner] or [learners] or [policy]"),
    ("learning.tol=3", "learning.tol", "It belongs under [market]"),
    ("data.zzzzzz=3", "data.zzzzzz", "Known here: source, path, target"),
    ("folder=x", "folder", "is not a known key"),
    # of another kind, or not built yet
    (
        "policy.budget=3",
        "policy.budget",
        "belongs to kind proportional, contribution, procured, not posted|posted: price, per",
    ),
    ("owners.cost.values=3", "owners.cost.values", "belongs to kind leakage, channel, not linear"),
    ("policy.kind=postd", "policy.kind", 'must be "posted", "proportional"|mean "posted"?'),
    ("policy.kind=[1]", "policy.kind", "must be|found [1]"),
    ("owners.cost.kind=beleif", "owners.cost.kind", 'must be "leakage", "linear"|mean "belief"?'),
    ("owners.cost={kind='belief', price=1, worlds=1}", "owners.cost.worlds", "at least 2|found 1"),
    ("owners.fixed_cost=[1]", "owners.fixed_cost", "one entry per owner, 2|found 1 entries"),
    (
        "owners.cost={kind='channel', price=1, prior=[0.5, 0.5]}",
        "owners.cost.prior",
        "10 in all|found 2",
    ),
    (
        "policy={kind='posted_channel', price=1, values=2, prior=[0.5, 0.6]}",
        "policy.prior",
        "add up to 1|1.1",
    ),
    (
        "policy={kind='posted_channel', price=1, values=2, prior=['x']}",
        "policy.prior",
        'found "x" in place 1',
    ),
    (
        "policy={kind='tiers', thresholds=[1, 0.5], amounts=[1, 2]}",
        "policy.thresholds",
        "must rise|[1.0, 0.5]",
    ),
    (
        "policy={kind='tiers', thresholds=[1], amounts=[1, 2]}",
        "policy.amounts",
        "one amount per threshold, 1",
    ),
    (
        "policy={kind='tiers', thresholds=[1], amounts=1}",
        "policy.amounts",
        "must be a list of amounts|found 1",
    ),
    (
        "policy={kind='cost_plus'}",
        "policy.margin",
        "is required|Give the part of the cost paid on top",
    ),
    (
        "policy={kind='thesis_leakage', weight='upside'}",
        "policy.weight",
        '"normalised" or "printed"',
    ),
    (
        "learning.loss=hingee",
        "learning.loss",
        'must be "squared", "hinge", "logistic" or "network"|mean "hinge"?',
    ),
    (
        "learning.loss=hinge",
        "learning.regularisation",
        'above 0 with loss "hinge": without it the best model may not',
    ),
    ("learning.loss=logistic", "learning.regularisation", "above 0|found 0|Set it, such as 0.001."),
    ("learning.loss=network", "learning.regularisation", "above 0|found 0"),
    (
        "learning.hidden=4",
        "learning.hidden",
        'needs loss = "network"|found 4 with loss "squared"',
    ),
    ("learning.hidden=0", "learning.hidden", "whole number of at least 1|found 0"),
    ("learning.mechanism=gaussian", "learning.delta", "is needed with Gaussian noise"),
    (
        "learning.mechanism=laplce",
        "learning.mechanism",
        'must be "laplace", "gaussian", "l2", "wishart" or "best"|mean "laplace"?',
    ),
    (
        "learning.algorithm=sgd1",
        "learning.mechanism",
        'must be "gaussian" with algorithm "sgd1"|found "laplace". Set it, and learning.delta.',
    ),
    (
        "learning.algorithm=adassp",
        "learning.mechanism",
        'must be "gaussian", "l2" or "best" with algorithm "adassp"|found "laplace". Set it.',
    ),
    (
        "learning.mechanism=wishart",
        "learning.mechanism",
        'must be "laplace", "gaussian", "l2" or "best"|"wishart". Set it, or algorithm = "one_step" or "newton".',
    ),
    (
        "learning.algorithm=one_step",
        "learning.mechanism",
        'must be "gaussian", "l2", "wishart" or "best" with algorithm "one_step"',
    ),
    (
        "learning.algorithm=asynchronous",
        "learning.regularisation",
        "above 0|strongly convex|found 0",
    ),
    (
        "learning.algorithm=avraged",
        "learning.algorithm",
        '"synchronous", "averaged", "asynchronous", "sgd1"|mean "aver',
    ),
    ("learning.accounting=pld", "learning.delta", 'is needed with accounting "pld"'),
    (
        "learning.accounting=zcdp",
        "learning.accounting",
        'must be "basic" or "pld" with mechanism "laplace"',
    ),
    (
        "learning.accounting=printed",
        "learning.accounting",
        '"basic" or "pld"|go with mechanism = "gaussian"',
    ),
    (
        "learning.weights=even",
        "learning.weights",
        'must be "size", "equal", "precision" or "observed"|found "even"',
    ),
    (
        "learning.delta=1e-6",
        "learning.delta",
        'needs mechanism = "gaussian" or "best", or with accounting = "pld"',
    ),
    (
        "learning.clocks.talk=request",
        "learning.clocks",
        'needs algorithm = "asynchronous"|algorithm "averaged"',
    ),
    (
        "data.positive=yes",
        "data.positive",
        'needs loss "hinge", "logistic" or "network"|"yes" with loss "squared"',
    ),
    (
        "data.labels=[0, 1]",
        "data.labels",
        'needs loss "hinge", "logistic" or "network"|[0.0, 1.0] with loss "squared"',
    ),
    (
        "data.labels=[1, 1]",
        "data.labels",
        'must be the two values of the target, such as ["no", "yes"]|found [1, 1]',
    ),
    ('data.labels=["no", 1]', "data.labels", 'must be the two values|found ["no", 1]'),
    ("data.labels=yes", "data.labels", 'must be the two values|found "yes"'),
    ("data.positive=[1]", "data.positive", "must be a text or a number|found [1]"),
    ("data.positive=nan", "data.positive", "must be a text or a number|found nan"),
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
    ("data.source=randhi", "data.source", 'must be "randhie", "creditcard_fraud"|mean "randhie"?'),
    ("data.owner=bank", "data.split", "exactly one of split and owner|found split and owner"),
    ("data.split=[]", "data.split", "must be a list of whole numbers|found []"),
    (
        "data.split=[10, 0]",
        "data.split",
        "must be a list of whole numbers of at least 1|found 0 in place 2",
    ),
    ("data.split=[10, 2.5]", "data.split", "found 2.5 in place 2"),
    ("data.split=30", "data.split", "must be a list of whole numbers|found 30"),
    ('data.names=["A"]', "data.names", "as many owners as split has sizes, 2|found 1 names"),
    ('data.names=["A", "A"]', "data.names", 'different names|found "A" twice'),
    (
        'data.features=["a", "cost"]',
        "data.features",
        'must not contain the target column|found "cost"',
    ),
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
    ("learning.horizon=1000000000", "learning.horizon", "from 2 to 100000|found 1000000000"),
    ("learning.horizon=0", "learning.horizon", "from 2 to 100000|found 0"),
    (
        "learning.horizon=2.0",
        "learning.horizon",
        'must be "optimal" or a whole number of rounds|found 2.0',
    ),
    ("learning.horizon=optimum", "learning.horizon", 'must be "optimal" or|found "optimum"'),
    ("learning.step_size=0", "learning.step_size", "above 0|found 0"),
    ("learning.theta_max=-1", "learning.theta_max", "above 0|found -1"),
    ("learning.clip=0", "learning.clip", 'must be "optimal", "none" or a number above 0|found 0'),
    ("learning.regularisation=-1", "learning.regularisation", "at least 0|found -1"),
    ("learning.overlap=0", "learning.overlap", "at least 1|found 0"),
    (
        "learning.returned=best",
        "learning.returned",
        'must be "optimal", "last" or "averaged"|found "best"',
    ),
    (
        "learning.start=public",
        "learning.start",
        'needs public rows|found "public" with data.public_rows = 0',
    ),
    (
        "learning.precondition=true",
        "learning.precondition",
        "needs public rows|found true with data.public",
    ),
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
    (
        "market.damping=0.5",
        "market.damping",
        'activation = "simultaneous" or "partial"|found 0.5',
    ),
    ("market.part=0.5", "market.part", 'activation = "partial"|found 0.5'),
    ("market.tol=0", "market.tol", "above 0|found 0"),
    ("market.starts=0", "market.starts", "at least 1|found 0"),
    ("market.max_rounds=0", "market.max_rounds", "at least 1|found 0"),
    ("validation.runs=1", "validation.runs", "at least 2|found 1"),
    # privacy budgets
    (
        "owners.epsilon=[10.0, 0.01]",
        "owners.epsilon",
        "is reversed|found [10.0, 0.01]|Write [0.01, 10.0]",
    ),
    ("owners.epsilon=[-1, 2]", "owners.epsilon", "must not be negative|found [-1, 2]"),
    ("owners.epsilon=[nan, 2]", "owners.epsilon", "must be finite numbers|found [nan, 2]"),
    ("owners.epsilon=[0, inf]", "owners.epsilon", "must be finite numbers|found [0, inf]"),
    ("owners.epsilon=[0, '1']", "owners.epsilon", 'must be finite numbers|found [0, "1"]'),
    ("owners.epsilon=1", "owners.epsilon", "must be [lowest, highest]|found 1"),
    ("owners.epsilon=[1, 2, 3]", "owners.epsilon", "must be [lowest, highest]|found [1, 2, 3]"),
    ("owners.epsilon=[[0, 1], [3, 2]]", "owners.epsilon", "is reversed|found [3, 2] for owner 2"),
    (
        "owners.epsilon=[[0, 1], [0, nan]]",
        "owners.epsilon",
        "finite numbers|found [0, nan] for owner 2",
    ),
    ("owners.epsilon=[[0, 1]]", "owners.epsilon", "one entry per owner, 2|found 1 entries"),
    ("owners.epsilon=[]", "owners.epsilon", "must be [lowest, highest]|found []"),
]


@pytest.mark.parametrize(("override", "key", "words"), BAD, ids=[b[0][:40] for b in BAD])
def test_bad_values_name_the_change_key_rule_and_finding(
    file: Path, override: str, key: str, words: str
) -> None:
    text = message(file, (override,))
    assert text.startswith(f"--set {override[:80]}: {key}: ")
    for part in words.split("|"):
        assert part in text, text


def test_a_misspelt_key_is_told_before_the_one_it_leaves_missing(file: Path) -> None:
    file.write_text(MINIMAL.replace("target", "targt"))
    assert 'data.targt: is not a known key; found "targt". Did you mean "target"?' in message(file)
    file.write_text(MINIMAL.replace("target", "# target"))
    assert "data.target: is required; found nothing. Name the column to predict." in message(file)


def test_names_go_with_split_only(file: Path) -> None:
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "bank"\nnames = ["A", "B"]'))
    assert "data.names: needs data.split" in message(file)
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "cost"'))
    assert 'data.owner: must differ from target; found "cost"' in message(file)
    file.write_text(MINIMAL.replace("split = [10, 20]", 'owner = "bank"'))
    assert load(file, ["owners.benefit=[1, 2, 3]"]).owners.benefit == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("section", ["data", "owners", "policy", "learner"])
def test_a_missing_section_is_named(file: Path, section: str) -> None:
    parts = MINIMAL.split("\n[")
    file.write_text(
        "\n[".join(part for part in parts if not part.startswith((f"{section}]", f"{section}.")))
    )
    assert f"{file}: {section}: is required; found nothing. Add a table [{section}]" in message(
        file
    )


def test_files_that_are_no_scenarios(tmp_path: Path, file: Path) -> None:
    assert message(tmp_path / "none.toml").startswith(
        f"{tmp_path}/none.toml: must be a scenario file"
    )
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
    assert '--set data.target.x=1: data.target: must be a table to take keys; found "cost"' in text


def test_texts_that_try_to_break_the_line_are_escaped(file: Path) -> None:
    assert '"a\\nb"' in message(file, ('data.order="a\\nb"',))
    odd = '\x00\x7f\u2028\n"\\é\U0001f600\U000e0001'
    assert tomllib.loads(f"x = {toml_text(odd)}")["x"] == odd
    assert len(toml_text(odd).splitlines()) == 1


def test_per_owner() -> None:
    assert values_per_owner(2.0, 3, "k").tolist() == [2.0, 2.0, 2.0]
    assert values_per_owner((1.0, 2.0), 2, "k").tolist() == [1.0, 2.0]
    assert values_per_owner(Interval(0.0, 1.0), 2, "k").tolist() == [[0.0, 1.0]] * 2
    assert values_per_owner((Interval(0.0, 1.0), Interval(0.0, 2.0)), 2, "k")[1].tolist() == [
        0.0,
        2.0,
    ]
    with pytest.raises(
        InputError, match="owners.benefit: must have one entry per owner, 3; found 2 entries"
    ):
        values_per_owner((1.0, 2.0), 3, "owners.benefit")


def test_nearest() -> None:
    assert suggest_name("Mdvis", ["mdvis", "idp"]) == 'Did you mean "mdvis"?'
    assert suggest_name("zzz", ["mdvis", "idp"]) == "Known here: mdvis, idp."
