"""Procurement: buying privacy from owners whose costs are their own secret."""

from market.procurement.comparison import at_budget, compare, misreports
from market.procurement.cost_laws import COST_LAWS, CostLaw
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.mechanisms import MECHANISMS, buy
from market.procurement.valuation import MeanEstimate, PrecisionValuation, Valuation

__all__ = [
    "COST_LAWS",
    "MECHANISMS",
    "CostLaw",
    "MeanEstimate",
    "PrecisionValuation",
    "ProcurementMechanism",
    "ProcurementProblem",
    "Valuation",
    "at_budget",
    "buy",
    "compare",
    "misreports",
]
