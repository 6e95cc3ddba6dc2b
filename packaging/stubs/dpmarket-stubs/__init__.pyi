# Types of dpmarket.py for other programs: py.typed marks packages, and dpmarket is a single module.
from learning.errors import InputError as InputError
from scenarios.opened import Result as Result
from scenarios.opened import open_result as load
from scenarios.opened import run as run
from scenarios.opened_studies import Comparison as Comparison
from scenarios.opened_studies import Design as Design
from scenarios.opened_studies import Need as Need
from scenarios.opened_studies import compare as compare
from scenarios.opened_studies import design as design
from scenarios.opened_studies import need as need
from scenarios.schema.loading import library_scenarios as scenarios
from scenarios.schema.loading import load as load_scenario
from scenarios.schema.scenario import Scenario as Scenario
from scenarios.starting.first import init as init
from scenarios.sweeping.sweep import sweep as sweep
from scenarios.trained_model import TrainedModel as TrainedModel

__version__: str
__all__ = ["Comparison", "Design", "InputError", "Need", "Result", "Scenario", "TrainedModel"]
__all__ += ["compare", "design", "init", "load", "load_scenario", "need", "run", "scenarios"]
__all__ += ["sweep"]
