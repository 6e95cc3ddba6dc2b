"""Which ways to train are compared, which is taken, and that everything after goes by what was decided."""

from dataclasses import replace

import numpy as np
import pytest

from learning.errors import InputError
from learning.forecast import choice
from learning.forecast.choice import (
    LOUDER,
    compare_ways,
    find_loud,
    least_noisy,
    make_planner,
    screen_ways,
)
from learning.forecast.ways import Way, list_open_ways
from learning.losses.clipping import PARTS, RECORD
from learning.privacy.laplace import Laplace
from learning.privacy.mechanisms import BEST
from learning.progress import ignore_work
from learning.training.algorithms import ALGORITHMS, compared_algorithms
from scenarios.planning import planning_inputs
from scenarios.schema.learning import Learning
from scenarios.schema.loading import load
from scenarios.summary.forecast import forecast_part
from scenarios.tables.dataset import market_data

OPEN = ("learning.algorithm=best", "learning.mechanism=best")


@pytest.fixture(scope="module")
def market():
    scenario = load("three_insurers", [*OPEN, "learning.clipping=best", "learning.horizon=2"])
    return scenario, market_data(scenario)


@pytest.fixture(scope="module")
def planner(market):
    return make_planner(planning_inputs(*market))


@pytest.fixture(scope="module")
def named(market, planner):
    """The planner of the scenario that names what was taken."""
    taken = planner.choices[0]
    changes = [
        f"learning.{key}={getattr(taken, key)}" for key in ("algorithm", "clipping", "mechanism")
    ]
    return make_planner(
        planning_inputs(load("three_insurers", [*changes, "learning.horizon=2"]), market[1])
    )


def decided(**given):
    return [(one.algorithm, one.clipping) for one in Learning.model_validate(given).decided]


def test_where_no_way_to_train_is_consistent_the_first_refusal_is_told():
    changes = ("learning.algorithm=one_step", "learning.mechanism=best", "learning.clip=none")
    scenario = load("three_insurers", [*changes, "learning.delta=1e-6"])
    with pytest.raises(InputError, match=r"learning\.clip: must bound a record's gradient, twice"):
        make_planner(planning_inputs(scenario, market_data(scenario)))


def test_what_does_not_go_together_is_left_out_of_the_best_and_refused_by_name_outside_of_it():
    everything = decided(algorithm=BEST, clipping=BEST, mechanism=BEST)
    assert ("adassp", PARTS) in everything and ("adassp", RECORD) not in everything
    assert {name for name, _ in everything} == set(compared_algorithms())
    stated = {"horizon": 3, "mechanism": BEST}
    assert {name for name, _ in decided(algorithm=BEST, **stated)} == {"averaged", "sgd2"}
    with pytest.raises(
        InputError, match=r'learning\.horizon: must be left at "optimal" with algorithm "adassp"'
    ):
        load(
            "three_insurers",
            ["learning.algorithm=adassp", "learning.mechanism=best", "learning.horizon=3"],
        )
    with pytest.raises(
        InputError, match=r"learning\.clocks"
    ):  # no algorithm that is compared goes by clocks
        load("three_insurers", ["learning.algorithm=best", "learning.clocks.dropout=0.1"])
    assert decided() == [("averaged", PARTS)]
    equal = [
        one
        for one in Learning.model_validate({"algorithm": BEST, "growth": "optimal"}).decided
        if one.step_decline == 0
    ]
    assert [one.algorithm for one in equal] == [
        "sgd2"
    ]  # steps that stay as long, where the last answers are the best paid
    hinge = {"loss": "hinge", "regularisation": 0.1, "algorithm": BEST, "clipping": BEST}
    assert {how for _, how in decided(**hinge)} == {
        PARTS
    }  # where clipping gradients lowers no bound
    assert not any(ALGORITHMS[name].one_by_one for name in compared_algorithms())


