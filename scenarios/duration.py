"""Duration of a run, from sizes alone: nothing is forecast, settled or trained."""

from __future__ import annotations

from scenarios.schema.learning import Learning
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData

# Seconds of one processor core, fitted to the library and to generated tables (2026).
# docs/how_to/consortium_lead.md says how near they come.
START = 3.5  # libraries, interval, figures, report
LAW = 0.5  # planning by the exact law ...
LAW_SQUARE = 1e-3  # ... and of it per parameter squared
REHEARSAL = 1.0  # planning by rehearsed training ...
REHEARSED = 1.7e-4  # ... and of it per row and parameter rehearsed on
LOOK = 0.2  # at a way to train that is compared with others, under each mechanism
QUIETER = 2.0  # times as much under noise that leaves more rounds worth rehearsing
COSTLY = 8.0  # times all that, of a loss whose fits and rounds cost much: a network's
ONE_BY_ONE = 2.0  # ... where no sum of noise stands for the owners
CLOCKED = 15.0  # ... where they answer as clocks tick
TRIED = 40  # rounds that rehearsals at all horizons come to, as far as they count
OWNER = 0.011  # where owners come to rest, counting up
DRAWN = 1e-8  # a number of noise
PASSED = 3e-10  # a number of a record in a round of one training
ROUNDS = 10  # where the learner chooses them


def expected_seconds(scenario: Scenario, data: MarketData, reading: float) -> float:
    """Seconds of one processor core that a run of a scenario takes.

    It takes fewer where rehearsals of an earlier run are kept.

    Parameters
    ----------
    scenario : the scenario.
    data : its data.
    reading : seconds that reading the data took.
    """
    learning = scenario.learning
    rounds = learning.horizon
    if not isinstance(rounds, int):
        rounds = ROUNDS
    planning = max(_planning_seconds(one, data) for one in learning.decided)
    if learning.opened:
        planning += LOOK * len(learning.decided)
    drawn = DRAWN * len(data.owners)
    if not learning.keeps_sums:
        drawn += PASSED * int(data.sizes.sum())
    training = scenario.validation.runs * rounds * data.n_parameters * drawn
    market = OWNER * len(data.owners) + training
    if scenario.time is not None:
        planning *= scenario.time.planned
        market *= scenario.time.periods
    return START + reading + planning + market


def _planning_seconds(learning: Learning, data: MarketData) -> float:
    """Seconds that planning one way to train takes."""
    width = data.n_parameters
    if learning.by_law:
        return LAW + LAW_SQUARE * width**2
    rows = int(data.sizes.sum())
    if data.public is not None:
        rows = data.public.n_records
    seconds = REHEARSED * rows * width
    if learning.trains_by.clocked:
        seconds *= CLOCKED
    elif not learning.trains_by.sums_answers:
        seconds *= ONE_BY_ONE
    if learning.mechanism != "laplace":
        seconds *= QUIETER
    if isinstance(learning.horizon, int):
        seconds *= learning.horizon / TRIED
    seconds += REHEARSAL
    return COSTLY * seconds if learning.objective.costly else seconds
