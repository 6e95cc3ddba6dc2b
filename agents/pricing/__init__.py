"""How a learner moves its price between rounds without seeing costs (PRICING), and negotiation in which both sides move."""

from agents.pricing.base import Observation, Pricing
from agents.pricing.bayesian import Bayesian
from agents.pricing.golden_section import GoldenSection
from agents.pricing.posting import Learned, learn_price
from agents.pricing.tatonnement import Tatonnement

PRICING: dict[str, type[Pricing]] = {
    "golden_section": GoldenSection,
    "tatonnement": Tatonnement,
    "bayesian": Bayesian,
}

__all__ = ["PRICING", "Bayesian", "GoldenSection", "Learned", "Observation", "Pricing", "Tatonnement", "learn_price"]
