"""Why a model is trained as it is, in words, where several ways to train were compared."""

from reports import result, told

from scenarios.report.sentences_choice import line, way, why
from scenarios.report.sentences_learning import plan_line


def choice(algorithm, height, **others):
    return {"algorithm": algorithm, "clipping": "record", "mechanism": "l2", "accounting": "basic", "growth": 1.5,
            "step_decline": 0.5, "horizon": 3, "relative_fitness": height, "chosen": False} | others  # fmt: skip


TAKEN, NEXT = choice("sgd2", 0.0042, chosen=True), choice("averaged", 0.0084, clipping="parts", accounting="pld")


def test_what_was_compared_is_told_and_by_how_much_the_one_taken_won():
    made = result(forecast__choices=[TAKEN, NEXT, choice("adassp", 0.03)])
    said = why(made).replace("\xa0", " ")
    assert "3 ways to train were compared" in said and "0.42 % above the best possible" in said
    assert "averaged, clipped records, l2 (pld) noise, promises 0.84 %, 2 times as much." in said
    words = told(made)
    assert "sgd2 (taken)" in words and "gradients l2 1.5 3 0.42 %" in words
    assert line(made).replace("\xa0", " ").startswith("at epsilon = 1 it promises 0.42 %; averaged, clipped records")


def test_nothing_is_said_where_one_way_was_named_and_little_where_only_one_goes():
    assert why(result()) == line(result()) == "" and "ways to train" not in told(result())
    only = result(forecast__choices=[TAKEN])
    assert why(only).endswith("Only this one goes with what the scenario asks for.") and line(only) == ""


def test_ways_that_differ_in_their_steps_alone_are_told_apart():
    falling, even = choice("sgd2", 0.005), choice("sgd2", 0.0052, step_decline=0.0)
    assert (way(falling), way(even)) == (
        "sgd2, clipped gradients, l2 noise",
        "sgd2, equal steps, clipped gradients, l2 noise",
    )
    assert "sgd2, equal steps" in told(result(forecast__choices=[falling, even]))


def test_a_plan_says_that_gradients_are_clipped():
    assert "clipped gradients" in plan_line(result(protocol__clipping="record"))
    assert "clipped" not in plan_line(result())
