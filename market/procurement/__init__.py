"""Procurement: buying privacy from owners whose costs are private information."""

from learning.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "comparison": ("compare_mechanisms",),
        "mechanism": ("ProcurementMechanism", "ProcurementProblem"),
        "spending": ("MECHANISMS", "at_budget"),
        "valuation": ("MeanEstimate", "PrecisionValuation", "Valuation"),
    },
)
