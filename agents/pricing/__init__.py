"""Pricings (PRICING): rules that move a learner's price between rounds without knowing costs."""

from agents.pricing.base import Observation, Pricing
from agents.pricing.bayesian import Bayesian
from agents.pricing.posting import Learned, learn_price
from agents.pricing.searches import GoldenSection, Tatonnement

PRICING: dict[str, type[Pricing]] = {
    "golden_section": GoldenSection,
    "tatonnement": Tatonnement,
    "bayesian": Bayesian,
}

__all__ = [
    "PRICING",
    "Bayesian",
    "GoldenSection",
    "Learned",
    "Observation",
    "Pricing",
    "Tatonnement",
    "learn_price",
]
