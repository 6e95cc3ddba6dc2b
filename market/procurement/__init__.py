"""Procurement: buying privacy from owners whose costs are their own secret."""

from market.procurement.comparison import compare
from market.procurement.cost_laws import COST_LAWS, CostLaw
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.mechanisms import MECHANISMS, buy
from market.procurement.played import play
from market.procurement.procured import Procured
from market.procurement.reports import equilibria_in_reports, misreports
from market.procurement.spending import AtBudget, at_budget
from market.procurement.strategies import ReportingGame
from market.procurement.valuation import MeanEstimate, PrecisionValuation, Valuation

__all__ = [
    "COST_LAWS",
    "MECHANISMS",
    "AtBudget",
    "CostLaw",
    "MeanEstimate",
    "PrecisionValuation",
    "Procured",
    "ProcurementMechanism",
    "ProcurementProblem",
    "ReportingGame",
    "Valuation",
    "at_budget",
    "buy",
    "compare",
    "equilibria_in_reports",
    "misreports",
    "play",
]
