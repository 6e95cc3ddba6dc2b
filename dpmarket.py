"""Python interface of dpmarket: scenarios and results as pandas frames, figures and models.

>>> "three_insurers" in scenarios()
True
"""

from importlib.metadata import version

from dpmarket_packages import check_packages, main

check_packages()  # before any of them is imported

from learning.errors import InputError
from scenarios.opened import Result, run
from scenarios.opened import open_result as load
from scenarios.opened_studies import Comparison, Design, Need, compare, design, need
from scenarios.schema.loading import library_scenarios as scenarios
from scenarios.schema.loading import load as load_scenario
from scenarios.schema.scenario import Scenario
from scenarios.starting.first import init
from scenarios.sweeping.sweep import sweep
from scenarios.trained_model import TrainedModel

__version__ = version("dpmarket")
__all__ = ["Comparison", "Design", "InputError", "Need", "Result", "Scenario", "TrainedModel"]
__all__ += ["compare", "design", "init", "load", "load_scenario", "need", "run", "scenarios"]
__all__ += ["sweep"]

if __name__ == "__main__":  # python -m dpmarket, of this checkout wherever the command is installed
    main()
