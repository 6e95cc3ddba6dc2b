"""Procurement: buying privacy from owners whose costs are private information."""

from market.procurement.comparison import compare_mechanisms
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.mechanisms import MECHANISMS
from market.procurement.spending import at_budget
from market.procurement.valuation import MeanEstimate, PrecisionValuation, Valuation

__all__ = [
    "MECHANISMS",
    "MeanEstimate",
    "PrecisionValuation",
    "ProcurementMechanism",
    "ProcurementProblem",
    "Valuation",
    "at_budget",
    "compare_mechanisms",
]