def test_the_best_without_a_delta_protects_in_every_case(market):
    found = {one.mechanism.name for one in list_open_ways(planning_inputs(*market))}
    assert found == {"laplace", "l2", "wishart"} and not any(
        one.mechanism.delta for one in list_open_ways(planning_inputs(*market))
    )
    with_delta = load("three_insurers", [*OPEN, "learning.delta=1e-6"])
    assert {
        one.mechanism.delta for one in list_open_ways(planning_inputs(with_delta, market[1]))
    } == {
        0.0,
        1e-6,
    }


def test_of_noise_in_one_norm_only_the_quietest_is_looked_at(market):
    class Louder(Laplace):
        def noise_term(self, epsilon):
            return 1.5 * super().noise_term(epsilon)

    inputs = replace(planning_inputs(*market), among=())
    laplace, louder, l2 = (
        Way(inputs, one) for one in (Laplace(), Louder(), *candidates_of("l2", inputs))
    )
    assert least_noisy([louder, laplace, l2]) == [
        laplace,
        l2,
    ]  # of another norm: not to be compared by its level


def candidates_of(name, inputs):
    return [
        one.mechanism
        for one in list_open_ways(
            replace(inputs, settings=replace(inputs.settings, mechanism=name))
        )
    ]


def test_the_lowest_is_taken_and_all_is_decided_then(market, planner):
    heights = [one.relative_fitness for one in planner.choices]
    assert heights == sorted(heights) and [one.chosen for one in planner.choices] == [True] + [
        False
    ] * (len(heights) - 1)
    taken = planner.choices[0]
    settings = planner.inputs.settings
    assert (settings.algorithm, settings.clipping) == (taken.algorithm, taken.clipping)
    assert (settings.mechanism, settings.accounting) == (taken.mechanism, taken.accounting)
    assert planner.mechanism.name == taken.mechanism and not planner.inputs.among
    reference = planner.inputs.owners.reference
    assert planner.forecast.plan(reference).algorithm == taken.algorithm
    assert planner.forecast.at(reference) == pytest.approx(taken.relative_fitness, rel=0.25)


def test_naming_what_was_taken_plans_the_same(market, planner, named):
    assert named.choices == () and named.coordinates.radius == planner.coordinates.radius
    budgets = np.array([0.5, 1.0, 4.0])
    assert named.forecast.at(budgets) == planner.forecast.at(budgets)
    told = forecast_part(market[1], planner, budgets, planner.predict(budgets))
    assert told["choices"][0]["algorithm"] == told["algorithm"] == named.inputs.settings.algorithm


def ways_of(scenario, *named):
    inputs = planning_inputs(scenario, market_data(scenario))
    settings = [(way, way.inputs.settings) for way in list_open_ways(inputs)]
    return [way for way, one in settings if (one.algorithm, one.clipping) in named]


def kinds_of_way(ways):
    settings = [way.inputs.settings for way in ways]
    return {(one.algorithm, one.clipping, one.step_power) for one in settings}


def test_what_others_are_never_worse_than_is_left_out_before_any_rehearsal(market):
    scenario = load("three_insurers", ["learning.protocol=best"])
    ways = list_open_ways(planning_inputs(scenario, market[1]))
    left = screen_ways(ways)
    assert kinds_of_way(left) == {
        ("averaged", RECORD, 0.5),
        ("sgd2", RECORD, 0.0),
        ("one_step", PARTS, 0.0),
        ("newton", RECORD, 0.0),
    }
    assert kinds_of_way(left) < kinds_of_way(ways)
    gone = [way for way in ways if way.inputs.settings.trains_by.scores]
    assert ("adassp", PARTS, 0.0) in kinds_of_way(
        screen_ways([way for way in ways if way not in gone])
    )


def test_steps_of_even_shares_are_all_compared_since_some_leave_a_share_unused(market):
    stated = ["learning.protocol=best", "learning.growth=1.0"]
    left = screen_ways(list_open_ways(planning_inputs(load("three_insurers", stated), market[1])))
    assert {("averaged", RECORD, 0.5), ("sgd2", RECORD, 0.5)} < kinds_of_way(left)


