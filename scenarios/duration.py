"""How long a run takes: told from sizes, without forecasting, settling or training anything."""

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
LOOK = 0.7  # at a way to train that is compared with others, under each mechanism
QUIETER = 2.0  # times as much under noise that leaves more rounds worth rehearsing
ONE_BY_ONE = 2.0  # ... where no sum of noise stands for the owners
CLOCKED = 15.0  # ... where they answer as clocks tick
TRIED = 40  # rounds that rehearsals at all horizons come to, as far as they count
OWNER = 0.011  # where owners come to rest, counting up
DRAWN = 1e-8  # a number of noise
PASSED = 3e-10  # a number of a record in a round of one training
ROUNDS = 10  # where the learner chooses them


def expected_seconds(scenario: Scenario, data: MarketData, reading: float) -> float:
    """Seconds of one processor core that a run of a scenario takes.

    Fewer where rehearsals of an earlier one are kept.

    Parameters
    ----------
    scenario : the scenario.
    data : its data.
    reading : seconds that these took.
    """
    learning = scenario.learning
    width = data.encoder.n_parameters
    records = int(data.sizes.sum())
    runs = scenario.validation.runs
    decided = learning.decided
    rounds = learning.horizon if isinstance(learning.horizon, int) else ROUNDS
    planning = max(_planning_seconds(one, data) for one in decided) + LOOK * (
        len(decided) if learning.opened else 0
    )
    passes = 0 if learning.keeps_sums else PASSED * records
    training = runs * rounds * width * (DRAWN * len(data.owners) + passes)
    periods, planned = (
        (1, 1) if scenario.time is None else (scenario.time.periods, scenario.time.planned)
    )
    return START + reading + planning * planned + (OWNER * len(data.owners) + training) * periods


def _planning_seconds(learning: Learning, data: MarketData) -> float:
    """Seconds that planning one way to train takes."""
    algorithm = learning.trains_by
    width = data.encoder.n_parameters
    horizon = learning.horizon
    if learning.by_law:
        return LAW + LAW_SQUARE * width**2
    rows = int(data.sizes.sum()) if data.public is None else data.public.n_records
    kind = CLOCKED if algorithm.clocked else 1.0 if algorithm.sums_answers else ONE_BY_ONE
    again = kind * (1.0 if learning.mechanism == "laplace" else QUIETER)
    stated = horizon / TRIED if isinstance(horizon, int) else 1.0
    return REHEARSAL + REHEARSED * rows * width * again * stated
