"""Pricings (PRICING): rules that move a learner's price between rounds without knowing costs."""

from learning.registry import Registry

PRICING = Registry(
    {
        "golden_section": "agents.pricing.searches:GoldenSection",
        "tatonnement": "agents.pricing.searches:Tatonnement",
        "bayesian": "agents.pricing.searches:Bayesian",
    }
)