def test_under_labels_records_and_gradients_are_both_compared():
    scenario = load("three_insurers_health", ["learning.protocol=best"])
    left = screen_ways(list_open_ways(planning_inputs(scenario, market_data(scenario))))
    assert {clipping for _, clipping, _ in kinds_of_way(left)} == {PARTS, RECORD}


def test_noise_on_a_norm_in_which_gradients_are_long_is_left_out(market):
    """Of p numbers of one deviation the 1-norm is about sqrt(2 p/pi) times the 2-norm."""
    inputs = planning_inputs(load("three_insurers", ["learning.protocol=best"]), market[1])
    ways = screen_ways(list_open_ways(inputs))
    loud = find_loud(ways)
    assert {norm for _, norm in loud} == {1}
    assert {settings.algorithm for settings, _ in loud} == {"averaged", "sgd2"}
    assert not find_loud([way for way in ways if way.mechanism.norm == 1])
    (l2,) = (
        way
        for way in ways
        if way.settings_and_norm[0].algorithm == "sgd2" and way.mechanism.norm == 2
    )
    (laplace,) = (way for way in ways if way.settings_and_norm == (l2.settings_and_norm[0], 1))
    rows = inputs.public.population()
    lengths = [
        np.mean(inputs.public_coordinates(way.mechanism).gradient_lengths(*rows))
        for way in (laplace, l2)
    ]
    width = len(inputs.public.model)
    ratio = 2 * lengths[0] ** 2 / ((width + 1) * lengths[1] ** 2)  # variances, by hand
    assert ratio > LOUDER
    assert laplace.noise_level(1, 1.0) / l2.noise_level(1, 1.0) == pytest.approx(2 / (width + 1))


@pytest.mark.deep
def test_what_is_left_out_would_not_have_been_taken(market, monkeypatch):
    scenario = load("three_insurers", ["learning.protocol=best", "seed=7"])
    ways = list_open_ways(planning_inputs(scenario, market_data(scenario)))
    found = compare_ways(ways, ignore_work)
    monkeypatch.setattr(choice, "screen_ways", list)
    monkeypatch.setattr(choice, "LOUDER", np.inf)
    every = compare_ways(ways, ignore_work)
    assert len(every) > 3 * len(found)
    assert found[0].relative_fitness <= 1.05 * every[0].relative_fitness


def test_where_public_rows_may_be_of_another_kind_steps_planned_on_them_are_left_out():
    """Insurers in file order: steps lead away from the best model, one release is solved for it."""
    rivals = (("one_step", PARTS), ("sgd2", RECORD))
    changes = ["learning.mechanism=l2", "learning.algorithm=best", "learning.clipping=best"]
    shuffled = ways_of(load("three_insurers", [*changes, "seed=41"]), *rivals)
    found = compare_ways(shuffled, ignore_work)
    assert [one.way.inputs.settings.algorithm for one in found] == ["sgd2", "one_step"]
    assert [one.in_doubt for one in found] == [None, None]
    in_order = load("three_insurers", [*changes, "seed=41", "data.order=as_is"])
    ways = ways_of(in_order, *rivals)
    assert {way.inputs.settings.algorithm for way in ways} == {"sgd2", "one_step"}
    (taken,) = compare_ways(ways, ignore_work)
    assert taken.in_doubt > taken.relative_fitness > 0
    trained = {}
    for way in ways:
        planner = way.make_planner()
        models = planner.trained(np.ones(3), 20, "test").theta
        fitness = planner.inputs.pooled.fitness.relative(models)
        trained[way.inputs.settings.algorithm] = float(fitness.mean())
    assert trained[taken.way.inputs.settings.algorithm] < 0.01 and trained["sgd2"] > 1
