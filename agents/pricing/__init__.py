"""Pricings (PRICING): rules that move a learner's price between rounds without knowing costs."""

from learning.lazy import Registry, lazy_names

PRICING = Registry(
    {
        "golden_section": "agents.pricing.searches:GoldenSection",
        "tatonnement": "agents.pricing.searches:Tatonnement",
        "bayesian": "agents.pricing.searches:Bayesian",
    }
)
__getattr__ = lazy_names(__name__, {"base": ("Learned", "Observation", "Pricing", "learn_price")})
