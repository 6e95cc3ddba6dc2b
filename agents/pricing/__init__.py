"""Pricings (PRICING): rules by which a learner finds its price, or bargains with each owner."""

from learning.registry import Registry

PRICING = Registry(
    {
        "golden_section": "agents.pricing.searches:GoldenSection",
        "tatonnement": "agents.pricing.searches:Tatonnement",
        "bayesian": "agents.pricing.searches:Bayesian",
        "nash_in_nash": "agents.pricing.negotiation:NashInNash",
        "alternating_offers": "agents.pricing.negotiation:AlternatingOffers",
    }
)
